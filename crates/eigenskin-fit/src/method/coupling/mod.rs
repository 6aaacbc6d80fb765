//! Poses that move many joints at once, and the coupling of joints (EigenSkin §4, future work).
//!
//! The paper learns every joint from poses that move it alone; corrections of neighbours are added.
//! Here all joints' coefficients are found together, so that their sum meets all poses, and pairs of
//! joints get layers of their own for what a sum cannot express.

pub mod features;
mod fields;
mod layers;
mod pairs;
mod refit;
mod search;
mod trials;

pub(super) use layers::coupled_layers;
pub(super) use search::couple;

/// How joints that move together are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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
    Automatic,
}

impl Coupling {
    /// All, in the order of the documentation.
    pub const ALL: [Self; 4] = [Self::None, Self::Additive, Self::Pairs, Self::Automatic];

    /// The name on the command line.
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

/// What was learnt about joints that move together.
#[derive(Debug, Clone, PartialEq)]
pub struct CouplingReport {
    /// examples that move several joints
    pub multi_joint_examples: usize,
    /// what examples may give way by
    pub ridge: f64,
    /// factor of the kernels' own widths that predicts left-out examples best
    pub width_factor: f64,
    /// ridges that were tried, and the error of the sum of single joints on left-out examples
    /// relative to their displacements
    pub ridge_curve: Vec<(f64, f64)>,
    /// that error for the sum of single joints, within the budget
    pub additive_error: f64,
    /// that error with the pairs below; that of the sum when there are none
    pub coupled_error: f64,
    /// pairs, and threes that hold a pair which pays, that were tried
    pub tried_pairs: usize,
    /// the set is so large that pairs were not tried
    pub too_many_for_pairs: bool,
    /// pairs and threes that have a layer, the best first
    pub pairs: Vec<PairReport>,
}

/// A pair of joints with a layer of its own, or three.
#[derive(Debug, Clone, PartialEq)]
pub struct PairReport {
    /// the names of the joints
    pub names: Vec<String>,
    /// examples that move all of them
    pub example_count: usize,
    /// points of the skin they share
    pub support_count: usize,
    /// components kept
    pub component_count: usize,
    /// share of the squared error on left-out examples that the pair took away when it was added
    pub gain: f64,
}
