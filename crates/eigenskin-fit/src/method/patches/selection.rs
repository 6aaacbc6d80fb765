//! Which kernel each patch gets: the one that predicts examples best that are left out in turn.
//!
//! ```text
//! L_c(o)    = Σ_i ‖e_ci(o)‖                      errors of left-out examples i on patch c with option o
//! ℓ_c(o)    = L_c(o) / min L_c + 0.15 where o looks at contact
//! chosen_c  = argmin_o ℓ_c(o) + ½ · mean_d ℓ_d(o)
//! ```
//! Lengths count, not their squares: else a few poses whose contact has snapped would decide alone. What an option
//! costs the other patches counts by half: few poses say little about one patch.

use eigenskin_core::driver::Driver;
use eigenskin_core::mover::Mover;
use eigenskin_core::progress::{Cancelled, Counted};
use rayon::prelude::*;

use super::kernel::{JointKernels, Movers, amounts, used};
use crate::numeric::Matrix;

/// What is tried: how strongly joints act, how much the most relevant ones stand out, and smoothing as a share
/// of the kernel's mean diagonal.
const STRENGTHS: [f64; 3] = [0.3, 1.0, 3.0];
const POWERS: [i32; 2] = [1, 2];
pub(super) const SMOOTHINGS: [f64; 5] = [1e-4, 1e-3, 1e-2, 3e-2, 1e-1];
/// How strongly contact acts, and the overlap over which its effect changes as a share of the size.
const TOUCHES: [Touch; 5] = [
    Touch { amount: 0.3, length: 0.02 },
    Touch { amount: 0.3, length: 0.04 },
    Touch { amount: 1.0, length: 0.02 },
    Touch { amount: 1.0, length: 0.04 },
    Touch { amount: 3.0, length: 0.04 },
];
/// Of fewer examples none is smoothed, but for rounding.
const MANY: usize = 30;
const OF_FEW: [f64; 1] = [1e-8];
/// Poses of several joints decide, where there are so many.
const ENOUGH: usize = 10;
/// How much the other patches count.
const OTHERS: f64 = 0.5;

/// What contact must spare of the left-out errors, as a share: every pair of bones takes time in every frame.
const PRICE_OF_CONTACT: f64 = 0.15;

/// Steps of progress for each patch.
pub(super) const STEPS: usize = 3;

/// How contact acts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Touch {
    pub amount: f64,
    /// share of the size
    pub length: f64,
}

/// What is chosen for a patch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Choice {
    /// how strongly joints act
    pub strength: f64,
    /// how much the most relevant ones stand out
    pub power: i32,
    /// none where contact does not help
    pub touch: Option<Touch>,
    /// share of the kernel's mean diagonal
    pub smoothing: f64,
}

/// What a patch does, and what drives it.
pub(super) struct PatchMotion {
    /// `example × component`
    pub coordinates: Matrix,
    pub movers: Movers,
}

/// A fitted driver and how it was chosen.
#[derive(Debug, Clone)]
pub(super) struct PatchDriver {
    pub driver: Driver,
    /// things that drive it, by feature group
    pub movers: Vec<Mover>,
    /// pairs of bones that press on it
    pub contacts: usize,
    pub choice: Choice,
    /// error of coordinates that are left out, relative to them
    pub cross_validation: f64,
}

/// A choice and what it leaves of examples that are left out in turn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tried {
    pub choice: Choice,
    /// sum of the lengths of their errors
    lengths: f64,
    /// sum of the squares
    squares: f64,
}

