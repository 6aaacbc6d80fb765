//! Example sets of a rig whose vertices another program has put into another order.

use std::sync::Arc;

use eigenskin_characters::arm;
use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::glam::Vec3;
use eigenskin_core::mesh::Mesh;
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::{BaseSkinning, skinned_shape};
use eigenskin_core::weights::SkinWeights;
use eigenskin_io::vertex_cache::renumbered;

/// The rig with vertex `order[i]` at place i, moved by `shift` where it is asked for.
fn shuffled(rig: &Rig, order: &[usize], shift: impl Fn(usize) -> Vec3) -> Rig {
    let mut place = vec![0u32; order.len()];
    for (new, &old) in order.iter().enumerate() {
        place[old] = new as u32;
    }
    let positions = order.iter().map(|&old| rig.mesh().positions()[old] + shift(old)).collect();
    let triangles =
        rig.mesh().triangles().iter().map(|corners| corners.map(|old| place[old as usize])).collect();
    let mesh = Mesh::new(positions, triangles, None).unwrap();
    let influences: Vec<_> = order.iter().map(|&old| rig.weights().of(old).to_vec()).collect();
    let weights = SkinWeights::new(rig.skeleton().joint_count(), influences).unwrap().0;
    Rig::new(mesh, rig.skeleton().clone(), weights, rig.controls().to_vec()).unwrap()
}

#[test]
fn vertices_are_matched_by_the_rest_shape() {
    let character = arm(400).unwrap();
    let rig = &character.rig;
    let count = rig.vertex_count();
    let poses = character.demo_motion().1;
    let example = |(index, pose): (usize, &eigenskin_core::pose::Pose)| {
        let mut positions = skinned_shape(BaseSkinning::LinearBlend, rig, pose);
        // Not what skinning gives, and another at every vertex.
        for (vertex, position) in positions.iter_mut().enumerate() {
            position.z += 0.1 * (vertex as f32 + index as f32).sin();
        }
        Example { name: format!("e{index}"), pose: pose.clone(), positions, normals: None, inverted: None }
    };
    let examples = poses.iter().step_by(9).enumerate().map(example).collect();
    let set = ExampleSet::new(rig.clone(), examples).unwrap();

    // Seven is no divisor of the count: every vertex has one place.
    assert_ne!(count % 7, 0);
    let order: Vec<usize> = (0..count).map(|i| (7 * i + 3) % count).collect();
    let other = Arc::new(shuffled(rig, &order, |_| Vec3::ZERO));
    assert!(set.clone().for_rig(&other).is_err());
    let (found, notes) = renumbered(&set, &other).unwrap();
    assert!(notes[0].contains("another order"), "{notes:?}");
    let found = found.for_rig(&other).unwrap();
    for (a, b) in found.examples().iter().zip(set.examples()) {
        assert!(
            order.iter().enumerate().all(|(new, &old)| a.positions[new] == b.positions[old]),
            "{}",
            a.name
        );
    }

    // Rounded by a program it is still the same rig, another shape is none.
    let size = rig.mesh().size() as f32;
    let rounded = |vertex: usize| 3e-5 * size * Vec3::new((vertex as f32).sin(), (vertex as f32).cos(), 0.0);
    assert!(renumbered(&set, &shuffled(rig, &order, rounded)).is_some());
    assert!(renumbered(&set, &shuffled(rig, &order, |vertex| 20.0 * rounded(vertex))).is_none());
    assert!(renumbered(&set, &shuffled(rig, &order, |_| 0.5 * size * Vec3::Y)).is_none());
}
