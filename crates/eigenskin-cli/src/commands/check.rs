//! `eigenskin check`: what is in a file, what is wrong with it, which engines will hit a limit.

use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use eigenskin::base::BaseChoice;
use eigenskin::jobs::inspect::{
    Inspect, InspectError, InspectInputs, InspectOutcome, InspectSkinsOutcome, LimitFound, Remark, SkinFound,
};
use eigenskin::jobs::invert::InvertibilityMap;
use eigenskin::skinning::EXACT_FROM;

use crate::output::{Output, counted, figure};
use crate::pose_source::{self, PoseArgs};
use crate::progress::Terminal;
use crate::{painter, rigs, table};

/// Say what is in a file, what is wrong with it, and which engines will hit a limit
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  eigenskin check hand.glb\n  eigenskin check arm.glb --pose poses.json --picture where.png"
)]
pub struct Args {
    /// A rig, an example set or a model: .glb, .gltf or .npz
    file: PathBuf,
    /// The skin to look at when the file has several [default: all of them]
    #[arg(long, value_name = "NAME")]
    skin: Option<String>,
    /// Write the findings as JSON to a file, or - for standard output
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
    // Last, as its headings in the help hold for all that follows.
    #[command(flatten)]
    poses: PosesArgs,
}

/// Poses of which to say where they can be sculpted.
#[derive(clap::Args)]
#[command(next_help_heading = "Where poses can be sculpted")]
struct PosesArgs {
    #[command(flatten)]
    pose: PoseArgs,
    /// The base that sculpts are made after: rigid, linear, dual-quaternion, or a deformer-stack file
    /// (.toml) [default: linear]
    #[arg(long, value_name = "BASE")]
    base: Option<BaseChoice>,
    /// Draw the poses with what they collapse, as a PNG
    #[arg(long, value_name = "FILE.png")]
    picture: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &Args, quiet: bool) -> Result<()> {
    let output = Output::new(quiet, args.json.as_deref());
    let PosesArgs { pose, base, picture } = &args.poses;
    if !pose.given() && (picture.is_some() || base.is_some()) {
        bail!("--picture and --base need a pose; give {}", pose_source::HOW);
    }
    let inputs = InspectInputs {
        file: args.file.clone(),
        skin: args.skin.clone(),
        poses: pose.source(),
        base: base.clone(),
    };
    let job = match Inspect::open(&inputs) {
        Err(error) if error.needs_skin() => {
            if pose.given() {
                bail!("{error}; poses belong to one skin: choose it with --skin");
            }
            let outcome = InspectSkinsOutcome::of(&args.file, &Terminal::new(quiet))?;
            print_skins(&output, args, &outcome);
            return output.json(&serde_json::to_value(&outcome)?);
        }
        other => other.map_err(with_options)?,
    };
    let outcome = job.run(&Terminal::new(quiet))?;
    print(&output, args, &job, &outcome);
    if let Some(maps) = &outcome.invertibility {
        print_maps(&output, maps);
    }
    if let Some(path) = picture {
        outcome.write_picture(path, job.file.rig().mesh(), painter::for_reports()?)?;
        output.item("wrote", path.display().to_string());
    }
    output.json(&serde_json::to_value(&outcome)?)
}

fn with_options(error: InspectError) -> anyhow::Error {
    match error {
        InspectError::Pose(error) => pose_source::with_options(&error),
        other => anyhow!(other),
    }
}

fn print(output: &Output, args: &Args, job: &Inspect, found: &InspectOutcome) {
    output.item("file", format!("{}: {}", args.file.display(), found.kind.description()));
    output.item("rig", rigs::summary(job.file.rig()));
    output.item("size", format!("{} around ({})", figure(found.size), found.centre.map(figure).join(", ")));
    for clip in &found.clips {
        output.item("clip", format!("{:?}, {:.2} s", clip.name, clip.seconds));
    }
    for control in &found.controls {
        output.item("control", format!("{:?}, {} at rest", control.name, control.default));
    }
    if let Some(examples) = &found.examples {
        output.item("examples", counted(examples.len(), "pose", "poses"));
    }
    if let (Some(model), Some(components), Some(most)) =
        (&found.model, found.components, found.most_components_per_vertex)
    {
        let (components, layers) =
            (counted(components, "component", "components"), counted(model.layers, "layer", "layers"));
        output.item(
            "model",
            format!("{components} in {layers}, base {}, at most {most} move one vertex", model.base),
        );
    }
    if found.remarks.is_empty() {
        output.item("OK", "no problems found");
    }
    for remark in &found.remarks {
        output.item("note", remark_text(remark));
    }
    print_limits(output, &found.limits);
    if found.model.is_some() {
        output.line("");
        for line in COMPRESSION {
            output.line(line);
        }
    }
}

