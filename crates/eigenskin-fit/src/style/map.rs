//! Capturing a style and adding it to a target.

use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::progress::{Cancelled, Counted, Progress};
use glam::{DVec3, Vec3};
use rayon::prelude::*;

use super::choice::chosen_space;
use super::frames::{Frames, different_poses, largest_coordinate};
use super::joints::match_joints;
use super::views::{View, Views};
use super::{ADDING, CAPTURING, Form, Regions, Space, StyleError, StyleParams, StyleReport, Transferred};
use crate::during::During;
use crate::numeric::{Matrix, symmetric_eigen};

/// A style, captured for the poses of one target.
#[derive(Debug, Clone)]
pub struct StyleMap {
    /// orthonormal signals of X1 that are used, `pose × signal`
    signals: Matrix,
    /// S1⁺·A1⁺·(X2 − X1), `pose × pose`: how much of each pose of the target is added to a pose
    whole: Matrix,
    /// the same for the skin of single joints of the character that showed the style; may be empty
    regions: Vec<Matrix>,
    /// `joint of the target`: its region; none takes the map of the whole skin
    region_of: Vec<Option<usize>>,
    pose_count: usize,
    space: Space,
    /// how it was found
    pub report: StyleReport,
}

/// The map of one region.
struct RegionMap {
    /// `pose × pose`
    mixing: Matrix,
    /// ‖X2 − X1 − X1·mixing‖²: what the map does not carry on the character that showed the style
    missed: f64,
}

