//! Example shapes stored whole, one morph target each, blended by weights that depend on the pose.
//!
//! The weights are cardinal: at its own example a target has 1 and all others 0; at rest all have 0.

use std::sync::Arc;

use eigenskin_core::driver::Driver;
use eigenskin_core::examples::ExampleSet;
use eigenskin_core::mover::{Mover, moved_by_poses};
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::{Cancelled, Progress};
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::{BaseSkinning, PosedSkinning};
use glam::Vec3;

use super::{blended, carry_with_root, displacements_from_root};
use crate::displacements::skinned_displacements;
use crate::drivers::{RbfError, RbfParams, Samples, Smoothing, Targets, fit_targets};
use crate::method::{FitError, Interpolated, feature_groups, isometric_coordinates};
use crate::numeric::Matrix;

/// Weights of whole examples over the pose.
///
/// Joints and controls that some example moves together share a pose space; those that no example
/// moves together have spaces of their own, whose corrections add up. So all examples are met, and
/// single-joint examples still act when many joints move.
#[derive(Debug, Clone)]
pub struct PoseWeights {
    rig: Arc<Rig>,
    example_count: usize,
    /// the examples that a space holds, and the driver of their weights
    spaces: Vec<(Vec<usize>, Driver)>,
}

/// The examples' rest-space displacements as morph targets, before skinning: no supports, no
/// components.
#[derive(Debug, Clone)]
pub struct ExampleTargets {
    base: BaseSkinning,
    weights: PoseWeights,
    /// `example × vertex`
    displacements: Vec<Vec<Vec3>>,
}

/// Shape interpolation (Lewis, Cordner, Fong 2000 §2.3.1): the rest shape plus a weighted sum of
/// what the examples add to it as they stand, without any skinning. The character as a whole is
/// carried by its first root.
#[derive(Debug, Clone)]
pub struct ShapeInterpolation {
    weights: PoseWeights,
    /// seen from the root, `example × vertex`
    displacements: Vec<Vec<Vec3>>,
}

/// What makes a nearly singular system solvable; the examples give way by about this share.
const RESCUE_SMOOTHING: f64 = 1e-6;

impl PoseWeights {
    /// Learns the weights of examples of which no two share a pose and none is at rest
    /// ([`ExampleSet::for_training`]). An automatic width is the one that predicts left-out displacements
    /// on `base` best.
    pub fn fit(
        set: &ExampleSet,
        base: BaseSkinning,
        interpolation: &RbfParams,
        progress: &dyn Progress,
    ) -> Result<Self, FitError> {
        let displacements = skinned_displacements(set, base, progress)?;
        let movers = Mover::all(set.rig());
        let spaces = pose_spaces(
            &moved_by_poses(set.rig(), set.examples().iter().map(|example| &example.pose), &movers),
            movers.len(),
        )
        .into_iter()
        .map(|space| {
            let poses = || space.examples.iter().map(|&example| &set.examples()[example].pose);
            let groups =
                space.movers.iter().flat_map(|&mover| feature_groups(set.rig(), movers[mover], poses()));
            let samples = Samples::measure(groups.collect(), set.rig().skeleton(), poses());
            let fields: Vec<&[Vec3]> =
                space.examples.iter().map(|&example| displacements.positions.held_of(example)).collect();
            let named = |sample: usize| {
                let example = sample.checked_sub(1).map(|at| &set.examples()[space.examples[at]]);
                example.map_or("rest".to_string(), |example| example.name.clone())
            };
            let joints: Vec<&str> = space.movers.iter().map(|&mover| movers[mover].name(set.rig())).collect();
            let of = || Interpolated::Joint(joints.join(", "));
            let driver = cardinal_driver(&samples, &fields, interpolation, progress)
                .map_err(|error| FitError::interpolating(of(), error, named))?;
            Ok((space.examples, driver))
        })
        .collect::<Result<_, FitError>>()?;
        Ok(Self { rig: set.rig().clone(), example_count: set.len(), spaces })
    }

    /// The weights in a pose, `example`.
    pub fn at(&self, pose: &Pose) -> Vec<f64> {
        let mut weights = vec![0.0; self.example_count];
        for (examples, driver) in &self.spaces {
            let mut outputs = vec![0.0; examples.len()];
            let mut scratch = vec![0.0; driver.scratch_count()];
            driver.evaluate(self.rig.skeleton(), pose, &mut scratch, &mut outputs);
            for (&example, weight) in examples.iter().zip(outputs) {
                weights[example] = weight;
            }
        }
        weights
    }
}

impl ExampleTargets {
    /// Stores the examples that `weights` was fitted to.
    pub fn new(
        set: &ExampleSet,
        base: BaseSkinning,
        weights: PoseWeights,
        progress: &dyn Progress,
    ) -> Result<Self, Cancelled> {
        let pulled = skinned_displacements(set, base, progress)?;
        let of_vertices = |example: usize| {
            let points = pulled.positions.held_of(example);
            (0..set.rig().vertex_count()).map(|vertex| points[pulled.points.group_of(vertex)]).collect()
        };
        Ok(Self { base, weights, displacements: (0..set.len()).map(of_vertices).collect() })
    }

    /// Posed positions, `vertex`.
    pub fn shape(&self, pose: &Pose) -> Vec<Vec3> {
        let rig = &self.weights.rig;
        let skinning = PosedSkinning::new(self.base, rig, pose);
        let mut shape = blended(rig, &self.weights.at(pose), &self.displacements);
        for (vertex, position) in shape.iter_mut().enumerate() {
            *position = skinning.position(vertex, position.as_dvec3()).as_vec3();
        }
        shape
    }
}

