//! A tube whose elbow and wrist do something together that neither does alone.

use std::sync::Arc;

use eigenskin_characters::tube::pose;
use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::glam::{DAffine3, DVec3, Vec3};
use eigenskin_core::pose::Pose;
use eigenskin_core::rig::Rig;

/// Linear blending, computed here, of a rest shape with a bulge of the elbow, one of the wrist, and
/// one of both: `product · sin(elbow) · sin(wrist)`.
pub fn true_shape(rig: &Rig, pose: &Pose, elbow: f64, wrist: f64, product: f64) -> Vec<Vec3> {
    let joints: Vec<DAffine3> =
        (0..3).map(|j| pose.world_from_joint[j] * rig.skeleton().rest_from_joint()[j].inverse()).collect();
    (0..rig.vertex_count())
        .map(|vertex| {
            let rest = rig.mesh().positions()[vertex].as_dvec3();
            let near = |at: f64| (-(rest.x - at).powi(2) / 2.0).exp();
            let bulge = 0.25 * elbow.sin() * near(2.0) + 0.2 * (1.0 - wrist.cos()) * near(4.0);
            let both = product * elbow.sin() * wrist.sin() * near(3.0);
            let moved = rest + DVec3::new(both, bulge * rest.y, bulge * rest.z - 0.5 * both);
            let blended = rig.weights().of(vertex).iter().map(|influence| {
                f64::from(influence.weight) * joints[influence.joint as usize].transform_point3(moved)
            });
            blended.sum::<DVec3>().as_vec3()
        })
        .collect()
}

/// Examples for (elbow, wrist).
pub fn set_of(rig: &Arc<Rig>, settings: &[(f64, f64)], product: f64) -> ExampleSet {
    let example = |&(elbow, wrist): &(f64, f64)| {
        let pose = pose(rig, DVec3::Y * elbow, DVec3::Z * wrist, 0.25);
        let positions = true_shape(rig, &pose, elbow, wrist, product);
        Example { name: format!("{elbow:.2} {wrist:.2}"), pose, positions, normals: None, inverted: None }
    };
    ExampleSet::new(rig.clone(), settings.iter().map(example).collect()).unwrap()
}

/// Each joint alone, and both on a grid.
pub fn training(rig: &Arc<Rig>, product: f64) -> ExampleSet {
    let angles = |count: u32| (1..=count).map(move |i| 1.5 * f64::from(i) / f64::from(count));
    let alone = angles(6).flat_map(|angle| [(angle, 0.0), (0.0, angle)]);
    let both = angles(4).flat_map(|elbow| angles(4).map(move |wrist| (elbow, wrist)));
    set_of(rig, &alone.chain(both).collect::<Vec<_>>(), product)
}

/// Between the poses of the grid.
pub fn held_out(rig: &Arc<Rig>, product: f64) -> ExampleSet {
    let angles = || [0.25, 0.55, 0.95, 1.3].into_iter();
    set_of(rig, &angles().flat_map(|e| angles().map(move |w| (e, w))).collect::<Vec<_>>(), product)
}
