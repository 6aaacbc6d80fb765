//! Style transfer (Kim, Choi, Hoffmann 2011 §4): the difference between two deformations X1 and X2 of
//! one character, carried over to a deformation Y1 of another with the same joints.
//!
//! ```text
//! X1 = A1·S1                                     signals of the first deformation (`vertex × pose`)
//! Y2 = Y1 + amount · (Y1·S1⁺) · (A1⁺·(X2 − X1))
//! ```
//! `Y1·S1⁺` is how the target's skin follows those signals, `A1⁺·(X2 − X1)` how the style changes the
//! signals. Both need Y1, X1 and X2 in the same poses; meshes may be any. Nothing of `vertex × vertex`
//! is formed: all follows from products of `pose × pose`.
//!
//! Pseudo-inverses stop at the numerical rank of the data: directions no longer than the rounding of
//! `f32` positions are noise, and their inverse is noise enlarged.

mod choice;
mod error;
mod frames;
mod joints;
mod map;
mod report;
mod views;

pub use choice::{ChosenBy, SpaceChoice};
pub use error::StyleError;
pub use frames::{Extrapolation, Found};
pub use joints::{JointMatch, MatchedBy, match_joints};
pub use map::StyleMap;
pub use report::{StyleReport, Transferred};
pub use views::Space;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What is said while a style is captured.
const CAPTURING: &str = "capturing the style";
/// What is said while it is added.
const ADDING: &str = "adding the style";

/// How to capture a style.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StyleParams {
    /// the most signals k of the first deformation; default: as many as its numerical rank
    pub signals: Option<usize>,
    /// which of the paper's two forms; default [`Form::Factored`]
    pub form: Form,
    /// which vertices share one map; default [`Regions::Whole`]
    pub regions: Regions,
    /// what displacements are measured from; default: what carries the style best to frames that are left
    /// out in turn ([`SpaceChoice`])
    pub space: Option<Space>,
    /// joint of the target → joint of the character that shows the style, by names; default: equal
    /// names, else equal order
    pub joint_map: Option<BTreeMap<String, String>>,
}

/// The two forms of Kim's Equation 5. They are equal where the signals of X1 span those of X2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// Y1·S1⁺·A1⁺·X2: the style may bring signals that X1 does not have
    #[default]
    Factored,
    /// U⁺·T·U·Y1, which is the other form times the projector X1⁺·X1: what stays are signals of X1
    Projected,
}

/// Which vertices share one map.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Regions {
    /// all, as in the paper
    #[default]
    Whole,
    /// each joint's skin has its own, blended where joints meet: the map of the whole skin, corrected by
    /// what it misses there ([`Regions::joints`])
    Joints {
        /// signals of a joint's skin shorter than this share of its longest correct nothing
        ridge: f64,
    },
}

impl Regions {
    /// The skin of each joint, with a ridge that was good for hands: styles of skinning and of materials.
    pub fn joints() -> Self {
        Self::Joints { ridge: 0.05 }
    }
}
