//! What must hold for every fitted model.

use std::sync::Arc;

use eigenskin_characters::hand;
use eigenskin_characters::tube::{AROUND, RINGS, pose, set_of, sweeps, tube};
use eigenskin_core::articulation::NamedPose;
use eigenskin_core::deformers::Base;
use eigenskin_core::driver::Kernel;
use eigenskin_core::evaluate::Evaluator;
use eigenskin_core::examples::{Example, ExampleSet, ExamplesError};
use eigenskin_core::glam::{DAffine3, DQuat, DVec3, Vec3};
use eigenskin_core::progress::Unwatched;
use eigenskin_core::skinning::{BaseSkinning, PosedSkinning};
use eigenskin_fit::displacements::Observations;
use eigenskin_fit::drivers::{RbfParams, Smoothing};
use eigenskin_fit::method::{Budget, EigenSkinParams, FitError, fit};
use eigenskin_fit::metrics::evaluate_against;
use eigenskin_fit::supports::{Border, SupportParams};
use proptest::prelude::*;

use crate::support::{furthest, learn, learn_on, shape};

fn vector() -> impl Strategy<Value = DVec3> {
    [-1.5f64..1.5, -1.5f64..1.5, -1.5f64..1.5].prop_map(DVec3::from_array)
}

fn kernel() -> impl Strategy<Value = Kernel> {
    prop::sample::select(Kernel::ALL.to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn rest_stays_rest_with_any_smoothing(smoothing in prop_oneof![Just(0.0), 1e-6f64..1e3], kernel in kernel()) {
        let rig = tube();
        let params = EigenSkinParams {
            interpolation: RbfParams { smoothing: Smoothing::Fixed(smoothing), kernel: kernel.into(), ..RbfParams::default() },
            ..EigenSkinParams::default()
        };
        let model = Arc::new(learn(&sweeps(&rig), &params).unwrap().model);
        prop_assert!(model.component_count() > 3);
        let (positions, normals) = shape(&model, &rig.rest_pose());
        prop_assert!(furthest(&positions, rig.mesh().positions()) < 1e-6 * rig.mesh().size());
        prop_assert!(furthest(&normals, rig.mesh().normals()) < 1e-5);
    }

    #[test]
    fn all_components_without_smoothing_give_the_examples(kernel in kernel(), base in prop::sample::select(vec![BaseSkinning::LinearBlend, BaseSkinning::DualQuaternion, BaseSkinning::Rigid])) {
        let rig = tube();
        let set = sweeps(&rig);
        let params = EigenSkinParams {
            support: SupportParams { threshold: Some(0.0), border: Border::Hard },
            budget: Budget::UNLIMITED,
            interpolation: RbfParams { kernel: kernel.into(), smoothing: Smoothing::Fixed(0.0), ..RbfParams::default() },
            ..EigenSkinParams::default()
        };
        let model = Arc::new(learn_on(&base.into(), &set, &params).unwrap().model);
        for example in set.examples() {
            let (positions, _) = shape(&model, &example.pose);
            let error = furthest(&positions, &example.positions);
            prop_assert!(error < 1e-5 * rig.mesh().size(), "{} {kernel:?} {base:?}: {error:e}", example.name);
        }
    }

    #[test]
    fn moving_the_whole_character_moves_the_skin_along(elbow in vector(), wrist in vector(), heavy in -0.5f64..1.5, turn in vector(), shift in vector(), base in prop::sample::select(vec![BaseSkinning::LinearBlend, BaseSkinning::DualQuaternion, BaseSkinning::Rigid])) {
        let rig = tube();
        let params = EigenSkinParams::default();
        let model = Arc::new(learn_on(&base.into(), &sweeps(&rig), &params).unwrap().model);
        let pose = pose(&rig, elbow, wrist, heavy);
        let global = DAffine3::from_rotation_translation(DQuat::from_scaled_axis(turn), shift);
        let (here, here_normals) = shape(&model, &pose);
        let (there, there_normals) = shape(&model, &pose.moved_by(global));
        for vertex in 0..here.len() {
            let expected = global.transform_point3(here[vertex].as_dvec3()).as_vec3();
            prop_assert!(expected.distance(there[vertex]) < 1e-5);
            let expected = (global.matrix3 * here_normals[vertex].as_dvec3()).as_vec3();
            prop_assert!(expected.distance(there_normals[vertex]) < 1e-4);
        }
    }

    #[test]
    fn seam_duplicates_never_separate(elbow in vector(), wrist in vector(), noise in 0u64..1000) {
        let rig = tube();
        let set = sweeps(&rig);
        // Observed shapes in which the two sides of the seam differ by rounding.
        let examples: Vec<Example> = set.examples().iter().enumerate().map(|(index, example)| {
            let mut example = example.clone();
            for (vertex, position) in example.positions.iter_mut().enumerate() {
                let wobble = ((vertex as u64 * 7919 + index as u64 * 104_729 + noise) % 13) as f32 - 6.0;
                position.x += 1e-6 * wobble;
            }
            example
        }).collect();
        let set = ExampleSet::new(rig.clone(), examples).unwrap();
        let model = Arc::new(learn(&set, &EigenSkinParams::default()).unwrap().model);
        let (positions, _) = shape(&model, &pose(&rig, elbow, wrist, 0.7));
        for ring in 0..RINGS {
            prop_assert_eq!(positions[ring * AROUND], positions[ring * AROUND + AROUND - 1]);
        }
    }

    #[test]
    fn budgets_are_kept_and_more_is_never_worse(limit in 0usize..12) {
        let rig = tube();
        let set = sweeps(&rig);
        let fit = |limit| {
            let budget = Budget { per_vertex: Some(limit), ..Budget::UNLIMITED };
            learn(&set, &EigenSkinParams { budget, ..EigenSkinParams::default() }).unwrap()
        };
        let (less, more) = (fit(limit), fit(limit + 1));
        prop_assert!(less.model.most_components_per_vertex() <= limit);
        prop_assert!(more.learnt.eigenskin().unwrap().rest_space_error <= less.learnt.eigenskin().unwrap().rest_space_error + 1e-9);
    }
}

#[test]
fn one_and_two_threads_give_the_same_bits() {
    let rig = tube();
    let set = sweeps(&rig);
    let fit_with = |threads: usize| {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| {
            let fit = learn(&set, &EigenSkinParams::default()).unwrap();
            let evaluation = evaluate_against(&Arc::new(fit.model.clone()), &set, &Unwatched).unwrap();
            (fit.model, fit.learnt, evaluation)
        })
    };
    assert_eq!(fit_with(1), fit_with(2));
}

