//! Poses that move many joints at once, and the coupling of joints (EigenSkin §4, future work).
//!
//! The paper learns every joint from poses that move it alone; corrections of neighbours are added.
//! Here all joints' coefficients are found together, so that their sum meets all poses, and pairs of
//! joints get layers of their own for what a sum cannot express.

mod features;
mod fields;
mod layers;
mod pairs;
mod refit;
mod search;
mod trials;

use eigenskin_core::model::Layer;
use eigenskin_core::progress::Progress;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use self::layers::coupled_layers;
use self::search::couple;
use super::FitError;
use super::coordinates::SupportCoordinates;
use super::eigenskin::regions::Regions;
use super::eigenskin::{EigenSkinParams, EigenSkinReport, JointReport, least_residual, residual_layer};
use super::joint_driver::{fit_joint_driver, width_of};
use super::riding_fields::residual_fields;
use crate::displacements::Observations;
use crate::drivers::RbfFit;
use crate::during::During;
use crate::supports::Moved;

/// How joints that move together are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Coupling {
    /// the paper's recipe: every joint is interpolated over its own motion, and they add up
    None,
    /// the sum of all joints meets all poses, single and multi-joint, by least squares
    Additive,
    /// the same, and pairs of joints have layers of their own where cross-validation finds that it
    /// pays to
    Pairs,
    /// what the examples allow: `None` if each of them moves one joint, else `Pairs`
    #[default]
    #[serde(rename = "auto")]
    Automatic,
}

impl Coupling {
    /// All, in the order of the documentation.
    pub const ALL: [Self; 4] = [Self::None, Self::Additive, Self::Pairs, Self::Automatic];

    /// Its name in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Additive => "additive",
            Self::Pairs => "pairs",
            Self::Automatic => "auto",
        }
    }

    /// The coupling of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|coupling| coupling.name() == name)
    }
}

/// What is said while joints are coupled.
const COUPLING: &str = "coupling joints";

/// What was learnt about joints that move together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CouplingReport {
    /// examples that move several joints
    pub multi_joint_examples: usize,
    /// smoothing
    pub smoothing: f64,
    /// factor of the kernels' own widths that predicts left-out examples best
    pub width_factor: f64,
    /// amounts of smoothing that were tried, and the error of the sum of single joints on left-out examples
    /// relative to their displacements
    pub smoothing_curve: Vec<(f64, f64)>,
    /// that error for the sum of single joints, within the budget
    #[serde(rename = "additive_left_out_error")]
    pub additive_error: f64,
    /// that error with the pairs below; that of the sum when there are none
    #[serde(rename = "coupled_left_out_error")]
    pub coupled_error: f64,
    /// pairs, and threes that hold a pair which pays, that were tried
    pub tried_pairs: usize,
    /// the set is so large that pairs were not tried
    pub too_many_for_pairs: bool,
    /// pairs and threes that have a layer, the best first
    pub pairs: Vec<PairReport>,
}

/// A pair of joints with a layer of its own, or three.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairReport {
    /// the names of the joints
    #[serde(rename = "joints")]
    pub names: Vec<String>,
    /// examples that move all of them
    #[serde(rename = "examples")]
    pub example_count: usize,
    /// points of the skin they share
    #[serde(rename = "support")]
    pub support_count: usize,
    /// components kept
    #[serde(rename = "components")]
    pub component_count: usize,
    /// share of the squared error on left-out examples that the pair took away when it was added
    pub gain: f64,
}

/// Layers of all joints fitted together to all examples, and layers of pairs.
pub(super) fn learn(
    seen: &Observations,
    moved: &Moved,
    regions: Regions,
    params: &EigenSkinParams,
    progress: &dyn Progress,
) -> Result<(Vec<Layer>, EigenSkinReport), FitError> {
    let progress = &During::new(progress, COUPLING);
    let displacements = &seen.displacements;
    // Widths come from the examples that show a joint alone, where there are any.
    let alone: Vec<RbfFit> = (0..regions.supports.len())
        .into_par_iter()
        .map(|index| {
            let support = &regions.supports[index];
            let observed = regions.coordinates_of(index).only(&support.examples);
            let EigenSkinParams { interpolation, clamp_margin, .. } = params;
            fit_joint_driver(seen, support, &observed, interpolation, *clamp_margin, progress)
        })
        .collect::<Result<_, FitError>>()?;
    let widths: Vec<f64> = alone.iter().map(width_of).collect();
    let (regions, mut coupled) = couple(seen, moved, regions, &widths, params, progress)?;
    let joint_name = |support: usize| regions.supports[support].mover.name(&seen.rig).to_string();
    let mut names: Vec<String> = (0..regions.supports.len()).map(joint_name).collect();
    for pair in &coupled.pairs {
        let members: Vec<&str> = pair.supports.iter().map(|&support| names[support].as_str()).collect();
        names.push(members.join(" × "));
    }
    let acting_counts: Vec<usize> = regions.acting.iter().map(Vec::len).collect();
    let (mut layers, mut residuals) = (Vec::new(), Vec::new());
    for (index, layer) in
        coupled_layers(&coupled, displacements, &names, params.normals, params.clamp_margin, progress)?
    {
        if let Some(support) = regions.supports.get(index) {
            let observed = SupportCoordinates::of_examples(&support.examples, &coupled.coordinates[index]);
            let left =
                residual_fields(displacements, support, &observed, &acting_counts, least_residual(seen));
            residuals.extend(residual_layer(left, &layer.name, &layer.driver));
        }
        layers.push(layer);
    }
    layers.extend(residuals);
    let kept = |block: usize| coupled.blocks[block].basis.component_count();
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
    let joints = regions.reports(&seen.rig, &alone).into_iter().enumerate();
    let joints = joints
        .map(|(index, report)| JointReport {
            smoothing: coupled.report.smoothing,
            component_count: kept(index),
            ..report
        })
        .collect();
    let report = EigenSkinReport {
        rest_space_error: coupled.error,
        support_threshold: regions.threshold,
        joints,
        coupling: Some(coupled.report),
    };
    Ok((layers, report))
}
