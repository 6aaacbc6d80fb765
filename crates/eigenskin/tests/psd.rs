//! Pose space deformation: exact at the examples, zero at rest, gone far away; layers, weighted PSD,
//! errors.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::sync::Arc;

use eigenskin::driver::{FeatureScale, Interpolant, RbfParams, Representation, Ridge, Width};
use eigenskin::evaluate::Evaluator;
use eigenskin::examples::{Example, ExampleSet, ExamplesError};
use eigenskin::fit::psd::{DeltaSpace, PoseFeature, PrototypeParams, PsdInterpolation, SpaceOrder};
use eigenskin::fit::{PsdError, PsdFit, PsdParams, PsdSession, fit_psd};
use eigenskin::glam::{DMat3, DVec3, Vec3};
use eigenskin::model::{Frame, Model};
use eigenskin::pose::Pose;
use eigenskin::skinning::BaseSkinning;
use support::{AROUND, RINGS, pose, set_of, sweeps, tube};

const REST: f64 = 0.25;

fn shape(model: &Arc<Model>, pose: &Pose) -> Vec<Vec3> {
    let mut positions = vec![Vec3::ZERO; model.rig().vertex_count()];
    Evaluator::new(model.clone()).evaluate(pose, &mut positions, None);
    positions
}

/// Largest distance of the model from the examples, in sizes.
fn largest_miss(model: &Arc<Model>, set: &ExampleSet) -> f64 {
    let size = set.rig().mesh().size();
    set.examples()
        .iter()
        .flat_map(|e| {
            let found = shape(model, &e.pose);
            e.positions.iter().zip(found).map(|(a, b)| f64::from(a.distance(b))).collect::<Vec<_>>()
        })
        .fold(0.0, f64::max)
        / size
}

fn setting(name: &str, elbow: f64, wrist: f64, heavy: f64) -> (String, DVec3, DVec3, f64) {
    (name.into(), DVec3::Y * elbow, DVec3::Z * wrist, heavy)
}

/// Elbow alone, wrist alone, both, and all three with the control.
fn layered() -> ExampleSet {
    set_of(
        &tube(),
        vec![
            setting("both", 1.1, 0.7, REST),
            setting("elbow", 1.1, 0.0, REST),
            setting("wrist", 0.0, 0.8, REST),
            setting("elbow half", 0.5, 0.0, REST),
            setting("all", 0.9, 0.4, 0.8),
            setting("both back", 0.6, -0.5, REST),
            setting("wrist and heavy", 0.0, 0.8, 0.9),
        ],
    )
}

fn fixed(width: f64) -> PsdInterpolation {
    PsdInterpolation::Rbf(RbfParams {
        width: Width::Fixed(width),
        ridge: Ridge::Fixed(0.0),
        ..RbfParams::default()
    })
}

#[test]
fn examples_are_exact_and_rest_is_rest_in_every_variant() {
    let rig = tube();
    let sets = [sweeps(&rig), layered()];
    let spaces = [
        DeltaSpace::Inverse,
        DeltaSpace::Forward { frame: Frame::Root },
        DeltaSpace::Forward { frame: Frame::HeaviestJoint },
        DeltaSpace::Forward { frame: Frame::Joint(1) },
    ];
    let bases = [BaseSkinning::Rigid, BaseSkinning::LinearBlend, BaseSkinning::DualQuaternion];
    let interpolations =
        [PsdInterpolation::default(), fixed(0.5), PsdInterpolation::Shepard { power: 2.0, epsilon: 0.0 }];
    for set in &sets {
        let global = eigenskin::glam::DAffine3::from_rotation_translation(
            eigenskin::glam::DQuat::from_rotation_x(0.8),
            DVec3::new(1.0, 2.0, -1.0),
        );
        for deltas in spaces {
            for base in bases {
                for interpolation in &interpolations {
                    let interpolation = interpolation.clone();
                    let params = PsdParams { base, deltas, interpolation, ..PsdParams::default() };
                    let fit = fit_psd(set, &params).unwrap();
                    let model = Arc::new(fit.model);
                    let miss = largest_miss(&model, set);
                    assert!(miss < 1e-6, "{base:?} {deltas:?} {:?}: {miss:e}", params.interpolation);
                    assert!(fit.spaces.iter().flat_map(|s| &s.drivers).all(|d| d.miss < 1e-9));
                    assert!(fit.examples.iter().all(|e| e.unreachable < 4e-6 && e.largest_delta > 1e-3));
                    let at_rest = shape(&model, &rig.rest_pose().moved_by(global));
                    for (found, rest) in at_rest.iter().zip(rig.mesh().positions()) {
                        let expected = global.transform_point3(rest.as_dvec3()).as_vec3();
                        assert!(found.distance(expected) < 2e-6, "{base:?} {deltas:?}");
                    }
                }
            }
        }
    }
}

