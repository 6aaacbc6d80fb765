//! From a pose to vertices: the reference evaluator, clear before fast. All other runtimes are
//! compared with it.
//!
//! Coordinates are found in `f64` and rounded once to `f32` (as morph weights travel); skinning is
//! computed in `f64` on `f32` data and rounded once to `f32`.

use std::sync::Arc;

use glam::{DAffine3, DVec3, Vec3};

use crate::deformers::stack::BoundStack;
use crate::deformers::{Base, BlackBox, BlackBoxError};
use crate::model::{Frame, Layer, Model, Stage};
use crate::pose::{Pose, rotation_of};
use crate::skinning::{BaseSkinning, dual_quaternion, linear_blend, rigid};

/// A model with the memory to evaluate it. Allocates when made, never per frame.
#[derive(Debug)]
pub struct Evaluator {
    model: Arc<Model>,
    skinning: BaseSkinning,
    /// the model's base instead, when that is a chain of deformers
    chain: Option<BoundStack>,
    /// scratch for chains, `vertex`
    points: Vec<DVec3>,
    /// scratch for boxes, `vertex`
    near_rest: Vec<DVec3>,
    /// `joint`: where each joint carries the rest shape
    joints: Vec<DAffine3>,
    dual_quaternions: dual_quaternion::Joints,
    /// features of the widest driver
    driver_scratch: Vec<f64>,
    /// coordinates of the widest layer
    layer_coordinates: Vec<f64>,
    /// coordinates of all layers, one after the other
    coordinates: Vec<f32>,
}

/// A posed skin.
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    /// `vertex`
    pub positions: Vec<Vec3>,
    /// `vertex`, unit length
    pub normals: Vec<Vec3>,
}

impl Evaluator {
    /// Prepares to evaluate `model`. One whose base is another program is evaluated on linear blending,
    /// as stock viewers do, unless that program is asked with
    /// [`evaluate_through`](Self::evaluate_through).
    pub fn new(model: impl Into<Arc<Model>>) -> Self {
        let model = model.into();
        let chain = match model.base() {
            Base::Skinning(_) => None,
            // Models were checked to fit their rig; only other programs are missing here.
            Base::Deformers(stack) => stack.bind(model.rig()).ok(),
        };
        let scratch = if model.base().skinning().is_some() { 0 } else { model.rig().vertex_count() };
        let widest = |size: fn(&Layer) -> usize| model.layers().iter().map(size).max().unwrap_or(0);
        Self {
            joints: model.rig().skeleton().rest_from_joint().to_vec(),
            dual_quaternions: dual_quaternion::Joints::new(model.rig().skeleton()),
            driver_scratch: vec![0.0; widest(|layer| layer.driver.scratch_count())],
            layer_coordinates: vec![0.0; widest(Layer::component_count)],
            coordinates: vec![0.0; model.component_count()],
            skinning: model.base().closed_form(),
            chain,
            points: vec![DVec3::ZERO; scratch],
            near_rest: Vec::new(),
            model,
        }
    }

    /// The model.
    pub fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// The coordinates of the last pose, all layers one after the other.
    pub fn coordinates(&self) -> &[f32] {
        &self.coordinates
    }

    /// Only the drivers: the coordinates α of all layers for a pose.
    pub fn drive(&mut self, pose: &Pose) -> &[f32] {
        let mut first = 0;
        for layer in self.model.layers() {
            let count = layer.component_count();
            let outputs = &mut self.layer_coordinates[..count];
            layer.driver.evaluate(self.model.rig().skeleton(), pose, &mut self.driver_scratch, outputs);
            for (coordinate, output) in self.coordinates[first..first + count].iter_mut().zip(outputs) {
                *coordinate = *output as f32;
            }
            first += count;
        }
        &self.coordinates
    }

    /// Posed positions and, if asked for, unit normals, into the caller's slices (both `vertex`).
    ///
    /// # Panics
    /// If a slice has another length than the rig has vertices, or the pose is of another rig.
    pub fn evaluate(&mut self, pose: &Pose, positions: &mut [Vec3], normals: Option<&mut [Vec3]>) {
        self.drive(pose);
        self.skin(pose, positions, normals);
    }

    /// The posed shape in memory of its own; for each frame of a game, [`evaluate`](Self::evaluate)
    /// writes into the caller's.
    pub fn shape(&mut self, pose: &Pose) -> Shape {
        let count = self.model.rig().vertex_count();
        let mut shape = Shape { positions: vec![Vec3::ZERO; count], normals: vec![Vec3::ZERO; count] };
        self.evaluate(pose, &mut shape.positions, Some(&mut shape.normals));
        shape
    }

    /// Like [`evaluate`](Self::evaluate), with the coordinates given instead of driven.
    pub fn evaluate_at(
        &mut self,
        pose: &Pose,
        coordinates: &[f32],
        positions: &mut [Vec3],
        normals: Option<&mut [Vec3]>,
    ) {
        self.coordinates.copy_from_slice(coordinates);
        self.skin(pose, positions, normals);
    }

