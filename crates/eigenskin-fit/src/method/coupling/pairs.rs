//! Pairs of joints that share skin, and threes: what their single layers leave when all have moved.

use std::collections::BTreeMap;

use eigenskin_core::progress::{Cancelled, Progress};
use glam::{DVec3, Vec3};
use rayon::prelude::*;

use super::COUPLING;
use super::features::{Factor, Functions};
use super::refit::Block;
use crate::basis::PrincipalComponents;
use crate::displacements::TileError;
use crate::displacements::tall_matrix::HeldFields;
use crate::method::coordinates::KeptBasis;
use crate::numeric::{Matrix, solve_positive};
use crate::supports::JointSupport;

/// Two supports that overlap, or three, and examples that move all of them.
#[derive(Debug, Clone)]
pub struct Pair {
    /// indices of the supports, rising
    pub supports: Vec<usize>,
    /// points of the skin they share, rising
    pub points: Vec<u32>,
    /// `point`: product of their masks
    pub mask: Vec<f32>,
    /// examples that move all of them
    pub examples: Vec<usize>,
    /// zero unless all have moved
    pub functions: Functions,
}

/// Fewer examples that move all of them show nothing that could be checked.
const LEAST_EXAMPLES: usize = 3;
/// Components of a pair, before the budget has its say.
const MOST_COMPONENTS: usize = 4;
/// Functions of a pair.
const MOST_FUNCTIONS: usize = 32;
/// Examples that a pair's fields are found from; more are thinned out evenly.
const MOST_FIELD_EXAMPLES: usize = 48;
/// Smoothing of pairs against that of single joints, and of threes against that of pairs: products of two
/// functions that reach 2 reach 4, and what a sum can explain is left to the sum.
const CAUTION: f64 = 4.0;
/// A pair's residual components below this share of its strongest are noise.
const LEAST_ENERGY: f64 = 1e-3;

impl Pair {
    /// All pairs that could be coupled.
    pub fn candidates(
        example_count: usize,
        supports: &[JointSupport],
        acting: &[Vec<usize>],
        factor: impl Fn(usize) -> Factor + Sync,
        progress: &dyn Progress,
    ) -> Result<Vec<Self>, Cancelled> {
        let all: Vec<Vec<usize>> =
            (0..supports.len()).flat_map(|b| (0..b).map(move |a| vec![a, b])).collect();
        Self::possible(all, example_count, supports, acting, factor, progress)
    }

    /// Threes that a pair among `chosen` is part of.
    pub fn threes(
        chosen: &[Self],
        example_count: usize,
        supports: &[JointSupport],
        acting: &[Vec<usize>],
        factor: impl Fn(usize) -> Factor + Sync,
        progress: &dyn Progress,
    ) -> Result<Vec<Self>, Cancelled> {
        let mut all: Vec<Vec<usize>> = Vec::new();
        for pair in chosen {
            for third in (0..supports.len()).filter(|third| !pair.supports.contains(third)) {
                let mut three = pair.supports.clone();
                three.push(third);
                three.sort_unstable();
                all.push(three);
            }
        }
        all.sort_unstable();
        all.dedup();
        Self::possible(all, example_count, supports, acting, factor, progress)
    }

    /// Those of `groups` that share skin and move together often enough.
    fn possible(
        groups: Vec<Vec<usize>>,
        example_count: usize,
        supports: &[JointSupport],
        acting: &[Vec<usize>],
        factor: impl Fn(usize) -> Factor + Sync,
        progress: &dyn Progress,
    ) -> Result<Vec<Self>, Cancelled> {
        groups
            .into_par_iter()
            .map(|group| {
                progress.doing(COUPLING)?;
                let moves_all = |example: &usize| group.iter().all(|s| acting[*example].contains(s));
                let examples: Vec<usize> = (0..example_count).filter(moves_all).collect();
                let (points, mask) = shared(&group.iter().map(|&s| &supports[s]).collect::<Vec<_>>());
                Ok((examples.len() >= LEAST_EXAMPLES && !points.is_empty()).then(|| {
                    let factors = group.iter().map(|&s| factor(s)).collect();
                    let functions = Functions::new(factors, &examples, example_count, MOST_FUNCTIONS);
                    Self { supports: group, points, mask, examples, functions }
                }))
            })
            .filter_map(Result::transpose)
            .filter(|pair| !matches!(pair, Ok(pair) if pair.functions.count() == 0))
            .collect()
    }

    /// With given fields.
    pub fn block_with(&self, basis: KeptBasis) -> Block {
        let caution = CAUTION.powi(self.supports.len() as i32 - 1);
        Block { basis, mask: self.mask.clone(), functions: self.functions.clone(), caution }
    }