/// Skinning alone misses what the tests above reach, by far.
#[test]
fn plain_skinning_is_far_off() {
    for set in [sweeps(&tube()), layered()] {
        let plain = Arc::new(Model::without_corrections(set.rig().clone(), BaseSkinning::LinearBlend));
        assert!(largest_miss(&plain, &set) > 0.01);
    }
}

#[test]
fn only_vertices_that_moved_take_part() {
    let rig = tube();
    let mut set = layered().examples().to_vec();
    // One vertex is sculpted in one example only.
    let still = PsdParams::default();
    let skinned = Arc::new(Model::without_corrections(rig.clone(), still.base));
    for example in &mut set {
        example.positions = shape(&skinned, &example.pose);
    }
    set[1].positions[40] += Vec3::new(0.0, 0.2, 0.0);
    let fit = fit_psd(&ExampleSet::new(rig, set).unwrap(), &still).unwrap();
    let used: Vec<(&str, &[u32], usize)> = fit
        .model
        .layers()
        .iter()
        .map(|layer| (layer.name.as_str(), layer.support.as_slice(), layer.component_count()))
        .collect();
    // The other examples of the elbow say "nothing here", in the layer's driver; wider spaces take
    // back what the elbow's layer would add at their examples.
    assert_eq!(used[0], ("elbow", &[40][..], 1));
    assert!(used.iter().all(|layer| layer.1 == [40]));
    assert_eq!(fit.spaces.iter().map(|s| s.vertex_count).collect::<Vec<_>>(), [1, 0, 1, 0, 1]);
}

#[test]
fn spaces_stand_narrow_first_whatever_the_order_of_examples() {
    let set = layered();
    let names = |fit: &PsdFit| fit.spaces.iter().map(|s| s.name.clone()).collect::<Vec<_>>();
    let fit = fit_psd(&set, &PsdParams::default()).unwrap();
    let expected = ["elbow", "wrist", "elbow + wrist", "wrist + heavy", "elbow + wrist + heavy"];
    assert_eq!(names(&fit), expected);
    assert_eq!(fit.spaces[2].examples, ["both", "both back"]);
    // "wrist" looks like no other from here; the elbow's examples lie on the other axis.
    assert_eq!(fit.spaces[2].anchors, ["elbow", "elbow half", "wrist"]);
    let somewhere = pose(set.rig(), DVec3::Y * 0.7, DVec3::Z * 0.3, 0.5);
    let expected_shape = shape(&Arc::new(fit.model), &somewhere);
    for order in [[6, 5, 4, 3, 2, 1, 0], [3, 0, 6, 1, 5, 2, 4]] {
        let shuffled = set.select(&order).unwrap();
        for space_order in [SpaceOrder::NarrowFirst, SpaceOrder::Listed(vec![vec!["wrist".into()]])] {
            let params = PsdParams { order: space_order.clone(), ..PsdParams::default() };
            let fit = fit_psd(&shuffled, &params).unwrap();
            let found = names(&fit);
            let model = Arc::new(fit.model);
            assert!(largest_miss(&model, &shuffled) < 1e-6);
            if space_order == SpaceOrder::NarrowFirst {
                assert_eq!(found, expected);
                let there = shape(&model, &somewhere);
                assert!(there.iter().zip(&expected_shape).all(|(a, b)| a.distance(*b) < 1e-5));
            } else {
                assert_eq!(found[..2], ["wrist", "elbow"]);
            }
        }
    }
}

