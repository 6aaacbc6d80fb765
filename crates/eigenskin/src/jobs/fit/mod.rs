//! Fit: a rig and examples → a model.
//!
//! ```text
//! examples ─→ pulled back through the base ─→ skin weights solved (where asked) ─→ method chosen (auto)
//!          ─→ components within the limits ─→ observations ─→ FIT ─→ errors ─→ model as GLB
//! ```
//! Examples in memory and on disk go the same way. What would need many models, or all shapes at once, is
//! refused for shapes that stay on disk ([`FitJobError::NeedsMemory`]).

mod error;
mod figures;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use eigenskin_core::deformers::Base;
use eigenskin_core::examples::ExampleSet;
use eigenskin_core::model::Model;
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::Progress;
use eigenskin_core::skinning::BaseSkinning;
use eigenskin_fit::displacements::Observations;
use eigenskin_fit::method::{
    self, Allowed, Choice, ChoiceParams, Limits, Method, NotCompared, WrittenSize, choose_method,
    components_within, examples_that_race,
};
use eigenskin_fit::metrics::{Evaluation, evaluate_against, evaluate_each, leave_one_out};
use eigenskin_fit::solve_weights::{SolveWeightsParams, SolvedWeights, solve_weights};
use eigenskin_gltf::{self as gltf, ModelWriteOptions, ModelWriteReport, Orientation, RigFile, model_glb};
use serde::{Deserialize, Serialize};

use crate::base::{BaseChoice, InvertedExamples, OpenBase};
use crate::example_source::{ExampleSource, Examples};
use crate::frame_slice::FrameSlice;
use crate::large_set::{LargeSet, Scratch};
use crate::reports::ViewerLoss;
use crate::rig_source::{OpenedRig, RigSource};

pub use error::{FitJobError, ManyModels};

/// Where a rig and its examples are.
#[derive(Debug, Clone, PartialEq)]
pub struct FitInputs {
    /// the rig
    pub rig: RigSource,
    /// the examples
    pub examples: ExampleSource,
    /// which of them; default all
    pub frames: Option<FrameSlice>,
    /// what corrections are added to; default what the examples were pulled back through, else linear
    pub base: Option<BaseChoice>,
    /// axes and unit of the rig; default those of glTF
    pub orientation: Orientation,
    /// whether shapes stay on disk that would fit in memory
    pub on_disk: bool,
    /// where scratch files of shapes on disk go
    pub scratch: PathBuf,
}

impl FitInputs {
    /// A rig's file and examples, all as by default; scratch files of shapes on disk would go to the folder of
    /// temporary files.
    pub fn new(rig: impl Into<PathBuf>, examples: ExampleSource) -> Self {
        Self {
            rig: RigSource::new(rig),
            examples,
            frames: None,
            base: None,
            orientation: Orientation::GLTF,
            on_disk: false,
            scratch: Scratch::temporary_folder(),
        }
    }
}

/// How to fit.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FitSettings {
    /// how to learn; default: by what predicts left-out examples best
    pub method: Wanted,
    /// limits on the written file and on the error; default none
    pub limits: Limits,
    /// whether skin weights are solved from the examples first; default no
    pub solve_weights: Option<SolveWeightsParams>,
    /// whether each example is also predicted by a model fitted to the others; default no
    pub leave_one_out: bool,
    /// how the model's file is written
    pub file: ModelWriteOptions,
}

/// Which method.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wanted {
    /// this one
    This(Method),
    /// the one that predicts left-out examples best
    Best(ChoiceParams),
}

impl Default for Wanted {
    fn default() -> Self {
        Self::Best(ChoiceParams::default())
    }
}

/// A rig with examples.
///
/// ```no_run
/// use eigenskin::Unwatched;
/// use eigenskin::example_source::ExampleSource;
/// use eigenskin::jobs::fit::{Fit, FitInputs, FitSettings};
///
/// let examples = ExampleSource::Set("poses.glb".into());
/// let job = Fit::open(&FitInputs::new("hand.glb", examples), FitSettings::default())?;
/// job.run(&Unwatched)?.write("model.glb")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Fit {
    /// the rig's file, which the model is written into
    pub rig: OpenedRig,
    /// the examples
    pub examples: Examples,
    /// what was mended or left out while reading the examples, one sentence each
    pub notes: Vec<String>,
    /// examples that an interrupted run has pulled back already
    pub resumed: Option<usize>,
    /// how to fit
    pub settings: FitSettings,
    base: Mutex<OpenBase>,
    scratch: Option<Scratch>,
}

