//! Rigs as jobs take them: read from a file, with what it lacks made or guessed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use eigenskin_core::bone_distance::{BoneDistanceParams, weights_from_bone_distance};
use eigenskin_core::reference::{GuessedReferences, guess_references, is_flat};
use eigenskin_core::rig::Rig;
use eigenskin_core::skeleton::SkeletonError;
use eigenskin_gltf::{ReadOptions, RigFile};
use eigenskin_io::{ReadError, WriteError};

/// A rig file, and what to make of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RigSource {
    /// `.glb`, `.gltf` or `.npz`
    pub path: PathBuf,
    /// which skin, when the file has several
    pub skin: Option<String>,
    /// a TOML file that says what the joints of a flat rig turn against: `[parents]` with lines
    /// `"joint" = "parent"`
    pub parents: Option<PathBuf>,
}

/// A rig with the file it came from.
#[derive(Debug, Clone)]
pub struct OpenedRig {
    /// the file; its rig has the reference joints below
    pub file: RigFile,
    /// reference joints that were guessed, where the rig is flat and nobody says what its joints turn
    /// against
    pub guessed: Option<GuessedReferences>,
}

/// Why a rig cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RigSourceError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The file of reference joints cannot be read.
    #[error("{} could not be read: {error}", path.display())]
    Parents {
        /// the file
        path: PathBuf,
        /// what the system says
        error: std::io::Error,
    },
    /// The file of reference joints is something else.
    #[error(
        "{} is not of the form [parents] with lines \"joint\" = \"parent\": {problem}", path.display()
    )]
    NotParents {
        /// the file
        path: PathBuf,
        /// what is wrong
        problem: String,
    },
    /// The file of reference joints is of another rig.
    #[error("{} names joint {joint:?}, which the rig does not have", path.display())]
    UnknownJoint {
        /// the file
        path: PathBuf,
        /// the name given
        joint: String,
    },
    /// Reference joints in a circle.
    #[error("{}: {error}", path.display())]
    References {
        /// the file
        path: PathBuf,
        /// what is wrong
        error: SkeletonError,
    },
    /// Reference joints of the examples, or guessed ones, do not fit.
    #[error(transparent)]
    Skeleton(#[from] SkeletonError),
    /// The rig cannot stand in its file.
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl RigSource {
    /// A file, everything else as the file says.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), skin: None, parents: None }
    }

    /// How the file is read: skin weights that a numpy bundle lacks are made from bone distance.
    pub fn read_options(&self) -> ReadOptions {
        read_options(self.skin.as_deref())
    }

    /// Reads the rig. Reference joints are those of `parents`, else the file's own, else guessed for a
    /// flat rig.
    pub fn open(&self) -> Result<OpenedRig, RigSourceError> {
        let file = eigenskin_io::read_rig(&self.path, &self.read_options())?;
        self.settle(file, None)
    }

    /// The same, for a rig whose examples may know what its joints turn against.
    pub fn settle(&self, file: RigFile, examples: Option<&Rig>) -> Result<OpenedRig, RigSourceError> {
        let rig = match (&self.parents, examples) {
            (Some(path), _) => {
                let rig = Arc::new(with_parents(file.rig(), path)?);
                return Ok(OpenedRig { file: file.with_rig(rig).map_err(WriteError::from)?, guessed: None });
            }
            (None, Some(examples)) => with_references_of(file.rig(), examples)?,
            (None, None) => file.rig().clone(),
        };
        let guessed = guess_references(&rig);
        let rig = match &guessed {
            Some(guess) => Arc::new(rig.with_references(&guess.references)?),
            None => rig,
        };
        Ok(OpenedRig { file: file.with_rig(rig).map_err(WriteError::from)?, guessed })
    }
}

impl OpenedRig {
    /// The rig.
    pub fn rig(&self) -> &Arc<Rig> {
        self.file.rig()
    }
}

/// How rigs are read everywhere: skin weights that a numpy bundle lacks are made from bone distance.
pub fn read_options(skin: Option<&str>) -> ReadOptions {
    ReadOptions {
        skin: skin.map(str::to_string),
        missing_weights: Some(|mesh, skeleton| {
            weights_from_bone_distance(mesh, skeleton, &BoneDistanceParams::default())
                .map_err(|error| error.to_string())
        }),
        ..ReadOptions::default()
    }
}

/// Joint name → the joint its motion is measured against.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct ParentsFile {
    parents: BTreeMap<String, String>,
}

fn with_parents(rig: &Rig, path: &Path) -> Result<Rig, RigSourceError> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| RigSourceError::Parents { path: path.into(), error })?;
    let file: ParentsFile = toml::from_str(&text).map_err(|error| RigSourceError::NotParents {
        path: path.into(),
        problem: error.message().to_string(),
    })?;
    let find = |name: &String| {
        rig.skeleton()
            .joint_named(name)
            .ok_or_else(|| RigSourceError::UnknownJoint { path: path.into(), joint: name.clone() })
    };
    let mut references: Vec<Option<usize>> =
        rig.skeleton().joints().iter().map(|joint| joint.reference).collect();
    for (joint, parent) in &file.parents {
        references[find(joint)?] = if parent.is_empty() { None } else { Some(find(parent)?) };
    }
    // The root of the rig as read may now hang on another joint, which then refers to nothing.
    rig.with_references(&references).map_err(|error| RigSourceError::References { path: path.into(), error })
}

/// The rig with the reference joints that the example set carries, where it carries any: a set made from
/// a flat rig remembers what its joints refer to.
fn with_references_of(rig: &Arc<Rig>, examples: &Rig) -> Result<Arc<Rig>, SkeletonError> {
    if !is_flat(rig.skeleton()) || guess_references(rig).is_none() || guess_references(examples).is_some() {
        return Ok(rig.clone());
    }
    let joints = examples.skeleton().joints();
    let reference_of = |name: &str| {
        let joint = examples.skeleton().joint_named(name)?;
        rig.skeleton().joint_named(&joints[joints[joint].reference?].name)
    };
    let references: Vec<Option<usize>> =
        rig.skeleton().joints().iter().map(|joint| reference_of(&joint.name)).collect();
    Ok(Arc::new(rig.with_references(&references)?))
}