/// Without anchors the layer of both joints would be far from zero at the elbow's example.
#[test]
fn a_wider_layer_leaves_older_examples_alone() {
    let set = layered().select(&[1, 2, 0]).unwrap();
    let params = PsdParams { interpolation: fixed(0.8), ..PsdParams::default() };
    let model = Arc::new(fit_psd(&set, &params).unwrap().model);
    let mut evaluator = Evaluator::new(model.clone());
    let weights = |evaluator: &mut Evaluator, pose: &Pose| evaluator.drive(pose).to_vec();
    // The wrist's own layer where "both" holds the wrist: centres at 0 and 0.8, seen from 0.7.
    let phi = |d: f64| (-d * d / (2.0 * 0.8 * 0.8)).exp();
    let at_both = (phi(0.1) - phi(0.8) * phi(0.7)) / (1.0 - phi(0.8).powi(2));
    let expected = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, at_both as f32, 1.0]];
    for (example, expected) in set.examples().iter().zip(expected) {
        let found = weights(&mut evaluator, &example.pose);
        assert!(found.iter().zip(expected).all(|(a, b): (&f32, f32)| (a - b).abs() < 1e-5), "{found:?}");
    }
    // The same layer as its own kernels alone would have it: one centre besides rest.
    let alone = layered().select(&[0]).unwrap();
    let mut alone = Evaluator::new(Arc::new(fit_psd(&alone, &params).unwrap().model));
    assert!(weights(&mut alone, &set.examples()[0].pose)[0] > 0.5);
}

#[test]
fn a_later_space_that_cannot_tell_examples_apart_is_refused_naming_both() {
    let set = layered();
    let listed = vec![vec!["wrist".to_string(), "elbow".to_string()], vec!["elbow".to_string()]];
    let params = PsdParams { order: SpaceOrder::Listed(listed), ..PsdParams::default() };
    match fit_psd(&set, &params).unwrap_err() {
        PsdError::LayerConflict { space, earlier, later } => {
            assert_eq!((space.as_str(), earlier.as_str(), later.as_str()), ("elbow", "both", "elbow"));
        }
        other => panic!("{other}"),
    }
    // Given in this order the same; "both back" bends the elbow by an angle of its own.
    let params = PsdParams { order: SpaceOrder::AsGiven, ..PsdParams::default() };
    assert!(matches!(fit_psd(&set, &params), Err(PsdError::LayerConflict { .. })));
    let told_apart = set.select(&[5, 1, 2]).unwrap();
    let fit = fit_psd(&told_apart, &params).unwrap();
    assert_eq!(fit.spaces[0].name, "elbow + wrist");
    assert_eq!(fit.spaces[1].anchors, ["both back"]);
    assert!(largest_miss(&Arc::new(fit.model), &told_apart) < 1e-6);
}

/// φ by hand for two examples of one hinge, one with a radius of its own.
#[test]
fn radii_by_hand() {
    let rig = tube();
    let set = set_of(&rig, vec![setting("a", 0.5, 0.0, REST), setting("b", 1.2, 0.0, REST)]);
    let radii = [("b".to_string(), 0.9)].into();
    let params = PsdParams { interpolation: fixed(0.4), radii, ..PsdParams::default() };
    let mut evaluator = Evaluator::new(Arc::new(fit_psd(&set, &params).unwrap().model));
    let centres = [(0.0, 0.4), (0.5, 0.4), (1.2, 0.9)];
    let phi = |x: f64| centres.map(|(c, w)| (-(x - c) * (x - c) / (2.0 * w * w)).exp());
    let rows = [phi(0.0), phi(0.5), phi(1.2)];
    // α(x) = φ(x)ᵀ Φ⁻¹ e_k: solve Φᵀ y = φ(x).
    let matrix = DMat3::from_cols_array_2d(&rows);
    for x in [-0.4, 0.2, 0.8, 1.5, 2.5] {
        let expected = matrix.inverse() * DVec3::from_array(phi(x));
        let found = evaluator.drive(&pose(&rig, DVec3::Y * x, DVec3::ZERO, REST));
        assert!((f64::from(found[0]) - expected.y).abs() < 1e-5, "{x}: {found:?} {expected}");
        assert!((f64::from(found[1]) - expected.z).abs() < 1e-5, "{x}: {found:?} {expected}");
    }
}