/// A model, what was seen on the way, and its file. Serialises as what the command prints for machines.
#[derive(Debug)]
pub struct FitOutcome {
    /// the model, and what was learnt on the way
    pub fit: method::Fit,
    /// how
    pub method: Method,
    /// components in all, where that was limited
    pub most_components: Option<usize>,
    /// errors on the examples
    pub training: Evaluation,
    /// the model as GLB
    pub glb: Vec<u8>,
    /// what is in it
    pub written: ModelWriteReport,
    /// how examples were pulled back through a stack of deformers
    pub inverted: Option<InvertedExamples>,
    /// new skin weights
    pub solved: Option<SolvedWeights>,
    /// why this method
    pub choice: Option<Choice>,
    /// why so many components
    pub within_limits: Option<Allowed>,
    /// errors on examples left out in turn
    pub left_out: Option<Evaluation>,
    /// what viewers without eigenskin do not show
    pub viewer: Option<ViewerLoss>,
    /// the examples, or some of those on disk: what reports show
    pub shown: Shown,
    /// for shapes on disk: their bytes, and seconds that the fit took
    pub on_disk: Option<(u64, f64)>,
}

/// Examples as reports show them.
#[derive(Debug, Clone)]
pub struct Shown {
    /// on the rig as it was given
    pub set: Arc<ExampleSet>,
    /// the same with the weights that were solved
    pub weighted: Arc<ExampleSet>,
    /// errors on them
    pub errors: Evaluation,
}

/// Poses on disk that reports show.
const SHOWN: usize = 24;
/// More shapes on disk than this do not become one component each without being asked for.
const MANY_ON_DISK: usize = 64;

impl Fit {
    /// A rig with examples in memory, on the base they were pulled back through.
    pub fn new(rig: RigFile, set: Arc<ExampleSet>, settings: FitSettings) -> Result<Self, FitJobError> {
        let base = base_of_examples(&set)?;
        Ok(Self {
            rig: OpenedRig { file: rig, guessed: None },
            examples: Examples::InMemory(set),
            notes: Vec::new(),
            resumed: None,
            settings,
            base: Mutex::new(base),
            scratch: None,
        })
    }

    /// Reads both. Shapes that take much memory stay on disk.
    pub fn open(inputs: &FitInputs, settings: FitSettings) -> Result<Self, FitJobError> {
        let file = eigenskin_io::read_rig(&inputs.rig.path, &inputs.rig.read_options())?;
        if file.rig().skeleton().joint_count() == 0 && file.rig().controls().is_empty() {
            return Err(FitJobError::NothingDrives { path: inputs.rig.path.clone() });
        }
        let source = &inputs.examples;
        let on_disk = inputs.on_disk || source.is_large();
        let (mut resumed, mut scratch) = (None, None);
        let opened = if on_disk {
            resumed = Scratch::found(&inputs.scratch);
            let folder = scratch.insert(Scratch::new(&inputs.scratch)?);
            source.open_on_disk(&file, folder.folder())?
        } else {
            source.read(&file, &inputs.rig.read_options())?
        };
        let OpenedRig { file, guessed } = inputs.rig.settle(file, Some(opened.examples.rig()))?;
        let file = file.with_orientation(inputs.orientation)?;
        let opened = opened.settle(source, file.rig(), inputs.frames)?;
        let rig = file.rig();
        let base = match (&inputs.base, &opened.examples) {
            (Some(chosen), _) => chosen.open(rig)?,
            (None, Examples::InMemory(set)) => base_of_examples(set)?,
            (None, Examples::OnDisk(_)) => OpenBase::of(&BaseSkinning::LinearBlend.into(), rig, THE_MODEL)?,
        };
        Ok(Self {
            rig: OpenedRig { file, guessed },
            examples: opened.examples,
            notes: opened.notes,
            resumed,
            settings,
            base: Mutex::new(base),
            scratch,
        })
    }

    /// Fits.
    pub fn run(&self, progress: &dyn Progress) -> Result<FitOutcome, FitJobError> {
        let mut base = self.base.lock().unwrap_or_else(PoisonError::into_inner);
        self.check(&base)?;
        match &self.examples {
            Examples::InMemory(set) => self.run_in_memory(set, &mut base, progress),
            Examples::OnDisk(set) => self.run_on_disk(set, &base, progress),
        }
    }

