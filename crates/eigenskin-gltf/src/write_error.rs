//! What cannot be expressed in glTF.

use crate::error::GltfError;

/// Why a rig, example set, model or clip could not be made into glTF.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// A pose that a file of node translations, rotations and scales cannot hold.
    #[error(
        "{pose} shears joint {joint:?} by {shear:.2e}, which glTF cannot express; remove uneven scale from its parents"
    )]
    Shear {
        /// which pose: an example or a key of a clip
        pose: String,
        /// the joint at fault
        joint: String,
        /// cosine between axes that should be perpendicular
        shear: f64,
    },
    /// The examples, model or clip belong to another rig than the file.
    #[error("{what} do not belong to this rig: {problem}; read the rig they were made for")]
    OtherRig {
        /// "the examples", "the model's layers", "the clip's poses"
        what: &'static str,
        /// what differs
        problem: String,
    },
    /// More than the format can count.
    #[error("the rig has {found} {what}; glTF holds at most {limit}")]
    TooMany {
        /// what there is too much of
        what: &'static str,
        /// how many
        found: usize,
        /// how many fit
        limit: usize,
    },
    /// The document inside the rig file was damaged after it was read.
    #[error("the rig's glTF document cannot be extended: {error}")]
    Document {
        /// what is wrong
        error: Box<GltfError>,
    },
}

impl From<GltfError> for WriteError {
    fn from(error: GltfError) -> Self {
        Self::Document { error: Box::new(error) }
    }
}
