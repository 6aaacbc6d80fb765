//! Skin weights from examples: options, what is said of them, and their picture.

use eigenskin::progress::Unwatched;
use anyhow::Result;
use eigenskin::examples::ExampleSet;
use eigenskin::report::picture::{HeatScale, Panel, PictureParams, Surface, View, draw_panels};
use eigenskin::rig::Rig;
use eigenskin::solve_weights::{SolveWeightsParams, SolvedWeights, solve_weights};
use serde_json::{Value, json};

use crate::output::{Output, counted, figure};
use crate::{painter, progress};

/// How weights are solved.
#[derive(clap::Args, Clone)]
pub struct SolveArgs {
    /// Influences per vertex at most, for solved weights [default: 4]
    #[arg(long, value_name = "N")]
    pub influences: Option<usize>,
    /// How much the weights of neighbours hold together where examples are noisy, for solved weights;
    /// they are taken to differ by 1/√S [default: 100]
    #[arg(long, value_name = "S")]
    pub smooth: Option<f64>,
}

impl SolveArgs {
    /// As typed, else the default.
    pub fn params(&self) -> SolveWeightsParams {
        let default = SolveWeightsParams::default();
        SolveWeightsParams {
            influences: self.influences.unwrap_or(default.influences),
            smooth: self.smooth.unwrap_or(default.smooth),
        }
    }

    /// Whether any was typed.
    pub fn given(&self) -> bool {
        self.influences.is_some() || self.smooth.is_some()
    }
}

/// Solves, and says what came out.
pub fn solve(
    set: &ExampleSet,
    params: &SolveWeightsParams,
    output: &Output,
    quiet: bool,
) -> Result<SolvedWeights> {
    let solved = progress::while_doing(quiet, "solving weights", || solve_weights(set, params, &Unwatched))?;
    output.item("weights", sentence(&solved));
    if solved.limited_vertices > 0 {
        output.warning(format!(
            "{} had more than {} influences; --influences keeps more",
            counted(solved.limited_vertices, "vertex", "vertices"),
            params.influences
        ));
    }
    Ok(solved)
}

/// What the weights are good for.
pub fn sentence(solved: &SolvedWeights) -> String {
    format!(
        "plain skinning's rmse on the examples {} → {} (largest error {} → {}) by new skin weights at {}, up to {} per vertex",
        figure(solved.before.rmse),
        figure(solved.after.rmse),
        figure(solved.before.max),
        figure(solved.after.max),
        counted(solved.changed_vertices, "vertex", "vertices"),
        counted(solved.rig.weights().most_influences(), "influence", "influences"),
    )
}

/// Joints that are drawn: those whose weights changed most.
const DRAWN: usize = 3;

/// Where weights moved to other joints, and the joints that changed most, before above after, as PNG.
pub fn picture(solved: &SolvedWeights, input: &Rig, view: View) -> Result<Vec<u8>> {
    let mesh = input.mesh();
    let joints = most_changed(solved, input);
    let of = |rig: &Rig, joint: u32| -> Vec<f32> {
        let weight =
            |v: usize| rig.weights().of(v).iter().find(|i| i.joint == joint).map_or(0.0, |i| i.weight);
        (0..rig.vertex_count()).map(weight).collect()
    };
    let before: Vec<Vec<f32>> = joints.iter().map(|&joint| of(input, joint)).collect();
    let after: Vec<Vec<f32>> = joints.iter().map(|&joint| of(&solved.rig, joint)).collect();
    let panel = |caption: String, surface| Panel {
        caption,
        positions: mesh.positions(),
        normals: mesh.normals(),
        surface,
    };
    let name = |joint: u32| &input.skeleton().joints()[joint as usize].name;
    let mut panels = vec![panel(
        format!("moved to other joints\n{}", counted(solved.changed_vertices, "vertex", "vertices")),
        Surface::Heat { errors: &solved.moved },
    )];
    for (&joint, weights) in joints.iter().zip(&before) {
        panels.push(panel(format!("{}\nbefore", name(joint)), Surface::Heat { errors: weights }));
    }
    panels.push(panel("rest shape\n".to_string(), Surface::Skin));
    for (&joint, weights) in joints.iter().zip(&after) {
        panels.push(panel(format!("{}\nafter", name(joint)), Surface::Heat { errors: weights }));
    }
    let params = PictureParams {
        panel_width: 360,
        panel_height: 360,
        columns: 1 + joints.len(),
        view,
        heat: HeatScale { maximum: Some(1.0), label: "share of the vertex's weight".to_string() },
        ..PictureParams::default()
    };
    Ok(draw_panels(painter::for_reports()?, mesh, &panels, &params)?)
}

/// Joints by how much of their weight came or went, most first; at least one.
fn most_changed(solved: &SolvedWeights, input: &Rig) -> Vec<u32> {
    let mut change = vec![0.0f64; input.skeleton().joint_count()];
    for vertex in 0..input.vertex_count() {
        let (old, new) = (input.weights().of(vertex), solved.rig.weights().of(vertex));
        for influence in old.iter().chain(new) {
            let of = |list: &[eigenskin::weights::Influence]| {
                list.iter().find(|i| i.joint == influence.joint).map_or(0.0, |i| f64::from(i.weight))
            };
            change[influence.joint as usize] += (of(old) - of(new)).abs();
        }
    }
    let mut order: Vec<u32> = (0..change.len() as u32).collect();
    order.sort_by(|&a, &b| change[b as usize].total_cmp(&change[a as usize]).then(a.cmp(&b)));
    order.truncate(DRAWN);
    order
}
