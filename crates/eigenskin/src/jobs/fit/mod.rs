//! Fit: a rig and examples → a model.
//!
//! ```text
//! examples ─→ pulled back through the base ─→ skin weights solved (where asked) ─→ method chosen (auto)
//!          ─→ components within the limits ─→ observations ─→ FIT ─→ errors ─→ model as GLB
//! ```
//! Examples in memory and on disk go the same way. What would need many models, or all shapes at once, is
//! refused for shapes that stay on disk ([`FitJobError::NeedsMemory`]).

mod choice;
mod error;
mod figures;
mod limits;
pub mod method;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use eigenskin_core::examples::ExampleSet;
use eigenskin_core::model::Model;
use eigenskin_core::progress::{Counted, Progress};
use eigenskin_core::skinning::BaseSkinning;
use eigenskin_fit::method::EigenSkinParams;
use eigenskin_fit::metrics::{Evaluation, evaluate_against, evaluate_each, leave_one_out};
use eigenskin_fit::solve_weights::{SolveWeightsParams, SolvedWeights, solve_weights};
use eigenskin_gltf::{ModelWriteOptions, ModelWriteReport, Orientation, RigFile, model_glb};

use crate::base::{BaseChoice, InvertedExamples, OpenBase};
use crate::example_source::{ExampleSource, Examples};
use crate::frame_slice::FrameSlice;
use crate::large_set::{LargeSet, Scratch};
use crate::reports::ViewerLoss;
use crate::rig_source::{OpenedRig, RigSource};

pub use choice::{MethodChoice, Tried};
pub use error::{FitJobError, ManyModels};
pub(super) use figures::solved_weights_figures;
pub use limits::{FitLimits, FoundWithinLimits, SizeLimit};
use method::{Learnt, Method};

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

/// How to fit.
#[derive(Debug, Clone, PartialEq)]
pub struct FitSettings {
    /// how to learn; default EigenSkin
    pub method: Wanted,
    /// limits on the written file and on the error; default none
    pub limits: FitLimits,
    /// whether skin weights are solved from the examples first; default no
    pub solve_weights: Option<SolveWeightsParams>,
    /// whether each example is also predicted by a model fitted to the others; default no
    pub leave_one_out: bool,
}

impl Default for FitSettings {
    fn default() -> Self {
        Self {
            method: Wanted::This(Method::EigenSkin(EigenSkinParams::default())),
            limits: FitLimits::default(),
            solve_weights: None,
            leave_one_out: false,
        }
    }
}

/// Which method.
#[derive(Debug, Clone, PartialEq)]
pub enum Wanted {
    /// this one
    This(Method),
    /// the one that predicts left-out examples best
    Best {
        /// what is wanted of EigenSkin
        start: EigenSkinParams,
        /// whether its budget may not be changed
        budget_is_given: bool,
    },
}

