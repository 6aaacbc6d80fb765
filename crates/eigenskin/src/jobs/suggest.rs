//! Suggests the poses where one more example would help most.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use eigenskin_core::articulation::{Articulation, NamedPose};
use eigenskin_core::examples::{ExampleSet, ExamplesError};
use eigenskin_core::progress::{Cancelled, Progress};
use eigenskin_core::reference::GuessedReferences;
use eigenskin_core::rig::Rig;
pub use eigenskin_fit::suggest::SuggestParams;
use eigenskin_fit::suggest::{self, Suggestion, suggest_poses};
use eigenskin_gltf::{FileKind, RigFile};
use eigenskin_io::pose_file::{read_poses, write_poses};
use eigenskin_io::{ReadError, WriteError};
use eigenskin_sim::ranges::{GivenRanges, RangeError, Ranges, ranges};
use serde::Serialize;

use crate::pose_source::{PoseSourceError, clip_named};
use crate::rig_source::{RigSource, RigSourceError};

/// Poses to choose from, and what is known.
///
/// ```no_run
/// use eigenskin::Unwatched;
/// use eigenskin::jobs::suggest::{Suggest, SuggestInputs};
/// use eigenskin::rig_source::RigSource;
/// use eigenskin::suggest::SuggestParams;
///
/// let inputs = SuggestInputs { rig: RigSource::new("poses.glb"), ..SuggestInputs::default() };
/// let opened = Suggest::open(&inputs, SuggestParams::default())?;
/// opened.job.run(&Unwatched)?.write_poses("next.json", &opened.job.rig)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Suggest {
    /// the character
    pub rig: Arc<Rig>,
    /// the existing examples; their shapes are looked at
    pub examples: Option<Arc<ExampleSet>>,
    /// poses to choose from
    pub candidates: Vec<NamedPose>,
    /// how to choose
    pub settings: SuggestParams,
}

/// What to open.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SuggestInputs {
    /// an example set, a model or a rig
    pub rig: RigSource,
    /// the existing examples; default: those of the first file, where it is a set
    pub examples: Option<PathBuf>,
    /// where the poses to choose from come from
    pub candidates: CandidateSource,
}

/// Where the poses to choose from come from.
#[derive(Debug, Clone, PartialEq)]
pub enum CandidateSource {
    /// what the joints can do; ranges that are not given are found from names
    Ranges(GivenRanges),
    /// the keys of a clip of the first file
    Clip(String),
    /// the poses of a JSON file, or of an example set, whose shapes are not looked at
    File(PathBuf),
}

/// A job with the file it came from, and what was found on the way.
#[derive(Debug, Clone)]
pub struct OpenedSuggest {
    /// the job
    pub job: Suggest,
    /// the rig's file, to write the poses into
    pub file: RigFile,
    /// reference joints that had to be guessed for a flat rig
    pub guessed: Option<GuessedReferences>,
    /// what the joints can do, where the poses were made from that
    pub ranges: Option<Ranges>,
    /// keys of the clip, and that one in so many is looked at, where that is more than one
    pub thinned: Option<(usize, usize)>,
}

/// Poses worth an example, best first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SuggestOutcome {
    /// best first, each as if the ones before it had been made; empty where no useful pose is left
    pub suggestions: Vec<SuggestedPose>,
    /// poses there were to choose from
    #[serde(skip)]
    pub candidates: usize,
    /// share of the uncertainty that is left after all of them
    #[serde(skip)]
    pub left: f64,
}

/// A pose worth an example.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SuggestedPose {
    /// what an example there is good for
    #[serde(flatten)]
    pub suggestion: Suggestion,
    /// the pose
    #[serde(skip)]
    pub pose: NamedPose,
}

