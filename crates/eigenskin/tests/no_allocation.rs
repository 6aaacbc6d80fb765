//! Per-frame work allocates nothing: counted by an allocator of this test's own.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
#![allow(unsafe_code, reason = "an allocator that counts can only be written with unsafe")]

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use eigenskin::evaluate::Evaluator;
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
fn evaluating_a_frame_allocates_nothing() {
    let rig = tube();
    let set = sweeps(&rig);
    for base in [BaseSkinning::LinearBlend, BaseSkinning::DualQuaternion, BaseSkinning::Rigid] {
        let params = EigenSkinParams { base: base.into(), ..EigenSkinParams::default() };
        let mut evaluator = Evaluator::new(Arc::new(fit_eigenskin(&set, &params).unwrap().model));
        let mut positions = vec![Vec3::ZERO; rig.vertex_count()];
        let mut normals = positions.clone();
        let pose = pose(&rig, DVec3::Y, DVec3::Z, 0.5);
        let before = ALLOCATIONS.with(Cell::get);
        evaluator.evaluate(&pose, &mut positions, Some(&mut normals));
        assert_eq!(ALLOCATIONS.with(Cell::get) - before, 0, "{base:?}");
        assert!(before > 0, "the allocator counts");
    }
}
