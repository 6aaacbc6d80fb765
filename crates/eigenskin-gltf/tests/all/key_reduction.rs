//! Clips keep as many keys as they need: at every moment the shape is within the bound.

use eigenskin_core::evaluate::Evaluator;
use eigenskin_core::glam::Vec3;
use eigenskin_core::model::Stage;
use eigenskin_core::pose::Pose;
use eigenskin_core::skinning::{BaseSkinning, PosedSkinning};
use eigenskin_gltf::conformance::cases::{self, Case};
use eigenskin_gltf::conformance::random::{Random, far_pose};
use eigenskin_gltf::internals::read_target;
use eigenskin_gltf::{ChannelPath, Clip, ModelWriteOptions, RigFile, model_glb, model_of};
use proptest::prelude::*;

use crate::support::cases::document;

/// A file whose one clip goes through the poses of a case at uneven times, slowly enough to be reduced.
fn file_of(case: &Case, seed: u64) -> RigFile {
    let mut random = Random::new(seed);
    let mut poses: Vec<Pose> = case.poses.iter().take(3).cloned().collect();
    poses.push(case.model.rig().rest_pose());
    poses.push(far_pose(&mut random, case.model.rig(), 0.3));
    let mut time = 0.0;
    let times: Vec<f64> = poses
        .iter()
        .map(|_| {
            let now = time;
            time += random.between(0.02, 0.5);
            now
        })
        .collect();
    RigFile::from_rig(case.model.rig().clone(), "reduced").unwrap().with_clip("clip", &times, &poses).unwrap()
}

/// Where the writer looks at the drivers: at all keys of the joints, and no further apart than a sixtieth of a
/// second.
fn moments(keys: &[f64]) -> Vec<f64> {
    let mut moments = vec![keys[0]];
    for pair in keys.windows(2) {
        let pieces = (60.0 * (pair[1] - pair[0]) - 1e-3).ceil().max(1.0);
        let between =
            (1..=pieces as usize).map(|piece| pair[0] + (pair[1] - pair[0]) * piece as f64 / pieces);
        // Files hold times as f32.
        moments.extend(between.map(|time| f64::from(time as f32)));
    }
    moments
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) })]

    #[test]
    fn the_bound_holds_at_all_moments(seed in 0u64..100_000, tolerance in 1e-4f64..3e-3) {
        let case = cases::random_case(seed).unwrap();
        let is_morphed = case.model.layers().iter().all(|layer| layer.stage == Stage::BeforeSkinning);
        let is_linear = case.model.base().skinning() == Some(BaseSkinning::LinearBlend);
        prop_assume!(is_morphed && is_linear && case.model.component_count() > 0);
        let file = file_of(&case, seed);
        let options = ModelWriteOptions { tolerance, ..ModelWriteOptions::default() };
        let (glb, report) = model_glb(&file, &case.model, &options).unwrap();
        prop_assert!(report.keys <= report.sampled && report.key_error <= tolerance);

        // The shape that a viewer shows: the keyed weights between the keys, morphed, then skinned.
        let written = document(&glb);
        let clips = Clip::read_all(&written).unwrap();
        let keyed = clips[0].channels.iter().find(|channel| channel.path == ChannelPath::Weights).unwrap();
        prop_assert_eq!(keyed.times.len(), report.keys);
        let (read, model) = model_of(written.clone()).unwrap();
        let rig = model.rig().clone();
        let count = rig.vertex_count();
        let fields: Vec<Vec<Vec3>> = (0..keyed.width())
            .map(|target| read_target(&written, read.layout(), &[0], target, "POSITION", count).unwrap())
            .collect();
        let mut evaluator = Evaluator::new(model);
        let mut expected = vec![Vec3::ZERO; count];
        let moments = moments(&read.clips()[0].key_times(read.layout()));
        prop_assert_eq!(moments.len(), report.sampled);
        for time in moments {
            let pose = read.sample(&read.clips()[0], time);
            evaluator.evaluate(&pose, &mut expected, None);
            let skinning = PosedSkinning::new(BaseSkinning::LinearBlend, &rig, &pose);
            let weights = keyed.sample(time);
            for (vertex, expected) in expected.iter().enumerate() {
                let mut morphed = rig.mesh().positions()[vertex].as_dvec3();
                for (field, weight) in fields.iter().zip(&weights) {
                    morphed += *weight * field[vertex].as_dvec3();
                }
                let off = skinning.position(vertex, morphed).as_vec3().distance(*expected);
                let rounding = 1e-5 * f64::from(expected.length()).max(rig.mesh().size());
                let allowed = tolerance * rig.mesh().size() + rounding;
                prop_assert!(f64::from(off) <= allowed, "vertex {vertex} at {time} is {off} away: {allowed}");
            }
        }
    }
}

/// Slow motion needs few keys, a clip that stands still two, a clip that jumps all its jumps.
#[test]
fn keys_are_where_something_happens() {
    let case = cases::all().unwrap().remove(0);
    let (rest, bent) = (case.model.rig().rest_pose(), case.poses[1].clone());
    let keys = |poses: &[&Pose], step: bool, tolerance: f64| {
        let times: Vec<f64> = (0..poses.len()).map(|key| 2.0 * key as f64).collect();
        let poses: Vec<Pose> = poses.iter().map(|&pose| pose.clone()).collect();
        let file = RigFile::from_rig(case.model.rig().clone(), "x").unwrap();
        let mut document = file.with_clip("clip", &times, &poses).unwrap().document().clone();
        if step {
            for sampler in document.json["animations"][0]["samplers"].as_array_mut().unwrap() {
                sampler["interpolation"] = "STEP".into();
            }
        }
        let file = eigenskin_gltf::rig_of(document, &eigenskin_gltf::ReadOptions::default()).unwrap();
        let options = ModelWriteOptions { tolerance, ..ModelWriteOptions::default() };
        let report = model_glb(&file, &case.model, &options).unwrap().1;
        (report.keys, report.sampled)
    };
    assert_eq!(keys(&[&rest, &rest, &rest], false, 1e-4), (2, 241));
    assert_eq!(keys(&[&rest, &rest, &rest], false, 0.0), (241, 241));
    assert_eq!(keys(&[&rest, &bent, &bent, &rest], true, 1e-4), (3, 4));
    let (few, sampled) = keys(&[&rest, &bent, &bent], false, 1e-3);
    assert!(few > 2 && few < 60 && sampled == 241, "{few} of {sampled}");
    // A finer bound needs more of them.
    assert!(keys(&[&rest, &bent, &bent], false, 1e-5).0 > few);
}
