//! The inverse of black boxes: against closed forms, known displacements and scipy.

use std::f64::consts::PI;
use std::time::Instant;

use eigenskin_characters::tube::{pose, tube};
use eigenskin_core::deformers::{BlackBox, BlackBoxError};
use eigenskin_core::glam::{DAffine3, DMat3, DQuat, DVec3};
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::Unwatched;
use eigenskin_core::skinning::{BaseSkinning, PosedSkinning};
use eigenskin_fit::displacements::black_box::{
    Inversion, InversionParams, InversionStage, VertexClass, invert, invert_vertex_by_vertex, probe,
};
use serde_json::Value;

use crate::support::boxes::{
    Affine, BAR_SIZE, Bar, Failing, Lattice, Rounded, Skinned, Smoothed, Then, Zigzag,
};

/// The boxes here know their pose.
fn any_pose() -> Pose {
    tube().rest_pose()
}

fn deformed(black_box: &mut dyn BlackBox, rest: &[DVec3]) -> Vec<DVec3> {
    let mut posed = vec![DVec3::ZERO; rest.len()];
    black_box.deform(&any_pose(), rest, &mut posed).unwrap();
    posed
}

fn plus(a: &[DVec3], b: &[DVec3]) -> Vec<DVec3> {
    a.iter().zip(b).map(|(a, b)| *a + *b).collect()
}

fn largest_distance(a: &[DVec3], b: &[DVec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max)
}

fn rms(a: &[DVec3]) -> f64 {
    (a.iter().map(|v| v.length_squared()).sum::<f64>() / a.len() as f64).sqrt()
}

/// Numbers in −1 … 1 that look random.
fn noise(seed: usize) -> DVec3 {
    let at = |k: usize| ((seed * 3 + k) as f64 * 12.9898 + 4.1).sin() * 43758.5453;
    DVec3::new(at(0).fract(), at(1).fract(), at(2).fract())
}

/// A smooth displacement of the bar, up to about 0.15.
fn bulge(rest: &[DVec3]) -> Vec<DVec3> {
    rest.iter()
        .map(|p| {
            0.1 * (1.5 * p.x).sin() * DVec3::new(0.3, p.y, p.z) * 2.0 + 0.1 * DVec3::Y * (p.x - 2.0).cos()
        })
        .collect()
}

fn inverted(black_box: &mut dyn BlackBox, rest: &[DVec3], target: &[DVec3]) -> Inversion {
    let params = InversionParams::default();
    invert(black_box, &any_pose(), rest, target, BAR_SIZE, &params, &Unwatched).unwrap()
}

/// A lattice whose points are moved by up to `amount` each way.
fn lattice(bar: &Bar, amount: f64) -> Lattice {
    let (low, high) = (DVec3::new(-2.5, -2.5, -2.5), DVec3::new(4.5, 2.5, 2.5));
    Lattice::new(bar.maps.clone(), low, high, |i, j, k| amount * noise(7 + i * 9 + j * 3 + k))
}

#[test]
fn skinning_through_the_box_is_the_closed_form() {
    let rig = tube();
    let rest: Vec<DVec3> = rig.mesh().positions().iter().map(|p| p.as_dvec3()).collect();
    let size = rig.mesh().size();
    let axis = DVec3::new(0.3, 0.9, -0.2).normalize();
    let turns = [(DVec3::Y * 1.2, DVec3::Z * -0.8), (axis * 3.0, DVec3::X), (axis * PI, DVec3::Z * 3.1)];
    for base in [BaseSkinning::LinearBlend, BaseSkinning::DualQuaternion, BaseSkinning::Rigid] {
        for (elbow, wrist) in turns {
            let pose = pose(&rig, elbow, wrist, 0.0);
            let skinning = PosedSkinning::new(base, &rig, &pose);
            let sculpted: Vec<DVec3> =
                (0..rest.len()).map(|v| skinning.position(v, rest[v]) + 0.02 * size * noise(v)).collect();
            let mut black_box = Skinned(skinning.clone());
            let found = invert(
                &mut black_box,
                &pose,
                &rest,
                &sculpted,
                size,
                &InversionParams::default(),
                &Unwatched,
            )
            .unwrap();
            println!("{} at {:.1}: {} calls", base.name(), elbow.length(), found.report.calls);
            assert!(found.report.calls <= 10);
            let again = plus(&deformed(&mut black_box, &plus(&rest, &found.deltas)), &found.residuals);
            assert!(largest_distance(&again, &sculpted) <= 5e-6 * size);
            for vertex in 0..rest.len() {
                let expected = skinning.inverse_position(vertex, sculpted[vertex], rest[vertex]);
                let off = (rest[vertex] + found.deltas[vertex]).distance(expected);
                assert!(off < 1e-6 * size, "{} vertex {vertex}: {off:e}", base.name());
                // A dual quaternion's conditioning is its norm, not a stretch.
                if base == BaseSkinning::LinearBlend {
                    let known = skinning.conditioning(vertex).smallest;
                    assert!((found.conditioning[vertex].smallest - known).abs() < 1e-6);
                }
            }
        }
    }
}

