//! Coordinates of a pose, as [`crate::evaluate::Evaluator::drive`] finds them, within rounding; but
//! centres are taken eight at a time, joints that several layers look at are measured once, and layers
//! that see nothing new are left alone.

use glam::{DAffine3, DQuat};

use super::{PackedModel, Path};
use crate::driver::features::Measured;
use crate::driver::{FeatureSource, Interpolant};
use crate::pose::{JointMotion, Pose, rotation_of};

/// The drivers of a model and what they saw last.
#[derive(Debug)]
pub(super) struct DriverState {
    /// what all layers look at, each once
    sources: Vec<Source>,
    /// `layer → feature group`: index into `sources`
    looked_at: Vec<Vec<usize>>,
    /// `layer`: its features and linear coordinates of the last frame
    features: Vec<Vec<f64>>,
    /// as many as the widest layer has
    scratch: Vec<f64>,
    outputs: Vec<f64>,
    /// of all layers
    coordinates: Vec<f32>,
    /// layers that were computed for the last frame
    computed: usize,
    is_first: bool,
}

/// A joint or control that drivers look at.
#[derive(Debug)]
struct Source {
    of: FeatureSource,
    /// inverse of the rotation at rest
    to_rest: DQuat,
    /// where the reference joint and the joint were, or the control's value
    seen: Seen,
    measured: Measured,
    has_changed: bool,
}

#[derive(Debug, PartialEq)]
enum Seen {
    Nothing,
    Joints(DAffine3, DAffine3),
    Control(f64),
}

impl DriverState {
    pub fn new(packed: &PackedModel) -> Self {
        let mut sources: Vec<Source> = Vec::new();
        let mut looked_at = Vec::new();
        for (driver, _) in &packed.drivers {
            let indices = driver.groups.iter().map(|group| {
                sources.iter().position(|known| known.of == group.source).unwrap_or_else(|| {
                    sources.push(Source::new(&group.source));
                    sources.len() - 1
                })
            });
            looked_at.push(indices.collect());
        }
        let features: Vec<Vec<f64>> =
            packed.drivers.iter().map(|(driver, _)| vec![f64::NAN; driver.scratch_count()]).collect();
        Self {
            sources,
            looked_at,
            scratch: vec![0.0; features.iter().map(Vec::len).max().unwrap_or(0)],
            features,
            outputs: vec![0.0; packed.component_count],
            coordinates: vec![0.0; packed.component_count],
            computed: 0,
            is_first: true,
        }
    }

    pub fn coordinates(&self) -> &[f32] {
        &self.coordinates
    }

    pub fn computed_layers(&self) -> usize {
        self.computed
    }

    /// The coordinates for a pose.
    pub fn drive(&mut self, packed: &PackedModel, path: Path, pose: &Pose) {
        let skeleton = packed.rig.skeleton();
        for source in &mut self.sources {
            source.look(skeleton.rest_from_joint(), pose);
        }
        self.computed = 0;
        for (layer, (driver, first)) in packed.drivers.iter().enumerate() {
            let end = packed.drivers.get(layer + 1).map_or(packed.component_count, |(_, next)| *next);
            let looked_at = &self.looked_at[layer];
            if *first == end {
                continue;
            }
            if !self.is_first && !looked_at.iter().any(|&source| self.sources[source].has_changed) {
                continue;
            }
            let scratch = &mut self.scratch[..driver.scratch_count()];
            let (features, linear) = scratch.split_at_mut(driver.feature_count());
            let needs_linear = driver.needs_linear();
            let (mut feature, mut coordinate) = (0, 0);
            for (group, &source) in driver.groups.iter().zip(looked_at) {
                let measured = &self.sources[source].measured;
                group.write_features(measured, &mut features[feature..feature + group.feature_count()]);
                let own = &mut linear[coordinate..coordinate + group.linear_count()];
                if needs_linear {
                    group.write_linear(measured, own);
                } else {
                    own.fill(0.0);
                }
                feature += group.feature_count();
                coordinate += group.linear_count();
            }
            let outputs = &mut self.outputs[*first..end];
            // Moving the whole character changes where joints are, not what drivers see of them.
            if *features == self.features[layer][..features.len()]
                && *linear == self.features[layer][features.len()..]
            {
                continue;
            }
            self.features[layer].copy_from_slice(scratch);
            let (features, linear) = scratch.split_at_mut(driver.feature_count());
            match (&packed.radial[layer], &driver.interpolant) {
                (Some(table), Interpolant::Rbf { coefficients, tail, .. }) => {
                    outputs.fill(0.0);
                    table.add(path, features, coefficients, outputs);
                    tail.add_to(linear, outputs);
                    driver.clamp(outputs);
                }
                _ => driver.evaluate_features(features, linear, outputs),
            }
            for (coordinate, output) in self.coordinates[*first..end].iter_mut().zip(outputs) {
                *coordinate = *output as f32;
            }
            self.computed += 1;
        }
        self.is_first = false;
    }
}

impl Source {
    fn new(source: &FeatureSource) -> Self {
        let to_rest = match source {
            FeatureSource::Joint { reference_from_joint_at_rest, .. } => {
                rotation_of(reference_from_joint_at_rest.matrix3).inverse()
            }
            FeatureSource::Control { .. } => DQuat::IDENTITY,
        };
        let measured = Measured::Control(0.0);
        Self { of: source.clone(), to_rest, seen: Seen::Nothing, measured, has_changed: false }
    }

    /// Measures again what has moved.
    fn look(&mut self, rest_from_joint: &[DAffine3], pose: &Pose) {
        let now = match self.of {
            FeatureSource::Joint { joint, reference, .. } => {
                Seen::Joints(pose.world_from_joint[reference], pose.world_from_joint[joint])
            }
            FeatureSource::Control { control, .. } => Seen::Control(pose.controls[control]),
        };
        self.has_changed = now != self.seen;
        if !self.has_changed {
            return;
        }
        self.measured = match (&self.of, &now) {
            (
                FeatureSource::Joint { reference, reference_from_joint_at_rest, .. },
                Seen::Joints(world_from_reference, world_from_joint),
            ) => {
                let reference_from_joint = world_from_reference.inverse() * *world_from_joint;
                let moved = reference_from_joint.translation - reference_from_joint_at_rest.translation;
                Measured::Joint(JointMotion {
                    rotation: self.to_rest * rotation_of(reference_from_joint.matrix3),
                    translation: rest_from_joint[*reference].matrix3 * moved,
                })
            }
            (FeatureSource::Control { rest, .. }, Seen::Control(value)) => Measured::Control(value - rest),
            _ => self.measured,
        };
        self.seen = now;
    }
}
