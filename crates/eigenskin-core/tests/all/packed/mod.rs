//! Packed models against the reference evaluator and against Equation 2 written out in f64.

mod outputs;
mod random_models;

use std::sync::Arc;

use eigenskin_core::deformers::Base;
use eigenskin_core::deformers::{Deformer, DeformerStack, Smoothing};
use eigenskin_core::evaluate::Evaluator;
use eigenskin_core::glam::{DAffine3, DMat3, DVec3, Vec3};
use eigenskin_core::model::{Frame, Model, Stage};
use eigenskin_core::packed::{
    Block, LANES, Output, PackError, PackParams, PackedEvaluator, PackedModel, Path, Storage,
};
use eigenskin_core::pose::{Pose, rotation_of};
use eigenskin_core::skinning::BaseSkinning;
use proptest::prelude::*;
use random_models::{Random, Shape, model, pose, shapes};

const STORAGES: [Storage; 3] = [Storage::F32, Storage::F16, Storage::I16];

/// What f32 arithmetic may be off by, of the mesh's size.
const ARITHMETIC: f64 = 1e-6;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn every_path_and_storage_equals_the_reference(shape in shapes(1..9, 2..14, 0..6), scaled in any::<bool>()) {
        let model = model(shape);
        let rig = model.rig().clone();
        let mut reference = Evaluator::new(model.clone());
        let mut random = Random::new(shape.seed ^ 1);
        let poses: Vec<Pose> = (0..2).map(|_| pose(&mut random, &rig, scaled)).collect();
        let mut expected = vec![Vec3::ZERO; rig.vertex_count()];
        let mut expected_normals = expected.clone();
        let (mut positions, mut normals) = (expected.clone(), expected.clone());
        for storage in STORAGES {
            let packed = Arc::new(PackedModel::new(&model, &PackParams { storage }).unwrap());
            check_order(&packed, &rig);
            for &path in Path::available() {
                let mut evaluator = PackedEvaluator::with_path(packed.clone(), path).unwrap();
                for pose in &poses {
                    reference.evaluate(pose, &mut expected, Some(&mut expected_normals));
                    positions.fill(Vec3::NAN);
                    normals.fill(Vec3::NAN);
                    evaluator.evaluate(pose, &mut positions, Some(&mut normals));
                    for (own, expected) in evaluator.coordinates().iter().zip(reference.coordinates()) {
                        prop_assert!((own - expected).abs() <= 3e-7 * expected.abs().max(1e-3), "{own} {expected}");
                    }
                    for (vertex, own) in written_out(&model, pose, reference.coordinates(), storage).iter().enumerate() {
                        let tolerance = ARITHMETIC * rig.mesh().size() + own.rounding;
                        let error = positions[vertex].as_dvec3().distance(expected[vertex].as_dvec3());
                        prop_assert!(error < tolerance, "{storage:?} {path:?} vertex {vertex}: {error:e} {tolerance:e}");
                        if shape.base == BaseSkinning::LinearBlend {
                            let error = positions[vertex].as_dvec3().distance(own.position);
                            prop_assert!(error < tolerance, "{storage:?} {path:?} vertex {vertex}: {error:e} {tolerance:e}");
                        }
                        // Normals that nearly vanish have no direction to compare.
                        if own.normal_length > 0.2 {
                            let error = normals[vertex].as_dvec3().angle_between(expected_normals[vertex].as_dvec3());
                            let tolerance = 2e-5 + own.normal_rounding / own.normal_length;
                            prop_assert!(error < tolerance, "{storage:?} {path:?} normal {vertex}: {error:e} {tolerance:e}");
                            prop_assert!((normals[vertex].length() - 1.0).abs() < 1e-5);
                        }
                    }
                    check_packed_order(&mut evaluator, pose, &positions, &normals);
                }
            }
        }
    }
}

/// Every vertex is in some lane, and blocks are not half empty.
fn check_order(packed: &PackedModel, rig: &eigenskin_core::rig::Rig) {
    let mut seen = vec![false; rig.vertex_count()];
    for &vertex in packed.vertices().as_flattened() {
        seen[vertex as usize] = true;
    }
    assert!(seen.iter().all(|&seen| seen));
    assert!(packed.block_count() * LANES < 2 * rig.vertex_count() + LANES);
    assert!(packed.report().groups <= packed.block_count());
}

