//! Coordinates of a pose, as [`crate::evaluate::Evaluator::drive`] finds them, within rounding; but
//! centres are taken eight at a time, joints that several layers look at are measured once, and layers
//! that see nothing new are left alone.

use std::sync::Arc;

use glam::{DAffine3, DMat3, DQuat, DVec3};

use super::Path;
use super::radial::RadialTable;
use super::subsets::{ColumnValues, SubsetTables};
use crate::contact::{Capsule, CapsulePair};
use crate::driver::features::Measured;
use crate::driver::{Driver, FeatureGroup, FeatureSource, Interpolant};
use crate::model::Model;
use crate::pose::{JointMotion, Pose, rotation_of};
use crate::rig::Rig;
use crate::skeleton::Skeleton;

/// The drivers of a model. Immutable.
#[derive(Debug)]
pub(super) struct DriverTables {
    rig: Arc<Rig>,
    /// `layer`: driver and first coordinate
    drivers: Vec<(Driver, usize)>,
    /// `layer`: its kernels in rows, if it has any
    radial: Vec<Option<RadialTable>>,
    subsets: SubsetTables,
    component_count: usize,
}

/// The drivers of a model alone, for many poses whose shapes nobody asks for. The same bits on every machine.
#[derive(Debug)]
pub struct PackedDrivers {
    tables: DriverTables,
    state: DriverState,
}

/// What the drivers of a model saw last.
#[derive(Debug)]
pub(super) struct DriverState {
    /// what all layers look at, each once
    sources: Vec<Source>,
    /// `layer → feature group`: index into `sources`
    looked_at: Vec<Vec<usize>>,
    /// `column of subsets`: index into `sources`
    columns: Vec<usize>,
    column_values: ColumnValues,
    bones: PosedBones,
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
    /// of a joint: inverse of the rotation at rest
    to_rest: DQuat,
    /// of a contact: depth at rest
    at_rest: f64,
    /// of a contact: the own and the other bone among [`PosedBones`]
    bones: [usize; 2],
    /// where the reference joint and the joint were, the control's value, or the overlap
    seen: Seen,
    measured: Measured,
    has_changed: bool,
}

#[derive(Debug, PartialEq)]
enum Seen {
    Nothing,
    Joints(DAffine3, DAffine3),
    Control(f64),
    Contact(DVec3),
}

impl PackedDrivers {
    /// Prepares the drivers of `model`.
    pub fn new(model: &Model) -> Self {
        let tables = DriverTables::new(model);
        Self { state: DriverState::new(&tables), tables }
    }

    /// The coordinates of all layers for a pose.
    pub fn drive(&mut self, pose: &Pose) -> &[f32] {
        self.state.drive(&self.tables, Path::Portable, pose);
        self.state.coordinates()
    }
}

impl DriverTables {
    pub fn new(model: &Model) -> Self {
        let mut component_count = 0;
        let (mut drivers, mut radial) = (Vec::new(), Vec::new());
        for layer in model.layers() {
            radial.push(RadialTable::new(&layer.driver));
            drivers.push((layer.driver.clone(), component_count));
            component_count += layer.component_count();
        }
        let subsets = SubsetTables::new(model.layers().iter().map(|layer| &layer.driver));
        Self { rig: Arc::clone(model.rig()), drivers, radial, subsets, component_count }
    }
}

