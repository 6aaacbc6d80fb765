//! Finding the parts of a character among the entities that Bevy made of its file.

use std::sync::Arc;

use bevy_asset::Assets;
use bevy_ecs::prelude::*;
use bevy_ecs::system::SystemParam;
use bevy_mesh::morph::{MeshMorphWeights, MorphWeights};
use bevy_mesh::skinning::SkinnedMesh;
use eigenskin_gltf::CONTROL_PREFIX;
use tracing::warn;

use crate::character::{Bound, BoundMesh, EigenSkin, EigenSkinDrive};
use crate::model::{EigenSkinModel, Loaded};

/// Frames in which a scene may stay away before that is worth a warning: textures load slowly, an
/// `EigenSkin` on the wrong entity waits for ever.
const PATIENCE: u32 = 600;

/// Binds all characters whose model is there and whose parts are not known yet. Scenes are spawned some
/// time after their root, so this is tried again in each frame.
pub(crate) fn bind_characters(
    mut characters: Query<(Entity, &EigenSkin, &mut EigenSkinDrive)>,
    models: Res<Assets<EigenSkinModel>>,
    parts: Parts,
) {
    for (root, skin, mut drive) in &mut characters {
        if drive.asset != Some(skin.model.id()) {
            drive.reset(skin.model.id());
        }
        let Some(EigenSkinModel(model)) = models.get(&skin.model) else { continue };
        // A file that was loaded anew has other drivers.
        if drive.bound.as_ref().is_some_and(|bound| Arc::ptr_eq(&bound.model, model)) {
            continue;
        }
        match parts.find(root, model) {
            Ok(bound) => {
                parts.warn_of_missing_targets(&bound);
                drive.bound = Some(bound);
            }
            Err(problem) => {
                drive.bound = None;
                drive.waited = drive.waited.saturating_add(1);
                let is_final = problem != Problem::NotThere || drive.waited > PATIENCE;
                if is_final && !drive.told.no_place {
                    drive.told.no_place = true;
                    warn!("{}: {} is shown with plain skinning: {problem}", model.path, parts.title(root));
                }
            }
        }
    }
}

/// Why a character cannot be driven.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
enum Problem {
    #[error(
        "no mesh of the model is below it; put EigenSkin on the entity that the file's scene is spawned on"
    )]
    NotThere,
    #[error("its mesh {mesh:?} has no morph targets; was it loaded from another file than the model?")]
    NoTargets { mesh: String },
    #[error("its mesh has no SkinnedMesh, the model has {expected} joints")]
    NoSkin { expected: usize },
    #[error("its skin has {found} joints, the model {expected}; was it loaded from another file?")]
    OtherJoints { found: usize, expected: usize },
}

/// What is looked at to find a character's parts.
#[derive(SystemParam)]
pub(crate) struct Parts<'w, 's> {
    children: Query<'w, 's, &'static Children>,
    parents: Query<'w, 's, &'static ChildOf>,
    names: Query<'w, 's, &'static Name>,
    weights: Query<'w, 's, &'static MorphWeights>,
    mesh_weights: Query<'w, 's, &'static MeshMorphWeights>,
    skins: Query<'w, 's, &'static SkinnedMesh>,
    characters: Query<'w, 's, (), With<EigenSkin>>,
}

impl Parts<'_, '_> {
    fn find(&self, root: Entity, model: &Arc<Loaded>) -> Result<Bound, Problem> {
        let entities = self.below(root);
        let meshes = self.meshes(&entities, model)?;
        let joints = self.joints(&entities, &meshes, model)?;
        let controls = model.rig().controls();
        let node_of = |name: &str| {
            let is_it = |entity: &&Entity| {
                self.name(**entity).and_then(|node| node.strip_prefix(CONTROL_PREFIX)) == Some(name)
            };
            entities.iter().find(is_it).copied()
        };
        Ok(Bound {
            joints,
            control_nodes: controls.iter().map(|control| node_of(&control.name)).collect(),
            asked: vec![None; controls.len()],
            meshes,
            drivers: model.driver_state(),
            pose: model.rig().rest_pose(),
            weights: vec![0.0; model.morph_weights.count()],
            is_current: false,
            model: Arc::clone(model),
        })
    }

    /// `root` and all below it, parents first, without other characters.
    fn below(&self, root: Entity) -> Vec<Entity> {
        let mut found = vec![root];
        let mut next = 0;
        while let Some(&entity) = found.get(next) {
            next += 1;
            let children = self.children.get(entity).map_or(&[][..], |children| children);
            found.extend(children.iter().filter(|&&child| !self.characters.contains(child)));
        }
        found
    }

