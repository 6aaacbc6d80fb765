//! What corrections sit on, as it is typed: a skinning, or a file that describes a chain of deformers.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use eigenskin::deformers::{Base, BlackBox, BoundStack};
use eigenskin::displacements::black_box::{
    ClassReport, Inversion, InversionParams, InversionReport, VertexClass, invert_example,
};
use eigenskin::examples::{Example, ExampleSet};
use eigenskin::io::{BoxFile, read_box};
use eigenskin::metrics::{Evaluation, evaluate_against, evaluate_through};
use eigenskin::model::Model;
use eigenskin::rig::Rig;
use eigenskin::skinning::BaseSkinning;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};

use crate::output::{Output, counted, figure};

/// `--base` or `--through`.
#[derive(Debug, Clone)]
pub enum BaseArg {
    /// by name
    Skinning(BaseSkinning),
    /// a box file
    File(PathBuf),
}

/// Reads a name, or takes a path.
pub fn parse_base(text: &str) -> Result<BaseArg, String> {
    if let Some(skinning) = BaseSkinning::named(text) {
        return Ok(BaseArg::Skinning(skinning));
    }
    let path = PathBuf::from(text);
    match path.extension() {
        Some(extension) if extension.eq_ignore_ascii_case("toml") => Ok(BaseArg::File(path)),
        _ => Err("choose rigid, linear, dual-quaternion, or a box file (.toml)".to_string()),
    }
}

/// What corrections sit on, at work.
pub struct OpenBase {
    /// as models name it
    pub base: Base,
    /// bound to the rig, its programs started; none for skinnings in closed form
    black_box: Option<BoundStack>,
}

impl BaseArg {
    /// Reads the box file and binds it to `rig`, starting its programs.
    pub fn open(&self, rig: &Arc<Rig>) -> Result<OpenBase> {
        match self {
            Self::Skinning(skinning) => Ok(OpenBase { base: (*skinning).into(), black_box: None }),
            Self::File(path) => {
                let file: BoxFile = read_box(path)?;
                let black_box = file.open(rig).with_context(|| format!("{}", path.display()))?;
                Ok(OpenBase { base: Base::Deformers(Arc::new(file.stack)), black_box: Some(black_box) })
            }
        }
    }
}

impl OpenBase {
    /// What `model` or an example names, opened. Other programs are not started because a file says so.
    pub fn of(base: &Base, rig: &Arc<Rig>, what: &str) -> Result<Self> {
        let black_box = match base {
            Base::Skinning(_) => None,
            Base::Deformers(stack) if stack.has_external() => bail!(
                "{what} sits on {:?}, a chain with another program, which no file may start; give its box file with --base FILE.toml",
                stack.name
            ),
            Base::Deformers(stack) => Some(stack.bind(rig)?),
        };
        Ok(Self { base: base.clone(), black_box })
    }

    /// The same, or the one that was typed, which must be the same chain.
    pub fn of_or_typed(base: &Base, typed: Option<&BaseArg>, rig: &Arc<Rig>, what: &str) -> Result<Self> {
        let Some(typed) = typed else { return Self::of(base, rig, what) };
        let opened = typed.open(rig)?;
        if opened.base != *base {
            bail!(
                "{what} sits on {:?}, not on {:?}; give the box it was made with",
                base.name(),
                opened.base.name()
            );
        }
        Ok(opened)
    }

    /// The box, when there is one.
    pub fn black_box(&mut self) -> Option<&mut dyn BlackBox> {
        self.black_box.as_mut().map(|stack| stack as &mut dyn BlackBox)
    }

    /// Whether another program takes part.
    pub fn has_external(&self) -> bool {
        matches!(&self.base, Base::Deformers(stack) if stack.has_external())
    }

    /// The errors of a model on a set, through another program where one takes part.
    pub fn measure(&mut self, model: &Model, set: &ExampleSet) -> Result<Evaluation> {
        let model = Arc::new(model.clone());
        match (self.has_external(), self.black_box()) {
            (true, Some(black_box)) => Ok(evaluate_through(&model, black_box, set)?),
            _ => Ok(evaluate_against(&model, set)),
        }
    }