#[test]
fn a_lattice_over_skinning_on_forty_thousand_vertices() {
    let bar = Bar::new(400, 100, DQuat::from_rotation_z(1.2));
    for amount in [0.3, 0.8] {
        let mut black_box = lattice(&bar, amount);
        let known = bulge(&bar.rest);
        let target = deformed(&mut black_box, &plus(&bar.rest, &known));
        let start = Instant::now();
        let found = inverted(&mut black_box, &bar.rest, &target);
        let took = start.elapsed();
        println!("lattice moved by {amount}, 40,000 vertices: {took:?}, {:?}", found.report);
        let again = deformed(&mut black_box, &plus(&bar.rest, &found.deltas));
        assert!(largest_distance(&again, &target) < 1e-5 * BAR_SIZE);
        assert!(found.residuals.iter().all(|&w| w == DVec3::ZERO));
        assert!(found.report.nonlinear.vertices > 10_000, "the lattice bends");
        // Where the lattice does not fold, there is one answer only.
        if amount < 0.5 {
            assert!(largest_distance(&found.deltas, &known) < 1e-4 * BAR_SIZE);
        }
        assert!(took.as_secs_f64() < 10.0, "{took:?}");
    }
}

#[test]
fn smoothing_is_undone_where_the_target_is_smooth() {
    let bar = Bar::new(60, 24, DQuat::from_rotation_z(1.0));
    let mut black_box = Smoothed::new(&bar, 4);
    let known = bulge(&bar.rest);
    let target = deformed(&mut black_box, &plus(&bar.rest, &known));
    let found = inverted(&mut black_box, &bar.rest, &target);
    let again = deformed(&mut black_box, &plus(&bar.rest, &found.deltas));
    println!(
        "smooth: {:?}, d off by {:.2e}",
        found.report,
        largest_distance(&found.deltas, &known) / BAR_SIZE
    );
    assert!(largest_distance(&again, &target) < 1e-4 * BAR_SIZE);
    assert_eq!(found.report.coupled.vertices, bar.rest.len());
    assert!(largest_distance(&plus(&again, &found.residuals), &target) <= 5e-6 * BAR_SIZE);
}