/// Poses that move several joints at once, and never one alone: their coordinates share the
/// displacement, and the model is still much better than skinning on them.
#[test]
fn joints_that_only_move_together_are_fitted_jointly() {
    let rig = tube();
    let settings = (1..=8)
        .map(|i| {
            let t = f64::from(i);
            let elbow = DVec3::Y * (0.2 * t);
            let wrist = DVec3::Z * (0.3 + 0.5 * (1.7 * t).sin().abs());
            (format!("pose {i}"), elbow, wrist, 0.25)
        })
        .collect();
    let set = set_of(&rig, settings);
    let fit = learn(&set, &EigenSkinParams::default()).unwrap();
    assert_eq!(
        fit.learnt.eigenskin().unwrap().joints.iter().map(|j| j.name.as_str()).collect::<Vec<_>>(),
        ["elbow", "wrist"]
    );
    let evaluation = evaluate_against(&Arc::new(fit.model), &set, &Unwatched).unwrap();
    assert!(evaluation.relative_error.unwrap() < 0.05, "{:?}", evaluation.relative_error);
}

/// Where single-joint examples exist, an example that moves both joints does not spoil them.
#[test]
fn mixed_sets_keep_single_joint_examples() {
    let rig = tube();
    let single = sweeps(&rig);
    let both = set_of(&rig, vec![("both".into(), DVec3::Y * 0.5, DVec3::Z * 0.5, 0.25)]);
    let examples = single.examples().iter().chain(both.examples()).cloned().collect();
    let set = ExampleSet::new(rig, examples).unwrap();
    let model = Arc::new(learn(&set, &EigenSkinParams::default()).unwrap().model);
    let on_singles = evaluate_against(&model, &single, &Unwatched).unwrap().relative_error.unwrap();
    assert!(on_singles < 0.05, "{on_singles}");
}

