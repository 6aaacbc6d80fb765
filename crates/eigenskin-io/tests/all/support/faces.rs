//! Faces of scenes, and sheets that touch.

use std::sync::Arc;

use eigenskin_core::glam::{DAffine3, DVec3, Vec3};
use eigenskin_core::mesh::Mesh;
use eigenskin_core::pose::Pose;
use eigenskin_core::rig::Rig;
use eigenskin_core::skeleton::{Joint, Skeleton};
use eigenskin_core::weights::{Influence, SkinWeights};

use super::scene::Scene;

/// The triangles of a scene, as files list faces.
pub fn faces_of(scene: &Scene) -> Vec<Vec<u32>> {
    scene.triangles().iter().map(|t| t.to_vec()).collect()
}

/// Faces for vertices in another order.
pub fn renamed(faces: &[Vec<u32>], order: &[usize]) -> Vec<Vec<u32>> {
    let mut new_of = vec![0u32; order.len()];
    for (new, &old) in order.iter().enumerate() {
        new_of[old] = new as u32;
    }
    faces.iter().map(|face| face.iter().map(|&v| new_of[v as usize]).collect()).collect()
}

/// Two sheets of 6 × 4 vertices, the second shifted by `overlap_from` and turned over: where they
/// overlap each vertex of one lies on a vertex of the other, as closed lips do. The second opens
/// about an axis at z = `hinge`.
pub fn lips_scene(overlap_from: f32, hinge: f64) -> Scene {
    let (columns, rows) = (6u32, 4u32);
    let mut positions = Vec::new();
    let mut triangles = Vec::new();
    for sheet in 0..2u32 {
        let shift = sheet as f32 * overlap_from;
        let at = |column: u32, row: u32| sheet * columns * rows + row * columns + column;
        for row in 0..rows {
            for column in 0..columns {
                positions.push(Vec3::new(column as f32 + shift, 0.1 * (row * row) as f32, row as f32));
                if row > 0 && column > 0 {
                    let [a, b, c, d] =
                        [at(column - 1, row - 1), at(column, row - 1), at(column, row), at(column - 1, row)];
                    let turned = |t: [u32; 3]| if sheet == 0 { t } else { [t[0], t[2], t[1]] };
                    triangles.extend([turned([a, b, c]), turned([a, c, d])]);
                }
            }
        }
    }
    let count = positions.len();
    // Given normals keep the two sheets apart.
    let normals = (0..count).map(|v| if v < count / 2 { Vec3::NEG_Y } else { Vec3::Y }).collect();
    let mesh = Mesh::new(positions, triangles, Some(normals)).unwrap();
    let joint = |name: &str, parent| Joint {
        name: name.into(),
        parent,
        reference: None,
        joint_from_rest: DAffine3::IDENTITY,
    };
    let skeleton = Skeleton::new(vec![joint("upper", None), joint("lower", Some(0))]).unwrap();
    let on = |v: usize| vec![Influence { joint: u32::from(v >= count / 2), weight: 1.0 }];
    let (weights, _) = SkinWeights::new(2, (0..count).map(on)).unwrap();
    let rig = Arc::new(Rig::new(mesh, skeleton, weights, vec![]).unwrap());
    let opening = |angle: f64| {
        DAffine3::from_translation(DVec3::Z * hinge)
            * DAffine3::from_axis_angle(DVec3::X, angle)
            * DAffine3::from_translation(DVec3::NEG_Z * hinge)
    };
    let opened =
        |angle: f64| Pose { world_from_joint: vec![DAffine3::IDENTITY, opening(angle)], controls: vec![] };
    let poses: Vec<Pose> = [0.2, 0.5].into_iter().map(opened).collect();
    let shape = |pose: &Pose| {
        let place = |(v, p): (usize, &Vec3)| {
            let moved = pose.world_from_joint[usize::from(v >= count / 2)].transform_point3(p.as_dvec3());
            (moved + DVec3::new(0.0, 0.01 * (v as f64).sin(), 0.0)).as_vec3()
        };
        rig.mesh().positions().iter().enumerate().map(place).collect()
    };
    let shapes = poses.iter().map(shape).collect();
    Scene::new(rig.clone(), poses, shapes)
}