#[test]
fn smoothing_takes_what_it_can_of_any_sculpt() {
    let bar = Bar::new(60, 24, DQuat::from_rotation_z(1.0));
    let mut black_box = Smoothed::new(&bar, 4);
    let sculpt: Vec<DVec3> = (0..bar.rest.len()).map(|v| 0.05 * noise(v)).collect();
    let target = plus(&deformed(&mut black_box, &plus(&bar.rest, &bulge(&bar.rest))), &sculpt);
    let params = InversionParams::default();
    let found =
        invert(&mut black_box, &any_pose(), &bar.rest, &target, BAR_SIZE, &params, &Unwatched).unwrap();
    let heard = &found.steps;
    let steps: Vec<f64> =
        heard.iter().filter(|p| p.stage == InversionStage::FixedPoint).map(|p| p.rms).collect();
    println!("any sculpt: rms by call {steps:.4?}");
    println!("rms of d {:.4}, of the sculpt {:.4}, {:?}", rms(&found.deltas), rms(&sculpt), found.report);
    assert!(heard.windows(2).all(|p| p[1].rms <= p[0].rms && p[1].calls > p[0].calls));
    assert!(steps.len() > 5 && steps.windows(2).filter(|p| p[1] < p[0]).count() > steps.len() / 2);
    let again = deformed(&mut black_box, &plus(&bar.rest, &found.deltas));
    let left: Vec<DVec3> = target.iter().zip(&again).map(|(a, b)| *a - *b).collect();
    // The bulge is gone, and part of the noise; no more than the noise is left.
    assert!(rms(&left) < 0.9 * rms(&sculpt), "{} {}", rms(&left), rms(&sculpt));
    assert!((rms(&left) - heard.last().unwrap().rms).abs() < 1e-12, "progress tells the truth");
    assert!(largest_distance(&plus(&again, &found.residuals), &target) <= 5e-6 * BAR_SIZE);
    // Detail that cannot be reached is not bought with huge displacements.
    assert!(rms(&found.deltas) < 10.0 * rms(&sculpt));
}

/// Two joints 180° apart with equal weights: two of three directions are lost.
#[test]
fn a_half_turn_needs_the_residual() {
    let bar = Bar::new(41, 16, DQuat::from_rotation_x(PI));
    let mut black_box = Affine(bar.maps.clone());
    let sculpt: Vec<DVec3> = bar.rest.iter().map(|p| 0.2 * DVec3::new(0.1, p.y, p.z).normalize()).collect();
    let target = plus(&deformed(&mut black_box, &bar.rest), &sculpt);
    let found = inverted(&mut black_box, &bar.rest, &target);
    let without = deformed(&mut black_box, &plus(&bar.rest, &found.deltas));
    let error = largest_distance(&without, &target) / BAR_SIZE;
    let with = largest_distance(&plus(&without, &found.residuals), &target) / BAR_SIZE;
    println!("half turn: {error:.2e} without, {with:.2e} with the residual, {:?}", found.report);
    assert!(with < 1e-5 && error > 0.04);
    assert!(found.report.calls <= 10);
    assert_eq!(found.report.singular.vertices, found.report.singular.converged);
    let middle = 20 * 16;
    assert_eq!(found.classes[middle], VertexClass::Singular);
    assert!(found.conditioning[middle].smallest < 1e-9);
    for vertex in 0..bar.rest.len() {
        let (d, w) = (found.deltas[vertex], found.residuals[vertex]);
        assert!(d.length() < 5.0, "no displacement runs away: {d}");
        if found.conditioning[vertex].smallest >= 0.5 {
            assert!(w.length() <= 1e-3 * sculpt[vertex].length(), "vertex {vertex}: {w}");
        }
    }
    // In the middle the twist's axis is all that is left.
    assert!((found.deltas[middle].x - sculpt[middle].x).abs() < 1e-6);
    assert!(found.deltas[middle].y.abs() < 1e-6 && found.deltas[middle].z.abs() < 1e-6);
}

#[test]
fn half_turns_inside_lattices_and_under_smoothing() {
    let bar = Bar::new(41, 16, DQuat::from_rotation_x(PI));
    let boxes: [(&str, Box<dyn BlackBox>); 2] =
        [("lattice", Box::new(lattice(&bar, 0.4))), ("smoothed", Box::new(Smoothed::new(&bar, 2)))];
    for (name, mut black_box) in boxes {
        let target = plus(&deformed(black_box.as_mut(), &bar.rest), &bulge(&bar.rest));
        let found = inverted(black_box.as_mut(), &bar.rest, &target);
        let without = deformed(black_box.as_mut(), &plus(&bar.rest, &found.deltas));
        println!("half turn, {name}: {:?}", found.report);
        assert!(largest_distance(&plus(&without, &found.residuals), &target) <= 5e-6 * BAR_SIZE);
        assert!(found.deltas.iter().all(|d| d.length() < 2.0 * BAR_SIZE), "{name} runs away");
        for vertex in (0..bar.rest.len()).filter(|&v| found.conditioning[v].smallest >= 0.5) {
            let (w, correction) = (found.residuals[vertex], bulge(&bar.rest)[vertex].length());
            if name == "lattice" {
                assert!(w.length() <= 1e-3 * correction, "{name}, vertex {vertex}: {w}, {correction}");
            }
        }
    }
}

