//! `eigenskin render`: pictures of a model, still or moving.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use eigenskin::gltf::RigFile;
use eigenskin::nearest_name;
use eigenskin::report::page::LengthUnit;
use eigenskin::report::picture::{
    Background, HeatScale, Panel, PictureParams, View, draw_animation, draw_panels,
};
use eigenskin::reports::default_view;

use crate::output::{Output, counted};
use crate::painter;
use crate::pose_source::PoseArgs;
use crate::render::figures::{self, OwnedPanel};
use crate::render::{Show, Subject, camera};
use crate::{progress, rigs};

/// Draw pictures of a model
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  eigenskin render model.glb --truth held-out.glb -o worst.png\n  eigenskin render model.glb --clip grasp --time 0.5 --view 0.3,-0.4,1 -o grasp.png\n  eigenskin render model.glb --truth held-out.glb --example fist --up-to 5 -o components.png\n  eigenskin render model.glb --components index-finger-phalanx-proximal -o patterns.png\n  eigenskin render model.glb --play grasp --show linear,model -o grasp.png\n\nPictures are painted on the GPU; --cpu paints the same without one. Moving pictures are animated PNG files,\nwhich browsers play."
)]
#[allow(clippy::struct_excessive_bools, reason = "switches of a command line")]
pub struct Args {
    /// The model
    model: PathBuf,
    /// The picture to write
    #[arg(long, short, value_name = "FILE.png", default_value = "render.png")]
    output: PathBuf,
    /// True shapes to compare with: a GLB example set or a numpy bundle (.npz)
    #[arg(long, value_name = "EX")]
    truth: Option<PathBuf>,
    /// Which of them [default: the one that the model gets worst]
    #[arg(long, value_name = "NAME", requires = "truth")]
    example: Option<String>,
    #[command(flatten)]
    pose: PoseArgs,
    /// What to show, side by side [default: all that there is]
    #[arg(long, value_name = "WHAT,…", value_delimiter = ',')]
    show: Vec<Show>,
    /// Show the true shape, then the model with 0, 1, … N components per layer, coloured by error
    #[arg(long, value_name = "N", requires = "truth", conflicts_with_all = ["show", "components"])]
    up_to: Option<usize>,
    /// Show what a joint (or layer) has learnt as colours on the rest shape [default: the strongest]
    #[arg(long, value_name = "JOINT", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["show", "truth"])]
    components: Option<String>,
    /// Go once around the character
    #[arg(long, conflicts_with_all = ["play", "components"])]
    turntable: bool,
    /// Play a clip of the model
    #[arg(long, value_name = "CLIP", conflicts_with_all = ["truth", "components"])]
    play: Option<String>,
    /// Frames per second of moving pictures
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u16).range(1..=60))]
    rate: u16,
    /// From where to look: front, back, left, right, top, bottom, or a direction X,Y,Z
    #[arg(long, value_name = "VIEW", allow_hyphen_values = true)]
    view: Option<String>,
    /// Pixels of one panel
    #[arg(long, value_name = "W×H", default_value = "360x420")]
    size: String,
    /// Panels in a row [default: all]
    #[arg(long, value_name = "N")]
    columns: Option<usize>,
    /// Light letters on near black
    #[arg(long)]
    dark: bool,
    /// Draw lines along all edges
    #[arg(long)]
    wireframe: bool,
    /// Paint on the CPU
    #[arg(long)]
    cpu: bool,
}

/// Runs the command.
pub fn run(args: &Args, quiet: bool) -> Result<()> {
    let output = Output::new(quiet, None);
    let inputs: Vec<&std::path::Path> =
        [Some(&args.model), args.truth.as_ref()].into_iter().flatten().map(PathBuf::as_path).collect();
    rigs::check_not_input(&args.output, &inputs)?;
    let [panel_width, panel_height] = size(&args.size)?;
    let view = match &args.view {
        Some(text) => View { from_direction: camera::direction(text)?, ..default_view(false) },
        None => default_view(false),
    };
    let (file, model) = eigenskin::io::read_model(&args.model)?;
    let subject = Subject::new(Arc::new(model));
    let unit = subject.unit();
    let params = PictureParams {
        panel_width,
        panel_height,
        view,
        background: if args.dark { Background::Dark } else { Background::Light },
        heat: HeatScale { maximum: None, label: format!("error in {}", unit.name) },
        wireframe: args.wireframe,
        ..PictureParams::default()
    };
    let painter = painter::chosen(args.cpu)?;
    output.item("painter", painter.name());
    let frames = if let Some(clip) = &args.play {
        clip_frames(args, &file, clip, &subject, &params)?
    } else {
        let (panels, params) = still(args, &file, &subject, &unit, params, &output)?;
        if args.turntable { turntable(args, &panels, &params) } else { vec![(panels, params)] }
    };
    if frames.len() > 1 {
        output.item("frames", format!("{} at {} per second", frames.len(), args.rate));
    }
    let mesh = subject.model.rig().mesh();
    let shown: Vec<(Vec<Panel>, PictureParams)> = frames
        .iter()
        .map(|(panels, params)| {
            let columns = args.columns.unwrap_or(panels.len());
            (panels.iter().map(OwnedPanel::panel).collect(), PictureParams { columns, ..params.clone() })
        })
        .collect();
    let png = progress::while_doing(quiet, "drawing", || match &shown[..] {
        [(panels, params)] => draw_panels(&painter, mesh, panels, params),
        frames => draw_animation(&painter, mesh, frames, args.rate),
    })?;
    eigenskin::io::atomic::write_file(&args.output, &png)
        .with_context(|| format!("{} could not be written", args.output.display()))?;
    output.item("wrote", args.output.display().to_string());
    Ok(())
}

