//! Layers within a budget, and how well they predict examples that were left out.

use eigenskin_core::progress::{Cancelled, Progress};
use glam::{DVec3, Vec3};
use rayon::prelude::*;

use super::COUPLING;
use super::features::Functions;
use super::fields::{Reach, fields_of_coordinates};
use super::pairs::{Pair, predicted_gain};
use super::refit::{Block, Problem, Refit};
use crate::displacements::projections::Projections;
use crate::displacements::{Observations, RestDisplacements, TileError};
use crate::method::allocation::{Budget, allocate};
use crate::method::coordinates::{KeptBasis, projections_on};
use crate::method::eigenskin::EigenSkinParams;
use crate::method::eigenskin::regions::Regions;
use crate::numeric::{Matrix, thin_svd};

/// Parts that examples are left out in.
const FOLDS: usize = 5;
/// Components of a joint before the budget has its say.
const MOST_COMPONENTS: usize = 8;
/// A pair that is kept takes at least this share of the squared error on left-out examples.
const LEAST_GAIN: f64 = 2e-3;
/// Of more pairs than this, only those that gain something at first are tried on.
const MANY_PAIRS: usize = 64;
/// Pairs that are kept at most.
const MOST_PAIRS: usize = 16;
/// Rounds in which fields and coefficients are improved in turn.
const ROUNDS: usize = 2;
/// What a change of a field must earn, as a share of how much its coordinate varies.
const FIELD_SMOOTHING: f64 = 0.03;
/// The fewest that a joint is given before.
pub(super) const LEAST_COMPONENTS: usize = 2;
/// Unknowns that are solved for together; with more joints, fewer components each.
pub(super) const MOST_UNKNOWNS: usize = 1500;
/// Fields used less than this share of the most used are not used.
const UNUSED: f64 = 1e-9;

/// Blocks within the budget.
pub(super) struct Built {
    pub blocks: Vec<Block>,
    pub refit: Refit,
    /// of the blocks' fields
    pub projections: Projections,
    /// `block` → components
    counts: Vec<usize>,
}

pub(super) struct Search<'a> {
    displacements: &'a RestDisplacements,
    pub example_count: usize,
    /// one per support, with more components than may be kept
    singles: Vec<Block>,
    /// of the singles' fields
    projections: Projections,
    /// `fold` → examples left out
    folds: Vec<Vec<usize>>,
    budget: Budget,
    /// pairs and better fields are too much work and memory
    pub is_large: bool,
    progress: &'a dyn Progress,
}

/// Blocks within the budget, and their error on left-out examples.
pub(super) struct Settled {
    pub built: Built,
    pub error: f64,
}

impl<'a> Search<'a> {
    pub fn new(
        seen: &'a Observations,
        regions: &Regions,
        functions: &[Functions],
        params: &EigenSkinParams,
        progress: &'a dyn Progress,
    ) -> Result<Self, TileError> {
        let displacements = &seen.displacements;
        let all_functions: usize = functions.iter().map(Functions::count).sum();
        let most = (MOST_UNKNOWNS / all_functions.max(1)).clamp(LEAST_COMPONENTS, MOST_COMPONENTS);
        let singles = functions.iter().zip(&regions.supports).enumerate();
        let singles: Vec<Block> = singles
            .map(|(index, (functions, support))| {
                Ok(Block {
                    basis: regions.basis_of(displacements, index, most, progress)?,
                    mask: support.mask.clone(),
                    functions: functions.clone(),
                    caution: 1.0,
                })
            })
            .collect::<Result<_, TileError>>()?;
        Ok(Self {
            displacements,
            example_count: seen.len(),
            projections: projections_on(displacements, singles.iter().map(|block| &block.basis), progress)?,
            singles,
            folds: folds(&regions.acting),
            budget: params.budget,
            is_large: seen.is_large(),
            progress,
        })
    }