#[test]
fn in_lock_step_as_vertex_by_vertex_with_far_fewer_calls() {
    let bar = Bar::new(100, 40, DQuat::from_rotation_z(1.0));
    let mut black_box = lattice(&bar, 0.3);
    let target = deformed(&mut black_box, &plus(&bar.rest, &bulge(&bar.rest)));
    let params = InversionParams::powell_only();
    let start = Instant::now();
    let all = invert(&mut black_box, &any_pose(), &bar.rest, &target, BAR_SIZE, &params, &Unwatched).unwrap();
    let together = start.elapsed();
    let sample: Vec<usize> = (0..bar.rest.len()).step_by(97).collect();
    let start = Instant::now();
    let single = invert_vertex_by_vertex(
        &mut black_box,
        &any_pose(),
        &bar.rest,
        &target,
        BAR_SIZE,
        &params,
        &sample,
        &Unwatched,
    )
    .unwrap();
    let alone = start.elapsed();
    let scale = bar.rest.len() as f64 / sample.len() as f64;
    let calls = (single.calls - 5) as f64 * scale;
    println!(
        "4,000 vertices: lock step {} calls, {together:?}; vertex by vertex {:.0} calls, {:.1} s \
         (from a sample of {}), {:.0} times the calls",
        all.report.calls,
        calls,
        alone.as_secs_f64() * scale,
        sample.len(),
        calls / all.report.calls as f64
    );
    for (&vertex, &delta) in sample.iter().zip(&single.deltas) {
        assert_eq!(all.deltas[vertex], delta, "a vertex does not see the others' trials");
    }
    assert_eq!(all.report.powell.vertices, bar.rest.len());
    assert_eq!(all.report.powell.converged, bar.rest.len());
    assert!(all.report.powell.largest < 5e-6 * BAR_SIZE);
    assert!(calls > 500.0 * all.report.calls as f64);
    let newton = inverted(&mut black_box, &bar.rest, &target);
    println!("with Newton steps {} calls", newton.report.calls);
    assert!(largest_distance(&newton.deltas, &all.deltas) < 1e-4 * BAR_SIZE);
    assert!(newton.report.calls < all.report.calls);
}

fn vector(value: &Value) -> DVec3 {
    DVec3::from_array(std::array::from_fn(|i| value[i].as_f64().unwrap()))
}

/// 24 vertices under a lattice, four of them collapsed: minima found by scipy's Powell.
#[test]
fn minima_of_scipy() {
    let data: Value = serde_json::from_str(include_str!("../fixtures/black_box.json")).unwrap();
    let vertices = data["vertices"].as_array().unwrap();
    // numpy has rows, glam columns.
    let matrix = |v: &Value| DMat3::from_cols(vector(&v[0]), vector(&v[1]), vector(&v[2])).transpose();
    let maps = vertices.iter().map(|v| DAffine3::from_mat3(matrix(&v["matrix"]))).collect();
    let mut black_box =
        Lattice::new(maps, vector(&data["low"]), vector(&data["high"]), |_, _, _| DVec3::ZERO);
    for i in 0..3 {
        for j in 0..3 {
            for k in 0..3 {
                black_box.points[i][j][k] = vector(&data["control_points"][i][j][k]);
            }
        }
    }
    let of = |key: &str| -> Vec<DVec3> { vertices.iter().map(|v| vector(&v[key])).collect() };
    let (rest, target, expected) = (of("rest"), of("target"), of("delta"));
    let all: Vec<usize> = (0..rest.len()).collect();
    let size = 2.0;
    for params in [InversionParams::default(), InversionParams::powell_only()] {
        let found = invert(&mut black_box, &any_pose(), &rest, &target, size, &params, &Unwatched).unwrap();
        println!("{:?}", found.report);
        let posed = deformed(&mut black_box, &plus(&rest, &found.deltas));
        for vertex in 0..rest.len() {
            let distance = found.deltas[vertex].distance(expected[vertex]);
            let miss = posed[vertex].distance_squared(target[vertex]);
            let theirs = vertices[vertex]["value"].as_f64().unwrap();
            assert!(miss <= theirs + 1e-8, "vertex {vertex}: {miss:e}, scipy {theirs:e}");
            // Collapsed directions are flat: there the minimum is less sharp.
            let near = if found.conditioning[vertex].condition < 20.0 { 1e-4 } else { 2e-2 };
            assert!(
                distance < near * size,
                "vertex {vertex}: {} scipy {}",
                found.deltas[vertex],
                expected[vertex]
            );
        }
    }
    let params = InversionParams::powell_only();
    let alone =
        invert_vertex_by_vertex(&mut black_box, &any_pose(), &rest, &target, size, &params, &all, &Unwatched)
            .unwrap();
    let theirs: u64 = vertices.iter().map(|v| v["evaluations"].as_u64().unwrap()).sum();
    println!("vertex by vertex {} calls, scipy (finer) {theirs} evaluations", alone.calls);
}

