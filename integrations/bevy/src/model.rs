//! Models as assets: what drivers need, from the same GLB that Bevy shows.

use std::fmt;
use std::sync::Arc;

use bevy_asset::io::Reader;
use bevy_asset::{Asset, AssetLoader, LoadContext};
use bevy_reflect::TypePath;
use eigenskin_core::deformers::Base;
use eigenskin_core::model::{Layer, Model};
use eigenskin_core::packed::{PackParams, PackedEvaluator, PackedModel, Storage};
use eigenskin_core::pose::Pose;
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::BaseSkinning;
use eigenskin_gltf::{GltfError, ModelFile, MorphWeights};
use tracing::warn;

/// The drivers of a model, shared by all of its characters.
///
/// Load it from the file that is shown: `asset_server.load::<EigenSkinModel>("model.glb")`. Bevy keeps
/// it apart from the `Gltf` of the same file by its type.
#[derive(Asset, TypePath, Clone)]
pub struct EigenSkinModel(pub(crate) Arc<Loaded>);

/// Reads an [`EigenSkinModel`]. It claims no file extension: `.glb` stays with Bevy's glTF loader, and
/// this one is chosen by the type that is asked for.
#[derive(Debug, Default, TypePath)]
pub struct EigenSkinLoader;

/// Why a file gives no model. The character is then shown with plain skinning.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The asset source failed.
    #[error("cannot read the file: {error}")]
    Io {
        /// what the system says
        error: std::io::Error,
    },
    /// The file is damaged, or is no model.
    #[error("no eigenskin model: {error}")]
    Gltf {
        /// what is wrong
        error: Box<GltfError>,
    },
}

/// What is kept of a file.
pub(crate) struct Loaded {
    /// the file, for messages
    pub path: String,
    drivers: Drivers,
    /// nodes that show the model's meshes
    pub mesh_nodes: Vec<MeshNode>,
    pub morph_weights: MorphWeights,
}

/// A node that shows a mesh of the model.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MeshNode {
    /// as Bevy calls it
    pub name: String,
    /// targets of the mesh before those of the model
    pub first_target: usize,
}

enum Drivers {
    /// skips what has not moved, and is faster where something has
    Packed(Arc<PackedModel>),
    /// for models on other deformers, which cannot be packed; their drivers are like all others
    Reference(Arc<Model>),
}

/// Drivers with the memory to evaluate them.
pub(crate) enum DriverState {
    Packed(Box<PackedEvaluator>),
    Reference(ReferenceState),
}

/// What [`eigenskin_core::evaluate::Evaluator`] does to drive, without the deformers, which threads cannot
/// share.
pub(crate) struct ReferenceState {
    model: Arc<Model>,
    /// features of the widest driver
    scratch: Vec<f64>,
    /// coordinates of the widest layer
    outputs: Vec<f64>,
    /// coordinates of all layers, one after the other
    coordinates: Vec<f32>,
}

impl EigenSkinModel {
    /// Reads a model from the bytes of a GLB, or of a `.gltf` with all data inside; `path` is for
    /// messages.
    pub fn from_bytes(bytes: &[u8], path: &str) -> Result<Self, LoadError> {
        Loaded::read(bytes, path).map(|loaded| Self(Arc::new(loaded)))
    }

    /// Names of all joints, in the order of the model.
    pub fn joint_names(&self) -> impl Iterator<Item = &str> {
        self.0.rig().skeleton().joints().iter().map(|joint| joint.name.as_str())
    }

    /// Names of all controls, in the order of the model.
    pub fn control_names(&self) -> impl Iterator<Item = &str> {
        self.0.rig().controls().iter().map(|control| control.name.as_str())
    }

    /// Morph targets of the model in each of its meshes.
    pub fn target_count(&self) -> usize {
        self.0.morph_weights.count()
    }
}

impl fmt::Debug for EigenSkinModel {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("EigenSkinModel")
            .field("path", &self.0.path)
            .field("joints", &self.0.rig().skeleton().joint_count())
            .field("targets", &self.target_count())
            .finish_non_exhaustive()
    }
}

impl AssetLoader for EigenSkinLoader {
    type Asset = EigenSkinModel;
    type Settings = ();
    type Error = LoadError;

    async fn load(
        &self,
        reader: &mut dyn Reader,
        (): &(),
        load_context: &mut LoadContext<'_>,
    ) -> Result<EigenSkinModel, LoadError> {
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).await.map_err(|error| LoadError::Io { error })?;
        EigenSkinModel::from_bytes(&bytes, &load_context.path().to_string())
    }
}

