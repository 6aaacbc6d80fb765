//! The one model of all methods: rest shape plus corrections that depend on the pose, then skinning.
//!
//! ```text
//! posed_i(pose) = Skin_i(pose)( rest_i + Σ_layers Σ_k α_k(pose) · basis_k,i ) + Σ_after-layers …
//! ```
//! (EigenSkin Equation 2 is the case of layers before linear blending, one per joint support.)

use std::sync::Arc;

use glam::{DVec3, Vec3};

use crate::deformers::stack::DeformerError;
use crate::deformers::{Base, BlackBox, BlackBoxError, DeformerStack};
use crate::driver::{Driver, DriverError};
use crate::pose::Pose;
use crate::rig::{Rig, RigError};

/// A fitted character. Immutable; one that exists is valid.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    rig: Arc<Rig>,
    /// the rig as it was given, where the model has other skin weights
    input_rig: Option<Arc<Rig>>,
    base: Base,
    layers: Vec<Layer>,
}

/// One correction: where it acts, what it can do, what drives it.
#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    /// for people: usually the driving joint's name
    pub name: String,
    /// vertices it moves (S_j in EigenSkin), rising
    pub support: Vec<u32>,
    /// the displacement fields
    pub basis: DisplacementBasis,
    /// from a pose to one coordinate per component
    pub driver: Driver,
    /// before or after skinning
    pub stage: Stage,
}

/// Displacement fields on a support (û^jk in EigenSkin).
#[derive(Debug, Clone, PartialEq)]
pub struct DisplacementBasis {
    /// `component × support`
    pub positions: Vec<Vec3>,
    /// `component × support`; empty when normals are left alone
    pub normals: Vec<Vec3>,
}

/// Where in the pipeline a layer acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// added to the rest shape (EigenSkin, inverse PSD)
    BeforeSkinning,
    /// added to the skinned shape, in axes that move along with `frame`
    AfterSkinning {
        /// whose axes
        frame: Frame,
    },
}

/// The axes of a displacement that is added after skinning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame {
    /// the first root's (Xian §4.2)
    Root,
    /// one joint's
    Joint(usize),
    /// each vertex's heaviest joint's (Lewis §4)
    HeaviestJoint,
}

/// What can be wrong with a model.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// A support that is not a rising list of vertices.
    #[error(
        "layer {layer:?} lists vertex {vertex} out of order or beyond the {vertices} vertices of the rig"
    )]
    Support {
        /// the layer at fault
        layer: String,
        /// the vertex at fault
        vertex: u32,
        /// vertices of the rig
        vertices: usize,
    },
    /// A basis whose size is no multiple of the support, or with other normals than positions.
    #[error(
        "layer {layer:?} has {positions} displacements and {normals} normal corrections on {support} vertices"
    )]
    BasisShape {
        /// the layer at fault
        layer: String,
        /// length of the positions
        positions: usize,
        /// length of the normals
        normals: usize,
        /// length of the support
        support: usize,
    },
    /// NaN or infinity in a basis.
    #[error("layer {layer:?} has a displacement that is not a finite number")]
    NotFinite {
        /// the layer at fault
        layer: String,
    },
    /// A frame that does not exist.
    #[error("layer {layer:?} is added in the frame of joint {joint}, which the rig does not have")]
    NoSuchFrame {
        /// the layer at fault
        layer: String,
        /// the joint it names
        joint: usize,
    },
    /// Deformers that do not fit the rig.
    #[error("the deformers {name:?} do not fit the rig: {error}")]
    Deformers {
        /// name of the chain
        name: String,
        /// what is wrong
        error: DeformerError,
    },
    /// Something about the driver.
    #[error("layer {layer:?}: {error}")]
    Driver {
        /// the layer at fault
        layer: String,
        /// what is wrong
        error: DriverError,
    },
}

impl Layer {
    /// Number of displacement fields.
    pub fn component_count(&self) -> usize {
        if self.support.is_empty() { 0 } else { self.basis.positions.len() / self.support.len() }
    }
}

impl DisplacementBasis {
    /// Displacements of one component, `support`.
    pub fn component_positions(&self, component: usize, support_count: usize) -> &[Vec3] {
        &self.positions[component * support_count..(component + 1) * support_count]
    }

    /// Normal corrections of one component, `support`; `None` when normals are left alone.
    pub fn component_normals(&self, component: usize, support_count: usize) -> Option<&[Vec3]> {
        (!self.normals.is_empty())
            .then(|| &self.normals[component * support_count..(component + 1) * support_count])
    }
}

