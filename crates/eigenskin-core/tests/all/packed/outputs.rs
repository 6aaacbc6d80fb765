//! Every layout, any number of threads and crowds show the same shape, bit for bit; tangents against
//! the formula.

use std::sync::Arc;

use eigenskin_core::glam::{DAffine3, DVec3, Vec3, Vec4};
use eigenskin_core::model::Model;
use eigenskin_core::packed::{
    Block, Output, OutputError, PackError, PackParams, PackedEvaluator, PackedModel, Path, VertexLayout,
    evaluate_crowd, evaluate_crowd_in,
};
use eigenskin_core::pose::Pose;
use eigenskin_core::skinning::BaseSkinning;

use super::random_models::{Random, Shape, model, pose};

const GAP: f32 = 77.0;
const LAYOUT: VertexLayout = VertexLayout { stride: 13, position: 1, normal: Some(9), tangent: Some(5) };

fn packed(base: BaseSkinning, layers: usize) -> (Arc<Model>, Arc<PackedModel>, Vec<Vec4>) {
    packed_tube(base, layers, 60)
}

fn packed_tube(base: BaseSkinning, layers: usize, rings: usize) -> (Arc<Model>, Arc<PackedModel>, Vec<Vec4>) {
    let model = model(Shape { seed: 11, base, joints: 5, influences: 5, rings, layers, offset: 0.5 });
    let mut random = Random::new(4);
    let normals = model.rig().mesh().normals();
    let tangents: Vec<Vec4> = normals
        .iter()
        .map(|normal| {
            let side = if random.between(0.0, 1.0) < 0.5 { 1.0 } else { -1.0 };
            normal.cross(random.vector(1.0).as_vec3()).normalize().extend(side)
        })
        .collect();
    let packed = PackedModel::new(&model, &PackParams::default()).unwrap().with_tangents(&tangents).unwrap();
    (model, Arc::new(packed), tangents)
}

#[derive(Debug, PartialEq, Clone)]
struct Posed {
    positions: Vec<Vec3>,
    normals: Vec<Vec3>,
    tangents: Vec<Vec4>,
}

impl Posed {
    fn empty(packed: &PackedModel) -> Self {
        let count = packed.rig().vertex_count();
        Self {
            positions: vec![Vec3::NAN; count],
            normals: vec![Vec3::NAN; count],
            tangents: vec![Vec4::NAN; count],
        }
    }

    fn output(&mut self) -> Output<'_> {
        let Self { positions, normals, tangents } = self;
        Output::Arrays { positions, normals: Some(normals), tangents: Some(tangents) }
    }

    fn of(evaluator: &mut PackedEvaluator, pose: &Pose) -> Self {
        let mut posed = Self::empty(evaluator.model());
        evaluator.evaluate_to(pose, posed.output());
        posed
    }
}

/// What an interleaved buffer must hold.
fn interleaved(posed: &Posed) -> Vec<f32> {
    let mut floats = vec![GAP; posed.positions.len() * LAYOUT.stride];
    for (vertex, to) in floats.chunks_mut(LAYOUT.stride).enumerate() {
        to[1..4].copy_from_slice(&posed.positions[vertex].to_array());
        to[5..9].copy_from_slice(&posed.tangents[vertex].to_array());
        to[9..12].copy_from_slice(&posed.normals[vertex].to_array());
    }
    floats
}

fn pool(threads: usize) -> Arc<rayon::ThreadPool> {
    Arc::new(rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap())
}

