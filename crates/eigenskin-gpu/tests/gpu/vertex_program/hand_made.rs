//! Small models with exactly what a test is about.

use std::sync::Arc;

use eigenskin_core::driver::{Clamp, Combine, Driver, FeatureGroup, Interpolant, Kernel, Tail};
use eigenskin_core::glam::{DAffine3, DVec3, Vec3, Vec4};
use eigenskin_core::mesh::Mesh;
use eigenskin_core::model::{DisplacementBasis, Layer, Model, Stage};
use eigenskin_core::rig::{Control, Rig};
use eigenskin_core::skeleton::{Joint, Skeleton};
use eigenskin_core::skinning::BaseSkinning;
use eigenskin_core::weights::{Influence, SkinWeights};
use eigenskin_gltf::conformance::random::Random;

/// A strip along x from 0 to 2 with a control and `joints` joints in a row; vertex i has joints i, i + 1 …,
/// at most `influences` of them.
pub fn rig(vertices: usize, joints: usize, influences: usize, unit: f64) -> Arc<Rig> {
    let at = |i: usize| {
        let x = 2.0 * i as f64 / vertices as f64;
        DVec3::new(x, 0.3 * (i % 2) as f64, 0.1 * (i % 3) as f64) * unit
    };
    let positions: Vec<Vec3> = (0..vertices).map(|i| at(i).as_vec3()).collect();
    let triangles = (2..vertices as u32).map(|i| [i - 2, i - 1, i]).collect();
    let skeleton = (0..joints).map(|joint| Joint {
        name: format!("joint-{joint}"),
        parent: joint.checked_sub(1),
        reference: None,
        joint_from_rest: DAffine3::from_translation(-DVec3::X * (joint as f64 * unit / joints as f64)),
    });
    let skeleton = Skeleton::new(skeleton.collect()).unwrap();
    let weights = if joints == 0 {
        SkinWeights::none(vertices)
    } else {
        let lists = (0..vertices).map(|i| {
            let count = 1 + i % influences;
            let joint = |k: usize| ((i + k) % joints) as u32;
            (0..count).map(|k| Influence { joint: joint(k), weight: 1.0 / (k + 2) as f32 }).collect()
        });
        SkinWeights::new(joints, lists.collect::<Vec<_>>()).unwrap().0
    };
    let controls = vec![Control { name: "control".into(), default: 0.0 }];
    Arc::new(Rig::new(Mesh::new(positions, triangles, None).unwrap(), skeleton, weights, controls).unwrap())
}

/// A layer with `components` random fields, as large as a tenth of the unit.
pub fn layer(support: Vec<u32>, components: usize, stage: Stage, normals: bool, unit: f64) -> Layer {
    let mut random = Random::new(support.len() as u64 + 17);
    let count = components * support.len();
    let mut field = |half: f64| (0..count).map(|_| random.vector(half).as_vec3()).collect::<Vec<Vec3>>();
    let basis = DisplacementBasis {
        positions: field(0.1 * unit),
        normals: if normals { field(0.2) } else { Vec::new() },
    };
    Layer { name: "layer".into(), support, basis, driver: driver(components), stage }
}

/// Coordinate k goes with the control and does not vanish at zero.
fn driver(outputs: usize) -> Driver {
    let interpolant = Interpolant::Rbf {
        kernel: Kernel::Gaussian,
        centres: vec![0.5],
        widths: vec![1.0],
        coefficients: (0..outputs).map(|k| 1.0 - 0.4 * k as f64).collect(),
        tail: Tail::Constant(vec![0.1; outputs]),
    };
    let groups = vec![FeatureGroup::control(0, 1.0)];
    Driver { groups, combine: Combine::Distance, interpolant, clamp: Clamp::None }
}

/// A model on `rig`.
pub fn model(rig: Arc<Rig>, base: BaseSkinning, layers: Vec<Layer>) -> Arc<Model> {
    Arc::new(Model::new(rig, base, layers).unwrap())
}

/// Rest tangents: any direction along the skin, signs taking turns.
pub fn tangents(model: &Model) -> Vec<Vec4> {
    let normals = model.rig().mesh().normals().iter().enumerate();
    normals.map(|(i, n)| n.any_orthonormal_vector().extend(if i % 3 == 0 { -1.0 } else { 1.0 })).collect()
}