/// A rig with examples.
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
    /// what was learnt, and the model
    pub learnt: Learnt,
    /// how
    pub method: Method,
    /// displacement fields in all, where that was limited
    pub most: Option<usize>,
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
    pub choice: Option<MethodChoice>,
    /// why so many components
    pub within_limits: Option<FoundWithinLimits>,
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
            Some(params) => {
                progress.doing("solving weights")?;
                Some(solve_weights(&set, params)?)
            }
            None => None,
        };
        // Learnt on the solved weights, measured against the rig as it was given.
        let weighted = match &solved {
            Some(solved) => Arc::new(ExampleSet::clone(&set).for_rig(&solved.rig)?),
            None => set.clone(),
        };
        let (method, choice) = self.choose(&weighted, base, progress)?;
        let within_limits = settings.limits.search([&weighted, &set], &method, &self.rig.file, progress)?;
        let most = within_limits
            .as_ref()
            .map(|found| found.total)
            .or(choice.as_ref().and_then(|choice| choice.most));
        progress.doing("fitting")?;
        let learnt = method.fit(&weighted, most)?.with_input_rig(set.rig())?;
        let training = base.measure(&Arc::new(learnt.model().clone()), &set)?;
        let left_out =
            if settings.leave_one_out { Some(self.left_out(&set, &method, most, progress)?) } else { None };
        let shown = Shown { set: set.clone(), weighted, errors: training.clone() };
        progress.doing("writing")?;
        let (glb, written) = model_glb(&self.rig.file, learnt.model(), &ModelWriteOptions::default())?;
        Ok(FitOutcome {
            viewer: ViewerLoss::of(learnt.model(), &set, &training),
            learnt,
            method,
            most,
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
        let Wanted::This(method) = &self.settings.method else {
            return Err(FitJobError::NeedsMemory { what: ManyModels::Method });
        };
        let most = self.most_fields(method)?;
        let Some(skinning) = base.base.skinning() else {
            return Err(FitJobError::DeformersOnDisk { name: base.base.name().to_string() });
        };
        let Some(scratch) = &self.scratch else { return Err(FitJobError::NoScratch) };
        let method = method.clone().on(base.base.clone());
        let seen = set.observe(skinning, method.allows_compromise(), scratch, progress)?;
        progress.doing("fitting")?;
        let learnt = method.fit_to(&seen, most)?;
        drop(seen);
        let model = Arc::new(learnt.model().clone());
        let count = set.poses().len();
        let counted = Counted::new(progress, "comparing", count);
        let training = evaluate_each(&model, count, |index| {
            counted.next()?;
            Ok::<_, FitJobError>(set.example(index)?)
        })?;
        let chosen: Vec<usize> = (0..count).step_by(count.div_ceil(SHOWN).max(1)).collect();
        let sample = Arc::new(set.in_memory(&chosen)?);
        let errors = errors_of(&model, &sample);
        progress.doing("writing")?;
        let (glb, written) = model_glb(&self.rig.file, &model, &ModelWriteOptions::default())?;
        Ok(FitOutcome {
            viewer: ViewerLoss::of(&model, &sample, &errors),
            learnt,
            method,
            most: None,
            training,
            glb,
            written,
            inverted: None,
            solved: None,
            choice: None,
            within_limits: None,
            left_out: None,
            shown: Shown { set: sample.clone(), weighted: sample, errors },
            on_disk: Some((set.bytes(), begun.elapsed().as_secs_f64())),
        })
    }

    /// What can be said before anything is computed.
    fn check(&self, base: &OpenBase) -> Result<(), FitJobError> {
        let settings = &self.settings;
        let is_auto = matches!(settings.method, Wanted::Best { .. });
        if base.has_program() && (settings.leave_one_out || settings.limits.given() || is_auto) {
            return Err(FitJobError::ManyModelsThroughProgram);
        }
        if settings.solve_weights.is_some() {
            if matches!(self.examples, Examples::OnDisk(_)) {
                return Err(FitJobError::NeedsMemory { what: ManyModels::Weights });
            }
            if base.base != BaseSkinning::LinearBlend.into() {
                return Err(FitJobError::WeightsOfOtherBase { base: base.base.name().to_string() });
            }
        }
        Ok(())
    }

    fn choose(
        &self,
        set: &ExampleSet,
        base: &OpenBase,
        progress: &dyn Progress,
    ) -> Result<(Method, Option<MethodChoice>), FitJobError> {
        match &self.settings.method {
            Wanted::This(method) => Ok((method.clone().on(base.base.clone()), None)),
            Wanted::Best { start, budget_is_given } => {
                let start = EigenSkinParams { base: base.base.clone(), ..start.clone() };
                let choice = choice::choose(set, &start, *budget_is_given, progress)?;
                Ok((choice.method.clone(), Some(choice)))
            }
        }
    }

    /// Each example against a model fitted to the others.
    fn left_out(
        &self,
        set: &ExampleSet,
        method: &Method,
        most: Option<usize>,
        progress: &dyn Progress,
    ) -> Result<Evaluation, FitJobError> {
        let counted = Counted::new(progress, "leaving out one example at a time", set.len());
        leave_one_out(set, |others| {
            counted.next()?;
            let method = method.for_examples(others);
            let learnt = match &self.settings.solve_weights {
                None => method.fit(others, most)?,
                Some(params) => {
                    let weights = solve_weights(others, params)?;
                    method.fit(&others.clone().for_rig(&weights.rig)?, most)?
                }
            };
            Ok::<_, FitJobError>(learnt.into_model())
        })
    }

    /// Displacement fields that a fit to shapes on disk may have: pose space deformation needs a limit.
    fn most_fields(&self, method: &Method) -> Result<usize, FitJobError> {
        let limits = &self.settings.limits;
        let is_psd = matches!(method, Method::Psd(_));
        if self.settings.leave_one_out {
            return Err(FitJobError::NeedsMemory { what: ManyModels::LeaveOneOut });
        }
        if limits.need_search() || (limits.given() && !is_psd) {
            return Err(FitJobError::NeedsMemory { what: ManyModels::Limits });
        }
        match limits.max_targets {
            // A field needs one target or two.
            Some(targets) => Ok((targets / 2).max(1)),
            None if is_psd => Err(FitJobError::PsdNeedsLimit),
            None => Ok(usize::MAX),
        }
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
        self.learnt.model()
    }

    /// Writes the model as GLB.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), FitJobError> {
        Ok(eigenskin_io::write_glb(path.as_ref(), &self.glb)?)
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

/// The errors of a model on a set.
fn errors_of(model: &Model, set: &ExampleSet) -> Evaluation {
    evaluate_against(&Arc::new(model.clone()), set)
}
