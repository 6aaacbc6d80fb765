//! Drivers and layers of every kind, against formulas written out here.

use std::sync::Arc;

use eigenskin_characters::tube::{pose, tube};
use eigenskin_core::driver::{
    Clamp, Combine, Driver, DriverError, FeatureGroup, FeatureScale, Interpolant, Kernel, Representation,
    Tail,
};
use eigenskin_core::evaluate::Evaluator;
use eigenskin_core::glam::{DMat3, DQuat, DVec3, Vec3};
use eigenskin_core::model::{DisplacementBasis, Frame, Layer, Model, ModelError, Stage};
use eigenskin_core::skinning::{BaseSkinning, PosedSkinning};

fn elbow_group(representation: Representation) -> FeatureGroup {
    FeatureGroup::joint(tube().skeleton(), 1, representation).unwrap()
}

fn wrist_group(representation: Representation) -> FeatureGroup {
    FeatureGroup::joint(tube().skeleton(), 2, representation).unwrap()
}

fn value(driver: &Driver, elbow: DVec3, wrist: DVec3, heavy: f64) -> f64 {
    let rig = tube();
    let mut scratch = vec![0.0; driver.scratch_count()];
    let mut out = [0.0];
    driver.evaluate(rig.skeleton(), &pose(&rig, elbow, wrist, heavy), &mut scratch, &mut out);
    out[0]
}

fn rbf(
    groups: Vec<FeatureGroup>,
    combine: Combine,
    centres: Vec<f64>,
    widths: Vec<f64>,
    coefficients: Vec<f64>,
) -> Driver {
    let interpolant =
        Interpolant::Rbf { kernel: Kernel::Gaussian, centres, widths, coefficients, tail: Tail::None };
    Driver { groups, combine, interpolant, clamp: Clamp::None }
}

fn gaussian(distance: f64, width: f64) -> f64 {
    (-distance * distance / (2.0 * width * width)).exp()
}

#[test]
fn distance_adds_weighted_squares() {
    let mut rotation = elbow_group(Representation::RotationVector);
    rotation.weight = 0.3;
    let control = FeatureGroup::control(0, 0.25).scaled(FeatureScale::One(2.0));
    let driver =
        rbf(vec![rotation, control], Combine::Distance, vec![0.1, 0.2, 0.3, 0.5], vec![0.7], vec![1.5]);
    let elbow = DVec3::new(0.4, -0.1, 0.2);
    let squared =
        0.3 * (elbow - DVec3::new(0.1, 0.2, 0.3)).length_squared() + (2.0f64 * (0.65 - 0.5)).powi(2);
    let expected = 1.5 * gaussian(squared.sqrt(), 0.7);
    assert!((value(&driver, elbow, DVec3::ZERO, 0.9) - expected).abs() < 1e-7);
}

#[test]
fn products_vanish_as_soon_as_one_group_rests() {
    let groups = vec![elbow_group(Representation::Rotation), wrist_group(Representation::Rotation)];
    let (a, b) = (DQuat::from_rotation_y(0.8), DQuat::from_rotation_z(0.5));
    let centres = [a.to_array(), b.to_array()].concat();
    let driver = rbf(groups, Combine::Product, centres, vec![0.6], vec![1.0]);
    let both = value(&driver, DVec3::Y * 0.6, DVec3::Z * 0.4, 0.0);
    let factor = |angle: f64, centre: f64| gaussian(angle - centre, 0.6) - gaussian(centre, 0.6);
    assert!((both - factor(0.6, 0.8) * factor(0.4, 0.5)).abs() < 1e-7);
    assert!(value(&driver, DVec3::Y * 0.6, DVec3::ZERO, 0.0).abs() < 1e-7);
    assert!(value(&driver, DVec3::ZERO, DVec3::Z * 0.4, 0.0).abs() < 1e-7);
}

/// Two joints and a control: each alone, each pair, all three; by the sum over subsets that the product stands for.
#[test]
fn subsets_add_up_what_groups_do_alone_and_together() {
    let mut groups = vec![
        elbow_group(Representation::RotationVector),
        wrist_group(Representation::RotationVector),
        FeatureGroup::control(0, 0.25),
    ];
    let amounts = [0.7, 1.3, 0.4];
    for (group, amount) in groups.iter_mut().zip(amounts) {
        group.weight = amount;
    }
    let centre = [DVec3::new(0.1, 0.8, 0.0), DVec3::new(0.0, 0.2, -0.6)];
    let centres = [centre[0].to_array().to_vec(), centre[1].to_array().to_vec(), vec![0.5]].concat();
    let driver = rbf(groups, Combine::Subsets, centres, vec![0.9], vec![2.0]);
    let moved = |pose: f64, centre: f64, apart: f64| {
        gaussian(apart, 0.9) - gaussian(pose, 0.9) - gaussian(centre, 0.9) + 1.0
    };
    let (elbow, wrist, control) = (DVec3::new(0.3, 0.4, -0.2), DVec3::new(0.1, 0.0, 0.5), 0.3);
    let each = [
        amounts[0] * moved(elbow.length(), centre[0].length(), elbow.distance(centre[0])),
        amounts[1] * moved(wrist.length(), centre[1].length(), wrist.distance(centre[1])),
        amounts[2] * moved(control, 0.5, 0.5 - control),
    ];
    let mut expected = 0.0;
    for subset in 1..8usize {
        expected += (0..3).filter(|g| subset & (1 << g) != 0).map(|g| each[g]).product::<f64>();
    }
    let found = value(&driver, elbow, wrist, 0.25 + control);
    assert!((found - 2.0 * expected).abs() < 1e-6, "{found} {expected}");
    // One group alone is what it does alone, and rest is rest.
    assert!((value(&driver, elbow, DVec3::ZERO, 0.25) - 2.0 * each[0]).abs() < 1e-6);
    assert!(value(&driver, DVec3::ZERO, DVec3::ZERO, 0.25).abs() < 1e-9);
}

