//! Xian, Lewis 2006 §4.2: which way a correction points between two examples of a hinge.

use std::f64::consts::FRAC_PI_2;
use std::sync::Arc;

use anyhow::Result;
use eigenskin::deformers::Base;
use eigenskin::evaluate::Evaluator;
use eigenskin::examples::{Example, ExampleSet};
use eigenskin::glam::{DAffine3, DQuat, DVec3, Vec3};
use eigenskin::mesh::Mesh;
use eigenskin::method::DeltaSpace;
use eigenskin::method::{PsdParams, fit_examples};
use eigenskin::model::{Frame, Model};
use eigenskin::pose::Pose;
use eigenskin::progress::Unwatched;
use eigenskin::rig::Rig;
use eigenskin::skeleton::{Joint, Skeleton};
use eigenskin::skinning::BaseSkinning;
use eigenskin::weights::{Influence, SkinWeights};

/// Degrees that the paper's Figure 5 looks at.
pub const LOOKED_AT: [f64; 3] = [30.0, 45.0, 60.0];
/// Weights of the turning joint at the three vertices.
const WEIGHTS: [f32; 3] = [1.0, 0.5, 0.0];

/// A vertex between rest and its example at 90°.
pub struct Direction {
    /// whether deltas are taken at rest
    pub inverse: bool,
    /// weight of the turning joint
    pub weight: f32,
    /// [`LOOKED_AT`]: how far the correction's direction is turned back from that at 90°, degrees
    pub turned_back: [f64; 3],
}

/// Measures forward and inverse deltas on vertices that follow a hinge wholly and by half.
pub fn directions() -> Result<Vec<Direction>> {
    let rig = hinge()?;
    let plain = Arc::new(Model::without_corrections(rig.clone(), BaseSkinning::LinearBlend));
    let sculpted = Vec3::new(0.3, 0.4, 0.0);
    let mut positions = shape(&plain, FRAC_PI_2);
    for position in &mut positions {
        *position += sculpted;
    }
    let example = Example {
        name: "90°".to_string(),
        pose: turned(FRAC_PI_2),
        positions,
        normals: None,
        inverted: None,
    };
    let set = ExampleSet::new(rig, vec![example])?;
    let mut all = Vec::new();
    for inverse in [false, true] {
        let deltas = if inverse { DeltaSpace::Inverse } else { DeltaSpace::Forward { frame: Frame::Root } };
        let model = Arc::new(
            fit_examples(
                &set,
                &Base::default(),
                &PsdParams { deltas, ..PsdParams::default() }.into(),
                &Unwatched,
            )?
            .model,
        );
        for (vertex, weight) in WEIGHTS.into_iter().enumerate().take(2) {
            let turned_back = LOOKED_AT.map(|degrees| {
                let angle = degrees.to_radians();
                let added = shape(&model, angle)[vertex] - shape(&plain, angle)[vertex];
                let towards = |v: Vec3| f64::from(v.y).atan2(f64::from(v.x));
                (towards(sculpted) - towards(added)).to_degrees()
            });
            all.push(Direction { inverse, weight, turned_back });
        }
    }
    Ok(all)
}

/// Three vertices and two joints; the second turns about z in the origin.
fn hinge() -> Result<Arc<Rig>> {
    let joint = |name: &str, parent| Joint {
        name: name.to_string(),
        parent,
        reference: None,
        joint_from_rest: DAffine3::IDENTITY,
    };
    let skeleton = Skeleton::new(vec![joint("root", None), joint("hinge", Some(0))])?;
    let share =
        |weight: f32| vec![Influence { joint: 0, weight: 1.0 - weight }, Influence { joint: 1, weight }];
    let (weights, _) = SkinWeights::new(2, WEIGHTS.map(share).to_vec())?;
    let positions = vec![Vec3::new(2.0, 0.3, 0.0), Vec3::new(1.0, 0.2, 0.0), Vec3::new(-1.0, 0.1, 0.0)];
    let mesh = Mesh::new(positions, vec![[0, 1, 2]], None)?;
    Ok(Arc::new(Rig::new(mesh, skeleton, weights, Vec::new())?))
}

fn turned(angle: f64) -> Pose {
    let hinge = DAffine3::from_quat(DQuat::from_axis_angle(DVec3::Z, angle));
    Pose { world_from_joint: vec![DAffine3::IDENTITY, hinge], controls: Vec::new() }
}

fn shape(model: &Arc<Model>, angle: f64) -> Vec<Vec3> {
    let mut positions = vec![Vec3::ZERO; model.rig().vertex_count()];
    Evaluator::new(model.clone()).evaluate(&turned(angle), &mut positions, None);
    positions
}
