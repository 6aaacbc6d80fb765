//! Figures by hand on a character small enough to check.

use std::sync::Arc;

use eigenskin_characters::tube::{pose, sweeps, tube};
use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::glam::{DVec3, Vec3};
use eigenskin_core::model::Model;
use eigenskin_core::progress::{Cancelled, Unwatched};
use eigenskin_core::skinning::{BaseSkinning, PosedSkinning};
use eigenskin_fit::method::{EigenSkinParams, FitError};
use eigenskin_fit::metrics::{PoseGroups, evaluate_against, evaluate_each, leave_one_out};

use crate::support::{learn, shape};

/// True shapes that differ from linear blending by known vectors.
fn displaced_truth(offsets: impl Fn(usize, usize) -> Vec3) -> (Arc<Model>, ExampleSet) {
    let rig = tube();
    let examples = (0..2)
        .map(|index| {
            let pose = pose(&rig, DVec3::Y * 0.3 * f64::from(index as u32 + 1), DVec3::ZERO, 0.25);
            let skinning = PosedSkinning::new(BaseSkinning::LinearBlend, &rig, &pose);
            let positions = (0..rig.vertex_count())
                .map(|v| {
                    skinning.position(v, rig.mesh().positions()[v].as_dvec3()).as_vec3() + offsets(index, v)
                })
                .collect();
            Example { name: format!("pose {index}"), pose, positions, normals: None, inverted: None }
        })
        .collect();
    let model = Model::without_corrections(rig.clone(), BaseSkinning::LinearBlend);
    (Arc::new(model), ExampleSet::new(rig, examples).unwrap())
}

#[test]
fn errors_by_hand() {
    // 117 vertices, two poses: in pose 0 every error is 0.5, in pose 1 one vertex is off by 4.
    let (model, truth) = displaced_truth(|index, vertex| match (index, vertex) {
        (0, _) => Vec3::new(0.3, 0.0, 0.4),
        (1, 7) => Vec3::new(0.0, 4.0, 0.0),
        _ => Vec3::ZERO,
    });
    let found = evaluate_against(&model, &truth, &Unwatched).unwrap();
    let count = model.rig().vertex_count() as f64;
    let squared = count * 0.25 + 16.0;
    let rmse = (squared / (2.0 * count)).sqrt();
    assert!((found.skinning.rmse - rmse).abs() < 1e-5, "{} {rmse}", found.skinning.rmse);
    assert!((found.skinning.max - 4.0).abs() < 1e-5);
    assert!((found.skinning.p95 - 0.5).abs() < 1e-5);
    assert!((found.per_pose[0].skinning_rmse - 0.5).abs() < 1e-5);
    assert!((found.per_pose[1].skinning_rmse - (16.0 / count).sqrt()).abs() < 1e-5);
    assert!((found.skinning.rmse_of_100 - 100.0 * rmse / found.size).abs() < 1e-5);
    // The tube's smallest sphere: half length 3, radius 0.5.
    assert!((found.size - 2.0 * (9.0f64 + 0.25).sqrt()).abs() < 1e-5, "{}", found.size);
    // The model is plain skinning itself.
    assert!((found.relative_error.unwrap() - 1.0).abs() < 1e-12);
    assert_eq!(found.skinning, found.model);
    assert_eq!((found.poses, found.vertices), (2, count as usize));
}

#[test]
fn exact_skinning_has_no_relative_error() {
    let (model, truth) = displaced_truth(|_, _| Vec3::ZERO);
    let found = evaluate_against(&model, &truth, &Unwatched).unwrap();
    assert_eq!(found.relative_error, None);
    assert!(found.skinning.max < 1e-6);
}