#[test]
fn layouts_and_threads_change_no_bit() {
    for base in [BaseSkinning::LinearBlend, BaseSkinning::DualQuaternion] {
        let (model, packed, _) = packed(base, 5);
        let pose = pose(&mut Random::new(8), model.rig(), true);
        for &path in Path::available() {
            let mut alone = PackedEvaluator::with_path(packed.clone(), path).unwrap();
            let expected = Posed::of(&mut alone, &pose);
            for threads in 0..4 {
                let mut evaluator = PackedEvaluator::with_path(packed.clone(), path).unwrap();
                if threads > 0 {
                    evaluator = evaluator.with_threads(pool(threads));
                }
                assert_eq!(Posed::of(&mut evaluator, &pose), expected);
                let mut positions = vec![Vec3::NAN; expected.positions.len()];
                evaluator.evaluate(&pose, &mut positions, None);
                assert_eq!(positions, expected.positions);
                let mut floats = vec![GAP; positions.len() * LAYOUT.stride];
                evaluator.evaluate_to(&pose, Output::Interleaved { floats: &mut floats, layout: LAYOUT });
                assert_eq!(floats, interleaved(&expected), "{path:?}, {threads} threads");
                let mut blocks = [(); 3].map(|()| vec![Block::default(); packed.block_count()]);
                let [positions, normals, tangents] = &mut blocks;
                let (normals, tangents) = (Some(&mut normals[..]), Some(&mut tangents[..]));
                evaluator.evaluate_to(&pose, Output::Blocks { positions, normals, tangents });
                for (lane, &vertex) in packed.vertices().as_flattened().iter().enumerate() {
                    let at = |blocks: &[Block]| blocks[lane / 8].get(lane % 8);
                    assert_eq!(at(&blocks[0]), expected.positions[vertex as usize]);
                    assert_eq!(at(&blocks[1]), expected.normals[vertex as usize]);
                    assert_eq!(at(&blocks[2]), expected.tangents[vertex as usize].truncate());
                }
            }
        }
    }
}

#[test]
fn the_last_vertex_of_a_buffer_may_end_early() {
    let (model, packed, _) = packed(BaseSkinning::LinearBlend, 2);
    let pose = pose(&mut Random::new(8), model.rig(), false);
    let mut evaluator = PackedEvaluator::new(packed);
    let expected = interleaved(&Posed::of(&mut evaluator, &pose));
    let mut floats = vec![GAP; expected.len() - 1];
    evaluator.evaluate_to(&pose, Output::Interleaved { floats: &mut floats, layout: LAYOUT });
    assert_eq!(floats, expected[..expected.len() - 1]);
    let mut evaluator = evaluator.with_threads(pool(2));
    floats.fill(GAP);
    evaluator.evaluate_to(&pose, Output::Interleaved { floats: &mut floats, layout: LAYOUT });
    assert_eq!(floats, expected[..expected.len() - 1]);
}

#[test]
fn crowds_show_each_character_as_if_alone() {
    // A small one, whose characters come one after the other, and one that no near cache holds.
    for rings in [60, 40_000] {
        crowd_of(rings);
    }
}

fn crowd_of(rings: usize) {
    let (model, packed, _) = packed_tube(BaseSkinning::LinearBlend, 4, rings);
    let bytes = packed.report().bytes_per_vertex * packed.report().vertices as f64;
    assert_eq!(bytes > 8.4e6, rings > 60, "the two cases are two");
    let mut random = Random::new(21);
    let poses: Vec<Pose> = (0..7).map(|_| pose(&mut random, model.rig(), false)).collect();
    let expected: Vec<Posed> =
        poses.iter().map(|pose| Posed::of(&mut PackedEvaluator::new(packed.clone()), pose)).collect();
    assert_ne!(expected[0], expected[1]);
    let mut characters: Vec<PackedEvaluator> =
        poses.iter().map(|_| PackedEvaluator::new(packed.clone())).collect();
    for threads in [None, Some(pool(3))] {
        let mut found: Vec<Posed> = poses.iter().map(|_| Posed::empty(&packed)).collect();
        let mut outputs: Vec<Output> = found.iter_mut().map(Posed::output).collect();
        match threads {
            None => evaluate_crowd(&mut characters, &poses, &mut outputs),
            Some(pool) => evaluate_crowd_in(&pool, &mut characters, &poses, &mut outputs),
        }
        drop(outputs);
        assert!(found == expected);
    }
}

