//! Motion capture files.

use eigenskin_core::glam::DVec3;
use eigenskin_io::{Bvh, BvhError};

/// Two roots, two orders of rotation, an end site, tabs, blank lines, CRLF, a name with a colon.
const SMALL: &str = "HIERARCHY\r\nROOT mixamo:Hips\r\n{\r\n\tOFFSET 0 0 0\r\n\tCHANNELS 6 Xposition Yposition Zposition Zrotation Yrotation Xrotation\r\n\tJOINT knee\r\n\t{\r\n\t\tOFFSET 1 0 0\r\n\r\n\t\tCHANNELS 3 Xrotation Yrotation Zrotation\r\n\t\tEnd Site\r\n\t\t{\r\n\t\t\tOFFSET 0 2 0\r\n\t\t}\r\n\t\tJOINT foot {\r\n\t\t\tOFFSET 0 2 0\r\n\t\t\tCHANNELS 0\r\n\t\t}\r\n\t}\r\n}\r\nROOT prop\r\n{\r\n\tOFFSET 5 0 0\r\n\tCHANNELS 1 Yrotation\r\n}\r\nMOTION\r\nFrames: 2\r\nFrame Time: .5\r\n10 20 30  90 90 0  90 0 90  180\r\n10 20 34  0 0 0  0 0\r\n0  0\r\n";

/// By hand: Rz(90°)·Ry(90°) takes x to −z (the other order: y), and below it Rx(90°)·Rz(90°) takes
/// y to −x (the other order: z).
#[test]
fn rotations_apply_in_the_order_listed() {
    let bvh = Bvh::parse(SMALL).unwrap();
    let names: Vec<&str> = bvh.joints().iter().map(|joint| joint.name.as_str()).collect();
    assert_eq!(names, ["mixamo:Hips", "knee", "foot", "prop"]);
    let parents: Vec<_> = bvh.joints().iter().map(|joint| joint.parent).collect();
    assert_eq!(parents, [None, Some(0), Some(1), None]);
    assert_eq!((bvh.frame_count(), bvh.frame_time()), (2, 0.5));
    assert_eq!(bvh.zero_positions()[2], DVec3::new(1.0, 2.0, 0.0));

    let pose = bvh.pose_at(0.0);
    let near = |found: DVec3, x: f64, y: f64, z: f64| (found - DVec3::new(x, y, z)).length() < 1e-12;
    assert!(near(pose.positions[0], 10.0, 20.0, 30.0));
    // Rz Ry x = Rz(−z) = −z.
    assert!(near(pose.positions[1], 10.0, 20.0, 29.0), "{}", pose.positions[1]);
    // Below: Rx Rz y = Rx(−x) = −x, which the hips turn to +z; twice.
    assert!(near(pose.positions[2], 10.0, 20.0, 31.0), "{}", pose.positions[2]);
    // Rx Rz x = Rx y = z, and Rz Ry z = Rz x = y.
    assert!(near(pose.rotations[1] * DVec3::X, 0.0, 1.0, 0.0));
    assert!(near(pose.positions[3], 5.0, 0.0, 0.0));
    assert!(near(pose.rotations[3] * DVec3::X, -1.0, 0.0, 0.0));

    let still = bvh.pose_at(9.0);
    assert!(near(still.positions[2], 11.0, 22.0, 34.0));
    // Half-way: the place straight, the prop a quarter turn.
    let between = bvh.pose_at(0.25);
    assert!(near(between.positions[0], 10.0, 20.0, 32.0));
    assert!((between.rotations[3] * DVec3::X).z.abs() > 1.0 - 1e-12);
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    let line_of = |text: &str| match Bvh::parse(text) {
        Err(BvhError::Expected { line, .. }) => line,
        other => panic!("{other:?}"),
    };
    assert_eq!(line_of("no motion at all"), 1);
    assert_eq!(line_of(&SMALL.replace("Yrotation Xrotation", "Yrotation Wrotation")), 5);
    assert_eq!(line_of(&SMALL.replace("OFFSET 1 0 0", "OFFSET 1 0 nan")), 8);
    assert_eq!(line_of(&SMALL.replace("OFFSET 1 0 0", "OFFSET 1e300 0 0")), 8);
    assert_eq!(line_of(&SMALL.replace("CHANNELS 1 Y", "CHANNELS 99999999999 Y")), 24);
    assert_eq!(line_of(&SMALL.replace("10 20 34", "10 twenty 34")), 30);
    assert_eq!(line_of(&SMALL.replace("Time: .5", "Time: 0")), 28);
    assert_eq!(line_of(&SMALL.replace("Frames: 2", "Frames: 2.5")), 27);
    let announced = |frames: &str| Bvh::parse(&SMALL.replace("Frames: 2", frames));
    assert!(matches!(
        announced("Frames: 3"),
        Err(BvhError::Length { announced: 3, channels: 10, found: 20 })
    ));
    assert!(matches!(announced("Frames: 1"), Err(BvhError::Length { .. })));
    assert!(matches!(announced("Frames: 999999999"), Err(BvhError::Length { .. })));
    assert!(matches!(announced("Frames: 0"), Err(BvhError::Empty { what: "frames" })));
    assert!(announced("Frames:2").is_ok());
    let still = "HIERARCHY ROOT a\n{ OFFSET 0 0 0 }\nMOTION Frames: 9 Frame Time: 1";
    assert!(matches!(Bvh::parse(still), Err(BvhError::Empty { what: "channels" })));
}

#[test]
fn no_cut_makes_it_panic() {
    for end in 0..SMALL.len() - 3 {
        assert!(Bvh::parse(&SMALL[..end]).is_err(), "{end}");
        let _ = Bvh::parse(&SMALL[end..]);
    }
    // Very deep, and without an end.
    let deep = format!("HIERARCHY ROOT a\n{{ OFFSET 0 0 0 {}", "JOINT b\n{ OFFSET 0 0 0 ".repeat(100_000));
    assert!(matches!(Bvh::parse(&deep), Err(BvhError::TooMany { what: "joints", .. })));
}
