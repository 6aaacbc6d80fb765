//! Small models from a seed. Not realistic, but everything is in use: vertices with few and many
//! joints, supports that overlap and leave vertices out, all frames after skinning.

use std::ops::Range;
use std::sync::Arc;

use eigenskin_core::contact::{Capsule, CapsulePair};
use eigenskin_core::driver::{
    Clamp, Combine, Driver, FeatureGroup, FeatureScale, FeatureSource, Interpolant, Kernel, Representation,
    Tail,
};
use eigenskin_core::glam::{DAffine3, DMat3, DQuat, DVec3, Vec3};
use eigenskin_core::mesh::Mesh;
use eigenskin_core::model::{DisplacementBasis, Frame, Layer, Model, Stage};
use eigenskin_core::pose::Pose;
pub use eigenskin_core::random::SplitMix64 as Random;
use eigenskin_core::rig::{Control, Rig};
use eigenskin_core::skeleton::{Joint, Skeleton};
use eigenskin_core::skinning::BaseSkinning;
use eigenskin_core::weights::{Influence, SkinWeights};
use proptest::prelude::*;

/// What kind of model.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub seed: u64,
    pub base: BaseSkinning,
    pub joints: usize,
    pub influences: usize,
    pub rings: usize,
    pub layers: usize,
    /// where the character stands
    pub offset: f64,
}

/// Kinds of models with up to so many influences, rings of vertices and layers.
pub fn shapes(
    influences: Range<usize>,
    rings: Range<usize>,
    layers: Range<usize>,
) -> impl Strategy<Value = Shape> {
    let base = prop_oneof![
        Just(BaseSkinning::LinearBlend),
        Just(BaseSkinning::DualQuaternion),
        Just(BaseSkinning::Rigid)
    ];
    (any::<u64>(), base, 0usize..7, influences, rings, layers, 0f64..2.0).prop_map(
        |(seed, base, joints, influences, rings, layers, offset)| Shape {
            seed,
            base,
            joints,
            influences,
            rings,
            layers,
            offset,
        },
    )
}

/// Vertices around the tube: blocks of eight never come out even.
const SIDES: usize = 7;

pub fn model(shape: Shape) -> Arc<Model> {
    let mut random = Random::new(shape.seed);
    let rig = rig(&mut random, shape);
    let layers = (0..shape.layers).map(|layer| self::layer(&mut random, &rig, layer)).collect();
    Arc::new(Model::new(rig, shape.base, layers).unwrap())
}

fn rig(random: &mut Random, shape: Shape) -> Arc<Rig> {
    let mut positions = Vec::new();
    let mut triangles = Vec::new();
    for ring in 0..shape.rings {
        for side in 0..SIDES {
            let angle = std::f64::consts::TAU * side as f64 / SIDES as f64;
            let radius = random.between(0.2, 0.3);
            let x = 2.0 * ring as f64 / (shape.rings - 1) as f64;
            let at = DVec3::new(x, radius * angle.cos(), radius * angle.sin() + shape.offset);
            positions.push(at.as_vec3());
            if ring > 0 {
                let corner = |r: usize, s: usize| (r * SIDES + s % SIDES) as u32;
                let [a, b] = [corner(ring - 1, side), corner(ring - 1, side + 1)];
                let [c, d] = [corner(ring, side), corner(ring, side + 1)];
                triangles.extend([[a, b, c], [b, d, c]]);
            }
        }
    }
    let joints = (0..shape.joints).map(|joint| {
        let at = DVec3::new(2.0 * joint as f64 / shape.joints as f64, 0.0, shape.offset);
        let turn = DQuat::from_scaled_axis(random.vector(1.0));
        Joint {
            name: format!("joint-{joint}"),
            parent: joint.checked_sub(1),
            reference: None,
            joint_from_rest: DAffine3::from_rotation_translation(turn, at).inverse(),
        }
    });
    let skeleton = Skeleton::new(joints.collect()).unwrap();
    let weights = if shape.joints == 0 {
        SkinWeights::none(positions.len())
    } else {
        let lists = positions.iter().map(|_| {
            let count = 1 + random.below(shape.influences);
            (0..count)
                .map(|_| Influence {
                    joint: random.below(shape.joints) as u32,
                    weight: random.between(0.05, 1.0) as f32,
                })
                .collect()
        });
        SkinWeights::new(shape.joints, lists.collect::<Vec<_>>()).unwrap().0
    };
    let controls = ["a", "b"].map(|name| Control { name: name.into(), default: 0.1 }).to_vec();
    Arc::new(Rig::new(Mesh::new(positions, triangles, None).unwrap(), skeleton, weights, controls).unwrap())
}