impl StyleMap {
    /// Captures what leads from `first` (X1) to `second` (X2), in the poses of `target` (Y1).
    ///
    /// ```
    /// use eigenskin_characters::{arm, truth::SweptSkin};
    /// use eigenskin_core::examples::ExampleSet;
    /// use eigenskin_core::progress::Unwatched;
    /// use eigenskin_fit::style::{StyleMap, StyleParams};
    ///
    /// let arm = arm(300)?;
    /// let first = SweptSkin::new(&arm).examples(arm.single_joint_poses(3))?;
    /// let mut fuller = first.examples().to_vec();
    /// fuller.iter_mut().flat_map(|example| &mut example.positions).for_each(|p| p.y *= 1.1);
    /// let second = ExampleSet::new(arm.rig.clone(), fuller)?;
    /// let map = StyleMap::capture(&first, &second, &first, &StyleParams::default(), &Unwatched)?;
    /// let styled = map.transfer(&first, 0.5, &Unwatched)?;
    /// assert_eq!(styled.set.len(), first.len());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn capture(
        first: &ExampleSet,
        second: &ExampleSet,
        target: &ExampleSet,
        params: &StyleParams,
        progress: &dyn Progress,
    ) -> Result<Self, StyleError> {
        let progress: &dyn Progress = &During::new(progress, CAPTURING);
        check(params)?;
        let rig = first.rig();
        let second = second.clone().for_rig(rig).map_err(StyleError::DifferentMeshes)?;
        let joints = match_joints(rig.skeleton(), target.rig().skeleton(), params.joint_map.as_ref())?;
        let found = different_poses(target);
        if found < FEWEST_POSES {
            return Err(StyleError::TooFewPoses { found, needed: FEWEST_POSES });
        }
        let before = Frames::of(first, "the first deformation", target, &joints, progress)?;
        let after = Frames::of(&second, "the second deformation", target, &joints, progress)?;
        let noise = NOISE * largest_coordinate(rig, &before).max(largest_coordinate(rig, &after));
        let choice = chosen_space(rig, [&before, &after], found, noise, params, progress)?;
        let space = choice.space;
        let views = Views::new(rig, space);
        let fields = [views.of_frames(&before, progress)?, views.of_frames(&after, progress)?];
        let by_joint: Vec<(usize, Products)> = views
            .by_joint()
            .into_iter()
            .map(|(joint, range)| Ok((joint, Products::of(&views.list, range, &fields, progress)?)))
            .collect::<Result<_, Cancelled>>()?;
        let products = Products::sum(by_joint.iter().map(|(_, products)| products), target.len());
        let whole = WholeMap::of(&products, noise, params);
        if whole.rank == 0 {
            return Err(StyleError::NoSignals { space: space.description() });
        }
        let regions: Vec<(usize, RegionMap)> = match params.regions {
            Regions::Whole => Vec::new(),
            Regions::Joints { ridge } => by_joint
                .iter()
                .map(|(joint, products)| {
                    progress.doing(CAPTURING)?;
                    Ok((*joint, whole.refined(products, ridge)))
                })
                .collect::<Result<_, Cancelled>>()?,
        };
        let missed = match params.regions {
            Regions::Whole => RegionMap::new(whole.mixing.clone(), &products).missed,
            Regions::Joints { .. } => regions.iter().map(|(_, region)| region.missed).sum(),
        };
        let region_of_joint = |joint: usize| {
            let counterpart = joints.source_or_above(target.rig().skeleton(), joint)?;
            regions.iter().position(|(region, _)| *region == counterpart)
        };
        let region_of = (0..target.rig().skeleton().joint_count()).map(region_of_joint).collect();
        let report =
            StyleReport::new(&joints, [first, target], [before, after], choice, &whole, missed, &products);
        Ok(Self {
            regions: regions.into_iter().map(|(_, region)| region.mixing).collect(),
            region_of,
            signals: whole.signals,
            whole: whole.mixing,
            pose_count: target.len(),
            space,
            report,
        })
    }

    /// Adds the style to the target it was captured for: 0 is nothing, 1 all of it.
    pub fn transfer(
        &self,
        target: &ExampleSet,
        amount: f64,
        progress: &dyn Progress,
    ) -> Result<Transferred, StyleError> {
        if !amount.is_finite() {
            return Err(StyleError::BadParameter {
                what: "the amount",
                bound: "a finite number",
                value: amount,
            });
        }
        if target.len() != self.pose_count {
            return Err(StyleError::OtherPoses { expected: self.pose_count, found: target.len() });
        }
        let joint_count = target.rig().skeleton().joint_count();
        if joint_count != self.region_of.len() {
            return Err(StyleError::OtherJoints { expected: self.region_of.len(), found: joint_count });
        }
        let views = Views::new(target.rig(), self.space);
        let field = |example: &Example| {
            progress.doing(ADDING)?;
            Ok(views.displacements(&example.pose, &example.positions))
        };
        let fields: Vec<Vec<Vec3>> = target.examples().iter().map(field).collect::<Result<_, Cancelled>>()?;
        let (changes, energies) = self.changes(&views, &fields, amount, progress)?;
        let counted = Counted::new(progress, ADDING, target.len());
        let examples: Vec<Example> = target
            .examples()
            .par_iter()
            .zip(&changes)
            .map(|(example, changes)| {
                counted.next()?;
                Ok(restyled(example, views.added(&example.pose, &example.positions, changes)))
            })
            .collect::<Result<_, Cancelled>>()?;
        let change = difference(target.examples(), &examples) / target.rig().mesh().size();
        let set = ExampleSet::new(target.rig().clone(), examples).map_err(StyleError::Result)?;
        let shared = if energies.all > 0.0 { (energies.within / energies.all).min(1.0) } else { 1.0 };
        Ok(Transferred { set, shared, change })
    }

    /// amount · Y1·mixing, `pose` → `view`, and how much of Y1 the signals hold.
    fn changes(
        &self,
        views: &Views,
        fields: &[Vec<Vec3>],
        amount: f64,
        progress: &dyn Progress,
    ) -> Result<(Vec<Vec<DVec3>>, Energies), Cancelled> {
        let mut changes = vec![vec![DVec3::ZERO; views.list.len()]; self.pose_count];
        let mut energies = Energies::default();
        for (joint, range) in views.by_joint() {
            let region = self.region_of.get(joint).copied().flatten();
            let mixing = region.map_or(&self.whole, |region| &self.regions[region]);
            let blocks: Vec<(std::ops::Range<usize>, Matrix, Energies)> = blocks(range)
                .into_par_iter()
                .map(|block| {
                    progress.doing(ADDING)?;
                    let rows = weighted_rows(&views.list, block.clone(), fields, |_| 1.0);
                    let change = &rows * mixing;
                    let shares = &views.list[block.clone()];
                    let all = weighted_squares(shares, &rows);
                    // As many signals as poses hold everything.
                    let within = if self.signals.ncols() == self.pose_count {
                        all
                    } else {
                        weighted_squares(shares, &(&rows * &self.signals))
                    };
                    let energies = Energies { all, within };
                    Ok((block, change, energies))
                })
                .collect::<Result<_, Cancelled>>()?;
            for (block, change, energy) in blocks {
                energies.all += energy.all;
                energies.within += energy.within;
                for (pose, changes) in changes.iter_mut().enumerate() {
                    for (row, view) in block.clone().enumerate() {
                        let coordinate = |axis: usize| amount * change[(3 * row + axis, pose)];
                        changes[view] = DVec3::new(coordinate(0), coordinate(1), coordinate(2));
                    }
                }
            }
        }
        Ok((changes, energies))
    }
}

