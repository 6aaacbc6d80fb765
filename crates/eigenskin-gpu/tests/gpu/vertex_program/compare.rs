//! A model on the GPU, in both kernels, against the reference evaluator.

use std::sync::Arc;

use eigenskin_core::evaluate::Evaluator;
use eigenskin_core::glam::{Vec3, Vec4};
use eigenskin_core::model::{Model, Stage};
use eigenskin_core::pose::Pose;
use eigenskin_core::skinning::PosedSkinning;
use eigenskin_gpu::cpu::PosedVertex;
use eigenskin_gpu::{GpuContext, GpuInstances, GpuModel, GpuModelParams, Storage};

use super::capture::{computed, computed_by_twin, drawn};
use super::hand_made::tangents;

/// Allowed errors: positions in sizes of the character.
pub const STORAGES: [(Storage, f64); 2] = [(Storage::F32, 1e-5), (Storage::F16, 1e-4)];
/// Allowed error of normals and tangents, degrees.
const DEGREES: f64 = 0.2;

/// Poses instances and compares kernels and twins with the reference, both storages.
pub fn check(context: &GpuContext, model: &Arc<Model>, poses: &[Pose], with_tangents: bool) {
    let size = model.rig().mesh().size();
    let tangents = if with_tangents { tangents(model) } else { Vec::new() };
    let expected = reference(model, poses, &tangents);
    let lengths = direction_lengths(model, poses, &tangents);
    for (storage, tolerance) in STORAGES {
        let params = GpuModelParams { storage, tangents: tangents.clone() };
        let on_gpu = GpuModel::new(context, model, &params).unwrap();
        let instances = posed(context, &on_gpu, model, poses);
        let twin = computed_by_twin(&on_gpu, &instances);
        compare(&twin, &expected, &lengths, tolerance * size, DEGREES, "twin and reference");
        for (name, found) in [
            ("skin_compute", computed(context, &on_gpu, &instances)),
            ("skin_vertex", drawn(context, &on_gpu, &instances)),
        ] {
            let what = format!("{name} {storage:?}");
            compare(&found, &expected, &lengths, tolerance * size, DEGREES, &what);
            // The same tables, the same steps: only the rounding of single operations may differ.
            compare(&found, &twin, &lengths, 2e-6 * size, 0.02, &format!("{what} and its twin"));
        }
    }
}

/// Instances of `model` in `poses`, uploaded.
pub fn posed(context: &GpuContext, on_gpu: &GpuModel, model: &Arc<Model>, poses: &[Pose]) -> GpuInstances {
    let mut drivers = Evaluator::new(model.clone());
    let mut instances = GpuInstances::new(context, on_gpu, poses.len()).unwrap();
    for (instance, pose) in poses.iter().enumerate() {
        instances.set(instance, pose, drivers.drive(pose));
    }
    instances.upload(context);
    instances
}

/// `pose × vertex`, from the reference evaluator; tangents from their definition, in f64.
pub fn reference(model: &Arc<Model>, poses: &[Pose], tangents: &[Vec4]) -> Vec<PosedVertex> {
    let mut evaluator = Evaluator::new(model.clone());
    let mut all = Vec::new();
    for pose in poses {
        let mut positions = vec![Vec3::ZERO; model.rig().vertex_count()];
        let mut normals = positions.clone();
        evaluator.evaluate(pose, &mut positions, Some(&mut normals));
        let skinning = PosedSkinning::new(model.base().skinning().unwrap(), model.rig(), pose);
        for vertex in 0..positions.len() {
            let tangent = tangents.get(vertex).map_or(Vec4::ZERO, |rest| {
                let carried = skinning.posed_from_rest(vertex).matrix3 * rest.truncate().as_dvec3();
                let normal = normals[vertex].as_dvec3().normalize();
                (carried - normal * normal.dot(carried)).normalize().as_vec3().extend(rest.w)
            });
            all.push(PosedVertex { position: positions[vertex], normal: normals[vertex], tangent });
        }
    }
    all
}

/// `pose × vertex`: how long normals and tangents are before they get unit length, the shorter of both.
fn direction_lengths(model: &Arc<Model>, poses: &[Pose], tangents: &[Vec4]) -> Vec<f64> {
    let mut drivers = Evaluator::new(model.clone());
    let mut all = Vec::new();
    for pose in poses {
        let coordinates = drivers.drive(pose).to_vec();
        let skinning = PosedSkinning::new(model.base().skinning().unwrap(), model.rig(), pose);
        for (vertex, rest) in model.rig().mesh().normals().iter().enumerate() {
            let mut rest = rest.as_dvec3();
            let mut first = 0;
            for layer in model.layers() {
                let count = layer.component_count();
                let entry = layer.support.binary_search(&(vertex as u32));
                for component in 0..count {
                    if let (Ok(entry), Some(field)) =
                        (entry, layer.basis.component_normals(component, layer.support.len()))
                        && layer.stage == Stage::BeforeSkinning
                    {
                        rest += f64::from(coordinates[first + component]) * field[entry].as_dvec3();
                    }
                }
                first += count;
            }
            let map = skinning.posed_from_rest(vertex).matrix3;
            let normal = map * rest;
            let along_skin = tangents.get(vertex).map_or(1.0, |tangent| {
                (map * tangent.truncate().as_dvec3()).reject_from_normalized(normal.normalize()).length()
            });
            all.push(normal.length().min(along_skin));
        }
    }
    all
}

/// Asserts that all vertices agree: `distance` in the unit of positions, `degrees` for directions that
/// have not nearly vanished on the way (`lengths`).
fn compare(
    found: &[PosedVertex],
    wanted: &[PosedVertex],
    lengths: &[f64],
    distance: f64,
    degrees: f64,
    what: &str,
) {
    assert_eq!(found.len(), wanted.len(), "{what}");
    for (index, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        let off = found.position.as_dvec3().distance(wanted.position.as_dvec3());
        assert!(off <= distance, "{what}: position {index} is off by {off}, allowed {distance}");
        assert!((found.normal.length() - 1.0).abs() < 1e-5, "{what}: normal {index} has another length");
        assert_eq!(found.tangent.w, wanted.tangent.w, "{what}: tangent {index}");
        if lengths[index] < 0.2 {
            continue;
        }
        let off = angle(found.normal, wanted.normal);
        assert!(off <= degrees, "{what}: normal {index} is off by {off}°");
        if wanted.tangent.w != 0.0 {
            let off = angle(found.tangent.truncate(), wanted.tangent.truncate());
            assert!(off <= degrees, "{what}: tangent {index} is off by {off}°");
            assert!(
                found.tangent.truncate().dot(found.normal).abs() < 1e-5,
                "{what}: tangent {index} leaves the skin"
            );
        }
    }
}

/// Degrees between two directions.
fn angle(a: Vec3, b: Vec3) -> f64 {
    let (a, b) = (a.as_dvec3(), b.as_dvec3());
    a.cross(b).length().atan2(a.dot(b)).to_degrees()
}
