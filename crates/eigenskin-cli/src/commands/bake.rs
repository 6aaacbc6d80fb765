//! `eigenskin bake`: a motion as plain animation, or as posed shapes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use eigenskin::bounding_sphere::BoundingSphere;
use eigenskin::evaluate::Evaluator;
use eigenskin::glam::Vec3;
use eigenskin::gltf::targets;
use eigenskin::gltf::{Clip, FileKind, ModelWriteOptions, Motion, RigFile};
use eigenskin::io::posed_shapes::{ObjFrames, Pc2Writer};
use eigenskin::io::retarget::{carry_bvh, carry_clip};
use eigenskin::io::{Bvh, CarryOptions, Matching, file_kind};
use eigenskin::model::Model;
use eigenskin::skinning::BaseSkinning;
use serde_json::{Value, json};

use crate::output::{Output, bytes, counted};
use crate::{joint_map, progress, rigs};
use eigenskin::base::OpenBase;

/// Play a motion on a model: plain animation, or posed shapes
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  eigenskin bake model.glb --clip walk -o walk.glb\n  eigenskin bake model.glb --bvh 02_01.bvh --map joints.toml --rate 30 -o walk.glb --pc2 walk.pc2\n\nThe map file has one line per joint:\n  [joints]\n  \"joint of the model\" = \"joint of the motion\""
)]
pub struct Args {
    /// A model written by fit, or a plain rig
    model: PathBuf,
    /// The clip to bake, of the model or of --motion; may be left out when there is only one
    #[arg(long, value_name = "NAME", conflicts_with = "bvh")]
    clip: Option<String>,
    /// Motion capture to carry over to the model's joints
    #[arg(long, value_name = "FILE.bvh", conflicts_with = "motion")]
    bvh: Option<PathBuf>,
    /// Another rigged character whose clip is carried over to the model's joints
    #[arg(long, value_name = "OTHER.glb")]
    motion: Option<PathBuf>,
    /// Which joint moves which: a TOML file, [joints] with lines "joint of the model" = "joint of
    /// the motion"; without it joints of equal names
    #[arg(long, value_name = "FILE.toml")]
    map: Option<PathBuf>,
    /// Let bones point where the motion's bones do, rather than turn by as much from rest: for
    /// characters that rest in different poses
    #[arg(long)]
    align: bool,
    /// Frames a second; without it the motion's own keys. The last key stays where it is
    #[arg(long, value_name = "HZ")]
    rate: Option<f64>,
    /// The GLB to write: the model with its clips and this one, weights baked
    #[arg(long, short, value_name = "OUT.glb")]
    output: Option<PathBuf>,
    /// Write one OBJ per frame into this folder: frame-0001.obj …
    #[arg(long, value_name = "DIR")]
    obj: Option<PathBuf>,
    /// Write all frames into one point cache
    #[arg(long, value_name = "FILE.pc2")]
    pc2: Option<PathBuf>,
    /// Write what was done as JSON to a file, or - for standard output
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
}

/// Runs the command.
pub fn run(args: &Args, quiet: bool) -> Result<()> {
    let output = Output::new(quiet, args.json.as_deref());
    check_arguments(args)?;
    let (file, model) = read(&args.model, &output)?;
    let (motion, matching) = motion_of(args, &file, &output)?;
    output.item(
        "motion",
        format!(
            "{:?}: {}, {:.2} s",
            motion.name,
            counted(motion.poses.len(), "frame", "frames"),
            motion.duration()
        ),
    );
    if let Some(matching) = &matching {
        print_matching(&output, matching);
    }
    let mut written = Vec::new();
    if let Some(path) = &args.output {
        // A clip of the file itself stays as it is, at its own keys and curves.
        let file = if matching.is_none() && args.rate.is_none() {
            file.clone()
        } else {
            file.clone().with_motion(&motion)?
        };
        written.push(write_glb(path, &file, &model, args.rate, &output, quiet)?);
    }
    if args.obj.is_some() || args.pc2.is_some() {
        // Refuses models whose shapes only another program knows.
        OpenBase::of(model.base(), model.rig(), "the model")?;
        warn_about_shapes(args, &file, &motion, &output)?;
        written.extend(progress::while_doing(quiet, "posing", || {
            write_shapes(args, &file, &model, &motion, &output)
        })?);
    }
    output.json(&report(&file, &motion, matching.as_ref(), &written))
}

