//! The bars of Kim's Figure 4 in motion.

use anyhow::Result;
use eigenskin::characters::Character;
use eigenskin::examples::{Example, ExampleSet};
use eigenskin::glam::Vec3;
use eigenskin::metrics::vertex_errors;
use eigenskin::pose::Pose;
use eigenskin::skinning::{BaseSkinning, skinned_shape};
use serde_json::{Value, json};

/// What errors are relative to, as 100: the length of the bars.
pub const LENGTH: f64 = 24.0;
/// Vertices around the cylinders of 290 and 482 vertices.
pub const RINGS: [usize; 2] = [12, 20];
/// Frames of the paper, rest among them.
const FRAMES: usize = 9;

/// A turn of the upper joint in equal steps.
#[derive(Clone, Copy)]
pub struct Motion {
    twists: bool,
    /// of the last frame
    pub degrees: f64,
}

const fn twist(degrees: f64) -> Motion {
    Motion { twists: true, degrees }
}

const fn bend(degrees: f64) -> Motion {
    Motion { twists: false, degrees }
}

impl Motion {
    /// All that are measured.
    pub const ALL: [Self; 6] =
        [twist(90.0), twist(135.0), twist(170.0), bend(90.0), bend(135.0), bend(170.0)];
    /// What a picture shows.
    pub const SHOWN: [Self; 2] = [twist(170.0), bend(135.0)];

    /// "twist" or "bend".
    pub fn kind(self) -> &'static str {
        if self.twists { "twist" } else { "bend" }
    }

    /// Such as "twist 90°".
    pub fn name(self) -> String {
        format!("{} {}°", self.kind(), self.degrees)
    }

    /// The frames by linear blending, and by dual quaternions.
    pub fn frames(self, bar: &Character) -> Result<[ExampleSet; 2]> {
        let poses: Vec<Pose> = (0..FRAMES).map(|frame| self.pose(bar, frame as f64)).collect();
        Ok([
            skinned(bar, &poses, BaseSkinning::LinearBlend)?,
            skinned(bar, &poses, BaseSkinning::DualQuaternion)?,
        ])
    }

    /// Half-way between the frames, by dual quaternions.
    pub fn between(self, bar: &Character) -> Result<ExampleSet> {
        let poses: Vec<Pose> = (0..FRAMES - 1).map(|frame| self.pose(bar, frame as f64 + 0.5)).collect();
        skinned(bar, &poses, BaseSkinning::DualQuaternion)
    }

    fn pose(self, bar: &Character, frame: f64) -> Pose {
        let angle = self.degrees.to_radians() * frame / (FRAMES - 1) as f64;
        bar.pose(&if self.twists { [0.0, angle] } else { [angle, 0.0] })
    }
}

/// A character in poses, by plain skinning.
pub fn skinned(character: &Character, poses: &[Pose], base: BaseSkinning) -> Result<ExampleSet> {
    let rig = &character.rig;
    let example = |(index, pose): (usize, &Pose)| {
        let positions = skinned_shape(base, rig, pose);
        let name = format!("frame {}", index + 1);
        Example { name, pose: pose.clone(), positions, normals: None, inverted: None }
    };
    Ok(ExampleSet::new(rig.clone(), poses.iter().enumerate().map(example).collect())?)
}

/// Errors with the length of the bar set to 100.
#[derive(Clone, Copy)]
pub struct BarErrors {
    /// √(mean of squared distances)
    pub rmse: f64,
    /// the largest distance
    pub largest: f64,
}

impl BarErrors {
    /// Of shapes in the order of the truth.
    pub fn of(shapes: &ExampleSet, truth: &ExampleSet) -> Self {
        let errors = shapes
            .examples()
            .iter()
            .zip(truth.examples())
            .flat_map(|(a, b)| vertex_errors(&a.positions, &b.positions));
        Self::new(errors.map(f64::from).collect())
    }

    /// Of a function from poses to shapes.
    pub fn of_shapes(truth: &ExampleSet, shape: impl Fn(&Pose) -> Vec<Vec3>) -> Self {
        let errors = truth.examples().iter().flat_map(|e| vertex_errors(&shape(&e.pose), &e.positions));
        Self::new(errors.map(f64::from).collect())
    }

    fn new(errors: Vec<f64>) -> Self {
        let scale = 100.0 / LENGTH;
        let squares: f64 = errors.iter().map(|e| e * e).sum();
        Self {
            rmse: scale * (squares / errors.len().max(1) as f64).sqrt(),
            largest: scale * errors.into_iter().fold(0.0, f64::max),
        }
    }

    /// For machines.
    pub fn json(&self) -> Value {
        json!({ "rmse": self.rmse, "max": self.largest })
    }
}
