//! A small character for tests that has two sides.
#![allow(clippy::unwrap_used, reason = "everything here is constant; tests build it")]

use eigenskin_core::mesh::Mesh;
use eigenskin_core::rig::Rig;
use eigenskin_core::skeleton::{Joint, Skeleton};
use eigenskin_core::weights::{Influence, SkinWeights};
use glam::{DAffine3, DVec3, Vec3};

/// A bar whose ends are joints: `arm.L` along +x, `arm.R` along −x.
pub fn two_arms() -> Rig {
    let (mut positions, mut triangles, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    for ring in -8i32..=8 {
        let x = 0.25 * ring as f32;
        let share = (x.abs() - 0.5).clamp(0.0, 1.0);
        let side = if x < 0.0 { 2 } else { 1 };
        for (y, z) in [(-0.3, -0.3), (0.3, -0.3), (0.3, 0.3), (-0.3, 0.4)] {
            positions.push(Vec3::new(x, y, z));
            let shares = [(0, 1.0 - share), (side, share)].into_iter().filter(|(_, weight)| *weight > 0.0);
            weights.push(shares.map(|(joint, weight)| Influence { joint, weight }).collect());
        }
    }
    for ring in 0..16u32 {
        for corner in 0..4 {
            let (a, b) = (4 * ring + corner, 4 * ring + (corner + 1) % 4);
            triangles.extend([[a, b, b + 4], [a, b + 4, a + 4]]);
        }
    }
    let joint = |name: &str, parent: Option<usize>, x: f64| Joint {
        name: name.to_string(),
        parent,
        reference: None,
        joint_from_rest: DAffine3::from_translation(DVec3::new(-x, 0.0, 0.0)),
    };
    let joints = vec![joint("chest", None, 0.0), joint("arm.L", Some(0), 1.0), joint("arm.R", Some(0), -1.0)];
    let mesh = Mesh::new(positions, triangles, None).unwrap();
    let weights = SkinWeights::new(3, weights).unwrap().0;
    Rig::new(mesh, Skeleton::new(joints).unwrap(), weights, vec![]).unwrap()
}
