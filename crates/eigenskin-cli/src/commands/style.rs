//! `eigenskin style`: the difference between two deformations, carried to a third character.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use eigenskin::examples::ExampleSet;
use eigenskin::gltf::RigFile;
use eigenskin::jobs::fit::method::Method;
use eigenskin::jobs::fit::{Fit, FitSettings, Wanted};
use eigenskin::method::EigenSkinParams;
use eigenskin::skinning::BaseSkinning;
use eigenskin::style::{
    Form, Found, MatchedBy, Regions, Space, StyleMap, StyleParams, StyleReport, Transferred,
};
use serde_json::{Value, json};

use crate::fitting::options::{Belonging, EigenSkinArgs, check_belongings};
use crate::fitting::summary;
use crate::output::{Output, bytes, counted, figure};
use crate::progress::Terminal;
use crate::{frames, joint_map, progress, rigs};

/// Carry the difference between two deformations of one character to another character
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
    #[arg(long, value_name = "K")]
    signals: Option<usize>,
    /// Poses to take of each set, as a Python slice START:STOP:STEP
    #[arg(long, value_name = "A:B:C", allow_hyphen_values = true)]
    frames: Option<String>,
    /// Which joint is which: a TOML file, [joints] with lines "joint of Y1" = "joint of X1"; without it
    /// joints of equal names, else in equal order
    #[arg(long, value_name = "FILE.toml")]
    map: Option<PathBuf>,
    /// What displacements are measured from
    #[arg(long, value_enum, default_value = "nearest-bones")]
    space: SpaceArg,
    /// One map for the whole skin, as in the paper, or corrected for the skin of each joint
    #[arg(long, value_enum, default_value = "whole")]
    regions: RegionsArg,
    /// Keep within the signals of X1: the paper's other form
    #[arg(long)]
    projected: bool,
    /// Write a model learnt from the result instead of an example set, by fit's default method
    #[arg(long)]
    model: bool,
    /// Write what was done as JSON to a file, or - for standard output
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
    // Last, as its heading in the help holds for all that follows.
    #[command(flatten)]
    eigenskin: EigenSkinArgs,
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
    fn params(&self) -> Result<StyleParams> {
        if !(0.0..=1.0).contains(&self.amount) {
            bail!("--amount must be from 0 (nothing) to 1 (all of the style), not {}", self.amount);
        }
        let of_model = |(option, given)| Belonging {
            option,
            given,
            to: "--model",
            chosen: self.model,
            instead: "an example set".to_string(),
        };
        check_belongings(&self.eigenskin.given().map(of_model))?;
        let map = self.map.as_deref();
        Ok(StyleParams {
            signals: self.signals,
            form: if self.projected { Form::Projected } else { Form::Factored },
            regions: match self.regions {
                RegionsArg::Whole => Regions::Whole,
                RegionsArg::Joints => Regions::joints(),
            },
            space: match self.space {
                SpaceArg::NearestBones => Space::NearestBones,
                SpaceArg::Rigid => Space::Skinning(BaseSkinning::Rigid),
                SpaceArg::Linear => Space::Skinning(BaseSkinning::LinearBlend),
                SpaceArg::DualQuaternion => Space::Skinning(BaseSkinning::DualQuaternion),
            },
            joint_map: map
                .map(|path| joint_map::read(path, "\"joint of Y1\" = \"joint of X1\""))
                .transpose()?,
        })
    }
}

/// Runs the command.
pub fn run(args: &Args, quiet: bool) -> Result<()> {
    let output = Output::new(quiet, args.json.as_deref());
    let params = args.params()?;
    let (first, second) = (&args.from[0], &args.from[1]);
    let mut inputs: Vec<&Path> = vec![first, second, &args.to];
    inputs.extend(args.map.as_deref());
    rigs::check_not_input(&args.output, &inputs)?;
    let (_, before) = read(first, args.frames.as_deref(), &output)?;
    let after = eigenskin::io::read_examples(second, &rigs::read_options(None))?.1;
    let after = frames::select(rigs::examples_for(before.rig(), after, second)?, args.frames.as_deref())?;
    let (file, target) = read(&args.to, args.frames.as_deref(), &output)?;
    output.item(
        "from",
        format!(
            "{} → {}: {}; {} and {}",
            first.display(),
            second.display(),
            rigs::summary(before.rig()),
            before.len(),
            counted(after.len(), "pose", "poses")
        ),
    );
    output.item(
        "to",
        format!(
            "{}: {}; {}",
            args.to.display(),
            rigs::summary(target.rig()),
            counted(target.len(), "pose", "poses")
        ),
    );
    let map = progress::while_doing(quiet, "capturing the style", || {
        StyleMap::capture(&before, &after, &target, &params)
    })
    .with_context(|| format!("{} cannot take the style of {}", args.to.display(), first.display()))?;
    let done = progress::while_doing(quiet, "carrying it over", || map.transfer(&target, args.amount))?;
    print(&output, &target, &map.report, &done, args.amount);
    let mut figures = json_of(&target, &map.report, &done, args.amount);
    figures["model"] = if args.model {
        write_model(args, &file, &done.set, &output, quiet)?
    } else {
        let size = progress::while_doing(quiet, "writing", || {
            eigenskin::io::write_examples(&args.output, &file, &done.set)?;
            Ok::<_, anyhow::Error>(args.output.metadata().map_or(0, |metadata| metadata.len() as usize))
        })?;
        output.item("wrote", format!("{} ({})", args.output.display(), bytes(size)));
        Value::Null
    };
    output.json(&figures)
}