impl From<GltfError> for LoadError {
    fn from(error: GltfError) -> Self {
        Self::Gltf { error: Box::new(error) }
    }
}

impl Loaded {
    fn read(bytes: &[u8], path: &str) -> Result<Self, LoadError> {
        let file = ModelFile::from_bytes(bytes)?;
        let mesh_nodes = mesh_nodes(&file);
        let ModelFile { model, morph_weights, .. } = file;
        warn_of_losses(&model, &morph_weights, path);
        let drivers = match PackedModel::new(&model, &PackParams { storage: Storage::F16 }) {
            Ok(packed) => Drivers::Packed(Arc::new(packed)),
            Err(_) => Drivers::Reference(Arc::new(model)),
        };
        Ok(Self { path: path.into(), drivers, mesh_nodes, morph_weights })
    }

    pub fn rig(&self) -> &Rig {
        match &self.drivers {
            Drivers::Packed(packed) => packed.rig(),
            Drivers::Reference(model) => model.rig(),
        }
    }

    pub fn driver_state(&self) -> DriverState {
        match &self.drivers {
            Drivers::Packed(packed) => {
                DriverState::Packed(Box::new(PackedEvaluator::new(Arc::clone(packed))))
            }
            Drivers::Reference(model) => DriverState::Reference(ReferenceState::new(model)),
        }
    }
}

impl DriverState {
    /// The coordinates of all layers for a pose.
    pub fn drive(&mut self, pose: &Pose) -> &[f32] {
        match self {
            Self::Packed(evaluator) => evaluator.drive(pose),
            Self::Reference(state) => state.drive(pose),
        }
    }

    /// Those of the last pose.
    pub fn coordinates(&self) -> &[f32] {
        match self {
            Self::Packed(evaluator) => evaluator.coordinates(),
            Self::Reference(state) => &state.coordinates,
        }
    }
}

impl ReferenceState {
    fn new(model: &Arc<Model>) -> Self {
        let widest = |size: fn(&Layer) -> usize| model.layers().iter().map(size).max().unwrap_or(0);
        Self {
            scratch: vec![0.0; widest(|layer| layer.driver.scratch_count())],
            outputs: vec![0.0; widest(Layer::component_count)],
            coordinates: vec![0.0; model.component_count()],
            model: Arc::clone(model),
        }
    }

    fn drive(&mut self, pose: &Pose) -> &[f32] {
        let mut rest = &mut self.coordinates[..];
        for layer in self.model.layers() {
            let (own, others) = rest.split_at_mut(layer.component_count());
            let outputs = &mut self.outputs[..own.len()];
            layer.driver.evaluate(self.model.rig().skeleton(), pose, &mut self.scratch, outputs);
            for (coordinate, output) in own.iter_mut().zip(outputs) {
                *coordinate = *output as f32;
            }
            rest = others;
        }
        &self.coordinates
    }
}

/// The nodes that show the model, by the names that Bevy's loader gives them.
fn mesh_nodes(file: &ModelFile) -> Vec<MeshNode> {
    let named = |node: eigenskin_gltf::MeshNode| MeshNode {
        name: node.name.unwrap_or_else(|| format!("GltfNode{}", node.node)),
        first_target: node.first_target,
    };
    file.mesh_nodes().into_iter().map(named).collect()
}

/// Joints that Bevy lets a vertex follow.
const BEVY_INFLUENCES: usize = 4;

/// Bevy blends linearly and morphs before it skins; what a model has beyond that is not shown.
fn warn_of_losses(model: &Model, morph_weights: &MorphWeights, path: &str) {
    match model.base() {
        Base::Skinning(BaseSkinning::LinearBlend) => {}
        Base::Skinning(_) => warn!("{path}: the model was fitted on another skinning than Bevy's linear one"),
        Base::Deformers(chain) => {
            warn!("{path}: the model was fitted on the deformers {:?}, which Bevy does not have", chain.name);
        }
    }
    let influences = model.rig().weights().most_influences();
    if influences > BEVY_INFLUENCES {
        warn!("{path}: vertices follow up to {influences} joints, Bevy takes the first {BEVY_INFLUENCES}");
    }
    let mut first = 0;
    let mut lost = Vec::new();
    for layer in model.layers() {
        let mut components = first..first + layer.component_count();
        first = components.end;
        if !components.is_empty() && !components.any(|component| morph_weights.shows(component)) {
            lost.push(layer.name.as_str());
        }
    }
    if !lost.is_empty() {
        warn!("{path}: not shown, since no morph target plays them: corrections {}", lost.join(", "));
    }
}
