//! `eigenskin view`: a window in which a model is posed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use eigenskin::glam::DVec3;
use eigenskin::gltf::{FileKind, RigFile};
use eigenskin::io::pose_file::read_poses;
use eigenskin::model::Model;
use eigenskin::nearest_name;
use eigenskin::report::page::LengthUnit;
use eigenskin::report::picture::heat_colours;
use eigenskin::reports::default_view;
use eigenskin::rig_source::read_options;
use eigenskin::skinning::BaseSkinning;
use eigenskin_studio::message::{Shown, Step};
use eigenskin_studio::recording::Recording;
use eigenskin_studio::{Subject, ViewOptions};

use crate::output::Output;

/// Open a window: pose a model by hand, by its clips or by a stream
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  eigenskin view model.glb --truth validation.glb\n  eigenskin view model.glb --port 8765\n  eigenskin view model.glb --clip grasp --time 1.2 --show heat --screenshot grasp.png"
)]
pub struct Args {
    /// A model written by fit, or any rigged character
    model: PathBuf,
    /// True shapes to compare with: a GLB example set or a numpy bundle (.npz)
    #[arg(long, value_name = "EX")]
    truth: Option<PathBuf>,
    /// Play this clip of the file
    #[arg(long, value_name = "NAME", conflicts_with = "pose")]
    clip: Option<String>,
    /// Freeze at this time of --clip, seconds
    #[arg(long, value_name = "S", requires = "clip")]
    time: Option<f64>,
    /// Begin in a pose of a JSON file
    #[arg(long, value_name = "FILE.json")]
    pose: Option<PathBuf>,
    /// Which pose of --pose [default: the first]
    #[arg(long, value_name = "NAME", requires = "pose")]
    pose_name: Option<String>,
    /// What to show first: model, skinning, truth or heat
    #[arg(long, value_name = "VIEW", default_value = "model", value_parser = parse_view)]
    show: Shown,
    /// Listen for poses on this port of this machine; 0 takes a free one
    #[arg(long, value_name = "N", conflicts_with = "screenshot")]
    port: Option<u16>,
    /// Play a recorded stream: a message per line
    #[arg(long, value_name = "FILE.jsonl")]
    play: Option<PathBuf>,
    /// Write one frame as a picture, without a window, and end
    #[arg(long, value_name = "FILE.png")]
    screenshot: Option<PathBuf>,
    /// Size of the window or picture
    #[arg(long, value_name = "WxH", default_value = "1280x800", value_parser = parse_size)]
    size: [u32; 2],
}

/// Colours of the heat map that are uploaded.
const HEAT_COLOURS: usize = 256;
/// Sides of windows, pixels.
const SIDES: std::ops::RangeInclusive<u32> = 64..=8192;
/// Bytes of a recorded stream at most.
const LARGEST_STREAM: u64 = 1 << 28;

/// Runs the command.
pub fn run(args: &Args, quiet: bool) -> Result<()> {
    let output = Output::new(quiet, None);
    let subject = read_subject(args)?;
    let known = subject.vocabulary();
    let mut options = ViewOptions {
        pose: args
            .pose
            .as_deref()
            .map(|path| pose_of(path, args.pose_name.as_deref(), &subject))
            .transpose()?,
        port: args.port,
        size: args.size,
        ..ViewOptions::default()
    };
    if let Some(name) = &args.clip {
        let names = || known.clips.iter().map(|(name, _)| name.as_str());
        let Some(clip) = names().position(|known| known == name) else {
            let all: Vec<&str> = names().collect();
            if all.is_empty() {
                bail!("there is no clip {name:?}: the file has none");
            }
            bail!("there is no clip {name:?}; there are {}", all.join(", "));
        };
        if args.time.is_some_and(|time| !(0.0..=known.clips[clip].1 + 1e-6).contains(&time)) {
            bail!("--time is outside of clip {name:?}, which lasts {:.3} s", known.clips[clip].1);
        }
        options.steps.push(Step::Clip { clip, time: args.time });
    }
    if args.show == Shown::Truth && subject.truth.is_none() {
        bail!("--show truth needs --truth FILE");
    }
    options.steps.push(Step::View(args.show));
    if let Some(path) = &args.play {
        let text = read_stream(path)?;
        let recording = Recording::parse(&text, &known).with_context(|| format!("{}", path.display()))?;
        options.recording = Some(recording);
    }
    match &args.screenshot {
        Some(path) => {
            if !path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("png")) {
                bail!("--screenshot writes a .png file, not {}", path.display());
            }
            eigenskin_studio::screenshot(subject, options, path)?;
            output.item("written", path.display().to_string());
        }
        None => eigenskin_studio::show(subject, options, |port| {
            output.item("listening", format!("ws://127.0.0.1:{port}"));
        })?,
    }
    Ok(())
}