#[test]
fn normals_improve_under_both_conventions() {
    let rig = tube();
    let set = sweeps(&rig);
    let model = Arc::new(learn(&set, &EigenSkinParams::default()).unwrap().model);
    let angles = evaluate_against(&model, &set, &Unwatched).unwrap().normal_angles;
    assert!(angles.model_mean < 0.3 * angles.skinning_mean, "{angles:?}");
    assert!(angles.model_mean_inverse_transpose < angles.skinning_mean_inverse_transpose, "{angles:?}");
}

#[test]
fn same_pose_rule() {
    let rig = tube();
    let make = |names: &[(&str, f64, f32)]| {
        let examples = names
            .iter()
            .map(|&(name, angle, push)| {
                let base = set_of(&rig, vec![(name.into(), DVec3::Y * angle, DVec3::ZERO, 0.25)]);
                let mut example = base.examples()[0].clone();
                example.positions[5].z += push;
                example
            })
            .collect();
        ExampleSet::new(rig.clone(), examples).unwrap()
    };
    let fit = |set: &ExampleSet, smoothing: f64| {
        let interpolation = RbfParams { smoothing: Smoothing::Fixed(smoothing), ..RbfParams::default() };
        learn(set, &EigenSkinParams { interpolation, ..EigenSkinParams::default() })
    };
    // Rest within tolerance, and a repetition, are merged and listed.
    let repeated = make(&[("still", 0.0, 1e-5), ("a", 0.5, 0.0), ("b", 0.9, 0.0), ("a again", 0.5, 1e-5)]);
    let merged = fit(&repeated, 0.0).unwrap().merged;
    let listed: Vec<_> = merged.iter().map(|m| (m.name.as_str(), m.same_as.as_deref())).collect();
    assert_eq!(listed, [("still", None), ("a again", Some("a"))]);
    // Another shape at rest is an error that names it.
    let moved = make(&[("still", 0.0, 0.1), ("a", 0.5, 0.0)]);
    assert!(
        matches!(fit(&moved, 0.0), Err(FitError::Examples(ExamplesError::MovedAtRest { name, vertex: 5, .. })) if name == "still")
    );
    // Two shapes at one pose: an error that names both, or a compromise with smoothing.
    let conflict = make(&[("a", 0.5, 0.0), ("b", 0.5, 0.1)]);
    let error = fit(&conflict, 0.0).unwrap_err().to_string();
    assert!(error.contains("\"a\"") && error.contains("\"b\"") && error.contains("vertex 5"), "{error}");
    assert!(fit(&conflict, 1e-3).is_ok());
}