impl DriverState {
    pub fn new(packed: &DriverTables) -> Self {
        let mut sources: Vec<Source> = Vec::new();
        let mut source_of = |group: &FeatureGroup| {
            sources.iter().position(|known| known.of == group.source).unwrap_or_else(|| {
                sources.push(Source::new(&group.source));
                sources.len() - 1
            })
        };
        let columns = packed.subsets.groups().map(&mut source_of).collect();
        // Layers of subsets look at columns.
        let of_layer =
            |layer: usize| if packed.subsets.has(layer) { &[] } else { &packed.drivers[layer].0.groups[..] };
        let looked_at = (0..packed.drivers.len())
            .map(|layer| of_layer(layer).iter().map(&mut source_of).collect())
            .collect();
        let features: Vec<Vec<f64>> =
            packed.drivers.iter().map(|(driver, _)| vec![f64::NAN; driver.scratch_count()]).collect();
        Self {
            bones: PosedBones::new(&mut sources),
            sources,
            looked_at,
            columns,
            column_values: ColumnValues::new(&packed.subsets),
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
    pub fn drive(&mut self, packed: &DriverTables, path: Path, pose: &Pose) {
        let skeleton = packed.rig.skeleton();
        self.bones.look(skeleton, pose);
        for source in &mut self.sources {
            source.look(skeleton, pose, &self.bones);
        }
        let changed = |column: usize| {
            let source = &self.sources[self.columns[column]];
            source.has_changed.then_some(&source.measured)
        };
        packed.subsets.update(path, &mut self.column_values, changed);
        self.computed = 0;
        for (layer, (driver, first)) in packed.drivers.iter().enumerate() {
            let end = packed.drivers.get(layer + 1).map_or(packed.component_count, |(_, next)| *next);
            let looked_at = &self.looked_at[layer];
            if *first == end {
                continue;
            }
            let outputs = &mut self.outputs[*first..end];
            if packed.subsets.has(layer) {
                if !self.is_first && !packed.subsets.has_changed(layer, &self.column_values) {
                    continue;
                }
                packed.subsets.evaluate(path, layer, &mut self.column_values, outputs);
                if let Interpolant::Rbf { tail, .. } = &driver.interpolant {
                    let linear = &mut self.scratch[..driver.linear_count()];
                    if driver.needs_linear() {
                        driver.write_linear(skeleton, pose, linear);
                    }
                    tail.add_to(linear, outputs);
                }
                driver.clamp(outputs);
                write(&mut self.coordinates[*first..end], outputs);
                self.computed += 1;
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
            write(&mut self.coordinates[*first..end], outputs);
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
            FeatureSource::Control { .. } | FeatureSource::Contact(_) => DQuat::IDENTITY,
        };
        let at_rest = match source {
            FeatureSource::Contact(pair) => pair.depth_at_rest(),
            FeatureSource::Joint { .. } | FeatureSource::Control { .. } => 0.0,
        };
        let measured = Measured::Control(0.0);
        Self {
            of: source.clone(),
            to_rest,
            at_rest,
            bones: [0; 2],
            seen: Seen::Nothing,
            measured,
            has_changed: false,
        }
    }

    /// Measures again what has moved.
    fn look(&mut self, skeleton: &Skeleton, pose: &Pose, bones: &PosedBones) {
        let now = match self.of {
            FeatureSource::Joint { joint, reference, .. } => {
                Seen::Joints(pose.world_from_joint[reference], pose.world_from_joint[joint])
            }
            FeatureSource::Control { control, .. } => Seen::Control(pose.controls[control]),
            FeatureSource::Contact(ref pair) => Seen::Contact(bones.overlap(pair, self.bones, self.at_rest)),
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
                    translation: skeleton.rest_from_joint()[*reference].matrix3 * moved,
                })
            }
            (FeatureSource::Control { rest, .. }, Seen::Control(value)) => Measured::Control(value - rest),
            (FeatureSource::Contact(_), Seen::Contact(overlap)) => Measured::Contact(*overlap),
            _ => self.measured,
        };
        self.seen = now;
    }
}

/// Bones that may touch, where they are in a pose.
#[derive(Debug)]
struct PosedBones {
    /// each once
    capsules: Vec<Capsule>,
    /// `capsule`
    posed: Vec<PosedBone>,
}

#[derive(Debug)]
struct PosedBone {
    posed_from_rest: DAffine3,
    rest_from_posed: DAffine3,
    /// bounds of what the two do to lengths, at most
    stretch: f64,
    stretch_back: f64,
    /// a sphere around the bone as it is posed, without its radius
    middle: DVec3,
    half_length: f64,
}

impl PosedBones {
    /// The bones of all contacts, which are told where theirs are.
    fn new(sources: &mut [Source]) -> Self {
        let mut capsules: Vec<Capsule> = Vec::new();
        let mut place_of = |capsule: Capsule| {
            capsules.iter().position(|known| *known == capsule).unwrap_or_else(|| {
                capsules.push(capsule);
                capsules.len() - 1
            })
        };
        for source in sources {
            if let FeatureSource::Contact(pair) = source.of {
                source.bones = [pair.own, pair.other].map(&mut place_of);
            }
        }
        Self { posed: Vec::with_capacity(capsules.len()), capsules }
    }

    fn look(&mut self, skeleton: &Skeleton, pose: &Pose) {
        self.posed.clear();
        self.posed.extend(self.capsules.iter().map(|capsule| {
            let posed_from_rest =
                pose.world_from_joint[capsule.joint] * skeleton.joints()[capsule.joint].joint_from_rest;
            let rest_from_posed = posed_from_rest.inverse();
            let [from, to] = [capsule.from, capsule.to].map(|point| posed_from_rest.transform_point3(point));
            PosedBone {
                posed_from_rest,
                rest_from_posed,
                stretch: most_stretch(posed_from_rest.matrix3),
                stretch_back: most_stretch(rest_from_posed.matrix3),
                middle: 0.5 * (from + to),
                half_length: 0.5 * from.distance(to),
            }
        }));
    }

    /// How the other bone presses into the own one. Most pairs are far apart, which is told before anything is
    /// carried to the own bone.
    fn overlap(&self, pair: &CapsulePair, bones: [usize; 2], at_rest: f64) -> DVec3 {
        let [own, other] = bones.map(|bone| &self.posed[bone]);
        let reach = pair.reach() + own.stretch_back * (own.half_length + other.half_length);
        let far = own.stretch * reach;
        if own.middle.distance_squared(other.middle) > far * far {
            return DVec3::ZERO;
        }
        pair.overlap_beyond(at_rest, (own.rest_from_posed, other.posed_from_rest))
    }
}

/// A bound of how much longer a matrix makes a vector, with a little room for rounding; exact for rotations: the
/// largest eigenvalue of MᵀM is no larger than the largest sum of a row's absolute values.
fn most_stretch(matrix: DMat3) -> f64 {
    let square = matrix.transpose() * matrix;
    let row = |i: usize| square.row(i).abs().element_sum();
    1.000_001 * row(0).max(row(1)).max(row(2)).sqrt()
}

fn write(coordinates: &mut [f32], outputs: &[f64]) {
    for (coordinate, output) in coordinates.iter_mut().zip(outputs) {
        *coordinate = *output as f32;
    }
}
