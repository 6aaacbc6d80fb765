//! EigenSkin (Kry, James, Pai 2002 §2): displacements pulled back to rest, local joint supports,
//! principal components per support, coordinates interpolated over each joint's own rotation.

use glam::Vec3;
use rayon::prelude::*;

use super::allocation::Budget;
use super::coordinates::{KeptBasis, SupportCoordinates};
use super::coupling::{Coupling, CouplingReport, PairReport, couple, coupled_layers};
use super::joint_driver::fit_joint_driver;
use super::regions::{Observed, Regions};
use super::riding_fields::{normal_fields, residual_fields};
use crate::basis::PrincipalComponents;
use crate::displacements::{Observations, ObservationsError, PullBackError, RestDisplacements, StoreError};
use crate::drivers::{RbfError, RbfFit, RbfParams, Ridge};
use crate::supports::{JointSupport, SupportParams};
use eigenskin_core::deformers::Base;
use eigenskin_core::driver::{Driver, Interpolant};
use eigenskin_core::examples::{ExampleSet, ExamplesError, MergedExample};
use eigenskin_core::model::{DisplacementBasis, Frame, Layer, Model, ModelError, Stage};
use eigenskin_core::mover::{Mover, moved_by_poses};
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::BaseSkinning;

/// How to fit.
#[derive(Debug, Clone, PartialEq)]
pub struct EigenSkinParams {
    /// what the corrections sit on; default linear blending
    pub base: Base,
    /// how supports are cut
    pub support: SupportParams,
    /// limits on the number of components
    pub budget: Budget,
    /// how coordinates are interpolated
    pub interpolation: RbfParams,
    /// whether normals are corrected along with positions; default yes
    pub normals: bool,
    /// how far coordinates may leave the range they have over the examples, as a share of that
    /// range; default 0.5. They change their sign only where examples do. `None` lets the kernels run
    /// free outside the examples
    pub clamp_margin: Option<f64>,
    /// how joints that move together are treated; default automatic. Makes no difference when every
    /// example moves one joint
    pub coupling: Coupling,
}

impl Default for EigenSkinParams {
    fn default() -> Self {
        Self {
            base: BaseSkinning::LinearBlend.into(),
            support: SupportParams::default(),
            budget: Budget::default(),
            interpolation: RbfParams::default(),
            normals: true,
            clamp_margin: Some(0.5),
            coupling: Coupling::Automatic,
        }
    }
}

impl EigenSkinParams {
    /// Whether one pose may have two shapes: a ridge finds something between them.
    pub fn allows_compromise(&self) -> bool {
        matches!(self.interpolation.ridge, Ridge::Fixed(ridge) if ridge > 0.0)
    }
}

/// A fitted model and what was seen on the way.
#[derive(Debug, Clone)]
pub struct EigenSkinFit {
    /// the model
    pub model: Model,
    /// one per joint or control that some example moves
    pub joints: Vec<JointReport>,
    /// examples that said nothing new
    pub merged: Vec<MergedExample>,
    /// examples used
    pub example_count: usize,
    /// where supports were cut: share of a joint's largest displacement
    pub support_threshold: f64,
    /// ‖u − model's displacement‖ / ‖u‖ over all examples, in rest space; zero when there was
    /// nothing to correct
    pub rest_space_error: f64,
    /// how joints that move together were treated; `None` for the paper's recipe
    pub coupling: Option<CouplingReport>,
}

/// What was learnt about one joint or control.
#[derive(Debug, Clone, PartialEq)]
pub struct JointReport {
    /// its name
    pub name: String,
    /// examples it was observed in
    pub example_count: usize,
    /// points of the skin in its support
    pub support_count: usize,
    /// all singular values, falling
    pub singular_values: Vec<f64>,
    /// components kept
    pub component_count: usize,
    /// width of the kernels (of the first centre where they differ)
    pub width: f64,
    /// what examples may give way by; 0 is exact
    pub ridge: f64,
    /// condition number of the interpolation
    pub condition: f64,
    /// leave-one-out error of the coordinates (a displacement norm over the support)
    pub leave_one_out: f64,
}

