//! `eigenskin demo`: the main job on a built-in hand, from rig to measured model.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use eigenskin::characters::hand;
use eigenskin::examples::ExampleSet;
use eigenskin::gltf::{RigFile, SimulationRecord};
use eigenskin::jobs::fit::method::Learnt;
use eigenskin::jobs::fit::{Fit, FitOutcome, FitSettings};
use eigenskin::metrics::{Evaluation, evaluate_against};
use eigenskin::model::Model;
use eigenskin::progress::Unwatched;
use eigenskin::report::page::LengthUnit;
use eigenskin::reports::{self, DemoPage, DemoSet, PageStyle, demo_report};
use eigenskin::sim::jobs::Purpose;
use eigenskin::skinning::BaseSkinning;
use serde_json::{Value, json};

use crate::fitting::summary;
use crate::output::{Output, counted, figure, write_json};
use crate::pictures::{Look, Shown, compare, palm_view};
use crate::progress::Terminal;
use crate::simulate::hand::{HandPlan, SimulatedHand};
use crate::{painter, progress, table};

/// Simulate, fit and validate a hand: the main job on built-in data
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  eigenskin demo --out my-demo     (about a minute)\n  eigenskin demo --full            (all poses of the EigenSkin paper's experiment)"
)]
pub struct Args {
    /// The folder to write into
    #[arg(long, value_name = "DIR", default_value = "eigenskin-demo")]
    out: PathBuf,
    /// As many poses as the EigenSkin paper has: 120 of one joint to learn from, 25 random ones to test with
    #[arg(long)]
    full: bool,
    /// Poses per degree of freedom to learn from, one joint at a time [default: 4, full: 6]
    #[arg(long, value_name = "N")]
    per_degree: Option<usize>,
    /// Poses of two neighbouring joints to learn from
    #[arg(long, value_name = "N", default_value_t = 0)]
    coupled: usize,
    /// Poses of all joints to learn from: what joints do together
    #[arg(long, value_name = "N", default_value_t = 16)]
    together: usize,
    /// Random poses of all joints to test with, besides fist, pinch and others [default: 6, full: 25]
    #[arg(long, value_name = "N")]
    validation_poses: Option<usize>,
    /// The most cubes of the lattice that is the tissue [default: 1500, full: 3000]
    #[arg(long, value_name = "N")]
    cubes: Option<usize>,
    /// Let parts of the hand pass through each other: faster, and wrong where skin touches skin
    #[arg(long)]
    no_contact: bool,
    /// Triangles of the hand, an even number
    #[arg(long, default_value_t = 13_976)]
    triangles: usize,
    /// Where to write the HTML report [default: report.html in the folder]
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Write the figures as JSON to a file, or - for standard output
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
}

/// The pose that is drawn.
const SHOWN: &str = "fist";
const SEED: u64 = 2002;

impl Args {
    fn plan(&self) -> HandPlan {
        let choose =
            |given: Option<usize>, short, full| given.unwrap_or(if self.full { full } else { short });
        HandPlan {
            per_degree: choose(self.per_degree, 4, 6),
            between: true,
            coupled: self.coupled,
            together: self.together,
            validation_poses: choose(self.validation_poses, 6, 25),
            named_poses: true,
            seed: SEED,
            cubes: choose(self.cubes, 1500, 3000),
            contact: !self.no_contact,
        }
    }
}

/// Poses, how they were simulated, and in the end how far the model is from them.
struct Poses {
    set: ExampleSet,
    record: SimulationRecord,
}

impl Poses {
    /// The three sets: training, held out with one joint that moves, with many.
    fn of(simulated: &SimulatedHand) -> Result<[Self; 3]> {
        let SimulatedHand { simulation, params, outcome, between } = simulated;
        let part = |wanted: &dyn Fn(Purpose, &str) -> bool| -> Result<Self> {
            let set = outcome
                .examples(simulation.rig(), |pose| wanted(pose.purpose, &pose.example.name))
                .context("too few poses could be simulated; try more --cubes")?;
            Ok(Self { set, record: outcome.record(simulation, params, wanted) })
        };
        Ok([
            part(&|purpose, _| purpose == Purpose::Training)?,
            part(&|purpose, name| purpose == Purpose::Validation && between.contains(name))?,
            part(&|purpose, name| purpose == Purpose::Validation && !between.contains(name))?,
        ])
    }
}

/// A fit, what it was made from, and its errors: `set`.
struct Results<'a> {
    poses: &'a [Poses; 3],
    seconds: f64,
    outcome: &'a FitOutcome,
    errors: [&'a Evaluation; 3],
}