/// Sudden changes of stretch send Newton steps astray; Powell's method finds most of the rest. Where
/// the stretch changes twentyfold every 0.6 % of the size, some vertices stay behind.
#[test]
fn kinks_are_for_powell() {
    let bar = Bar::new(60, 24, DQuat::from_rotation_z(1.0));
    for (amount, period, most_left) in [(0.8, 0.3, 14), (0.9, 0.05, 300)] {
        let mut black_box = Zigzag { maps: bar.maps.clone(), amount, period };
        let before = deformed(&mut black_box, &bar.rest);
        let target = deformed(&mut black_box, &plus(&bar.rest, &bulge(&bar.rest)));
        // A tenth of the stretch is no collapse here.
        let params = InversionParams { exact_from: 0.01, ..InversionParams::default() };
        let found =
            invert(&mut black_box, &any_pose(), &bar.rest, &target, BAR_SIZE, &params, &Unwatched).unwrap();
        let again = deformed(&mut black_box, &plus(&bar.rest, &found.deltas));
        assert!(largest_distance(&plus(&again, &found.residuals), &target) <= 5e-6 * BAR_SIZE);
        let left = again.iter().zip(&target).filter(|(a, b)| a.distance(**b) > 1e-5 * BAR_SIZE).count();
        println!("zigzag {amount} {period}: {left} of 1,440 vertices left over, {:?}", found.report);
        assert!(found.report.powell.vertices > 20 && left <= most_left);
        for vertex in 0..bar.rest.len() {
            let [now, then] = [&again, &before].map(|shape| shape[vertex].distance(target[vertex]));
            assert!(now <= then + 1e-12, "vertex {vertex} went away from its target");
        }
    }
}

#[test]
fn boxes_that_round_cost_no_more_calls() {
    let bar = Bar::new(60, 24, DQuat::from_rotation_z(1.0));
    let boxes: [(&str, Box<dyn BlackBox>); 3] = [
        ("affine", Box::new(Rounded(Affine(bar.maps.clone())))),
        ("lattice", Box::new(Rounded(lattice(&bar, 0.5)))),
        ("smoothed", Box::new(Rounded(Smoothed::new(&bar, 3)))),
    ];
    for (name, mut black_box) in boxes {
        let target = deformed(black_box.as_mut(), &plus(&bar.rest, &bulge(&bar.rest)));
        let found = inverted(black_box.as_mut(), &bar.rest, &target);
        println!("{name} in f32: {:?}", found.report);
        let again = deformed(black_box.as_mut(), &plus(&bar.rest, &found.deltas));
        assert!(largest_distance(&again, &target) < 1e-5 * BAR_SIZE);
        assert_eq!(found.report.coupled.vertices == 0, name != "smoothed");
        assert!(found.report.calls <= if name == "affine" { 10 } else { 40 });
    }
}