impl Model {
    /// Checks the layers against the rig. Layers without components are left out.
    pub fn new(rig: Arc<Rig>, base: impl Into<Base>, layers: Vec<Layer>) -> Result<Self, ModelError> {
        let layers: Vec<Layer> = layers.into_iter().filter(|layer| layer.component_count() > 0).collect();
        for layer in &layers {
            check_layer(&rig, layer)?;
        }
        let base = base.into();
        if let Base::Deformers(stack) = &base {
            check_deformers(&rig, stack)?;
        }
        Ok(Self { rig, input_rig: None, base, layers })
    }

    /// Plain skinning.
    pub fn without_corrections(rig: Arc<Rig>, base: impl Into<Base>) -> Self {
        Self { rig, input_rig: None, base: base.into(), layers: Vec::new() }
    }

    /// The same model, which remembers the rig it was made for: one with other skin weights, which
    /// plain skinning is measured with.
    pub fn with_input_rig(mut self, input: Arc<Rig>) -> Result<Self, RigError> {
        self.rig.correspondence_in(&input)?;
        self.input_rig = (input.weights() != self.rig.weights()).then_some(input);
        Ok(self)
    }

    /// The rig, with the skin weights that the model uses.
    pub fn rig(&self) -> &Arc<Rig> {
        &self.rig
    }

    /// The rig with the skin weights that were given: the same as [`rig`](Self::rig) unless weights
    /// were solved.
    pub fn input_rig(&self) -> &Arc<Rig> {
        self.input_rig.as_ref().unwrap_or(&self.rig)
    }

    /// What corrections are added to.
    pub fn base(&self) -> &Base {
        &self.base
    }

    /// The corrections.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Coordinates of all layers together.
    pub fn component_count(&self) -> usize {
        self.layers.iter().map(Layer::component_count).sum()
    }

    /// Most components that move one vertex (EigenSkin §2.5: at most 10 fitted a GeForce 3).
    /// Normal corrections that share the positions' coordinates are not counted again.
    pub fn most_components_per_vertex(&self) -> usize {
        let mut tuples = vec![0; self.rig.vertex_count()];
        for layer in &self.layers {
            for &vertex in &layer.support {
                tuples[vertex as usize] += layer.component_count();
            }
        }
        tuples.into_iter().max().unwrap_or(0)
    }
}

/// Other programs are not started for this.
fn check_deformers(rig: &Arc<Rig>, stack: &DeformerStack) -> Result<(), ModelError> {
    struct Unasked;
    impl BlackBox for Unasked {
        fn deform(&mut self, _: &Pose, _: &[DVec3], _: &mut [DVec3]) -> Result<(), BlackBoxError> {
            Err(BlackBoxError::Failed("a check asks nobody".to_string()))
        }
    }
    match stack.bind_with(rig, &mut |_| Ok(Box::new(Unasked))) {
        Ok(_) => Ok(()),
        Err(error) => Err(ModelError::Deformers { name: stack.name.clone(), error }),
    }
}

fn check_layer(rig: &Rig, layer: &Layer) -> Result<(), ModelError> {
    let name = || layer.name.clone();
    let vertices = rig.vertex_count();
    let mut last = None;
    for &vertex in &layer.support {
        if vertex as usize >= vertices || last.is_some_and(|last| last >= vertex) {
            return Err(ModelError::Support { layer: name(), vertex, vertices });
        }
        last = Some(vertex);
    }
    let basis = &layer.basis;
    let (positions, normals, support) = (basis.positions.len(), basis.normals.len(), layer.support.len());
    if positions % support != 0 || (normals != 0 && normals != positions) {
        return Err(ModelError::BasisShape { layer: name(), positions, normals, support });
    }
    if basis.positions.iter().chain(&basis.normals).any(|v| !v.is_finite()) {
        return Err(ModelError::NotFinite { layer: name() });
    }
    if let Stage::AfterSkinning { frame: Frame::Joint(joint) } = layer.stage
        && joint >= rig.skeleton().joint_count()
    {
        return Err(ModelError::NoSuchFrame { layer: name(), joint });
    }
    layer
        .driver
        .check(rig.skeleton().joint_count(), rig.controls().len(), layer.component_count())
        .map_err(|error| ModelError::Driver { layer: name(), error })
}
