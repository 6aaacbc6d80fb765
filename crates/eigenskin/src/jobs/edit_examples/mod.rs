//! Edits an example set: one operation ([`Edit`]) on one [`ExampleList`].

mod error;
mod listing;
mod mirror;
mod outcome;
mod sculpt;

use std::path::Path;

use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::progress::Progress;
use eigenskin_core::reference::GuessedReferences;
use eigenskin_gltf::{ExampleList, FileKind, RigFile};
use eigenskin_io::read_example_list;
use serde::{Deserialize, Serialize};

use crate::base::InvertedExamples;
use crate::rig_source::RigSource;

pub use error::EditExamplesError;
pub use listing::{ExampleListing, ListedExample, Moved};
pub use mirror::{MirrorReport, MirrorSettings, SkipReason, SkippedExample};
pub use outcome::{EditDone, EditOutcome};
pub use sculpt::{Sculpt, SculptSource};

/// What is done to a set. `S` is a sculpt: where it is ([`SculptSource`], which serialises), or the shape
/// itself ([`Sculpt`]).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Edit<S> {
    /// adds a sculpt in a pose, at the end; the set may begin with it
    Add(S),
    /// puts a sculpt in the place of the example of its name
    Replace(S),
    /// gives an example another name
    Rename {
        /// the example
        from: String,
        /// its new name, which must be free
        to: String,
    },
    /// takes examples out
    Delete {
        /// the examples
        names: Vec<String>,
    },
    /// keeps examples in the file, but learns nothing from them
    Mute {
        /// the examples
        names: Vec<String>,
    },
    /// learns from muted examples again
    Unmute {
        /// the examples
        names: Vec<String>,
    },
    /// adds the same examples for the other side
    Mirror(MirrorSettings),
}

/// An example set, and what is done to it.
///
/// ```no_run
/// use eigenskin::Unwatched;
/// use eigenskin::jobs::edit_examples::{Edit, EditExamples};
/// use eigenskin::rig_source::RigSource;
///
/// let edit = Edit::Mute { names: vec!["fist".into()] };
/// let (job, _) = EditExamples::open(&RigSource::new("poses.glb"), &edit)?;
/// job.run(&Unwatched)?.write("poses.glb", &job.file)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct EditExamples {
    /// the rig, in the file that the set is written into
    pub file: RigFile,
    /// the examples; `None` where a set begins from a plain rig
    pub list: Option<ExampleList>,
    /// what is done
    pub edit: Edit<Sculpt>,
}

impl EditExamples {
    /// Reads the set, or the rig that one begins from, and the sculpt; reference joints that had to be
    /// guessed for a flat rig come beside it.
    pub fn open(
        source: &RigSource,
        edit: &Edit<SculptSource>,
    ) -> Result<(Self, Option<GuessedReferences>), EditExamplesError> {
        let begins = matches!(edit, Edit::Add(_)) && eigenskin_io::file_kind(&source.path)? == FileKind::Rig;
        let (file, list, guessed) = if begins {
            let opened = source.open()?;
            (opened.file, None, opened.guessed)
        } else {
            let (file, list) = read_list(source)?;
            (file, Some(list), None)
        };
        let edit = match edit {
            Edit::Add(source) => Edit::Add(source.open(&file, None)?),
            Edit::Replace(source) => Edit::Replace(source.open(&file, list.as_ref())?),
            Edit::Rename { from, to } => Edit::Rename { from: from.clone(), to: to.clone() },
            Edit::Delete { names } => Edit::Delete { names: names.clone() },
            Edit::Mute { names } => Edit::Mute { names: names.clone() },
            Edit::Unmute { names } => Edit::Unmute { names: names.clone() },
            Edit::Mirror(settings) => Edit::Mirror(settings.clone()),
        };
        Ok((Self { file, list, edit }, guessed))
    }