    fn run_in_memory(
        &self,
        set: &Arc<ExampleSet>,
        base: &mut OpenBase,
        progress: &dyn Progress,
    ) -> Result<FitOutcome, FitJobError> {
        let settings = &self.settings;
        let (set, inverted) = match base.invert(set, progress)? {
            Some((set, report)) => (Arc::new(set), Some(report)),
            None => (set.clone(), None),
        };
        let solved = match &settings.solve_weights {
            Some(params) => Some(solve_weights(&set, params, progress)?),
            None => None,
        };
        // Learnt on the solved weights, measured against the rig as it was given.
        let weighted = match &solved {
            Some(solved) => Arc::new(ExampleSet::clone(&set).for_rig(&solved.rig)?),
            None => set.clone(),
        };
        let (method, choice) = self.choose(|| Ok(weighted.clone()), base, progress)?;
        let seen = Observations::of(&weighted, &base.base, method.allows_compromise(), progress)?;
        let within_limits = self.within_limits(&seen, &method, &set, progress)?;
        let most_components = within_limits.map(|allowed| allowed.components);
        let fit = method::fit(&seen, &method, most_components, progress)?.with_input_rig(set.rig())?;
        drop(seen);
        let training = base.measure(&Arc::new(fit.model.clone()), &set, progress)?;
        let left_out = if settings.leave_one_out {
            Some(self.left_out(&set, &base.base, &method, most_components, progress)?)
        } else {
            None
        };
        let shown = Shown { set: set.clone(), weighted, errors: training.clone() };
        progress.doing("writing")?;
        let (glb, written) = model_glb(&self.rig.file, &fit.model, &self.settings.file)?;
        Ok(FitOutcome {
            viewer: ViewerLoss::of(&fit.model, &set, &training, progress)?,
            fit,
            method,
            most_components,
            training,
            glb,
            written,
            inverted,
            solved,
            choice,
            within_limits,
            left_out,
            shown,
            on_disk: None,
        })
    }

    fn run_on_disk(
        &self,
        set: &LargeSet,
        base: &OpenBase,
        progress: &dyn Progress,
    ) -> Result<FitOutcome, FitJobError> {
        let begun = Instant::now();
        let Some(skinning) = base.base.skinning() else {
            return Err(FitJobError::DeformersOnDisk { name: base.base.name().to_string() });
        };
        let Some(scratch) = &self.scratch else { return Err(FitJobError::NoScratch) };
        let poses: Vec<&Pose> = set.poses().iter().map(|named| &named.pose).collect();
        let racing = || Ok(Arc::new(set.in_memory(&examples_that_race(set.rig(), &poses))?));
        let (method, choice) = self.choose(racing, base, progress)?;
        let most_components = self.most_on_disk(&method, poses.len());
        let seen = set.observe(skinning, method.allows_compromise(), scratch, progress)?;
        let fit = method::fit(&seen, &method, most_components, progress)?;
        drop(seen);
        let model = Arc::new(fit.model.clone());
        let count = set.poses().len();
        let shape = |index| Ok::<_, FitJobError>(set.example(index)?);
        let training = evaluate_each(&model, count, shape, progress)?;
        let chosen: Vec<usize> = (0..count).step_by(count.div_ceil(SHOWN).max(1)).collect();
        let sample = Arc::new(set.in_memory(&chosen)?);
        let errors = evaluate_against(&model, &sample, progress)?;
        progress.doing("writing")?;
        let (glb, written) = model_glb(&self.rig.file, &model, &self.settings.file)?;
        Ok(FitOutcome {
            viewer: ViewerLoss::of(&model, &sample, &errors, progress)?,
            fit,
            method,
            most_components,
            training,
            glb,
            written,
            inverted: None,
            solved: None,
            choice,
            within_limits: None,
            left_out: None,
            shown: Shown { set: sample.clone(), weighted: sample, errors },
            on_disk: Some((set.bytes(), begun.elapsed().as_secs_f64())),
        })
    }

    /// What can be said before anything is computed.
    fn check(&self, base: &OpenBase) -> Result<(), FitJobError> {
        let settings = &self.settings;
        if base.has_program() && (settings.leave_one_out || !settings.limits.is_empty()) {
            return Err(FitJobError::ManyModelsThroughProgram);
        }
        if let Examples::OnDisk(set) = &self.examples {
            self.check_on_disk(set.poses().len())?;
        }
        if settings.solve_weights.is_some() && base.base != BaseSkinning::LinearBlend.into() {
            return Err(FitJobError::WeightsOfOtherBase { base: base.base.name().to_string() });
        }
        Ok(())
    }

