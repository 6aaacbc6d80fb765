//! Style: what leads from one deformation of a character to another → a third deformation, of another
//! character with the same joints (Kim, Choi, Hoffmann 2011 §4).
//!
//! ```text
//! X1, X2 ─→ style ─→ Y1 with the style = Y2 ─→ example set, or a model fitted to it
//! ```

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use eigenskin_core::examples::{ExampleSet, ExamplesError};
use eigenskin_core::progress::{Cancelled, Progress};
use eigenskin_core::reference::GuessedReferences;
use eigenskin_fit::style::{
    Extrapolation, Found, MatchedBy, SpaceChoice, StyleError, StyleMap, StyleParams, StyleReport, Transferred,
};
use eigenskin_gltf::{RigFile, examples_glb};
use eigenskin_io::{ReadError, WriteError};
use serde::{Deserialize, Serialize, Serializer};

use super::fit::{Fit, FitJobError, FitOutcome, FitSettings};
use crate::frame_slice::{FrameSlice, FrameSliceError};
use crate::rig_source::{OpenedRig, RigSource, RigSourceError};

/// Where three example sets are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StyleInputs {
    /// X1, the deformation that the style leads away from
    pub from: PathBuf,
    /// X2, the deformation of the same character that it leads to
    pub to: PathBuf,
    /// Y1, the deformation that gets the style
    pub target: PathBuf,
    /// which poses of each; default all
    pub frames: Option<FrameSlice>,
}

/// How to transfer a style.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StyleSettings {
    /// how much of the style: from 0, none, to 1, all of it; default 1
    pub amount: f64,
    /// how the style is captured
    pub capture: StyleParams,
    /// how to fit a model to the result; default none: the examples alone
    pub fit: Option<FitSettings>,
}

impl Default for StyleSettings {
    fn default() -> Self {
        Self { amount: 1.0, capture: StyleParams::default(), fit: None }
    }
}

/// Three deformations.
///
/// ```no_run
/// use eigenskin::Unwatched;
/// use eigenskin::jobs::style::{Style, StyleInputs, StyleSettings};
///
/// let inputs = StyleInputs {
///     from: "x1.glb".into(),
///     to: "x2.glb".into(),
///     target: "y1.glb".into(),
///     frames: None,
/// };
/// Style::open(&inputs, StyleSettings::default())?.run(&Unwatched)?.write("y2.glb")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Style {
    /// X1
    pub from: OpenedSet,
    /// X2, of the same rig
    pub to: Arc<ExampleSet>,
    /// Y1
    pub target: OpenedSet,
    /// how to transfer the style
    pub settings: StyleSettings,
}

/// An example set with its file.
#[derive(Debug, Clone)]
pub struct OpenedSet {
    /// the rig's file
    pub file: RigFile,
    /// reference joints that were guessed, where the rig is flat
    pub guessed: Option<GuessedReferences>,
    /// the examples, of the file's rig
    pub set: Arc<ExampleSet>,
}

/// A deformation with a style. Serialises as what the command prints for machines.
#[derive(Debug)]
pub struct StyleOutcome {
    /// how the style was captured
    pub report: StyleReport,
    /// Y2, and how much of Y1 followed
    pub transferred: Transferred,
    /// how much of the style
    pub amount: f64,
    /// a model fitted to Y2, where one was asked for
    pub model: Option<FitOutcome>,
    file: RigFile,
}

/// What deserves attention.
#[derive(Debug, Clone, PartialEq)]
pub enum StyleWarning {
    /// a joint turns further than any example of the style shows
    Extrapolated(Extrapolation),
    /// a joint of the target moves that the character of the style does not have
    MovesAlone {
        /// its name
        joint: String,
    },
    /// the signals of X1 do not reproduce the style
    LittleCarried {
        /// share of the style that they reproduce
        carried: f64,
    },
    /// the target does not follow the signals of X1
    LittleShared {
        /// share of its displacements that do
        shared: f64,
    },
}