/// Packed order has the same numbers, with and without normals.
fn check_packed_order(evaluator: &mut PackedEvaluator, pose: &Pose, positions: &[Vec3], normals: &[Vec3]) {
    let packed = evaluator.model().clone();
    let mut blocks = vec![Block::default(); packed.block_count()];
    let (mut normal_blocks, mut alone) = (blocks.clone(), blocks.clone());
    let normals_too = Some(&mut normal_blocks[..]);
    evaluator
        .evaluate_to(pose, Output::Blocks { positions: &mut blocks, normals: normals_too, tangents: None });
    evaluator.evaluate_to(pose, Output::Blocks { positions: &mut alone, normals: None, tangents: None });
    assert_eq!(evaluator.computed_layers(), 0, "nothing has moved");
    for (block, vertices) in packed.vertices().iter().enumerate() {
        for (lane, &vertex) in vertices.iter().enumerate() {
            for axis in 0..3 {
                assert_eq!(blocks[block].0[axis][lane], positions[vertex as usize][axis]);
                assert_eq!(alone[block].0[axis][lane], positions[vertex as usize][axis]);
                assert_eq!(normal_blocks[block].0[axis][lane], normals[vertex as usize][axis]);
            }
        }
    }
}

/// One vertex, straight from the formula, sharing nothing with either evaluator.
#[derive(Clone, Copy)]
struct WrittenOut {
    /// on linear blending
    position: DVec3,
    /// how far the position can move because displacements are stored in fewer bits
    rounding: f64,
    /// of the normal before it becomes one, on linear blending
    normal_length: f64,
    /// as `rounding`, of the normal before it becomes a unit vector
    normal_rounding: f64,
}

/// The largest error of a stored displacement: half a unit in the last place of its numbers, which
/// halves have relative to themselves and integers to the largest number of their component.
fn storage_rounding(storage: Storage, field: &[Vec3], entry: usize) -> f64 {
    let largest = f64::from(field.iter().map(|v| v.abs().max_element()).fold(0.0, f32::max));
    match storage {
        Storage::F32 => 0.0,
        Storage::F16 => f64::from(field[entry].length()) * 0.5f64.powi(11) + largest * 0.5f64.powi(22),
        Storage::I16 => 3f64.sqrt() * largest * 0.503 / f64::from(i16::MAX),
    }
}

fn written_out(model: &Model, pose: &Pose, coordinates: &[f32], storage: Storage) -> Vec<WrittenOut> {
    let rig = model.rig();
    let skeleton = rig.skeleton();
    let joints: Vec<DAffine3> = (0..skeleton.joint_count())
        .map(|j| pose.world_from_joint[j] * skeleton.joints()[j].joint_from_rest)
        .collect();
    (0..rig.vertex_count())
        .map(|vertex| {
            let mut rest = rig.mesh().positions()[vertex].as_dvec3();
            let mut normal = rig.mesh().normals()[vertex].as_dvec3();
            let mut added = DVec3::ZERO;
            let (mut rounding, mut normal_rounding, mut added_rounding) = (0.0, 0.0, 0.0);
            let mut first = 0;
            for layer in model.layers() {
                let own = &coordinates[first..first + layer.component_count()];
                first += own.len();
                let Ok(entry) = layer.support.binary_search(&(vertex as u32)) else { continue };
                let field = |fields: &[Vec3]| -> (DVec3, f64) {
                    fields.chunks(layer.support.len()).zip(own).fold(
                        (DVec3::ZERO, 0.0),
                        |sum, (field, &c)| {
                            let error = f64::from(c.abs()) * storage_rounding(storage, field, entry);
                            (sum.0 + f64::from(c) * field[entry].as_dvec3(), sum.1 + error)
                        },
                    )
                };
                let (displacement, error) = field(&layer.basis.positions);
                let frame = match layer.stage {
                    Stage::BeforeSkinning => {
                        rest += displacement;
                        rounding += error;
                        if !layer.basis.normals.is_empty() {
                            let (change, error) = field(&layer.basis.normals);
                            normal += change;
                            normal_rounding += error;
                        }
                        continue;
                    }
                    Stage::AfterSkinning { frame: Frame::Root } => skeleton.first_root(),
                    Stage::AfterSkinning { frame: Frame::Joint(joint) } => Some(joint),
                    Stage::AfterSkinning { frame: Frame::HeaviestJoint } => {
                        rig.weights().of(vertex).first().map(|influence| influence.joint as usize)
                    }
                };
                added_rounding += error;
                added += match frame {
                    Some(joint) => DMat3::from_quat(rotation_of(joints[joint].matrix3)) * displacement,
                    None => displacement,
                };
            }
            let influences = rig.weights().of(vertex);
            if influences.is_empty() {
                let rounding = rounding + added_rounding;
                let normal_length = normal.length();
                return WrittenOut { position: rest + added, rounding, normal_length, normal_rounding };
            }
            let blend = |of: &dyn Fn(&DAffine3) -> DVec3| -> DVec3 {
                influences.iter().map(|i| f64::from(i.weight) * of(&joints[i.joint as usize])).sum()
            };
            // No joint makes anything longer than the root of its squared entries.
            let squares = |m: &DMat3| m.to_cols_array().iter().map(|x| x * x).sum::<f64>();
            let stretch = influences.iter().map(|i| squares(&joints[i.joint as usize].matrix3).sqrt());
            let stretch = stretch.fold(0.0, f64::max);
            WrittenOut {
                position: blend(&|joint| joint.transform_point3(rest)) + added,
                rounding: stretch * rounding + added_rounding,
                normal_length: blend(&|joint| joint.transform_vector3(normal)).length(),
                normal_rounding: stretch * normal_rounding,
            }
        })
        .collect()
}

