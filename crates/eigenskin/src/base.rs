//! What corrections are added to, at work: a skinning, or a stack of deformers bound to a rig with its
//! programs started; and examples pulled back through it.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Instant;

use eigenskin_core::deformers::stack::DeformerError;
use eigenskin_core::deformers::{Base, BlackBox, BlackBoxError, BoundStack};
use eigenskin_core::examples::{Example, ExampleSet, ExamplesError};
use eigenskin_core::model::Model;
use eigenskin_core::progress::{Cancelled, Progress, Step};
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::BaseSkinning;
use eigenskin_fit::displacements::black_box::{
    ClassReport, InversionParams, InversionReport, VertexClass, invert_example,
};
use eigenskin_fit::metrics::{Evaluation, evaluate_against, evaluate_through};
use eigenskin_io::{BoxFile, BoxFileError, read_box};
use serde::{Deserialize, Serialize};

/// A base as people give it: in text a name (`linear`) or a path (`arm.toml`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum BaseChoice {
    /// a skinning, by name
    Skinning(BaseSkinning),
    /// a deformer-stack file (`.toml`)
    File(PathBuf),
}

/// A base as its file describes it, bound to no rig yet: none of its programs runs.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadBase {
    /// as models name it
    pub base: Base,
    /// how to start its programs, and the file that says so; none for skinnings
    file: Option<(PathBuf, BoxFile)>,
}

/// A base bound to a rig.
#[derive(Debug)]
pub struct OpenBase {
    /// as models name it
    pub base: Base,
    /// bound to the rig, its programs started; none for skinnings, which have a closed form
    bound: Option<BoundStack>,
}

/// Why a base cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BaseError {
    /// Neither a skinning nor a file.
    #[error("{text:?} is no base; choose rigid, linear, dual-quaternion, or a deformer-stack file (.toml)")]
    Unknown {
        /// the text given
        text: String,
    },
    /// Something about the file.
    #[error(transparent)]
    File(#[from] BoxFileError),
    /// The deformers of a file do not fit the rig.
    #[error("{}: {error}", path.display())]
    OpenFile {
        /// the file
        path: PathBuf,
        /// what is wrong
        error: DeformerError,
    },
    /// The deformers do not fit the rig.
    #[error(transparent)]
    Deformers(#[from] DeformerError),
    /// A file may not start programs.
    #[error(
        "{what} needs {name:?}, a deformer stack with another program, which no model or example may start; give its deformer-stack file"
    )]
    Program {
        /// what needs it: "the model"
        what: &'static str,
        /// name of the stack
        name: String,
    },
    /// Another base than the one it was made with.
    #[error("{what} was made with base {expected:?}, not {found:?}; give the one it was made with")]
    OtherBase {
        /// what was made with it
        what: &'static str,
        /// its base
        expected: String,
        /// the one given
        found: String,
    },
    /// An example could not be pulled back.
    #[error("example {example:?} through {base:?}: {error}")]
    Invert {
        /// name of the example
        example: String,
        /// name of the base
        base: String,
        /// what is wrong
        error: BlackBoxError,
    },
    /// A program failed while a model was evaluated.
    #[error(transparent)]
    BlackBox(BlackBoxError),
    /// The examples were refused.
    #[error(transparent)]
    Examples(#[from] ExamplesError),
    /// Stopped from outside.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl From<BlackBoxError> for BaseError {
    fn from(error: BlackBoxError) -> Self {
        match error {
            BlackBoxError::Cancelled(cancelled) => Self::Cancelled(cancelled),
            error => Self::BlackBox(error),
        }
    }
}

/// How examples were pulled back.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InvertedExamples {
    /// name of the base
    pub through: String,
    /// examples pulled back
    #[serde(skip)]
    pub count: usize,
    /// calls of the base, all vertices each
    pub calls: usize,
    /// seconds that took
    pub seconds: f64,
    /// by how difficult vertices were; those that exist
    pub classes: Vec<InvertedClass>,
    /// largest residual: what the base cannot reach, and is added after it
    pub largest_residual: f64,
    /// example and vertex with that residual, where there is one
    #[serde(skip)]
    pub worst: Option<(String, usize)>,
}