/// Smoothing inside a lattice, and a lattice under smoothing: coupled and bent.
#[test]
fn chains_of_boxes() {
    let bar = Bar::new(60, 24, DQuat::from_rotation_z(1.0));
    let straight = || vec![DAffine3::IDENTITY; bar.rest.len()];
    let only_lattice = || Lattice { maps: straight(), ..lattice(&bar, 0.5) };
    let only_smoothing = || Smoothed { maps: straight(), ..Smoothed::new(&bar, 3) };
    let boxes: [(&str, Box<dyn BlackBox>); 3] = [
        ("smoothed, lattice", Box::new(Then(Smoothed::new(&bar, 3), only_lattice()))),
        ("lattice, smoothed", Box::new(Then(lattice(&bar, 0.5), only_smoothing()))),
        ("lattice, skinned, smoothed", Box::new(Then(only_lattice(), Smoothed::new(&bar, 3)))),
    ];
    for (name, mut black_box) in boxes {
        let target = deformed(black_box.as_mut(), &plus(&bar.rest, &bulge(&bar.rest)));
        let found = inverted(black_box.as_mut(), &bar.rest, &target);
        println!("{name}: {:?}", found.report);
        let again = deformed(black_box.as_mut(), &plus(&bar.rest, &found.deltas));
        assert!(largest_distance(&again, &target) < 1e-4 * BAR_SIZE);
    }
}

/// Metres or millimetres: the same steps, scaled.
#[test]
fn units_do_not_matter() {
    let bar = Bar::new(30, 12, DQuat::from_rotation_x(3.0));
    let calls_and_deltas = |unit: f64, params: &InversionParams, smoothed: bool| {
        let scaled = |map: &DAffine3| DAffine3 { translation: unit * map.translation, ..*map };
        let maps: Vec<DAffine3> = bar.maps.iter().map(scaled).collect();
        let rest: Vec<DVec3> = bar.rest.iter().map(|p| unit * *p).collect();
        let mut black_box: Box<dyn BlackBox> = if smoothed {
            Box::new(Smoothed { maps, ..Smoothed::new(&bar, 3) })
        } else {
            let mut lattice = lattice(&bar, 0.5);
            for point in lattice.points.as_flattened_mut().as_flattened_mut() {
                *point *= unit;
            }
            Box::new(Lattice { maps, low: unit * lattice.low, high: unit * lattice.high, ..lattice })
        };
        let sculpt: Vec<DVec3> = bulge(&bar.rest).iter().map(|d| unit * *d).collect();
        let target = plus(&deformed(black_box.as_mut(), &rest), &sculpt);
        let size = unit * BAR_SIZE;
        let found =
            invert(black_box.as_mut(), &any_pose(), &rest, &target, size, params, &Unwatched).unwrap();
        let deltas: Vec<DVec3> = found.deltas.iter().map(|d| *d / unit).collect();
        (found.report.calls, deltas)
    };
    for (params, smoothed) in [
        (InversionParams::default(), false),
        (InversionParams::default(), true),
        (InversionParams::powell_only(), false),
    ] {
        // Powers of two change no digit.
        let (calls, deltas) = calls_and_deltas(1.0, &params, smoothed);
        assert_eq!(calls_and_deltas(1024.0, &params, smoothed), (calls, deltas.clone()));
        assert_eq!(calls_and_deltas(1.0 / 1024.0, &params, smoothed), (calls, deltas));
    }
}

#[test]
fn threads_do_not_matter() {
    let bar = Bar::new(60, 24, DQuat::from_rotation_x(PI));
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut black_box = lattice(&bar, 0.5);
            let target = plus(&deformed(&mut black_box, &bar.rest), &bulge(&bar.rest));
            let mut smoothed = Smoothed::new(&bar, 3);
            let smooth_target = plus(&deformed(&mut smoothed, &bar.rest), &bulge(&bar.rest));
            (inverted(&mut black_box, &bar.rest, &target), inverted(&mut smoothed, &bar.rest, &smooth_target))
        })
    };
    assert_eq!(run(1), run(4));
}