impl ShapeInterpolation {
    /// Stores the examples that `weights` was fitted to.
    pub fn new(set: &ExampleSet, weights: PoseWeights) -> Self {
        Self { weights, displacements: displacements_from_root(set) }
    }

    /// Posed positions, `vertex`.
    pub fn shape(&self, pose: &Pose) -> Vec<Vec3> {
        let rig = &self.weights.rig;
        let mut shape = blended(rig, &self.weights.at(pose), &self.displacements);
        carry_with_root(rig, pose, &mut shape);
        shape
    }
}

/// Movers that examples tie together, and these examples.
#[derive(Debug, PartialEq, Eq)]
struct PoseSpace {
    /// rising
    movers: Vec<usize>,
    /// rising
    examples: Vec<usize>,
}

/// The spaces of examples that move the given movers (`example` → movers).
fn pose_spaces(moved: &[Vec<usize>], mover_count: usize) -> Vec<PoseSpace> {
    // Every mover starts in a space of its own, called by its lowest mover; examples join spaces.
    let mut space_of: Vec<usize> = (0..mover_count).collect();
    for together in moved {
        let joined: Vec<usize> = together.iter().map(|&mover| space_of[mover]).collect();
        let Some(&lowest) = joined.iter().min() else { continue };
        for space in space_of.iter_mut().filter(|space| joined.contains(space)) {
            *space = lowest;
        }
    }
    let in_space = |example: &usize, space: usize| {
        moved[*example].first().is_some_and(|&mover| space_of[mover] == space)
    };
    (0..mover_count)
        .map(|space| PoseSpace {
            movers: (0..mover_count).filter(|&mover| space_of[mover] == space).collect(),
            examples: (0..moved.len()).filter(|example| in_space(example, space)).collect(),
        })
        .filter(|space| !space.examples.is_empty())
        .collect()
}

/// Interpolates one weight per example (samples without rest) of given displacements
/// (`example × point`).
fn cardinal_driver(
    samples: &Samples,
    fields: &[&[Vec3]],
    interpolation: &RbfParams,
    progress: &dyn Progress,
) -> Result<Driver, RbfError> {
    let count = fields.len();
    let coordinates = field_coordinates(fields);
    let mut identity = vec![0.0; (count + 1) * count];
    for example in 0..count {
        identity[(example + 1) * count + example] = 1.0;
    }
    // Not clamped: weights of opposite signs cancel each other between examples.
    let targets = Targets {
        values: &identity,
        judged_by: &coordinates,
        own: count,
        radii: std::collections::BTreeMap::new(),
    };
    let fit = fit_targets(samples, &targets, interpolation, progress).or_else(|error| match error {
        RbfError::Singular { .. } => {
            let rescued =
                RbfParams { smoothing: Smoothing::Fixed(RESCUE_SMOOTHING), ..interpolation.clone() };
            fit_targets(samples, &targets, &rescued, progress)
        }
        RbfError::BadParameter { .. } | RbfError::Cancelled(_) => Err(error),
    })?;
    Ok(fit.driver)
}

/// Few numbers per sample (`sample × coordinate`, rest first) with the same inner products as the
/// fields (`example × point`): errors in them are errors of the shapes.
fn field_coordinates(fields: &[&[Vec3]]) -> Vec<f64> {
    let count = fields.len();
    let product = |a: &[Vec3], b: &[Vec3]| -> f64 {
        a.iter().zip(b).map(|(a, b)| a.as_dvec3().dot(b.as_dvec3())).sum()
    };
    let gram = Matrix::from_fn(count, count, |a, b| product(fields[a], fields[b]));
    vec![0.0; count].into_iter().chain(isometric_coordinates(&gram)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_join_the_spaces_of_what_they_move() {
        let space = |movers: &[usize], examples: &[usize]| PoseSpace {
            movers: movers.to_vec(),
            examples: examples.to_vec(),
        };
        let alone = pose_spaces(&[vec![0], vec![2], vec![0]], 4);
        assert_eq!(alone, [space(&[0], &[0, 2]), space(&[2], &[1])]);
        // 1–3 and 2–3 tie all three, though no example moves 1 and 2.
        let tied = pose_spaces(&[vec![1, 3], vec![0], vec![2, 3]], 4);
        assert_eq!(tied, [space(&[0], &[1]), space(&[1, 2, 3], &[0, 2])]);
    }

    #[test]
    fn coordinates_keep_inner_products() {
        let fields = [
            vec![Vec3::new(1.0, 2.0, 0.0), Vec3::Y],
            vec![Vec3::new(0.5, -1.0, 3.0), Vec3::X],
            vec![Vec3::new(1.5, 1.0, 3.0), Vec3::new(1.0, 1.0, 0.0)],
        ];
        let coordinates = field_coordinates(&fields.each_ref().map(Vec::as_slice));
        let row = |sample: usize| &coordinates[3 * sample..3 * (sample + 1)];
        assert!(row(0).iter().all(|&c| c == 0.0));
        for a in 0..3 {
            for b in 0..3 {
                let expected: f32 = fields[a].iter().zip(&fields[b]).map(|(a, b)| a.dot(*b)).sum();
                let found: f64 = row(a + 1).iter().zip(row(b + 1)).map(|(a, b)| a * b).sum();
                assert!((found - f64::from(expected)).abs() < 1e-9, "{a}, {b}: {found}");
            }
        }
    }
}
