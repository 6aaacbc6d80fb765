//! Which examples pose space deformation learns from.

use eigenskin_core::examples::{ExamplesError, MergedExample, SAME_SHAPE};
use eigenskin_core::mover::Mover;
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::Progress;

use super::PsdParams;
use super::deltas::Deltas;
use crate::displacements::Observations;
use crate::method::FitError;

/// Examples that move something. Their places in these lists are their numbers from here on.
pub(super) struct UsedExamples<'a> {
    /// `used example` → its number among the observations
    pub examples: Vec<usize>,
    /// `used example`
    pub names: Vec<&'a str>,
    /// `used example`
    pub poses: Vec<&'a Pose>,
    /// `used example` → what it moves, rising
    pub moved: Vec<Vec<Mover>>,
    /// `used example`: its largest delta, and the vertex that has it
    pub largest: Vec<(f64, usize)>,
    /// examples that move everything by less than can be told from rest
    pub merged: Vec<MergedExample>,
}

impl<'a> UsedExamples<'a> {
    pub fn of(
        seen: &'a Observations,
        deltas: &Deltas<'_>,
        params: &PsdParams,
        progress: &dyn Progress,
    ) -> Result<Self, FitError> {
        let known = seen.names.iter().chain(seen.merged.iter().map(|merged| &merged.name));
        params.check_names(known.map(String::as_str))?;
        let rig = &seen.rig;
        let largest = deltas.largest(progress)?;
        let movers = Mover::all(rig);
        let mut used = Self {
            examples: Vec::new(),
            names: Vec::new(),
            poses: Vec::new(),
            moved: Vec::new(),
            largest: Vec::new(),
            merged: Vec::new(),
        };
        for (example, pose) in seen.poses.iter().enumerate() {
            let (distance, vertex) = largest[example];
            let name = &seen.names[example];
            let mut moved: Vec<Mover> =
                movers.iter().copied().filter(|mover| mover.is_moved(rig, pose)).collect();
            moved.sort();
            if !moved.is_empty() {
                used.examples.push(example);
                used.names.push(name);
                used.poses.push(pose);
                used.moved.push(moved);
                used.largest.push((distance, vertex));
            } else if distance <= SAME_SHAPE * rig.mesh().size() {
                used.merged.push(MergedExample { name: name.clone(), same_as: None, distance });
            } else {
                return Err(ExamplesError::MovedAtRest { name: name.clone(), vertex, distance }.into());
            }
        }
        if used.examples.is_empty() { Err(FitError::NothingMoves) } else { Ok(used) }
    }
}
