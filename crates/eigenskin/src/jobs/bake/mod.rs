//! Bake: a motion on a model → a clip with keyed component weights, and posed shapes.
//!
//! ```text
//! the model's own clip ─────────────┐
//! another rig's clip ── retargeted ─┼─→ poses along time ─→ GLB with keyed weights
//! motion capture ────── retargeted ─┘                    └→ OBJ frames, point cache
//! ```
//! A plain rig is a model without corrections.

mod error;
mod output;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use eigenskin_core::model::Model;
use eigenskin_core::progress::Progress;
use eigenskin_core::skinning::BaseSkinning;
use eigenskin_gltf::{Clip, FileKind, ModelWriteOptions, Motion, RigFile};
use eigenskin_io::retarget::{retarget_bvh, retarget_clip};
use eigenskin_io::{Bvh, JointMap, Matching, RetargetOptions, WriteError, file_kind};
use serde::{Deserialize, Serialize};

pub use error::{BakeError, BakeWarning};
pub use output::{BakeOutcome, BakeOutputs, BakeWritten, WrittenGlb};

use crate::rig_source::{OpenedRig, RigSource};

/// Where a model and a motion are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BakeInputs {
    /// a model's file, or a plain rig
    pub model: RigSource,
    /// what moves it
    pub motion: MotionSource,
}

/// Where a motion is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MotionSource {
    /// a clip of the model's own file
    Own {
        /// its name; may be left out when there is only one
        clip: Option<String>,
    },
    /// a clip of another rig
    Rig {
        /// the rig's file
        rig: RigSource,
        /// the clip's name; may be left out when there is only one
        clip: Option<String>,
    },
    /// motion capture (`.bvh`); its file's name becomes that of the clip
    Capture(PathBuf),
}

/// How to bake.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BakeSettings {
    /// frames a second; default the motion's own keys
    pub rate: Option<f64>,
    /// joint of the model → joint of the motion, for motions of others; default equal names
    pub map: Option<JointMap>,
    /// whether bones point where the motion's bones do, rather than turn by as much from rest: for
    /// characters that rest in different poses; default no
    pub align: bool,
    /// how the GLB is written
    pub file: ModelWriteOptions,
}

/// A model and a motion.
///
/// ```no_run
/// use eigenskin::Unwatched;
/// use eigenskin::jobs::bake::{Bake, BakeInputs, BakeOutputs, BakeSettings, MotionSource};
/// use eigenskin::rig_source::RigSource;
///
/// let motion = MotionSource::Capture("walk.bvh".into());
/// let inputs = BakeInputs { model: RigSource::new("model.glb"), motion };
/// let outputs = BakeOutputs { glb: Some("walk.glb".into()), ..BakeOutputs::default() };
/// Bake::open(&inputs, BakeSettings::default())?.run(&Unwatched)?.write(&outputs, &Unwatched)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Bake {
    /// the file of the model, or of a plain rig
    pub rig: OpenedRig,
    /// the model
    pub model: Arc<Model>,
    /// what moves it
    pub motion: MotionInput,
    /// how to bake
    pub settings: BakeSettings,
}

/// A motion as it was recorded.
#[derive(Debug, Clone)]
pub enum MotionInput {
    /// a clip of the model's own file
    Own(Clip),
    /// a clip of another rig
    Rig {
        /// the rig
        rig: Box<OpenedRig>,
        /// the clip
        clip: Clip,
        /// the file, for messages
        path: PathBuf,
    },
    /// motion capture
    Capture {
        /// what the clip will be called
        name: String,
        /// the capture
        bvh: Bvh,
        /// the file, for messages
        path: PathBuf,
    },
}

