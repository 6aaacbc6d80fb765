//! What can go wrong with whole files: every message names the file.

use std::path::PathBuf;

use crate::gltf::error::GltfError;
use crate::npz::NpzError;

/// Why a file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The operating system refused.
    #[error("cannot read {}: {error}", path.display())]
    Io {
        /// the file
        path: PathBuf,
        /// what the system says
        error: std::io::Error,
    },
    /// An extension that is none of ours.
    #[error("{} is not a .glb, .gltf or .npz file; convert it to one of these", path.display())]
    UnknownExtension {
        /// the file
        path: PathBuf,
    },
    /// Something about its glTF content.
    #[error("{}: {error}", path.display())]
    Gltf {
        /// the file
        path: PathBuf,
        /// what is wrong
        error: Box<GltfError>,
    },
    /// Something about a numpy bundle.
    #[error("{}: {error}", path.display())]
    Npz {
        /// the file
        path: PathBuf,
        /// what is wrong
        error: Box<NpzError>,
    },
}

/// Why a file could not be written. Nothing on the disk was changed.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The operating system refused.
    #[error("cannot write {}: {error}", path.display())]
    Io {
        /// the file
        path: PathBuf,
        /// what the system says
        error: std::io::Error,
    },
    /// Only GLB is written.
    #[error("cannot write {}: give a name that ends in .glb", path.display())]
    NotGlb {
        /// the file
        path: PathBuf,
    },
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
