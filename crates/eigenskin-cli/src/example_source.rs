//! Where examples come from, as it is typed.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use eigenskin::example_source::ExampleSource;
use eigenskin::gltf::SimulationRecord;

use crate::output::Output;

/// A clip says the poses; OBJ files, a cache, sculpts or shape keys the shapes.
#[derive(clap::Args)]
pub struct ClipArgs {
    /// A clip of the rig whose keys are the poses; the shapes come from --obj, --cache, --sculpts or
    /// --shape-keys
    #[arg(long, value_name = "NAME", help_heading = "Input")]
    clip: Option<String>,
    /// A folder with one OBJ file per key of --clip, and one of the rest shape in front
    #[arg(long, value_name = "DIR", hide_short_help = true, help_heading = "Input")]
    obj: Option<PathBuf>,
    /// A vertex cache with one frame per key of --clip, and the rest shape in front: .pc2, .mdd,
    /// .npy or .npz
    #[arg(long, value_name = "FILE", hide_short_help = true, help_heading = "Input")]
    cache: Option<PathBuf>,
    /// A GLB with sculpts as mesh nodes without a skin: elbow@12 is key 12 of --clip; without --clip,
    /// fist is the clip of that name and walk@12 key 12 of the clip walk
    #[arg(long, value_name = "FILE.glb", hide_short_help = true, help_heading = "Input")]
    sculpts: Option<PathBuf>,
    /// A GLB whose mesh has shape keys (morph targets), named after poses as --sculpts are
    #[arg(long, value_name = "FILE.glb", hide_short_help = true, help_heading = "Input")]
    shape_keys: Option<PathBuf>,
    /// The frame of --obj or --cache that is the rest shape, from 0 [default: 0]
    #[arg(long, value_name = "N", hide_short_help = true, help_heading = "Input")]
    rest_frame: Option<usize>,
}

const SHAPES: &str = "--obj DIR, --cache FILE, --sculpts FILE.glb or --shape-keys FILE.glb";

impl ClipArgs {
    /// Settles which way was chosen; `set` is the value of `option` (`--examples`, `--truth`).
    pub fn source(&self, set: Option<&Path>, option: &str) -> Result<ExampleSource> {
        let given: Vec<(&str, &PathBuf)> = [
            ("--obj", &self.obj),
            ("--cache", &self.cache),
            ("--sculpts", &self.sculpts),
            ("--shape-keys", &self.shape_keys),
        ]
        .into_iter()
        .filter_map(|(flag, path)| Some((flag, path.as_ref()?)))
        .collect();
        if let Some(set) = set {
            if self.clip.is_some() || !given.is_empty() {
                let flag = given.first().map_or("--clip", |&(flag, _)| flag);
                bail!("{option} and {flag} are two sources of shapes; give one of them");
            }
            if self.rest_frame.is_some() {
                bail!("--rest-frame goes with --obj or --cache, not with {option}");
            }
            return Ok(ExampleSource::Set(set.into()));
        }
        let (flag, path) = match (given.as_slice(), &self.clip) {
            (&[(flag, path)], _) => (flag, path.clone()),
            ([], None) => bail!("no shapes are given; add {option} EX, or --clip NAME with {SHAPES}"),
            ([], Some(clip)) => bail!("--clip {clip} gives poses without shapes; add {SHAPES}"),
            ([(first, _), (second, _), ..], _) => {
                bail!("{first} and {second} both give shapes; choose one")
            }
        };
        let clip = self.clip.clone();
        if matches!(flag, "--sculpts" | "--shape-keys") {
            if self.rest_frame.is_some() {
                bail!("--rest-frame goes with --obj or --cache, not with {flag}");
            }
            return Ok(match flag {
                "--sculpts" => ExampleSource::Sculpts { path, clip },
                _ => ExampleSource::ShapeKeys { path, clip },
            });
        }
        let Some(clip) = clip else { bail!("{flag} needs the poses of its frames; add --clip NAME") };
        let rest_frame = self.rest_frame.unwrap_or(0);
        Ok(match flag {
            "--obj" => ExampleSource::ObjFolder { folder: path, clip, rest_frame },
            _ => ExampleSource::Cache { path, clip, rest_frame },
        })
    }
}

/// How the poses of those names were simulated; nothing where they were not, and a warning where that is
/// damaged.
pub fn simulation(source: &ExampleSource, names: &[&str], output: &Output) -> Option<SimulationRecord> {
    source.simulation(names).unwrap_or_else(|error| {
        output.warning(format!("the report says nothing of the simulation: {error}"));
        None
    })
}