    /// The fields that stand for what is left (`example` → `point`) in some of its examples.
    pub fn block(
        &self,
        left: &[Vec<DVec3>],
        examples: &[usize],
        progress: &dyn Progress,
    ) -> Result<Option<Block>, Cancelled> {
        progress.doing(COUPLING)?;
        let moving: Vec<usize> = self.examples.iter().copied().filter(|e| examples.contains(e)).collect();
        let places: Vec<usize> =
            moving.iter().copied().step_by(moving.len().div_ceil(MOST_FIELD_EXAMPLES).max(1)).collect();
        let columns: Vec<Vec3> = places
            .iter()
            .flat_map(|&example| {
                let left = &left[example];
                let masked = self.points.iter().zip(&self.mask);
                masked.map(move |(&point, &mask)| left[point as usize].as_vec3() * mask)
            })
            .collect();
        if places.is_empty() || columns.iter().all(|u| *u == Vec3::ZERO) {
            return Ok(None);
        }
        let columns = HeldFields::new(columns, places.len());
        let Some(components) = held(PrincipalComponents::of(&columns.matrix(), None, progress))? else {
            return Ok(None);
        };
        let strongest = components.singular_values.first().copied().unwrap_or(0.0);
        let kept =
            components.singular_values.iter().filter(|&&s| s * s > LEAST_ENERGY * strongest * strongest);
        let count = kept.count().min(MOST_COMPONENTS);
        let found = components.fields_and_coordinates(&columns.matrix(), count, progress);
        let Some(found) = held(found)? else { return Ok(None) };
        let fields = found.fields.into_iter().flatten().map(DVec3::as_vec3).collect();
        let basis = KeptBasis { points: self.points.clone(), fields };
        Ok((count > 0).then(|| self.block_with(basis)))
    }
}

/// What was computed from fields in memory, which can always be read.
fn held<T>(found: Result<T, TileError>) -> Result<Option<T>, Cancelled> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(TileError::Cancelled(cancelled)) => Err(cancelled),
        Err(TileError::Store(_)) => Ok(None),
    }
}

/// Points that all supports have, and the product of their masks there.
fn shared(supports: &[&JointSupport]) -> (Vec<u32>, Vec<f32>) {
    let Some((first, others)) = supports.split_first() else { return (Vec::new(), Vec::new()) };
    let mut masks: BTreeMap<u32, f32> =
        first.points.iter().copied().zip(first.mask.iter().copied()).collect();
    for other in others {
        let of_other: BTreeMap<u32, f32> =
            other.points.iter().copied().zip(other.mask.iter().copied()).collect();
        masks.retain(|point, mask| {
            *mask *= of_other.get(point).copied().unwrap_or(0.0);
            *mask > 0.0
        });
    }
    masks.into_iter().unzip()
}

/// What one pair alone makes of what is left: learnt from `train`, subtracted in `train` and `test`.
/// Returns by how much that lowers Σ ‖left‖² over `test`.
pub fn predicted_gain(
    pair: &Pair,
    left: &mut [Vec<DVec3>],
    train: &[usize],
    test: &[usize],
    smoothing: f64,
    subtract: bool,
    progress: &dyn Progress,
) -> Result<f64, Cancelled> {
    let Some(block) = pair.block(left, train, progress)? else { return Ok(0.0) };
    let (functions, basis) = (&block.functions, &block.basis);
    let moving = |examples: &[usize]| -> Vec<usize> {
        pair.examples.iter().copied().filter(|e| examples.contains(e)).collect()
    };
    let (train, test) = (moving(train), moving(test));
    let along = |left: &[DVec3], component: usize| -> f64 {
        basis
            .points
            .iter()
            .zip(basis.field(component))
            .map(|(&p, u)| u.as_dvec3().dot(left[p as usize]))
            .sum()
    };
    let values =
        Matrix::from_fn(train.len(), functions.count(), |place, f| functions.values[(train[place], f)]);
    let observed =
        Matrix::from_fn(train.len(), basis.component_count(), |place, k| along(&left[train[place]], k));
    let mut gram = values.transpose() * &values;
    for f in 0..functions.count() {
        gram[(f, f)] += smoothing * block.caution;
    }
    let coefficients = solve_positive(&gram, &(values.transpose() * &observed));
    let alpha = |example: usize, k: usize| -> f64 {
        (0..functions.count()).map(|f| functions.values[(example, f)] * coefficients[(f, k)]).sum()
    };
    let mut gain = 0.0;
    for &example in &test {
        for k in 0..basis.component_count() {
            let alpha = alpha(example, k);
            gain += alpha * (2.0 * along(&left[example], k) - alpha);
        }
    }
    if subtract {
        for &example in train.iter().chain(&test) {
            for k in 0..basis.component_count() {
                let alpha = alpha(example, k);
                for (&point, u) in basis.points.iter().zip(basis.field(k)) {
                    left[example][point as usize] -= alpha * u.as_dvec3();
                }
            }
        }
    }
    Ok(gain)
}
