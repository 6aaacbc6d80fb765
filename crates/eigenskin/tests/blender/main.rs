//! Blender as a black box: its armature against our linear blending, its corrective smoothing against
//! ours, and what a call costs.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may fail, and tells what it saw")]

#[path = "../../../eigenskin-io/tests/all/support/boxes.rs"]
mod boxes;

use eigenskin_core::progress::Unwatched;
use std::sync::Arc;
use std::time::Instant;

use boxes::{command, example, furthest, python_with, rest_of, run};
use eigenskin_characters::{Character, arm};
use eigenskin_core::deformers::{Deformer, DeformerStack, Smoothing, SmoothingWeighting};
use eigenskin_core::glam::{DAffine3, DQuat, DVec3};
use eigenskin_core::pose::Pose;
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::BaseSkinning;
use eigenskin_fit::displacements::black_box::{InversionParams, invert};
use eigenskin_io::ExternalBox;

/// About 4,000 vertices, elbow and wrist bent.
fn bent_arm() -> (Arc<Rig>, Pose) {
    let character: Character = arm(7996).unwrap();
    let pose = character.pose(&[0.3, -0.2, -1.6, 0.5, 0.6]);
    (character.rig.clone(), pose)
}

fn blender(python: &str, rig: &Arc<Rig>, options: &[&str]) -> ExternalBox {
    let script = example("blender_box.py");
    let words: Vec<&str> = [python, &script].into_iter().chain(options.iter().copied()).collect();
    ExternalBox::start(&command(&words, 120.0), rig).unwrap()
}

fn ours(rig: &Arc<Rig>, smoothing: Option<Smoothing>) -> eigenskin_core::deformers::BoundStack {
    let mut steps = vec![Deformer::Skinning(BaseSkinning::LinearBlend)];
    steps.extend(smoothing.map(Deformer::Smoothing));
    DeformerStack { name: "ours".into(), steps }.bind(rig).unwrap()
}

#[test]
fn blender_agrees_with_our_skinning_and_smoothing() {
    let python = python_with("bpy");
    let (rig, pose) = bent_arm();
    let size = rig.mesh().size();
    // Corrections too: a shape key plays them.
    let points: Vec<DVec3> =
        rest_of(&rig).iter().map(|p| *p + 0.01 * size * DVec3::new(0.0, (40.0 * p.x).sin(), 0.5)).collect();
    let corrective = Smoothing::corrective();
    let cases: [(&str, &[&str], Option<Smoothing>); 4] = [
        ("armature", &[], None),
        ("simple", &["--smooth", "5"], Some(corrective)),
        (
            "simple, many",
            &["--smooth", "30", "--smooth-factor", "0.9"],
            Some(Smoothing { iterations: 30, factor: 0.9, ..corrective }),
        ),
        (
            "length weighted",
            &["--smooth", "12", "--smooth-type", "LENGTH_WEIGHTED"],
            Some(Smoothing { iterations: 12, weighting: SmoothingWeighting::EdgeLength, ..corrective }),
        ),
    ];
    let skinned = run(&mut ours(&rig, None), &pose, &points);
    for (name, options, smoothing) in cases {
        let theirs = run(&mut blender(&python, &rig, options), &pose, &points);
        let own = run(&mut ours(&rig, smoothing), &pose, &points);
        let difference = furthest(&theirs, &own) / size;
        let effect = furthest(&own, &skinned) / size;
        println!("blender box, {name}: differs by {difference:.1e} of the size, effect {effect:.1e}");
        assert!(difference < 1e-5, "{name}: {difference:e} of the size");
        assert!(smoothing.is_none() || effect > 100.0 * difference, "{name}: smoothing does something");
    }
}

