//! Every conformance vector, from joints in Bevy to weights in Bevy.

use eigenskin_core::glam::DAffine3;

use crate::stage::{Stage, assert_close, cases, expectations, expected_weights, glb, placement};

#[test]
fn all_vectors_have_their_weights() {
    let cases = cases();
    assert!(cases.len() >= 10, "{cases:?}");
    for case in &cases {
        let file = format!("{case}.glb");
        let mut stage = Stage::with(case, &file);
        let root = stage.spawn(&file);
        let (bytes, vectors) = (glb(case), expectations(case));
        let mut largest = 0f32;
        for (index, pose) in vectors.poses.iter().enumerate() {
            let wanted = expected_weights(&bytes, &pose.coordinates);
            for (place, scene_from_mesh) in [("at rest", DAffine3::IDENTITY), ("elsewhere", placement())] {
                stage.pose(root, pose, scene_from_mesh);
                stage.app.update();
                assert_close(&stage.weights(root, case), &wanted, &format!("{case}, pose {index} {place}"));
            }
            largest = wanted.iter().fold(largest, |largest, weight| largest.max(*weight));
        }
        assert!(largest > 0.05, "{case}: nothing moved");
    }
}
