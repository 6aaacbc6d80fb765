//! A sculpt in a pose, on its way to become an example.

use std::path::PathBuf;
use std::sync::Arc;

use eigenskin_core::examples::Example;
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::Progress;
use eigenskin_core::rig::Rig;
use eigenskin_gltf::{ExampleList, RigFile};
use eigenskin_io::{SculptedShape, read_sculpt};
use serde::{Deserialize, Serialize};

use super::EditExamplesError;
use crate::base::{BaseChoice, InvertedExamples, ReadBase};
use crate::pose_source::PoseSource;

/// Where a sculpt and its pose are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SculptSource {
    /// `.obj`, or a mesh without a skin in a `.glb`
    pub path: PathBuf,
    /// which mesh of the file, when it has several
    pub node: Option<String>,
    /// the unposed mesh from the same program, when its vertices are not the rig's in its order
    pub rest: Option<PathBuf>,
    /// name of the example; default: the file's
    pub name: Option<String>,
    /// the pose; an example that is replaced keeps its own without it
    pub pose: Option<PoseSource>,
    /// what the sculpt was made after; default: the skinning of a later fit
    pub base: Option<BaseChoice>,
}

/// A sculpt with its pose.
#[derive(Debug, Clone)]
pub struct Sculpt {
    /// name of the example
    pub name: String,
    /// how the joints stand
    pub pose: Pose,
    /// the shape, and what pulling it back through linear blending shows
    pub shape: SculptedShape,
    /// what it was made after
    pub base: Option<ReadBase>,
}

impl SculptSource {
    /// Reads the sculpt for the rig of `file`. `replaced` is the set in which it takes an example's place.
    pub(super) fn open(
        &self,
        file: &RigFile,
        replaced: Option<&ExampleList>,
    ) -> Result<Sculpt, EditExamplesError> {
        let from_file = || self.path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let name = self.name.clone().or_else(from_file);
        let name = name.ok_or_else(|| EditExamplesError::NoName { path: self.path.clone() })?;
        let own = match replaced {
            Some(list) => Some(&list.set.examples()[list.find(&name)?].pose),
            None => None,
        };
        let pose = match (&self.pose, own) {
            (Some(source), _) => source.read(file, &name)?,
            (None, Some(own)) => own.clone(),
            (None, None) => return Err(EditExamplesError::NoPose),
        };
        let shape = read_sculpt(file, &pose, &self.path, self.node.as_deref(), self.rest.as_deref())?;
        let base = self.base.as_ref().map(BaseChoice::read).transpose()?;
        Ok(Sculpt { name, pose, shape, base })
    }
}

impl Sculpt {
    /// Whether it was made after more than a skinning: what linear blending shows of it is of no interest
    /// then.
    pub fn is_after_deformers(&self) -> bool {
        self.base.as_ref().is_some_and(|base| base.base.skinning().is_none())
    }

    /// The sculpt as an example, pulled back through its base, and how that went.
    pub(super) fn example(
        &self,
        rig: &Arc<Rig>,
        progress: &dyn Progress,
    ) -> Result<(Example, Option<InvertedExamples>), EditExamplesError> {
        let mut example = Example {
            name: self.name.clone(),
            pose: self.pose.clone(),
            positions: self.shape.positions.clone(),
            normals: None,
            inverted: None,
        };
        let inversion = match &self.base {
            Some(base) => base.open(rig)?.invert_one(rig, &mut example, progress)?,
            None => None,
        };
        Ok((example, inversion))
    }
}