#[test]
fn per_axis_and_matrix_scales() {
    let elbow = DVec3::new(0.4, -0.1, 0.2);
    let stretch = DVec3::new(2.0, 0.0, 0.5);
    let shear =
        DMat3::from_cols(DVec3::new(1.0, 0.3, 0.0), DVec3::new(0.0, 2.0, 0.0), DVec3::new(0.2, 0.0, 0.5));
    for (scale, scaled) in
        [(FeatureScale::PerAxis(stretch), stretch * elbow), (FeatureScale::Matrix(shear), shear * elbow)]
    {
        let group = elbow_group(Representation::RotationVector).scaled(scale);
        let driver = rbf(vec![group], Combine::Distance, vec![0.0; 3], vec![0.5], vec![1.0]);
        let found = value(&driver, elbow, DVec3::ZERO, 0.0);
        assert!((found - gaussian(scaled.length(), 0.5)).abs() < 1e-7, "{scale:?}");
    }
}

#[test]
fn hinge_swing_and_twist_see_their_own_part() {
    let axis = DVec3::X;
    let (twist, swing) = (0.7, DVec3::new(0.0, 0.5, -0.3));
    let turn = DQuat::from_scaled_axis(swing) * DQuat::from_axis_angle(axis, twist);
    let elbow = turn.to_scaled_axis();
    let linear = |representation, coefficients: Vec<f64>| Driver {
        groups: vec![elbow_group(representation)],
        combine: Combine::Distance,
        interpolant: Interpolant::Linear { coefficients },
        clamp: Clamp::None,
    };
    for representation in [Representation::HingeAngle { axis }, Representation::Twist { axis }] {
        assert!(
            (value(&linear(representation, vec![2.0]), elbow, DVec3::ZERO, 0.0) - 2.0 * twist).abs() < 1e-6
        );
    }
    let along_y = linear(Representation::Swing { axis }, vec![0.0, 1.0, 0.0]);
    assert!((value(&along_y, elbow, DVec3::ZERO, 0.0) - swing.y).abs() < 1e-6);
}

#[test]
fn translations_are_seen_in_the_rest_shapes_axes() {
    let rig = tube();
    let mut moved = rig.rest_pose();
    moved.world_from_joint[2].translation += DVec3::new(0.5, -0.2, 0.1);
    let group = wrist_group(Representation::Translation);
    let interpolant = Interpolant::Linear { coefficients: vec![1.0, 10.0, 100.0] };
    let driver = Driver { groups: vec![group], combine: Combine::Distance, interpolant, clamp: Clamp::None };
    let (mut scratch, mut out) = (vec![0.0; driver.scratch_count()], [0.0]);
    driver.evaluate(rig.skeleton(), &moved, &mut scratch, &mut out);
    assert!((out[0] - (0.5 - 2.0 + 10.0)).abs() < 1e-5, "{}", out[0]);
}

#[test]
fn shepard_is_exact_flat_at_the_data_and_a_mean_far_away() {
    let shepard = |epsilon| Driver {
        groups: vec![FeatureGroup::control(0, 0.0)],
        combine: Combine::Distance,
        interpolant: Interpolant::Shepard {
            centres: vec![0.0, 1.0, 2.0],
            values: vec![0.0, 3.0, 1.0],
            power: 3.0,
            epsilon,
        },
        clamp: Clamp::None,
    };
    let at = |heavy| value(&shepard(0.0), DVec3::ZERO, DVec3::ZERO, heavy);
    assert_eq!((at(0.0), at(1.0), at(2.0)), (0.0, 3.0, 1.0));
    assert!(((at(1.0 + 1e-4) - at(1.0)) / 1e-4).abs() < 1e-3);
    assert!((at(1e6) - 4.0 / 3.0).abs() < 1e-3);
    let weights = [0.25f64, 0.25, 2.25].map(|squared| (squared + 0.1).powf(-1.5));
    let expected = (3.0 * weights[1] + weights[2]) / weights.iter().sum::<f64>();
    assert!((value(&shepard(0.1), DVec3::ZERO, DVec3::ZERO, 0.5) - expected).abs() < 1e-12);
}

