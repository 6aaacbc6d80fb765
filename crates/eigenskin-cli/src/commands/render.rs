//! `eigenskin render`: pictures of a model, still or moving.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use eigenskin::jobs::render::{Motif, Render, RenderError, RenderInputs, RenderSettings, Show};

use crate::output::Output;
use crate::pose_source::{PoseArgs, with_options};
use crate::progress::Terminal;
use crate::{painter, rigs};

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
    #[arg(long, value_name = "WHAT,…", value_delimiter = ',', value_parser = show_parser())]
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
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u16).range(1..=60), hide_short_help = true)]
    rate: u16,
    /// From where to look: front, back, left, right, top, bottom, or a direction X,Y,Z
    #[arg(long, value_name = "VIEW", allow_hyphen_values = true)]
    view: Option<String>,
    /// Pixels of one panel
    #[arg(long, value_name = "W×H", default_value = "360x420")]
    size: String,
    /// Panels in a row [default: all]
    #[arg(long, value_name = "N", hide_short_help = true)]
    columns: Option<usize>,
    /// Dark background
    #[arg(long, hide_short_help = true)]
    dark: bool,
    /// Draw lines along all edges
    #[arg(long, hide_short_help = true)]
    wireframe: bool,
    /// Paint on the CPU
    #[arg(long, hide_short_help = true)]
    cpu: bool,
}

/// Runs the command.
pub fn run(args: &Args, quiet: bool) -> Result<()> {
    let output = Output::new(quiet, None);
    let inputs: Vec<&Path> =
        [Some(&args.model), args.truth.as_ref()].into_iter().flatten().map(PathBuf::as_path).collect();
    rigs::check_not_input(&args.output, &inputs)?;
    let inputs = RenderInputs {
        model: args.model.clone(),
        truth: args.truth.clone(),
        pose: args.pose.source(),
        clip: args.play.clone(),
    };
    let job = Render::open(&inputs, args.settings()?).map_err(with_option)?;
    let painter = painter::chosen(args.cpu)?;
    output.item("painter", painter.name());
    let outcome = job.run(&painter, &Terminal::new(quiet)).map_err(with_option)?;
    if let Some(example) = &outcome.example {
        output.item("pose", example);
    }
    if outcome.frames > 1 {
        output.item("frames", format!("{} at {} per second", outcome.frames, outcome.rate));
    }
    outcome.write(&args.output)?;
    output.item("wrote", args.output.display().to_string());
    Ok(())
}

impl Args {
    fn settings(&self) -> Result<RenderSettings> {
        let view = self.view.as_deref().map(|text| text.parse().context("--view")).transpose()?;
        Ok(RenderSettings {
            motif: match (&self.components, self.up_to) {
                (Some(name), _) => {
                    Motif::Components { layer: Some(name.clone()).filter(|name| !name.is_empty()) }
                }
                (None, Some(most)) => Motif::ComponentCounts { most },
                (None, None) => Motif::Shapes,
            },
            show: self.show.clone(),
            example: self.example.clone(),
            turntable: self.turntable,
            rate: self.rate,
            view,
            panel_size: size(&self.size)?,
            columns: self.columns,
            dark: self.dark,
            wireframe: self.wireframe,
        })
    }
}

/// The option that helps.
fn with_option(error: RenderError) -> anyhow::Error {
    match error {
        RenderError::NeedsTruth { .. } => anyhow!("{error}; give --truth EX"),
        RenderError::SeveralPoses { .. } => {
            anyhow!("{error} with --frame, --time or --pose-name, or --play the clip")
        }
        RenderError::Pose(error) => with_options(&error),
        error => error.into(),
    }
}

fn show_parser() -> impl TypedValueParser<Value = Show> {
    let values = Show::ALL.map(|show| PossibleValue::new(show.name()).help(show.description()));
    PossibleValuesParser::new(values).try_map(|name| name.parse::<Show>())
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
