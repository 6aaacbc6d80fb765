//! Motion capture.

use eigenskin_io::Bvh;

use crate::data;

#[test]
fn a_capture_of_a_walk() {
    let data = data();
    let bvh = Bvh::read(data.join("bvh/02_01.bvh")).unwrap();
    assert_eq!((bvh.joints().len(), bvh.frame_count()), (31, 344));
    assert!((1.0 / bvh.frame_time() - 120.0).abs() < 1e-3);
    // Bones keep their lengths, and the lower foot stays near the ground (the hips are at 17).
    let zero = bvh.zero_positions();
    let foot = |name: &str| bvh.joints().iter().position(|joint| joint.name == name).unwrap();
    for frame in [0, 100, 343] {
        let pose = bvh.pose_at(frame as f64 * bvh.frame_time());
        for (joint, entry) in bvh.joints().iter().enumerate() {
            let Some(parent) = entry.parent else { continue };
            let length = pose.positions[joint].distance(pose.positions[parent]);
            assert!((length - zero[joint].distance(zero[parent])).abs() < 1e-9);
        }
        let lower = pose.positions[foot("LeftToeBase")].y.min(pose.positions[foot("RightToeBase")].y);
        assert!((-1.0..2.0).contains(&lower), "{lower}");
    }
}
