//! Tests of the hand's skin, joints and weights.

use super::*;
use crate::test_support::{is_closed_and_outward, medium_hand, small_hand};

/// Smallest angle of each triangle in degrees, ascending.
fn smallest_angles(mesh: &Mesh) -> Vec<f64> {
    let corners = mesh.triangles().iter().map(|t| t.map(|v| mesh.positions()[v as usize].as_dvec3()));
    let smallest = |p: [DVec3; 3]| {
        let angle = |k: usize| (p[(k + 1) % 3] - p[k]).angle_between(p[(k + 2) % 3] - p[k]);
        (0..3).map(angle).fold(f64::INFINITY, f64::min).to_degrees()
    };
    let mut angles: Vec<f64> = corners.map(smallest).collect();
    angles.sort_by(f64::total_cmp);
    angles
}

#[test]
fn hands_have_exactly_the_triangles_asked_for() {
    for triangles in [1500, 1502, 3494, 13_976, 55_904] {
        let mesh = hand(triangles).unwrap().rig.mesh().clone();
        assert_eq!(mesh.triangles().len(), triangles);
        assert!(is_closed_and_outward(&mesh), "{triangles}");
        let angles = smallest_angles(&mesh);
        assert!(angles[0] > 15.0, "{triangles}: {}", angles[0]);
        assert!(angles[angles.len() / 100] > 33.0, "{triangles}");
    }
    for triangles in [1501, 1498] {
        let error = hand(triangles).unwrap_err();
        assert_eq!(error, CharacterError::TriangleCount { triangles, fewest: FEWEST_TRIANGLES });
    }
}

/// Meshing skips what is further from the surface than the field's slope allows.
#[test]
fn the_field_is_no_steeper_than_meshing_assumes() {
    let body = shape::body(&fingers(1.0));
    let (lowest, highest) = body.bounds();
    for step in 0..20_000u32 {
        // Steps that fill the box evenly.
        let place = [0.754_877_7, 0.569_840_3, 0.445_041_9].map(|share| (share * f64::from(step)).fract());
        let point = lowest + (highest - lowest) * DVec3::from_array(place);
        assert!(body.sample(point).gradient.length() < crate::meshing::STEEPEST);
    }
}

#[test]
fn the_same_hand_is_built_every_time() {
    let [first, second] = [(); 2].map(|()| hand(2000).unwrap());
    assert_eq!(first.rig, second.rig);
}

#[test]
fn joints_form_a_hand() {
    let hand = small_hand();
    let skeleton = hand.rig.skeleton();
    assert_eq!(skeleton.joint_count(), 20);
    assert_eq!(hand.degrees_of_freedom.len(), 20);
    let tip = hand.rig.mesh().positions().iter().map(|p| p.y).fold(0.0, f32::max);
    assert!((tip - 0.19).abs() < 0.006, "{tip}");
    for finger in ["index", "middle", "ring", "pinky"] {
        let parts = ["metacarpal", "phalanx-proximal", "phalanx-intermediate", "phalanx-distal"];
        let chain = parts.map(|part| skeleton.joint_named(&format!("{finger}-finger-{part}")).unwrap());
        assert!(chain.windows(2).all(|pair| skeleton.joints()[pair[1]].parent == Some(pair[0])));
    }
    for (index, name) in ["thumb-metacarpal", "index-finger-phalanx-proximal"].into_iter().enumerate() {
        assert_eq!(first_joint(index), skeleton.joint_named(name).unwrap());
    }
}

#[test]
fn fingers_bend_towards_the_palm() {
    let hand = small_hand();
    for (index, degree) in hand.degrees_of_freedom.iter().enumerate().filter(|(_, d)| d.axis == DVec3::X) {
        // A point on the joint's own bone.
        let on_bone = DVec3::new(0.0, 0.0, -0.01);
        let mut angles = vec![0.0; index + 1];
        angles[index] = -0.3;
        let rest = hand.rig.skeleton().rest_from_joint()[degree.joint].transform_point3(on_bone);
        let bent = hand.pose(&angles).world_from_joint[degree.joint].transform_point3(on_bone);
        let (palmwards, across) = (bent.z - rest.z, bent.x - rest.x);
        // The thumb closes across the palm, away from its own side.
        assert!(palmwards > 1e-3 || across < -1e-3, "degree {index}: {palmwards} {across}");
    }
}

#[test]
fn the_pinch_brings_thumb_and_index_together() {
    let hand = small_hand();
    let skeleton = hand.rig.skeleton();
    let gap_in = |name: &str| {
        let pose = hand.multi_joint_poses(0, 0).into_iter().find(|p| p.name == name).unwrap().pose;
        let pad = |joint: &str, at: DVec3| {
            pose.world_from_joint[skeleton.joint_named(joint).unwrap()].transform_point3(at)
        };
        let thumb = pad("thumb-phalanx-distal", DVec3::new(0.0, -0.009, -0.0185));
        thumb.distance(pad("index-finger-phalanx-distal", DVec3::new(0.0, -0.007, -0.0165)))
    };
    assert!(gap_in("pinch") < 0.003, "{}", gap_in("pinch"));
    assert!(gap_in("spread") > 0.05);
}

#[test]
fn the_spread_pose_opens_the_fingers() {
    let hand = small_hand();
    let skeleton = hand.rig.skeleton();
    let distal = |pose: &eigenskin_core::pose::Pose, finger: &str| {
        let joint = skeleton.joint_named(&format!("{finger}-finger-phalanx-distal")).unwrap();
        pose.world_from_joint[joint].translation
    };
    let spread = hand.multi_joint_poses(0, 0).into_iter().find(|p| p.name == "spread").unwrap().pose;
    let rest = hand.rig.rest_pose();
    for pair in ["index", "middle", "ring", "pinky"].windows(2) {
        let gap = |pose| distal(pose, pair[0]).distance(distal(pose, pair[1]));
        assert!(gap(&spread) > gap(&rest) + 0.002, "{pair:?}");
    }
}

#[test]
fn no_finger_pulls_at_another() {
    let hand = medium_hand();
    let skeleton = hand.rig.skeleton();
    assert!(hand.rig.weights().most_influences() <= 4);
    let finger_of =
        |joint: u32| skeleton.joints()[joint as usize].name.split('-').next().unwrap().to_string();
    for vertex in 0..hand.rig.vertex_count() {
        let influences = hand.rig.weights().of(vertex);
        let heaviest = skeleton.joints()[influences[0].joint as usize].name.clone();
        if heaviest.ends_with("intermediate") || heaviest.ends_with("distal") {
            let own = finger_of(influences[0].joint);
            assert!(influences.iter().all(|i| finger_of(i.joint) == own), "vertex {vertex} of {heaviest}");
        }
    }
}