/// The panels of one picture, and how to draw them.
type Frame = (Vec<OwnedPanel>, PictureParams);

/// A clip, with one camera and one heat scale.
fn clip_frames(
    args: &Args,
    file: &RigFile,
    clip: &str,
    subject: &Subject,
    params: &PictureParams,
) -> Result<Vec<Frame>> {
    let unit = subject.unit();
    let rows = camera::clip_poses(file, clip, args.rate)?
        .iter()
        .map(|pose| subject.panels(pose, None, &args.show, &unit))
        .collect::<Result<Vec<_>>>()?;
    let all = || rows.iter().flatten();
    let maximum = all().filter_map(OwnedPanel::largest_error).fold(0f32, f32::max);
    let params = PictureParams {
        framed: all().flat_map(|panel| panel.positions.iter().copied()).collect(),
        heat: HeatScale { maximum: (maximum > 0.0).then_some(maximum), ..params.heat.clone() },
        ..params.clone()
    };
    Ok(rows.into_iter().map(|row| (row, params.clone())).collect())
}

/// Four seconds around the same panels.
fn turntable(args: &Args, panels: &[OwnedPanel], params: &PictureParams) -> Vec<Frame> {
    let framed = camera::sphere_around(panels.iter().flat_map(|panel| &panel.positions));
    let count = 4 * usize::from(args.rate);
    let frame = |frame: usize| {
        let view = camera::turned(&params.view, frame as f32 / count as f32);
        (panels.to_vec(), PictureParams { view, framed: framed.clone(), ..params.clone() })
    };
    (0..count).map(frame).collect()
}

/// The panels of one pose, or of what a joint has learnt.
fn still(
    args: &Args,
    file: &RigFile,
    subject: &Subject,
    unit: &LengthUnit,
    params: PictureParams,
    output: &Output,
) -> Result<Frame> {
    if let Some(name) = &args.components {
        let (panels, view, focus) = figures::eigendisplacements(&subject.model, name, params.view, unit)?;
        return Ok((panels, PictureParams { view, focus, ..params }));
    }
    if let Some(path) = &args.truth {
        let set = eigenskin::io::read_examples(path, &rigs::read_options(None))?.1;
        let truth = rigs::examples_for(subject.model.input_rig(), set, path)?;
        let index = match &args.example {
            Some(name) => {
                let names = truth.examples().iter().map(|example| example.name.as_str());
                let Some(index) = truth.examples().iter().position(|example| example.name == *name) else {
                    let hint = nearest_name::nearest(name, names)
                        .map_or(String::new(), |near| format!("; did you mean {near:?}?"));
                    bail!("{} has no example {name:?}{hint}", path.display());
                };
                index
            }
            None => subject.worst(&truth).with_context(|| format!("{} has no examples", path.display()))?,
        };
        output.item("pose", &truth.examples()[index].name);
        let panels = match args.up_to {
            Some(most) => figures::by_components(subject, &truth, index, most, unit),
            None => subject.panels(&truth.examples()[index].pose, Some((&truth, index)), &args.show, unit)?,
        };
        return Ok((panels, params));
    }
    let poses = args.pose.read_all(file)?;
    let pose = match poses.as_slice() {
        [] => eigenskin::pose::Pose::rest(
            file.rig().skeleton(),
            file.rig().controls().iter().map(|control| control.default).collect(),
        ),
        [one] => one.pose.clone(),
        _ => bail!(
            "{} were given; choose one with --frame, --time or --pose-name, or --play the clip",
            counted(poses.len(), "pose", "poses")
        ),
    };
    Ok((subject.panels(&pose, None, &args.show, unit)?, params))
}

/// Two numbers with an x or × between them.
fn size(text: &str) -> Result<[usize; 2]> {
    let numbers: Vec<usize> =
        text.split(['x', '×']).filter_map(|number| number.trim().parse().ok()).collect();
    match numbers[..] {
        [width, height] => Ok([width, height]),
        _ => bail!("--size {text:?}: give width and height in pixels, such as 360x420"),
    }
}