/// What can be said before anything is read.
fn check_arguments(args: &Args) -> Result<()> {
    if args.output.is_none() && args.obj.is_none() && args.pc2.is_none() {
        bail!("there is nothing to write; give -o OUT.glb, --obj DIR or --pc2 FILE");
    }
    if (args.map.is_some() || args.align) && args.bvh.is_none() && args.motion.is_none() {
        bail!("--map and --align belong to --bvh or --motion; the model's own clips fit as they are");
    }
    let mut inputs: Vec<&Path> = vec![&args.model];
    inputs.extend(args.bvh.as_deref());
    inputs.extend(args.motion.as_deref());
    inputs.extend(args.map.as_deref());
    for path in [&args.output, &args.pc2].into_iter().flatten() {
        rigs::check_not_input(path, &inputs)?;
    }
    Ok(())
}

/// The model, or a plain rig as a model without corrections.
fn read(path: &Path, output: &Output) -> Result<(RigFile, Arc<Model>)> {
    let (file, model) = if file_kind(path)? == FileKind::Model {
        let (file, model) = eigenskin::io::read_model(path)?;
        (file, Arc::new(model))
    } else {
        let file = eigenskin::io::read_rig(path, &rigs::read_options(None))?;
        let rig = rigs::settle_references(file.rig().clone(), None, output)?;
        let file = file.with_rig(rig.clone())?;
        (file, Arc::new(Model::without_corrections(rig, BaseSkinning::LinearBlend)))
    };
    let corrections = match (file.kind, model.component_count()) {
        (FileKind::Model, count) => counted(count, "component", "components"),
        _ => "no corrections".to_string(),
    };
    output.item("model", format!("{}: {}, {corrections}", path.display(), rigs::summary(file.rig())));
    Ok((file, model))
}

fn motion_of(args: &Args, file: &RigFile, output: &Output) -> Result<(Motion, Option<Matching>)> {
    let map = args.map.as_deref().map(|path| joint_map::read(path, MAP_LINES)).transpose()?;
    let options = CarryOptions { map, rate: args.rate, align: args.align };
    if let Some(path) = &args.bvh {
        let bvh = Bvh::read(path).with_context(|| format!("{}", path.display()))?;
        let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("motion");
        let (motion, matching) =
            carry_bvh(file, &bvh, name, &options).with_context(|| format!("{}", path.display()))?;
        return Ok((motion, Some(matching)));
    }
    if let Some(path) = &args.motion {
        let source = eigenskin::io::read_rig(path, &rigs::read_options(None))?;
        let rig = rigs::settle_references(source.rig().clone(), None, output)?;
        let source = source.with_rig(rig)?;
        let clip = chosen_clip(&source, args.clip.as_deref(), path)?;
        let (motion, matching) =
            carry_clip(file, &source, clip, &options).with_context(|| format!("{}", path.display()))?;
        return Ok((motion, Some(matching)));
    }
    let clip = chosen_clip(file, args.clip.as_deref(), &args.model)?;
    if args.rate.is_some() && clip.is_step(file.layout()) {
        output.warning(format!("clip {:?} jumps from key to key; at --rate it ramps", clip.name));
    }
    Ok((Motion::from_clip(file, clip, args.rate)?, None))
}

/// The clip of that name, or the only one.
fn chosen_clip<'a>(file: &'a RigFile, name: Option<&str>, path: &Path) -> Result<&'a Clip> {
    let names: Vec<String> = file.clips().iter().map(|clip| format!("{:?}", clip.name)).collect();
    match (name, file.clips()) {
        (_, []) => bail!("{} has no clips; give --bvh FILE or --motion OTHER.glb", path.display()),
        (Some(name), _) => file.clip_named(name).with_context(|| {
            format!("{} has no clip {name:?}; its clips are {}", path.display(), names.join(", "))
        }),
        (None, [only]) => Ok(only),
        (None, _) => {
            bail!("{} has several clips: {}; choose one with --clip", path.display(), names.join(", "))
        }
    }
}

/// The form of a `--map` file's lines.
const MAP_LINES: &str = "\"joint of the model\" = \"joint of the motion\"";

fn print_matching(output: &Output, matching: &Matching) {
    let count = matching.matched.len();
    output.item(
        "joints",
        format!("{} matched, translations × {:.4}", counted(count, "joint", "joints"), matching.scale),
    );
    if !matching.unmatched.is_empty() {
        output.item("unmatched", format!("of the model: {}", matching.unmatched.join(", ")));
    }
    if !matching.unused.is_empty() {
        output.item("unmatched", format!("of the motion: {}", matching.unused.join(", ")));
    }
}