/// Far from all examples coordinates stay near the range they had there, or run free if asked to.
#[test]
fn outside_the_examples_coordinates_are_clamped() {
    let rig = tube();
    let set = sweeps(&rig);
    let far = pose(&rig, DVec3::new(2.2, -1.9, 0.3), DVec3::Z * -2.5, 9.0);
    let largest = |clamp_margin| {
        let params = EigenSkinParams { clamp_margin, ..EigenSkinParams::default() };
        let mut evaluator = Evaluator::new(Arc::new(learn(&set, &params).unwrap().model));
        let examples = set.examples().iter().flat_map(|e| evaluator.drive(&e.pose).to_vec());
        let at_examples = examples.fold(0f32, |m, a| m.max(a.abs()));
        (evaluator.drive(&far).iter().fold(0f32, |m, a| m.max(a.abs())), at_examples)
    };
    let (clamped, at_examples) = largest(Some(0.25));
    let (free, _) = largest(None);
    assert!(clamped <= 1.5 * at_examples + 1e-6, "{clamped} against {at_examples}");
    assert!(free > clamped, "{free} against {clamped}");
}

#[test]
fn nothing_moving_is_an_error() {
    let rig = tube();
    let global = DAffine3::from_translation(DVec3::X);
    let pose = rig.rest_pose().moved_by(global);
    let positions = rig.mesh().positions().iter().map(|p| *p + Vec3::X).collect();
    let other = set_of(&rig, vec![("tiny".into(), DVec3::Y * 5e-5, DVec3::ZERO, 0.25)]);
    let examples = vec![
        Example { name: "elsewhere".into(), pose, positions, normals: None, inverted: None },
        other.examples()[0].clone(),
    ];
    let set = ExampleSet::new(rig, examples).unwrap();
    assert_eq!(learn(&set, &EigenSkinParams::default()).unwrap_err(), FitError::NothingMoves);
}

/// A hand on which each joint moves the skin nearest to it, the further the more it turns, and all other skin by
/// 4.5 % of that.
fn wide_regions() -> ExampleSet {
    let character = hand(1500).unwrap();
    let rig = character.rig.clone();
    let joints: Vec<usize> = character.degrees_of_freedom.iter().map(|degree| degree.joint).collect();
    let distance = |joint: usize, at: Vec3| rig.skeleton().rest_position(joint).distance(at.as_dvec3());
    let nearest = |at: Vec3| {
        joints.iter().copied().min_by(|&a, &b| distance(a, at).total_cmp(&distance(b, at))).unwrap()
    };
    let nearest: Vec<usize> = rig.mesh().positions().iter().map(|&at| nearest(at)).collect();
    let examples = character.single_joint_poses(3).into_iter().map(|NamedPose { name, pose }| {
        let turn = |joint: usize| pose.motion_of(rig.skeleton(), joint).shortest_turn();
        let moved = joints.iter().copied().find(|&joint| turn(joint).length() > 1e-4).unwrap();
        let skinning = PosedSkinning::new(BaseSkinning::LinearBlend, &rig, &pose);
        let positions = rig.mesh().positions().iter().enumerate().map(|(vertex, rest)| {
            let amount = if nearest[vertex] == moved { 0.002 } else { 0.045 * 0.002 };
            skinning.position(vertex, rest.as_dvec3() + amount * turn(moved)).as_vec3()
        });
        Example { name, positions: positions.collect(), pose: pose.clone(), normals: None, inverted: None }
    });
    ExampleSet::new(rig.clone(), examples.collect()).unwrap()
}

#[test]
fn regions_shrink_where_that_uses_the_limit_better() {
    let set = wide_regions();
    let fit = |threshold, budget| {
        let support = SupportParams { threshold, ..SupportParams::default() };
        learn(&set, &EigenSkinParams { support, budget, ..EigenSkinParams::default() }).unwrap()
    };
    let limited = || Budget { per_vertex: Some(3), ..Budget::UNLIMITED };
    // The paper's regions are the whole hand: three components in all.
    let paper = fit(Some(0.04), limited());
    assert_eq!(paper.model.component_count(), 3);
    let open = fit(None, limited());
    assert!(
        open.learnt.eigenskin().unwrap().support_threshold > 0.045,
        "{}",
        open.learnt.eigenskin().unwrap().support_threshold
    );
    assert!(open.model.most_components_per_vertex() <= 3 && open.model.component_count() > 20);
    // What is left is the 4.5 % of all other skin.
    assert!(
        open.learnt.eigenskin().unwrap().rest_space_error
            < 0.5 * paper.learnt.eigenskin().unwrap().rest_space_error
    );
    // Without a limit, or with as many for every joint, the paper's regions are kept.
    let per_joint = Budget { per_joint: Some(1), ..Budget::UNLIMITED };
    for budget in [Budget::UNLIMITED, per_joint] {
        assert_eq!(fit(None, budget).learnt.eigenskin().unwrap().support_threshold, 0.04);
    }
}

