//! A model with the file it came from, as runtimes need it.

use eigenskin_core::model::Model;

use crate::document::Document;
use crate::error::GltfError;
use crate::morph_weights::MorphWeights;
use crate::read::model_with_table;
use crate::rig_file::RigFile;

/// A model with all that a runtime needs which lets an engine morph and skin: which weights to set, and
/// on which morph targets of which nodes.
///
/// ```
/// use eigenskin_core::packed::{PackParams, PackedEvaluator, PackedModel};
/// use eigenskin_gltf::ModelFile;
/// # use std::sync::Arc;
/// # use eigenskin_core::{glam::Vec3, mesh::Mesh, model::Model, rig::Rig, skeleton::Skeleton};
/// # use eigenskin_core::{skinning::BaseSkinning, weights::SkinWeights};
/// # use eigenskin_gltf::{ModelWriteOptions, RigFile, model_glb};
/// # let mesh = Mesh::new(vec![Vec3::ZERO, Vec3::X, Vec3::Y], vec![[0, 1, 2]], None)?;
/// # let rig = Arc::new(Rig::new(mesh, Skeleton::empty(), SkinWeights::none(3), Vec::new())?);
/// # let file = RigFile::from_rig(rig.clone(), "triangle")?;
/// # let model = Model::without_corrections(rig, BaseSkinning::LinearBlend);
/// # let (bytes, _) = model_glb(&file, &model, &ModelWriteOptions::default())?;
/// let loaded = ModelFile::from_bytes(&bytes)?;
/// let packed = PackedModel::new(&loaded.model, &PackParams::default())?;
/// let mut drivers = PackedEvaluator::new(packed.into());
///
/// // In each frame: from a pose to the weights of the model's morph targets.
/// let mut weights = vec![0.0; loaded.morph_weights.count()];
/// let pose = loaded.model.rig().rest_pose();
/// loaded.morph_weights.write(drivers.drive(&pose), &mut weights);
/// # assert!(weights.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct ModelFile {
    /// the rig and where its parts are in the file
    pub rig_file: RigFile,
    /// the model
    pub model: Model,
    /// from coordinates to the weights of the file's morph targets
    pub morph_weights: MorphWeights,
    /// `mesh of the rig`: morph targets before those of the model
    own_targets: Vec<usize>,
}

/// A node that shows a mesh of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeshNode {
    /// index of the node in the file
    pub node: usize,
    /// its name, if it has one
    pub name: Option<String>,
    /// index of its mesh in the file
    pub mesh: usize,
    /// targets of the mesh before those of the model
    pub first_target: usize,
}

impl ModelFile {
    /// Reads a GLB, or a .gltf with all data inside.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, GltfError> {
        let (rig_file, model, table) = model_with_table(Document::from_bytes(bytes, None)?)?;
        let morph_weights = MorphWeights::new(&table, &model, rig_file.counts.targets)?;
        Ok(Self { rig_file, model, morph_weights, own_targets: table.own_targets })
    }

    /// The first morph target of the model in a mesh of the file; 0 for meshes that are not the model's.
    pub fn first_target(&self, mesh: usize) -> usize {
        let place = self.rig_file.layout().meshes.iter().position(|&own| own == mesh);
        place.and_then(|place| self.own_targets.get(place)).copied().unwrap_or(0)
    }

    /// The nodes that show the model.
    pub fn mesh_nodes(&self) -> Vec<MeshNode> {
        let of_node = |&node: &usize| {
            let entry = self.rig_file.document().array("nodes").get(node)?;
            let mesh = entry.get("mesh")?.as_u64()? as usize;
            let name = entry.get("name").and_then(|name| name.as_str()).map(str::to_string);
            Some(MeshNode { node, name, mesh, first_target: self.first_target(mesh) })
        };
        self.rig_file.layout().mesh_nodes.iter().filter_map(of_node).collect()
    }
}
