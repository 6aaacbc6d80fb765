//! `eigenskin style`: the difference between two deformations, transferred to a third character.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use clap::ValueEnum;
use eigenskin::frame_slice::FrameSlice;
use eigenskin::io::read_joint_map;
use eigenskin::jobs::fit::{FitSettings, Wanted};
use eigenskin::jobs::style::{
    OpenedSet, Style, StyleInputs, StyleJobError, StyleOutcome, StyleSettings, StyleWarning,
};
use eigenskin::method::ChoiceParams;
use eigenskin::skinning::BaseSkinning;
use eigenskin::style::{ChosenBy, Form, MatchedBy, Regions, Space, SpaceChoice, StyleParams};

use crate::fitting::summary;
use crate::fitting::works_with::{WorksWith, check_options};
use crate::output::{Output, bytes, counted, figure};
use crate::progress::Terminal;
use crate::rigs;

/// Transfer the difference between two deformations of one character to another character
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  eigenskin style --from plain.glb muscular.glb --to child.glb -o muscular-child.glb\n  eigenskin style --from soft.glb stiff.glb --to other.glb -o other-stiff.glb --amount 0.5 --map joints.toml\n  eigenskin style --from soft.glb stiff.glb --to other.glb -o model.glb --model --per-vertex 10\n\nThe map file has one line per joint:\n  [joints]\n  \"joint of Y1\" = \"joint of X1\""
)]
pub struct Args {
    /// Two deformations of one character: example sets (.glb, .gltf, .npz); what leads from the first to
    /// the second is the style
    #[arg(long, num_args = 2, value_names = ["X1", "X2"], required = true)]
    from: Vec<PathBuf>,
    /// The deformation that gets the style: an example set of a character with the same joints
    #[arg(long, value_name = "Y1")]
    to: PathBuf,
    /// The example set to write, or the model with --model
    #[arg(long, short, value_name = "Y2.glb")]
    output: PathBuf,
    /// How much of the style: 0 is none, 1 all of it
    #[arg(long, value_name = "SHARE", default_value_t = 1.0)]
    amount: f64,
    /// The most signals of X1 that carry the style [default: as many as X1 has above its rounding]
    #[arg(long, value_name = "K", hide_short_help = true)]
    signals: Option<usize>,
    /// Poses to take of each set, as a Python slice START:STOP:STEP
    #[arg(long, value_name = "A:B:C", allow_hyphen_values = true)]
    frames: Option<FrameSlice>,
    /// Which joint is which: a TOML file, [joints] with lines "joint of Y1" = "joint of X1"; without it
    /// joints of equal names, else in equal order
    #[arg(long, value_name = "FILE.toml")]
    map: Option<PathBuf>,
    /// What displacements are measured from [default: what carries the style best to poses that are left
    /// out in turn]
    #[arg(long, value_enum, hide_short_help = true)]
    space: Option<SpaceArg>,
    /// One map for the whole skin, as in the paper, or corrected for the skin of each joint
    #[arg(long, value_enum, default_value = "whole")]
    regions: RegionsArg,
    /// Keep within the signals of X1: the paper's other form
    #[arg(long, hide_short_help = true)]
    projected: bool,
    /// Write a model learnt from the result instead of an example set, by fit's default method
    #[arg(long)]
    model: bool,
    /// Write what was done as JSON to a file, or - for standard output
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
    /// Most components of the model that may move one vertex [default: 10]
    #[arg(long, value_name = "N")]
    per_vertex: Option<usize>,
}

#[derive(Clone, Copy, ValueEnum)]
enum SpaceArg {
    /// the rigid motion of the nearest bones, with a smooth border
    NearestBones,
    /// that of the nearest bone alone, as in the paper
    Rigid,
    /// linear blending
    Linear,
    /// dual quaternion skinning
    DualQuaternion,
}

#[derive(Clone, Copy, ValueEnum)]
enum RegionsArg {
    /// all vertices
    Whole,
    /// the skin of each joint
    Joints,
}

impl Args {
    fn settings(&self) -> Result<StyleSettings> {
        Ok(StyleSettings {
            amount: self.amount,
            capture: StyleParams {
                signals: self.signals,
                form: if self.projected { Form::Projected } else { Form::Factored },
                regions: match self.regions {
                    RegionsArg::Whole => Regions::Whole,
                    RegionsArg::Joints => Regions::joints(),
                },
                space: self.space.map(|space| match space {
                    SpaceArg::NearestBones => Space::NearestBones,
                    SpaceArg::Rigid => Space::Skinning(BaseSkinning::Rigid),
                    SpaceArg::Linear => Space::Skinning(BaseSkinning::LinearBlend),
                    SpaceArg::DualQuaternion => Space::Skinning(BaseSkinning::DualQuaternion),
                }),
                joint_map: self.map.as_deref().map(read_joint_map).transpose()?,
            },
            fit: self.fit()?,
        })
    }

    /// How to fit a model, where one is asked for.
    fn fit(&self) -> Result<Option<FitSettings>> {
        let of_model = WorksWith {
            option: "--per-vertex",
            given: self.per_vertex.is_some(),
            with: "--model".to_string(),
            chosen: self.model,
            instead: "an example set".to_string(),
        };
        check_options(&[of_model])?;
        let default = ChoiceParams::default();
        let per_vertex = self.per_vertex.unwrap_or(default.per_vertex);
        let method = Wanted::Best(ChoiceParams { per_vertex, ..default });
        Ok(self.model.then(|| FitSettings { method, ..FitSettings::default() }))
    }
}