/// Vertices of one difficulty.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InvertedClass {
    /// name of the class
    #[serde(rename = "class", serialize_with = "class_name")]
    pub class: VertexClass,
    /// vertices in all examples together
    pub vertices: usize,
    /// those that converged
    pub converged: usize,
    /// largest distance from the example
    pub largest_residual: f64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn class_name<S: serde::Serializer>(class: &VertexClass, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(class.name())
}

impl FromStr for BaseChoice {
    type Err = BaseError;

    fn from_str(text: &str) -> Result<Self, BaseError> {
        if let Some(skinning) = BaseSkinning::named(text) {
            return Ok(Self::Skinning(skinning));
        }
        let path = PathBuf::from(text);
        match path.extension() {
            Some(extension) if extension.eq_ignore_ascii_case("toml") => Ok(Self::File(path)),
            _ => Err(BaseError::Unknown { text: text.to_string() }),
        }
    }
}

impl TryFrom<String> for BaseChoice {
    type Error = BaseError;

    fn try_from(text: String) -> Result<Self, BaseError> {
        text.parse()
    }
}

impl From<BaseChoice> for String {
    fn from(choice: BaseChoice) -> Self {
        choice.to_string()
    }
}

impl fmt::Display for BaseChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Skinning(skinning) => f.write_str(skinning.name()),
            Self::File(path) => write!(f, "{}", path.display()),
        }
    }
}

impl BaseChoice {
    /// Reads the file, where there is one. No program is started.
    pub fn read(&self) -> Result<ReadBase, BaseError> {
        match self {
            Self::Skinning(skinning) => Ok((*skinning).into()),
            Self::File(path) => {
                let file = read_box(path)?;
                let base = Base::Deformers(Arc::new(file.stack.clone()));
                Ok(ReadBase { base, file: Some((path.clone(), file)) })
            }
        }
    }

    /// Reads the file and binds its stack to `rig`, starting its programs.
    pub fn open(&self, rig: &Arc<Rig>) -> Result<OpenBase, BaseError> {
        self.read()?.open(rig)
    }
}

impl From<BaseSkinning> for ReadBase {
    fn from(skinning: BaseSkinning) -> Self {
        Self { base: skinning.into(), file: None }
    }
}

impl ReadBase {
    /// Binds the stack to `rig` and starts its programs.
    pub fn open(&self, rig: &Arc<Rig>) -> Result<OpenBase, BaseError> {
        let bound = match &self.file {
            None => None,
            Some((path, file)) => {
                Some(file.open(rig).map_err(|error| BaseError::OpenFile { path: path.clone(), error })?)
            }
        };
        Ok(OpenBase { base: self.base.clone(), bound })
    }
}

impl OpenBase {
    /// The base that `what` (a model, an example) names. Programs are not started because a file says so.
    pub fn of(base: &Base, rig: &Arc<Rig>, what: &'static str) -> Result<Self, BaseError> {
        let bound = match base {
            Base::Skinning(_) => None,
            Base::Deformers(stack) if stack.has_external() => {
                return Err(BaseError::Program { what, name: stack.name.clone() });
            }
            Base::Deformers(stack) => Some(stack.bind(rig)?),
        };
        Ok(Self { base: base.clone(), bound })
    }

    /// The same, or the one that was chosen, which must be the same.
    pub fn of_or_chosen(
        base: &Base,
        chosen: Option<&BaseChoice>,
        rig: &Arc<Rig>,
        what: &'static str,
    ) -> Result<Self, BaseError> {
        let Some(chosen) = chosen else { return Self::of(base, rig, what) };
        let opened = chosen.open(rig)?;
        if opened.base != *base {
            let (expected, found) = (base.name().to_string(), opened.base.name().to_string());
            return Err(BaseError::OtherBase { what, expected, found });
        }
        Ok(opened)
    }

    /// The stack as a black box, when there is one.
    pub fn black_box(&mut self) -> Option<&mut dyn BlackBox> {
        self.bound.as_mut().map(|stack| stack as &mut dyn BlackBox)
    }

    /// Whether another program takes part.
    pub fn has_program(&self) -> bool {
        matches!(&self.base, Base::Deformers(stack) if stack.has_external())
    }

