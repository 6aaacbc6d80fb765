//! Which parts the skin is cut into, and what drives each: by what would be lost on examples not seen.

use eigenskin_core::progress::{Cancelled, Progress};
use rayon::prelude::*;

use super::drivers::{PartDriver, best_movers, with_best_smoothing};
use super::folds::{Fold, Interpolation, folds_of};
use super::params::ParameterizationParams;
use super::partition::{COUNTS, Part, Pieces};
use super::signals::{PartComponents, part_components};
use crate::displacements::{Observations, TileError};
use crate::method::allocation::Budget;
use crate::method::moving_things::MovingThing;

/// What the examples show.
#[derive(Clone, Copy)]
pub(super) struct Observed<'a> {
    pub seen: &'a Observations,
    pub things: &'a [MovingThing],
}

/// The skin in parts, what happens in each, and what drives it.
pub(super) struct Partition {
    /// `part`
    pub parts: Vec<Part>,
    /// `part`
    pub components: Vec<PartComponents>,
    /// `part`
    drivers: Vec<PartDriver>,
}

/// One part of a partition.
#[derive(Clone, Copy)]
pub(super) struct CutPart<'a> {
    pub part: &'a Part,
    pub components: &'a PartComponents,
    pub driver: &'a PartDriver,
}

impl Partition {
    /// The parts in which something happens.
    pub fn parts_with_signals(&self) -> impl Iterator<Item = CutPart<'_>> {
        let all = self.parts.iter().zip(&self.components).zip(&self.drivers);
        let parts = all.map(|((part, components), driver)| CutPart { part, components, driver });
        parts.filter(|part| part.components.count() > 0)
    }

    /// Squared displacements that the components kept cannot show, over all examples.
    pub fn energy_lost(&self) -> f64 {
        self.components.iter().map(PartComponents::energy_lost).sum::<f64>() + 0.0
    }

    /// Squared error over all examples, each left out with its stretch.
    pub fn error_unseen(&self) -> Option<f64> {
        self.drivers.iter().map(|driver| driver.unseen).sum()
    }
}

/// So many partitions one after the other that could do better and do not end the search.
const PATIENCE: usize = 3;

/// More parts must take this share off the squared error of fewer.
const PAYS: f64 = 0.1;

/// The partition with the smallest error on examples not seen, from the whole skin to many parts.
pub(super) fn best_partition(
    observed: Observed<'_>,
    params: &ParameterizationParams,
    progress: &dyn Progress,
) -> Result<Partition, TileError> {
    let seen = observed.seen;
    let pieces = Pieces::new(&seen.rig, &seen.displacements, progress)?;
    let counts: Vec<usize> = match params.parts {
        Some(wanted) => pieces.count_up_to(wanted).into_iter().collect(),
        None => COUNTS.to_vec(),
    };
    let mut best: Option<(f64, Partition, Vec<Vec<Fold>>)> = None;
    let mut worse = 0;
    for count in counts {
        let Some(parts) = pieces.parts(count, progress)? else { break };
        let budget =
            Budget { per_vertex: params.signals_per_vertex, per_joint: None, total: params.most_signals };
        let components =
            part_components(&seen.displacements, &parts, budget, params.per_coordinate, progress)?;
        let lost: f64 = components.iter().map(PartComponents::energy_lost).sum();
        // What is lost of examples that were seen is the least that is lost of others.
        if best.as_ref().is_none_or(|(least, ..)| lost < (1.0 - PAYS) * least) {
            let (partition, folds) = driven(observed, parts, components, params, progress)?;
            let error = partition.error_unseen().unwrap_or(lost);
            if best.as_ref().is_none_or(|(least, ..)| error < (1.0 - PAYS) * least) {
                best = Some((error, partition, folds));
                worse = 0;
            } else {
                worse += 1;
            }
        }
        if worse >= PATIENCE {
            break;
        }
    }
    let Some((_, mut partition, folds)) = best else {
        return Ok(Partition { parts: Vec::new(), components: Vec::new(), drivers: Vec::new() });
    };
    let interpolation = Interpolation::of(params, progress);
    partition.drivers = partition
        .drivers
        .par_iter()
        .zip(&folds)
        .map(|(driver, folds)| with_best_smoothing(observed, driver, folds, &interpolation))
        .collect::<Result<_, Cancelled>>()?;
    Ok(partition)
}

/// Finds what drives each part.
fn driven(
    observed: Observed<'_>,
    parts: Vec<Part>,
    components: Vec<PartComponents>,
    params: &ParameterizationParams,
    progress: &dyn Progress,
) -> Result<(Partition, Vec<Vec<Fold>>), Cancelled> {
    let interpolation = Interpolation::of(params, progress);
    let found: Vec<(PartDriver, Vec<Fold>)> = parts
        .par_iter()
        .zip(&components)
        .map(|(part, components)| {
            let folds = folds_of(components, observed.seen.len(), progress)?;
            let energies = components.energies_of_examples();
            Ok((best_movers(observed, part, &energies, &folds, &interpolation)?, folds))
        })
        .collect::<Result<_, Cancelled>>()?;
    let (drivers, folds) = found.into_iter().unzip();
    Ok((Partition { parts, components, drivers }, folds))
}