#[test]
fn a_probe_tells_what_follows_what() {
    let bar = Bar::new(21, 12, DQuat::from_rotation_z(0.7));
    let mut smoothed = Smoothed::new(&bar, 1);
    // The first ring is left as skinning has it.
    for vertex in 0..12 {
        smoothed.neighbours[vertex] = vec![vertex];
    }
    let found = probe(&mut smoothed, &any_pose(), &bar.rest, BAR_SIZE, &Unwatched).unwrap();
    assert!(found.calls <= 8);
    assert!((0..bar.rest.len()).all(|vertex| found.coupled[vertex] == (vertex >= 12)));
    let found = probe(&mut lattice(&bar, 0.8), &any_pose(), &bar.rest, BAR_SIZE, &Unwatched).unwrap();
    assert!(found.calls == 5 && found.coupled.iter().all(|coupled| !coupled));
    let mut kinks = Zigzag { maps: bar.maps.clone(), amount: 0.9, period: 0.05 };
    let found = probe(&mut kinks, &any_pose(), &bar.rest, BAR_SIZE, &Unwatched).unwrap();
    assert!(found.coupled.iter().all(|coupled| !coupled), "a kink is no tie");
    let found = probe(&mut Affine(bar.maps.clone()), &any_pose(), &bar.rest, BAR_SIZE, &Unwatched).unwrap();
    for (jacobian, map) in found.jacobians.iter().zip(&bar.maps) {
        assert!(jacobian.abs_diff_eq(map.matrix3, 1e-9));
    }
    let again = probe(&mut smoothed, &any_pose(), &bar.rest, BAR_SIZE, &Unwatched).unwrap();
    assert_eq!(
        again,
        probe(&mut smoothed, &any_pose(), &bar.rest, BAR_SIZE, &Unwatched).unwrap(),
        "no chance in it"
    );
}

/// A vertex that follows others a little less than the probe notices.
#[test]
fn weak_ties_are_found_by_looking_again() {
    struct Tied(Vec<DAffine3>);
    impl BlackBox for Tied {
        fn deform(&mut self, _: &Pose, rest: &[DVec3], posed: &mut [DVec3]) -> Result<(), BlackBoxError> {
            for vertex in 0..rest.len() {
                let other = rest[(vertex + 7) % rest.len()];
                posed[vertex] = self.0[vertex].transform_point3(0.998 * rest[vertex] + 0.002 * other);
            }
            Ok(())
        }
    }
    let bar = Bar::new(21, 12, DQuat::from_rotation_z(0.7));
    let mut black_box = Tied(bar.maps.clone());
    assert!(
        probe(&mut black_box, &any_pose(), &bar.rest, BAR_SIZE, &Unwatched)
            .unwrap()
            .coupled
            .iter()
            .all(|coupled| !coupled)
    );
    let sculpt: Vec<DVec3> = (0..bar.rest.len()).map(|v| 0.1 * noise(v)).collect();
    let target = plus(&deformed(&mut black_box, &bar.rest), &sculpt);
    let found = inverted(&mut black_box, &bar.rest, &target);
    println!("weak ties: {:?}", found.report);
    let again = deformed(&mut black_box, &plus(&bar.rest, &found.deltas));
    assert!(largest_distance(&again, &target) < 5e-6 * BAR_SIZE && found.report.calls < 30);
}