#[test]
fn tails_and_clamps() {
    let driver = |tail, clamp| Driver {
        groups: vec![FeatureGroup::control(0, 0.25)],
        combine: Combine::Distance,
        interpolant: Interpolant::Rbf {
            kernel: Kernel::Gaussian,
            centres: vec![0.0],
            widths: vec![1.0],
            coefficients: vec![0.0],
            tail,
        },
        clamp,
    };
    let at = |driver: &Driver, heavy| value(driver, DVec3::ZERO, DVec3::ZERO, heavy);
    let sloped = driver(Tail::Linear(vec![0.5, 2.0]), Clamp::None);
    assert!((at(&sloped, 1.25) - 2.5).abs() < 1e-12);
    let constant = driver(Tail::Constant(vec![0.5]), Clamp::None);
    assert_eq!(at(&constant, 9.0), 0.5);
    let clamped =
        driver(Tail::Linear(vec![0.5, 2.0]), Clamp::Range { lowest: vec![0.0], highest: vec![1.0] });
    assert_eq!((at(&clamped, 9.0), at(&clamped, -9.0)), (1.0, 0.0));
}

/// A layer of one vertex whose coordinate is the control.
fn one_vertex_layer(vertex: u32, displacement: Vec3, stage: Stage) -> Layer {
    Layer {
        name: "layer".into(),
        support: vec![vertex],
        basis: DisplacementBasis { positions: vec![displacement], normals: vec![] },
        driver: Driver {
            groups: vec![FeatureGroup::control(0, 0.25)],
            combine: Combine::Distance,
            interpolant: Interpolant::Linear { coefficients: vec![1.0] },
            clamp: Clamp::None,
        },
        stage,
    }
}

#[test]
fn layers_after_skinning_turn_with_their_frame() {
    let rig = tube();
    let vertex = rig.vertex_count() as u32 - 1;
    let displacement = Vec3::new(0.1, 0.2, -0.3);
    let turn = DQuat::from_scaled_axis(DVec3::new(0.3, -1.0, 0.4));
    let pose = pose(&rig, DVec3::Y * 0.9, DVec3::Z * 0.6, 1.25)
        .moved_by(eigenskin_core::glam::DAffine3::from_quat(turn));
    let skinning = PosedSkinning::new(BaseSkinning::LinearBlend, &rig, &pose);
    let rest = rig.mesh().positions()[vertex as usize].as_dvec3();
    let plain = skinning.position(vertex as usize, rest);
    let joint_turn = |joint: usize| {
        (pose.world_from_joint[joint] * rig.skeleton().rest_from_joint()[joint].inverse()).matrix3
    };
    let cases = [
        (Stage::AfterSkinning { frame: Frame::Root }, plain + turn * displacement.as_dvec3()),
        (Stage::AfterSkinning { frame: Frame::Joint(1) }, plain + joint_turn(1) * displacement.as_dvec3()),
        (
            Stage::AfterSkinning { frame: Frame::HeaviestJoint },
            plain + joint_turn(2) * displacement.as_dvec3(),
        ),
        (Stage::BeforeSkinning, skinning.position(vertex as usize, rest + displacement.as_dvec3())),
    ];
    for (stage, expected) in cases {
        let layer = one_vertex_layer(vertex, displacement, stage);
        let model = Model::new(rig.clone(), BaseSkinning::LinearBlend, vec![layer]).unwrap();
        let mut positions = vec![Vec3::ZERO; rig.vertex_count()];
        Evaluator::new(Arc::new(model)).evaluate(&pose, &mut positions, None);
        let distance = positions[vertex as usize].as_dvec3().distance(expected);
        assert!(distance < 1e-5, "{stage:?}: {distance:e}");
    }
}

#[test]
fn bad_models_are_refused_with_the_layer() {
    let rig = tube();
    let good = || one_vertex_layer(3, Vec3::X, Stage::BeforeSkinning);
    let refused = |layer: Layer| Model::new(rig.clone(), BaseSkinning::LinearBlend, vec![layer]).unwrap_err();
    let beyond = Layer { support: vec![9999], ..good() };
    assert!(matches!(refused(beyond), ModelError::Support { vertex: 9999, .. }));
    let not_finite =
        Layer { basis: DisplacementBasis { positions: vec![Vec3::NAN], normals: vec![] }, ..good() };
    assert!(matches!(refused(not_finite), ModelError::NotFinite { .. }));
    let mut other_control = good();
    other_control.driver.groups = vec![FeatureGroup::control(4, 0.0)];
    let error = refused(other_control);
    assert!(matches!(
        error,
        ModelError::Driver { error: DriverError::OutOfRange { what: "control", index: 4, .. }, .. }
    ));
    let mut too_few = good();
    too_few.driver.interpolant = Interpolant::Linear { coefficients: vec![] };
    assert!(matches!(refused(too_few), ModelError::Driver { error: DriverError::Shape { .. }, .. }));
    let frame = Layer { stage: Stage::AfterSkinning { frame: Frame::Joint(8) }, ..good() };
    assert!(matches!(refused(frame), ModelError::NoSuchFrame { joint: 8, .. }));
}
