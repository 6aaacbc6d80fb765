//! Every frame: from joints and controls to morph weights.

use bevy_ecs::prelude::*;
use bevy_mesh::morph::{MeshMorphWeights, MorphWeights};
use bevy_transform::components::{GlobalTransform, Transform};
use eigenskin_core::glam::DAffine3;
use tracing::warn;

use crate::character::{Bound, EigenSkin, EigenSkinControls, EigenSkinDrive, Told};

/// Parts of their volume that joints must leave: below, rounding of `f32` decides which way is up.
const SMALLEST_VOLUME: f64 = 1e-6;

/// Drives all bound characters, in parallel if Bevy has threads, and then sets their weights.
pub(crate) fn drive_characters(
    mut characters: Query<(Entity, &mut EigenSkinDrive, Option<Ref<EigenSkinControls>>), With<EigenSkin>>,
    globals: Query<&GlobalTransform>,
    locals: Query<&Transform>,
    shown: Query<(), Or<(With<MorphWeights>, With<MeshMorphWeights>)>>,
    mut node_weights: Query<&mut MorphWeights>,
    mut mesh_weights: Query<&mut MeshMorphWeights>,
) {
    characters.par_iter_mut().for_each(|(entity, mut drive, controls)| {
        let EigenSkinDrive { bound: place, told, .. } = &mut *drive;
        let Some(bound) = place else { return };
        if !bound.meshes.iter().all(|mesh| shown.contains(mesh.entity)) {
            // A scene that was spawned anew has other entities; they are looked for in the next frame.
            *place = None;
            return;
        }
        bound.take_controls(entity, controls, &locals, told);
        bound.is_current = bound.take_joints(entity, &globals, told);
        if bound.is_current {
            let coordinates = bound.drivers.drive(&bound.pose);
            bound.model.morph_weights.write(coordinates, &mut bound.weights);
        }
    });
    for (_, drive, _) in &characters {
        if let Some(bound) = drive.bound.as_ref().filter(|bound| bound.is_current) {
            set_weights(bound, &mut node_weights, &mut mesh_weights);
        }
    }
}

/// What has not changed is not touched, so that change detection stays true.
fn set_weights(
    bound: &Bound,
    node_weights: &mut Query<&mut MorphWeights>,
    mesh_weights: &mut Query<&mut MeshMorphWeights>,
) {
    for mesh in &bound.meshes {
        let own = |all: &[f32]| all.get(mesh.first_target..).is_some_and(|own| is_other(own, &bound.weights));
        let set = |all: &mut [f32]| {
            for (to, weight) in all.iter_mut().skip(mesh.first_target).zip(&bound.weights) {
                *to = *weight;
            }
        };
        if let Ok(mut weights) = node_weights.get_mut(mesh.entity) {
            if own(weights.weights()) {
                set(weights.weights_mut());
            }
            continue;
        }
        let Ok(mut weights) = mesh_weights.get_mut(mesh.entity) else { continue };
        let is_other = match &*weights {
            MeshMorphWeights::Value { weights } => own(weights),
            MeshMorphWeights::Reference(_) => false,
        };
        if let (true, MeshMorphWeights::Value { weights }) = (is_other, &mut *weights) {
            set(weights);
        }
    }
}

fn is_other(found: &[f32], wanted: &[f32]) -> bool {
    found.iter().zip(wanted).any(|(found, wanted)| found != wanted)
}

impl Bound {
    /// Where the joints are. False if one is gone or cannot be used: this frame has no pose then.
    ///
    /// Any space will do as long as it is the same for all joints, so these are world transforms: how
    /// joints move against each other is all that drivers look at.
    fn take_joints(&mut self, root: Entity, globals: &Query<&GlobalTransform>, told: &mut Told) -> bool {
        let Self { model, joints, pose, .. } = self;
        for (index, (&joint, place)) in joints.iter().zip(&mut pose.world_from_joint).enumerate() {
            let name = || &model.rig().skeleton().joints()[index].name;
            let Ok(global) = globals.get(joint) else {
                if !told.lost_joint {
                    told.lost_joint = true;
                    let problem = "is gone or has no GlobalTransform; morph weights stay as they are";
                    warn!("{}: the joint {:?} of {root} {problem}", model.path, name());
                }
                return false;
            };
            let world_from_joint = DAffine3::from_cols_array(&global.affine().to_cols_array().map(f64::from));
            if !is_usable(world_from_joint) {
                if !told.bad_transform {
                    told.bad_transform = true;
                    let problem = "is flat or not finite; morph weights stay as they are";
                    warn!("{}: the transform of joint {:?} of {root} {problem}", model.path, name());
                }
                return false;
            }
            *place = world_from_joint;
        }
        true
    }

    /// The values of the controls: what the game asks for, else what their nodes show.
    fn take_controls(
        &mut self,
        root: Entity,
        controls: Option<Ref<EigenSkinControls>>,
        locals: &Query<&Transform>,
        told: &mut Told,
    ) {
        match controls {
            Some(controls) if controls.is_changed() || !self.is_current => {
                self.take_asked(root, &controls, told);
            }
            Some(_) => {}
            None => self.asked.fill(None),
        }
        let all = self.pose.controls.iter_mut().zip(self.model.rig().controls());
        for ((value, control), (asked, node)) in all.zip(self.asked.iter().zip(&self.control_nodes)) {
            let shown = || node.and_then(|node| locals.get(node).ok()).map(|node| node.translation.x);
            let wanted = asked.or_else(|| shown().map(f64::from)).unwrap_or(control.default);
            if wanted.is_finite() {
                *value = wanted;
            }
        }
    }

    fn take_asked(&mut self, root: Entity, controls: &EigenSkinControls, told: &mut Told) {
        let all = self.model.rig().controls();
        for (asked, control) in self.asked.iter_mut().zip(all) {
            *asked = controls.get(&control.name).map(f64::from);
        }
        if told.bad_control {
            return;
        }
        let is_known = |name: &str| all.iter().any(|control| control.name == name);
        if let Some((name, value)) =
            controls.iter().find(|&(name, value)| !is_known(name) || !value.is_finite())
        {
            told.bad_control = true;
            let known: Vec<&str> = all.iter().map(|control| control.name.as_str()).collect();
            let path = &self.model.path;
            if is_known(name) {
                warn!("{path}: {value} is no value for the control {name:?} of {root}; the last one stays");
            } else {
                warn!("{path}: {root} has no control {name:?}; the model has [{}]", known.join(", "));
            }
        }
    }
}

/// Whether drivers can say how others move against it.
fn is_usable(transform: DAffine3) -> bool {
    let axes = transform.matrix3;
    let longest = axes.x_axis.length().max(axes.y_axis.length()).max(axes.z_axis.length());
    transform.is_finite() && longest > 1e-12 && (axes * (1.0 / longest)).determinant().abs() > SMALLEST_VOLUME
}