#[test]
fn radii_per_axis_and_mahalanobis_by_hand() {
    let rig = tube();
    let bend = DVec3::new(0.3, 0.9, -0.2);
    let set = set_of(&rig, vec![("bend".into(), bend, DVec3::ZERO, REST)]);
    let radii = DVec3::new(0.5, 1.5, 0.8);
    let shear = DMat3::from_cols(DVec3::new(2.0, 0.5, 0.0), DVec3::Y, DVec3::new(0.0, 0.3, 1.5));
    let matrix = PoseFeature {
        name: "elbow".into(),
        representation: Representation::RotationVector,
        scale: FeatureScale::Matrix(shear),
    };
    let diagonal = DMat3::from_diagonal(radii.recip());
    for (feature, scale) in [(PoseFeature::radii("elbow", radii), diagonal), (matrix, shear)] {
        let params = PsdParams { interpolation: fixed(1.0), features: vec![feature], ..PsdParams::default() };
        let mut evaluator = Evaluator::new(Arc::new(fit_psd(&set, &params).unwrap().model));
        for here in [bend * 0.5, DVec3::new(-0.2, 0.7, 0.4), DVec3::new(0.9, 0.0, 0.1)] {
            let phi = |v: DVec3| (-0.5 * (scale * v).length_squared()).exp();
            let between = phi(bend);
            let expected = (phi(here - bend) - between * phi(here)) / (1.0 - between * between);
            let found = f64::from(evaluator.drive(&pose(&rig, here, DVec3::ZERO, REST))[0]);
            assert!((found - expected).abs() < 1e-5, "{found} {expected}");
        }
    }
}

/// Far from all centres: not more than the formula's sum, and next to nothing at 5σ of an only one.
#[test]
fn corrections_decay() {
    let rig = tube();
    let sigma = 0.25;
    let set = set_of(
        &rig,
        vec![setting("a", 0.4, 0.0, REST), setting("b", 0.9, 0.0, REST), setting("c", 1.3, 0.0, REST)],
    );
    let params = PsdParams { interpolation: fixed(sigma), ..PsdParams::default() };
    let model = Arc::new(fit_psd(&set, &params).unwrap().model);
    let layer = &model.layers()[0];
    let Interpolant::Rbf { coefficients, .. } = &layer.driver.interpolant else { panic!() };
    let count = layer.support.len();
    let plain = Arc::new(Model::without_corrections(rig.clone(), params.base));
    let mut largest = 0f64;
    for turn in [-0.75, 1.3 + 0.75, 2.5, -1.5] {
        let there = pose(&rig, DVec3::Y * turn, DVec3::ZERO, REST);
        let (found, skinned) = (shape(&model, &there), shape(&plain, &there));
        for (place, &vertex) in layer.support.iter().enumerate() {
            let bound: f64 = coefficients
                .chunks_exact(3)
                .map(|row| {
                    let sum: DVec3 =
                        (0..3).map(|k| row[k] * layer.basis.positions[k * count + place].as_dvec3()).sum();
                    sum.length() * (-4.5f64).exp()
                })
                .sum();
            let moved = f64::from(found[vertex as usize].distance(skinned[vertex as usize]));
            largest = largest.max(moved / bound.max(1e-9));
            assert!(moved <= bound * (1.0 + 1e-3) + 2e-6, "{turn}: {moved} {bound}");
        }
    }
    assert!(largest > 0.01, "the bound is never of use: {largest}");

    // One example, automatic width: 5σ away in every direction.
    let one = set_of(&rig, vec![setting("a", 0.4, 0.0, REST)]);
    let fit = fit_psd(&one, &PsdParams::default()).unwrap();
    let sigma = fit.spaces[0].drivers[0].width;
    let delta = fit.examples[0].largest_delta;
    let model = Arc::new(fit.model);
    for turn in [0.4 + 5.0 * sigma, 0.4 - 5.0 * sigma] {
        let there = pose(&rig, DVec3::Y * turn, DVec3::ZERO, REST);
        let (found, skinned) = (shape(&model, &there), shape(&plain, &there));
        let moved = found.iter().zip(&skinned).map(|(a, b)| f64::from(a.distance(*b))).fold(0.0, f64::max);
        assert!(moved <= 1e-3 * delta, "{turn}: {moved} of {delta}");
    }
}

