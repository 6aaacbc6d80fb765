//! `eigenskin demo`: the main job on a built-in hand, from rig to measured model.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use eigenskin::articulation::NamedPose;
use eigenskin::characters::truth::SweptSkin;
use eigenskin::characters::{Character, hand};
use eigenskin::evaluate::Evaluator;
use eigenskin::examples::{Example, ExampleSet};
use eigenskin::fit::{EigenSkinFit, EigenSkinParams};
use eigenskin::glam::Vec3;
use eigenskin::metrics::{Evaluation, evaluate_against, vertex_errors};
use eigenskin::model::Model;
use eigenskin::skinning::BaseSkinning;
use eigenskin_io::{ModelWriteReport, RigFile};
use eigenskin_report::page::{LengthUnit, MeasuredSet, Report, SetKind};
use eigenskin_report::picture::{HeatScale, Panel, PictureParams, Surface, View, draw_panels};
use serde_json::json;

use crate::commands::{evaluate, fit};
use crate::output::{Output, counted, figure, write_json};
use crate::{progress, report, table};

/// Build, fit and validate a hand: the main job on built-in data
#[derive(clap::Args)]
#[command(after_help = "Example:\n  eigenskin demo --out my-demo")]
pub struct Args {
    /// The folder to write into
    #[arg(long, value_name = "DIR", default_value = "eigenskin-demo")]
    out: PathBuf,
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

/// Training poses per degree of freedom, as in the EigenSkin paper.
const SWEEP: usize = 6;
/// Multi-joint validation poses, as in the EigenSkin paper.
const MULTI_JOINT: usize = 25;
const SEED: u64 = 2002;

/// Runs the command.
pub fn run(args: &Args, quiet: bool) -> Result<()> {
    let output = Output::new(quiet, args.json.as_deref());
    std::fs::create_dir_all(&args.out)
        .with_context(|| format!("{} could not be made", args.out.display()))?;
    let file = |name: &str| args.out.join(name);

    let character = progress::while_doing(quiet, "building a hand", || hand(args.triangles))?;
    let rig = character.rig.clone();
    output.item("hand", crate::rigs::summary(&rig));
    let (times, motion) = character.demo_motion();
    let rig_file = RigFile::from_rig(rig.clone(), "hand")?.with_clip("grasp", &times, &motion)?;
    eigenskin_io::write_rig(&file("rig.glb"), &rig_file)?;

    let (training, single, multi) = progress::while_doing(quiet, "bending it", || {
        anyhow::Ok((
            observed(&character, character.single_joint_poses(SWEEP))?,
            observed(&character, character.single_joint_poses_between(SWEEP))?,
            observed(&character, character.multi_joint_poses(MULTI_JOINT, SEED))?,
        ))
    })?;
    let validation: Vec<Example> = single.examples().iter().chain(multi.examples()).cloned().collect();
    let validation = ExampleSet::new(rig.clone(), validation)?;
    output.item(
        "poses",
        format!(
            "{} to learn from; {} single-joint and {} multi-joint ones to test on",
            training.len(),
            single.len(),
            multi.len()
        ),
    );
    output.item("truth", "an analytic bend with bulges, a stand-in for simulated tissue");
    progress::while_doing(quiet, "writing the poses", || {
        eigenskin_io::write_examples(&file("examples.glb"), &rig_file, &training)?;
        eigenskin_io::write_examples(&file("validation.glb"), &rig_file, &validation)
    })?;

    let (fitted, on_training) = fit::fit_and_measure(&training, &EigenSkinParams::default(), quiet)?;
    let written = fit::write(&file("model.glb"), &rig_file, &training, &fitted, quiet)?;
    fit::print_fit(&output, &fitted, &on_training, &written);

    let model = Arc::new(fitted.model.clone());
    let on_single = evaluate_against(&model, &single);
    let on_multi = evaluate_against(&model, &multi);
    let picture = progress::while_doing(quiet, "drawing", || comparison(&model, &multi, &on_multi))?;
    eigenskin_io::atomic::write_file(&file("comparison.png"), &picture)
        .context("comparison.png could not be written")?;

    let page = args.report.clone().unwrap_or_else(|| file("report.html"));
    progress::while_doing(quiet, "writing the report", || {
        let sets = [(&training, &on_training), (&single, &on_single), (&multi, &on_multi)];
        write_report(&page, &fitted, &written, sets)
    })?;

    let figures = json!({
        "fit": fit::fit_json(&fitted, &on_training, &written),
        "held_out_single_joint": evaluate::evaluation_json(&on_single),
        "held_out_multi_joint": evaluate::evaluation_json(&on_multi),
    });
    write_json(&file("report.json"), &figures)?;
    output.item("wrote", format!("{}:", args.out.display()));
    output.item("", format!("{:<15} everything measured, to read in a browser", report::file_name(&page)));
    output.item("", "model.glb       plays in any glTF viewer (clip \"grasp\")");
    output.item("", "comparison.png  truth, plain skinning, the model, what is left");
    output.item("", "rig.glb, examples.glb, validation.glb, report.json");
    print_table(&output, &on_training, &on_single, &on_multi);
    output.json(&figures)
}

/// The report of the demo: training, one joint, many joints.
fn write_report(
    path: &Path,
    fitted: &EigenSkinFit,
    written: &ModelWriteReport,
    sets: [(&ExampleSet, &Evaluation); 3],
) -> Result<()> {
    let unit = LengthUnit { name: "mm".to_string(), per_model_unit: 1000.0 };
    let view = comparison_view();
    let names = [
        ("training", SetKind::Training, ""),
        ("held out, one joint", SetKind::HeldOut, "when one joint moves"),
        ("held out, many joints", SetKind::HeldOut, "when many joints move at once"),
    ];
    let measured: Vec<MeasuredSet> = names
        .into_iter()
        .zip(sets)
        .map(|((name, kind, when), (truth, evaluation))| MeasuredSet {
            name: name.to_string(),
            kind,
            when: when.to_string(),
            evaluation,
            truth: Some(truth),
        })
        .collect();
    let model = Arc::new(fitted.model.clone());
    let truths = sets.map(|(truth, _)| truth);
    let methods = report::methods(Some((truths[0], &EigenSkinParams::default())), &truths)?;
    let mut pictures = report::worst(&model, &measured[2], sets[2].1, 2, view, &unit)?;
    pictures.extend(report::worst(&model, &measured[1], sets[1].1, 1, view, &unit)?);
    pictures.extend(report::components(fitted, view, &unit)?);
    let page = Report {
        title: "A hand that bends".to_string(),
        notes: vec![
            "The hand and its poses are built in. The true shapes are an analytic bend with bulges, a \
             stand-in for simulated tissue."
                .to_string(),
        ],
        unit,
        model: &fitted.model,
        fit: Some(fitted),
        sets: measured,
        methods,
        written: Some(report::written(Path::new("model.glb"), written)),
        pictures,
    };
    report::write(path, &page)
}

/// The true shapes of some poses.
fn observed(character: &Character, poses: Vec<NamedPose>) -> Result<ExampleSet> {
    let skin = SweptSkin::new(character);
    let examples = poses
        .into_iter()
        .map(|NamedPose { name, pose }| {
            let positions = skin.shape(&pose);
            Example { name, pose, positions, normals: None }
        })
        .collect();
    Ok(ExampleSet::new(character.rig.clone(), examples)?)
}

fn print_table(output: &Output, training: &Evaluation, single: &Evaluation, multi: &Evaluation) {
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

/// On the palm, a little from below.
fn comparison_view() -> View {
    View { from_direction: Vec3::new(0.3, -0.4, 1.0), up: Vec3::Y, ..View::default() }
}

/// A pose that nobody trained on: truth, skinning, model, and both errors.
fn comparison(model: &Arc<Model>, truth: &ExampleSet, errors: &Evaluation) -> Result<Vec<u8>> {
    let shown = truth.examples().iter().position(|example| example.name == "fist").unwrap_or(0);
    let example = &truth.examples()[shown];
    let shape = |model: &Arc<Model>| {
        let mut positions = vec![Vec3::ZERO; example.positions.len()];
        let mut normals = positions.clone();
        Evaluator::new(model.clone()).evaluate(&example.pose, &mut positions, Some(&mut normals));
        (positions, normals)
    };
    let plain = Arc::new(Model::without_corrections(model.rig().clone(), BaseSkinning::LinearBlend));
    let (plain_positions, plain_normals) = shape(&plain);
    let (model_positions, model_normals) = shape(model);
    let true_normals = truth.normals_of(shown);
    let millimetres = |positions: &[Vec3]| {
        vertex_errors(positions, &example.positions).iter().map(|e| 1000.0 * e).collect::<Vec<f32>>()
    };
    let (plain_errors, model_errors) = (millimetres(&plain_positions), millimetres(&model_positions));
    let rmse = |of: f64| format!("rmse {} mm", figure(1000.0 * of));
    let panel = |caption: String, positions, normals, surface| Panel { caption, positions, normals, surface };
    let pose = &errors.per_pose[shown];
    let panels = [
        panel(format!("truth\n{}, held out", pose.name), &example.positions, &true_normals, Surface::Skin),
        panel("plain skinning\n".to_string(), &plain_positions, &plain_normals, Surface::Skin),
        panel(
            format!("error of skinning\n{}", rmse(pose.skinning_rmse)),
            &plain_positions,
            &plain_normals,
            Surface::Heat { errors: &plain_errors },
        ),
        panel("eigenskin\n".to_string(), &model_positions, &model_normals, Surface::Skin),
        panel(
            format!("error of eigenskin\n{}", rmse(pose.model_rmse)),
            &model_positions,
            &model_normals,
            Surface::Heat { errors: &model_errors },
        ),
    ];
    let params = PictureParams {
        panel_width: 360,
        panel_height: 440,
        columns: 5,
        view: comparison_view(),
        heat: HeatScale { maximum: None, label: "error in mm".to_string() },
        ..PictureParams::default()
    };
    Ok(draw_panels(model.rig().mesh(), &panels, &params)?)
}
