//! `eigenskin check`: what is in a file, what is wrong with it, which engines will hit a limit.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use eigenskin::examples::ExampleSet;
use eigenskin::gltf::limits::{Counts, LIMITS};
use eigenskin::gltf::{FileKind, GltfError, RigFile, SkinSummary};
use eigenskin::io::ReadError;
use eigenskin::model::Model;
use eigenskin::reference::guess_references;
use serde_json::{Value, json};

use crate::invertibility::InvertibilityArgs;
use crate::output::{Output, counted, figure};
use crate::{rigs, table};

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
    invertibility: InvertibilityArgs,
}

/// What was found in a file.
struct Findings {
    file: RigFile,
    examples: Option<ExampleSet>,
    model: Option<Model>,
    /// one sentence each
    remarks: Vec<String>,
}

/// Runs the command.
pub fn run(args: &Args, quiet: bool) -> Result<()> {
    let output = Output::new(quiet, args.json.as_deref());
    let findings = match look(&args.file, args.skin.as_deref()) {
        Err(error) if has_several_skins(&error) => return check_each_skin(args, &output),
        other => other?,
    };
    print(&output, args, &findings);
    let mut figures = findings_json(&findings);
    if let Some(maps) = args.invertibility.run(&findings.file, &output)? {
        figures["invertibility"] = maps;
    }
    output.json(&figures)
}

fn has_several_skins(error: &anyhow::Error) -> bool {
    let Some(ReadError::Gltf { error, .. }) = error.downcast_ref() else { return false };
    matches!(**error, GltfError::Ambiguous { what: "skin", .. })
}

/// Lists the skins of a file and what there is to say about each.
fn check_each_skin(args: &Args, output: &Output) -> Result<()> {
    if args.invertibility.given() {
        bail!("{} has several skins, and a pose belongs to one; choose it with --skin", args.file.display());
    }
    let skins = eigenskin::io::read_skins(&args.file)?;
    let found: Vec<Result<Findings>> = skins.iter().map(|skin| look(&args.file, Some(&skin.name))).collect();
    let kind = eigenskin::io::file_kind(&args.file)?.description();
    let count = counted(skins.len(), "skin", "skins");
    output.item("file", format!("{}: {kind} with {count}", args.file.display()));
    output.item("choose", "one with --skin NAME, here and wherever a rig is read");
    output.line("");
    let row = |skin: &SkinSummary| {
        let numbers = [skin.joints.len().to_string(), skin.vertex_count.to_string()];
        [skin.name.clone()].into_iter().chain(numbers).chain([skin.meshes.join(", ")]).collect()
    };
    let rows: Vec<Vec<String>> = skins.iter().map(row).collect();
    for line in table::lines(&["skin", "joints", "vertices", "meshes"], &rows) {
        output.line(line);
    }
    output.line("");
    let mut said: Vec<(String, Vec<&str>)> = Vec::new();
    for (skin, found) in skins.iter().zip(&found) {
        let remarks = found.as_ref().map_or_else(|e| vec![format!("{e:#}")], |f| f.remarks.clone());
        for remark in remarks {
            match said.iter_mut().find(|(other, _)| *other == remark) {
                Some((_, names)) => names.push(&skin.name),
                None => said.push((remark, vec![&skin.name])),
            }
        }
    }
    if said.is_empty() {
        output.item("good", "nothing to remark");
    }
    for (remark, names) in said {
        let of = if names.len() == skins.len() { "all skins".to_string() } else { names.join(", ") };
        output.item("note", format!("{of}: {remark}"));
    }
    let entry = |(skin, found): (&SkinSummary, &Result<Findings>)| {
        let mut figures = match found {
            Ok(found) => findings_json(found),
            Err(error) => json!({ "error": format!("{error:#}") }),
        };
        figures["name"] = json!(skin.name);
        figures["meshes"] = json!(skin.meshes);
        figures
    };
    let skins: Vec<Value> = skins.iter().zip(&found).map(entry).collect();
    output.json(&json!({ "kind": kind, "skins": skins }))
}

fn look(path: &Path, skin: Option<&str>) -> Result<Findings> {
    let options = rigs::read_options(skin);
    let kind = eigenskin::io::file_kind(path)?;
    let (file, examples, model) = match kind {
        FileKind::Rig => (eigenskin::io::read_rig(path, &options)?, None, None),
        FileKind::Examples => {
            let (file, set) = eigenskin::io::read_examples(path, &options)?;
            (file, Some(set), None)
        }
        FileKind::Model => {
            let (file, model) = eigenskin::io::read_model(path)?;
            (file, None, Some(model))
        }
    };
    let mut remarks = file.notes.clone();
    remarks.extend(unit_remark(&file));
    if let Some(guess) = guess_references(file.rig()) {
        remarks.push(
            format!(
                "the rig is flat: joints are siblings; fit measures each against a joint found by {:?}",
                guess.source
            )
            .to_lowercase(),
        );
    }
    if let Some(set) = &examples {
        remarks.extend(same_pose_remarks(set));
    }
    let exceeded = eigenskin::gltf::limits::check(&file.counts);
    remarks.extend(exceeded.iter().filter(|warning| warning.limit.usual).map(ToString::to_string));
    Ok(Findings { file, examples, model, remarks })
}