/// Why a style cannot be transferred.
#[derive(Debug, thiserror::Error)]
pub enum StyleJobError {
    /// A file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A rig cannot be used.
    #[error("{}: {error}", path.display())]
    Rig {
        /// the file
        path: PathBuf,
        /// what is wrong
        error: RigSourceError,
    },
    /// The examples are of another rig.
    #[error("{}: {error}", path.display())]
    OtherRig {
        /// the file
        path: PathBuf,
        /// what differs
        error: ExamplesError,
    },
    /// The poses chosen do not exist.
    #[error("{}: {error}", path.display())]
    Frames {
        /// the file
        path: PathBuf,
        /// what is wrong
        error: FrameSliceError,
    },
    /// A share that is none.
    #[error("the amount of the style must be from 0 (nothing) to 1 (all of it), not {amount}")]
    Amount {
        /// what was given
        amount: f64,
    },
    /// The target cannot take the style.
    #[error(transparent)]
    Style(StyleError),
    /// No model can be fitted to the result.
    #[error(transparent)]
    Fit(Box<FitJobError>),
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Stopped from outside.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl From<FitJobError> for StyleJobError {
    fn from(error: FitJobError) -> Self {
        match error {
            FitJobError::Cancelled(cancelled) => Self::Cancelled(cancelled),
            error => Self::Fit(Box::new(error)),
        }
    }
}

impl From<StyleError> for StyleJobError {
    fn from(error: StyleError) -> Self {
        match error {
            StyleError::Cancelled(cancelled) => Self::Cancelled(cancelled),
            error => Self::Style(error),
        }
    }
}

impl Style {
    /// Reads all three.
    pub fn open(inputs: &StyleInputs, settings: StyleSettings) -> Result<Self, StyleJobError> {
        let from = OpenedSet::open(&inputs.from, inputs.frames)?;
        let to = eigenskin_io::read_examples(&inputs.to, &RigSource::new(&inputs.to).read_options())?.1;
        let to = settled(to, &from.file, &inputs.to, inputs.frames)?;
        let target = OpenedSet::open(&inputs.target, inputs.frames)?;
        Ok(Self { from, to, target, settings })
    }

    /// Captures the style, transfers it, and fits a model where one is asked for.
    pub fn run(&self, progress: &dyn Progress) -> Result<StyleOutcome, StyleJobError> {
        let StyleSettings { amount, capture, fit } = &self.settings;
        if !(0.0..=1.0).contains(amount) {
            return Err(StyleJobError::Amount { amount: *amount });
        }
        let target = &self.target.set;
        let map = StyleMap::capture(&self.from.set, &self.to, target, capture, progress)?;
        let transferred = map.transfer(target, *amount, progress)?;
        let file = self.target.file.clone();
        let model = match fit {
            Some(settings) => {
                let set = Arc::new(transferred.set.clone());
                Some(Fit::new(file.clone(), set, settings.clone())?.run(progress)?)
            }
            None => None,
        };
        Ok(StyleOutcome { report: map.report, transferred, amount: *amount, model, file })
    }
}

impl OpenedSet {
    /// Reads a set, with settled reference joints, and the poses asked for.
    pub fn open(path: impl AsRef<Path>, frames: Option<FrameSlice>) -> Result<Self, StyleJobError> {
        let path = path.as_ref();
        let source = RigSource::new(path);
        let (file, set) = eigenskin_io::read_examples(path, &source.read_options())?;
        let OpenedRig { file, guessed } =
            source.settle(file, None).map_err(|error| StyleJobError::Rig { path: path.into(), error })?;
        let set = settled(set, &file, path, frames)?;
        Ok(Self { file, guessed, set })
    }
}

fn settled(
    set: ExampleSet,
    file: &RigFile,
    path: &Path,
    frames: Option<FrameSlice>,
) -> Result<Arc<ExampleSet>, StyleJobError> {
    let set =
        set.for_rig(file.rig()).map_err(|error| StyleJobError::OtherRig { path: path.into(), error })?;
    let chosen = match frames {
        Some(frames) => {
            frames.select(&set).map_err(|error| StyleJobError::Frames { path: path.into(), error })?
        }
        None => set,
    };
    Ok(Arc::new(chosen))
}

/// Below this share, a style or a target is called mostly foreign to the signals.
const LITTLE: f64 = 0.5;

impl StyleOutcome {
    /// Y2.
    pub fn set(&self) -> &ExampleSet {
        &self.transferred.set
    }