    /// Like [`evaluate`](Self::evaluate), with `black_box` in place of the model's base. Normals
    /// are those of the shape that comes out.
    pub fn evaluate_through(
        &mut self,
        black_box: &mut dyn BlackBox,
        pose: &Pose,
        positions: &mut [Vec3],
        normals: Option<&mut [Vec3]>,
    ) -> Result<(), BlackBoxError> {
        self.drive(pose);
        let rig = self.model.rig().clone();
        self.points.resize(rig.vertex_count(), DVec3::ZERO);
        self.near_rest.resize(rig.vertex_count(), DVec3::ZERO);
        self.correct_rest(pose, positions);
        for (point, position) in self.near_rest.iter_mut().zip(positions.iter()) {
            *point = position.as_dvec3();
        }
        black_box.deform(pose, &self.near_rest, &mut self.points)?;
        self.take_points(positions, normals);
        Ok(())
    }

    /// The rest shape with all corrections before skinning, and the joints of the pose.
    fn correct_rest(&mut self, pose: &Pose, positions: &mut [Vec3]) {
        let rig = self.model.rig().clone();
        positions.copy_from_slice(rig.mesh().positions());
        for (joint, transform) in self.joints.iter_mut().zip(pose.posed_from_rest(rig.skeleton())) {
            *joint = transform;
        }
        self.add_layers(is_before, positions, |layer| Some(&layer.basis.positions));
    }

    /// What a chain or a box made of the points, with the corrections after it.
    fn take_points(&mut self, positions: &mut [Vec3], normals: Option<&mut [Vec3]>) {
        for (position, point) in positions.iter_mut().zip(&self.points) {
            *position = point.as_vec3();
        }
        self.add_after_skinning(positions);
        if let Some(normals) = normals {
            self.model.rig().mesh().normals_into(positions, &mut self.points, normals);
        }
    }

    fn skin(&mut self, pose: &Pose, positions: &mut [Vec3], normals: Option<&mut [Vec3]>) {
        let rig = self.model.rig().clone();
        self.correct_rest(pose, positions);
        if let Some(mut chain) = self.chain.as_mut().and_then(BoundStack::own_steps) {
            for (point, position) in self.points.iter_mut().zip(positions.iter()) {
                *point = position.as_dvec3();
            }
            chain.deform(pose, &mut self.points);
            self.take_points(positions, normals);
            return;
        }
        if self.skinning == BaseSkinning::DualQuaternion {
            self.dual_quaternions.set(rig.skeleton(), &self.joints);
        }
        for (vertex, position) in positions.iter_mut().enumerate() {
            *position = self.vertex_transform(vertex).transform_point3(position.as_dvec3()).as_vec3();
        }
        self.add_after_skinning(positions);

        if let Some(normals) = normals {
            normals.copy_from_slice(rig.mesh().normals());
            self.add_layers(is_before, normals, |layer| {
                (!layer.basis.normals.is_empty()).then_some(&layer.basis.normals)
            });
            for (vertex, normal) in normals.iter_mut().enumerate() {
                let posed = self.vertex_transform(vertex).matrix3 * normal.as_dvec3();
                *normal = posed.normalize_or(DVec3::Z).as_vec3();
            }
        }
    }

    fn vertex_transform(&self, vertex: usize) -> DAffine3 {
        let influences = self.model.rig().weights().of(vertex);
        match self.skinning {
            BaseSkinning::Rigid => rigid::transform(influences, &self.joints),
            BaseSkinning::LinearBlend => linear_blend::transform(influences, &self.joints),
            BaseSkinning::DualQuaternion => self.dual_quaternions.transform(influences).0,
        }
    }

    /// Adds Σ_k α_k · field_k of the chosen layers to `values` (`vertex`).
    fn add_layers(
        &self,
        chosen: impl Fn(&Layer) -> bool,
        values: &mut [Vec3],
        fields: impl Fn(&Layer) -> Option<&Vec<Vec3>>,
    ) {
        for (layer, coordinates) in self.layers_with_coordinates() {
            let Some(fields) = fields(layer).filter(|_| chosen(layer)) else { continue };
            for (&alpha, field) in coordinates.iter().zip(fields.chunks_exact(layer.support.len())) {
                for (&vertex, &displacement) in layer.support.iter().zip(field) {
                    values[vertex as usize] += alpha * displacement;
                }
            }
        }
    }

    fn add_after_skinning(&self, positions: &mut [Vec3]) {
        let rig = self.model.rig();
        for (layer, coordinates) in self.layers_with_coordinates() {
            let Stage::AfterSkinning { frame } = layer.stage else { continue };
            let count = layer.support.len();
            for (entry, &vertex) in layer.support.iter().enumerate() {
                let vertex = vertex as usize;
                let displacement: Vec3 = coordinates
                    .iter()
                    .enumerate()
                    .map(|(component, &alpha)| alpha * layer.basis.positions[component * count + entry])
                    .sum();
                let joint = match frame {
                    Frame::Root => rig.skeleton().first_root(),
                    Frame::Joint(joint) => Some(joint),
                    Frame::HeaviestJoint => rig.weights().of(vertex).first().map(|i| i.joint as usize),
                };
                let turned = match joint {
                    Some(joint) => rotation_of(self.joints[joint].matrix3) * displacement.as_dvec3(),
                    None => displacement.as_dvec3(),
                };
                positions[vertex] += turned.as_vec3();
            }
        }
    }

    fn layers_with_coordinates(&self) -> impl Iterator<Item = (&Layer, &[f32])> {
        self.model.layers().iter().scan(0, |first, layer| {
            let range = *first..*first + layer.component_count();
            *first = range.end;
            Some((layer, &self.coordinates[range]))
        })
    }
}

fn is_before(layer: &Layer) -> bool {
    layer.stage == Stage::BeforeSkinning
}
