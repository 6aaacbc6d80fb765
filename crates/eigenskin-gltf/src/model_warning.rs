//! What a written model will not do for a viewer or an engine.

use std::fmt;

use eigenskin_core::skinning::BaseSkinning;

use crate::limits::LimitWarning;

/// Something that a stock viewer or an engine will not do with a model's file.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelWarning {
    /// viewers skin linearly, the model's base does not
    OtherSkinning {
        /// the base
        base: BaseSkinning,
    },
    /// viewers skin linearly, the model's base is a chain of deformers
    Deformers {
        /// its name
        name: String,
    },
    /// layers that act after skinning, which morph targets cannot
    AfterSkinning {
        /// how many
        layers: usize,
        /// the longest displacement of their bases
        longest: f64,
    },
    /// the file has no normals that morph targets could change
    NoNormals,
    /// an engine does not take so much
    Limit(LimitWarning),
    /// the profile `web` was asked for and is not possible
    NotForWeb {
        /// why
        obstacle: &'static str,
    },
    /// morph weights of the file that jumped now have straight lines between their keys
    StepsRamp {
        /// the clip
        clip: String,
    },
    /// the drivers were evaluated at the keys of a clip only
    TooLong {
        /// the clip
        clip: String,
    },
}

impl fmt::Display for ModelWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherSkinning { base } => write!(
                f,
                "the model's base is {} skinning, but viewers skin linearly: only eigenskin's own runtimes show it exactly",
                base.name()
            ),
            Self::Deformers { name } => write!(
                f,
                "the model's base is the deformer stack {name:?}, but viewers skin linearly: only eigenskin, or the program that has these deformers, shows it exactly"
            ),
            Self::AfterSkinning { layers, longest } => write!(
                f,
                "{layers} layer(s) act after skinning, which morph targets cannot: viewers leave them out (basis displacements up to {longest:.3e})"
            ),
            Self::NoNormals => f.write_str(
                "the file has no normals, so viewers shade the posed shape themselves; normal corrections are kept for eigenskin only",
            ),
            Self::Limit(warning) => warning.fmt(f),
            Self::NotForWeb { obstacle } => {
                write!(f, "the model is written as for all viewers, not for the web: {obstacle}")
            }
            Self::StepsRamp { clip } => {
                write!(f, "clip {clip:?}: morph weights that jumped now ramp between keys")
            }
            Self::TooLong { clip } => write!(f, "clip {clip:?} is too long to bake between its keys"),
        }
    }
}
