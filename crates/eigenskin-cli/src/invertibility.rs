//! Where a pose can be sculpted: the invertibility map, before anyone does the work.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use eigenskin::articulation::NamedPose;
use eigenskin::displacements::black_box::invertibility;
use eigenskin::glam::Vec3;
use eigenskin::gltf::RigFile;
use eigenskin::io::atomic;
use eigenskin::report::picture::{HeatScale, Panel, PictureParams, Surface, draw_panels};
use eigenskin::reports::default_view;
use eigenskin::skinning::{BaseSkinning, Conditioning, EXACT_FROM, skinned_shape};
use serde_json::{Value, json};

use crate::base::{BaseArg, OpenBase, parse_base};
use crate::output::{Output, counted};
use crate::pose_source::PoseArgs;
use crate::{painter, table};

/// Poses to look at.
#[derive(clap::Args)]
#[command(next_help_heading = "Where poses can be sculpted")]
pub struct InvertibilityArgs {
    #[command(flatten)]
    pose: PoseArgs,
    /// What the sculpt will be made after: rigid, linear, dual-quaternion, or a box file (.toml)
    /// [default: linear]
    #[arg(long, value_name = "BOX", value_parser = parse_base)]
    base: Option<BaseArg>,
    /// Draw the poses with what they collapse, as a PNG
    #[arg(long, value_name = "FILE.png")]
    picture: Option<PathBuf>,
}

/// One pose.
struct Map {
    name: String,
    /// `vertex`: 1 is rigid, 0 is collapsed
    kept: Vec<f64>,
    /// `vertex`: where linear blending puts it, to draw it
    positions: Vec<Vec3>,
}

/// Poses in one picture.
const MOST_DRAWN: usize = 6;

impl InvertibilityArgs {
    /// Prints and draws the map of every pose; for machines too. Nothing when no pose was given.
    pub fn run(&self, file: &RigFile, output: &Output) -> Result<Option<Value>> {
        if !self.pose.given() {
            if self.picture.is_some() || self.base.is_some() {
                bail!("--picture and --base need a pose; give --pose FILE.json, or --clip NAME --frame N");
            }
            return Ok(None);
        }
        let rig = file.rig();
        let mut base = match &self.base {
            Some(base) => base.open(rig)?,
            None => OpenBase::of(&BaseSkinning::LinearBlend.into(), rig, "the rig")?,
        };
        let mut maps = Vec::new();
        for NamedPose { name, pose } in self.pose.read_all(file)? {
            let named = base.base.clone();
            let kept =
                invertibility(&named, base.black_box(), rig, &pose)?.iter().map(Conditioning::kept).collect();
            let positions = skinned_shape(BaseSkinning::LinearBlend, rig, &pose);
            maps.push(Map { name, kept, positions });
        }
        print(output, file, &maps);
        if let Some(path) = &self.picture {
            atomic::write_file(path, &picture(file, &maps)?)
                .with_context(|| format!("{} could not be written", path.display()))?;
            output.item("wrote", path.display().to_string());
        }
        Ok(Some(json!(maps.iter().map(Map::json).collect::<Vec<_>>())))
    }
}

impl Map {
    fn below(&self, limit: f64) -> usize {
        self.kept.iter().filter(|&&kept| kept < limit).count()
    }

    fn worst(&self) -> (usize, f64) {
        let all = self.kept.iter().copied().enumerate();
        all.fold((0, f64::INFINITY), |worst, next| if next.1 < worst.1 { next } else { worst })
    }

    fn json(&self) -> Value {
        json!({
            "pose": self.name,
            "least": self.worst().1,
            "vertex": self.worst().0,
            "partly_lost": self.below(EXACT_FROM),
            "kept": self.kept,
        })
    }
}

fn print(output: &Output, file: &RigFile, maps: &[Map]) {
    let rig = file.rig();
    let rows: Vec<Vec<String>> = maps
        .iter()
        .map(|map| {
            let (vertex, least) = map.worst();
            let heaviest = rig.weights().of(vertex).first();
            let joint = heaviest.map_or("", |i| rig.skeleton().joints()[i.joint as usize].name.as_str());
            vec![
                map.name.clone(),
                format!("{least:.3}"),
                format!("{vertex} ({joint})"),
                map.below(0.5).to_string(),
                map.below(EXACT_FROM).to_string(),
            ]
        })
        .collect();
    output.line("");
    let half = "below 0.5";
    let lost = format!("below {EXACT_FROM}");
    for line in table::lines(&["pose", "least kept", "vertex", half, &lost], &rows) {
        output.line(line);
    }
    let lost = maps.iter().filter(|map| map.below(EXACT_FROM) > 0).count();
    output.line(if lost == 0 {
        "A sculpt of these poses can be pulled back to rest everywhere.".to_string()
    } else {
        format!(
            "In {} the skin collapses: what is sculpted across it is added after skinning, which stock viewers leave out.",
            counted(lost, "pose", "poses")
        )
    });
}

fn picture(file: &RigFile, maps: &[Map]) -> Result<Vec<u8>> {
    let mesh = file.rig().mesh();
    let drawn = &maps[..maps.len().min(MOST_DRAWN)];
    let normals: Vec<Vec<Vec3>> = drawn.iter().map(|map| mesh.normals_of(&map.positions)).collect();
    let lost: Vec<Vec<f32>> =
        drawn.iter().map(|map| map.kept.iter().map(|&kept| 1.0 - kept.min(1.0) as f32).collect()).collect();
    let panels: Vec<Panel> = drawn
        .iter()
        .zip(normals.iter().zip(&lost))
        .map(|(map, (normals, errors))| Panel {
            caption: format!("{}\nleast kept {:.3}", map.name, map.worst().1),
            positions: &map.positions,
            normals,
            surface: Surface::Heat { errors },
        })
        .collect();
    let params = PictureParams {
        panel_width: 360,
        panel_height: 400,
        columns: panels.len().min(3),
        view: default_view(false),
        heat: HeatScale { maximum: Some(1.0), label: "stretch lost: 1 is collapsed".to_string() },
        ..PictureParams::default()
    };
    Ok(draw_panels(painter::for_reports()?, mesh, &panels, &params)?)
}
