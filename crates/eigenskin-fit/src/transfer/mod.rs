//! A model transferred to another mesh of the same character: coarser, finer, or cut otherwise.
//!
//! Every vertex of the target looks for the nearest point of the source's rest surface that faces
//! the same way, and takes displacement fields and skin weights there; on request, one that stands
//! for more surface than a source vertex takes a mean over it. Drivers stay as they are, so all levels of a character move
//! alike. Coarse levels may keep fewer components: those that move the target most.

mod correspondence;
mod drivers;
mod layers;
mod triangle_tree;

use std::sync::Arc;

use eigenskin_core::examples::{Example, ExampleSet, ExamplesError};
use eigenskin_core::model::{Model, ModelError};
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::{Cancelled, Counted, Progress};
use eigenskin_core::rig::{Rig, RigError};
use eigenskin_core::skinning::{BaseSkinning, PosedSkinning};
use eigenskin_core::weights::{SkinWeights, WeightsError};
use serde::{Deserialize, Serialize, Serializer};

use crate::method::Budget;

pub use correspondence::Correspondence;

/// How a model is transferred.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TransferParams {
    /// components that the target may have; default: no limit
    pub budget: Budget,
    /// transfer the skin weights too: corrections are then added to the weights they were learnt with. Without,
    /// the target keeps its own, and every difference between the two is an error. Default: true
    pub weights: bool,
    /// how much of the mean over a vertex's surface counts where that is larger than a source
    /// vertex's, 0 to 1: calms fields that are noisy, blurs those that are not; default 0, the nearest
    /// point alone
    pub averaging: f64,
    /// vertices further from the source surface than this share of its size have no counterpart;
    /// default 0.05
    pub reach: f64,
}

impl Default for TransferParams {
    fn default() -> Self {
        let budget = Budget::UNLIMITED;
        Self { budget, weights: true, averaging: 0.0, reach: 0.05 }
    }
}

/// A transferred model.
#[derive(Debug, Clone)]
pub struct TransferredModel {
    /// on the target
    pub model: Model,
    /// where the target lies on the source
    pub correspondence: Correspondence,
    /// components of the source
    pub source_components: usize,
}

impl Serialize for TransferredModel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Told {
            components: usize,
            source_components: usize,
            most_per_vertex: usize,
            vertices: usize,
            largest_gap: f64,
            against: usize,
        }
        let gaps = self.correspondence.gaps();
        let told = Told {
            components: self.model.component_count(),
            source_components: self.source_components,
            most_per_vertex: self.model.most_components_per_vertex(),
            vertices: gaps.len(),
            largest_gap: gaps.iter().copied().fold(0.0, f64::max),
            against: self.correspondence.against,
        };
        told.serialize(serializer)
    }
}