/// Runs the command.
pub fn run(args: &Args, quiet: bool) -> Result<()> {
    let output = Output::new(quiet, args.json.as_deref());
    let settings = args.settings()?;
    let (first, second) = (&args.from[0], &args.from[1]);
    let mut given: Vec<&Path> = vec![first, second, &args.to];
    given.extend(args.map.as_deref());
    rigs::check_not_input(&args.output, &given)?;
    let inputs =
        StyleInputs { from: first.clone(), to: second.clone(), target: args.to.clone(), frames: args.frames };
    let job = Style::open(&inputs, settings).map_err(|error| match (&error, args.frames) {
        (StyleJobError::Frames { .. }, Some(frames)) => anyhow!("{error} (--frames {frames})"),
        _ => error.into(),
    })?;
    print_sets(&output, args, &job);
    let outcome = job.run(&Terminal::new(quiet)).map_err(|error| with_files(args, error))?;
    print(&output, &outcome);
    let size = outcome.write(&args.output)?;
    if let Some(model) = &outcome.model {
        if let Some(choice) = &model.choice {
            summary::print_choice(&output, choice);
        }
        summary::print(&output, model);
    }
    output.item("wrote", format!("{} ({})", args.output.display(), bytes(size)));
    output.json(&serde_json::to_value(&outcome)?)
}

/// Says which files, or which option, are meant.
fn with_files(args: &Args, error: StyleJobError) -> anyhow::Error {
    match &error {
        StyleJobError::Amount { .. } => anyhow::Error::new(error).context("--amount"),
        StyleJobError::Style(_) => anyhow::Error::new(error).context(format!(
            "{} cannot take the style of {}",
            args.to.display(),
            args.from[0].display()
        )),
        _ => error.into(),
    }
}

fn print_sets(output: &Output, args: &Args, job: &Style) {
    let notes = |opened: &OpenedSet| {
        for note in &opened.file.notes {
            output.item("", note);
        }
        if let Some(guess) = &opened.guessed {
            rigs::tell_references(opened.set.rig(), guess, "", output);
        }
    };
    notes(&job.from);
    notes(&job.target);
    output.item(
        "from",
        format!(
            "{} → {}: {}; {} and {}",
            args.from[0].display(),
            args.from[1].display(),
            rigs::summary(job.from.set.rig()),
            job.from.set.len(),
            counted(job.to.len(), "pose", "poses")
        ),
    );
    let target = &job.target.set;
    let poses = counted(target.len(), "pose", "poses");
    output.item("to", format!("{}: {}; {poses}", args.to.display(), rigs::summary(target.rig())));
}

fn print(output: &Output, outcome: &StyleOutcome) {
    let (report, transferred) = (&outcome.report, &outcome.transferred);
    let by = match report.matched_by {
        MatchedBy::Map => "by the map",
        MatchedBy::Names => "by name",
        MatchedBy::Order => "by order",
    };
    output.item("joints", format!("{} matched {by}", counted(report.matched_joints, "joint", "joints")));
    let interpolated = outcome.interpolated().len();
    let equal = report.found.len() - interpolated;
    let guessed = match interpolated {
        0 => String::new(),
        count => format!(", {count} interpolated"),
    };
    output.item("poses", format!("{equal} of {} found by equal joint angles{guessed}", report.found.len()));
    output.item("space", space(&report.space));
    output.item(
        "style",
        format!(
            "{} of 100 (rmse, size of X1); {} of numerical rank {} carry {} of it",
            figure(100.0 * report.style_size),
            counted(report.signals, "signal", "signals"),
            report.rank,
            percent(report.carried)
        ),
    );
    output.item(
        "result",
        format!(
            "moves by {} of 100 (rmse, size of Y1) at amount {}; {} of Y1's displacements follow these signals",
            figure(100.0 * transferred.change),
            outcome.amount,
            percent(transferred.shared)
        ),
    );
    warn(output, &outcome.warnings());
}

/// What displacements are measured from, and why.
fn space(choice: &SpaceChoice) -> String {
    let name = choice.space.description();
    let left = |space: Space| choice.left.iter().find(|(other, _)| *other == space).map_or(0.0, |(_, l)| *l);
    let others = choice.left.iter().filter(|(other, _)| *other != choice.space);
    let others: Vec<String> =
        others.map(|(other, left)| format!("{} {}", other.description(), percent(*left))).collect();
    let others = others.join(", ");
    let own = percent(left(choice.space));
    match choice.by {
        ChosenBy::Asked => format!("displacements from {name}, as asked for"),
        ChosenBy::LeftOut => format!(
            "displacements from {name}: leave {own} of the style in poses that were left out in turn ({others})"
        ),
        ChosenBy::Carried => format!(
            "displacements from {name}, in which the poses shown carry the style best; poses left out in turn do not decide ({own} left; {others})"
        ),
    }
}

/// Guessed poses that are named before the rest is only counted.
const MOST_GUESSED: usize = 12;

fn warn(output: &Output, warnings: &[StyleWarning]) {
    let mut guessed = 0;
    for warning in warnings {
        let is_guess = matches!(warning, StyleWarning::Extrapolated(_));
        guessed += usize::from(is_guess);
        if is_guess && guessed > MOST_GUESSED {
            continue;
        }
        let option = match warning {
            StyleWarning::LittleCarried { .. } => " (--regions joints)",
            _ => "",
        };
        output.warning(format!("{warning}{option}"));
    }
    if guessed > MOST_GUESSED {
        output.warning(format!("{} more such poses and joints (--json lists all)", guessed - MOST_GUESSED));
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}