fn layer(random: &mut Random, rig: &Rig, index: usize) -> Layer {
    let vertices = rig.vertex_count() as u32;
    // Everything, nothing, one vertex, a stretch of the tube, or here and there.
    let support: Vec<u32> = match random.below(5) {
        0 => (0..vertices).collect(),
        1 => Vec::new(),
        2 => vec![random.below(vertices as usize) as u32],
        3 => (vertices / 3..vertices / 2 + 2).collect(),
        _ => (0..vertices).filter(|_| random.between(0.0, 1.0) < 0.4).collect(),
    };
    let components = 1 + random.below(5);
    let count = components * support.len();
    let mut field = |half| (0..count).map(|_| random.vector(half).as_vec3()).collect::<Vec<Vec3>>();
    let (positions, normals) = (field(0.05), field(0.1));
    let normals = if random.below(2) == 0 { normals } else { Vec::new() };
    let joints = rig.skeleton().joint_count();
    let frame = match random.below(3) {
        0 if joints > 0 => Frame::Joint(random.below(joints)),
        1 => Frame::HeaviestJoint,
        _ => Frame::Root,
    };
    let stage = if random.below(3) == 0 { Stage::AfterSkinning { frame } } else { Stage::BeforeSkinning };
    let basis = DisplacementBasis { positions, normals };
    Layer { name: format!("layer-{index}"), support, basis, driver: driver(random, rig, components), stage }
}

/// Up to three joints or controls, looked at in any way.
fn driver(random: &mut Random, rig: &Rig, outputs: usize) -> Driver {
    let groups: Vec<FeatureGroup> = (0..=random.below(3)).map(|_| group(random, rig)).collect();
    let count = 1 + random.below(40);
    let centres: Vec<f64> = (0..count)
        .flat_map(|_| groups.iter().flat_map(|group| feature(random, group)).collect::<Vec<f64>>())
        .collect();
    let linear: usize = groups.iter().map(FeatureGroup::linear_count).sum();
    // Small enough that displacements stay a few percent of the size, whatever the kernel.
    let mut numbers = |count: usize| (0..count).map(|_| random.between(-0.15, 0.15)).collect::<Vec<f64>>();
    let coefficients = numbers(count * outputs);
    let (constant, slopes) = (numbers(outputs), numbers((1 + linear) * outputs));
    let widths = numbers(count).into_iter().map(|number| 2.0 + 4.0 * number).collect();
    let interpolant = match random.below(8) {
        0 => Interpolant::Shepard { centres, values: coefficients, power: 2.0, epsilon: 1e-4 },
        1 => Interpolant::Linear { coefficients: slopes[outputs..].to_vec() },
        kind => Interpolant::Rbf {
            kernel: Kernel::ALL[random.below(Kernel::ALL.len())],
            centres,
            widths,
            coefficients,
            tail: match kind {
                2 => Tail::None,
                3..5 => Tail::Constant(constant),
                _ => Tail::Linear(slopes),
            },
        },
    };
    let is_radial = matches!(interpolant, Interpolant::Rbf { .. });
    let combine = match random.below(4) {
        0 if is_radial => Combine::Product,
        1 if is_radial => Combine::Subsets,
        _ => Combine::Distance,
    };
    let clamp = match random.below(3) {
        0 => Clamp::Range { lowest: vec![-0.5; outputs], highest: vec![0.4; outputs] },
        _ => Clamp::None,
    };
    Driver { groups, combine, interpolant, clamp }
}

