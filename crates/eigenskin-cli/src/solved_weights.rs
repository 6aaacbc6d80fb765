//! Skin weights from examples: options, and what is said of them.

use anyhow::Result;
use eigenskin::examples::ExampleSet;
use eigenskin::reports::weights_sentence;
use eigenskin::solve_weights::{SolveWeightsParams, SolvedWeights, solve_weights};
use serde_json::{Value, json};

use crate::commands::evaluate::errors_json;
use crate::output::{Output, counted};
use crate::progress;

/// How weights are solved.
#[derive(clap::Args, Clone)]
pub struct SolveArgs {
    /// Influences per vertex at most, for solved weights [default: 4]
    #[arg(long, value_name = "N")]
    pub influences: Option<usize>,
    /// How much the weights of neighbours hold together where examples are noisy, for solved weights;
    /// they are taken to differ by 1/√S [default: 100]
    #[arg(long, value_name = "S")]
    pub smooth: Option<f64>,
}

impl SolveArgs {
    /// As typed, else the default.
    pub fn params(&self) -> SolveWeightsParams {
        let default = SolveWeightsParams::default();
        SolveWeightsParams {
            influences: self.influences.unwrap_or(default.influences),
            smooth: self.smooth.unwrap_or(default.smooth),
        }
    }

    /// Whether any was typed.
    pub fn given(&self) -> bool {
        self.influences.is_some() || self.smooth.is_some()
    }
}

/// Solves, and says what came out.
pub fn solve(
    set: &ExampleSet,
    params: &SolveWeightsParams,
    output: &Output,
    quiet: bool,
) -> Result<SolvedWeights> {
    let solved = progress::while_doing(quiet, "solving weights", || solve_weights(set, params))?;
    output.item("weights", weights_sentence(&solved));
    if solved.limited_vertices > 0 {
        output.warning(format!(
            "{} had more than {} influences; --influences keeps more",
            counted(solved.limited_vertices, "vertex", "vertices"),
            params.influences
        ));
    }
    Ok(solved)
}

/// What came out, for machines.
pub fn json(solved: &SolvedWeights) -> Value {
    json!({
        "before": errors_json(&solved.before),
        "after": errors_json(&solved.after),
        "vertices": solved.moved.len(),
        "changed_vertices": solved.changed_vertices,
        "limited_vertices": solved.limited_vertices,
        "influences": solved.rig.weights().most_influences(),
        "most_moved": solved.moved.iter().copied().fold(0.0, f32::max),
    })
}