    /// The single joints.
    pub fn problem(&self) -> Problem<'_> {
        Problem::with(self.projections.clone(), self.singles.iter().collect())
    }

    /// The single joints and some pairs, within the budget, with fields as they are or improved,
    /// whichever predicts left-out examples better.
    pub fn settled(&self, pairs: &[Pair], smoothing: f64) -> Result<Settled, TileError> {
        let all: Vec<usize> = (0..self.example_count).collect();
        let problem = self.problem();
        let settle = |rounds: usize| {
            let built = self.within_budget(&problem, pairs, &all, smoothing, rounds, None)?;
            let error = self.left_out_error(&problem, pairs, smoothing, rounds, &built.counts)?;
            Ok::<_, TileError>(Settled { built, error })
        };
        let plain = settle(0)?;
        if self.is_large {
            return Ok(plain);
        }
        let improved = settle(ROUNDS)?;
        Ok(if improved.error < plain.error { improved } else { plain })
    }

    fn without(&self, fold: usize) -> Vec<usize> {
        (0..self.example_count).filter(|e| !self.folds[fold].contains(e)).collect()
    }

    /// Σ over folds of what `squared` says of a fold, relative to the displacements.
    fn over_folds<E: From<Cancelled> + Send>(
        &self,
        problem: &Problem<'_>,
        squared: impl Fn(usize) -> Result<f64, E> + Sync + Send,
    ) -> Result<f64, E> {
        let watched = |fold: usize| {
            self.progress.doing(COUPLING)?;
            squared(fold)
        };
        let sums: Vec<f64> = (0..self.folds.len()).into_par_iter().map(watched).collect::<Result<_, E>>()?;
        let all = (0..self.example_count).map(|e| problem.energy(e)).sum();
        Ok(relative(sums.into_iter().sum(), all))
    }

    /// Error of the single joints on left-out examples, before the budget has its say.
    pub fn generous_error(&self, problem: &Problem<'_>, smoothing: f64) -> Result<f64, Cancelled> {
        self.over_folds(problem, |fold| {
            let refit = problem.solve(&self.without(fold), smoothing);
            Ok(self.folds[fold].iter().map(|&e| problem.squared_error(&refit, e)).sum())
        })
    }

    /// Error on left-out examples within the budget: fields and coefficients are found again without
    /// them.
    fn left_out_error(
        &self,
        problem: &Problem<'_>,
        pairs: &[Pair],
        smoothing: f64,
        rounds: usize,
        counts: &[usize],
    ) -> Result<f64, TileError> {
        self.over_folds(problem, |fold| {
            let built =
                self.within_budget(problem, pairs, &self.without(fold), smoothing, rounds, Some(counts))?;
            let truncated = Problem::with(built.projections, built.blocks.iter().collect());
            Ok(self.folds[fold].iter().map(|&e| truncated.squared_error(&built.refit, e)).sum())
        })
    }

    /// Single joints and pairs learnt from some examples, with as many components as the budget
    /// allows (`counts` where that is settled).
    fn within_budget(
        &self,
        problem: &Problem<'_>,
        pairs: &[Pair],
        examples: &[usize],
        smoothing: f64,
        rounds: usize,
        counts: Option<&[usize]>,
    ) -> Result<Built, TileError> {
        self.progress.doing(COUPLING)?;
        let alone = problem.solve(examples, smoothing);
        let left = if pairs.is_empty() { Vec::new() } else { self.left(problem, &alone)? };
        let of_pairs: Vec<Block> = pairs
            .iter()
            .map(|pair| {
                let nothing = || KeptBasis { points: pair.points.clone(), fields: Vec::new() };
                Ok(pair.block(&left, examples, self.progress)?.unwrap_or_else(|| pair.block_with(nothing())))
            })
            .collect::<Result<_, Cancelled>>()?;
        let generous: Vec<Block> = self.singles.iter().cloned().chain(of_pairs).collect();
        let (together, refit) = if pairs.is_empty() {
            (Problem::with(problem.projections.clone(), generous.iter().collect()), alone)
        } else {
            let together = Problem::new(self.displacements, generous.iter().collect(), self.progress)?;
            self.progress.doing(COUPLING)?;
            let refit = together.solve(examples, smoothing);
            (together, refit)
        };
        let ordered: Vec<(Block, Vec<f64>, Matrix)> = (0..generous.len())
            .into_par_iter()
            .map(|block| {
                self.progress.doing(COUPLING)?;
                let used: Vec<Vec<f64>> =
                    examples.iter().map(|&e| together.coordinates_of(&refit, block, e)).collect();
                Ok(by_use(&generous[block], &used))
            })
            .collect::<Result<_, Cancelled>>()?;
        let counts = if let Some(settled) = counts {
            settled.to_vec()
        } else {
            let energies: Vec<Vec<f64>> = ordered.iter().map(|(_, energies, _)| energies.clone()).collect();
            let points: Vec<&[u32]> =
                ordered.iter().map(|(block, ..)| block.basis.points.as_slice()).collect();
            let point_count = self.displacements.points.group_count();
            allocate(&energies, &points, point_count, &self.budget, self.progress)?
        };
        let kept = |block: usize| counts[block].min(ordered[block].1.len());
        let mixtures = block_diagonal(ordered.iter().enumerate().map(|(b, (.., mix))| (mix, kept(b))));
        let mut projections = together.projections.mixed(&mixtures);
        drop(together);
        let mut blocks: Vec<Block> = ordered
            .into_iter()
            .zip(&counts)
            .map(|((mut block, ..), &count)| {
                block.basis.fields.truncate(count * block.basis.points.len());
                block
            })
            .collect();
        self.progress.doing(COUPLING)?;
        let mut refit =
            Problem::with(projections.clone(), blocks.iter().collect()).solve(examples, smoothing);
        for _ in 0..rounds {
            let problem = Problem::with(projections, blocks.iter().collect());
            let coordinates = problem.all_coordinates(&refit, self.example_count);
            blocks = self.improved(&blocks, &coordinates, examples)?;
            let problem = Problem::new(self.displacements, blocks.iter().collect(), self.progress)?;
            self.progress.doing(COUPLING)?;
            refit = problem.solve(examples, smoothing);
            projections = problem.projections;
        }
        Ok(Built { blocks, refit, projections, counts })
    }

    /// Fields moved to where they leave least with the coordinates they have.
    fn improved(
        &self,
        blocks: &[Block],
        coordinates: &[Vec<Vec<f64>>],
        examples: &[usize],
    ) -> Result<Vec<Block>, TileError> {
        let reach = |block: &Block| Reach { places: block.basis.points.clone(), mask: block.mask.clone() };
        let reaches: Vec<Reach> = blocks.iter().map(reach).collect();
        let current: Vec<&[Vec3]> = blocks.iter().map(|block| block.basis.fields.as_slice()).collect();
        let observed = &self.displacements.positions;
        let changes = fields_of_coordinates(
            &reaches,
            coordinates,
            examples,
            observed,
            Some(&current),
            FIELD_SMOOTHING,
            self.progress,
        )?;
        let mut blocks = blocks.to_vec();
        for (block, changes) in blocks.iter_mut().zip(changes) {
            for (field, change) in block.basis.fields.iter_mut().zip(changes) {
                *field += change;
            }
        }
        Ok(blocks)
    }

    fn left(&self, problem: &Problem<'_>, refit: &Refit) -> Result<Vec<Vec<DVec3>>, TileError> {
        (0..self.example_count)
            .into_par_iter()
            .map(|example| {
                self.progress.doing(COUPLING)?;
                Ok(problem.left(self.displacements, refit, example)?)
            })
            .collect()
    }

    /// Pairs one after the other, as long as each lowers the error on left-out examples of what those
    /// before it leave; with the share of the squared error that each takes away.
    pub fn choose_pairs(
        &self,
        mut candidates: Vec<Pair>,
        smoothing: f64,
    ) -> Result<Vec<(Pair, f64)>, TileError> {
        let problem = self.problem();
        let trains: Vec<Vec<usize>> = (0..self.folds.len()).map(|fold| self.without(fold)).collect();
        let mut left: Vec<Vec<Vec<DVec3>>> = trains
            .par_iter()
            .map(|train| self.left(&problem, &problem.solve(train, smoothing)))
            .collect::<Result<_, _>>()?;
        let squared: f64 = left
            .iter()
            .zip(&self.folds)
            .flat_map(|(left, fold)| {
                fold.iter().map(|&e| left[e].iter().map(|u| u.length_squared()).sum::<f64>())
            })
            .sum();
        let mut chosen: Vec<(Pair, f64)> = Vec::new();
        let mut gains = self.gains(&candidates, &mut left, &trains, smoothing)?;
        if candidates.len() > MANY_PAIRS {
            // What gains nothing now seldom gains when others have taken their part.
            let mut promising = gains.iter().map(|&gain| gain > LEAST_GAIN * squared);
            candidates.retain(|_| promising.next() == Some(true));
            gains.retain(|&gain| gain > LEAST_GAIN * squared);
        }
        while chosen.len() < MOST_PAIRS {
            let best = (0..candidates.len()).max_by(|&a, &b| gains[a].total_cmp(&gains[b]).then(b.cmp(&a)));
            let Some(best) = best.filter(|&best| gains[best] > LEAST_GAIN * squared) else { break };
            let (pair, gain) = (candidates.remove(best), gains.remove(best));
            for (fold, left) in left.iter_mut().enumerate() {
                predicted_gain(
                    &pair,
                    left,
                    &trains[fold],
                    &self.folds[fold],
                    smoothing,
                    true,
                    self.progress,
                )?;
            }
            chosen.push((pair, gain / squared));
            gains = self.gains(&candidates, &mut left, &trains, smoothing)?;
        }
        Ok(chosen)
    }

    fn gains(
        &self,
        candidates: &[Pair],
        left: &mut [Vec<Vec<DVec3>>],
        trains: &[Vec<usize>],
        smoothing: f64,
    ) -> Result<Vec<f64>, Cancelled> {
        candidates
            .iter()
            .map(|pair| {
                let of_folds: Vec<f64> = left
                    .par_iter_mut()
                    .enumerate()
                    .map(|(fold, left)| {
                        let (train, test) = (&trains[fold], &self.folds[fold]);
                        predicted_gain(pair, left, train, test, smoothing, false, self.progress)
                    })
                    .collect::<Result<_, Cancelled>>()?;
                Ok(of_folds.into_iter().sum())
            })
            .collect()
    }
}

