use super::*;

#[test]
fn angles_of_turns() {
    use eigenskin_core::glam::DQuat;
    for degrees in [0.0, 1e-4, 15.0, 90.0, 179.9] {
        let a = DMat3::from_quat(DQuat::from_rotation_y(0.3));
        let b =
            a * DMat3::from_quat(DQuat::from_axis_angle(DVec3::new(0.6, 0.0, 0.8), f64::to_radians(degrees)));
        assert!((angle_between(&a, &b).to_degrees() - degrees).abs() < 1e-9, "{degrees}");
    }
}
