//! Corners: nothing there, large turns, odd units, every kind of layer by itself.

use eigenskin_core::glam::{DAffine3, DQuat, DVec3, Mat4, Vec4};
use eigenskin_core::model::{Frame, Stage};
use eigenskin_core::pose::Pose;
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::BaseSkinning;
use eigenskin_gpu::cpu::skin_vertex;
use eigenskin_gpu::{GpuModel, GpuModelParams};

use super::capture::seen;
use super::compare::{check, posed};
use super::hand_made::{layer, model, rig};
use super::random_models::Random;
use crate::adapter::context;

const BASES: [BaseSkinning; 3] =
    [BaseSkinning::Rigid, BaseSkinning::LinearBlend, BaseSkinning::DualQuaternion];

#[test]
fn every_kind_of_layer_on_every_base() {
    let context = context();
    let after = |frame| Stage::AfterSkinning { frame };
    let stages = [
        vec![Stage::BeforeSkinning],
        vec![after(Frame::Root)],
        vec![after(Frame::Joint(2))],
        vec![after(Frame::HeaviestJoint)],
        vec![
            after(Frame::HeaviestJoint),
            Stage::BeforeSkinning,
            after(Frame::Joint(1)),
            after(Frame::Joint(1)),
        ],
    ];
    let rig = rig(21, 5, 8, 1.0);
    for base in BASES {
        for stages in &stages {
            for normals in [false, true] {
                let layers = stages.iter().enumerate().map(|(i, &stage)| {
                    let support = (0..21).filter(|v| v % (i as u32 + 1) == 0).collect();
                    layer(support, 1 + i, stage, normals, 1.0)
                });
                let model = model(rig.clone(), base, layers.collect());
                check(context, &model, &[pose(&rig, 3, 0.6, 0.1, 1.0)], true);
            }
        }
    }
}

/// Joints more than half a turn apart: signs of quaternions matter.
#[test]
fn large_turns_take_the_shorter_way_from_the_heaviest_joint() {
    let context = context();
    let rig = rig(30, 6, 5, 1.0);
    let layers = vec![layer((0..30).collect(), 2, Stage::BeforeSkinning, true, 1.0)];
    let model = model(rig.clone(), BaseSkinning::DualQuaternion, layers);
    let poses: Vec<_> = (0..4).map(|seed| pose(&rig, seed, 2.5, 0.0, 1.0)).collect();
    check(context, &model, &poses, false);
}

#[test]
fn no_joints_no_layers_empty_supports() {
    let context = context();
    for base in BASES {
        for (joints, supports) in
            [(0, vec![]), (0, vec![vec![0, 4]]), (3, vec![]), (3, vec![vec![], vec![6]])]
        {
            let rig = rig(7, joints, 4, 1.0);
            let layers = supports.into_iter().map(|s| layer(s, 2, Stage::BeforeSkinning, true, 1.0));
            let model = model(rig.clone(), base, layers.collect());
            check(context, &model, &[pose(&rig, 1, 0.4, 0.0, 1.0)], true);
        }
    }
    let rig = rig(7, 0, 4, 1.0);
    let after = Stage::AfterSkinning { frame: Frame::HeaviestJoint };
    let model = model(rig.clone(), BaseSkinning::LinearBlend, vec![layer(vec![1, 2], 2, after, false, 1.0)]);
    check(context, &model, &[pose(&rig, 1, 0.4, 0.0, 1.0)], false);
}

/// Displacements in kilometres or micrometres are beyond 16 bits unless they are scaled.
#[test]
fn units_do_not_matter() {
    let context = context();
    for unit in [1e-6, 1e6] {
        let rig = rig(20, 4, 4, unit);
        let layers = vec![layer((3..17).collect(), 4, Stage::BeforeSkinning, true, unit)];
        let model = model(rig.clone(), BaseSkinning::LinearBlend, layers);
        check(context, &model, &[pose(&rig, 2, 0.5, 0.0, unit)], false);
    }
}

/// The kernel's clip positions put vertices where its twin says.
#[test]
fn the_view_decides_where_vertices_are_seen() {
    let context = context();
    let rig = rig(12, 3, 3, 1.0);
    let model = model(rig.clone(), BaseSkinning::LinearBlend, vec![]);
    let on_gpu = GpuModel::new(context, &model, &GpuModelParams::default()).unwrap();
    let instances = posed(context, &on_gpu, &model, &[pose(&rig, 5, 0.3, 0.0, 1.0)]);
    // From an eye at (1, 0, 6) that looks along −z.
    let view = Mat4::from_rows(
        Vec4::new(2.4, 0.0, 0.0, -2.4),
        Vec4::new(0.0, 3.6, 0.0, 0.0),
        Vec4::new(0.0, 0.0, -0.5, 3.0),
        Vec4::new(0.0, 0.0, -1.0, 6.0),
    );
    let (width, height) = (96, 64);
    let picture = seen(context, &on_gpu, &instances, view, [width as u32, height as u32]);
    let mut covered = Vec::new();
    for vertex in 0..12 {
        let shown = skin_vertex(on_gpu.tables(), instances.frame(), view, vertex, 0);
        let place = shown.clip.truncate() / shown.clip.w;
        let x = ((0.5 + 0.5 * place.x) * width as f32) as usize;
        let y = ((0.5 - 0.5 * place.y) * height as f32) as usize;
        assert!(picture[y * width + x].w == 1.0, "vertex {vertex} is not at {x}, {y}");
        covered.push(y * width + x);
    }
    covered.sort_unstable();
    covered.dedup();
    assert!(covered.len() > 8, "the view spreads vertices: {covered:?}");
    assert_eq!(picture.iter().filter(|texel| texel.w == 1.0).count(), covered.len());
}

/// Joints turn by up to `turn` in any direction, stretch by up to `stretch` of their length, and shift.
fn pose(rig: &Rig, seed: u64, turn: f64, stretch: f64, unit: f64) -> Pose {
    let mut random = Random::new(seed);
    let skeleton = rig.skeleton();
    let mut local = skeleton.parent_from_joint(skeleton.rest_from_joint());
    for transform in &mut local {
        let rotation = DQuat::from_scaled_axis(random.vector(turn));
        *transform *= DAffine3::from_rotation_translation(rotation, random.vector(0.05 * unit));
        *transform *= DAffine3::from_scale(DVec3::ONE + random.vector(stretch));
    }
    let world_from_joint = skeleton.forward_kinematics(&local);
    Pose { world_from_joint, controls: vec![random.between(-1.0, 1.0)] }
}
