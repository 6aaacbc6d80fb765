//! A character for benches: a bent tube of any number of vertices.

use std::sync::Arc;

use anyhow::{Context, Result};
use eigenskin::driver::{Clamp, Combine, Driver, FeatureGroup, Interpolant, Kernel, Representation, Tail};
use eigenskin::glam::{DAffine3, DQuat, DVec3, Vec3};
use eigenskin::mesh::Mesh;
use eigenskin::model::{DisplacementBasis, Layer, Model, Stage};
use eigenskin::rig::Rig;
use eigenskin::skeleton::{Joint, Skeleton};
use eigenskin::skinning::BaseSkinning;
use eigenskin::weights::{Influence, SkinWeights};

const JOINTS: usize = 24;
/// Vertices of a ring.
const AROUND: usize = 100;

/// A tube with a chain of joints; every vertex follows the four nearest.
pub fn tube(vertices: usize) -> Result<Arc<Rig>> {
    let rings = vertices / AROUND;
    let length = JOINTS as f64;
    let mut positions = Vec::new();
    let mut weights = Vec::new();
    let mut triangles = Vec::new();
    for ring in 0..rings {
        let x = length * ring as f64 / (rings - 1) as f64;
        for k in 0..AROUND {
            let angle = std::f64::consts::TAU * k as f64 / AROUND as f64;
            positions.push(DVec3::new(x, angle.cos(), angle.sin()).as_vec3());
            let first = (x as usize).saturating_sub(1).min(JOINTS - 4);
            weights.push(
                (first..first + 4)
                    .map(|joint| Influence {
                        joint: joint as u32,
                        weight: (-(x - joint as f64 - 0.5).powi(2)).exp() as f32,
                    })
                    .collect::<Vec<_>>(),
            );
            if ring > 0 {
                let corner = |r: usize, k: usize| (r * AROUND + k % AROUND) as u32;
                let [a, b] = [corner(ring - 1, k), corner(ring - 1, k + 1)];
                let [c, d] = [corner(ring, k), corner(ring, k + 1)];
                triangles.extend([[a, b, c], [b, d, c]]);
            }
        }
    }
    let joints = (0..JOINTS).map(|joint| Joint {
        name: format!("joint-{joint}"),
        parent: joint.checked_sub(1),
        reference: None,
        joint_from_rest: DAffine3::from_translation(-DVec3::X * joint as f64),
    });
    let skeleton = Skeleton::new(joints.collect())?;
    let (weights, _) = SkinWeights::new(JOINTS, weights)?;
    Ok(Arc::new(Rig::new(Mesh::new(positions, triangles, None)?, skeleton, weights, Vec::new())?))
}

/// Twelve supports side by side, so that every vertex has the same number of components; their borders
/// are not those of the joints.
pub fn model(rig: &Arc<Rig>, components: usize, normals: bool, base: BaseSkinning) -> Result<Model> {
    const SUPPORTS: usize = 12;
    let vertices = rig.vertex_count() as u32;
    let layers = (0..SUPPORTS as u32)
        .map(|support| {
            let border = |i: u32| (u64::from(vertices) * u64::from(i) / SUPPORTS as u64) as u32;
            let support_vertices: Vec<u32> = (border(support)..border(support + 1)).collect();
            let count = support_vertices.len() * components;
            let field = |size: f32| -> Vec<Vec3> {
                (0..count)
                    .map(|i| size * Vec3::new((i % 17) as f32, (i % 5) as f32, (i % 29) as f32))
                    .collect()
            };
            let joint = 1 + support as usize * (JOINTS - 1) / SUPPORTS;
            let group = FeatureGroup::joint(rig.skeleton(), joint, Representation::Rotation)
                .context("a joint without reference")?;
            let centres = (0..12).flat_map(|i| DQuat::from_rotation_y(0.1 * f64::from(i)).to_array());
            let interpolant = Interpolant::Rbf {
                kernel: Kernel::Gaussian,
                centres: centres.collect(),
                widths: vec![0.5; 12],
                coefficients: vec![0.1; 12 * components],
                tail: Tail::None,
            };
            Ok(Layer {
                name: format!("{support}"),
                support: support_vertices,
                basis: DisplacementBasis {
                    positions: field(0.001),
                    normals: if normals { field(0.001) } else { Vec::new() },
                },
                driver: Driver {
                    groups: vec![group],
                    combine: Combine::Distance,
                    interpolant,
                    clamp: Clamp::None,
                },
                stage: Stage::BeforeSkinning,
            })
        })
        .collect::<Result<Vec<Layer>>>()?;
    Ok(Model::new(rig.clone(), base, layers)?)
}

/// One layer for all, as Kim's parameterization has it: `signals` of 15 joints, by thin plates over 55
/// examples.
pub fn parameterization(rig: &Arc<Rig>, signals: usize) -> Result<Model> {
    const EXAMPLES: usize = 55;
    let groups = (1..=15)
        .map(|joint| FeatureGroup::joint(rig.skeleton(), joint, Representation::Rotation))
        .collect::<Option<Vec<_>>>()
        .context("a joint without reference")?;
    let angle = |example: usize, joint: usize| 0.02 * ((7 * example + 11 * joint) % 29) as f64;
    let centres = (0..EXAMPLES)
        .flat_map(|example| (0..15).map(move |joint| DQuat::from_rotation_y(angle(example, joint))))
        .flat_map(|turn| turn.to_array())
        .collect();
    let interpolant = Interpolant::Rbf {
        kernel: Kernel::ThinPlate,
        centres,
        widths: vec![1.0; EXAMPLES],
        coefficients: (0..EXAMPLES * signals).map(|i| 0.01 * ((i % 7) as f64 - 3.0)).collect(),
        tail: Tail::Linear(vec![0.01; 46 * signals]),
    };
    let vertices = rig.vertex_count();
    let layer = Layer {
        name: "signals".into(),
        support: (0..vertices as u32).collect(),
        basis: DisplacementBasis {
            positions: (0..vertices * signals).map(|i| Vec3::splat(1e-4 * (i % 17) as f32)).collect(),
            normals: Vec::new(),
        },
        driver: Driver { groups, combine: Combine::Distance, interpolant, clamp: Clamp::None },
        stage: Stage::BeforeSkinning,
    };
    Ok(Model::new(rig.clone(), BaseSkinning::LinearBlend, vec![layer])?)
}