#[test]
fn weights_can_be_clamped() {
    let set = sweeps(&tube());
    let linear = PsdInterpolation::Rbf(RbfParams {
        kernel: eigenskin::driver::Kernel::ThinPlate,
        ridge: Ridge::Fixed(0.0),
        ..RbfParams::default()
    });
    let far = pose(set.rig(), DVec3::Y * 2.9, DVec3::Z * 2.9, 9.0);
    let range = |clamp_margin| {
        let params = PsdParams { clamp_margin, interpolation: linear.clone(), ..PsdParams::default() };
        let model = Arc::new(fit_psd(&set, &params).unwrap().model);
        assert!(largest_miss(&model, &set) < 1e-6);
        let mut evaluator = Evaluator::new(model);
        let weights = evaluator.drive(&far).to_vec();
        weights.iter().fold((0f32, 0f32), |(low, high), &w| (low.min(w), high.max(w)))
    };
    let (low, high) = range(Some(0.25));
    assert!(low >= -0.25 && high <= 1.25, "{low} {high}");
    let (low, high) = range(None);
    assert!(low < -0.25 || high > 1.25, "{low} {high}");
}

#[test]
fn normals_come_along() {
    let set = layered();
    let angle = |model: &Arc<Model>| {
        let mut worst = 0f64;
        for (index, example) in set.examples().iter().enumerate() {
            let mut positions = vec![Vec3::ZERO; set.rig().vertex_count()];
            let mut normals = positions.clone();
            Evaluator::new(model.clone()).evaluate(&example.pose, &mut positions, Some(&mut normals));
            for (found, truth) in normals.iter().zip(set.normals_of(index)) {
                worst = worst.max(f64::from(found.angle_between(truth)).to_degrees());
            }
        }
        worst
    };
    let with = Arc::new(fit_psd(&set, &PsdParams::default()).unwrap().model);
    let without = PsdParams { normals: false, ..PsdParams::default() };
    let without = Arc::new(fit_psd(&set, &without).unwrap().model);
    assert!(angle(&with) < 0.1, "{}", angle(&with));
    assert!(angle(&without) > 5.0, "{}", angle(&without));
}

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
    let one = jump(&Arc::new(fit_psd(&set, &PsdParams::default()).unwrap().model));
    for count in [1, 3, 8] {
        for deltas in [DeltaSpace::Inverse, DeltaSpace::Forward { frame: Frame::Root }] {
            let prototypes = Some(PrototypeParams { count, ..PrototypeParams::default() });
            let params = PsdParams { prototypes, deltas, ..PsdParams::default() };
            let fit = fit_psd(&set, &params).unwrap();
            assert!(fit.spaces.iter().all(|space| space.drivers.len() == count));
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
        let model = Arc::new(fit_psd(&set, &params).unwrap().model);
        shape(&model, &there)[vertex].distance(shape(&plain, &there)[vertex])
    };
    let (weighted, unweighted) = (kept(Some(PrototypeParams::default())), kept(None));
    assert!(weighted > 2.0 * unweighted, "{weighted} {unweighted}");
}

#[test]
fn a_session_ends_where_a_fresh_fit_does() {
    let set = layered();
    for prototypes in [None, Some(PrototypeParams { count: 3, ..PrototypeParams::default() })] {
        let params = PsdParams { prototypes, ..PsdParams::default() };
        let mut session = PsdSession::new(&set, params.clone()).unwrap();
        let fresh = |examples: Vec<Example>| {
            fit_psd(&ExampleSet::new(set.rig().clone(), examples).unwrap(), &params).unwrap().model
        };
        assert_eq!(session.fit().unwrap().model, fresh(set.examples().to_vec()));
        // Another shape at another pose.
        let mut changed = set.examples().to_vec();
        changed[3] = set_of(set.rig(), vec![setting("elbow half", 0.4, 0.0, REST)]).examples()[0].clone();
        changed[3].positions[30].y += 0.1;
        session.put(changed[3].clone()).unwrap();
        assert_eq!(session.fit().unwrap().model, fresh(changed.clone()));
        // Muted, and taken back.
        session.mute("both", true).unwrap();
        assert_eq!(session.fit().unwrap().model, fresh(changed[1..].to_vec()));
        session.mute("both", false).unwrap();
        assert_eq!(session.fit().unwrap().model, fresh(changed.clone()));
        // Out, and in again at the end.
        let out = session.remove("wrist").unwrap();
        let mut reordered = changed.clone();
        reordered.remove(2);
        assert_eq!(session.fit().unwrap().model, fresh(reordered.clone()));
        reordered.push(out.clone());
        session.put(out).unwrap();
        assert_eq!(session.fit().unwrap().model, fresh(reordered.clone()));
        assert!(matches!(session.mute("nobody", true), Err(PsdError::UnknownExample { .. })));
        // Other settings, with and without new deltas; mutes stay.
        session.mute("both", true).unwrap();
        for base in [BaseSkinning::LinearBlend, BaseSkinning::DualQuaternion] {
            let params = PsdParams { base, interpolation: fixed(0.6), ..params.clone() };
            session.set_params(params.clone()).unwrap();
            let examples = ExampleSet::new(set.rig().clone(), reordered[1..].to_vec()).unwrap();
            assert_eq!(session.fit().unwrap().model, fit_psd(&examples, &params).unwrap().model);
        }
    }
}

