//! Skin weights from examples, with joints known (the weights half of Le and Deng 2012).
//!
//! For every point of the skin, weights w ≥ 0 with Σw = 1 and few of them above zero minimise
//!
//! ```text
//! mean over examples |Σ_b w_b T_b rest − observed|²            what was seen
//!   + smooth · noise/examples · mean |w − w_neighbour|²         no jumps made of noise
//!   + (w − input)ᵀ N (w − input)                                N acts where nothing was seen
//! ```
//! `noise` is what even the best weights leave of the examples: where linear blending is exact,
//! nothing is smoothed away. A point whose weights do not get better keeps those it had.

mod evidence;
mod simplex;
mod sweeps;

use serde::{Deserialize, Serialize, Serializer};
use std::sync::Arc;

use glam::Vec3;
use rayon::prelude::*;

use crate::displacements::SkinPoints;
use crate::during::Small;
use crate::metrics::{ErrorSummary, shape_errors};
use eigenskin_core::evaluate::Evaluator;
use eigenskin_core::examples::ExampleSet;
use eigenskin_core::model::Model;
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::{Cancelled, Progress};
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::BaseSkinning;
use eigenskin_core::vertex_groups::VertexGroups;
use eigenskin_core::weights::{Influence, SkinWeights, WeightsError};
use evidence::Evidence;
use sweeps::Sweeps;

/// How weights are solved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SolveWeightsParams {
    /// influences per vertex at most, default 4 (what all engines take)
    pub influences: usize,
    /// how much neighbours hold together: weights of neighbours are taken to differ by about
    /// 1/√smooth, against as much noise as the best weights leave of the examples. Default 100;
    /// 0 solves every point for itself
    pub smooth: f64,
}

impl Default for SolveWeightsParams {
    fn default() -> Self {
        Self { influences: 4, smooth: 100.0 }
    }
}

/// Weights found, and what they are good for.
#[derive(Debug, Clone, PartialEq)]
pub struct SolvedWeights {
    /// the rig with the new weights
    pub rig: Arc<Rig>,
    /// linear blending with the input weights, on the examples
    pub before: ErrorSummary,
    /// linear blending with the new weights, on the examples
    pub after: ErrorSummary,
    /// `vertex`: share of its weights that moved to other joints, 0 to 1
    pub moved: Vec<f32>,
    /// vertices whose weights changed
    pub changed_vertices: usize,
    /// vertices that had more influences than are allowed now
    pub limited_vertices: usize,
}

impl Serialize for SolvedWeights {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Told {
            before: ErrorSummary,
            after: ErrorSummary,
            vertices: usize,
            changed_vertices: usize,
            limited_vertices: usize,
            influences: usize,
            most_moved: f32,
        }
        let told = Told {
            before: self.before,
            after: self.after,
            vertices: self.moved.len(),
            changed_vertices: self.changed_vertices,
            limited_vertices: self.limited_vertices,
            influences: self.rig.weights().most_influences(),
            most_moved: self.moved.iter().copied().fold(0.0, f32::max),
        };
        told.serialize(serializer)
    }
}

