//! The experiments of Xian, Lewis 2006: directions of corrections (§4.2), deformers as black boxes (§5),
//! and a thumb with one example (Figure 9), here against the simulated truth.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use eigenskin::articulation::NamedPose;
use eigenskin::characters::{Character, hand};
use eigenskin::deformers::Base;
use eigenskin::examples::ExampleSet;
use eigenskin::gltf::RigFile;
use eigenskin::jobs::render::{ComparisonLook, ShownModel, comparison_picture, palm_view};
use eigenskin::jobs::simulate::{SimulationJobs, SimulationPlan, TissueSettings};
use eigenskin::method::DeltaSpace;
use eigenskin::method::{PsdParams, fit_examples};
use eigenskin::metrics::evaluate_against;
use eigenskin::model::{Frame, Model};
use eigenskin::progress::Unwatched;
use eigenskin::report::page::Shot;
use eigenskin::report::picture::painter::CpuPainter;
use eigenskin::sim::jobs::{Purpose, jobs_of_poses};
use eigenskin::skinning::BaseSkinning;
use serde_json::{Value, json};

use super::black_boxes::BlackBoxes;
use super::hinge::{Direction, LOOKED_AT, directions};
use super::{print_plan, print_simulated, rig_summary};
use crate::output::{Output, figure, write, write_figures};

/// Xian, Lewis 2006: inverse against forward pose space deformation
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  eigenskin-lab reproduce xian --out xian\n  eigenskin-lab reproduce xian --joint thumb-phalanx-proximal --max-cells 1500"
)]
pub struct Args {
    /// The joint of the hand that bends by 66.8°
    #[arg(long, value_name = "NAME", default_value = "thumb-phalanx-distal")]
    joint: String,
    /// The most cells of the lattice that is the tissue
    #[arg(long, value_name = "N", default_value_t = 2000)]
    max_cells: usize,
    /// Triangles of the hand, an even number
    #[arg(long, value_name = "N", default_value_t = 13_976)]
    triangles: usize,
    /// The folder to write reproduction.json and pictures into
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// The example of Figure 9, degrees.
const SCULPTED: f64 = 66.8;
/// Where Figure 9 looks between rest and the example, degrees.
const BETWEEN: [f64; 2] = [45.0, 60.0];

/// Runs the experiments.
pub fn run(args: &Args, output: &Output) -> Result<()> {
    if args.max_cells < 200 {
        bail!("--max-cells {} cannot fill five fingers; give at least 200", args.max_cells);
    }
    if let Some(folder) = &args.out {
        std::fs::create_dir_all(folder).with_context(|| format!("{} could not be made", folder.display()))?;
    }
    output.doing("building a hand");
    let character = hand(args.triangles)?;
    output.item("hand", rig_summary(&character.rig));
    let (example, truth) = simulated(args, &character, output)?;
    let thumb = Thumb::of(&example, truth)?;
    let directions = directions()?;
    output.doing("inverting black boxes");
    let boxes = BlackBoxes::run()?;
    print_directions(output, &directions);
    boxes.print(output);
    thumb.print(output, &args.joint);
    let mut figures = thumb.json();
    figures["black_boxes"] = boxes.json();
    figures["experiment"] = json!("xian");
    figures["joint"] = json!(args.joint);
    figures["directions"] = directions_json(&directions);
    if let Some(folder) = &args.out {
        thumb.write_files(folder, &figures, output)?;
    }
    output.figures(&figures)
}

/// The example and the truth between it and rest, bent on one way. A joint that bends alone touches
/// nothing, so contact is left out.
fn simulated(args: &Args, character: &Character, output: &Output) -> Result<(ExampleSet, ExampleSet)> {
    let skeleton = character.rig.skeleton();
    let bends = character
        .degrees_of_freedom
        .iter()
        .position(|degree| skeleton.joints()[degree.joint].name == args.joint);
    let Some(bends) = bends else {
        let mut known: Vec<&str> =
            character.degrees_of_freedom.iter().map(|d| skeleton.joints()[d.joint].name.as_str()).collect();
        known.dedup();
        bail!("--joint {:?} is no joint of the hand that bends; known are {}", args.joint, known.join(", "));
    };
    let pose = |degrees: f64| {
        let mut angles = vec![0.0; character.degrees_of_freedom.len()];
        angles[bends] = -degrees.to_radians();
        NamedPose { name: format!("{degrees}°"), pose: character.pose(&angles) }
    };
    let poses: Vec<NamedPose> = BETWEEN.into_iter().chain([SCULPTED]).map(pose).collect();
    let held_out = poses[..BETWEEN.len()].iter().map(|between| between.name.clone()).collect();
    let jobs = SimulationJobs {
        ranges: None,
        jobs: jobs_of_poses(&character.rig, &poses, Purpose::Training),
        held_out,
        before: None,
    };
    let file = RigFile::from_rig(character.rig.clone(), "hand")?;
    let tissue = TissueSettings { max_cells: args.max_cells, contact: false, ..TissueSettings::default() };
    let planned = SimulationPlan::new(file, jobs, &tissue, &[], output)?;
    print_plan(output, &planned);
    let simulated = planned.run(None, output)?;
    print_simulated(output, &simulated);
    if let Some(dropped) = simulated.dropped.first() {
        bail!("the pose at {} is not good enough to judge by: {}", dropped.name, dropped.reason);
    }
    let of = |wanted| simulated.examples(|purpose, _| purpose == wanted);
    Ok((of(Purpose::Training)?, of(Purpose::Validation)?))
}

/// Figure 9.
struct Thumb {
    truth: ExampleSet,
    methods: Vec<Method>,
}

struct Method {
    name: &'static str,
    key: &'static str,
    model: Arc<Model>,
    /// rmse at the example
    at_example: f64,
    /// `BETWEEN`, rmse
    between: Vec<f64>,
}

impl Thumb {
    fn of(example: &ExampleSet, truth: ExampleSet) -> Result<Self> {
        let psd = |deltas| -> Result<Model> {
            Ok(fit_examples(
                example,
                &Base::default(),
                &PsdParams { deltas, ..PsdParams::default() }.into(),
                &Unwatched,
            )?
            .model)
        };
        let forward = |frame| psd(DeltaSpace::Forward { frame });
        let linear = Model::without_corrections(example.rig().clone(), BaseSkinning::LinearBlend);
        let methods = [
            ("linear blending (SSD)", "linear_blending", linear),
            ("forward PSD", "forward", forward(Frame::Root)?),
            ("forward PSD, axes of the joint", "forward_heaviest_joint", forward(Frame::HeaviestJoint)?),
            ("inverse PSD", "inverse", psd(DeltaSpace::Inverse)?),
        ];
        let methods = methods
            .into_iter()
            .map(|(name, key, model)| {
                let model = Arc::new(model);
                let at_example = evaluate_against(&model, example, &Unwatched)?.model.rmse;
                let on_truth = evaluate_against(&model, &truth, &Unwatched)?;
                let between = on_truth.per_pose.iter().map(|pose| pose.model_rmse).collect();
                Ok(Method { name, key, model, at_example, between })
            })
            .collect::<Result<_>>()?;
        Ok(Self { truth, methods })
    }