    /// Pulls the examples back that have not been, through the box, and tells how that went.
    pub fn invert(&mut self, set: ExampleSet, output: &Output, quiet: bool) -> Result<ExampleSet> {
        let base = self.base.clone();
        let open = |example: &Example| example.inverted.as_ref().is_none_or(|i| i.base != base);
        let count = set.examples().iter().filter(|example| open(example)).count();
        if self.black_box.is_none() || count == 0 {
            return Ok(set);
        }
        let rig = set.rig().clone();
        let mut inverting = Inverting::new(self, count, quiet);
        let mut examples = set.examples().to_vec();
        for example in &mut examples {
            if open(example) {
                example.inverted = Some(inverting.invert(&rig, example)?);
            }
        }
        inverting.finish(output);
        Ok(ExampleSet::new(rig, examples)?)
    }
}

/// Examples on their way back to rest.
struct Inverting<'a> {
    base: Base,
    black_box: Option<&'a mut BoundStack>,
    bar: ProgressBar,
    begun: Instant,
    count: usize,
    reports: Vec<InversionReport>,
    /// largest residual, its example and vertex
    worst: (f64, String, usize),
}

impl<'a> Inverting<'a> {
    fn new(open: &'a mut OpenBase, count: usize, quiet: bool) -> Self {
        let bar = ProgressBar::with_draw_target(Some(count as u64), ProgressDrawTarget::stderr());
        if quiet {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len} {msg} {elapsed}") {
            bar.set_style(style);
        }
        Self {
            base: open.base.clone(),
            black_box: open.black_box.as_mut(),
            bar,
            begun: Instant::now(),
            count,
            reports: Vec::new(),
            worst: (0.0, String::new(), 0),
        }
    }

    fn invert(&mut self, rig: &Rig, example: &Example) -> Result<eigenskin::examples::Inverted> {
        let Some(black_box) = self.black_box.as_deref_mut() else {
            bail!("{:?} has no box to pull examples back through", self.base.name());
        };
        let bar = &self.bar;
        let name = &example.name;
        let mut tell = |progress: eigenskin::displacements::black_box::InversionProgress| {
            bar.set_message(format!("pulling {name} back, call {}", progress.calls));
            bar.tick();
        };
        let params = InversionParams::default();
        let (inverted, inversion) =
            invert_example(black_box, &self.base, rig, example, &params, &mut tell)
                .with_context(|| format!("example {name:?} through {:?}", self.base.name()))?;
        self.bar.inc(1);
        self.note(name, &inversion);
        Ok(inverted)
    }

    fn note(&mut self, name: &str, inversion: &Inversion) {
        for (vertex, residual) in inversion.residuals.iter().enumerate() {
            if residual.length() > self.worst.0 {
                self.worst = (residual.length(), name.to_string(), vertex);
            }
        }
        self.reports.push(inversion.report);
    }

    fn finish(self, output: &Output) -> Value {
        self.bar.finish_and_clear();
        let calls: usize = self.reports.iter().map(|report| report.calls).sum();
        let seconds = self.begun.elapsed().as_secs_f64();
        output.item(
            "inverted",
            format!(
                "{} through {:?}: {}, {seconds:.1} s",
                counted(self.count, "example", "examples"),
                self.base.name(),
                counted(calls, "call of all vertices", "calls of all vertices")
            ),
        );
        let mut classes = Vec::new();
        for class in VertexClass::ALL {
            let of_class = || self.reports.iter().map(|report| report.of(class));
            let sum = |of: fn(&ClassReport) -> usize| of_class().map(of).sum::<usize>();
            let (vertices, converged) = (sum(|c| c.vertices), sum(|c| c.converged));
            if vertices == 0 {
                continue;
            }
            let largest = of_class().map(|c| c.largest).fold(0.0, f64::max);
            output.item(
                "",
                format!(
                    "{vertices} vertices {}: {converged} converged, at most {} off",
                    class.description(),
                    figure(largest)
                ),
            );
            classes.push(json!({
                "class": class.name(), "vertices": vertices, "converged": converged, "largest_residual": largest,
            }));
        }
        if self.worst.0 > 0.0 {
            let (length, name, vertex) = &self.worst;
            output.item(
                "",
                format!(
                    "the deformers cannot reach up to {} of {name} (vertex {vertex}): it is added after them",
                    figure(*length)
                ),
            );
        }
        json!({ "through": self.base.name(), "calls": calls, "seconds": seconds, "classes": classes, "largest_residual": self.worst.0 })
    }
}
