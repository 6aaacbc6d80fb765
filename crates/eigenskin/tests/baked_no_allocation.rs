//! Playing a baked model allocates nothing: counted by an allocator of this test's own.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
#![allow(unsafe_code, reason = "an allocator that counts can only be written with unsafe")]

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use eigenskin::baked::{BakeParams, BakedEvaluator, BakedModel, Block, Path};
use eigenskin::fit::{EigenSkinParams, fit_eigenskin};
use eigenskin::glam::{DVec3, Vec3};
use eigenskin::skinning::BaseSkinning;
use support::{pose, sweeps, tube};

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
fn playing_a_frame_allocates_nothing() {
    let rig = tube();
    let set = sweeps(&rig);
    let poses = [pose(&rig, DVec3::Y, DVec3::Z, 0.5), pose(&rig, DVec3::X, DVec3::Y, 0.1)];
    for base in [BaseSkinning::LinearBlend, BaseSkinning::DualQuaternion, BaseSkinning::Rigid] {
        let params = EigenSkinParams { base: base.into(), ..EigenSkinParams::default() };
        let model = fit_eigenskin(&set, &params).unwrap().model;
        let baked = Arc::new(BakedModel::new(&model, &BakeParams::default()).unwrap());
        for &path in Path::available() {
            let mut evaluator = BakedEvaluator::with_path(baked.clone(), path).unwrap();
            let mut positions = vec![Vec3::ZERO; rig.vertex_count()];
            let mut normals = positions.clone();
            let mut blocks = vec![Block::default(); baked.block_count()];
            let before = ALLOCATIONS.with(Cell::get);
            for pose in &poses {
                evaluator.evaluate(pose, &mut positions, Some(&mut normals));
                evaluator.evaluate_baked_order(pose, &mut blocks, None);
            }
            assert_eq!(ALLOCATIONS.with(Cell::get) - before, 0, "{base:?} {path:?}");
            assert!(before > 0, "the allocator counts");
        }
    }
}