    /// The errors of a model on a set, through the program where one takes part.
    pub fn measure(
        &mut self,
        model: &Arc<Model>,
        set: &ExampleSet,
        progress: &dyn Progress,
    ) -> Result<Evaluation, BaseError> {
        match (self.has_program(), self.black_box()) {
            (true, Some(black_box)) => Ok(evaluate_through(model, black_box, set, progress)?),
            _ => Ok(evaluate_against(model, set, progress)?),
        }
    }

    /// Pulls back the examples of `set` that were not pulled back through this base; `None` where there
    /// is nothing to do: skinnings are inverted when they are needed.
    pub fn invert(
        &mut self,
        set: &ExampleSet,
        progress: &dyn Progress,
    ) -> Result<Option<(ExampleSet, InvertedExamples)>, BaseError> {
        let open = |example: &Example| example.inverted.as_ref().is_none_or(|i| i.base != self.base);
        let left: Vec<usize> = (0..set.len()).filter(|&index| open(&set.examples()[index])).collect();
        if left.is_empty() {
            return Ok(None);
        }
        let mut examples = set.examples().to_vec();
        let mut chosen: Vec<&mut Example> = examples
            .iter_mut()
            .enumerate()
            .filter_map(|(index, example)| left.contains(&index).then_some(example))
            .collect();
        let Some(report) = self.invert_all(set.rig(), &mut chosen, progress)? else { return Ok(None) };
        Ok(Some((ExampleSet::new(set.rig().clone(), examples)?, report)))
    }

    /// Pulls back one example.
    pub fn invert_one(
        &mut self,
        rig: &Rig,
        example: &mut Example,
        progress: &dyn Progress,
    ) -> Result<Option<InvertedExamples>, BaseError> {
        self.invert_all(rig, &mut [example], progress)
    }

    fn invert_all(
        &mut self,
        rig: &Rig,
        examples: &mut [&mut Example],
        progress: &dyn Progress,
    ) -> Result<Option<InvertedExamples>, BaseError> {
        let Some(bound) = self.bound.as_mut() else { return Ok(None) };
        let begun = Instant::now();
        let mut reports = Vec::new();
        let mut worst = (0.0, None);
        let count = examples.len();
        for (done, example) in examples.iter_mut().enumerate() {
            let name = example.name.clone();
            let doing = format!("pulling back {name}");
            let progress = &OneOf { progress, doing: &doing, done, count };
            let inverted =
                invert_example(bound, &self.base, rig, example, &InversionParams::default(), progress);
            let (inverted, inversion) = inverted.map_err(|error| match error {
                BlackBoxError::Cancelled(cancelled) => BaseError::Cancelled(cancelled),
                error => {
                    let (example, base) = (name.clone(), self.base.name().to_string());
                    BaseError::Invert { example, base, error }
                }
            })?;
            for (vertex, residual) in inversion.residuals.iter().enumerate() {
                if residual.length() > worst.0 {
                    worst = (residual.length(), Some((name.clone(), vertex)));
                }
            }
            reports.push(inversion.report);
            example.inverted = Some(inverted);
        }
        Ok(Some(InvertedExamples {
            through: self.base.name().to_string(),
            count,
            calls: reports.iter().map(|report| report.calls).sum(),
            seconds: begun.elapsed().as_secs_f64(),
            classes: classes(&reports),
            largest_residual: worst.0,
            worst: worst.1,
        }))
    }
}

/// Tells of each call of a base as of the example that it is made for.
struct OneOf<'a> {
    progress: &'a dyn Progress,
    doing: &'a str,
    done: usize,
    count: usize,
}

impl Progress for OneOf<'_> {
    fn step(&self, _: Step<'_>) -> Result<(), Cancelled> {
        self.progress.step(Step { doing: self.doing, done: self.done, count: Some(self.count) })
    }
}

fn classes(reports: &[InversionReport]) -> Vec<InvertedClass> {
    let of = |class: VertexClass| {
        let of_class = || reports.iter().map(move |report| report.of(class));
        let sum = |count: fn(&ClassReport) -> usize| of_class().map(count).sum::<usize>();
        InvertedClass {
            class,
            vertices: sum(|c| c.vertices),
            converged: sum(|c| c.converged),
            largest_residual: of_class().map(|c| c.largest).fold(0.0, f64::max),
        }
    };
    VertexClass::ALL.into_iter().map(of).filter(|class| class.vertices > 0).collect()
}
