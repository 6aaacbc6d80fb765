//! Numpy bundles: a rig and, if they are there, examples.
//!
//! ```text
//! rest [v,3]   faces [f,3|4]   weights [v,j]   names [j]   parents [j], -1 for a root
//! bind [j,4,4]: the joint's *world* matrix at rest
//! joint_world [p,j,4,4]   truth [p,v,3]
//! optional: pose_names [p]   controls [p,c]   control_names [c]   normals [p,v,3]
//! ```
//! Matrices are row, column on column vectors. Without `names`, `parents` and `bind` the bundle is
//! a rig without joints.

pub(crate) mod archive;
pub(crate) mod array;
mod bundle;
pub(crate) mod header;

pub use bundle::{Bundle, has_examples};

use eigenskin_core::examples::ExamplesError;
use eigenskin_core::mesh::MeshError;
use eigenskin_core::rig::RigError;
use eigenskin_core::skeleton::SkeletonError;
use eigenskin_core::weights::WeightsError;

/// What can be wrong with a numpy bundle.
#[derive(Debug, thiserror::Error)]
pub enum NpzError {
    /// The file is no archive, or a damaged one.
    #[error("not a readable npz archive: {problem}")]
    Archive {
        /// what is wrong
        problem: String,
    },
    /// An array that cannot be read.
    #[error("array {key:?} {problem}")]
    Array {
        /// its key
        key: String,
        /// what is wrong
        problem: String,
    },
    /// Arrays that must be there.
    #[error("the bundle has no {}; add the missing arrays", keys.join(", "))]
    MissingKeys {
        /// their keys
        keys: Vec<String>,
    },
    /// More data than a file of its size may hold.
    #[error(
        "array {key:?} would take more than the {limit} bytes of memory left for it; save fewer poses in one file"
    )]
    TooLarge {
        /// its key
        key: String,
        /// what is left
        limit: u64,
    },
    /// A face with a corner that does not exist.
    #[error(
        "face {face} uses vertex {vertex}, but there are only {vertices} vertices; save the faces of this mesh"
    )]
    Face {
        /// the face at fault
        face: usize,
        /// the vertex it names
        vertex: i64,
        /// how many there are
        vertices: usize,
    },
    /// A parent that does not exist.
    #[error("joint {joint} has the parent {parent}, but there are only {joints} joints; use -1 for a root")]
    Parent {
        /// the joint at fault
        joint: usize,
        /// the parent it names
        parent: i64,
        /// how many there are
        joints: usize,
    },
    /// Weights could not be made.
    #[error("no weights could be made: {problem}")]
    MadeWeights {
        /// what is wrong
        problem: String,
    },
    /// The rig cannot be shown as glTF.
    #[error("the rig cannot be expressed as glTF: {problem}")]
    NoGltf {
        /// what is wrong
        problem: String,
    },
    /// Something about the rest shape.
    #[error(transparent)]
    Mesh(#[from] MeshError),
    /// Something about the joints.
    #[error(transparent)]
    Skeleton(#[from] SkeletonError),
    /// Something about the skin weights.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// Something about the rig.
    #[error(transparent)]
    Rig(#[from] RigError),
    /// Something about the examples.
    #[error(transparent)]
    Examples(#[from] ExamplesError),
}