    /// Refuses what needs so many shapes in memory.
    fn check_on_disk(&self, shapes: usize) -> Result<(), FitJobError> {
        let FitSettings { limits, leave_one_out, solve_weights, .. } = &self.settings;
        let is_psd = matches!(self.settings.method, Wanted::This(Method::Psd(_)));
        let needs_memory = |what| Err(FitJobError::NeedsMemory { what });
        if solve_weights.is_some() {
            return needs_memory(ManyModels::Weights);
        }
        if *leave_one_out {
            return needs_memory(ManyModels::LeaveOneOut);
        }
        // Only a written file shows its bytes, only a model its error; only pose space deformation can be merged.
        if limits.bytes.is_some() || limits.error.is_some() || (limits.targets.is_some() && !is_psd) {
            return needs_memory(ManyModels::Limits);
        }
        if is_psd && limits.targets.is_none() && shapes > MANY_ON_DISK {
            return Err(FitJobError::PsdNeedsLimit);
        }
        Ok(())
    }

    /// The method, and why: of the examples, only those that race are looked at.
    fn choose(
        &self,
        set: impl FnOnce() -> Result<Arc<ExampleSet>, FitJobError>,
        base: &OpenBase,
        progress: &dyn Progress,
    ) -> Result<(Method, Option<Choice>), FitJobError> {
        match &self.settings.method {
            Wanted::This(method) => Ok((method.clone(), None)),
            Wanted::Best(wanted) => {
                let choice = if base.has_program() {
                    Choice::by_rule(wanted, NotCompared::OtherProgram)
                } else {
                    choose_method(set()?.as_ref(), &base.base, wanted, progress)?
                };
                Ok((choice.method.clone(), Some(choice)))
            }
        }
    }

    /// How many components the limits allow; none without limits.
    fn within_limits(
        &self,
        seen: &Observations,
        method: &Method,
        measured: &ExampleSet,
        progress: &dyn Progress,
    ) -> Result<Option<Allowed>, FitJobError> {
        let limits = &self.settings.limits;
        if limits.is_empty() {
            return Ok(None);
        }
        let own_targets = self.rig.file.own_target_count();
        let size = |model: &Model| {
            let (_, written) = model_glb(&self.rig.file, model, &self.settings.file)?;
            let targets = own_targets + written.targets;
            Ok::<_, gltf::WriteError>(WrittenSize { targets, bytes: written.bytes })
        };
        Ok(Some(components_within(limits, seen, method, measured, size, progress)?))
    }

    /// Each example against a model fitted to the others.
    fn left_out(
        &self,
        set: &ExampleSet,
        base: &Base,
        method: &Method,
        most_components: Option<usize>,
        progress: &dyn Progress,
    ) -> Result<Evaluation, FitJobError> {
        let fit_to = |others: &ExampleSet, progress: &dyn Progress| {
            let method = method.for_examples(others);
            let weighted = match &self.settings.solve_weights {
                None => others,
                Some(params) => {
                    let solved = solve_weights(others, params, progress)?;
                    &others.clone().for_rig(&solved.rig)?
                }
            };
            let seen = Observations::of(weighted, base, method.allows_compromise(), progress)?;
            Ok::<_, FitJobError>(method::fit(&seen, &method, most_components, progress)?.model)
        };
        leave_one_out(set, fit_to, progress)
    }

    /// Components that a fit to so many shapes on disk may have; pose space deformation has one per shape.
    fn most_on_disk(&self, method: &Method, shapes: usize) -> Option<usize> {
        // A component needs one target or two.
        let limit = self.settings.limits.targets.map(|targets| (targets / 2).max(1));
        limit.or_else(|| matches!(method, Method::Psd(_)).then_some(shapes))
    }

    /// Removes the scratch files: the model is written, nothing needs them any more.
    pub fn finish(self) {
        if let Some(scratch) = self.scratch {
            drop(self.examples);
            scratch.remove();
        }
    }
}

impl FitOutcome {
    /// The model.
    pub fn model(&self) -> &Model {
        &self.fit.model
    }

    /// Writes the model as GLB.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), FitJobError> {
        Ok(eigenskin_io::write_glb(path, &self.glb)?)
    }
}

/// What errors call the model.
const THE_MODEL: &str = "the model";

/// What the examples were pulled back through, else linear blending.
fn base_of_examples(set: &ExampleSet) -> Result<OpenBase, FitJobError> {
    let mut inverted =
        set.examples().iter().filter_map(|example| Some((example, example.inverted.as_ref()?)));
    let Some((example, first)) = inverted.next() else {
        return Ok(OpenBase::of(&BaseSkinning::LinearBlend.into(), set.rig(), THE_MODEL)?);
    };
    if let Some((other, base)) = inverted.find(|(_, other)| other.base != first.base) {
        return Err(FitJobError::SeveralBases {
            first: example.name.clone(),
            first_base: first.base.name().to_string(),
            second: other.name.clone(),
            second_base: base.base.name().to_string(),
        });
    }
    Ok(OpenBase::of(&first.base, set.rig(), "what the examples were pulled back through")?)
}