#[test]
fn blender_plays_armature_lattice_and_smoothing() {
    let python = python_with("bpy");
    let (rig, pose) = bent_arm();
    let size = rig.mesh().size();
    let rest = rest_of(&rig);
    let mut whole = blender(&python, &rig, &["--lattice", "0,0,0.1", "--smooth", "5"]);
    let posed = run(&mut whole, &pose, &rest);
    let without = run(&mut blender(&python, &rig, &["--smooth", "5"]), &pose, &rest);
    assert!(furthest(&posed, &without) > 0.02 * size, "the lattice acts");
    // The lattice rides on the root: the whole character may be anywhere.
    let motion = DAffine3::from_rotation_translation(
        DQuat::from_scaled_axis(DVec3::new(0.4, -0.8, 0.3)),
        DVec3::new(0.2, -0.1, 0.3),
    );
    let moved = run(&mut whole, &pose.moved_by(motion), &rest);
    let expected: Vec<DVec3> = posed.iter().map(|p| motion.transform_point3(*p)).collect();
    assert!(furthest(&moved, &expected) < 1e-5 * size, "{}", furthest(&moved, &expected) / size);
    // What one call costs.
    let start = Instant::now();
    for call in 0..20 {
        let shifted: Vec<DVec3> = rest.iter().map(|p| *p + DVec3::Z * (1e-4 * f64::from(call))).collect();
        run(&mut whole, &pose, &shifted);
    }
    let milliseconds = start.elapsed().as_secs_f64() * 1000.0 / 20.0;
    println!("blender box: {milliseconds:.1} ms per call for {} vertices", rig.vertex_count());
}

/// A sculpt made after armature, lattice and corrective smoothing, pulled back to rest. Blender's own
/// tool for shapes after any modifier takes about three minutes for as many vertices.
#[test]
fn sculpts_are_pulled_back_through_blender() {
    let python = python_with("bpy");
    let (rig, pose) = bent_arm();
    let size = rig.mesh().size();
    let rest = rest_of(&rig);
    let mut blender = blender(&python, &rig, &["--lattice", "0,0,0.1", "--smooth", "5"]);
    let bump = |at: DVec3| {
        let elbow = rig.skeleton().rest_position(2);
        0.03 * size
            * (-(at - elbow).length_squared() / (0.01 * size * size)).exp()
            * DVec3::new(0.2, 1.0, 0.4)
    };
    // What a correction before all modifiers can make, and what a sculptor does after them.
    let reachable: Vec<DVec3> = rest.iter().map(|&p| p + bump(p)).collect();
    let reachable = run(&mut blender, &pose, &reachable);
    let posed = run(&mut blender, &pose, &rest);
    let normals = rig.mesh().normals_of(&posed.iter().map(|p| p.as_vec3()).collect::<Vec<_>>());
    let sculpted =
        posed.iter().zip(&rest).zip(&normals).map(|((&p, &r), n)| p + bump(r).length() * n.as_dvec3());
    for (name, target) in [("a known correction", reachable), ("a sculpt", sculpted.collect())] {
        let start = Instant::now();
        let params = InversionParams::default();
        let found = invert(&mut blender, &pose, &rest, &target, size, &params, &Unwatched).unwrap();
        let seconds = start.elapsed().as_secs_f64();
        let corrected: Vec<DVec3> = rest.iter().zip(&found.deltas).map(|(r, d)| *r + *d).collect();
        let reached = run(&mut blender, &pose, &corrected);
        let moved = furthest(&posed, &target) / size;
        // In the crease of the elbow the skin folds over: not all of it can be reached there.
        let off: Vec<f64> = reached.iter().zip(&target).map(|(a, b)| a.distance(*b) / size).collect();
        let missed = off.iter().filter(|&&off| off > 1e-4).count();
        let folded = (0..off.len()).filter(|&v| off[v] > 1e-4 && found.conditioning[v].kept() < 0.5).count();
        let rms = |of: &[f64]| (of.iter().map(|off| off * off).sum::<f64>() / of.len() as f64).sqrt();
        let asked: Vec<f64> = posed.iter().zip(&target).map(|(a, b)| a.distance(*b) / size).collect();
        let (rms, asked) = (rms(&off), rms(&asked));
        let most = off.iter().copied().fold(0.0, f64::max);
        let with: Vec<DVec3> = reached.iter().zip(&found.residuals).map(|(p, w)| *p + *w).collect();
        println!(
            "{name} of {moved:.1e} of the size, {} vertices, through Blender: {} calls, {seconds:.1} s (Blender's own: about 180 s), off by {rms:.1e} (rms, of {asked:.1e}) without the residual, more than 1e-4 at {missed} vertices ({folded} of them in a fold, at most {most:.1e}), {:.1e} with it",
            rest.len(),
            found.report.calls,
            furthest(&with, &target) / size
        );
        assert!(furthest(&with, &target) < 1e-5 * size);
        if name == "a sculpt" {
            // Normals of the crease point every way: smoothing takes that out again.
            assert!(rms < 0.2 * asked, "{rms:e} of {asked:e}");
        } else {
            assert!(missed * 100 < rest.len() && rms < 3e-5, "{name}: {missed} vertices, {rms:e}");
        }
    }
}