/// An example set with settled reference joints, and the poses asked for.
fn read(path: &Path, slice: Option<&str>, output: &Output) -> Result<(RigFile, ExampleSet)> {
    let (file, set) = eigenskin::io::read_examples(path, &rigs::read_options(None))?;
    for note in &file.notes {
        output.item("", note);
    }
    let rig = rigs::settle_references(set.rig().clone(), None, output)?;
    let file = file.with_rig(rig)?;
    let set = rigs::examples_for(file.rig(), set, path)?;
    let set = frames::select(set, slice).with_context(|| format!("{}", path.display()))?;
    Ok((file, set))
}

/// Fits a model to the result and writes it.
fn write_model(args: &Args, file: &RigFile, set: &ExampleSet, output: &Output, quiet: bool) -> Result<Value> {
    let method = Method::EigenSkin(args.eigenskin.params(EigenSkinParams::default()));
    let settings = FitSettings { method: Wanted::This(method), ..FitSettings::default() };
    let outcome = Fit::new(file.clone(), Arc::new(set.clone()), settings)?.run(&Terminal::new(quiet))?;
    outcome.write(&args.output)?;
    summary::print(output, &outcome);
    output.item("wrote", format!("{} ({})", args.output.display(), bytes(outcome.written.bytes)));
    Ok(serde_json::to_value(&outcome)?)
}

/// Warnings of one kind before the rest is only counted.
const MOST_WARNINGS: usize = 12;
/// Below this share, a style or a target is called mostly foreign to the signals.
const LITTLE: f64 = 0.5;

fn print(output: &Output, target: &ExampleSet, report: &StyleReport, done: &Transferred, amount: f64) {
    let by = match report.matched_by {
        MatchedBy::Map => "by the map",
        MatchedBy::Names => "by name",
        MatchedBy::Order => "by order",
    };
    output.item("joints", format!("{} matched {by}", counted(report.matched_joints, "joint", "joints")));
    let interpolated = interpolated(target, report);
    let equal = report.found.len() - interpolated.len();
    let guessed = match interpolated.len() {
        0 => String::new(),
        count => format!(", {count} interpolated"),
    };
    output.item("poses", format!("{equal} of {} found by equal joint angles{guessed}", report.found.len()));
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
            "moves by {} of 100 (rmse, size of Y1) at amount {amount}; {} of Y1's displacements follow these signals",
            figure(100.0 * done.change),
            percent(done.shared)
        ),
    );
    warn(output, report, done);
}

fn warn(output: &Output, report: &StyleReport, done: &Transferred) {
    for beyond in report.extrapolations.iter().take(MOST_WARNINGS) {
        output.warning(format!(
            "pose {:?}: joint {:?} turns {:.1}° beyond all examples of the style; its shape there is a guess",
            beyond.pose,
            beyond.joint,
            beyond.beyond.to_degrees()
        ));
    }
    let more = report.extrapolations.len().saturating_sub(MOST_WARNINGS);
    if more > 0 {
        output.warning(format!("{more} more such poses and joints (--json lists all)"));
    }
    for joint in &report.moving_alone {
        output.warning(format!(
            "joint {joint:?} of the target moves, but the character that shows the style has none like it"
        ));
    }
    if report.carried < LITTLE {
        output.warning(format!(
            "the signals of X1 carry only {} of the style; more poses, or --regions joints, may carry more",
            percent(report.carried)
        ));
    }
    if done.shared < LITTLE {
        output.warning(format!(
            "only {} of the target's displacements follow the signals of X1; the rest stays without the style",
            percent(done.shared)
        ));
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// Names of the target's poses that a deformation of the style lacks.
fn interpolated(target: &ExampleSet, report: &StyleReport) -> Vec<String> {
    let pairs = target.examples().iter().zip(&report.found);
    pairs
        .filter(|(_, found)| found.contains(&Found::Interpolated))
        .map(|(example, _)| example.name.clone())
        .collect()
}

fn json_of(target: &ExampleSet, report: &StyleReport, done: &Transferred, amount: f64) -> Value {
    let extrapolated: Vec<Value> = report
        .extrapolations
        .iter()
        .map(|e| json!({ "pose": e.pose, "joint": e.joint, "degrees": e.beyond.to_degrees() }))
        .collect();
    json!({
        "poses": target.len(),
        "vertices": target.rig().vertex_count(),
        "amount": amount,
        "matched_joints": report.matched_joints,
        "matched_by": match report.matched_by {
            MatchedBy::Map => "map",
            MatchedBy::Names => "names",
            MatchedBy::Order => "order",
        },
        "moving_alone": report.moving_alone,
        "interpolated": interpolated(target, report),
        "extrapolated": extrapolated,
        "rank": report.rank,
        "signals": report.signals,
        "style_of_100": 100.0 * report.style_size,
        "carried": report.carried,
        "shared": done.shared,
        "change_of_100": 100.0 * done.change,
    })
}