    fn print(&self, output: &Output, joint: &str) {
        output.line("");
        output.line(format!("Figure 9: {joint} bent by {SCULPTED}° is the only example besides rest"));
        output.line("");
        let millimetres = |rmse: f64| figure(1000.0 * rmse);
        let rows: Vec<Vec<String>> = self
            .methods
            .iter()
            .map(|method| {
                let mut row = vec![method.name.to_string()];
                row.extend(method.between.iter().map(|&rmse| millimetres(rmse)));
                row.push(millimetres(method.at_example));
                row
            })
            .collect();
        let names: Vec<&str> = self.truth.examples().iter().map(|e| e.name.as_str()).collect();
        let example = format!("{SCULPTED}° (example)");
        let head = [&["rmse in mm from the simulated truth"], &names[..], &[example.as_str()]].concat();
        output.table(&head, &rows);
        output.line("");
        output.line("the paper (its own hand, judged by eye)");
        output.line("  linear blending collapses; inverse PSD is the better of the two in between");
        output.line("");
    }

    fn json(&self) -> Value {
        let names: Vec<&str> = self.truth.examples().iter().map(|e| e.name.as_str()).collect();
        let mut rmse = serde_json::Map::new();
        for method in &self.methods {
            let errors = json!({ "between": method.between, "example": method.at_example });
            rmse.insert(method.key.to_string(), errors);
        }
        json!({
            "vertices": self.truth.rig().vertex_count(),
            "contact": false,
            "example_degrees": SCULPTED,
            "between": names,
            "rmse": rmse,
        })
    }

    fn write_files(&self, folder: &Path, figures: &Value, output: &Output) -> Result<()> {
        write_figures(&folder.join("reproduction.json"), figures)?;
        let mut written = vec!["reproduction.json".to_string()];
        let kept = self.methods.iter().filter(|method| method.key != "forward_heaviest_joint");
        let models: Vec<ShownModel> = kept
            .map(|method| ShownModel { caption: method.name.to_string(), model: &method.model })
            .collect();
        for (index, degrees) in BETWEEN.iter().enumerate().take(self.truth.len()) {
            let name = format!("thumb-{degrees}.png");
            let png = comparison_picture(
                &self.truth,
                index,
                "",
                &models,
                ComparisonLook::ErrorsNear,
                Shot { painter: &CpuPainter, view: palm_view() },
            )?;
            let path = folder.join(&name);
            write(&path, &png)?;
            written.push(name);
        }
        output.item("wrote", format!("{}: {}", folder.display(), written.join(", ")));
        Ok(())
    }
}

fn print_directions(output: &Output, directions: &[Direction]) {
    output.line("");
    output.line("§4.2: how far the direction of a correction sculpted at 90° is turned back, in degrees");
    output.line("");
    let rows: Vec<Vec<String>> = directions
        .iter()
        .map(|direction| {
            let method = if direction.inverse { "inverse" } else { "forward" };
            let slope = if direction.inverse { f64::from(direction.weight) } else { 0.0 };
            let expected: Vec<String> =
                LOOKED_AT.iter().map(|degrees| format!("{}", slope * (90.0 - degrees))).collect();
            let mut row = vec![format!("{method} PSD, weight {}", direction.weight)];
            // No minus before a zero.
            row.extend(direction.turned_back.iter().map(|&back| format!("{:.2}", back.abs())));
            row.push(expected.join(", "));
            row
        })
        .collect();
    output.table(&["this run", "30°", "45°", "60°", "the paper"], &rows);
}

fn directions_json(directions: &[Direction]) -> Value {
    let rows: Vec<Value> = directions
        .iter()
        .map(|direction| {
            json!({
                "inverse": direction.inverse,
                "weight": direction.weight,
                "degrees": LOOKED_AT,
                "turned_back": direction.turned_back,
            })
        })
        .collect();
    Value::Array(rows)
}