fn one(storage: Storage, layers: usize) -> (Arc<Model>, PackedModel) {
    let base = BaseSkinning::LinearBlend;
    let model = model(Shape { seed: 5, base, joints: 4, influences: 4, rings: 12, layers, offset: 0.0 });
    let packed = PackedModel::new(&model, &PackParams { storage }).unwrap();
    (model, packed)
}

#[test]
fn reports_say_what_storage_costs() {
    let (_, exact) = one(Storage::F32, 6);
    let (_, half) = one(Storage::F16, 6);
    let (_, integer) = one(Storage::I16, 6);
    assert_eq!(exact.report().storage_error, 0.0);
    // Half a unit in the last place of numbers just below the largest power of two; half a step.
    assert!((1e-4..5e-4).contains(&half.report().storage_error), "{:?}", half.report());
    assert!((1e-5..1.6e-5).contains(&integer.report().storage_error), "{:?}", integer.report());
    let (_, plain) = one(Storage::F32, 0);
    let displacements = |packed: &PackedModel| {
        let plain = plain.report();
        packed.report().bytes_per_vertex * packed.report().vertices as f64
            - plain.bytes_per_vertex * plain.vertices as f64
    };
    assert!(displacements(&exact) > displacements(&half));
    assert_eq!(half.report().bytes_per_vertex, integer.report().bytes_per_vertex);
    assert!(exact.report().padding < 0.2 && exact.report().padding >= 0.0);
}

#[test]
fn layers_that_see_nothing_new_are_not_computed() {
    let (model, packed) = one(Storage::F32, 6);
    let mut evaluator = PackedEvaluator::new(Arc::new(packed));
    let mut positions = vec![Vec3::ZERO; model.rig().vertex_count()];
    let mut at = pose(&mut Random::new(3), model.rig(), false);
    evaluator.evaluate(&at, &mut positions, None);
    assert_eq!(evaluator.computed_layers(), model.layers().len());
    at.controls[0] += 0.3;
    evaluator.evaluate(&at, &mut positions, None);
    let mut reference = Evaluator::new(model.clone());
    for (own, expected) in evaluator.coordinates().iter().zip(reference.drive(&at)) {
        assert!((own - expected).abs() <= 3e-7 * expected.abs().max(1e-3));
    }
    let looking = model.layers().iter().filter(|layer| {
        layer.driver.groups.iter().any(|group| {
            matches!(group.source, eigenskin_core::driver::FeatureSource::Control { control: 0, .. })
        })
    });
    let looking = looking.count();
    assert!(looking > 0 && looking < model.layers().len(), "the model tests something");
    assert_eq!(evaluator.computed_layers(), looking);
}

#[test]
fn chains_of_deformers_are_refused_by_name() {
    let (model, _) = one(Storage::F32, 0);
    let steps =
        vec![Deformer::Skinning(BaseSkinning::LinearBlend), Deformer::Smoothing(Smoothing::corrective())];
    let stack = DeformerStack { name: "smooth".into(), steps };
    let chained = Model::new(model.rig().clone(), Base::Deformers(Arc::new(stack)), Vec::new()).unwrap();
    let error = PackedModel::new(&chained, &PackParams::default()).unwrap_err();
    assert_eq!(error, PackError::Deformers { name: "smooth".into() });
}