#[test]
fn one_and_two_threads_give_the_same_bits() {
    let set = layered();
    let params = PsdParams { prototypes: Some(PrototypeParams::default()), ..PsdParams::default() };
    let fit_with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| fit_psd(&set, &params).unwrap().model)
    };
    assert_eq!(fit_with(1), fit_with(2));
}

#[test]
fn seam_duplicates_never_separate() {
    let rig = tube();
    let mut examples = layered().examples().to_vec();
    for (index, example) in examples.iter_mut().enumerate() {
        for (vertex, position) in example.positions.iter_mut().enumerate() {
            position.x += 1e-6 * ((vertex * 7919 + index * 104_729) % 13) as f32;
        }
    }
    let set = ExampleSet::new(rig.clone(), examples).unwrap();
    let model = Arc::new(fit_psd(&set, &PsdParams::default()).unwrap().model);
    let found = shape(&model, &pose(&rig, DVec3::Y * 0.7, DVec3::Z * 0.3, 0.5));
    for ring in 0..RINGS {
        assert_eq!(found[ring * AROUND], found[ring * AROUND + AROUND - 1]);
    }
}

fn refused(settings: Vec<(String, DVec3, DVec3, f64)>, params: &PsdParams) -> PsdError {
    fit_psd(&set_of(&tube(), settings), params).unwrap_err()
}

#[test]
fn bad_examples_are_refused_by_name() {
    let rig = tube();
    let pushed = |name: &str, elbow: f64, push: f32| {
        let mut example = set_of(&rig, vec![setting(name, elbow, 0.0, REST)]).examples()[0].clone();
        example.positions[5].z += push;
        example
    };
    let fit = |examples: Vec<Example>| {
        fit_psd(&ExampleSet::new(rig.clone(), examples).unwrap(), &PsdParams::default())
    };
    assert!(matches!(
        fit(vec![pushed("still", 0.0, 0.1), pushed("a", 0.5, 0.0)]).unwrap_err(),
        PsdError::Examples(ExamplesError::MovedAtRest { name, vertex: 5, .. }) if name == "still"
    ));
    // Nearly at rest: less than a joint is known to have moved.
    assert!(matches!(
        fit(vec![pushed("nearly still", 5e-5, 0.1), pushed("a", 0.5, 0.0)]).unwrap_err(),
        PsdError::Examples(ExamplesError::MovedAtRest { name, .. }) if name == "nearly still"
    ));
    let error = fit(vec![pushed("a", 0.5, 0.0), pushed("b", 0.5, 0.1)]).unwrap_err().to_string();
    assert!(error.contains("\"a\"") && error.contains("\"b\"") && error.contains("vertex 5"), "{error}");
    let merged =
        fit(vec![pushed("a", 0.5, 0.0), pushed("b", 0.5, 1e-5), pushed("r", 0.0, 1e-5)]).unwrap().merged;
    assert_eq!(merged.iter().map(|m| m.name.as_str()).collect::<Vec<_>>(), ["b", "r"]);
    // A ridge allows the compromise.
    let ridge = PsdInterpolation::Rbf(RbfParams { ridge: Ridge::Fixed(1e-3), ..RbfParams::default() });
    let set = ExampleSet::new(rig.clone(), vec![pushed("a", 0.5, 0.0), pushed("b", 0.5, 0.1)]).unwrap();
    let params = PsdParams { interpolation: ridge, ..PsdParams::default() };
    let model = Arc::new(fit_psd(&set, &params).unwrap().model);
    let between = shape(&model, &set.examples()[0].pose)[5].z - set.examples()[0].positions[5].z;
    assert!((between - 0.05).abs() < 0.005, "{between}");
    assert!(matches!(fit(vec![pushed("r", 0.0, 0.0)]).unwrap_err(), PsdError::NothingMoves));
    let mut short = pushed("short", 0.5, 0.0);
    short.positions.pop();
    let mut session = PsdSession::new(&set, params).unwrap();
    assert!(matches!(
        session.put(short).unwrap_err(),
        PsdError::Examples(ExamplesError::VertexCount { name, .. }) if name == "short"
    ));
}

