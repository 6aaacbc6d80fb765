//! Skin weights from examples: options, and what is said of them.

use eigenskin::reports::weights_sentence;
use eigenskin::solve_weights::{SolveWeightsParams, SolvedWeights};

use crate::output::{Output, counted};

/// How weights are solved.
#[derive(clap::Args, Clone)]
pub struct SolveArgs {
    /// Influences per vertex at most, for solved weights [default: 4]
    #[arg(long, value_name = "N", hide_short_help = true, help_heading = "Skin weights")]
    pub influences: Option<usize>,
    /// How much the weights of neighbours hold together where examples are noisy, for solved weights;
    /// they are taken to differ by 1/√S [default: 100]
    #[arg(long, value_name = "S", hide_short_help = true, help_heading = "Skin weights")]
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

/// What came out.
pub fn print(output: &Output, solved: &SolvedWeights, influences: usize) {
    output.item("weights", weights_sentence(solved));
    if solved.limited_vertices > 0 {
        output.warning(format!(
            "{} had more than {influences} influences; --influences keeps more",
            counted(solved.limited_vertices, "vertex", "vertices"),
        ));
    }
}