    /// Names of the poses that X1 or X2 had to be interpolated in.
    pub fn interpolated(&self) -> Vec<&str> {
        let poses = self.set().examples().iter().zip(&self.report.found);
        poses
            .filter(|(_, found)| found.contains(&Found::Interpolated))
            .map(|(example, _)| example.name.as_str())
            .collect()
    }

    /// What deserves attention. Warnings of the model are its own.
    pub fn warnings(&self) -> Vec<StyleWarning> {
        let StyleReport { extrapolations, moving_alone, carried, .. } = &self.report;
        let mut warnings: Vec<StyleWarning> =
            extrapolations.iter().cloned().map(StyleWarning::Extrapolated).collect();
        warnings.extend(moving_alone.iter().cloned().map(|joint| StyleWarning::MovesAlone { joint }));
        if *carried < LITTLE {
            warnings.push(StyleWarning::LittleCarried { carried: *carried });
        }
        if self.transferred.shared < LITTLE {
            warnings.push(StyleWarning::LittleShared { shared: self.transferred.shared });
        }
        warnings
    }

    /// Writes the model where there is one, else the example set, as GLB; gives its size.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<usize, StyleJobError> {
        if let Some(model) = &self.model {
            model.write(path)?;
            return Ok(model.glb.len());
        }
        let glb = examples_glb(&self.file, self.set()).map_err(WriteError::from)?;
        eigenskin_io::write_glb(path, &glb)?;
        Ok(glb.len())
    }
}

impl fmt::Display for StyleWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: &f64| 100.0 * share;
        match self {
            Self::Extrapolated(Extrapolation { pose, joint, beyond }) => write!(
                f,
                "pose {pose:?}: joint {joint:?} turns {:.1}° beyond all examples of the style; its shape there is a guess",
                beyond.to_degrees()
            ),
            Self::MovesAlone { joint } => write!(
                f,
                "joint {joint:?} of the target moves, but the character that shows the style has none like it"
            ),
            Self::LittleCarried { carried } => write!(
                f,
                "the signals of X1 carry only {:.1} % of the style; more poses, or a map for each joint, may carry more",
                percent(carried)
            ),
            Self::LittleShared { shared } => write!(
                f,
                "only {:.1} % of the target's displacements follow the signals of X1; the rest stays without the style",
                percent(shared)
            ),
        }
    }
}

impl Serialize for StyleOutcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let report = &self.report;
        Figures {
            poses: self.set().len(),
            vertices: self.set().rig().vertex_count(),
            amount: self.amount,
            matched_joints: report.matched_joints,
            matched_by: match report.matched_by {
                MatchedBy::Map => "map",
                MatchedBy::Names => "names",
                MatchedBy::Order => "order",
            },
            moving_alone: &report.moving_alone,
            interpolated: self.interpolated(),
            extrapolated: report.extrapolations.iter().map(Extrapolated::of).collect(),
            space: &report.space,
            rank: report.rank,
            signals: report.signals,
            style_of_100: 100.0 * report.style_size,
            carried: report.carried,
            shared: self.transferred.shared,
            change_of_100: 100.0 * self.transferred.change,
            model: self.model.as_ref(),
        }
        .serialize(serializer)
    }
}

/// A deformation with a style for machines.
#[derive(Serialize)]
struct Figures<'a> {
    poses: usize,
    vertices: usize,
    amount: f64,
    matched_joints: usize,
    matched_by: &'static str,
    moving_alone: &'a [String],
    interpolated: Vec<&'a str>,
    extrapolated: Vec<Extrapolated<'a>>,
    space: &'a SpaceChoice,
    rank: usize,
    signals: usize,
    style_of_100: f64,
    carried: f64,
    shared: f64,
    change_of_100: f64,
    model: Option<&'a FitOutcome>,
}

/// A joint that turns beyond all examples.
#[derive(Serialize)]
struct Extrapolated<'a> {
    pose: &'a str,
    joint: &'a str,
    degrees: f64,
}

impl<'a> Extrapolated<'a> {
    fn of(Extrapolation { pose, joint, beyond }: &'a Extrapolation) -> Self {
        Self { pose, joint, degrees: beyond.to_degrees() }
    }
}
