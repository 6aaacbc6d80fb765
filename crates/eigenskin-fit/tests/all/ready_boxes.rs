//! The inverse of ready-made boxes on a bent arm.

use std::sync::Arc;
use std::time::Instant;

use eigenskin_characters::arm;
use eigenskin_core::deformers::{
    Amount, BlackBox, BoundStack, Cage, Deformer, DeformerStack, Lattice, LatticeBasis, Smoothing, Wrap,
};
use eigenskin_core::glam::DVec3;
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::Unwatched;
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::{BaseSkinning, EXACT_FROM};
use eigenskin_fit::displacements::black_box::{Inversion, InversionParams, invert};

/// Elbow and wrist bent.
fn bent_arm(triangles: usize) -> (Arc<Rig>, Pose) {
    let character = arm(triangles).unwrap();
    let pose = character.pose(&[0.3, -0.2, -1.6, 0.5, 0.6]);
    (character.rig.clone(), pose)
}

fn bound(rig: &Arc<Rig>, after: Vec<Deformer>) -> BoundStack {
    let mut steps = vec![Deformer::Skinning(BaseSkinning::LinearBlend)];
    steps.extend(after);
    DeformerStack { name: "test".into(), steps }.bind(rig).unwrap()
}

fn rest_of(rig: &Rig) -> Vec<DVec3> {
    rig.mesh().positions().iter().map(|p| p.as_dvec3()).collect()
}

fn deformed(stack: &mut BoundStack, pose: &Pose, points: &[DVec3]) -> Vec<DVec3> {
    let mut posed = vec![DVec3::ZERO; points.len()];
    stack.deform(pose, points, &mut posed).unwrap();
    posed
}

/// A smooth swelling at the elbow, up to 3 % of the size.
fn swelling(rig: &Rig) -> Vec<DVec3> {
    let (elbow, size) = (rig.skeleton().rest_position(2), rig.mesh().size());
    let bump = |at: DVec3| 0.03 * size * (-(at - elbow).length_squared() / (0.01 * size * size)).exp();
    rest_of(rig).iter().map(|&p| bump(p) * DVec3::new(0.2, 1.0, 0.4)).collect()
}

fn plus(a: &[DVec3], b: &[DVec3]) -> Vec<DVec3> {
    a.iter().zip(b).map(|(a, b)| *a + *b).collect()
}

fn furthest(a: &[DVec3], b: &[DVec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max)
}

fn inverted(stack: &mut BoundStack, rig: &Rig, pose: &Pose, target: &[DVec3]) -> Inversion {
    let params = InversionParams::default();
    let size = rig.mesh().size();
    invert(stack, pose, &rest_of(rig), target, size, &params, &Unwatched).unwrap()
}

fn lattice(rig: &Rig, basis: LatticeBasis) -> Lattice {
    let (elbow, size) = (rig.skeleton().rest_position(2), rig.mesh().size());
    let around = DVec3::splat(0.25 * size);
    let mut lattice = Lattice::at_rest(elbow - around, elbow + around, [4, 4, 4], basis);
    for (index, displacement) in lattice.displacements.iter_mut().enumerate() {
        let phase = index as f64;
        *displacement = 0.02 * size * DVec3::new(phase.sin(), (2.3 * phase).cos(), (1.7 * phase).sin());
    }
    lattice.fade = Some(0.1 * size);
    lattice.amount = Amount::Constant(1.0);
    lattice
}

#[test]
fn lattices_over_skinning_on_forty_thousand_vertices() {
    let (rig, pose) = bent_arm(79_996);
    let size = rig.mesh().size();
    for basis in [LatticeBasis::Trilinear, LatticeBasis::Bernstein, LatticeBasis::BSpline] {
        let mut stack = bound(&rig, vec![Deformer::Lattice(lattice(&rig, basis))]);
        let corrected = plus(&rest_of(&rig), &swelling(&rig));
        let target = deformed(&mut stack, &pose, &corrected);
        let start = Instant::now();
        let found = inverted(&mut stack, &rig, &pose, &target);
        let seconds = start.elapsed().as_secs_f64();
        let again = deformed(&mut stack, &pose, &plus(&rest_of(&rig), &found.deltas));
        let missed = furthest(&again, &target) / size;
        println!(
            "{basis:?}, {} vertices: {} calls, {seconds:.2} s, {missed:.1e}",
            again.len(),
            found.report.calls
        );
        assert!(missed < 1e-5, "{missed:e}");
        assert!(seconds < 2.0, "{seconds}");
    }
}

/// The shape, and the displacement that made it. In the crease of a right angle the skin folds over, and
/// so do the frames in which details are put back: there several displacements make the same shape.
#[test]
fn smoothing_gives_back_what_was_smooth() {
    let (rig, _) = bent_arm(7996);
    let size = rig.mesh().size();
    for (bend, most_off) in [(-0.8, 2e-4), (-1.6, 3e-3)] {
        let pose = arm(7996).unwrap().pose(&[0.3, -0.2, bend, 0.5, 0.6]);
        for (name, smoothing) in
            [("delta mush", Smoothing::delta_mush()), ("corrective", Smoothing::corrective())]
        {
            let mut stack = bound(&rig, vec![Deformer::Smoothing(smoothing)]);
            let known = swelling(&rig);
            let target = deformed(&mut stack, &pose, &plus(&rest_of(&rig), &known));
            let found = inverted(&mut stack, &rig, &pose, &target);
            let again = deformed(&mut stack, &pose, &plus(&rest_of(&rig), &found.deltas));
            let (missed, off) = (furthest(&again, &target) / size, furthest(&found.deltas, &known) / size);
            let squares: f64 = found.deltas.iter().zip(&known).map(|(a, b)| a.distance_squared(*b)).sum();
            let rms = (squares / known.len() as f64).sqrt() / size;
            println!(
                "{name}, elbow at {bend}: {} calls, shape {missed:.1e}, displacement {off:.1e}, rms {rms:.1e}",
                found.report.calls
            );
            assert!(missed < 1e-4 && off < most_off && rms < 2e-4, "{name}: {missed:e} {off:e} {rms:e}");
        }
    }
}

#[test]
fn a_wrap_is_inverted() {
    let (rig, pose) = bent_arm(7996);
    let (cage, _) = bent_arm(600);
    let wrap = Wrap { cage: Cage::of_rig(&cage), nearest: 8 };
    let mut stack =
        DeformerStack { name: "wrap".into(), steps: vec![Deformer::Wrap(wrap)] }.bind(&rig).unwrap();
    let target = deformed(&mut stack, &pose, &plus(&rest_of(&rig), &swelling(&rig)));
    let found = inverted(&mut stack, &rig, &pose, &target);
    let again = deformed(&mut stack, &pose, &plus(&rest_of(&rig), &found.deltas));
    let size = rig.mesh().size();
    // The cage folds over in the crease; all other vertices are reached exactly.
    let mut folded = 0;
    for vertex in 0..again.len() {
        if found.conditioning[vertex].kept() < EXACT_FROM {
            folded += 1;
        } else {
            let missed = again[vertex].distance(target[vertex]) / size;
            assert!(missed < 1e-5, "vertex {vertex}: {missed:e}");
        }
    }
    println!("wrap: {} calls, {folded} of {} vertices collapse", found.report.calls, again.len());
    assert!(found.report.calls <= 10 && folded < 40, "{} {folded}", found.report.calls);
    assert!(furthest(&plus(&again, &found.residuals), &target) < 1e-5 * size);
}
