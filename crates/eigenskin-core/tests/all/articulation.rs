//! Poses that show what joints can do.

use eigenskin_characters::hand;
use eigenskin_core::articulation::NamedAngles;

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