/// Why a fit failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FitError {
    /// Something about the examples.
    #[error(transparent)]
    Examples(#[from] ExamplesError),
    /// No example moves anything.
    #[error("no example moves a joint other than the root, or a control; pose the character in the examples")]
    NothingMoves,
    /// A joint's coordinates could not be interpolated.
    #[error("joint {joint:?}, example {first:?} and example {second:?}: {error}")]
    TooClose {
        /// the joint or control
        joint: String,
        /// one of the closest pair
        first: String,
        /// the other
        second: String,
        /// what is wrong
        error: RbfError,
    },
    /// A parameter that makes no sense.
    #[error(transparent)]
    Parameter(RbfError),
    /// A threshold that makes no sense.
    #[error("the support threshold must be in 0 ≤ threshold < 1, not {0}")]
    Threshold(f64),
    /// A clamp that makes no sense.
    #[error("the clamp margin must be a finite number that is not negative, not {0}")]
    ClampMargin(f64),
    /// An example that was not inverted through the deformers.
    #[error(transparent)]
    PullBack(#[from] PullBackError),
    /// Displacements that cannot be read again.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The layers do not fit the rig; a bug.
    #[error(transparent)]
    Model(#[from] ModelError),
}

impl From<ObservationsError> for FitError {
    fn from(error: ObservationsError) -> Self {
        match error {
            ObservationsError::Examples(error) => Self::Examples(error),
            ObservationsError::PullBack(error) => Self::PullBack(error),
        }
    }
}

/// Residuals below this share of the size are no match for what truncated bases leave; plain morph
/// targets then say it all.
const LEAST_RESIDUAL: f64 = 1e-4;

/// Fits an EigenSkin model.
pub fn fit_eigenskin(examples: &ExampleSet, params: &EigenSkinParams) -> Result<EigenSkinFit, FitError> {
    let seen = Observations::of(examples, &params.base, params.allows_compromise())?;
    fit_eigenskin_to(&seen, params)
}

/// Fits an EigenSkin model to what was observed, wherever that is kept.
pub fn fit_eigenskin_to(seen: &Observations, params: &EigenSkinParams) -> Result<EigenSkinFit, FitError> {
    if let Some(threshold) = params.support.threshold.filter(|threshold| !(0.0..1.0).contains(threshold)) {
        return Err(FitError::Threshold(threshold));
    }
    if let Some(margin) = params.clamp_margin.filter(|margin| !(margin.is_finite() && *margin >= 0.0)) {
        return Err(FitError::ClampMargin(margin));
    }
    let movers = Mover::all(&seen.rig);
    let moved = moved_by_poses(&seen.rig, &seen.poses, &movers);

    // §2.2, §2.3: displacements, where each joint acts, and what it does there.
    let displacements = &seen.displacements;
    let observed = Observed { seen, movers: &movers, moved: &moved };
    let regions = Regions::best(observed, params)?;
    let together = regions.acting.iter().any(|acting| acting.len() > 1);
    if together && params.coupling != Coupling::None {
        return fit_coupled(observed, regions, params);
    }
    let Regions { threshold, supports, components, counts, bases, acting, coordinates, error } = regions;

    // §2.4: coordinates of the examples, interpolated over each joint's motion.
    let least_residual = LEAST_RESIDUAL * seen.rig.mesh().size();
    let acting_counts: Vec<usize> = acting.iter().map(Vec::len).collect();
    let per_support: Vec<(Layer, Option<Layer>, JointReport)> = (0..supports.len())
        .into_par_iter()
        .map(|index| {
            let observed =
                SupportCoordinates::new(index, &acting, &coordinates, bases[index].component_count());
            let fit = fit_joint_driver(
                seen,
                &supports[index],
                &observed,
                &params.interpolation,
                params.clamp_margin,
            )?;
            let normals = if params.normals && !displacements.normals.is_empty() {
                normal_fields(displacements, &supports[index], &observed)?
            } else {
                Vec::new()
            };
            let report = report(&seen.rig, &supports[index], &components[index], counts[index], &fit);
            let left =
                residual_fields(displacements, &supports[index], &observed, &acting_counts, least_residual);
            let residual = residual_layer(left, &report.name, &fit.driver);
            Ok((layer(displacements, &bases[index], normals, report.name.clone(), fit), residual, report))
        })
        .collect::<Result<_, FitError>>()?;

    let (mut layers, mut residuals, mut joints) = (Vec::new(), Vec::new(), Vec::new());
    for (layer, residual, report) in per_support {
        layers.push(layer);
        residuals.extend(residual);
        joints.push(report);
    }
    layers.extend(residuals);
    let model = Model::new(seen.rig.clone(), seen.base.clone(), layers)?;
    Ok(EigenSkinFit {
        model,
        joints,
        merged: seen.merged.clone(),
        example_count: seen.len(),
        support_threshold: threshold,
        rest_space_error: error,
        coupling: None,
    })
}

/// What the paper leaves for later (§4): layers of all joints fitted together to all examples, and
/// layers of pairs.
fn fit_coupled(
    observed: Observed<'_>,
    regions: Regions,
    params: &EigenSkinParams,
) -> Result<EigenSkinFit, FitError> {
    let (seen, displacements) = (observed.seen, &observed.seen.displacements);
    // Widths come from the examples that show a joint alone, where there are any.
    let alone: Vec<RbfFit> = (0..regions.supports.len())
        .into_par_iter()
        .map(|index| {
            let (support, count) = (&regions.supports[index], regions.bases[index].component_count());
            let observed = SupportCoordinates::new(index, &regions.acting, &regions.coordinates, count);
            let observed = observed.only(&support.examples);
            fit_joint_driver(seen, support, &observed, &params.interpolation, params.clamp_margin)
        })
        .collect::<Result<_, FitError>>()?;
    let widths: Vec<f64> = alone.iter().map(width_of).collect();
    let (regions, mut coupled) = couple(observed, regions, &widths, params)?;
    let joint_name = |support: usize| regions.supports[support].mover.name(&seen.rig).to_string();
    let mut names: Vec<String> = (0..regions.supports.len()).map(joint_name).collect();
    for pair in &coupled.pairs {
        let members: Vec<&str> = pair.supports.iter().map(|&support| names[support].as_str()).collect();
        names.push(members.join(" × "));
    }
    let least_residual = LEAST_RESIDUAL * seen.rig.mesh().size();
    let acting_counts: Vec<usize> = regions.acting.iter().map(Vec::len).collect();
    let (mut layers, mut residuals) = (Vec::new(), Vec::new());
    for (index, layer) in
        coupled_layers(&coupled, displacements, &names, params.normals, params.clamp_margin)?
    {
        if let Some(support) = regions.supports.get(index) {
            let seen = SupportCoordinates::of_examples(&support.examples, &coupled.coordinates[index]);
            let left = residual_fields(displacements, support, &seen, &acting_counts, least_residual);
            residuals.extend(residual_layer(left, &layer.name, &layer.driver));
        }
        layers.push(layer);
    }
    layers.extend(residuals);
    let kept = |block: usize| coupled.blocks[block].basis.component_count();
    let joints = (0..regions.supports.len())
        .map(|index| JointReport {
            ridge: coupled.report.ridge,
            ..report(
                &seen.rig,
                &regions.supports[index],
                &regions.components[index],
                kept(index),
                &alone[index],
            )
        })
        .collect();
    let mut pairs: Vec<PairReport> = (0..coupled.pairs.len())
        .map(|index| {
            let pair = &coupled.pairs[index];
            PairReport {
                names: pair.supports.iter().map(|&support| joint_name(support)).collect(),
                example_count: pair.examples.len(),
                support_count: pair.points.len(),
                component_count: kept(regions.supports.len() + index),
                gain: coupled.gains[index],
            }
        })
        .filter(|pair| pair.component_count > 0)
        .collect();
    pairs.sort_by(|a, b| b.gain.total_cmp(&a.gain));
    coupled.report.pairs = pairs;
    Ok(EigenSkinFit {
        model: Model::new(seen.rig.clone(), seen.base.clone(), layers)?,
        joints,
        merged: seen.merged.clone(),
        example_count: seen.len(),
        support_threshold: regions.threshold,
        rest_space_error: coupled.error,
        coupling: Some(coupled.report),
    })
}

fn layer(
    displacements: &RestDisplacements,
    basis: &KeptBasis,
    normals: Vec<Vec3>,
    name: String,
    fit: RbfFit,
) -> Layer {
    let vertices = displacements.vertices_of(&basis.points);
    let positions = (0..basis.component_count())
        .flat_map(|component| {
            let field = &basis.fields[component * basis.points.len()..(component + 1) * basis.points.len()];
            vertices.iter().map(move |&(_, point)| field[point])
        })
        .collect();
    Layer {
        name,
        support: vertices.iter().map(|&(vertex, _)| vertex).collect(),
        basis: DisplacementBasis { positions, normals },
        driver: fit.driver,
        stage: Stage::BeforeSkinning,
    }
}

/// What the joint's examples leave after skinning, on the coordinates of its displacements.
fn residual_layer((support, positions): (Vec<u32>, Vec<Vec3>), name: &str, driver: &Driver) -> Option<Layer> {
    (!positions.is_empty()).then(|| Layer {
        name: format!("{name} (after skinning)"),
        support,
        basis: DisplacementBasis { positions, normals: Vec::new() },
        driver: driver.clone(),
        stage: Stage::AfterSkinning { frame: Frame::Root },
    })
}

fn report(
    rig: &Rig,
    support: &JointSupport,
    components: &PrincipalComponents,
    component_count: usize,
    fit: &RbfFit,
) -> JointReport {
    JointReport {
        name: support.mover.name(rig).to_string(),
        example_count: support.examples.len(),
        support_count: support.points.len(),
        singular_values: components.singular_values.clone(),
        component_count,
        width: width_of(fit),
        ridge: fit.ridge,
        condition: fit.condition,
        leave_one_out: fit.leave_one_out,
    }
}

/// Width of the kernels, of the first centre where they differ.
fn width_of(fit: &RbfFit) -> f64 {
    match &fit.driver.interpolant {
        Interpolant::Rbf { widths, .. } => widths[0],
        _ => 0.0,
    }
}