/// A map from one pose, or none, could carry nothing.
const FEWEST_POSES: usize = 2;
/// Displacements are rounded to about this share of the largest coordinate: positions to 2⁻²⁴, and the
/// joints they are measured from as much again, with a margin of two.
const NOISE: f64 = 1.0 / (1u64 << 22) as f64;
/// Signals below this share of the longest are lost in the rounding of products.
const SMALLEST: f64 = 1e-7;
/// Views in one block of rows.
const BLOCK: usize = 1024;

#[derive(Default)]
struct Energies {
    all: f64,
    within: f64,
}

fn check(params: &StyleParams) -> Result<(), StyleError> {
    let bad = |what, bound, value| Err(StyleError::BadParameter { what, bound, value });
    match (params.signals, params.regions) {
        (Some(0), _) => bad("the number of signals", "at least 1", 0.0),
        (_, Regions::Joints { ridge }) if !(ridge.is_finite() && ridge > 0.0) => {
            bad("the ridge of regions", "a finite number above 0", ridge)
        }
        _ => Ok(()),
    }
}

/// Products of `pose × pose` of one region.
pub(super) struct Products {
    /// X1ᵀ·X1
    pub first: Matrix,
    /// X1ᵀ·(X2 − X1)
    first_by_change: Matrix,
    /// ‖X2 − X1‖²
    pub style_energy: f64,
    /// rows of X1, weighted
    rows: f64,
}

impl Products {
    pub fn of(
        views: &[View],
        range: std::ops::Range<usize>,
        [first, second]: &[Vec<Vec<Vec3>>; 2],
        progress: &dyn Progress,
    ) -> Result<Self, Cancelled> {
        let count = first.len();
        let share: f64 = views[range.clone()].iter().map(|view| view.share).sum();
        let parts: Vec<(Matrix, Matrix, f64)> = blocks(range)
            .into_par_iter()
            .map(|block| {
                progress.doing(CAPTURING)?;
                let before = weighted_rows(views, block.clone(), first, f64::sqrt);
                // The difference first: equal deformations give zero, not rounding.
                let change = weighted_rows(views, block, second, f64::sqrt) - &before;
                let energy = squared_norm(&change);
                Ok((before.transpose() * &before, before.transpose() * &change, energy))
            })
            .collect::<Result<_, Cancelled>>()?;
        let mut sum = Self { rows: 3.0 * share, ..Self::none(count) };
        for (first, first_by_change, energy) in parts {
            sum.first += first;
            sum.first_by_change += first_by_change;
            sum.style_energy += energy;
        }
        Ok(sum)
    }

    /// Of a character whose X1ᵀ·X1 is all that is looked at.
    #[cfg(test)]
    pub fn of_gram(first: Matrix) -> Self {
        let count = first.nrows();
        Self { first, ..Self::none(count) }
    }

    fn none(count: usize) -> Self {
        let zeros = || Matrix::zeros(count, count);
        Self { first: zeros(), first_by_change: zeros(), style_energy: 0.0, rows: 0.0 }
    }

    /// How many signals are above rounding, given the squares of their lengths, falling: at most `most`.
    pub fn signals_in(&self, squares: &[f64], noise: f64, most: Option<usize>) -> usize {
        let longest = squares.first().copied().unwrap_or(0.0).max(0.0).sqrt();
        let least = (noise * self.rows.sqrt()).max(SMALLEST * longest);
        let rank = squares.iter().take_while(|square| square.max(0.0).sqrt() > least).count();
        most.unwrap_or(usize::MAX).min(rank)
    }

    /// Of several regions together.
    fn sum<'a>(parts: impl Iterator<Item = &'a Self>, count: usize) -> Self {
        parts.fold(Self::none(count), |mut sum, part| {
            sum.first += &part.first;
            sum.first_by_change += &part.first_by_change;
            sum.style_energy += part.style_energy;
            sum.rows += part.rows;
            sum
        })
    }
}

/// The map of the whole skin.
pub(super) struct WholeMap {
    pub rank: usize,
    /// orthonormal, `pose × signal`
    pub signals: Matrix,
    /// `pose × pose`
    pub mixing: Matrix,
    form: Form,
}

impl WholeMap {
    pub fn of(products: &Products, noise: f64, params: &StyleParams) -> Self {
        let (values, vectors) = symmetric_eigen(&products.first);
        let lengths: Vec<f64> = values.iter().map(|value| value.max(0.0).sqrt()).collect();
        let rank = products.signals_in(&values, noise, None);
        let used = params.signals.unwrap_or(usize::MAX).min(rank);
        let poses = products.first.nrows();
        let signals = Matrix::from_fn(poses, used, |pose, signal| vectors[(pose, signal)]);
        let pose_from_signal =
            Matrix::from_fn(poses, used, |pose, signal| signals[(pose, signal)] / lengths[signal]);
        // S1⁺ · (A1⁺·(X2 − X1)), right to left.
        let mixing = &pose_from_signal * (pose_from_signal.transpose() * &products.first_by_change);
        let mut whole = Self { rank, signals, mixing, form: params.form };
        whole.mixing = whole.formed(&whole.mixing);
        whole
    }