#[test]
fn errors_of_the_box_come_through() {
    let bar = Bar::new(21, 12, DQuat::from_rotation_z(0.7));
    let target = plus(&deformed(&mut lattice(&bar, 0.5), &bar.rest), &bulge(&bar.rest));
    let run = |fails_after, failure| {
        let mut black_box = Failing { inner: lattice(&bar, 0.5), calls: 0, fails_after, failure };
        let params = InversionParams::default();
        let result = invert(&mut black_box, &any_pose(), &bar.rest, &target, BAR_SIZE, &params, &Unwatched);
        (result.map(|found| found.report.calls), black_box.calls)
    };
    let not_a_number: fn(&mut [DVec3]) -> Result<(), BlackBoxError> = |posed| {
        posed[17].y = f64::NAN;
        Ok(())
    };
    let dies: fn(&mut [DVec3]) -> Result<(), BlackBoxError> =
        |_| Err(BlackBoxError::Failed("the program ended".into()));
    let (well, calls) = run(usize::MAX, dies);
    assert_eq!(well, Ok(calls), "the report counts calls as the box does");
    for k in 0..calls {
        assert_eq!(run(k, not_a_number), (Err(BlackBoxError::NotFinite { vertex: 17 }), k + 1));
        assert_eq!(run(k, dies), (Err(BlackBoxError::Failed("the program ended".into())), k + 1));
    }
    let params = InversionParams::default();
    let mut black_box = lattice(&bar, 0.5);
    let short = invert(&mut black_box, &any_pose(), &bar.rest, &target[1..], 4.0, &params, &Unwatched);
    assert_eq!(short, Err(BlackBoxError::VertexCount { found: 251, expected: 252 }));
    let mut bad = target.clone();
    bad[3].x = f64::INFINITY;
    let refused = invert(&mut black_box, &any_pose(), &bar.rest, &bad, 4.0, &params, &Unwatched);
    assert!(refused.unwrap_err().to_string().contains("vertex 3"));
}

#[test]
fn nothing_to_do() {
    let bar = Bar::new(41, 16, DQuat::from_rotation_x(PI));
    let boxes: [Box<dyn BlackBox>; 3] =
        [Box::new(Affine(bar.maps.clone())), Box::new(lattice(&bar, 0.4)), Box::new(Smoothed::new(&bar, 3))];
    for mut black_box in boxes {
        let target = deformed(black_box.as_mut(), &bar.rest);
        let found = inverted(black_box.as_mut(), &bar.rest, &target);
        assert!(found.deltas.iter().chain(&found.residuals).all(|&v| v == DVec3::ZERO));
        assert!(found.report.calls <= 8, "{:?}", found.report);
    }
    let none = inverted(&mut Affine(Vec::new()), &[], &[]);
    assert!(none.deltas.is_empty() && none.report.calls == 0);
}

/// A limit of calls is kept, and what is missing is in the residual.
#[test]
fn few_calls_are_kept_to() {
    let bar = Bar::new(41, 16, DQuat::from_rotation_z(1.0));
    let boxes: [Box<dyn BlackBox>; 2] = [Box::new(lattice(&bar, 0.8)), Box::new(Smoothed::new(&bar, 3))];
    for mut black_box in boxes {
        let target = plus(&deformed(black_box.as_mut(), &bar.rest), &bulge(&bar.rest));
        let params = InversionParams { most_calls: 12, ..InversionParams::default() };
        let found =
            invert(black_box.as_mut(), &any_pose(), &bar.rest, &target, BAR_SIZE, &params, &Unwatched)
                .unwrap();
        assert!(found.report.calls <= 12);
        let again = deformed(black_box.as_mut(), &plus(&bar.rest, &found.deltas));
        assert!(largest_distance(&plus(&again, &found.residuals), &target) <= 5e-6 * BAR_SIZE);
        assert!(
            largest_distance(&again, &target)
                < largest_distance(&target, &deformed(black_box.as_mut(), &bar.rest))
        );
    }
}

/// Powell alone on a box that smooths: not made for it, but never worse than before.
#[test]
fn powell_alone_does_no_harm_to_tied_vertices() {
    let bar = Bar::new(41, 16, DQuat::from_rotation_z(1.0));
    let mut black_box = Smoothed::new(&bar, 3);
    let before = deformed(&mut black_box, &bar.rest);
    let target = plus(&before, &bulge(&bar.rest));
    let params = InversionParams::powell_only();
    let found =
        invert(&mut black_box, &any_pose(), &bar.rest, &target, BAR_SIZE, &params, &Unwatched).unwrap();
    println!("Powell alone, smoothed: {:?}", found.report);
    let again = deformed(&mut black_box, &plus(&bar.rest, &found.deltas));
    let off = |shape: &[DVec3]| rms(&target.iter().zip(shape).map(|(a, b)| *a - *b).collect::<Vec<_>>());
    assert!(off(&again) <= off(&before));
    assert!(largest_distance(&plus(&again, &found.residuals), &target) <= 5e-6 * BAR_SIZE);
}
