//! `eigenskin demo`: the main job on a built-in hand, from rig to measured model.

use std::path::PathBuf;

use anyhow::{Context, Result, anyhow};
use eigenskin::jobs::demo::{Demo, DemoError, DemoOutcome, DemoPoses, DemoSettings, HandSettings};
use eigenskin::reports;
use serde_json::json;

use crate::fitting::summary;
use crate::output::{Output, figure};
use crate::progress::Terminal;
use crate::simulate::{by_option, outcome, plan};
use crate::{painter, rigs, spread, table};

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
    /// Poses of all joints to learn from: what joints do together
    #[arg(long, value_name = "N", default_value_t = 24)]
    multi_joint_poses: usize,
    /// Random poses of all joints to test with, besides fist, pinch and others [default: 6, full: 25]
    #[arg(long, value_name = "N")]
    validation_poses: Option<usize>,
    /// The most cells of the lattice that is the tissue [default: 1500, full: 3000]
    #[arg(long, value_name = "N")]
    max_cells: Option<usize>,
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

impl Args {
    fn settings(&self) -> DemoSettings {
        let sized = if self.full { HandSettings::of_the_paper() } else { HandSettings::default() };
        let hand = HandSettings {
            per_degree: self.per_degree.unwrap_or(sized.per_degree),
            multi_joint_poses: self.multi_joint_poses,
            validation_poses: self.validation_poses.unwrap_or(sized.validation_poses),
            max_cells: self.max_cells.unwrap_or(sized.max_cells),
            contact: !self.no_contact,
            ..sized
        };
        DemoSettings { triangles: self.triangles, hand }
    }
}

/// Runs the command.
pub fn run(args: &Args, quiet: bool) -> Result<()> {
    let output = Output::new(quiet, args.json.as_deref());
    let demo = Demo { settings: args.settings() };
    demo.settings.hand.check().map_err(by_option)?;
    let folder = &args.out;
    std::fs::create_dir_all(folder).with_context(|| format!("{} could not be made", folder.display()))?;

    let planned = demo.plan(&Terminal::new(quiet)).map_err(explained)?;
    output.item("hand", rigs::summary(&planned.hand.rig));
    plan::print_tissue(&output, &planned.simulation);
    let simulated = planned.simulate(&Terminal::new(quiet)).map_err(explained)?;
    outcome::print(&output, &simulated);
    let found =
        planned.learn(simulated, painter::for_reports()?, &Terminal::new(quiet)).map_err(explained)?;
    summary::print(&output, &found.fit);
    found.write(folder, args.report.as_deref())?;

    let page = args.report.clone().unwrap_or_else(|| DemoOutcome::REPORT.into());
    output.item("wrote", format!("{}:", folder.display()));
    output.item("", format!("{:<15} everything measured, to read in a browser", reports::file_name(&page)));
    output.item("", "model.glb       plays in any glTF viewer (clip \"grasp\")");
    output.item("", "comparison.png  truth, plain skinning, the model, what is left");
    output.item("", "rig.glb, examples.glb, validation.glb, report.json");
    print_table(&output, &found);
    output.json(&json!(found))
}

/// An error in the words of the command.
fn explained(error: DemoError) -> anyhow::Error {
    match error {
        DemoError::Simulate(error) => by_option(error),
        DemoError::TooFewPoses(error) => {
            anyhow!(error).context("too few poses could be simulated; try more --max-cells")
        }
        error => error.into(),
    }
}

fn print_table(output: &Output, outcome: &DemoOutcome) {
    let row = |name: &str, poses: &DemoPoses| {
        let evaluation = &poses.errors;
        vec![
            name.to_string(),
            figure(1000.0 * evaluation.skinning.rmse),
            figure(1000.0 * evaluation.model.rmse),
            format!("{:.2}°", evaluation.normal_angles.skinning_mean),
            format!("{:.2}°", evaluation.normal_angles.model_mean),
        ]
    };
    let sets = [
        ("training", &outcome.training),
        ("held out, one joint", &outcome.one_joint),
        ("held out, many joints", &outcome.many_joints),
    ];
    output.line("");
    let head = ["rmse in mm", "skinning", "model", "normals, skinning", "normals, model"];
    for line in table::lines(&head, &sets.map(|(name, poses)| row(name, poses))) {
        output.line(line);
    }
    output.line("");
    spread::print(output, &sets.map(|(name, poses)| (name, &poses.errors)));
}