fn write_glb(
    path: &Path,
    file: &RigFile,
    model: &Model,
    rate: Option<f64>,
    output: &Output,
    quiet: bool,
) -> Result<Value> {
    let size = if file.kind == FileKind::Model {
        let defaults = ModelWriteOptions::default();
        let bake_rate = rate.unwrap_or(0.0).max(defaults.bake_rate);
        let options = ModelWriteOptions { bake_rate, ..defaults };
        let written = progress::while_doing(quiet, "writing", || {
            eigenskin::io::write_model(path, file, model, &options)
        })?;
        for warning in &written.warnings {
            output.warning(warning);
        }
        written.bytes
    } else {
        eigenskin::io::write_rig(path, file)?;
        path.metadata().map_or(0, |metadata| metadata.len() as usize)
    };
    output.item(
        "wrote",
        format!("{} ({}, {})", path.display(), counted(file.clips().len(), "clip", "clips"), bytes(size)),
    );
    Ok(json!(path.display().to_string()))
}

fn warn_about_shapes(args: &Args, file: &RigFile, motion: &Motion, output: &Output) -> Result<()> {
    let own = targets::counts(file.document(), file.layout())?;
    if own.iter().any(|&count| count > 0) {
        output.warning("the file's own morph targets are not part of the posed shapes");
    }
    if args.pc2.is_some() && !motion.is_even() {
        output.warning("the keys are not equally far apart, but a point cache knows no times; give --rate");
    }
    Ok(())
}

/// Poses the model frame by frame, where the GLB shows it.
fn write_shapes(
    args: &Args,
    file: &RigFile,
    model: &Arc<Model>,
    motion: &Motion,
    output: &Output,
) -> Result<Vec<Value>> {
    let (frames, vertices) = (motion.poses.len(), model.rig().vertex_count());
    let triangles = model.rig().mesh().triangles();
    let mut obj = args.obj.as_deref().map(|folder| ObjFrames::new(folder, triangles, frames)).transpose()?;
    let mut pc2 = args.pc2.as_deref().map(|path| Pc2Writer::new(path, vertices, frames)).transpose()?;
    let scene_from_mesh = file.layout().scene_from_mesh;
    // Normals follow the inverse transpose, should the scene scale unevenly.
    let turn = scene_from_mesh.matrix3.inverse().transpose();
    let mut evaluator = Evaluator::new(model.clone());
    let mut positions = vec![Vec3::ZERO; vertices];
    let mut normals = positions.clone();
    for pose in &motion.poses {
        evaluator.evaluate(pose, &mut positions, Some(&mut normals));
        for (position, normal) in positions.iter_mut().zip(&mut normals) {
            *position = scene_from_mesh.transform_point3(position.as_dvec3()).as_vec3();
            *normal = (turn * normal.as_dvec3()).normalize_or_zero().as_vec3();
        }
        if let Some(obj) = &mut obj {
            obj.push(&positions, &normals)?;
        }
        if let Some(pc2) = &mut pc2 {
            pc2.push(&positions)?;
        }
    }
    let mut written = Vec::new();
    if let (Some(obj), Some(folder)) = (obj, &args.obj) {
        if obj.has_older_frames() {
            output.warning(format!("{} also has frames of an earlier, longer motion", folder.display()));
        }
        output.item("wrote", format!("{} ({})", folder.display(), counted(frames, "OBJ", "OBJs")));
        written.push(json!(folder.display().to_string()));
    }
    if let (Some(pc2), Some(path)) = (pc2, &args.pc2) {
        pc2.finish()?;
        output.item("wrote", format!("{} ({})", path.display(), bytes(32 + 12 * vertices * frames)));
        written.push(json!(path.display().to_string()));
    }
    Ok(written)
}

/// Diameter of the smallest sphere around the rest shape where the GLB shows it: the unit in which
/// differences between shapes are judged.
fn size_in_scene(file: &RigFile) -> f64 {
    let to_scene =
        |position: &Vec3| file.layout().scene_from_mesh.transform_point3(position.as_dvec3()).as_vec3();
    let rest: Vec<Vec3> = file.rig().mesh().positions().iter().map(to_scene).collect();
    2.0 * BoundingSphere::of(&rest).radius
}

fn report(file: &RigFile, motion: &Motion, matching: Option<&Matching>, written: &[Value]) -> Value {
    let mut report = json!({
        "clip": motion.name,
        "frames": motion.poses.len(),
        "times": motion.times,
        "size": size_in_scene(file),
        "duration": motion.duration(),
        "written": written,
    });
    if let Some(matching) = matching {
        let matched: Vec<Value> = matching
            .matched
            .iter()
            .map(|(joint, source)| json!({ "joint": joint, "source": source }))
            .collect();
        report["matched"] = matched.into();
        report["unmatched"] = json!(matching.unmatched);
        report["unused"] = json!(matching.unused);
        report["scale"] = json!(matching.scale);
    }
    report
}