    /// Where the weights of the model's meshes are.
    fn meshes(&self, entities: &[Entity], model: &Loaded) -> Result<Vec<BoundMesh>, Problem> {
        let mut holders: Vec<Entity> = Vec::new();
        for &entity in entities {
            let holder = match self.holder(entity) {
                Some(holder) => holder,
                None if self.weights.contains(entity) => entity,
                None => continue,
            };
            if !holders.contains(&holder) {
                holders.push(holder);
            }
        }
        let first_target = |entity: Entity| {
            let own = self.name(entity);
            // Weights that a primitive has for itself belong to the node above it.
            let above = self.parents.get(entity).ok().and_then(|parent| self.name(parent.parent()));
            let named = |name: Option<&str>| model.mesh_nodes.iter().find(|node| Some(&*node.name) == name);
            named(own).or_else(|| named(above)).map(|node| node.first_target)
        };
        let mut meshes: Vec<BoundMesh> = holders
            .iter()
            .filter_map(|&entity| Some(BoundMesh { entity, first_target: first_target(entity)? }))
            .collect();
        if meshes.is_empty() {
            // Nobody else can be meant, whatever it is called.
            if let ([entity], [node]) = (&holders[..], &model.mesh_nodes[..]) {
                meshes.push(BoundMesh { entity: *entity, first_target: node.first_target });
            }
        }
        if !meshes.is_empty() {
            return Ok(meshes);
        }
        let names = entities.iter().filter_map(|&entity| self.name(entity));
        match names.into_iter().find(|&name| model.mesh_nodes.iter().any(|node| node.name == name)) {
            Some(_) if model.morph_weights.count() == 0 => Ok(meshes),
            Some(mesh) => Err(Problem::NoTargets { mesh: mesh.into() }),
            None => Err(Problem::NotThere),
        }
    }

    /// The entity that has the weights of a mesh.
    fn holder(&self, mesh: Entity) -> Option<Entity> {
        match self.mesh_weights.get(mesh).ok()? {
            MeshMorphWeights::Reference(holder) => Some(*holder),
            MeshMorphWeights::Value { .. } => Some(mesh),
        }
    }

    /// `joint`, from the skin of one of the meshes.
    fn joints(
        &self,
        entities: &[Entity],
        meshes: &[BoundMesh],
        model: &Loaded,
    ) -> Result<Vec<Entity>, Problem> {
        let expected = model.rig().skeleton().joint_count();
        if expected == 0 || model.morph_weights.count() == 0 {
            return Ok(Vec::new());
        }
        let is_driven = |entity: Entity| meshes.iter().any(|mesh| mesh.entity == entity);
        let mut problem = Problem::NoSkin { expected };
        for &entity in entities {
            let Ok(skin) = self.skins.get(entity) else { continue };
            if !is_driven(entity) && !self.holder(entity).is_some_and(is_driven) {
                continue;
            }
            if let Some(joints) = self.joints_by_name(skin, model) {
                return Ok(joints);
            }
            // Joints without names, or with one name for two: Bevy keeps the order of the file.
            if skin.joints.len() == expected {
                return Ok(skin.joints.clone());
            }
            problem = Problem::OtherJoints { found: skin.joints.len(), expected };
        }
        Err(problem)
    }

    /// `joint`, if each has a name of its own.
    fn joints_by_name(&self, skin: &SkinnedMesh, model: &Loaded) -> Option<Vec<Entity>> {
        let joints = model.rig().skeleton().joints().iter();
        joints
            .map(|joint| {
                let mut named =
                    skin.joints.iter().filter(|&&entity| self.name(entity) == Some(joint.name.as_str()));
                named.next().filter(|_| named.next().is_none()).copied()
            })
            .collect()
    }

    fn warn_of_missing_targets(&self, bound: &Bound) {
        for mesh in &bound.meshes {
            let weights = match (self.mesh_weights.get(mesh.entity), self.weights.get(mesh.entity)) {
                (Ok(MeshMorphWeights::Value { weights }), _) => weights.len(),
                (_, Ok(weights)) => weights.weights().len(),
                _ => 0,
            };
            let expected = mesh.first_target + bound.model.morph_weights.count();
            if weights < expected {
                warn!(
                    "{}: {} has {weights} of {expected} morph targets; those that are there are driven",
                    bound.model.path,
                    self.title(mesh.entity)
                );
            }
        }
    }

    fn name(&self, entity: Entity) -> Option<&str> {
        self.names.get(entity).ok().map(Name::as_str)
    }

    /// An entity in a message.
    fn title(&self, entity: Entity) -> String {
        self.name(entity).map_or_else(|| format!("entity {entity}"), |name| format!("{name:?} ({entity})"))
    }
}