/// Why a model cannot be transferred.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TransferError {
    /// The drivers need a joint that is not there.
    #[error(
        "the target has no joint {name:?}, which moves the model{hint}; give a rig with the model's skeleton, or rename the joint"
    )]
    MissingJoint {
        /// the joint
        name: String,
        /// a name that is nearly the same
        hint: String,
    },
    /// The drivers need a control that is not there.
    #[error("the target has no control {name:?}, which moves the model; add a node named control:{name}")]
    MissingControl {
        /// the control
        name: String,
    },
    /// A joint rests elsewhere, or turned.
    #[error(
        "joint {name:?} of the target rests {distance:.3} away and turned by {degrees:.1}° against the model's; give both the same bind pose"
    )]
    OtherBind {
        /// the joint
        name: String,
        /// in the unit of the rest shape
        distance: f64,
        /// by how much
        degrees: f64,
    },
    /// The surfaces are not of one character.
    #[error(
        "{far} of {vertices} vertices of the target are more than {reach:.3} away from the model's rest shape (vertex {worst} is {distance:.3} away); give the same character in the same unit and rest pose"
    )]
    NoOverlap {
        /// vertices without a counterpart
        far: usize,
        /// vertices of the target
        vertices: usize,
        /// what was allowed
        reach: f64,
        /// the vertex furthest away
        worst: usize,
        /// by how much
        distance: f64,
    },
    /// The source has no surface.
    #[error("the model's mesh has no triangles, so there is no surface to transfer it from")]
    NoSurface,
    /// The transferred weights were refused.
    #[error("the transferred skin weights are not valid: {0}")]
    Weights(#[from] WeightsError),
    /// The transferred layers were refused.
    #[error("the transferred layers are not valid: {0}")]
    Model(#[from] ModelError),
    /// The target's parts do not fit.
    #[error("the target does not fit: {0}")]
    Rig(#[from] RigError),
    /// The transferred truth was refused.
    #[error("the transferred shapes are not valid: {0}")]
    Examples(#[from] ExamplesError),
    /// The work was ended from outside.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// What is said while a model is transferred.
const TRANSFERRING: &str = "transferring to the other mesh";
/// More vertices than this share without a counterpart are another character.
const MOST_FAR: f64 = 0.02;

/// Transfers `model` to `target`, another mesh of the same character with the same joints by name. Poses of
/// the *target* (`sample_poses`) tell which components matter; without any, the drivers' own ranges do.
///
/// ```
/// use eigenskin_characters::{arm, truth::SweptSkin};
/// use eigenskin_core::{deformers::Base, progress::Unwatched};
/// use eigenskin_fit::method::{Method, fit_examples};
/// use eigenskin_fit::transfer::{TransferParams, transfer_model};
///
/// let (fine, coarse) = (arm(600)?, arm(300)?);
/// let examples = SweptSkin::new(&fine).examples(fine.single_joint_poses(2))?;
/// let fit = fit_examples(&examples, &Base::default(), &Method::default(), &Unwatched)?;
/// let transferred = transfer_model(&fit.model, &coarse.rig, &TransferParams::default(), &[], &Unwatched)?;
/// assert_eq!(transferred.model.rig().vertex_count(), coarse.rig.vertex_count());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn transfer_model(
    model: &Model,
    target: &Arc<Rig>,
    params: &TransferParams,
    sample_poses: &[Pose],
    progress: &dyn Progress,
) -> Result<TransferredModel, TransferError> {
    let names = drivers::Names::new(model, target)?;
    let correspondence = Correspondence::new(model.rig(), target, params.averaging, progress)?;
    check_overlap(&correspondence, model.rig(), params)?;
    let rig = if params.weights && model.rig().skeleton().joint_count() > 0 {
        Arc::new(target.with_weights(transferred_weights(model.rig(), target, &correspondence, &names)?))
    } else {
        target.clone()
    };
    let mut layers = layers::transferred(model, &correspondence, &names, progress)?;
    layers::keep_strongest(&mut layers, &rig, &params.budget, sample_poses, progress)?;
    let model_on_target = Model::new(rig, model.base().clone(), layers)?.with_input_rig(target.clone())?;
    Ok(TransferredModel {
        model: model_on_target,
        correspondence,
        source_components: model.component_count(),
    })
}

fn check_overlap(
    correspondence: &Correspondence,
    source: &Rig,
    params: &TransferParams,
) -> Result<(), TransferError> {
    let reach = params.reach * source.mesh().size();
    let gaps = correspondence.gaps();
    let far = gaps.iter().filter(|&&gap| gap > reach).count();
    if far as f64 <= MOST_FAR * gaps.len() as f64 {
        return Ok(());
    }
    let all = gaps.iter().copied().enumerate();
    let (worst, distance) = all.fold((0, 0.0), |worst, next| if next.1 > worst.1 { next } else { worst });
    Err(TransferError::NoOverlap { far, vertices: gaps.len(), reach, worst, distance })
}

/// The source's weights at the target's vertices, as many influences as the source has.
fn transferred_weights(
    source: &Rig,
    target: &Rig,
    correspondence: &Correspondence,
    names: &drivers::Names,
) -> Result<SkinWeights, TransferError> {
    let most = source.weights().most_influences();
    let lists = (0..target.vertex_count())
        .map(|vertex| {
            let mut list: Vec<eigenskin_core::weights::Influence> = Vec::new();
            for &(from, share) in correspondence.of_group(vertex) {
                for influence in source.weights().of(from as usize) {
                    let joint = names.joint(influence.joint as usize)? as u32;
                    let weight = (share * f64::from(influence.weight)) as f32;
                    match list.iter_mut().find(|i| i.joint == joint) {
                        Some(known) => known.weight += weight,
                        None => list.push(eigenskin_core::weights::Influence { joint, weight }),
                    }
                }
            }
            list.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.joint.cmp(&b.joint)));
            list.truncate(most.max(1));
            Ok(list)
        })
        .collect::<Result<Vec<_>, TransferError>>()?;
    Ok(SkinWeights::new(target.skeleton().joint_count(), lists)?.0)
}

/// True shapes of the source as shapes of the target, where the target has none of its own: each
/// vertex follows its place on the surface, and keeps its distance from it as skinning turns it.
pub fn transfer_examples(
    set: &ExampleSet,
    transferred: &TransferredModel,
    target: &Arc<Rig>,
    progress: &dyn Progress,
) -> Result<ExampleSet, TransferError> {
    let counted = Counted::new(progress, TRANSFERRING, set.len());
    let source = set.rig();
    let names = drivers::Names::of_rigs(source, target);
    let rest: Vec<glam::DVec3> = source.mesh().positions().iter().map(|p| p.as_dvec3()).collect();
    let examples = set.examples().iter().map(|example| {
        counted.next()?;
        let pose = names.pose(&example.pose)?;
        let skinning = PosedSkinning::new(BaseSkinning::LinearBlend, target, &pose);
        let positions = (0..target.vertex_count())
            .map(|vertex| {
                let parts = transferred.correspondence.of_group(vertex);
                let mean = |of: &dyn Fn(usize) -> glam::DVec3| -> glam::DVec3 {
                    parts.iter().map(|&(from, share)| share * of(from as usize)).sum()
                };
                let off = target.mesh().positions()[vertex].as_dvec3() - mean(&|from| rest[from]);
                let shown = mean(&|from| example.positions[from].as_dvec3());
                (shown + skinning.posed_from_rest(vertex).matrix3 * off).as_vec3()
            })
            .collect();
        Ok(Example { name: example.name.clone(), pose, positions, normals: None, inverted: None })
    });
    Ok(ExampleSet::new(target.clone(), examples.collect::<Result<_, TransferError>>()?)?)
}