/// Why nothing can be suggested.
#[derive(Debug, thiserror::Error)]
pub enum SuggestError {
    /// Suggesting nothing.
    #[error("nothing is to be suggested; ask for at least 1 pose")]
    NoCount,
    /// A file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The rig cannot be used.
    #[error(transparent)]
    Rig(#[from] RigSourceError),
    /// Examples or candidates of another rig.
    #[error("{}: {error}", path.display())]
    OtherRig {
        /// the file
        path: PathBuf,
        /// what differs
        error: ExamplesError,
    },
    /// There is no such clip, or the file has no such poses.
    #[error(transparent)]
    Pose(#[from] PoseSourceError),
    /// Ranges that make no sense.
    #[error("{}: {error}", path.display())]
    Ranges {
        /// the rig
        path: PathBuf,
        /// what is wrong
        error: RangeError,
    },
    /// The candidates make no sense.
    #[error(transparent)]
    Suggest(suggest::SuggestError),
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Stopped from outside.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// Poses per degree of freedom to choose among, and poses of two joints.
const PER_DEGREE: usize = 4;
const COUPLED: usize = 60;
/// Keys of a long clip that are looked at.
const MOST_KEYS: usize = 1000;
/// The clip that is written.
const CLIP: &str = "suggested";

impl From<suggest::SuggestError> for SuggestError {
    fn from(error: suggest::SuggestError) -> Self {
        match error {
            suggest::SuggestError::Cancelled(cancelled) => Self::Cancelled(cancelled),
            error => Self::Suggest(error),
        }
    }
}

impl Default for CandidateSource {
    fn default() -> Self {
        Self::Ranges(GivenRanges::new())
    }
}

impl Suggest {
    /// Reads the rig, the existing examples and the poses to choose from.
    pub fn open(inputs: &SuggestInputs, settings: SuggestParams) -> Result<OpenedSuggest, SuggestError> {
        let options = inputs.rig.read_options();
        let path = &inputs.rig.path;
        let (file, own) = match eigenskin_io::file_kind(path)? {
            FileKind::Examples => {
                let (file, set) = eigenskin_io::read_examples(path, &options)?;
                (file, Some(set))
            }
            FileKind::Rig => (eigenskin_io::read_rig(path, &options)?, None),
            FileKind::Model => (eigenskin_io::read_model(path)?.0, None),
        };
        let set = match &inputs.examples {
            Some(path) => Some((eigenskin_io::read_examples(path, &options)?.1, path)),
            None => own.map(|set| (set, path)),
        };
        let opened = inputs.rig.settle(file, set.as_ref().map(|(set, _)| set.rig().as_ref()))?;
        let rig = opened.rig().clone();
        let examples = match set {
            Some((set, path)) => Some(Arc::new(for_rig(set, &rig, path)?)),
            None => None,
        };
        let (candidates, ranges, thinned) = inputs.candidates.read(&opened.file, path)?;
        let job = Self { rig, examples, candidates, settings };
        Ok(OpenedSuggest { job, file: opened.file, guessed: opened.guessed, ranges, thinned })
    }

    /// Chooses.
    pub fn run(&self, progress: &dyn Progress) -> Result<SuggestOutcome, SuggestError> {
        if self.settings.count == 0 {
            return Err(SuggestError::NoCount);
        }
        let examples = self.examples.as_deref();
        let found = suggest_poses(&self.rig, examples, &self.candidates, &self.settings, progress)?;
        let taken: f64 = found.iter().map(|suggestion| suggestion.gain).sum();
        let with_pose = |suggestion: Suggestion| SuggestedPose {
            pose: self.candidates[suggestion.candidate].clone(),
            suggestion,
        };
        Ok(SuggestOutcome {
            suggestions: found.into_iter().map(with_pose).collect(),
            candidates: self.candidates.len(),
            left: (1.0 - taken).max(0.0),
        })
    }
}

impl CandidateSource {
    /// The poses, with the ranges they were made from and how a long clip was thinned.
    fn read(&self, file: &RigFile, path: &Path) -> Result<ReadCandidates, SuggestError> {
        match self {
            Self::Ranges(given) => {
                let wrong = |error| SuggestError::Ranges { path: path.into(), error };
                let found = ranges(file.rig(), given, 1.0).map_err(wrong)?;
                Ok((poses_in(file.rig(), &found), Some(found), None))
            }
            Self::Clip(name) => {
                let (poses, thinned) = keys_of(file, name)?;
                Ok((poses, None, thinned))
            }
            Self::File(path) => Ok((poses_of_file(path, file.rig())?, None, None)),
        }
    }
}

type ReadCandidates = (Vec<NamedPose>, Option<Ranges>, Option<(usize, usize)>);

/// Single joints, their corners, and pairs of joints.
fn poses_in(rig: &Rig, ranges: &Ranges) -> Vec<NamedPose> {
    let articulation = Articulation { rig, degrees: &ranges.degrees };
    let mut angles = articulation.sweeps(PER_DEGREE, 0.0);
    angles.extend(articulation.corners(&[1.0, 0.5]));
    angles.extend(articulation.couplings(COUPLED));
    articulation.poses(&angles)
}

/// Keys, and how many of how many they are where some were left out.
type ChosenKeys = (Vec<NamedPose>, Option<(usize, usize)>);

/// Keys of a clip by the names that sculpts of them have; evenly chosen ones of a long clip.
fn keys_of(file: &RigFile, name: &str) -> Result<ChosenKeys, SuggestError> {
    let clip = clip_named(file, name)?;
    let times = clip.key_times(file.layout());
    let step = times.len().div_ceil(MOST_KEYS).max(1);
    let keys = times.iter().enumerate().step_by(step);
    let named = |(key, &time): (usize, &f64)| NamedPose {
        name: format!("{name}@{key}"),
        pose: file.sample(clip, time),
    };
    Ok((keys.map(named).collect(), (step > 1).then_some((times.len(), step))))
}

fn poses_of_file(path: &Path, rig: &Arc<Rig>) -> Result<Vec<NamedPose>, SuggestError> {
    if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("json")) {
        return Ok(read_poses(path, rig).map_err(PoseSourceError::from)?);
    }
    let (_, set) = eigenskin_io::read_examples(path, &crate::rig_source::read_options(None))?;
    let set = for_rig(set, rig, path)?;
    let named =
        |e: &eigenskin_core::examples::Example| NamedPose { name: e.name.clone(), pose: e.pose.clone() };
    Ok(set.examples().iter().map(named).collect())
}

fn for_rig(set: ExampleSet, rig: &Arc<Rig>, path: &Path) -> Result<ExampleSet, SuggestError> {
    set.for_rig(rig).map_err(|error| SuggestError::OtherRig { path: path.into(), error })
}

impl SuggestOutcome {
    /// Writes the poses as JSON, each with its reason; nothing where no pose is left.
    pub fn write_poses(&self, path: impl AsRef<Path>, rig: &Rig) -> Result<(), SuggestError> {
        let path = path.as_ref();
        if self.suggestions.is_empty() {
            return Ok(());
        }
        let poses: Vec<(NamedPose, String)> =
            self.suggestions.iter().map(|s| (s.pose.clone(), s.suggestion.reason())).collect();
        Ok(write_poses(path, rig, &poses)?)
    }

    /// Writes the rig with the poses as a clip, one key a second, and returns its name; nothing where no
    /// pose is left.
    pub fn write_clip(&self, path: impl AsRef<Path>, file: &RigFile) -> Result<Option<String>, SuggestError> {
        let path = path.as_ref();
        if self.suggestions.is_empty() {
            return Ok(None);
        }
        let times: Vec<f64> = (0..self.suggestions.len()).map(|key| key as f64).collect();
        let poses: Vec<_> = self.suggestions.iter().map(|s| s.pose.pose.clone()).collect();
        let clip = file.unused_clip_name(CLIP);
        let with_clip = file.clone().with_clip(&clip, &times, &poses).map_err(WriteError::from)?;
        eigenskin_io::write_rig(path, &with_clip)?;
        Ok(Some(clip))
    }
}
