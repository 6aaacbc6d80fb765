//! Table I of Kim, Choi, Hoffmann 2011: how well and how fast signals over joints stand for a motion, on
//! stand-ins of the same size.

use std::time::Instant;

use anyhow::{Result, bail};
use eigenskin::characters::truth::SweptSkin;
use eigenskin::characters::{Character, arm, hand, hand_with_fingers};
use eigenskin::deformers::Base;
use eigenskin::evaluate::Evaluator;
use eigenskin::examples::{Example, ExampleSet};
use eigenskin::glam::Vec3;
use eigenskin::method::{Fit, ParameterizationParams, fit_examples};
use eigenskin::metrics::{ErrorSummary, shape_errors};
use eigenskin::pose::Pose;
use eigenskin::progress::Unwatched;
use serde_json::{Value, json};

use super::kim_transfers::{self, TransferRow};
use super::rig_summary;
use crate::output::{Output, figure};

/// Kim, Choi, Hoffmann 2011, Table I: signals over joints, by number of frames and of signals
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  eigenskin-lab reproduce kim-table1\n  eigenskin-lab reproduce kim-table1 --share 0.1 --json table.json"
)]
pub struct Args {
    /// Share of the paper's numbers of vertices
    #[arg(long, value_name = "SHARE", default_value_t = 1.0)]
    share: f64,
}

/// A row of the paper's table.
struct PaperRow {
    model: &'static str,
    stand_in: StandIn,
    frames: usize,
    /// what limits the signals here, at each coordinate of a vertex
    limit: usize,
    signals: usize,
    rmse: f64,
    largest: f64,
    seconds: f64,
    frames_per_second: f64,
}

#[derive(Clone, Copy, PartialEq)]
enum StandIn {
    Arm,
    Male,
    Female,
}

const fn male(frames: usize, limit: usize, signals: usize, figures: [f64; 4]) -> PaperRow {
    let [rmse, largest, seconds, frames_per_second] = figures;
    PaperRow {
        model: "male (5a)",
        stand_in: StandIn::Male,
        frames,
        limit,
        signals,
        rmse,
        largest,
        seconds,
        frames_per_second,
    }
}

const ROWS: [PaperRow; 6] = [
    PaperRow {
        model: "arm (3b)",
        stand_in: StandIn::Arm,
        frames: 20,
        limit: 12,
        signals: 68,
        rmse: 0.00216,
        largest: 0.09127,
        seconds: 4.403,
        frames_per_second: 8325.16,
    },
    male(11, 12, 312, [0.05218, 1.31168, 13.058, 4133.19]),
    male(28, 12, 493, [0.00500, 0.22317, 19.622, 2191.03]),
    male(55, 12, 512, [0.00345, 0.10871, 33.275, 1225.22]),
    male(55, 6, 265, [0.00354, 0.10870, 33.369, 1369.48]),
    male(55, 4, 176, [0.00420, 0.15525, 33.189, 1785.24]),
];

/// The second body's fingers, of the first's.
const SLENDER: f64 = 0.9;

impl StandIn {
    fn vertices(self) -> usize {
        match self {
            Self::Arm => 9071,
            Self::Male => 39_808,
            Self::Female => 38_389,
        }
    }

    /// Frames of the whole motion.
    fn motion(self) -> usize {
        if self == Self::Arm { 20 } else { 55 }
    }

    fn build(self, share: f64) -> Result<Character> {
        // A closed skin without handles has two triangles per vertex, less four.
        let vertices = (self.vertices() as f64 * share).round() as usize;
        let triangles = 2 * vertices.saturating_sub(2);
        Ok(match self {
            Self::Arm => arm(triangles)?,
            Self::Male => hand(triangles)?,
            Self::Female => hand_with_fingers(triangles, SLENDER)?,
        })
    }
}

/// Runs the experiment.
pub fn run(args: &Args, output: &Output) -> Result<()> {
    if !(args.share > 0.0 && args.share <= 1.0) {
        bail!("--share must be above 0 and at most 1, not {}", args.share);
    }
    output.line("Stand-ins: the built-in arm; for the bodies the built-in hand, as there is no built-in body. Their true");
    output.line("shapes are analytic (a swept, swelling skin), not simulated and not the paper's data.");
    let mut measured: Vec<(&PaperRow, Measured)> = Vec::new();
    let mut transfers = kim_transfers::of_figure_4()?;
    let mut male = None;
    for stand_in in [StandIn::Arm, StandIn::Male, StandIn::Female] {
        output.doing("building");
        let character = stand_in.build(args.share)?;
        let motion = motion(&character, stand_in.motion())?;
        output.item("stand-in", rig_summary(&character.rig));
        for row in ROWS.iter().filter(|row| row.stand_in == stand_in) {
            output.doing("fitting");
            let found = Measured::of(&motion, row)?;
            measured.push((row, found));
        }
        match (stand_in, &male) {
            (StandIn::Male, _) => {
                output.doing("transferring styles");
                transfers.extend(kim_transfers::of_male(&character, &motion)?);
                male = Some((character, motion));
            }
            (StandIn::Female, Some((male, shown))) => {
                output.doing("transferring styles");
                transfers.push(kim_transfers::of_female((male, shown), (&character, &motion))?);
            }
            _ => {}
        }
    }
    print(output, &measured, &transfers);
    let rows: Vec<Value> =
        rows_json(&measured).into_iter().chain(transfers.iter().map(TransferRow::json)).collect();
    output.figures(&json!({ "share": args.share, "truth": "analytic", "rows": rows }))
}

