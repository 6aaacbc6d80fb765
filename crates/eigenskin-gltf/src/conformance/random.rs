//! Small characters and models from a seed. Not realistic, but everything is in use.

use std::sync::Arc;

use eigenskin_core::driver::{
    Clamp, Combine, Driver, FeatureGroup, FeatureScale, Interpolant, Kernel, Representation, Tail,
};
use eigenskin_core::glam::{DAffine3, DMat3, DQuat, DVec3, Vec3};
use eigenskin_core::mesh::Mesh;
use eigenskin_core::model::{DisplacementBasis, Layer, Stage};
use eigenskin_core::pose::Pose;
pub use eigenskin_core::random::SplitMix64 as Random;
use eigenskin_core::rig::{Control, Rig};
use eigenskin_core::skeleton::{Joint, Skeleton};
use eigenskin_core::weights::{Influence, SkinWeights};

use super::ConformanceError;

/// What kind of character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RigParams {
    /// joints along the tube; may be zero
    pub joints: usize,
    /// influences per vertex at most
    pub influences: usize,
    /// named controls
    pub controls: usize,
    /// all joints are roots, with reference joints of their own
    pub flat: bool,
    /// rings of eight vertices along the tube, at least two
    pub rings: usize,
}

/// A tube along x with a chain of joints in it.
pub fn rig(random: &mut Random, params: &RigParams) -> Result<Arc<Rig>, ConformanceError> {
    const SIDES: usize = 8;
    let mut positions = Vec::new();
    for ring in 0..params.rings {
        for side in 0..SIDES {
            let angle = std::f64::consts::TAU * side as f64 / SIDES as f64;
            let radius = random.between(0.2, 0.3);
            let x = 2.0 * ring as f64 / (params.rings - 1) as f64;
            positions.push(DVec3::new(x, radius * angle.cos(), radius * angle.sin()).as_vec3());
        }
    }
    let mut triangles = Vec::new();
    for ring in 0..params.rings - 1 {
        for side in 0..SIDES {
            let corner = |r: usize, s: usize| (r * SIDES + s % SIDES) as u32;
            let [a, b] = [corner(ring, side), corner(ring, side + 1)];
            let [c, d] = [corner(ring + 1, side), corner(ring + 1, side + 1)];
            triangles.extend([[a, b, c], [b, d, c]]);
        }
    }
    let spacing = 2.0 / params.joints.max(1) as f64;
    let joints = (0..params.joints)
        .map(|joint| {
            let at = DVec3::new(spacing * joint as f64, 0.0, 0.0);
            let rest = DAffine3::from_rotation_translation(random.rotation(1.0), at);
            let before = joint.checked_sub(1);
            Joint {
                name: format!("joint-{joint}"),
                parent: before.filter(|_| !params.flat),
                reference: before.filter(|_| params.flat),
                joint_from_rest: rest.inverse(),
            }
        })
        .collect();
    let skeleton = Skeleton::new(joints).map_err(ConformanceError::of)?;
    let weights = if params.joints == 0 {
        SkinWeights::none(positions.len())
    } else {
        let list = positions.iter().map(|p| influences(random, p, &skeleton, params.influences));
        SkinWeights::new(params.joints, list).map_err(ConformanceError::of)?.0
    };
    let mesh = Mesh::new(positions, triangles, None).map_err(ConformanceError::of)?;
    let controls = (0..params.controls)
        .map(|control| Control { name: format!("control-{control}"), default: 0.1 * control as f64 })
        .collect();
    Ok(Arc::new(Rig::new(mesh, skeleton, weights, controls).map_err(ConformanceError::of)?))
}

fn influences(random: &mut Random, position: &Vec3, skeleton: &Skeleton, count: usize) -> Vec<Influence> {
    let mut list: Vec<Influence> = (0..skeleton.joint_count())
        .map(|joint| {
            let distance = skeleton.rest_position(joint).distance(position.as_dvec3());
            let weight = (-2.0 * distance).exp() * random.between(0.8, 1.2);
            Influence { joint: joint as u32, weight: weight as f32 }
        })
        .collect();
    list.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    list.truncate(count);
    list
}

/// A pose away from rest: every joint turns and shifts a little, the whole character moves.
pub fn pose(random: &mut Random, rig: &Rig) -> Pose {
    let motion =
        |random: &mut Random| DAffine3::from_rotation_translation(random.rotation(0.7), random.vector(0.03));
    posed(random, rig, motion, |random| random.between(-1.0, 1.0))
}

/// A pose that is further from rest than the centres of all drivers: joints turn by more than 90 degrees
/// about axes that [`Random::axis`] may choose, with this sign.
pub fn far_pose(random: &mut Random, rig: &Rig, direction: f64) -> Pose {
    let motion = |random: &mut Random| {
        let axis = random.axis();
        let turn = DQuat::from_axis_angle(axis, direction * random.between(1.7, 2.2));
        let shift = direction * DVec3::splat(0.1) + random.vector(0.03);
        DAffine3::from_rotation_translation(turn, shift)
    };
    posed(random, rig, motion, |random| direction * random.between(1.2, 2.0))
}

