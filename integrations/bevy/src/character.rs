//! Characters: what a game puts on its entities, and what the plugin remembers of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use bevy_asset::{AssetId, Handle};
use bevy_ecs::prelude::*;
use bevy_reflect::Reflect;
use bevy_reflect::std_traits::ReflectDefault;
use eigenskin_core::pose::Pose;

use crate::model::{DriverState, EigenSkinModel, Loaded};

/// Drives the morph targets of a character.
///
/// It stands on the entity that the scene of the model's file is spawned under (or on any entity
/// between that and the mesh), as often as there are characters. Meshes are found by the names of the
/// file's nodes, joints by their names or by their order in Bevy's `SkinnedMesh`. What is below another
/// `EigenSkin` belongs to that one.
///
/// When it is taken away, the weights stay as they are.
#[derive(Component, Debug, Clone, PartialEq, Reflect)]
#[reflect(Component, Debug, Clone, PartialEq)]
#[require(EigenSkinDrive)]
#[component(on_remove = forget)]
pub struct EigenSkin {
    /// the model, loaded from the file that is shown
    pub model: Handle<EigenSkinModel>,
}

/// Values of controls by name, beside [`EigenSkin`]; for faces, and all else that no joint moves.
///
/// Controls that are not named here follow the node `control:NAME` of the file (its local x
/// translation), which clips may animate. Without such a node they rest.
#[derive(Component, Debug, Clone, Default, PartialEq, Reflect)]
#[reflect(Component, Debug, Default, Clone, PartialEq)]
pub struct EigenSkinControls {
    values: BTreeMap<String, f32>,
}

/// What the plugin knows of a character: made along with [`EigenSkin`], and gone with its entity.
#[derive(Component, Default)]
pub struct EigenSkinDrive {
    /// the asset that `bound` and `told` are about
    pub(crate) asset: Option<AssetId<EigenSkinModel>>,
    pub(crate) bound: Option<Bound>,
    /// frames without anything to drive, though the model is there
    pub(crate) waited: u32,
    pub(crate) told: Told,
}

/// A model and the entities it plays on.
pub(crate) struct Bound {
    pub model: Arc<Loaded>,
    /// `joint`
    pub joints: Vec<Entity>,
    /// `control`: the node that animates it
    pub control_nodes: Vec<Option<Entity>>,
    /// `control`: what the game asks for
    pub asked: Vec<Option<f64>>,
    pub meshes: Vec<BoundMesh>,
    pub drivers: DriverState,
    pub pose: Pose,
    /// `target`
    pub weights: Vec<f32>,
    /// whether `weights` are those of this frame
    pub is_current: bool,
}

/// Weights that the model sets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct BoundMesh {
    /// has them as `MorphWeights` or, if it is a mesh of its own, in `MeshMorphWeights`
    pub entity: Entity,
    /// the model's first target
    pub first_target: usize,
}

/// Warnings that were given; each is given once per character and model.
#[derive(Debug, Default, Clone, Copy)]
#[allow(clippy::struct_excessive_bools, reason = "one per warning")]
pub(crate) struct Told {
    pub no_place: bool,
    pub lost_joint: bool,
    pub bad_transform: bool,
    pub bad_control: bool,
}

impl EigenSkinControls {
    /// Sets a control.
    pub fn set(&mut self, name: &str, value: f32) {
        match self.values.get_mut(name) {
            Some(place) => *place = value,
            None => _ = self.values.insert(name.to_string(), value),
        }
    }

    /// What was set.
    pub fn get(&self, name: &str) -> Option<f32> {
        self.values.get(name).copied()
    }

    /// Gives a control back to its node; returns what was set.
    pub fn unset(&mut self, name: &str) -> Option<f32> {
        self.values.remove(name)
    }

    /// All that were set, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f32)> {
        self.values.iter().map(|(name, &value)| (name.as_str(), value))
    }
}

impl<N: Into<String>> FromIterator<(N, f32)> for EigenSkinControls {
    fn from_iter<I: IntoIterator<Item = (N, f32)>>(values: I) -> Self {
        Self { values: values.into_iter().map(|(name, value)| (name.into(), value)).collect() }
    }
}

impl EigenSkinDrive {
    /// Whether model, joints and meshes were found.
    pub fn is_bound(&self) -> bool {
        self.bound.is_some()
    }

    /// The joints' entities in the order of the model; empty before they are found.
    pub fn joints(&self) -> &[Entity] {
        self.bound.as_ref().map_or(&[], |bound| &bound.joints)
    }

    /// The coordinates of all components in the last frame, for shaders of one's own; empty before.
    pub fn coordinates(&self) -> &[f32] {
        self.bound.as_ref().map_or(&[], |bound| bound.drivers.coordinates())
    }

    /// The weights of the model's morph targets in the last frame; empty before.
    pub fn target_weights(&self) -> &[f32] {
        self.bound.as_ref().map_or(&[], |bound| &bound.weights)
    }

    /// Forgets what was found, and what was said about it if that was another model.
    pub(crate) fn reset(&mut self, asset: AssetId<EigenSkinModel>) {
        if self.asset != Some(asset) {
            self.told = Told::default();
        }
        (self.asset, self.bound, self.waited) = (Some(asset), None, 0);
    }
}

/// The memory of a character goes with its component, also when the entity stays.
fn forget(mut world: bevy_ecs::world::DeferredWorld, context: bevy_ecs::lifecycle::HookContext) {
    if let Some(mut drive) = world.get_mut::<EigenSkinDrive>(context.entity) {
        *drive = EigenSkinDrive::default();
    }
}
