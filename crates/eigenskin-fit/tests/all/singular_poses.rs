//! Poses in which skinning collapses (Xian, Lewis 2006 §5.3): a forearm twisted by half a turn. Truth
//! is the dual-quaternion shape, which nothing collapses.

use std::sync::Arc;

use eigenskin_characters::tube::{pose, tube};
use eigenskin_core::evaluate::Evaluator;
use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::glam::{DVec3, Vec3};
use eigenskin_core::model::{Model, Stage};
use eigenskin_core::pose::Pose;
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::{BaseSkinning, PosedSkinning};
use eigenskin_fit::displacements::pull_back;
use eigenskin_fit::method::{EigenSkinParams, PsdParams};

use crate::support::learn;

/// The elbow twisted about the tube's own axis.
fn twisted(rig: &Rig, degrees: f64) -> Pose {
    let axis = rig.skeleton().joints()[1].joint_from_rest.transform_vector3(DVec3::X);
    pose(rig, degrees.to_radians() * axis, DVec3::ZERO, 0.25)
}

fn skinned(rig: &Rig, pose: &Pose, base: BaseSkinning) -> Vec<Vec3> {
    let skinning = PosedSkinning::new(base, rig, pose);
    let rest = rig.mesh().positions().iter().enumerate();
    rest.map(|(vertex, rest)| skinning.position(vertex, rest.as_dvec3()).as_vec3()).collect()
}

fn example(rig: &Rig, degrees: f64) -> Example {
    let pose = twisted(rig, degrees);
    let positions = skinned(rig, &pose, BaseSkinning::DualQuaternion);
    Example { name: format!("{degrees}°"), pose, positions, normals: None, inverted: None }
}

fn examples(rig: &Arc<Rig>, degrees: &[f64]) -> ExampleSet {
    ExampleSet::new(rig.clone(), degrees.iter().map(|&d| example(rig, d)).collect()).unwrap()
}

fn largest_error(model: &Model, pose: &Pose, truth: &[Vec3]) -> f32 {
    let mut shape = vec![Vec3::ZERO; truth.len()];
    Evaluator::new(Arc::new(model.clone())).evaluate(pose, &mut shape, None);
    shape.iter().zip(truth).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max)
}

/// What a stock viewer shows.
fn before_skinning(model: &Model) -> Model {
    let before = model.layers().iter().filter(|layer| layer.stage == Stage::BeforeSkinning);
    Model::new(model.rig().clone(), BaseSkinning::LinearBlend, before.cloned().collect()).unwrap()
}

#[test]
fn a_half_twist_is_reproduced_with_the_residual_and_lost_without() {
    let rig = tube();
    let set = examples(&rig, &[90.0, 180.0]);
    let last = &set.examples()[1];
    let model = learn(&set, &PsdParams::default()).unwrap().model;
    let size = rig.mesh().size() as f32;
    for example in set.examples() {
        assert!(largest_error(&model, &example.pose, &example.positions) < 1e-5 * size, "{}", example.name);
    }
    // The ring of equal weights shrinks to a point: all of the radius is lost.
    let without = largest_error(&before_skinning(&model), &last.pose, &last.positions);
    assert!((without - 0.5).abs() < 1e-3, "{without}");

    // EigenSkin carries it on the coordinates of its components; it interpolates these, and gives way
    // by what it leaves of the displacements.
    let model = learn(&set, &EigenSkinParams::default()).unwrap().model;
    let with = largest_error(&model, &last.pose, &last.positions);
    let without = largest_error(&before_skinning(&model), &last.pose, &last.positions);
    assert!(with < 0.01 && without > 0.49, "{with} {without}");
}

/// The paper's λ = μ would give half of every correction to the residual.
#[test]
fn well_conditioned_vertices_have_no_residual() {
    let rig = tube();
    for degrees in [60.0, 120.0, 150.0, 170.0, 179.0, 180.0] {
        let example = example(&rig, degrees);
        let skinning = PosedSkinning::new(BaseSkinning::LinearBlend, &rig, &example.pose);
        let pulled = pull_back(&rig, &BaseSkinning::LinearBlend.into(), &example, &[]).unwrap();
        let mut residuals = 0;
        for (vertex, target) in example.positions.iter().enumerate() {
            let w = pulled.residuals.get(vertex).copied().unwrap_or_default();
            if skinning.conditioning(vertex).smallest >= 0.5 {
                assert!(w.length() <= 1e-3 * pulled.deltas[vertex].length(), "{degrees}° {vertex} {w}");
            }
            residuals += usize::from(w != Vec3::ZERO);
            // The root does not turn here: its axes are those of the world.
            let moved = (rig.mesh().positions()[vertex] + pulled.deltas[vertex]).as_dvec3();
            let reached = skinning.position(vertex, moved).as_vec3() + w;
            assert!(reached.distance(*target) < 1e-5 * rig.mesh().size() as f32);
        }
        assert_eq!(residuals > 0, degrees > 157.0, "{degrees}° {residuals}");
    }
}

/// An exact inverse would ask for displacements of a thousand times the correction near half a twist,
/// and throw the skin about between examples.
#[test]
fn interpolation_stays_bounded_near_the_singular_pose() {
    let rig = tube();
    // 179.9°: the smallest singular value is cos(89.95°) = 0.0009.
    for last in [170.0, 175.0, 179.0, 179.9, 180.0] {
        let sampled = [60.0, 120.0, last];
        let set = examples(&rig, &sampled);
        let psd = learn(&set, &PsdParams::default()).unwrap().model;
        let longest = psd.layers().iter().flat_map(|layer| &layer.basis.positions).map(|u| u.length());
        let longest = longest.fold(0.0, f32::max);
        // 1.125 / 0.2 times the radius at most; exactly inverted it would be 573 at 179.9°.
        assert!(longest < 5.63 * 0.5, "{sampled:?}: a field of {longest}");
        let plain = Model::without_corrections(rig.clone(), BaseSkinning::LinearBlend);
        for step in 0..=60 {
            let truth = example(&rig, 150.0 + 0.5 * f64::from(step));
            let of = |model: &Model| largest_error(model, &truth.pose, &truth.positions);
            let (model, skinning) = (of(&psd), of(&plain));
            assert!(model < skinning, "{sampled:?}, {}: {model} {skinning}", truth.name);
        }
    }
}
