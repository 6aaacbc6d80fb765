//! Files with several skins: each looked at as if it had been chosen.

use std::path::Path;

use eigenskin_core::progress::{Counted, Progress};
use eigenskin_gltf::{FileKind, GltfError, SkinSummary};
use eigenskin_io::ReadError;
use serde::Serialize;

use super::findings::kind_in_words;
use super::{Inspect, InspectError, InspectInputs, InspectOutcome};

/// What is in a file with several skins.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InspectSkinsOutcome {
    /// what it is
    #[serde(serialize_with = "kind_in_words")]
    pub kind: FileKind,
    /// in the file's order
    pub skins: Vec<SkinFound>,
}

/// One of several skins.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SkinFound {
    /// by which it is chosen
    pub name: String,
    /// names of the meshes it moves
    pub meshes: Vec<String>,
    /// its joints and vertices, as the file says
    #[serde(skip)]
    pub counts: [usize; 2],
    /// what is in it
    #[serde(flatten)]
    pub found: Option<InspectOutcome>,
    /// why it cannot be used
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl InspectSkinsOutcome {
    /// Looks at every skin of a file. One that cannot be used says why, and does not keep the others from
    /// being looked at.
    pub fn of(file: &Path, progress: &dyn Progress) -> Result<Self, InspectError> {
        let kind = eigenskin_io::file_kind(file)?;
        let skins = eigenskin_io::read_skins(file)?;
        let counted = Counted::new(progress, "looking at skins", skins.len());
        let look = |skin: SkinSummary| {
            counted.next()?;
            let inputs = InspectInputs {
                file: file.into(),
                skin: Some(skin.name.clone()),
                ..InspectInputs::default()
            };
            let found = Inspect::open(&inputs).map(|job| InspectOutcome::of(&job));
            let error = found.as_ref().err().map(ToString::to_string);
            let counts = [skin.joints.len(), skin.vertex_count];
            Ok(SkinFound { name: skin.name, meshes: skin.meshes, counts, found: found.ok(), error })
        };
        Ok(Self { kind, skins: skins.into_iter().map(look).collect::<Result<_, InspectError>>()? })
    }
}

impl InspectError {
    /// Whether the file has several skins, so that one must be chosen, or
    /// [`InspectSkinsOutcome::of`] looks at all of them.
    pub fn needs_skin(&self) -> bool {
        let Self::Read(ReadError::Gltf { error, .. }) = self else { return false };
        matches!(**error, GltfError::Ambiguous { what: "skin", .. })
    }
}