/// An elbow at eight angles: everything shifts upward with the angle, sideways with its square, and along the tube by
/// an amount that jumps to and fro. The jumps are larger than the sideways shift.
#[test]
fn components_that_predict_come_first() {
    let rig = tube();
    let shape_at = |angle: f64, jump: f64| {
        let pose = pose(&rig, DVec3::Y * angle, DVec3::ZERO, 0.25);
        let skinning = PosedSkinning::new(BaseSkinning::LinearBlend, &rig, &pose);
        let shift = |side: f64| DVec3::new(jump * side, 0.02 * angle * angle * (1.0 - side), 0.2 * angle);
        let position = |(vertex, rest): (usize, &Vec3)| {
            let side = f64::from(u32::from(vertex % 2 == 0));
            skinning.position(vertex, rest.as_dvec3() + shift(side)).as_vec3()
        };
        let positions = rig.mesh().positions().iter().enumerate().map(position).collect();
        Example { name: format!("{angle:.3}"), pose: pose.clone(), positions, normals: None, inverted: None }
    };
    let angle = |step: f64| 0.15 * step;
    let jumps = [0.1, -0.1, -0.1, 0.1, -0.1, 0.1, 0.1, -0.1];
    let seen = jumps.iter().zip(1..).map(|(&jump, step)| shape_at(angle(f64::from(step)), jump));
    let training = ExampleSet::new(rig.clone(), seen.collect()).unwrap();
    let between = (1..8).map(|step| shape_at(angle(f64::from(step) + 0.5), 0.0));
    let truth = ExampleSet::new(rig.clone(), between.collect()).unwrap();
    let left = |budget: Budget| {
        let fitted = learn(&training, &EigenSkinParams { budget, ..EigenSkinParams::default() }).unwrap();
        let model = Arc::new(fitted.model);
        let error = |set| evaluate_against(&model, set, &Unwatched).unwrap().relative_error.unwrap();
        (model.component_count(), error(&training), error(&truth))
    };
    // Of two, the sideways shift is the second; the paper's second is the jumps.
    let (_, _, predicting) = left(Budget { per_vertex: Some(2), ..Budget::UNLIMITED });
    let (_, _, largest) = left(Budget { per_joint: Some(2), ..Budget::UNLIMITED });
    assert!(predicting < 0.05 && largest > 5.0 * predicting, "{predicting} {largest}");
    // Where there is room for all, examples are met.
    let (count, of_examples, _) = left(Budget { per_vertex: Some(8), ..Budget::UNLIMITED });
    assert!(count >= 3 && of_examples < 1e-3, "{count} {of_examples}");
}

/// A limit of the call and one of the method: the lower one holds, whichever it is.
#[test]
fn of_two_limits_the_lower_one_holds() {
    let set = sweeps(&tube());
    let seen = Observations::of(&set, &Base::default(), false, &Unwatched).unwrap();
    let count = |total: Option<usize>, most: Option<usize>| {
        let params =
            EigenSkinParams { budget: Budget { total, ..Budget::UNLIMITED }, ..EigenSkinParams::default() };
        fit(&seen, &params.into(), most, &Unwatched).unwrap().model.component_count()
    };
    assert!(count(None, None) > 3);
    assert_eq!([count(Some(2), Some(3)), count(Some(3), Some(2)), count(None, Some(2))], [2; 3]);
}
