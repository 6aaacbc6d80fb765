//! A mouth without joints: frown, smirk and smile on one axis, delight beside a second one (Lewis,
//! Cordner, Fong 2000 §5.2, Figures 7 and 10).

use std::f64::consts::PI;
use std::sync::Arc;

use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::glam::DVec3;
use eigenskin_core::mesh::Mesh;
use eigenskin_core::pose::Pose;
use eigenskin_core::rig::{Control, Rig};
use eigenskin_core::skeleton::Skeleton;
use eigenskin_core::weights::SkinWeights;

use crate::CharacterError;

const COLUMNS: usize = 25;
const ROWS: usize = 5;

/// Where the expressions stand: happiness, arousal.
const EXPRESSIONS: [(&str, [f64; 2]); 4] =
    [("frown", [-1.0, 0.0]), ("smirk", [0.5, 0.0]), ("smile", [1.0, 0.0]), ("delighted", [1.0, 1.0])];

/// The mouth and its expressions: controls happiness and arousal, no joints, 5 × 25 vertices row by row.
pub fn mouth_expressions() -> Result<ExampleSet, CharacterError> {
    let mut positions = Vec::new();
    for row in 0..ROWS {
        for column in 0..COLUMNS {
            let (x, y) = (across(column), row as f64 / (ROWS - 1) as f64 - 0.5);
            positions
                .push(DVec3::new(x, 0.35 * y * (0.5 * PI * x).cos().max(0.1), 0.3 * (1.0 - x * x)).as_vec3());
        }
    }
    let mut triangles = Vec::new();
    for row in 0..ROWS - 1 {
        for column in 0..COLUMNS - 1 {
            let first = (row * COLUMNS + column) as u32;
            let above = first + COLUMNS as u32;
            triangles.extend([[first, first + 1, above + 1], [first, above + 1, above]]);
        }
    }
    let mesh = Mesh::new(positions.clone(), triangles, None)?;
    let control = |name: &str| Control { name: name.to_string(), default: 0.0 };
    let controls = vec![control("happiness"), control("arousal")];
    let weights = SkinWeights::none(positions.len());
    let rig = Arc::new(Rig::new(mesh, Skeleton::empty(), weights, controls)?);
    let examples = EXPRESSIONS.map(|(name, at)| {
        let moved = positions.iter().enumerate().map(|(vertex, &rest)| {
            let (x, y) = (across(vertex % COLUMNS), rest.y);
            rest + change(name, x, f64::from(y)).as_vec3()
        });
        Example {
            name: name.to_string(),
            pose: Pose { world_from_joint: Vec::new(), controls: at.to_vec() },
            positions: moved.collect(),
            normals: None,
            inverted: None,
        }
    });
    Ok(ExampleSet::new(rig, examples.to_vec())?)
}

/// −1 … 1 from one corner to the other.
fn across(column: usize) -> f64 {
    2.0 * column as f64 / (COLUMNS - 1) as f64 - 1.0
}

fn change(name: &str, x: f64, y: f64) -> DVec3 {
    let ends = x * x;
    match name {
        "frown" => DVec3::new(-0.05 * x, -0.35 * ends, 0.0),
        // One corner goes up, and inwards first.
        "smirk" => DVec3::new(-0.06 * x, 0.22 * ends * (x + 1.0) / 2.0, 0.05 * ends),
        "smile" => DVec3::new(0.18 * x, 0.4 * ends, -0.1 * ends),
        _ => DVec3::new(0.12 * x, 0.45 * ends + 1.2 * y, -0.1 * ends),
    }
}