    /// The map of a region: the whole skin's, corrected by what it misses there, as far as the region's
    /// own motion within the signals is longer than `ridge` of its longest.
    fn refined(&self, products: &Products, ridge: f64) -> RegionMap {
        let missed = &products.first_by_change - &products.first * &self.mixing;
        let within = self.signals.transpose() * &products.first * &self.signals;
        let (values, vectors) = symmetric_eigen(&within);
        let least = ridge * ridge * values.first().copied().unwrap_or(0.0).max(0.0);
        let count = values.len();
        let filtered = &self.signals
            * Matrix::from_fn(count, count, |signal, own| {
                let squared = values[own].max(0.0) + least;
                if squared > 0.0 { vectors[(signal, own)] / squared.sqrt() } else { 0.0 }
            });
        let correction = self.formed(&(&filtered * (filtered.transpose() * missed)));
        RegionMap::new(&self.mixing + correction, products)
    }

    fn formed(&self, mixing: &Matrix) -> Matrix {
        match self.form {
            Form::Factored => mixing.clone(),
            Form::Projected => mixing * &self.signals * self.signals.transpose(),
        }
    }
}

impl RegionMap {
    fn new(mixing: Matrix, products: &Products) -> Self {
        // ‖D − X·M‖² = ‖D‖² − 2 tr(MᵀXᵀD) + tr(MᵀXᵀX·M).
        let reached = &products.first * &mixing;
        let product = |a: &Matrix, b: &Matrix| -> f64 {
            a.col_iter()
                .zip(b.col_iter())
                .map(|(a, b)| a.iter().zip(b.iter()).map(|(a, b)| a * b).sum::<f64>())
                .sum()
        };
        let missed = products.style_energy - 2.0 * product(&mixing, &products.first_by_change)
            + product(&mixing, &reached);
        Self { mixing, missed: missed.max(0.0) }
    }
}

/// A range of views in blocks.
fn blocks(range: std::ops::Range<usize>) -> Vec<std::ops::Range<usize>> {
    range.clone().step_by(BLOCK).map(|start| start..(start + BLOCK).min(range.end)).collect()
}

/// Displacements (`pose` → `view`) of some views as rows, `3·view × pose`, times a factor that follows
/// from the view's share.
pub(super) fn weighted_rows(
    views: &[View],
    block: std::ops::Range<usize>,
    fields: &[Vec<Vec3>],
    factor: impl Fn(f64) -> f64,
) -> Matrix {
    let factors: Vec<f64> = views[block.clone()].iter().map(|view| factor(view.share)).collect();
    let mut rows = Matrix::zeros(3 * block.len(), fields.len());
    for (pose, field) in fields.iter().enumerate() {
        for (index, u) in field[block.clone()].iter().enumerate() {
            let u = u.as_dvec3() * factors[index];
            rows[(3 * index, pose)] = u.x;
            rows[(3 * index + 1, pose)] = u.y;
            rows[(3 * index + 2, pose)] = u.z;
        }
    }
    rows
}

/// The example with another shape. Normals and what was pulled back belong to the old shape.
fn restyled(example: &Example, positions: Vec<Vec3>) -> Example {
    if positions == example.positions {
        return example.clone();
    }
    Example {
        positions,
        normals: None,
        inverted: None,
        name: example.name.clone(),
        pose: example.pose.clone(),
    }
}

/// Sum of squares of rows, `3·view × any`, each times its view's share.
fn weighted_squares(views: &[View], rows: &Matrix) -> f64 {
    rows.col_iter()
        .map(|column| {
            let squares = column.iter().enumerate().map(|(row, x)| views[row / 3].share * x * x);
            squares.sum::<f64>()
        })
        .sum()
}

/// Sum of squares.
fn squared_norm(matrix: &Matrix) -> f64 {
    matrix.col_iter().map(|column| column.iter().map(|x| x * x).sum::<f64>()).sum()
}

/// √(mean of squared distances).
fn difference(before: &[Example], after: &[Example]) -> f64 {
    let pairs = before.iter().zip(after).flat_map(|(a, b)| a.positions.iter().zip(&b.positions));
    let (sum, count) = pairs.fold((0.0, 0usize), |(sum, count), (a, b)| {
        (sum + a.as_dvec3().distance_squared(b.as_dvec3()), count + 1)
    });
    (sum / count.max(1) as f64).sqrt()
}
