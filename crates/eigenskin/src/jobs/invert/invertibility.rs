//! Where a pose can be sculpted, before anyone does the work: how much of what is added at rest a base
//! still shows in the pose.

use std::sync::Arc;

use eigenskin_core::articulation::NamedPose;
use eigenskin_core::glam::Vec3;
use eigenskin_core::mesh::Mesh;
use eigenskin_core::progress::{Counted, Progress};
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::{BaseSkinning, Conditioning, EXACT_FROM, skinned_shape};
use eigenskin_fit::displacements::black_box::invertibility;
use eigenskin_report::picture::painter::PanelPainter;
use eigenskin_report::picture::{HeatScale, Panel, PictureError, PictureParams, Surface, draw_panels};
use serde::Serialize;

use super::InvertError;
use crate::base::{BaseError, ReadBase};
use crate::reports::default_view;

/// Poses to look at.
#[derive(Debug, Clone)]
pub struct Invertibility {
    /// the character
    pub rig: Arc<Rig>,
    /// what sculpts are made after
    pub base: ReadBase,
    /// the poses
    pub poses: Vec<NamedPose>,
}

/// The invertibility map of one pose.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InvertibilityMap {
    /// name of the pose
    pub pose: String,
    /// the smallest value of `kept`
    pub least: f64,
    /// the vertex that has it
    pub vertex: usize,
    /// the joint that this vertex follows most; empty without joints
    #[serde(skip)]
    pub joint: String,
    /// vertices of which a displacement at rest does not reach all that is sculpted
    pub partly_lost: usize,
    /// `vertex`: smallest over largest stretch; 1 is rigid, 0 is collapsed
    pub kept: Vec<f64>,
    /// `vertex`: where linear blending puts it, to draw it
    #[serde(skip)]
    pub positions: Vec<Vec3>,
}

/// Poses in one picture.
const MOST_DRAWN: usize = 6;

impl Invertibility {
    /// One map per pose.
    pub fn run(&self, progress: &dyn Progress) -> Result<Vec<InvertibilityMap>, InvertError> {
        progress.doing("probing poses")?;
        let counted = Counted::new(progress, "probing poses", self.poses.len());
        let mut base = self.base.open(&self.rig)?;
        let mut maps = Vec::with_capacity(self.poses.len());
        for NamedPose { name, pose } in &self.poses {
            let found = invertibility(&self.base.base, base.black_box(), &self.rig, pose, progress);
            let kept: Vec<f64> = found.map_err(BaseError::from)?.iter().map(Conditioning::kept).collect();
            let positions = skinned_shape(BaseSkinning::LinearBlend, &self.rig, pose);
            maps.push(InvertibilityMap::new(&self.rig, name, kept, positions));
            counted.next()?;
        }
        Ok(maps)
    }
}

impl InvertibilityMap {
    fn new(rig: &Rig, pose: &str, kept: Vec<f64>, positions: Vec<Vec3>) -> Self {
        let all = kept.iter().copied().enumerate();
        let (vertex, least) =
            all.fold((0, f64::INFINITY), |worst, next| if next.1 < worst.1 { next } else { worst });
        let heaviest = rig.weights().of(vertex).first();
        let joint = heaviest.map(|i| rig.skeleton().joints()[i.joint as usize].name.clone());
        Self {
            pose: pose.to_string(),
            least,
            vertex,
            joint: joint.unwrap_or_default(),
            partly_lost: kept.iter().filter(|&&kept| kept < EXACT_FROM).count(),
            kept,
            positions,
        }
    }

    /// How many vertices keep less.
    pub fn below(&self, limit: f64) -> usize {
        self.kept.iter().filter(|&&kept| kept < limit).count()
    }
}

/// The first poses side by side, coloured by what they collapse, as a PNG.
pub fn invertibility_picture(
    mesh: &Mesh,
    maps: &[InvertibilityMap],
    painter: &dyn PanelPainter,
) -> Result<Vec<u8>, PictureError> {
    let drawn = &maps[..maps.len().min(MOST_DRAWN)];
    let normals: Vec<Vec<Vec3>> = drawn.iter().map(|map| mesh.normals_of(&map.positions)).collect();
    let lost: Vec<Vec<f32>> =
        drawn.iter().map(|map| map.kept.iter().map(|&kept| 1.0 - kept.min(1.0) as f32).collect()).collect();
    let panels: Vec<Panel> = drawn
        .iter()
        .zip(normals.iter().zip(&lost))
        .map(|(map, (normals, errors))| Panel {
            caption: format!("{}\nleast kept {:.3}", map.pose, map.least),
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
    draw_panels(painter, mesh, &panels, &params)
}
