//! Weighted pose space deformation: exact, seamless, and blind to far joints.

use std::sync::Arc;

use eigenskin_characters::tube::{pose, set_of, tube};
use eigenskin_core::glam::DVec3;
use eigenskin_core::model::{Frame, Model};
use eigenskin_core::skinning::BaseSkinning;
use eigenskin_fit::method::PsdParams;
use eigenskin_fit::method::{DeltaSpace, PrototypeParams};

use crate::support::learn;
use crate::support::psd::{REST, fixed, largest_miss, layered, setting, shape};

#[test]
fn weighted_psd_is_exact_for_any_number_of_prototypes_and_tears_nothing() {
    let set = layered();
    let rig = set.rig().clone();
    // Largest difference of corrections across an edge, in poses between examples.
    let jump = |model: &Arc<Model>| {
        let plain = Arc::new(Model::without_corrections(rig.clone(), BaseSkinning::LinearBlend));
        let mut largest = 0f32;
        for (elbow, wrist, heavy) in [(0.8, 0.4, 0.3), (0.3, 0.6, 0.6), (1.0, -0.3, REST)] {
            let pose = pose(&rig, DVec3::Y * elbow, DVec3::Z * wrist, heavy);
            let (found, skinned) = (shape(model, &pose), shape(&plain, &pose));
            let added = |v: u32| found[v as usize] - skinned[v as usize];
            for t in rig.mesh().triangles() {
                for (a, b) in [(t[0], t[1]), (t[1], t[2]), (t[2], t[0])] {
                    largest = largest.max(added(a).distance(added(b)));
                }
            }
        }
        largest
    };
    let one = jump(&Arc::new(learn(&set, &PsdParams::default()).unwrap().model));
    for count in [1, 3, 8] {
        for deltas in [DeltaSpace::Inverse, DeltaSpace::Forward { frame: Frame::Root }] {
            let prototypes = Some(PrototypeParams { count, ..PrototypeParams::default() });
            let params = PsdParams { prototypes, deltas, ..PsdParams::default() };
            let fit = learn(&set, &params).unwrap();
            assert!(fit.learnt.psd().unwrap().spaces.iter().all(|space| space.drivers.len() == count));
            let model = Arc::new(fit.model);
            let miss = largest_miss(&model, &set);
            assert!(miss < 1e-6, "{count} prototypes, {deltas:?}: {miss:e}");
            assert!(jump(&model) < 1.3 * one, "{count} prototypes: {} {one}", jump(&model));
            let plain = Arc::new(Model::without_corrections(rig.clone(), BaseSkinning::LinearBlend));
            let (found, skinned) = (shape(&model, &rig.rest_pose()), shape(&plain, &rig.rest_pose()));
            assert!(found.iter().zip(&skinned).all(|(a, b)| a.distance(*b) < 1e-12));
        }
    }
}

/// Far from the elbow, weighted PSD hardly sees the elbow: a wrist example keeps its effect at the
/// hand when the elbow bends too, which plain PSD in the joint space of both loses.
#[test]
fn weighted_psd_looks_at_the_joints_that_matter() {
    let rig = tube();
    let set = set_of(&rig, vec![setting("both", 0.2, 0.9, REST)]);
    let there = pose(&rig, DVec3::Y * 1.6, DVec3::Z * 0.9, REST);
    let plain = Arc::new(Model::without_corrections(rig.clone(), BaseSkinning::LinearBlend));
    let vertex = set.examples()[0]
        .positions
        .iter()
        .zip(shape(&plain, &set.examples()[0].pose))
        .enumerate()
        .filter(|(v, _)| rig.mesh().positions()[*v].x > 4.2)
        .max_by(|a, b| a.1.0.distance(a.1.1).total_cmp(&b.1.0.distance(b.1.1)))
        .unwrap()
        .0;
    let kept = |prototypes| {
        let params = PsdParams { prototypes, interpolation: fixed(0.7), ..PsdParams::default() };
        let model = Arc::new(learn(&set, &params).unwrap().model);
        shape(&model, &there)[vertex].distance(shape(&plain, &there)[vertex])
    };
    let (weighted, unweighted) = (kept(Some(PrototypeParams::default())), kept(None));
    assert!(weighted > 2.0 * unweighted, "{weighted} {unweighted}");
}