/// Frames in which all degrees of freedom swing to and fro, each at its own pace.
fn motion(character: &Character, frames: usize) -> Result<ExampleSet> {
    let skin = SweptSkin::new(character);
    let examples = (0..frames)
        .map(|frame| {
            let time = (frame + 1) as f64 / frames as f64;
            let angles: Vec<f64> = character
                .degrees_of_freedom
                .iter()
                .enumerate()
                .map(|(index, degree)| {
                    let pace = 1.0 + 0.37 * (index % 7) as f64;
                    let swing = 0.5 - 0.5 * (std::f64::consts::TAU * pace * time).cos();
                    let towards = if index % 2 == 0 { degree.highest } else { degree.lowest };
                    let furthest =
                        if towards.abs() < 1e-9 { degree.highest + degree.lowest } else { towards };
                    0.7 * swing * furthest
                })
                .collect();
            let pose = character.pose(&angles);
            let positions = skin.shape(&pose);
            Example { name: format!("frame {}", frame + 1), pose, positions, normals: None, inverted: None }
        })
        .collect();
    Ok(ExampleSet::new(character.rig.clone(), examples)?)
}

struct Measured {
    fit: Fit,
    radius: f64,
    vertices: usize,
    errors: ErrorSummary,
    seconds: f64,
    frames_per_second: f64,
}

impl Measured {
    /// Learns from frames spread evenly over the motion and measures on all of it.
    fn of(motion: &ExampleSet, row: &PaperRow) -> Result<Self> {
        let last = motion.len() - 1;
        let chosen: Vec<usize> = (0..row.frames).map(|f| f * last / (row.frames - 1).max(1)).collect();
        let set = motion.select(&chosen)?;
        let params = ParameterizationParams {
            per_coordinate: true,
            signals_per_vertex: Some(row.limit),
            normals: false,
            ..ParameterizationParams::default()
        };
        let start = Instant::now();
        let fit = fit_examples(&set, &Base::default(), &params.into(), &Unwatched)?;
        let seconds = start.elapsed().as_secs_f64();
        let model = std::sync::Arc::new(fit.model.clone());
        let errors =
            shape_errors(motion, |pose| shape(&mut Evaluator::new(model.clone()), pose), &Unwatched)?;
        let mut evaluator = Evaluator::new(model.clone());
        let start = Instant::now();
        for example in motion.examples() {
            shape(&mut evaluator, &example.pose);
        }
        let frames_per_second = motion.len() as f64 / start.elapsed().as_secs_f64();
        let radius = 0.5 * motion.rig().mesh().size();
        Ok(Self { fit, radius, vertices: motion.rig().vertex_count(), errors, seconds, frames_per_second })
    }
}

fn shape(evaluator: &mut Evaluator, pose: &Pose) -> Vec<Vec3> {
    let mut positions = vec![Vec3::ZERO; evaluator.model().rig().vertex_count()];
    evaluator.evaluate(pose, &mut positions, None);
    positions
}

fn print(output: &Output, measured: &[(&PaperRow, Measured)], transfers: &[TransferRow]) {
    let rows: Vec<Vec<String>> = measured
        .iter()
        .map(|(row, found)| {
            vec![
                row.model.to_string(),
                found.vertices.to_string(),
                row.frames.to_string(),
                format!("{} ({})", found.fit.model.component_count(), row.signals),
                figure(found.radius),
                figure(found.errors.rmse_of_100),
                figure(2.0 * found.errors.rmse_of_100),
                figure(row.rmse),
                figure(found.errors.max_of_100),
                figure(2.0 * found.errors.max_of_100),
                figure(row.largest),
                format!("{:.2} ({:.1})", found.seconds, row.seconds),
                format!("{:.0} ({:.0})", found.frames_per_second, row.frames_per_second),
                "–".to_string(),
            ]
        })
        .chain(transfers.iter().map(TransferRow::cells))
        .collect();
    let head = [
        "model", "n", "m", "k", "R", "RMSE d", "RMSE r", "paper", "MAXE d", "MAXE r", "paper", "seconds",
        "frames/s", "before d",
    ];
    output.line("");
    output.table(&head, &rows);
    output.line("");
    output.line("n vertices, m frames learnt from, k signals (of all parts and coordinates), R radius here. Errors over the");
    output.line("whole motion, with the diameter (d) or the radius (r) of the model set to 100: the paper may mean either.");
    output.line("In parentheses: the paper. Its frames/s are a graphics card's; these are one processor's, skinning included.");
    output.line("4d, 5b and 5c are style transfers; their seconds are those of the transfer, \"before\" is the RMSE d without it.");
    output.line("4: bars twisted to 170°, whose length is the size. 5b: a muscular style (deviations from linear blending half");
    output.line("as large again) on the body that shows it; 5c: the same on a body with slender fingers, against its own");
    output.line("muscular motion. Signals of transfers are shared by x, y and z, so there are at most 55.");
}

fn rows_json(measured: &[(&PaperRow, Measured)]) -> Vec<Value> {
    let row = |(row, found): &(&PaperRow, Measured)| {
        json!({
            "model": row.model,
            "vertices": found.vertices,
            "frames": row.frames,
            "signals_per_coordinate": row.limit,
            "signals": found.fit.model.component_count(),
            "parts": found.fit.learnt.parameterization().map(|learnt| learnt.parts.len()),
            "radius": found.radius,
            "rmse_of_diameter_100": found.errors.rmse_of_100,
            "rmse_of_radius_100": 2.0 * found.errors.rmse_of_100,
            "max_of_diameter_100": found.errors.max_of_100,
            "max_of_radius_100": 2.0 * found.errors.max_of_100,
            "seconds": found.seconds,
            "frames_per_second": found.frames_per_second,
            "paper": {
                "signals": row.signals,
                "rmse": row.rmse,
                "max": row.largest,
                "seconds": row.seconds,
                "frames_per_second": row.frames_per_second,
            },
        })
    };
    measured.iter().map(row).collect()
}