fn group(random: &mut Random, rig: &Rig) -> FeatureGroup {
    let skeleton = rig.skeleton();
    let axis = DVec3::new(0.6, 0.0, 0.8);
    let representation = match random.below(6) {
        0 => Representation::Rotation,
        1 => Representation::Swing { axis },
        2 => Representation::Twist { axis },
        3 => Representation::HingeAngle { axis },
        4 => Representation::Translation,
        _ => Representation::RotationVector,
    };
    let joint = (skeleton.joint_count() > 1).then(|| 1 + random.below(skeleton.joint_count() - 1));
    let mut group = joint
        .filter(|_| random.below(3) > 0)
        .and_then(|joint| FeatureGroup::joint(skeleton, joint, representation))
        .unwrap_or_else(|| match joint {
            Some(joint) if random.below(2) == 0 => FeatureGroup::contact(touching(random, rig, joint)),
            _ => FeatureGroup::control(random.below(2), 0.1),
        });
    group.weight = random.between(0.3, 2.0);
    let scale = match (random.below(3), representation, &group.source) {
        (0, Representation::RotationVector | Representation::Translation, FeatureSource::Joint { .. }) => {
            FeatureScale::PerAxis(DVec3::new(0.5, 1.0, 2.0))
        }
        (1, Representation::RotationVector | Representation::Translation, FeatureSource::Joint { .. }) => {
            FeatureScale::Matrix(DMat3::from_cols_array(&[1.0, 0.2, 0.0, 0.3, 0.9, 0.1, 0.0, 0.4, 1.5]))
        }
        _ => FeatureScale::One(random.between(0.5, 1.5)),
    };
    group.scaled(scale)
}

/// The first bone and another one; of some thickness every motion brings them nearer or takes them away.
fn touching(random: &mut Random, rig: &Rig, joint: usize) -> CapsulePair {
    let thickness = random.between(0.05, 0.6);
    let at = |joint: usize| rig.skeleton().rest_position(joint);
    let far = at(0).distance(at(joint)).max(0.1);
    let capsule = |joint: usize| {
        let from = at(joint);
        Capsule { joint, from, to: from + DVec3::new(0.0, 0.3 * far, 0.1 * far), radius: thickness * far }
    };
    CapsulePair { own: capsule(0), other: capsule(joint), softness: 0.1 * far }
}

/// What a driver could see of a group; mostly rest.
fn feature(random: &mut Random, group: &FeatureGroup) -> Vec<f64> {
    match group.feature_count() {
        count if random.below(4) > 0 => {
            let mut at_rest = vec![0.0; count];
            group.write_rest_features(&mut at_rest);
            at_rest
        }
        4 => DQuat::from_scaled_axis(random.vector(1.0)).to_array().to_vec(),
        count => (0..count).map(|_| random.between(-0.6, 0.6)).collect(),
    }
}

/// Every joint turns and shifts a little, the last one scales, the whole character moves.
pub fn pose(random: &mut Random, rig: &Rig, scaled: bool) -> Pose {
    let skeleton = rig.skeleton();
    let mut local = skeleton.parent_from_joint(skeleton.rest_from_joint());
    for (joint, transform) in local.iter_mut().enumerate() {
        let turn = DQuat::from_scaled_axis(random.vector(0.2));
        *transform *= DAffine3::from_rotation_translation(turn, random.vector(0.03));
        if scaled && joint > 0 && joint + 1 == skeleton.joint_count() {
            *transform *= DAffine3::from_scale(DVec3::ONE + random.vector(0.2));
        }
    }
    let whole =
        DAffine3::from_rotation_translation(DQuat::from_scaled_axis(random.vector(1.0)), random.vector(0.5));
    let world_from_joint = skeleton.forward_kinematics(&local);
    let controls = vec![random.between(-1.0, 1.0), random.between(-1.0, 1.0)];
    Pose { world_from_joint, controls }.moved_by(whole)
}