/// The block's fields turned so that the first ones are used most in the examples (`example ×
/// component`), how much they are used, and how they are mixed (`component × direction`).
fn by_use(block: &Block, used: &[Vec<f64>]) -> (Block, Vec<f64>, Matrix) {
    let (count, size) = (block.basis.component_count(), block.basis.points.len());
    if count == 0 {
        return (block.clone(), Vec::new(), Matrix::zeros(0, 0));
    }
    let coordinates = Matrix::from_fn(used.len(), count, |example, k| used[example][k]);
    let (_, mut strengths, directions) = thin_svd(&coordinates);
    let strongest = strengths.first().copied().unwrap_or(0.0);
    strengths.retain(|&strength| strength > UNUSED * strongest);
    let mut fields = Vec::with_capacity(strengths.len() * size);
    for direction in 0..strengths.len() {
        for point in 0..size {
            let sum: DVec3 =
                (0..count).map(|k| directions[(k, direction)] * block.basis.field(k)[point].as_dvec3()).sum();
            fields.push(sum.as_vec3());
        }
    }
    let basis = KeptBasis { points: block.basis.points.clone(), fields };
    let energies = strengths.iter().map(|s| s * s).collect();
    (Block { basis, ..block.clone() }, energies, directions)
}

/// Blocks along the diagonal, of each the given number of columns.
fn block_diagonal<'a>(blocks: impl Iterator<Item = (&'a Matrix, usize)> + Clone) -> Matrix {
    let rows = blocks.clone().map(|(block, _)| block.nrows()).sum();
    let columns = blocks.clone().map(|(_, count)| count).sum();
    let mut all = Matrix::zeros(rows, columns);
    let (mut row, mut column) = (0, 0);
    for (block, count) in blocks {
        for c in 0..count {
            for r in 0..block.nrows() {
                all[(row + r, column + c)] = block[(r, c)];
            }
        }
        row += block.nrows();
        column += count;
    }
    all
}

/// Every example is left out once; those that move many joints are spread evenly.
fn folds(acting: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..acting.len()).collect();
    order.sort_by_key(|&example| std::cmp::Reverse(acting[example].len()));
    let count = FOLDS.min(acting.len()).max(1);
    let mut folds = vec![Vec::new(); count];
    for (place, example) in order.into_iter().enumerate() {
        folds[place % count].push(example);
    }
    folds
}

/// ‖left‖ / ‖all‖; zero when there was nothing.
pub(super) fn relative(squared: f64, all: f64) -> f64 {
    if all > 0.0 { (squared / all).sqrt() } else { 0.0 }
}