/// Why weights cannot be solved.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SolveWeightsError {
    /// There is nothing to weigh.
    #[error("the rig has no joints, so there are no weights to solve; bind the mesh to a skeleton")]
    NoJoints,
    /// A vertex needs an influence.
    #[error("{influences} influences per vertex cannot be; ask for 1 to {MOST_INFLUENCES}")]
    Influences {
        /// what was asked for
        influences: usize,
    },
    /// NaN, infinity or a negative number.
    #[error("weights cannot be smoothed by {smooth}; give a finite number that is not negative")]
    Smooth {
        /// what was asked for
        smooth: f64,
    },
    /// The weights found were refused.
    #[error("the weights found are not valid: {0}")]
    Weights(#[from] WeightsError),
    /// The work was ended from outside.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// Influences that can be asked for.
const MOST_INFLUENCES: usize = 12;
/// Gains below this share of a point's error are no reason to change its weights.
const WORTH_CHANGING: f64 = 1e-6;
/// Errors below this share of the size are rounding.
const ROUNDING: f64 = 2e-7;

/// Solves the weights of a set's rig from its examples.
///
/// ```
/// use eigenskin_core::progress::Unwatched;
/// use eigenskin_fit::solve_weights::{SolveWeightsParams, solve_weights};
///
/// let examples = eigenskin_characters::tube::sweeps(&eigenskin_characters::tube::tube());
/// let solved = solve_weights(&examples, &SolveWeightsParams::default(), &Unwatched)?;
/// assert!(solved.after.rmse <= solved.before.rmse);
/// # Ok::<(), eigenskin_fit::solve_weights::SolveWeightsError>(())
/// ```
pub fn solve_weights(
    set: &ExampleSet,
    params: &SolveWeightsParams,
    progress: &dyn Progress,
) -> Result<SolvedWeights, SolveWeightsError> {
    let rig = set.rig();
    if rig.skeleton().joint_count() == 0 {
        return Err(SolveWeightsError::NoJoints);
    }
    if !(1..=MOST_INFLUENCES).contains(&params.influences) {
        return Err(SolveWeightsError::Influences { influences: params.influences });
    }
    if !(params.smooth.is_finite() && params.smooth >= 0.0) {
        return Err(SolveWeightsError::Smooth { smooth: params.smooth });
    }
    progress.doing(SOLVING)?;
    let points = SkinPoints::of(set);
    let evidence = Evidence::new(set, &points, progress)?;
    let neighbours = points.neighbours(rig.mesh().triangles());
    let solved = Sweeps::new(&evidence, &neighbours, params, progress)?.solve(progress)?;
    let small = Small::new(progress, SOLVING, points.group_count());
    let lists: Vec<Vec<Influence>> = (0..points.group_count())
        .into_par_iter()
        .map(|point| {
            small.next()?;
            Ok(evidence.better(point, &solved[point], params))
        })
        .collect::<Result<_, Cancelled>>()?;
    finish(set, &points, &lists, params, progress)
}

/// What is said while weights are solved.
const SOLVING: &str = "solving skin weights";

/// The new rig and what it does.
fn finish(
    set: &ExampleSet,
    points: &VertexGroups,
    lists: &[Vec<Influence>],
    params: &SolveWeightsParams,
    progress: &dyn Progress,
) -> Result<SolvedWeights, SolveWeightsError> {
    let rig = set.rig();
    let per_vertex = (0..rig.vertex_count()).map(|vertex| lists[points.group_of(vertex)].clone());
    let (weights, _) = SkinWeights::new(rig.skeleton().joint_count(), per_vertex)?;
    let moved: Vec<f32> = (0..rig.vertex_count())
        .map(|vertex| moved_share(rig.weights().of(vertex), weights.of(vertex)))
        .collect();
    let solved = Arc::new(rig.with_weights(weights));
    Ok(SolvedWeights {
        before: skinning_error(rig, set, progress)?,
        after: skinning_error(&solved, set, progress)?,
        changed_vertices: (0..rig.vertex_count())
            .filter(|&v| rig.weights().of(v) != solved.weights().of(v))
            .count(),
        limited_vertices: (0..rig.vertex_count())
            .filter(|&v| rig.weights().of(v).len() > params.influences)
            .count(),
        moved,
        rig: solved,
    })
}

/// The error of linear blending on a rig that numbers vertices and joints as the set's does.
pub fn skinning_error(
    rig: &Arc<Rig>,
    set: &ExampleSet,
    progress: &dyn Progress,
) -> Result<ErrorSummary, Cancelled> {
    let model = Arc::new(Model::without_corrections(rig.clone(), BaseSkinning::LinearBlend));
    let shape = |pose: &Pose| {
        let mut positions = vec![Vec3::ZERO; rig.vertex_count()];
        Evaluator::new(model.clone()).evaluate(pose, &mut positions, None);
        positions
    };
    shape_errors(set, shape, progress)
}

/// Half of the absolute differences: what moved from some joints to others.
fn moved_share(before: &[Influence], after: &[Influence]) -> f32 {
    let of = |list: &[Influence], joint: u32| {
        list.iter().find(|i| i.joint == joint).map_or(0.0, |influence| influence.weight)
    };
    let lost: f32 = before.iter().map(|i| (i.weight - of(after, i.joint)).max(0.0)).sum();
    let won: f32 = after.iter().map(|i| (i.weight - of(before, i.joint)).max(0.0)).sum();
    0.5 * (lost + won)
}