/// A model that knows all poses but one: what is pooled is bad, the median pose is not, the bad pose is named.
#[test]
fn one_bad_pose_is_told_from_the_others() {
    let rig = tube();
    let known = sweeps(&rig);
    let model = Arc::new(learn(&known, &EigenSkinParams::default()).unwrap().model);
    let mut examples = known.examples().to_vec();
    examples[3].positions.iter_mut().for_each(|position| position.z += 2.0);
    let rest = rig.mesh().positions().to_vec();
    let at_rest = Example {
        name: "rest".into(),
        pose: rig.rest_pose(),
        positions: rest,
        normals: None,
        inverted: None,
    };
    examples.push(at_rest);
    let truth = ExampleSet::new(rig.clone(), examples).unwrap();
    let found = evaluate_against(&model, &truth, &Unwatched).unwrap();

    let all = &found.groups.all;
    let mut own: Vec<f64> = Vec::new();
    let (mut model_squared, mut skinning_squared) = (0.0, 0.0);
    for example in &truth.examples()[..known.len()] {
        let truth = &example.positions;
        let skinning = PosedSkinning::new(BaseSkinning::LinearBlend, &rig, &example.pose);
        let skinned = |v: usize| skinning.position(v, rig.mesh().positions()[v].as_dvec3());
        let shown = shape(&model, &example.pose).0;
        let squares = |position: &dyn Fn(usize) -> DVec3| -> f64 {
            (0..truth.len()).map(|v| position(v).distance_squared(truth[v].as_dvec3())).sum()
        };
        let (of_model, of_skinning) = (squares(&|v| shown[v].as_dvec3()), squares(&skinned));
        own.push((of_model / of_skinning).sqrt());
        model_squared += of_model;
        skinning_squared += of_skinning;
    }
    assert_eq!((all.poses, all.compared, own.len()), (truth.len(), known.len(), known.len()));
    own.sort_by(f64::total_cmp);
    let middle = 0.5 * (own[(own.len() - 1) / 2] + own[own.len() / 2]);
    let close = |found: Option<f64>, expected: f64| {
        assert!((found.unwrap() - expected).abs() < 1e-4 * expected, "{found:?} {expected}");
    };
    close(all.pooled, (model_squared / skinning_squared).sqrt());
    close(all.median, middle);
    close(all.worst, own[own.len() - 1]);
    assert_eq!(found.relative_error, all.pooled);
    assert_eq!(all.worst_pose.as_ref(), Some(&known.examples()[3].name));
    assert!(all.median.unwrap() < 0.2 && all.pooled.unwrap() > 0.8, "{all:?}");
    // The pose at rest has no share.
    assert_eq!(found.per_pose.last().unwrap().relative_error, None);

    // Shapes that are fetched one after the other have the same figures.
    let fetch = |index: usize| Ok::<_, Cancelled>(truth.examples()[index].clone());
    assert_eq!(evaluate_each(&model, truth.len(), fetch, &Unwatched).unwrap(), found);
}

/// A fist presses fingers against the palm, spread fingers do not: each is in its group.
#[test]
fn poses_with_contact_stand_apart() {
    let hand = eigenskin_characters::hand(1500).unwrap();
    let named = hand.multi_joint_poses(0, 0);
    let examples: Vec<Example> = ["fist", "spread"]
        .map(|name| {
            let pose = named.iter().find(|pose| pose.name == name).unwrap().pose.clone();
            let skinning = PosedSkinning::new(BaseSkinning::LinearBlend, &hand.rig, &pose);
            let off = if name == "fist" { 0.002 } else { 0.001 };
            let rest = hand.rig.mesh().positions().iter().enumerate();
            let positions =
                rest.map(|(v, rest)| skinning.position(v, rest.as_dvec3()).as_vec3() + Vec3::X * off);
            let positions = positions.collect();
            Example { name: name.into(), pose, positions, normals: None, inverted: None }
        })
        .into();
    let truth = ExampleSet::new(hand.rig.clone(), examples).unwrap();
    let model = Arc::new(Model::without_corrections(hand.rig.clone(), BaseSkinning::LinearBlend));
    let found = evaluate_against(&model, &truth, &Unwatched).unwrap();
    assert_eq!(found.per_pose.iter().map(|pose| pose.contact).collect::<Vec<_>>(), [true, false]);
    let PoseGroups { with_contact, without_contact, .. } = &found.groups;
    assert_eq!(with_contact.worst_pose.as_deref(), Some("fist"));
    assert_eq!(without_contact.worst_pose.as_deref(), Some("spread"));
    assert_eq!((with_contact.poses, without_contact.poses), (1, 1));
}