#[test]
fn tangents_follow_the_skin_and_stay_perpendicular() {
    let (model, packed, rest) = packed(BaseSkinning::LinearBlend, 0);
    let rig = model.rig();
    let pose = pose(&mut Random::new(8), rig, true);
    let joints: Vec<DAffine3> = pose
        .world_from_joint
        .iter()
        .zip(rig.skeleton().joints())
        .map(|(world_from_joint, joint)| *world_from_joint * joint.joint_from_rest)
        .collect();
    let blend = |vertex: usize, vector: Vec3| -> DVec3 {
        let influences = rig.weights().of(vertex).iter();
        influences
            .map(|i| f64::from(i.weight) * joints[i.joint as usize].transform_vector3(vector.as_dvec3()))
            .sum()
    };
    let mut compared = 0;
    for &path in Path::available() {
        let posed = Posed::of(&mut PackedEvaluator::with_path(packed.clone(), path).unwrap(), &pose);
        for vertex in 0..rig.vertex_count() {
            let normal = blend(vertex, rig.mesh().normals()[vertex]).normalize();
            let across = blend(vertex, rest[vertex].truncate()).reject_from_normalized(normal);
            let tangent = posed.tangents[vertex];
            assert_eq!(tangent.w, rest[vertex].w);
            assert!((tangent.truncate().length() - 1.0).abs() < 1e-5);
            // Tangents that nearly vanish have no direction to compare.
            if across.length() > 0.05 {
                let error = (tangent.truncate().as_dvec3() - across.normalize()).length();
                assert!(error < 1e-4, "{path:?} vertex {vertex}: {error}");
                compared += 1;
            }
        }
    }
    assert!(compared > rig.vertex_count());
}

#[test]
fn outputs_that_do_not_fit_are_named() {
    let (model, packed, tangents) = packed(BaseSkinning::LinearBlend, 1);
    let count = model.rig().vertex_count();
    let mut positions = vec![Vec3::ZERO; count];
    let mut normals = vec![Vec3::ZERO; count - 1];
    let output = Output::Arrays { positions: &mut positions, normals: Some(&mut normals), tangents: None };
    let error = OutputError::WrongSize { what: "normals", found: count - 1, needed: count };
    assert_eq!(output.check(&packed), Err(error));
    let mut posed = vec![Vec4::ZERO; count];
    let output = Output::Arrays { positions: &mut positions, normals: None, tangents: Some(&mut posed) };
    assert_eq!(output.check(&packed), Err(OutputError::NoTangents));
    let mut floats = vec![0.0; 13 * count];
    let layout = VertexLayout { tangent: Some(10), ..LAYOUT };
    let error = OutputError::OutsideVertex { what: "tangent", offset: 10, stride: 13 };
    assert_eq!(Output::Interleaved { floats: &mut floats, layout }.check(&packed), Err(error));
    let layout = VertexLayout { normal: Some(usize::MAX), ..LAYOUT };
    assert!(Output::Interleaved { floats: &mut floats, layout }.check(&packed).is_err());
    let needed = 13 * (count - 1) + 12;
    let error = OutputError::WrongSize { what: "floats", found: needed - 1, needed };
    let output = Output::Interleaved { floats: &mut floats[..needed - 1], layout: LAYOUT };
    assert_eq!(output.check(&packed), Err(error));
    // A model without tangents has none to give.
    let plain = PackedModel::new(&model, &PackParams::default()).unwrap();
    assert_eq!(
        Output::Interleaved { floats: &mut floats, layout: LAYOUT }.check(&plain),
        Err(OutputError::NoTangents)
    );
    let error = plain.with_tangents(&tangents[1..]).unwrap_err();
    assert_eq!(error, PackError::Tangents { found: count - 1, vertices: count });
}