fn posed(
    random: &mut Random,
    rig: &Rig,
    motion: impl Fn(&mut Random) -> DAffine3,
    control: impl Fn(&mut Random) -> f64,
) -> Pose {
    let skeleton = rig.skeleton();
    let mut local = skeleton.parent_from_joint(skeleton.rest_from_joint());
    for (joint, transform) in local.iter_mut().enumerate() {
        *transform *= motion(random);
        // Only the tip is scaled: a scaled parent would shear its children.
        if joint > 0 && skeleton.children(joint).next().is_none() {
            *transform *= DAffine3::from_scale(DVec3::ONE + random.vector(0.1));
        }
    }
    let whole = DAffine3::from_rotation_translation(random.rotation(1.0), random.vector(1.0));
    let pose = Pose {
        world_from_joint: skeleton.forward_kinematics(&local),
        controls: rig.controls().iter().map(|_| control(random)).collect(),
    };
    pose.moved_by(whole)
}

/// What kind of layer.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerParams {
    /// what it looks at
    pub groups: Vec<FeatureGroup>,
    /// how groups become one distance
    pub combine: Combine,
    /// how coordinates are found
    pub interpolant: InterpolantKind,
    /// keeps coordinates within a range
    pub clamp: bool,
    /// before or after skinning
    pub stage: Stage,
    /// displacement fields
    pub components: usize,
    /// with normal corrections
    pub normals: bool,
}

/// The interpolants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterpolantKind {
    /// radial functions with a tail of degree −1, 0 or 1
    Rbf(Kernel, i32),
    /// Shepard's weighted mean
    Shepard,
    /// delta-sum
    Linear,
}

/// A layer with random numbers in the given form.
pub fn layer(random: &mut Random, rig: &Rig, name: String, params: &LayerParams) -> Layer {
    let support: Vec<u32> =
        (0..rig.vertex_count() as u32).filter(|_| random.between(0.0, 1.0) < 0.6).collect();
    let support = if support.is_empty() { vec![0] } else { support };
    let count = params.components * support.len();
    let mut field = |half: f64| -> Vec<Vec3> { (0..count).map(|_| random.vector(half).as_vec3()).collect() };
    let positions = field(0.05);
    let normals = if params.normals { field(0.2) } else { Vec::new() };
    let driver = driver(random, params);
    Layer { name, support, basis: DisplacementBasis { positions, normals }, driver, stage: params.stage }
}

fn driver(random: &mut Random, params: &LayerParams) -> Driver {
    const CENTRES: usize = 4;
    let outputs = params.components;
    let linear: usize = params.groups.iter().map(FeatureGroup::linear_count).sum();
    let centres: Vec<f64> =
        (0..CENTRES).flat_map(|_| params.groups.clone()).flat_map(|group| features(random, &group)).collect();
    let mut numbers = |count: usize, low: f64, high: f64| -> Vec<f64> {
        (0..count).map(|_| random.between(low, high)).collect()
    };
    let interpolant = match params.interpolant {
        InterpolantKind::Rbf(kernel, degree) => Interpolant::Rbf {
            kernel,
            centres,
            widths: numbers(CENTRES, 0.7, 1.5),
            coefficients: numbers(CENTRES * outputs, -1.0, 1.0),
            tail: match degree {
                0 => Tail::Constant(numbers(outputs, -0.3, 0.3)),
                1 => Tail::Linear(numbers((1 + linear) * outputs, -0.3, 0.3)),
                _ => Tail::None,
            },
        },
        InterpolantKind::Shepard => Interpolant::Shepard {
            centres,
            values: numbers(CENTRES * outputs, -1.0, 1.0),
            power: 2.5,
            epsilon: 1e-4,
        },
        InterpolantKind::Linear => Interpolant::Linear { coefficients: numbers(linear * outputs, -0.5, 0.5) },
    };
    let clamp = if params.clamp {
        Clamp::Range { lowest: numbers(outputs, -0.4, -0.1), highest: numbers(outputs, 0.1, 0.4) }
    } else {
        Clamp::None
    };
    Driver { groups: params.groups.clone(), combine: params.combine, interpolant, clamp }
}

/// Features that a pose could have.
fn features(random: &mut Random, group: &FeatureGroup) -> Vec<f64> {
    match group.representation {
        Representation::Rotation => random.rotation(0.8).to_array().to_vec(),
        Representation::Swing { axis } => {
            eigenskin_core::driver::features::swing(random.rotation(0.8), axis).to_array().to_vec()
        }
        Representation::Translation | Representation::Overlap => random.vector(0.05).to_array().to_vec(),
        Representation::RotationVector => random.vector(0.8).to_array().to_vec(),
        Representation::HingeAngle { .. } | Representation::Twist { .. } | Representation::Scalar => {
            vec![random.between(-0.8, 0.8)]
        }
    }
}

/// One of every representation a joint can have.
pub fn representations(random: &mut Random) -> [Representation; 6] {
    [
        Representation::HingeAngle { axis: random.axis() },
        Representation::Rotation,
        Representation::Swing { axis: random.axis() },
        Representation::Twist { axis: random.axis() },
        Representation::RotationVector,
        Representation::Translation,
    ]
}

/// One of every scale.
pub fn scales(random: &mut Random) -> [FeatureScale; 3] {
    let matrix =
        DMat3::from_cols(random.vector(0.2), random.vector(0.2), random.vector(0.2)) + DMat3::IDENTITY;
    [
        FeatureScale::One(random.between(0.5, 2.0)),
        FeatureScale::PerAxis(DVec3::ONE + random.vector(0.5)),
        FeatureScale::Matrix(matrix),
    ]
}
