//! Per-frame work allocates nothing: counted by an allocator of this test's own.
#![allow(unsafe_code, reason = "an allocator that counts can only be written with unsafe")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use eigenskin_characters::tube::{pose, sweeps, tube};
use eigenskin_core::deformers::{
    BlackBox, Cage, Deformer, DeformerStack, Lattice, LatticeBasis, Smoothing, SmoothingWeighting, Wrap,
};
use eigenskin_core::evaluate::Evaluator;
use eigenskin_core::glam::{DVec3, Vec3};
use eigenskin_core::packed::{Block, Output, PackParams, PackedEvaluator, PackedModel, Path};
use eigenskin_core::skinning::BaseSkinning;
use eigenskin_fit::method::EigenSkinParams;

use crate::support::learn_on;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is passed on to the system allocator unchanged; counting touches only a
// thread-local cell that needs no allocation.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn evaluating_a_frame_allocates_nothing() {
    let rig = tube();
    let set = sweeps(&rig);
    for base in [BaseSkinning::LinearBlend, BaseSkinning::DualQuaternion, BaseSkinning::Rigid] {
        let params = EigenSkinParams::default();
        let mut evaluator = Evaluator::new(Arc::new(learn_on(&base.into(), &set, &params).unwrap().model));
        let mut positions = vec![Vec3::ZERO; rig.vertex_count()];
        let mut normals = positions.clone();
        let pose = pose(&rig, DVec3::Y, DVec3::Z, 0.5);
        let before = ALLOCATIONS.with(Cell::get);
        evaluator.evaluate(&pose, &mut positions, Some(&mut normals));
        assert_eq!(ALLOCATIONS.with(Cell::get) - before, 0, "{base:?}");
        assert!(before > 0, "the allocator counts");
    }
}

#[test]
fn running_a_chain_of_deformers_allocates_nothing() {
    let rig = tube();
    let lattice = Lattice::at_rest(DVec3::splat(-1.0), DVec3::splat(7.0), [5, 3, 4], LatticeBasis::BSpline);
    let by_length = Smoothing { weighting: SmoothingWeighting::EdgeLength, ..Smoothing::corrective() };
    let pose = pose(&rig, DVec3::Y, DVec3::Z, 0.5);
    let near_rest: Vec<DVec3> = rig.mesh().positions().iter().map(|p| p.as_dvec3()).collect();
    let mut posed = near_rest.clone();
    for posing in [
        Deformer::Skinning(BaseSkinning::DualQuaternion),
        Deformer::Wrap(Wrap { cage: Cage::of_rig(&rig), nearest: 4 }),
    ] {
        let steps = vec![posing, Deformer::Lattice(lattice.clone()), Deformer::Smoothing(by_length)];
        let mut bound = DeformerStack { name: "chain".into(), steps }.bind(&rig).unwrap();
        let before = ALLOCATIONS.with(Cell::get);
        bound.deform(&pose, &near_rest, &mut posed).unwrap();
        bound.own_steps().unwrap().deform(&pose, &mut posed);
        assert_eq!(ALLOCATIONS.with(Cell::get) - before, 0, "{bound:?}");
    }
}

#[test]
fn playing_a_frame_allocates_nothing() {
    let rig = tube();
    let set = sweeps(&rig);
    let poses = [pose(&rig, DVec3::Y, DVec3::Z, 0.5), pose(&rig, DVec3::X, DVec3::Y, 0.1)];
    for base in [BaseSkinning::LinearBlend, BaseSkinning::DualQuaternion, BaseSkinning::Rigid] {
        let params = EigenSkinParams::default();
        let model = learn_on(&base.into(), &set, &params).unwrap().model;
        let packed = Arc::new(PackedModel::new(&model, &PackParams::default()).unwrap());
        for &path in Path::available() {
            let mut evaluator = PackedEvaluator::with_path(packed.clone(), path).unwrap();
            let mut positions = vec![Vec3::ZERO; rig.vertex_count()];
            let mut normals = positions.clone();
            let mut blocks = vec![Block::default(); packed.block_count()];
            let before = ALLOCATIONS.with(Cell::get);
            for pose in &poses {
                evaluator.evaluate(pose, &mut positions, Some(&mut normals));
                let output = Output::Blocks { positions: &mut blocks, normals: None, tangents: None };
                evaluator.evaluate_to(pose, output);
            }
            assert_eq!(ALLOCATIONS.with(Cell::get) - before, 0, "{base:?} {path:?}");
            assert!(before > 0, "the allocator counts");
        }
    }
}
