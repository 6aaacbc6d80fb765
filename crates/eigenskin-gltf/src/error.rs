//! What can be wrong with glTF content.

use eigenskin_core::examples::ExamplesError;
use eigenskin_core::mesh::MeshError;
use eigenskin_core::model::ModelError;
use eigenskin_core::rig::RigError;
use eigenskin_core::skeleton::SkeletonError;
use eigenskin_core::weights::WeightsError;

use crate::read::FileKind;

/// What can be wrong with glTF content.
#[derive(Debug, thiserror::Error)]
pub enum GltfError {
    /// The file is no GLB, or a damaged one.
    #[error("not a readable GLB: {problem}; export the file again")]
    Container {
        /// what is wrong
        problem: String,
    },
    /// The JSON part is no JSON.
    #[error("the JSON part cannot be read: {error}; export the file again")]
    Json {
        /// what the parser says
        error: serde_json::Error,
    },
    /// Another glTF version.
    #[error("glTF version {version:?} is not supported; export as glTF 2.0")]
    Version {
        /// the version the file names
        version: String,
    },
    /// Extensions without which the geometry cannot be understood.
    #[error("the file requires {}, which eigenskin does not support; export without{}", names.join(", "), how_to_decode(names))]
    RequiredExtensions {
        /// their names
        names: Vec<String>,
    },
    /// A JSON member that is missing or of the wrong kind.
    #[error("{place} is not {expected}; export the file again")]
    Field {
        /// such as `accessors[3].count`
        place: String,
        /// what belongs there
        expected: &'static str,
    },
    /// An index that names nothing.
    #[error("{place} is {index}, but there are only {count}; export the file again")]
    Index {
        /// such as `accessors[3].bufferView`
        place: String,
        /// the index given
        index: u64,
        /// how many there are
        count: usize,
    },
    /// Binary data that is missing or too short.
    #[error("buffer {buffer}: {problem}")]
    Buffer {
        /// index of the buffer
        buffer: usize,
        /// what is wrong
        problem: String,
    },
    /// An accessor that cannot be read.
    #[error("accessor {accessor} {problem}; export the file again")]
    Accessor {
        /// index of the accessor
        accessor: usize,
        /// what is wrong
        problem: String,
    },
    /// A node hierarchy that is no forest.
    #[error("node {node} {problem}; export the file again")]
    Node {
        /// index of the node
        node: usize,
        /// what is wrong
        problem: &'static str,
    },
    /// Nothing to deform.
    #[error("the file has no mesh with triangles")]
    NoMesh,
    /// A choice that only the user can make.
    #[error("the file has several {what}s: {}; choose one by name", names.join(", "))]
    Ambiguous {
        /// "skin" or "mesh"
        what: &'static str,
        /// what there is
        names: Vec<String>,
    },
    /// A choice that does not exist.
    #[error("there is no {what} {name:?} with a mesh; there are: {}", names.join(", "))]
    NoSuchChoice {
        /// "skin" or "mesh"
        what: &'static str,
        /// what was asked for
        name: String,
        /// what there is
        names: Vec<String>,
    },
    /// A primitive that cannot be used.
    #[error("mesh {mesh}, primitive {primitive}: {problem}")]
    Primitive {
        /// index of the mesh
        mesh: usize,
        /// index of the primitive
        primitive: usize,
        /// what is wrong
        problem: String,
    },
    /// An animation that cannot be used.
    #[error("clip {clip:?}, channel {channel}: {problem}; export the file again")]
    Clip {
        /// its name
        clip: String,
        /// index of the channel
        channel: usize,
        /// what is wrong
        problem: &'static str,
    },
    /// The transform from mesh to scene has no inverse.
    #[error(
        "the default transform of {name:?} has no inverse or is not finite; give it a scale that is not zero"
    )]
    FlatRoot {
        /// the root joint or mesh node
        name: String,
    },
    /// The eigenskin table of a newer program.
    #[error("the file was written by a newer eigenskin (table version {version}); update eigenskin")]
    TableVersion {
        /// the version found
        version: String,
    },
    /// Nothing to learn from.
    #[error("all {count} examples are muted; unmute some with eigenskin examples unmute")]
    AllMuted {
        /// how many there are
        count: usize,
    },
    /// The eigenskin table is damaged.
    #[error("the eigenskin table is not readable: {problem}")]
    Table {
        /// what is wrong
        problem: String,
    },
    /// Another kind of file was expected.
    #[error("the file is {found}, not {expected}; {fix}")]
    OtherKind {
        /// what it is
        found: &'static str,
        /// what was asked for
        expected: &'static str,
        /// how to get one
        fix: &'static str,
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
    /// Something about the model.
    #[error(transparent)]
    Model(#[from] ModelError),
}

impl GltfError {
    /// The error of a file that is something else.
    pub fn other_kind(found: FileKind, expected: FileKind) -> Self {
        let fix = match expected {
            FileKind::Rig => "give a rigged character",
            FileKind::Examples => "give a GLB example set, or a numpy bundle with truth",
            FileKind::Model => "make one with eigenskin fit",
        };
        Self::OtherKind { found: found.description(), expected: expected.description(), fix }
    }

    pub(crate) fn field(place: impl Into<String>, expected: &'static str) -> Self {
        Self::Field { place: place.into(), expected }
    }

    pub(crate) fn table(problem: impl Into<String>) -> Self {
        Self::Table { problem: problem.into() }
    }
}

/// What helps against an extension that a build can have.
fn how_to_decode(names: &[String]) -> &'static str {
    let is_compressed = names.iter().any(|name| name == crate::document::MESHOPT);
    if is_compressed { ", or build eigenskin with the feature meshopt" } else { "" }
}