impl Bake {
    /// Reads both.
    pub fn open(inputs: &BakeInputs, settings: BakeSettings) -> Result<Self, BakeError> {
        let (rig, model) = open_model(&inputs.model)?;
        let motion = match &inputs.motion {
            MotionSource::Own { clip } => {
                MotionInput::Own(chosen_clip(&rig.file, clip.as_deref(), &inputs.model.path)?)
            }
            MotionSource::Rig { rig: source, clip } => {
                let rig = Box::new(source.open()?);
                let clip = chosen_clip(&rig.file, clip.as_deref(), &source.path)?;
                MotionInput::Rig { rig, clip, path: source.path.clone() }
            }
            MotionSource::Capture(path) => {
                let bvh =
                    Bvh::read(path).map_err(|error| BakeError::Capture { path: path.clone(), error })?;
                let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("motion").to_string();
                MotionInput::Capture { name, bvh, path: path.clone() }
            }
        };
        Ok(Self { rig, model, motion, settings })
    }

    /// Poses the joints along time.
    pub fn run(&self, progress: &dyn Progress) -> Result<BakeOutcome, BakeError> {
        progress.doing("reading the motion")?;
        let settings = &self.settings;
        let file = &self.rig.file;
        let options =
            RetargetOptions { map: settings.map.clone(), rate: settings.rate, align: settings.align };
        let mut warnings = Vec::new();
        let (motion, matching) = match &self.motion {
            MotionInput::Own(_) if settings.map.is_some() || settings.align => {
                return Err(BakeError::OwnClipFits);
            }
            MotionInput::Own(clip) => {
                if settings.rate.is_some() && clip.is_step(file.layout()) {
                    warnings.push(BakeWarning::StepsRamp { clip: clip.name.clone() });
                }
                (Motion::from_clip(file, clip, settings.rate)?, None)
            }
            MotionInput::Rig { rig, clip, path } => {
                let retargeted = retarget_clip(file, &rig.file, clip, &options);
                in_file(path, retargeted)?
            }
            MotionInput::Capture { name, bvh, path } => {
                in_file(path, retarget_bvh(file, bvh, name, &options))?
            }
        };
        // A clip of the file itself stays as it is, at its own keys and curves.
        let is_own = matching.is_none() && settings.rate.is_none();
        let moved = if is_own {
            file.clone()
        } else {
            file.clone().with_motion(&motion).map_err(WriteError::from)?
        };
        Ok(BakeOutcome::new(moved, self.model.clone(), motion, matching, settings, warnings))
    }
}

/// A motion with how its joints were matched, where it is another's.
type Retargeted = (Motion, Option<Matching>);

fn in_file(
    path: &Path,
    retargeted: Result<(Motion, Matching), eigenskin_gltf::MotionError>,
) -> Result<Retargeted, BakeError> {
    let (motion, matching) = retargeted.map_err(|error| BakeError::Retarget { path: path.into(), error })?;
    Ok((motion, Some(matching)))
}

/// A model, or a plain rig as a model without corrections.
fn open_model(source: &RigSource) -> Result<(OpenedRig, Arc<Model>), BakeError> {
    if file_kind(&source.path)? != FileKind::Model {
        let rig = source.open()?;
        let model = Model::without_corrections(rig.rig().clone(), BaseSkinning::LinearBlend);
        return Ok((rig, Arc::new(model)));
    }
    if source.skin.is_some() || source.parents.is_some() {
        return Err(BakeError::ModelIsSettled { path: source.path.clone() });
    }
    let (file, model) = eigenskin_io::read_model(&source.path)?;
    Ok((OpenedRig { file, guessed: None }, Arc::new(model)))
}

/// The clip of that name, or the only one.
fn chosen_clip(file: &RigFile, name: Option<&str>, path: &Path) -> Result<Clip, BakeError> {
    let names = || file.clips().iter().map(|clip| clip.name.clone()).collect();
    match (name, file.clips()) {
        (_, []) => Err(BakeError::NoClips { path: path.into() }),
        (Some(name), _) => file.clip_named(name).cloned().ok_or_else(|| BakeError::UnknownClip {
            path: path.into(),
            clip: name.to_string(),
            known: names(),
        }),
        (None, [only]) => Ok(only.clone()),
        (None, _) => Err(BakeError::SeveralClips { path: path.into(), known: names() }),
    }
}