fn read_subject(args: &Args) -> Result<Subject> {
    let (file, model) = match eigenskin::io::file_kind(&args.model)? {
        FileKind::Model => eigenskin::io::read_model(&args.model)?,
        // A character without corrections can be looked at too.
        FileKind::Rig | FileKind::Examples => {
            let file = eigenskin::io::read_rig(&args.model, &read_options(None))?;
            let model = Model::without_corrections(file.rig().clone(), BaseSkinning::LinearBlend);
            (file, model)
        }
    };
    let truth = match &args.truth {
        Some(path) => {
            let (_, set) = eigenskin::io::read_examples(path, &read_options(None))?;
            Some(set.for_rig(model.input_rig()).with_context(|| path.display().to_string())?)
        }
        None => None,
    };
    let scene_from_mesh = file.layout().scene_from_mesh;
    let mesh_from_scene = scene_from_mesh.inverse();
    let view = default_view(false);
    let direction = |scene: eigenskin::glam::Vec3| -> DVec3 {
        let mesh = mesh_from_scene.transform_vector3(scene.as_dvec3());
        mesh.try_normalize().unwrap_or(scene.as_dvec3())
    };
    let name = args.model.file_stem().and_then(|stem| stem.to_str()).unwrap_or("model").to_string();
    Ok(Subject {
        name,
        model: Arc::new(model),
        truth,
        unit: unit_of(&args.model, &file),
        heat_colours: heat_colours(HEAT_COLOURS),
        from_direction: direction(view.from_direction),
        up: direction(view.up),
        file,
    })
}

/// glTF is in metres; other files say nothing.
fn unit_of(path: &Path, file: &RigFile) -> LengthUnit {
    let is_bundle = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npz"));
    let scale = file.layout().scene_from_mesh.matrix3.determinant().abs().cbrt();
    if is_bundle || !(scale > 0.0 && scale.is_finite()) {
        return LengthUnit::of_the_model();
    }
    LengthUnit { name: "mm".into(), per_model_unit: 1000.0 * scale }
}

fn pose_of(path: &Path, name: Option<&str>, subject: &Subject) -> Result<eigenskin::pose::Pose> {
    let poses = read_poses(path, subject.model.rig())?;
    let chosen = poses.iter().find(|pose| name.is_none_or(|name| pose.name == name));
    let Some(chosen) = chosen else {
        let name = name.unwrap_or_default();
        let hint = nearest_name::hint(name, poses.iter().map(|pose| pose.name.as_str()));
        bail!("{} has no pose {name:?}{hint}", path.display());
    };
    Ok(chosen.pose.clone())
}

fn read_stream(path: &Path) -> Result<String> {
    let failed = || format!("{} could not be read", path.display());
    let size = std::fs::metadata(path).with_context(failed)?.len();
    if size > LARGEST_STREAM {
        bail!("{} has {size} bytes; a recorded stream may have {LARGEST_STREAM}", path.display());
    }
    std::fs::read_to_string(path).with_context(failed)
}

fn parse_view(text: &str) -> Result<Shown, String> {
    let found = Shown::ALL.into_iter().find(|(_, name)| *name == text);
    found.map(|(shown, _)| shown).ok_or_else(|| "take model, skinning, truth or heat".to_string())
}

fn parse_size(text: &str) -> Result<[u32; 2], String> {
    let wrong = || format!("write it as 1280x800, with sides from {} to {}", SIDES.start(), SIDES.end());
    let (width, height) = text.split_once(['x', '×']).ok_or_else(wrong)?;
    let side = |text: &str| text.parse().ok().filter(|side| SIDES.contains(side)).ok_or_else(wrong);
    Ok([side(width)?, side(height)?])
}