/// How other programs make a model smaller and leave it a model.
const COMPRESSION: [&str; 3] = [
    "Compress last, and keep this file. These keep the drivers:",
    "  gltfpack -kn -km -ke -af 0 (8 bits for skin and morph weights), gltf-transform (any command)",
    "  Blender, with custom properties exported",
];

/// The skins of a file, and what there is to say about each.
fn print_skins(output: &Output, args: &Args, found: &InspectSkinsOutcome) {
    let skins = &found.skins;
    let count = counted(skins.len(), "skin", "skins");
    output.item("file", format!("{}: {} with {count}", args.file.display(), found.kind.description()));
    output.item("choose", "one with --skin NAME, here and wherever a rig is read");
    let row = |skin: &SkinFound| {
        let [joints, vertices] = skin.counts.map(|count| count.to_string());
        vec![skin.name.clone(), joints, vertices, skin.meshes.join(", ")]
    };
    let rows: Vec<Vec<String>> = skins.iter().map(row).collect();
    output.line("");
    for line in table::lines(&["skin", "joints", "vertices", "meshes"], &rows) {
        output.line(line);
    }
    output.line("");
    let mut said: Vec<(String, Vec<&str>)> = Vec::new();
    for skin in skins {
        let remarks = skin.found.iter().flat_map(|found| &found.remarks).map(remark_text);
        for remark in skin.error.iter().cloned().chain(remarks) {
            match said.iter_mut().find(|(other, _)| *other == remark) {
                Some((_, names)) => names.push(&skin.name),
                None => said.push((remark, vec![&skin.name])),
            }
        }
    }
    if said.is_empty() {
        output.item("OK", "no problems found");
    }
    for (remark, names) in said {
        let of = if names.len() == skins.len() { "all skins".to_string() } else { names.join(", ") };
        output.item("note", format!("{of}: {remark}"));
    }
}

fn remark_text(remark: &Remark) -> String {
    let option = if matches!(remark, Remark::OddSize { .. }) { " (fit --unit)" } else { "" };
    format!("{remark}{option}")
}

/// What engines take, beside what the file has.
fn print_limits(output: &Output, limits: &[LimitFound]) {
    let row = |limit: &LimitFound| {
        let verdict = if limit.fits { "fits" } else { limit.beyond };
        let numbers = [limit.limit.to_string(), limit.found.to_string(), verdict.to_string()];
        [limit.engine.to_string(), limit.what.clone()].into_iter().chain(numbers).collect()
    };
    let rows: Vec<Vec<String>> = limits.iter().map(row).collect();
    output.line("");
    for line in table::lines(&["engine", "what", "takes", "here", ""], &rows) {
        output.line(line);
    }
}

fn print_maps(output: &Output, maps: &[InvertibilityMap]) {
    let row = |map: &InvertibilityMap| {
        vec![
            map.pose.clone(),
            format!("{:.3}", map.least),
            format!("{} ({})", map.vertex, map.joint),
            map.below(0.5).to_string(),
            map.partly_lost.to_string(),
        ]
    };
    let rows: Vec<Vec<String>> = maps.iter().map(row).collect();
    output.line("");
    let lost = format!("below {EXACT_FROM}");
    for line in table::lines(&["pose", "least kept", "vertex", "below 0.5", &lost], &rows) {
        output.line(line);
    }
    let lost = maps.iter().filter(|map| map.partly_lost > 0).count();
    output.line(if lost == 0 {
        "A sculpt of these poses can be pulled back to rest everywhere.".to_string()
    } else {
        format!(
            "In {} the skin collapses: what is sculpted across it is added after skinning, which viewers without eigenskin do not show.",
            counted(lost, "pose", "poses")
        )
    });
}
