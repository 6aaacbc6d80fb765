//! Pulls examples back through a base, so that a fit needs neither its programs nor the time again; and
//! says before that where poses can be pulled back ([`Invertibility`]).

mod invertibility;

use std::path::Path;

use eigenskin_core::examples::ExampleSet;
use eigenskin_core::progress::{Cancelled, Progress};
use eigenskin_gltf::{ExampleList, RigFile};
use eigenskin_io::{ReadError, WriteError, read_example_list, write_example_list};
use serde::Serialize;

use crate::base::{BaseChoice, BaseError, InvertedExamples, ReadBase};
use crate::rig_source::read_options;

pub use invertibility::{Invertibility, InvertibilityMap, invertibility_picture};

/// Pulls the examples of a set back through a base.
///
/// ```no_run
/// use eigenskin::Unwatched;
/// use eigenskin::base::BaseChoice;
/// use eigenskin::jobs::invert::Invert;
///
/// let base = BaseChoice::File("deformers.toml".into());
/// let (job, file) = Invert::open("sculpts.glb", &base)?;
/// job.run(&Unwatched)?.write("poses.glb", &file)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Invert {
    /// the examples; muted ones too, since they may be learnt from again
    pub list: ExampleList,
    /// what they were made after
    pub base: ReadBase,
}

/// Examples that were pulled back.
#[derive(Debug, Clone, Serialize)]
pub struct InvertOutcome {
    /// the examples, each with what was found
    #[serde(skip)]
    pub list: ExampleList,
    /// how that went; `None` where there was nothing to do: skinnings are inverted when they are needed
    pub inversion: Option<InvertedExamples>,
}

/// Why examples cannot be pulled back.
#[derive(Debug, thiserror::Error)]
pub enum InvertError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Something about the base.
    #[error(transparent)]
    Base(BaseError),
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Stopped from outside.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl From<BaseError> for InvertError {
    fn from(error: BaseError) -> Self {
        match error {
            BaseError::Cancelled(cancelled) => Self::Cancelled(cancelled),
            other => Self::Base(other),
        }
    }
}

impl Invert {
    /// Reads an example set and a base; also gives back the file to write into.
    pub fn open(path: impl AsRef<Path>, base: &BaseChoice) -> Result<(Self, RigFile), InvertError> {
        let path = path.as_ref();
        let (file, list) = read_example_list(path, &read_options(None))?;
        Ok((Self { list, base: base.read()? }, file))
    }

    /// Pulls back what was not pulled back through this base.
    pub fn run(&self, progress: &dyn Progress) -> Result<InvertOutcome, InvertError> {
        progress.doing("pulling back examples")?;
        let set: &ExampleSet = &self.list.set;
        let found = self.base.open(set.rig())?.invert(set, progress)?;
        Ok(match found {
            Some((set, inversion)) => {
                InvertOutcome { list: ExampleList { set, ..self.list.clone() }, inversion: Some(inversion) }
            }
            None => InvertOutcome { list: self.list.clone(), inversion: None },
        })
    }
}

impl InvertOutcome {
    /// Writes the set as GLB into the file that it came from.
    pub fn write(&self, path: impl AsRef<Path>, file: &RigFile) -> Result<(), InvertError> {
        let path = path.as_ref();
        Ok(write_example_list(path, file, &self.list)?)
    }
}
