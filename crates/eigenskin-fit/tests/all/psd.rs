//! Pose space deformation: exact at the examples, zero at rest, gone far away; layers.

use std::sync::Arc;

use eigenskin_characters::tube::{AROUND, RINGS, pose, set_of, sweeps, tube};
use eigenskin_core::driver::{FeatureScale, Interpolant, Representation};
use eigenskin_core::evaluate::Evaluator;
use eigenskin_core::examples::ExampleSet;
use eigenskin_core::glam::{DMat3, DVec3, Vec3};
use eigenskin_core::model::{Frame, Model};
use eigenskin_core::pose::Pose;
use eigenskin_core::skinning::BaseSkinning;
use eigenskin_fit::drivers::{RbfParams, Smoothing};
use eigenskin_fit::method::{DeltaSpace, PoseFeature, PrototypeParams, PsdInterpolation, SpaceOrder};
use eigenskin_fit::method::{Fit, FitError, PsdParams};
use proptest::prelude::*;

use crate::support::psd::{REST, fixed, largest_miss, layered, setting, shape};
use crate::support::{learn, learn_on};

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
        let global = eigenskin_core::glam::DAffine3::from_rotation_translation(
            eigenskin_core::glam::DQuat::from_rotation_x(0.8),
            DVec3::new(1.0, 2.0, -1.0),
        );
        for deltas in spaces {
            for base in bases {
                for interpolation in &interpolations {
                    let interpolation = interpolation.clone();
                    let params = PsdParams { deltas, interpolation, ..PsdParams::default() };
                    let fit = learn_on(&base.into(), set, &params).unwrap();
                    let told = fit.learnt.psd().unwrap();
                    let model = Arc::new(fit.model.clone());
                    let miss = largest_miss(&model, set);
                    assert!(miss < 1e-6, "{base:?} {deltas:?} {:?}: {miss:e}", params.interpolation);
                    assert!(told.spaces.iter().flat_map(|s| &s.drivers).all(|d| d.miss < 1e-9));
                    assert!(told.examples.iter().all(|e| e.unreachable < 4e-6 && e.largest_delta > 1e-3));
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
    let skinned = Arc::new(Model::without_corrections(rig.clone(), BaseSkinning::LinearBlend));
    for example in &mut set {
        example.positions = shape(&skinned, &example.pose);
    }
    set[1].positions[40] += Vec3::new(0.0, 0.2, 0.0);
    let fit = learn(&ExampleSet::new(rig, set).unwrap(), &still).unwrap();
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
    assert_eq!(
        fit.learnt.psd().unwrap().spaces.iter().map(|s| s.vertex_count).collect::<Vec<_>>(),
        [1, 0, 1, 0, 1]
    );
}

#[test]
fn spaces_stand_narrow_first_whatever_the_order_of_examples() {
    let set = layered();
    let names =
        |fit: &Fit| fit.learnt.psd().unwrap().spaces.iter().map(|s| s.name.clone()).collect::<Vec<_>>();
    let fit = learn(&set, &PsdParams::default()).unwrap();
    let expected = ["elbow", "wrist", "elbow + wrist", "wrist + heavy", "elbow + wrist + heavy"];
    assert_eq!(names(&fit), expected);
    assert_eq!(fit.learnt.psd().unwrap().spaces[2].examples, ["both", "both back"]);
    // "wrist" looks like no other from here; the elbow's examples lie on the other axis.
    assert_eq!(fit.learnt.psd().unwrap().spaces[2].anchors, ["elbow", "elbow half", "wrist"]);
    let somewhere = pose(set.rig(), DVec3::Y * 0.7, DVec3::Z * 0.3, 0.5);
    let expected_shape = shape(&Arc::new(fit.model), &somewhere);
    for order in [[6, 5, 4, 3, 2, 1, 0], [3, 0, 6, 1, 5, 2, 4]] {
        let shuffled = set.select(&order).unwrap();
        for space_order in [SpaceOrder::NarrowFirst, SpaceOrder::Listed(vec![vec!["wrist".into()]])] {
            let params = PsdParams { order: space_order.clone(), ..PsdParams::default() };
            let fit = learn(&shuffled, &params).unwrap();
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
    let model = Arc::new(learn(&set, &params).unwrap().model);
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
    let mut alone = Evaluator::new(Arc::new(learn(&alone, &params).unwrap().model));
    assert!(weights(&mut alone, &set.examples()[0].pose)[0] > 0.5);
}

#[test]
fn a_later_space_that_cannot_tell_examples_apart_is_refused_naming_both() {
    let set = layered();
    let listed = vec![vec!["wrist".to_string(), "elbow".to_string()], vec!["elbow".to_string()]];
    let params = PsdParams { order: SpaceOrder::Listed(listed), ..PsdParams::default() };
    match learn(&set, &params).unwrap_err() {
        FitError::LayerConflict { space, earlier, later } => {
            assert_eq!((space.as_str(), earlier.as_str(), later.as_str()), ("elbow", "both", "elbow"));
        }
        other => panic!("{other}"),
    }
    // Given in this order the same; "both back" bends the elbow by an angle of its own.
    let params = PsdParams { order: SpaceOrder::AsGiven, ..PsdParams::default() };
    assert!(matches!(learn(&set, &params), Err(FitError::LayerConflict { .. })));
    let told_apart = set.select(&[5, 1, 2]).unwrap();
    let fit = learn(&told_apart, &params).unwrap();
    assert_eq!(fit.learnt.psd().unwrap().spaces[0].name, "elbow + wrist");
    assert_eq!(fit.learnt.psd().unwrap().spaces[1].anchors, ["both back"]);
    assert!(largest_miss(&Arc::new(fit.model), &told_apart) < 1e-6);
}

/// φ by hand for two examples of one hinge, one with a radius of its own.
#[test]
fn radii_by_hand() {
    let rig = tube();
    let set = set_of(&rig, vec![setting("a", 0.5, 0.0, REST), setting("b", 1.2, 0.0, REST)]);
    let radii = [("b".to_string(), 0.9)].into();
    let params = PsdParams { interpolation: fixed(0.4), radii, ..PsdParams::default() };
    let mut evaluator = Evaluator::new(Arc::new(learn(&set, &params).unwrap().model));
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
        let mut evaluator = Evaluator::new(Arc::new(learn(&set, &params).unwrap().model));
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
    let model = Arc::new(learn(&set, &params).unwrap().model);
    let layer = &model.layers()[0];
    let Interpolant::Rbf { coefficients, .. } = &layer.driver.interpolant else { panic!() };
    let count = layer.support.len();
    let plain = Arc::new(Model::without_corrections(rig.clone(), BaseSkinning::LinearBlend));
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

    // One example, Gaussians of automatic width: 5σ away in every direction.
    let one = set_of(&rig, vec![setting("a", 0.4, 0.0, REST)]);
    let gaussian = RbfParams {
        kernel: eigenskin_core::driver::Kernel::Gaussian.into(),
        smoothing: Smoothing::Fixed(0.0),
        ..RbfParams::default()
    };
    let params = PsdParams { interpolation: PsdInterpolation::Rbf(gaussian), ..PsdParams::default() };
    let fit = learn(&one, &params).unwrap();
    assert!((fit.learnt.psd().unwrap().spaces[0].drivers[0].width - 0.4).abs() < 1e-6);
    let sigma = fit.learnt.psd().unwrap().spaces[0].drivers[0].width;
    let delta = fit.learnt.psd().unwrap().examples[0].largest_delta;
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
        kernel: eigenskin_core::driver::Kernel::ThinPlate.into(),
        smoothing: Smoothing::Fixed(0.0),
        ..RbfParams::default()
    });
    let far = pose(set.rig(), DVec3::Y * 2.9, DVec3::Z * 2.9, 9.0);
    let range = |clamp_margin| {
        let params = PsdParams { clamp_margin, interpolation: linear.clone(), ..PsdParams::default() };
        let model = Arc::new(learn(&set, &params).unwrap().model);
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
    let with = Arc::new(learn(&set, &PsdParams::default()).unwrap().model);
    let without = PsdParams { normals: false, ..PsdParams::default() };
    let without = Arc::new(learn(&set, &without).unwrap().model);
    assert!(angle(&with) < 0.1, "{}", angle(&with));
    assert!(angle(&without) > 5.0, "{}", angle(&without));
}

#[test]
fn one_and_two_threads_give_the_same_bits() {
    let set = layered();
    let params = PsdParams { prototypes: Some(PrototypeParams::default()), ..PsdParams::default() };
    let fit_with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| learn(&set, &params).unwrap().model)
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
    let model = Arc::new(learn(&set, &PsdParams::default()).unwrap().model);
    let found = shape(&model, &pose(&rig, DVec3::Y * 0.7, DVec3::Z * 0.3, 0.5));
    for ring in 0..RINGS {
        assert_eq!(found[ring * AROUND], found[ring * AROUND + AROUND - 1]);
    }
}

/// A value that is zero, which is rest, or clearly is not.
fn moved_or_not() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), 0.2f64..1.4, -1.4f64..-0.2]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(40) })]

    /// Any examples in any spaces and any order: all are met.
    #[test]
    fn any_mixture_of_spaces_is_met(
        settings in proptest::collection::vec((moved_or_not(), moved_or_not(), moved_or_not()), 1..9),
        forward in any::<bool>(),
    ) {
        // Neighbours closer than this would be hard on any exact method.
        let apart = |a: &(f64, f64, f64), b: &(f64, f64, f64)| {
            (a.0 - b.0).abs().max((a.1 - b.1).abs()).max((a.2 - b.2).abs()) > 0.05
        };
        let mut kept: Vec<(f64, f64, f64)> = Vec::new();
        for setting in settings {
            if apart(&setting, &(0.0, 0.0, 0.0)) && kept.iter().all(|other| apart(other, &setting)) {
                kept.push(setting);
            }
        }
        prop_assume!(!kept.is_empty());
        let named = kept.iter().enumerate();
        let settings = named.map(|(i, &(elbow, wrist, heavy))| setting(&format!("{i}"), elbow, wrist, REST + heavy));
        let set = set_of(&tube(), settings.collect());
        let deltas = if forward { DeltaSpace::Forward { frame: Frame::Root } } else { DeltaSpace::Inverse };
        let fit = learn(&set, &PsdParams { deltas, ..PsdParams::default() }).unwrap();
        let listed: usize = fit.learnt.psd().unwrap().spaces.iter().map(|space| space.examples.len()).sum();
        prop_assert_eq!(listed, kept.len());
        let miss = largest_miss(&Arc::new(fit.model), &set);
        prop_assert!(miss < 1e-5, "{:e}: {:?}", miss, kept);
    }
}