#[test]
fn bad_parameters_are_refused_with_what_is_wrong() {
    let bend = || vec![setting("a", 0.5, 0.0, REST), setting("b", 0.9, 0.0, REST)];
    let feature = |name: &str, representation, scale| PsdParams {
        features: vec![PoseFeature { name: name.into(), representation, scale }],
        ..PsdParams::default()
    };
    let one = FeatureScale::One(1.0);
    let unknown = refused(bend(), &feature("elbows", Representation::Rotation, one));
    assert!(matches!(&unknown, PsdError::UnknownMover { name, .. } if name == "elbows"));
    assert!(unknown.to_string().contains("elbow, wrist, heavy"), "{unknown}");
    for params in [
        feature("root", Representation::Rotation, one),
        PsdParams { order: SpaceOrder::Listed(vec![vec!["root".into()]]), ..PsdParams::default() },
    ] {
        assert!(matches!(refused(bend(), &params), PsdError::UnknownMover { .. }));
    }
    for params in [
        feature("elbow", Representation::Scalar, one),
        feature("heavy", Representation::Rotation, one),
        feature("elbow", Representation::Rotation, FeatureScale::PerAxis(DVec3::ONE)),
        feature("elbow", Representation::Rotation, FeatureScale::One(-1.0)),
        PsdParams { features: vec![PoseFeature::radii("elbow", DVec3::ZERO)], ..PsdParams::default() },
    ] {
        assert!(matches!(refused(bend(), &params), PsdError::Feature { .. }), "{params:?}");
    }
    // A hinge about x does not see a bend about y.
    let blind = feature("elbow", Representation::HingeAngle { axis: DVec3::X }, one);
    assert!(
        matches!(refused(bend(), &blind), PsdError::Indistinct { first, second, .. } if first == "rest" && second == "a")
    );
    for radius in [0.0, -1.0, f64::NAN] {
        let params = PsdParams { radii: [("a".to_string(), radius)].into(), ..PsdParams::default() };
        assert!(matches!(refused(bend(), &params), PsdError::Radius { example, .. } if example == "a"));
        let params = PsdParams { interpolation: fixed(radius), ..PsdParams::default() };
        assert!(matches!(refused(bend(), &params), PsdError::Interpolation(_)));
    }
    let params = PsdParams { radii: [("z".to_string(), 1.0)].into(), ..PsdParams::default() };
    assert!(matches!(refused(bend(), &params), PsdError::UnknownExample { name, .. } if name == "z"));
    let params = PsdParams { interpolation: fixed(1e7), ..PsdParams::default() };
    assert!(matches!(refused(bend(), &params), PsdError::TooClose { .. }));
    let per_centre =
        PsdInterpolation::Rbf(RbfParams { width: Width::PerCentre(vec![1.0]), ..RbfParams::default() });
    let params = PsdParams { interpolation: per_centre, ..PsdParams::default() };
    assert!(matches!(refused(bend(), &params), PsdError::WidthPerCentre));
    for params in [
        PsdParams { threshold: -1.0, ..PsdParams::default() },
        PsdParams { clamp_margin: Some(f64::NAN), ..PsdParams::default() },
        PsdParams {
            prototypes: Some(PrototypeParams { count: 0, ..PrototypeParams::default() }),
            ..PsdParams::default()
        },
        PsdParams {
            prototypes: Some(PrototypeParams { least_weight: 0.0, ..PrototypeParams::default() }),
            ..PsdParams::default()
        },
        PsdParams {
            interpolation: PsdInterpolation::Shepard { power: 0.0, epsilon: 0.0 },
            ..PsdParams::default()
        },
    ] {
        assert!(matches!(refused(bend(), &params), PsdError::Parameter { .. }), "{params:?}");
    }
    let params = PsdParams { deltas: DeltaSpace::Forward { frame: Frame::Joint(9) }, ..PsdParams::default() };
    assert!(matches!(refused(bend(), &params), PsdError::Model(_)));
}
