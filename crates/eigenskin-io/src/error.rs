//! What can go wrong with whole files: every message names the file.

use std::path::PathBuf;

use crate::gltf::{self, GltfError};
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
    /// More than the format can count.
    #[error("the rig has {found} {what}; the format holds at most {limit}")]
    TooMany {
        /// what there is too much of
        what: &'static str,
        /// how many
        found: usize,
        /// how many fit
        limit: usize,
    },
    /// Something that glTF cannot express.
    #[error(transparent)]
    Gltf(#[from] gltf::WriteError),
}