/// Runs the command.
pub fn run(args: &Args, quiet: bool) -> Result<()> {
    let output = Output::new(quiet, args.json.as_deref());
    let plan = args.plan();
    plan.check()?;
    std::fs::create_dir_all(&args.out)
        .with_context(|| format!("{} could not be made", args.out.display()))?;
    let file = |name: &str| args.out.join(name);

    let character = progress::while_doing(quiet, "building a hand", || hand(args.triangles))?;
    output.item("hand", crate::rigs::summary(&character.rig));
    let (times, motion) = character.demo_motion();
    let rig_file = RigFile::from_rig(character.rig.clone(), "hand")?.with_clip("grasp", &times, &motion)?;
    eigenskin::io::write_rig(&file("rig.glb"), &rig_file)?;

    let simulated = plan.simulate(&character, &output, quiet)?;
    let poses = Poses::of(&simulated)?;
    progress::while_doing(quiet, "writing the poses", || {
        write_poses(&args.out, &rig_file, &simulated, &poses)
    })?;

    let [training, single, multi] = &poses;
    let job = Fit::new(rig_file.clone(), Arc::new(training.set.clone()), FitSettings::default())?;
    let outcome = job.run(&Terminal::new(quiet))?;
    outcome.write(file("model.glb"))?;
    summary::print(&output, &outcome);

    let model = Arc::new(outcome.model().clone());
    let (on_single, on_multi) = (evaluate_against(&model, &single.set), evaluate_against(&model, &multi.set));
    let picture = progress::while_doing(quiet, "drawing", || comparison(&model, &multi.set))?;
    eigenskin::io::atomic::write_file(&file("comparison.png"), &picture)
        .context("comparison.png could not be written")?;

    let results = Results {
        poses: &poses,
        seconds: simulated.outcome.seconds,
        outcome: &outcome,
        errors: [&outcome.training, &on_single, &on_multi],
    };
    let page = args.report.clone().unwrap_or_else(|| file("report.html"));
    progress::while_doing(quiet, "writing the report", || write_report(&page, &results))?;
    let figures = json!({
        "simulation": simulation_json(&simulated, &poses),
        "fit": outcome,
        "held_out_single_joint": on_single,
        "held_out_multi_joint": on_multi,
    });
    write_json(&file("report.json"), &figures)?;
    output.item("wrote", format!("{}:", args.out.display()));
    output.item("", format!("{:<15} everything measured, to read in a browser", reports::file_name(&page)));
    output.item("", "model.glb       plays in any glTF viewer (clip \"grasp\")");
    output.item("", "comparison.png  truth, plain skinning, the model, what is left");
    output.item("", "rig.glb, examples.glb, validation.glb, report.json");
    print_table(&output, results.errors);
    output.json(&figures)
}

/// The training poses as one set, both kinds of held-out poses as another.
fn write_poses(
    folder: &Path,
    rig_file: &RigFile,
    simulated: &SimulatedHand,
    [training, single, multi]: &[Poses; 3],
) -> Result<()> {
    let path = folder.join("examples.glb");
    eigenskin::io::write_simulated_examples(&path, rig_file, &training.set, &training.record)?;
    let held_out = single.set.examples().iter().chain(multi.set.examples()).cloned().collect();
    let held_out = ExampleSet::new(rig_file.rig().clone(), held_out)?;
    let record = simulated
        .outcome
        .record(&simulated.simulation, &simulated.params, |purpose, _| purpose == Purpose::Validation);
    eigenskin::io::write_simulated_examples(&folder.join("validation.glb"), rig_file, &held_out, &record)?;
    Ok(())
}

/// What was simulated, for machines.
fn simulation_json(simulated: &SimulatedHand, poses: &[Poses; 3]) -> Value {
    let [training, single, multi] = poses.each_ref().map(|poses| &poses.record);
    let outcome = &simulated.outcome;
    json!({
        "cubes": training.cubes,
        "unknowns": training.unknowns,
        "contact": training.contact,
        "seconds": outcome.seconds,
        "dropped": outcome.dropped_json(),
        "poses": { "training": training.poses, "held_out_single_joint": single.poses, "held_out_multi_joint": multi.poses },
    })
}

/// The report of the demo: training, one joint, many joints.
fn write_report(path: &Path, results: &Results) -> Result<()> {
    let &Results { poses, seconds, outcome, errors } = results;
    let set = |index: usize| -> DemoSet<'_> {
        DemoSet { poses: &poses[index].set, record: &poses[index].record, evaluation: errors[index] }
    };
    let Learnt::EigenSkin(fit) = &outcome.learnt else { bail!("the demo learns by eigenskin") };
    let page = DemoPage {
        fit,
        training: set(0),
        one_joint: set(1),
        many_joints: set(2),
        seconds,
        written: reports::written_file("model.glb", &outcome.written),
    };
    let style =
        PageStyle { painter: painter::for_reports()?, view: palm_view(), unit: LengthUnit::millimetres() };
    Ok(reports::write_report(path, &demo_report(&page, &style, &Unwatched)?)?)
}

fn print_table(output: &Output, [training, single, multi]: [&Evaluation; 3]) {
    let row = |name: String, evaluation: &Evaluation| {
        vec![
            name,
            figure(1000.0 * evaluation.skinning.rmse),
            figure(1000.0 * evaluation.model.rmse),
            evaluation.relative_error.map_or("–".to_string(), |error| format!("{error:.3}")),
            format!("{:.2}°", evaluation.normal_angles.skinning_mean),
            format!("{:.2}°", evaluation.normal_angles.model_mean),
        ]
    };
    let rows = [
        row(format!("training, {}", counted(training.poses, "pose", "poses")), training),
        row(format!("held out, one joint, {}", counted(single.poses, "pose", "poses")), single),
        row(format!("held out, many joints, {}", counted(multi.poses, "pose", "poses")), multi),
    ];
    output.line("");
    let head = ["rmse in mm", "skinning", "model", "model / skinning", "normals, skinning", "normals, model"];
    for line in table::lines(&head, &rows) {
        output.line(line);
    }
}

/// A pose that nobody trained on: truth, skinning, model, and both errors.
fn comparison(model: &Arc<Model>, truth: &ExampleSet) -> Result<Vec<u8>> {
    let shown = truth.examples().iter().position(|example| example.name == SHOWN).unwrap_or(0);
    let plain = Arc::new(Model::without_corrections(model.rig().clone(), BaseSkinning::LinearBlend));
    let models = [("plain skinning", &plain), ("eigenskin", model)]
        .map(|(caption, model)| Shown { caption: caption.to_string(), model });
    compare(truth, shown, ", held out", &models, Look::ShapesAndErrors, palm_view())
}