/// The kernel of every patch; `counted` gets [`STEPS`] for each patch.
pub(super) fn choose(
    kernels: &JointKernels,
    patches: &[PatchMotion],
    counted: &Counted<'_>,
) -> Result<Vec<Tried>, Cancelled> {
    let try_all = |options: &(dyn Fn(usize) -> Vec<JointsAndTouch> + Sync)| {
        let of_patch = |patch: usize| {
            counted.next()?;
            Ok(tried(kernels, &patches[patch], &options(patch)))
        };
        (0..patches.len()).into_par_iter().map(of_patch).collect::<Result<Vec<Vec<Tried>>, Cancelled>>()
    };
    // Joints alone, contact on top of the best, joints again beside it.
    let alone = try_all(&|_| joints_with(None))?;
    let mut chosen = best_of(&alone, &[]);
    let touched = try_all(&|patch| {
        let Choice { strength, power, .. } = chosen[patch].choice;
        let touches = std::iter::once(None).chain(TOUCHES.map(Some));
        let is_pressed = !patches[patch].movers.contacts.is_empty();
        touches.filter(|_| is_pressed).map(|touch| (strength, power, touch)).collect()
    })?;
    chosen = best_of(&touched, &chosen);
    let beside = try_all(&|patch| match chosen[patch].choice.touch {
        None => Vec::new(),
        touch => joints_with(touch),
    })?;
    let all: Vec<Vec<Tried>> = beside
        .into_iter()
        .zip(alone)
        .map(|(beside, alone)| if beside.is_empty() { alone } else { beside })
        .collect();
    Ok(best_of(&all, &chosen))
}

/// Strength and power of joints, and contact.
type JointsAndTouch = (f64, i32, Option<Touch>);

fn joints_with(touch: Option<Touch>) -> Vec<JointsAndTouch> {
    STRENGTHS.into_iter().flat_map(|strength| POWERS.map(|power| (strength, power, touch))).collect()
}

/// What every option, with every smoothing, leaves of a patch.
fn tried(kernels: &JointKernels, patch: &PatchMotion, options: &[JointsAndTouch]) -> Vec<Tried> {
    let PatchMotion { coordinates, movers } = patch;
    let judged = examples_that_count(kernels);
    let smoothings: &[f64] = if coordinates.nrows() < MANY { &OF_FEW } else { &SMOOTHINGS };
    let mut found = Vec::with_capacity(options.len() * smoothings.len());
    for &(strength, power, touch) in options {
        let amounts = amounts(&movers.relevance, strength, power);
        let (kernel, _) = kernels.kernel(&amounts, &movers.contacts, touch);
        let ridge = kernels.ridge(&kernel, coordinates);
        for &smoothing in smoothings {
            let left = ridge.left_out(smoothing, &judged);
            found.push(Tried {
                choice: Choice { strength, power, touch, smoothing },
                lengths: left.iter().map(|square| square.sqrt()).sum(),
                squares: left.iter().sum(),
            });
        }
    }
    found
}

/// For each patch the best of what was tried with it, in the same order with all patches; where nothing was, what
/// was chosen before.
fn best_of(tables: &[Vec<Tried>], before: &[Tried]) -> Vec<Tried> {
    let costs = |table: &Vec<Tried>| -> Vec<f64> {
        let least = table.iter().map(|tried| tried.lengths).fold(f64::INFINITY, f64::min);
        let price = |tried: &Tried| if tried.choice.touch.is_some() { PRICE_OF_CONTACT } else { 0.0 };
        let cost = |tried: &Tried| if least > 0.0 { tried.lengths / least } else { 1.0 };
        table.iter().map(|tried| cost(tried) + price(tried)).collect()
    };
    let costs: Vec<Vec<f64>> = tables.iter().map(costs).collect();
    let of_patches: Vec<&Vec<f64>> = costs.iter().filter(|costs| !costs.is_empty()).collect();
    let mean = |option: usize| {
        of_patches.iter().map(|costs| costs[option]).sum::<f64>() / of_patches.len().max(1) as f64
    };
    let means: Vec<f64> = (0..of_patches.first().map_or(0, |costs| costs.len())).map(mean).collect();
    let best = |patch: usize| {
        let cost = |option: &usize| costs[patch][*option] + OTHERS * means[*option];
        let least = (0..costs[patch].len()).min_by(|a, b| cost(a).total_cmp(&cost(b)));
        least.map_or_else(|| before[patch], |option| tables[patch][option])
    };
    (0..tables.len()).map(best).collect()
}