    /// The sculpt, where one is added or put in another's place.
    pub fn sculpt(&self) -> Option<&Sculpt> {
        match &self.edit {
            Edit::Add(sculpt) | Edit::Replace(sculpt) => Some(sculpt),
            _ => None,
        }
    }

    /// Where the result of editing the file at `input` goes: to `output`, else into the same file, which
    /// must be an example set and a GLB.
    pub fn target<'a>(
        &self,
        input: &'a Path,
        output: Option<&'a Path>,
    ) -> Result<&'a Path, EditExamplesError> {
        let is_glb = input.extension().is_some_and(|e| e.eq_ignore_ascii_case("glb"));
        match (output, &self.list) {
            (Some(output), _) => Ok(output),
            (None, None) => Err(EditExamplesError::BeginsNowhere { path: input.into() }),
            (None, Some(_)) if is_glb => Ok(input),
            (None, Some(_)) => Err(EditExamplesError::NotInPlace { path: input.into() }),
        }
    }

    /// Edits a copy of the set.
    pub fn run(&self, progress: &dyn Progress) -> Result<EditOutcome, EditExamplesError> {
        progress.doing("editing examples")?;
        let (list, done, inversion) = match (&self.edit, self.list.clone()) {
            (Edit::Add(sculpt), list) => {
                let (example, inversion) = sculpt.example(self.file.rig(), progress)?;
                let done = EditDone::Added { name: sculpt.name.clone() };
                (self.added(list, example)?, done, inversion)
            }
            (_, None) => return Err(EditExamplesError::NoExamples),
            (Edit::Replace(sculpt), Some(mut list)) => {
                let (example, inversion) = sculpt.example(self.file.rig(), progress)?;
                list.replace(&sculpt.name, example)?;
                (list, EditDone::Replaced { name: sculpt.name.clone() }, inversion)
            }
            (Edit::Rename { from, to }, Some(mut list)) => {
                list.rename(from, to)?;
                (list, EditDone::Renamed { from: from.clone(), to: to.clone() }, None)
            }
            (Edit::Delete { names }, Some(mut list)) => {
                list.delete(names)?;
                (list, EditDone::Deleted { names: names.clone() }, None)
            }
            (Edit::Mute { names }, Some(mut list)) => {
                list.set_muted(names, true)?;
                (list, EditDone::Muted { names: names.clone() }, None)
            }
            (Edit::Unmute { names }, Some(mut list)) => {
                list.set_muted(names, false)?;
                (list, EditDone::Unmuted { names: names.clone() }, None)
            }
            (Edit::Mirror(settings), Some(mut list)) => {
                let report = mirror::mirror(&mut list, settings, progress)?;
                let done = EditDone::mirrored(&report);
                return Ok(EditOutcome { mirror: Some(report), ..outcome(list, done, None) });
            }
        };
        Ok(outcome(list, done, inversion))
    }

    fn added(&self, list: Option<ExampleList>, example: Example) -> Result<ExampleList, EditExamplesError> {
        if let Some(mut list) = list {
            list.add(example)?;
            return Ok(list);
        }
        let set = ExampleSet::new(self.file.rig().clone(), vec![example.clone()])?;
        let list = ExampleList::new(set);
        list.check_news(&example)?;
        Ok(list)
    }
}

fn outcome(list: ExampleList, done: EditDone, inversion: Option<InvertedExamples>) -> EditOutcome {
    EditOutcome { list, done, inversion, mirror: None }
}

/// Reads an example set as it is edited, muted examples too.
pub fn read_list(source: &RigSource) -> Result<(RigFile, ExampleList), EditExamplesError> {
    let path = &source.path;
    match eigenskin_io::file_kind(path)? {
        FileKind::Examples => Ok(read_example_list(path, &source.read_options())?),
        FileKind::Rig => Err(EditExamplesError::PlainRig { path: path.clone() }),
        FileKind::Model => Err(EditExamplesError::IsModel { path: path.clone() }),
    }
}
