//! Poses that show what joints can do.

use eigenskin_characters::hand;
use eigenskin_core::articulation::{DegreeOfFreedom, NamedAngles};

#[test]
fn corners_lie_where_no_sweep_does() {
    let hand = hand(1500).unwrap();
    let articulation = hand.articulation();
    let corners = articulation.corners(&[1.0]);
    assert!(!corners.is_empty());
    for corner in &corners {
        let turned: Vec<usize> = (0..corner.angles.len()).filter(|&d| corner.angles[d] != 0.0).collect();
        assert_eq!(turned.len(), 2, "{}", corner.name);
        let [a, b] = [turned[0], turned[1]].map(|d| articulation.degrees[d]);
        assert_eq!(a.joint, b.joint, "{}", corner.name);
        for (degree, angle) in [(a, corner.angles[turned[0]]), (b, corner.angles[turned[1]])] {
            assert!(angle == degree.lowest || angle == degree.highest, "{}", corner.name);
        }
    }
}

#[test]
fn couplings_begin_with_neighbours_and_have_names_of_their_own() {
    let hand = hand(1500).unwrap();
    let articulation = hand.articulation();
    let coupled = articulation.couplings(60);
    assert_eq!(coupled.len(), 60);
    let distance = |pose: &NamedAngles| {
        let joints: Vec<usize> = (0..pose.angles.len())
            .filter(|&d| pose.angles[d] != 0.0)
            .map(|d| articulation.degrees[d].joint)
            .collect();
        assert_eq!(joints.len(), 2);
        let at = |joint: usize| articulation.rig.skeleton().rest_position(joint);
        at(joints[0]).distance(at(joints[1]))
    };
    assert!(coupled.windows(2).all(|pair| distance(&pair[0]) <= distance(&pair[1])));
    let names: std::collections::HashSet<&str> = coupled.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names.len(), 60);
}

#[test]
fn poses_of_all_joints_hardly_tie_one_joint_to_another() {
    let hand = hand(1500).unwrap();
    let articulation = hand.articulation();
    // `pose × degree of freedom`, from −1 to 1 within the ranges
    let places = |poses: &[NamedAngles]| -> Vec<Vec<f64>> {
        let place = |d: &DegreeOfFreedom, angle: f64| 2.0 * (angle - d.lowest) / (d.highest - d.lowest) - 1.0;
        let of_pose = |pose: &NamedAngles| {
            articulation.degrees.iter().zip(&pose.angles).map(|(d, &a)| place(d, a)).collect()
        };
        poses.iter().map(of_pose).collect()
    };
    // Mean square of the cosines between the places of two degrees over all poses.
    let tied = |places: &[Vec<f64>]| {
        let product = |a: usize, b: usize| places.iter().map(|pose| pose[a] * pose[b]).sum::<f64>();
        let count = articulation.degrees.len();
        let pairs = (0..count).flat_map(|a| (0..a).map(move |b| (a, b)));
        let cosines = pairs.map(|(a, b)| product(a, b).powi(2) / (product(a, a) * product(b, b)));
        cosines.sum::<f64>() / (0.5 * (count * (count - 1)) as f64)
    };
    let designed = places(&articulation.together(16, 7));
    let random = places(&articulation.random(16, 1.0, 7));
    assert!(tied(&designed) < 0.75 * tied(&random), "{} {}", tied(&designed), tied(&random));
    for degree in 0..articulation.degrees.len() {
        let of_degree = || designed.iter().map(|pose| pose[degree]);
        assert!(of_degree().all(|place| place.abs() <= 1.0 + 1e-12));
        let high = of_degree().filter(|&place| place > 0.0).count();
        assert!((4..=12).contains(&high), "{high} of 16");
    }
    assert_eq!(articulation.together(16, 7), articulation.together(16, 7));
    assert_ne!(articulation.together(16, 7), articulation.together(16, 8));
}