/// Skinning is linear blending whatever the model's base is.
#[test]
fn the_yardstick_is_always_linear_blending() {
    let (linear, truth) = displaced_truth(|_, v| Vec3::splat(0.01 * (v % 3) as f32));
    let other = Arc::new(Model::without_corrections(linear.rig().clone(), BaseSkinning::Rigid));
    let (a, b) = (
        evaluate_against(&linear, &truth, &Unwatched).unwrap(),
        evaluate_against(&other, &truth, &Unwatched).unwrap(),
    );
    assert_eq!(a.skinning, b.skinning);
    assert!(b.model.rmse > 2.0 * a.model.rmse);
}

/// Observed normals turned by a known angle are that far off.
#[test]
fn normal_angles_by_hand() {
    let (model, truth) = displaced_truth(|_, _| Vec3::ZERO);
    let rig = model.rig();
    let examples = truth
        .examples()
        .iter()
        .map(|example| {
            let skinning = PosedSkinning::new(BaseSkinning::LinearBlend, rig, &example.pose);
            let normals = (0..rig.vertex_count())
                .map(|v| {
                    let normal = skinning.normal(v, rig.mesh().normals()[v].as_dvec3());
                    let axis = normal.any_orthonormal_vector();
                    (eigenskin_core::glam::DQuat::from_axis_angle(axis, 10f64.to_radians()) * normal)
                        .as_vec3()
                })
                .collect();
            Example { normals: Some(normals), ..example.clone() }
        })
        .collect();
    let truth = ExampleSet::new(rig.clone(), examples).unwrap();
    let angles = evaluate_against(&model, &truth, &Unwatched).unwrap().normal_angles;
    assert!((angles.skinning_mean - 10.0).abs() < 1e-3, "{angles:?}");
    // The other convention, written out: the inverse transpose of the blended matrix.
    let mut expected = 0.0;
    for example in truth.examples() {
        let skinning = PosedSkinning::new(BaseSkinning::LinearBlend, rig, &example.pose);
        for vertex in 0..rig.vertex_count() {
            let matrix = skinning.posed_from_rest(vertex).matrix3;
            let shown = matrix.inverse().transpose() * rig.mesh().normals()[vertex].as_dvec3();
            let observed = example.normals.as_ref().unwrap()[vertex].as_dvec3();
            expected += shown.angle_between(observed).to_degrees();
        }
    }
    expected /= (truth.len() * rig.vertex_count()) as f64;
    assert!((expected - 10.0).abs() > 1e-3, "the conventions differ here: {expected}");
    assert!((angles.skinning_mean_inverse_transpose - expected).abs() < 1e-4, "{angles:?} {expected}");
}

/// Leave-one-out is refitting by hand, one example at a time.
#[test]
fn leave_one_out_is_refitting_without_the_example() {
    let rig = tube();
    let set = sweeps(&rig);
    let fit = |set: &ExampleSet| Ok::<_, FitError>(learn(set, &EigenSkinParams::default())?.model);
    let found = leave_one_out(&set, |others, _| fit(others), &Unwatched).unwrap();
    assert_eq!(found.poses, set.len());
    let left_out = 5;
    let others: Vec<usize> = (0..set.len()).filter(|&i| i != left_out).collect();
    let model = Arc::new(fit(&set.select(&others).unwrap()).unwrap());
    let alone = evaluate_against(&model, &set.select(&[left_out]).unwrap(), &Unwatched).unwrap();
    assert_eq!(found.per_pose[left_out], alone.per_pose[0]);
    let training = evaluate_against(&Arc::new(fit(&set).unwrap()), &set, &Unwatched).unwrap();
    assert!(found.relative_error.unwrap() > training.relative_error.unwrap());
}