/// glTF is in metres with y up; other units and axes show as odd sizes.
fn unit_remark(file: &RigFile) -> Option<String> {
    let scale = file.layout().scene_from_mesh.matrix3.determinant().abs().cbrt();
    let size = scale * file.rig().mesh().size();
    (!(0.02..=20.0).contains(&size)).then(|| {
        format!("the character is {} metres large by glTF's unit: is it in millimetres or centimetres? (fit --unit)", figure(size))
    })
}

fn same_pose_remarks(set: &ExampleSet) -> Vec<String> {
    match set.for_training(false) {
        Ok((_, merged)) => merged
            .iter()
            .map(|m| match &m.same_as {
                None => format!("example {:?} is the rest shape", m.name),
                Some(other) => format!("example {:?} repeats {other:?}", m.name),
            })
            .collect(),
        Err(error) => vec![error.to_string()],
    }
}

fn print(output: &Output, args: &Args, findings: &Findings) {
    let rig = findings.file.rig();
    output.item("file", format!("{}: {}", args.file.display(), findings.file.kind.description()));
    output.item("rig", rigs::summary(rig));
    let bounds = rig.mesh().bounds();
    output.item("size", format!("{} around ({})", figure(rig.mesh().size()), point(bounds.centre)));
    for clip in findings.file.clips() {
        output.item("clip", format!("{:?}, {:.2} s", clip.name, clip.duration()));
    }
    for control in rig.controls() {
        output.item("control", format!("{:?}, {} at rest", control.name, control.default));
    }
    if let Some(set) = &findings.examples {
        output.item("examples", counted(set.len(), "pose", "poses"));
    }
    if let Some(model) = &findings.model {
        output.item(
            "model",
            format!(
                "{} in {} on {} skinning, at most {} at any vertex",
                counted(model.component_count(), "component", "components"),
                counted(model.layers().len(), "layer", "layers"),
                model.base().name(),
                model.most_tuples_per_vertex()
            ),
        );
    }
    if findings.remarks.is_empty() {
        output.item("good", "nothing to remark");
    }
    for remark in &findings.remarks {
        output.item("note", remark);
    }
    print_limits(output, &findings.file.counts);
}

/// What engines take, beside what the file has.
fn print_limits(output: &Output, counts: &Counts) {
    let rows: Vec<Vec<String>> = LIMITS
        .iter()
        .map(|limit| {
            let found = counts.of(limit.quantity);
            let verdict = if found <= limit.limit { "fits" } else { limit.beyond };
            let words = [limit.engine.to_string(), limit.quantity.to_string()];
            let numbers = [limit.limit.to_string(), found.to_string(), verdict.to_string()];
            words.into_iter().chain(numbers).collect()
        })
        .collect();
    output.line("");
    for line in table::lines(&["engine", "what", "takes", "here", ""], &rows) {
        output.line(line);
    }
}

fn point(at: eigenskin::glam::DVec3) -> String {
    at.to_array().map(figure).join(", ")
}

fn findings_json(findings: &Findings) -> Value {
    let rig = findings.file.rig();
    let joints: Vec<Value> = rig
        .skeleton()
        .joints()
        .iter()
        .map(|joint| {
            let name = |index: Option<usize>| index.map(|i| rig.skeleton().joints()[i].name.clone());
            json!({ "name": joint.name, "parent": name(joint.parent), "reference": name(joint.reference) })
        })
        .collect();
    let clips: Vec<Value> = findings
        .file
        .clips()
        .iter()
        .map(|clip| json!({ "name": clip.name, "seconds": clip.duration() }))
        .collect();
    let examples = findings.examples.as_ref();
    json!({
        "kind": findings.file.kind.description(),
        "vertices": rig.vertex_count(),
        "triangles": rig.mesh().triangles().len(),
        "size": rig.mesh().size(),
        "influences": rig.weights().most_influences(),
        "joints": joints,
        "controls": rig.controls().iter().map(|c| c.name.as_str()).collect::<Vec<_>>(),
        "clips": clips,
        "examples": examples.map(|set| set.examples().iter().map(|e| e.name.as_str()).collect::<Vec<_>>()),
        "components": findings.model.as_ref().map(Model::component_count),
        "largest_tuple_count": findings.model.as_ref().map(Model::most_tuples_per_vertex),
        "limits": limits_json(&findings.file.counts),
        "remarks": findings.remarks,
    })
}

fn limits_json(counts: &Counts) -> Vec<Value> {
    LIMITS
        .iter()
        .map(|limit| {
            json!({
                "engine": limit.engine,
                "what": limit.quantity.to_string(),
                "limit": limit.limit,
                "found": counts.of(limit.quantity),
                "fits": counts.of(limit.quantity) <= limit.limit,
            })
        })
        .collect()
}
