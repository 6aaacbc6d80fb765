//! What more poses of several joints would buy.

use eigenskin_core::examples::ExampleSet;
use eigenskin_core::progress::{Cancelled, Counted, Progress};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::choose::of_examples;
use crate::method::patches::expectation::PatchCovariance;
use crate::numeric::{Matrix, solve_positive};

/// How well examples that move several joints are predicted by the others: what is left, relative to plain
/// skinning.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Outlook {
    /// examples that move several joints
    pub poses: usize,
    /// error when half of them are left out in turn
    pub with_half: f64,
    /// error when each is left out in turn
    pub with_all: f64,
}

impl Outlook {
    /// The error to expect with `more` such examples: what doubling them did before, doubling them does again.
    pub fn with_more(&self, more: usize) -> f64 {
        let doublings = ((self.poses + more) as f64 / self.poses.max(1) as f64).log2();
        let each = if self.with_half > 0.0 { (self.with_all / self.with_half).min(1.0) } else { 1.0 };
        self.with_all * each.powf(doublings)
    }
}

/// Fewer examples of several joints say nothing of more.
const ENOUGH: usize = 8;
/// Ways to halve the examples.
const WAYS: usize = 2;
const LOOKING: &str = "looking ahead";

/// Leaves out examples that move several joints, and predicts them from the others; `None` where there are fewer
/// than eight of them.
pub fn outlook(set: &ExampleSet, progress: &dyn Progress) -> Result<Option<Outlook>, Cancelled> {
    let (expectation, count) = of_examples(set.rig(), set, std::iter::empty(), progress)?;
    let of_several = expectation.of_several(count);
    let several: Vec<usize> = (0..count).filter(|&example| of_several[example]).collect();
    if several.len() < ENOUGH {
        return Ok(None);
    }
    let moving = expectation.moving_patches();
    let counted = Counted::new(progress, LOOKING, moving.len());
    let found: Vec<[f64; 3]> = moving
        .into_par_iter()
        .map(|patch| {
            let products = expectation.inner_products(patch, count);
            let all: f64 = several.iter().map(|&example| products[(example, example)]).sum();
            let one =
                expectation.left_one_out(patch, &products, &several).iter().map(|left| left.shown).sum();
            progress.doing(LOOKING)?;
            let half = left_half_out(&expectation.covariance(patch, count), &products, &several);
            counted.next()?;
            Ok([all, one, half])
        })
        .collect::<Result<_, Cancelled>>()?;
    let sum = |which: usize| found.iter().map(|own| own[which]).sum::<f64>();
    let relative = |left: f64| if sum(0) > 0.0 { (left / sum(0)).max(0.0).sqrt() } else { 0.0 };
    Ok(Some(Outlook { poses: several.len(), with_half: relative(sum(2)), with_all: relative(sum(1)) }))
}

/// Squared error of the examples `several` with every second one left out, mean over ways to halve them.
fn left_half_out(covariance: &PatchCovariance, products: &Matrix, several: &[usize]) -> f64 {
    let ways = (0..WAYS).flat_map(|way| (0..2).map(move |half| (way, half)));
    let left = ways.map(|(way, half)| {
        // Every second one, then every second pair.
        let is_out = |place: usize| (place >> way) % 2 == half;
        let out: Vec<usize> =
            several.iter().enumerate().filter(|(place, _)| is_out(*place)).map(|(_, &e)| e).collect();
        predicted(covariance, products, &out)
    });
    left.sum::<f64>() / WAYS as f64
}

/// Squared error of the examples `out` when the others predict them.
fn predicted(covariance: &PatchCovariance, products: &Matrix, out: &[usize]) -> f64 {
    let kept: Vec<usize> = (0..products.nrows()).filter(|example| !out.contains(example)).collect();
    let inner = Matrix::from_fn(kept.len(), kept.len(), |a, b| {
        let noise = if a == b { covariance.noise.max(f64::MIN_POSITIVE) } else { 0.0 };
        covariance.matrix[(kept[a], kept[b])] + noise
    });
    let across = Matrix::from_fn(kept.len(), out.len(), |a, b| covariance.matrix[(kept[a], out[b])]);
    let weights = solve_positive(&inner, &across);
    let among = Matrix::from_fn(kept.len(), kept.len(), |a, b| products[(kept[a], kept[b])]);
    let shown = &among * &weights;
    (0..out.len())
        .map(|o| {
            let with = |a: usize| weights[(a, o)] * (shown[(a, o)] - 2.0 * products[(kept[a], out[o])]);
            products[(out[o], out[o])] + (0..kept.len()).map(with).sum::<f64>()
        })
        .sum()
}