/// Examples whose prediction decides: those of several joints, where there are enough.
fn examples_that_count(kernels: &JointKernels) -> Vec<usize> {
    let all = || 0..kernels.of_several().len();
    let several: Vec<usize> = all().filter(|&example| kernels.of_several()[example]).collect();
    if several.len() >= ENOUGH { several } else { all().collect() }
}

/// The driver of a patch, with the kernel that was chosen.
pub(super) fn driver(kernels: &JointKernels, patch: &PatchMotion, chosen: &Tried) -> PatchDriver {
    let (PatchMotion { coordinates, movers }, choice) = (patch, chosen.choice);
    let energy: f64 = examples_that_count(kernels)
        .into_iter()
        .flat_map(|e| (0..coordinates.ncols()).map(move |k| coordinates[(e, k)].powi(2)))
        .sum();
    let amounts = amounts(&movers.relevance, choice.strength, choice.power);
    PatchDriver {
        driver: kernels.driver(&amounts, &movers.contacts, choice, coordinates),
        movers: used(&amounts).map(|group| kernels.movers()[group]).collect(),
        contacts: if choice.touch.is_some() { movers.contacts.len() } else { 0 },
        choice,
        cross_validation: if energy > 0.0 { (chosen.squares / energy).sqrt() } else { 0.0 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(lengths: &[f64]) -> Vec<Tried> {
        let option = |(place, &lengths): (usize, &f64)| Tried {
            choice: Choice { strength: place as f64, power: 1, touch: None, smoothing: 0.0 },
            lengths,
            squares: 0.0,
        };
        lengths.iter().enumerate().map(option).collect()
    }

    fn chosen(tables: &[Vec<Tried>], before: &[Tried]) -> Vec<f64> {
        best_of(tables, before).iter().map(|best| best.choice.strength).collect()
    }

    /// By hand: costs (1.25, 1, 1), (1, 2, 1.5), (1, 1.5, 2); means 13/12, 1.5, 1.5.
    #[test]
    fn patches_choose_for_themselves_and_half_for_all() {
        let tables = [tried(&[5.0, 4.0, 4.0]), tried(&[0.1, 0.2, 0.15]), tried(&[20.0, 30.0, 40.0])];
        assert_eq!(chosen(&tables, &[]), [1.0, 0.0, 0.0]);
        // A little is not enough to be against all others; the unit of a patch does not matter.
        let tables = [tried(&[4.4, 4.0, 4.0]), tables[1].clone(), tables[2].clone()];
        assert_eq!(chosen(&tables, &[]), [0.0, 0.0, 0.0]);
    }

    #[test]
    fn contact_must_pay() {
        let with_contact = |lengths: f64| {
            let mut options = tried(&[10.0, lengths]);
            options[1].choice.touch = Some(TOUCHES[0]);
            options
        };
        // 10/9 against 1.15, 10/8 against 1.15; twice the same patch, so that others do not matter.
        for (lengths, expected) in [(9.0, 0.0), (8.0, 1.0)] {
            assert_eq!(chosen(&[with_contact(lengths), with_contact(lengths)], &[]), [expected; 2]);
        }
    }

    #[test]
    fn patches_without_options_keep_what_they_have() {
        let before = [tried(&[1.0, 1.0, 1.0])[2], tried(&[1.0])[0]];
        assert_eq!(chosen(&[Vec::new(), tried(&[2.0, 1.0])], &before), [2.0, 1.0]);
    }

    #[test]
    fn what_is_met_exactly_leaves_the_choice_to_the_others() {
        assert_eq!(chosen(&[tried(&[0.0, 0.0]), tried(&[2.0, 1.0])], &[]), [1.0, 1.0]);
    }
}
