//! Ready-made deformers and chains of them.

use std::sync::Arc;

use eigenskin_characters::tube::{AROUND, RINGS, pose, tube};
use eigenskin_core::deformers::{
    Amount, BlackBox, BlackBoxError, BoundStack, Cage, Deformer, DeformerError, DeformerStack, Lattice,
    LatticeBasis, Smoothing, SmoothingWeighting, Wrap,
};
use eigenskin_core::glam::{DAffine3, DMat3, DQuat, DVec3, Vec3, Vec3Swizzles};
use eigenskin_core::mesh::Mesh;
use eigenskin_core::pose::Pose;
use eigenskin_core::rig::{Control, Rig};
use eigenskin_core::skeleton::{Joint, Skeleton};
use eigenskin_core::skinning::{BaseSkinning, PosedSkinning};
use eigenskin_core::weights::{Influence, SkinWeights};

const LINEAR: Deformer = Deformer::Skinning(BaseSkinning::LinearBlend);

fn stack(steps: Vec<Deformer>) -> DeformerStack {
    DeformerStack { name: "test".into(), steps }
}

fn bind(rig: &Arc<Rig>, steps: Vec<Deformer>) -> BoundStack {
    stack(steps).bind(rig).unwrap()
}

fn rest_of(rig: &Rig) -> Vec<DVec3> {
    rig.mesh().positions().iter().map(|p| p.as_dvec3()).collect()
}

fn run(bound: &mut BoundStack, pose: &Pose, points: &[DVec3]) -> Vec<DVec3> {
    let mut posed = vec![DVec3::ZERO; points.len()];
    bound.deform(pose, points, &mut posed).unwrap();
    let mut again = points.to_vec();
    if let Some(mut own) = bound.own_steps() {
        own.deform(pose, &mut again);
        assert_eq!(again, posed, "both ways to run it are one");
    }
    posed
}

fn furthest(a: &[DVec3], b: &[DVec3]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max)
}

fn bent(rig: &Rig) -> Pose {
    pose(rig, DVec3::new(0.3, 0.9, -0.2), DVec3::new(0.0, -0.4, 0.8), 0.7)
}

fn somewhere_else() -> DAffine3 {
    DAffine3::from_rotation_translation(
        DQuat::from_scaled_axis(DVec3::new(0.7, -1.1, 2.0)),
        DVec3::new(3.0, -7.0, 11.0),
    )
}

/// Points of a grid with one quad per cell, and a rig without joints of it.
fn sheet(columns: usize, rows: usize, place: impl Fn(usize, usize) -> Vec3) -> Arc<Rig> {
    let positions: Vec<Vec3> =
        (0..rows).flat_map(|r| (0..columns).map(move |c| (c, r))).map(|(c, r)| place(c, r)).collect();
    let at = |c: usize, r: usize| (r * columns + c) as u32;
    let mut triangles = Vec::new();
    for r in 0..rows - 1 {
        for c in 0..columns - 1 {
            triangles.push([at(c, r), at(c + 1, r), at(c + 1, r + 1)]);
            triangles.push([at(c, r), at(c + 1, r + 1), at(c, r + 1)]);
        }
    }
    jointless(positions, triangles)
}

fn jointless(positions: Vec<Vec3>, triangles: Vec<[u32; 3]>) -> Arc<Rig> {
    let weights = SkinWeights::none(positions.len());
    let control = Control { name: "smile".into(), default: 0.0 };
    let mesh = Mesh::new(positions, triangles, None).unwrap();
    Arc::new(Rig::new(mesh, Skeleton::empty(), weights, vec![control]).unwrap())
}

/// A lattice around the tube with displacements that follow no rule.
fn wavy(basis: LatticeBasis, counts: [usize; 3]) -> Lattice {
    let mut lattice =
        Lattice::at_rest(DVec3::new(-0.1, -0.6, -0.6), DVec3::new(6.1, 0.6, 0.6), counts, basis);
    for (index, displacement) in lattice.displacements.iter_mut().enumerate() {
        let x = index as f64;
        *displacement = 0.2 * DVec3::new((1.3 * x).sin(), (2.1 * x).cos(), (0.7 * x).sin());
    }
    lattice
}

#[test]
fn a_skinning_step_is_the_skinning() {
    let rig = tube();
    let pose = bent(&rig);
    let points: Vec<DVec3> = rest_of(&rig).iter().map(|p| *p + 0.1 * p.yzx()).collect();
    for base in [BaseSkinning::Rigid, BaseSkinning::LinearBlend, BaseSkinning::DualQuaternion] {
        let posed = run(&mut bind(&rig, vec![Deformer::Skinning(base)]), &pose, &points);
        let skinning = PosedSkinning::new(base, &rig, &pose);
        let expected: Vec<DVec3> = (0..points.len()).map(|v| skinning.position(v, points[v])).collect();
        assert_eq!(posed, expected, "{base:?}");
    }
}

#[test]
fn a_lattice_at_rest_changes_nothing_and_an_affine_one_is_the_affine_map() {
    let rig = tube();
    let rest = rest_of(&rig);
    let map = DAffine3 {
        matrix3: DMat3::from_cols(
            DVec3::new(1.2, 0.1, -0.3),
            DVec3::new(0.4, 0.7, 0.2),
            DVec3::new(-0.1, 0.5, 1.6),
        ),
        translation: DVec3::new(2.0, -1.0, 0.5),
    };
    for basis in LatticeBasis::ALL {
        for counts in [[2, 2, 2], [3, 4, 2], [7, 5, 6]] {
            let mut lattice =
                Lattice { displacements: vec![DVec3::ZERO; counts.iter().product()], ..wavy(basis, counts) };
            let steps = |lattice: &Lattice| vec![Deformer::Lattice(lattice.clone()), LINEAR];
            assert_eq!(
                run(&mut bind(&rig, steps(&lattice)), &rig.rest_pose(), &rest),
                rest_of_skinning(&rig)
            );
            for (displacement, point) in
                lattice.displacements.iter_mut().zip(wavy(basis, counts).rest_points())
            {
                *displacement = map.transform_point3(point) - point;
            }
            let moved = run(&mut bind(&rig, steps(&lattice)), &rig.rest_pose(), &rest);
            let expected: Vec<DVec3> = rest.iter().map(|p| map.transform_point3(*p)).collect();
            assert!(furthest(&moved, &expected) < 1e-6, "{basis:?} {counts:?}");
        }
    }
}

/// Skinning at rest is the identity up to rounding of the bind matrices.
fn rest_of_skinning(rig: &Arc<Rig>) -> Vec<DVec3> {
    run(&mut bind(rig, vec![LINEAR]), &rig.rest_pose(), &rest_of(rig))
}

/// Against the sum over all control points of products of Bernstein polynomials, and of hats.
#[test]
fn lattices_agree_with_their_formulas() {
    let choose = |n: usize, k: usize| (0..k).fold(1.0, |c, i| c * (n - i) as f64 / (i + 1) as f64);
    let bernstein =
        |n: usize, k: usize, t: f64| choose(n, k) * t.powi(k as i32) * (1.0 - t).powi((n - k) as i32);
    let hat = |n: usize, k: usize, t: f64| (1.0 - (t * n as f64 - k as f64).abs()).max(0.0);
    let rig =
        sheet(5, 4, |c, r| Vec3::new(0.1 + 0.2 * c as f32, 0.05 + 0.3 * r as f32, 0.07 * (c * r) as f32));
    let rest = rest_of(&rig);
    let counts = [4, 3, 5];
    for basis in [LatticeBasis::Bernstein, LatticeBasis::Trilinear] {
        let lattice =
            Lattice { lowest: DVec3::ZERO, highest: DVec3::new(1.0, 1.0, 2.0), ..wavy(basis, counts) };
        let moved = run(&mut bind(&rig, vec![Deformer::Lattice(lattice.clone())]), &rig.rest_pose(), &rest);
        for (vertex, point) in rest.iter().enumerate() {
            let t = *point / DVec3::new(1.0, 1.0, 2.0);
            let mut expected = *point;
            for (index, displacement) in lattice.displacements.iter().enumerate() {
                let at = [index % 4, index / 4 % 3, index / 12];
                let share = |axis: usize| match basis {
                    LatticeBasis::Bernstein => bernstein(counts[axis] - 1, at[axis], t[axis]),
                    _ => hat(counts[axis] - 1, at[axis], t[axis]),
                };
                expected += share(0) * share(1) * share(2) * *displacement;
            }
            assert!(moved[vertex].distance(expected) < 1e-12, "{basis:?} vertex {vertex}");
        }
    }
}

/// A uniform cubic B-spline is 1/6, 4/6, 1/6 at its inner knots, and (1, 23, 23, 1)/48 between them.
#[test]
fn b_splines_have_their_known_values() {
    // Knots at 0, 1/6, … 1: nine control points, the middle one over the middle knot.
    let rig = sheet(13, 2, |c, r| Vec3::new(c as f32 / 12.0, r as f32, 0.0));
    let mut lattice =
        Lattice::at_rest(DVec3::new(0.0, 0.0, -1.0), DVec3::ONE, [9, 2, 2], LatticeBasis::BSpline);
    for layer in 0..4 {
        lattice.displacements[4 + 9 * layer] = DVec3::Z * 48.0;
    }
    let moved = run(&mut bind(&rig, vec![Deformer::Lattice(lattice)]), &rig.rest_pose(), &rest_of(&rig));
    let heights: Vec<f64> = moved[..13].iter().map(|p| p.z).collect();
    let expected = [0.0, 0.0, 0.0, 1.0, 8.0, 23.0, 32.0, 23.0, 8.0, 1.0, 0.0, 0.0, 0.0];
    assert!(heights.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-5), "{heights:?}");
}

#[test]
fn outside_of_its_box_a_lattice_clamps_or_fades() {
    let rig = sheet(41, 2, |c, r| Vec3::new(c as f32 * 0.1, r as f32, 0.0));
    let mut lattice =
        Lattice::at_rest(DVec3::new(1.0, -1.0, -1.0), DVec3::splat(2.0), [2, 2, 2], LatticeBasis::Trilinear);
    lattice.displacements.fill(DVec3::Z);
    let clamped =
        run(&mut bind(&rig, vec![Deformer::Lattice(lattice.clone())]), &rig.rest_pose(), &rest_of(&rig));
    assert!(clamped.iter().all(|p| (p.z - 1.0).abs() < 1e-12), "moves as the nearest point of the box");
    lattice.fade = Some(0.5);
    let faded = run(&mut bind(&rig, vec![Deformer::Lattice(lattice)]), &rig.rest_pose(), &rest_of(&rig));
    for (vertex, point) in faded.iter().enumerate().take(41) {
        let outside = (1.0 - point.x).max(point.x - 2.0).max(0.0);
        let x = (outside / 0.5).min(1.0);
        let expected = 1.0 - 3.0 * x * x + 2.0 * x * x * x;
        assert!((point.z - expected).abs() < 1e-6, "vertex {vertex}: {} for {expected}", point.z);
    }
}

#[test]
fn a_lattice_follows_controls_and_joints() {
    let rig = tube();
    let rest = rest_of(&rig);
    let after_skinning = |amount: Amount, pose: &Pose| {
        let mut lattice = wavy(LatticeBasis::Bernstein, [3, 2, 2]);
        lattice.displacements.fill(DVec3::Z);
        lattice.amount = amount;
        let moved = run(&mut bind(&rig, vec![LINEAR, Deformer::Lattice(lattice)]), pose, &rest);
        let skinned = run(&mut bind(&rig, vec![LINEAR]), pose, &rest);
        (moved[40] - skinned[40]).length()
    };
    let pose = pose(&rig, DVec3::new(0.0, 0.6, 0.8), DVec3::ZERO, 0.7);
    let control = Amount::Control { control: "heavy".into(), factor: 2.0 };
    assert!((after_skinning(control, &pose) - 1.4).abs() < 1e-6);
    let angle = Amount::JointAngle { joint: "elbow".into(), factor: -3.0 };
    assert!((after_skinning(angle.clone(), &pose) - 3.0).abs() < 1e-6, "a turn by one radian");
    assert!(after_skinning(angle, &rig.rest_pose()) < 1e-6);
}

#[test]
fn a_lattice_after_skinning_rides_on_its_joint() {
    let rig = tube();
    let rest = rest_of(&rig);
    let pose = bent(&rig);
    let lattice = Lattice { frame: Some("wrist".into()), ..wavy(LatticeBasis::BSpline, [5, 4, 4]) };
    // A skin that hangs on the wrist alone: the lattice may act before or after.
    let on_wrist = rigid_tube(&rig);
    let before = run(&mut bind(&on_wrist, vec![Deformer::Lattice(lattice.clone()), LINEAR]), &pose, &rest);
    let after = run(&mut bind(&on_wrist, vec![LINEAR, Deformer::Lattice(lattice)]), &pose, &rest);
    assert!(furthest(&before, &after) < 1e-6);
    assert!(furthest(&before, &run(&mut bind(&on_wrist, vec![LINEAR]), &pose, &rest)) > 0.05);
}

/// The tube with all of its skin on the wrist.
fn rigid_tube(rig: &Rig) -> Arc<Rig> {
    let lists = (0..rig.vertex_count()).map(|_| vec![Influence { joint: 2, weight: 1.0 }]);
    let (weights, _) = SkinWeights::new(3, lists).unwrap();
    Arc::new(Rig::new(rig.mesh().clone(), rig.skeleton().clone(), weights, rig.controls().to_vec()).unwrap())
}

fn smoothings() -> Vec<Smoothing> {
    let by_length = Smoothing { weighting: SmoothingWeighting::EdgeLength, ..Smoothing::corrective() };
    vec![Smoothing::delta_mush(), Smoothing::corrective(), by_length]
}

#[test]
fn smoothing_keeps_the_rest_shape() {
    let rig = tube();
    for smoothing in smoothings() {
        let smooth = run(
            &mut bind(&rig, vec![LINEAR, Deformer::Smoothing(smoothing)]),
            &rig.rest_pose(),
            &rest_of(&rig),
        );
        assert!(furthest(&smooth, &rest_of(&rig)) < 1e-6, "{smoothing:?}");
    }
}

/// Without the detail put back: one pass on a fan, by hand.
#[test]
fn one_pass_of_smoothing_by_hand() {
    let centre = Vec3::new(0.0, 0.0, 2.0);
    let ring = [Vec3::X, Vec3::Y * 2.0, -Vec3::X * 3.0, -Vec3::Y];
    let positions: Vec<Vec3> = std::iter::once(centre).chain(ring).collect();
    let rig = jointless(positions, vec![[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 1]]);
    let pass = |weighting, pin_borders| {
        let settings = Smoothing { iterations: 1, factor: 0.4, weighting, pin_borders, detail: 0.0 };
        run(&mut bind(&rig, vec![Deformer::Smoothing(settings)]), &rig.rest_pose(), &rest_of(&rig))
    };
    let mean = ring.iter().map(|p| p.as_dvec3()).sum::<DVec3>() / 4.0;
    let uniform = pass(SmoothingWeighting::Uniform, true);
    assert!(uniform[0].distance(centre.as_dvec3().lerp(mean, 0.4)) < 1e-12);
    assert_eq!(uniform[1], DVec3::X, "the border is pinned");
    let edges = ring.map(|p| (p - centre).as_dvec3());
    let lengths: f64 = edges.iter().map(|e| e.length()).sum();
    let weighted: DVec3 = edges.iter().map(|e| *e * e.length()).sum::<DVec3>() / (4.0 * lengths) * 0.8;
    let by_length = pass(SmoothingWeighting::EdgeLength, false);
    assert!(by_length[0].distance(centre.as_dvec3() + weighted) < 1e-12);
    assert!(by_length[1].distance(DVec3::X) > 0.1, "the border moves");
}

/// A bump on a sheet that is rolled up: smoothing flattens the bump, detail restores it along the
/// turned normal.
#[test]
fn detail_turns_with_the_surface() {
    let height = |c: usize, r: usize| if (c, r) == (6, 6) { 0.3 } else { 0.0 };
    let rig = sheet(13, 13, |c, r| Vec3::new(c as f32, r as f32, height(c, r)));
    let radius = 12.0;
    let roll = |p: DVec3| {
        let angle = p.x / radius;
        DVec3::new((radius - p.z) * angle.sin(), p.y, radius - (radius - p.z) * angle.cos())
    };
    let rolled: Vec<DVec3> = rest_of(&rig).iter().map(|p| roll(*p)).collect();
    let bump = 6 * 13 + 6;
    let normal = roll(DVec3::new(6.0, 6.0, 1.0)) - roll(DVec3::new(6.0, 6.0, 0.0));
    for (detail, expected) in [(1.0, 0.3), (0.0, 0.05)] {
        let settings = Smoothing { detail, ..Smoothing::corrective() };
        let smooth = run(&mut bind(&rig, vec![Deformer::Smoothing(settings)]), &rig.rest_pose(), &rolled);
        let base = roll(DVec3::new(6.0, 6.0, 0.0));
        // Smoothing itself sinks a curved sheet a little towards its axis.
        let found = (smooth[bump] - base).dot(normal);
        assert!((found - expected).abs() < 0.1, "detail {detail}: {found} for {expected}");
        let sideways = (smooth[bump] - base - found * normal).length();
        assert!(sideways < 0.02, "detail {detail}: {sideways} sideways");
    }
}

#[test]
fn seams_stay_closed_and_odd_meshes_stay_finite() {
    let rig = tube();
    let pose = bent(&rig);
    // Corrections may pull seam vertices apart; smoothing must not.
    let pulled: Vec<DVec3> =
        rest_of(&rig).iter().enumerate().map(|(v, p)| *p + DVec3::Z * (v % 7) as f64 * 0.01).collect();
    for smoothing in smoothings() {
        let smooth = run(&mut bind(&rig, vec![LINEAR, Deformer::Smoothing(smoothing)]), &pose, &pulled);
        for ring in 0..RINGS {
            assert_eq!(smooth[ring * AROUND], smooth[ring * AROUND + AROUND - 1], "ring {ring}");
        }
    }
    // A loose vertex, a border and two triangles back to back.
    let positions = vec![Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::new(1.0, 1.0, 0.5), Vec3::splat(9.0)];
    let odd = jointless(positions, vec![[0, 1, 2], [2, 1, 0], [1, 3, 2]]);
    for smoothing in smoothings() {
        let mut bound = bind(&odd, vec![Deformer::Smoothing(smoothing)]);
        let same = run(&mut bound, &odd.rest_pose(), &rest_of(&odd));
        assert!(furthest(&same, &rest_of(&odd)) < 1e-9);
        let mut collapsed = vec![DVec3::ONE; 5];
        collapsed[4] = DVec3::NEG_X;
        assert_eq!(run(&mut bound, &odd.rest_pose(), &collapsed), collapsed);
    }
}

#[test]
fn a_wrap_follows_its_cage() {
    let rig = tube();
    let rest = rest_of(&rig);
    let pose = bent(&rig);
    let wrap = Deformer::Wrap(Wrap { cage: Cage::of_rig(&rig), nearest: 8 });
    let at_rest = run(&mut bind(&rig, vec![wrap.clone()]), &rig.rest_pose(), &rest);
    assert!(furthest(&at_rest, &rest) < 1e-6);
    let wrapped = run(&mut bind(&rig, vec![wrap]), &pose, &rest);
    let skinned = run(&mut bind(&rig, vec![LINEAR]), &pose, &rest);
    assert!(furthest(&wrapped, &skinned) < 0.15 * 0.5, "{}", furthest(&wrapped, &skinned));
    // Where one joint has all the weight, triangles move rigidly, and so does what they carry, also
    // away from the cage.
    let on_wrist = rigid_tube(&rig);
    let thicker: Vec<DVec3> = rest.iter().map(|p| DVec3::new(p.x, 1.7 * p.y, 1.7 * p.z)).collect();
    let cage = Cage::of_rig(&on_wrist);
    let wrapped = run(&mut bind(&on_wrist, vec![Deformer::Wrap(Wrap { cage, nearest: 3 })]), &pose, &thicker);
    let skinned = run(&mut bind(&on_wrist, vec![LINEAR]), &pose, &thicker);
    assert!(furthest(&wrapped, &skinned) < 1e-6, "binds are rigid up to f32");
}

/// One triangle of a cage that a joint stretches: points go with its affine map, and off its plane
/// by the root of the area's growth.
#[test]
fn a_triangle_of_a_cage_carries_points_affinely() {
    let joint = |name: &str, parent| Joint {
        name: name.into(),
        parent,
        reference: None,
        joint_from_rest: DAffine3::IDENTITY,
    };
    let skeleton = Skeleton::new(vec![joint("root", None), joint("corner", Some(0))]).unwrap();
    let positions = vec![Vec3::new(0.2, 0.3, 0.5), Vec3::new(0.5, 0.2, -0.4), Vec3::new(0.1, 0.1, 0.0)];
    let lists = (0..3).map(|_| vec![Influence { joint: 0, weight: 1.0 }]);
    let (weights, _) = SkinWeights::new(2, lists).unwrap();
    let mesh = Mesh::new(positions, vec![[0, 1, 2]], None).unwrap();
    let rig = Arc::new(Rig::new(mesh, skeleton, weights, vec![]).unwrap());
    let cage = Cage {
        positions: vec![Vec3::ZERO, Vec3::X, Vec3::Y],
        triangles: vec![[0, 1, 2]],
        joints: vec!["corner".into(), "root".into()],
        weights: [1, 0, 1].map(|joint| vec![Influence { joint, weight: 1.0 }]).to_vec(),
    };
    let mut pose = rig.rest_pose();
    pose.world_from_joint[1].translation = DVec3::X * 3.0;
    let moved = run(&mut bind(&rig, vec![Deformer::Wrap(Wrap { cage, nearest: 5 })]), &pose, &rest_of(&rig));
    let expected: Vec<DVec3> = rest_of(&rig).iter().map(|p| *p * DVec3::new(4.0, 1.0, 2.0)).collect();
    assert!(furthest(&moved, &expected) < 1e-12, "{moved:?}");
}

#[test]
fn chains_go_with_the_whole_character() {
    let rig = tube();
    let rest: Vec<DVec3> = rest_of(&rig).iter().map(|p| *p + 0.05 * p.zxy()).collect();
    let driven = Lattice {
        amount: Amount::JointAngle { joint: "elbow".into(), factor: 0.8 },
        fade: Some(0.3),
        ..wavy(LatticeBasis::BSpline, [6, 3, 4])
    };
    let wrap = Deformer::Wrap(Wrap { cage: Cage::of_rig(&rig), nearest: 4 });
    let lattice = Deformer::Lattice(driven);
    let mush = Deformer::Smoothing(Smoothing::delta_mush());
    let dual = Deformer::Skinning(BaseSkinning::DualQuaternion);
    for steps in [
        vec![lattice.clone(), LINEAR, mush.clone()],
        vec![wrap, lattice.clone(), Deformer::Smoothing(Smoothing::corrective())],
        vec![mush, dual, lattice.clone(), lattice],
    ] {
        let mut bound = bind(&rig, steps.clone());
        let pose = bent(&rig);
        let here = run(&mut bound, &pose, &rest);
        let there = run(&mut bound, &pose.moved_by(somewhere_else()), &rest);
        let expected: Vec<DVec3> = here.iter().map(|p| somewhere_else().transform_point3(*p)).collect();
        assert!(furthest(&there, &expected) < 1e-9, "{steps:?}");
        assert!(furthest(&here, &run(&mut bind(&rig, vec![LINEAR]), &pose, &rest)) > 0.01);
    }
}

/// Something outside that doubles what it gets, or gives nonsense.
struct Doubling(f64);

impl BlackBox for Doubling {
    fn deform(&mut self, _: &Pose, near_rest: &[DVec3], posed: &mut [DVec3]) -> Result<(), BlackBoxError> {
        near_rest.iter().zip(posed).for_each(|(from, to)| *to = *from * self.0);
        Ok(())
    }
}

#[test]
fn other_programs_are_part_of_a_chain() {
    let rig = tube();
    let chain = stack(vec![LINEAR, Deformer::External { name: "maker".into() }]);
    assert!(chain.has_external());
    let error = chain.bind(&rig).unwrap_err();
    assert_eq!(error, DeformerError::NotOpened { step: 2, name: "maker".into() });
    let mut asked = Vec::new();
    let mut bound = chain
        .bind_with(&rig, &mut |name| {
            asked.push(name.to_string());
            Ok(Box::new(Doubling(2.0)))
        })
        .unwrap();
    assert_eq!(asked, ["maker"]);
    assert!(bound.own_steps().is_none());
    assert!(format!("{bound:?}").contains("maker"));
    let doubled = run(&mut bound, &bent(&rig), &rest_of(&rig));
    let once = run(&mut bind(&rig, vec![LINEAR]), &bent(&rig), &rest_of(&rig));
    assert_eq!(doubled, once.iter().map(|p| *p * 2.0).collect::<Vec<_>>());

    let mut nonsense = chain.bind_with(&rig, &mut |_| Ok(Box::new(Doubling(f64::NAN)))).unwrap();
    let mut posed = rest_of(&rig);
    let error = nonsense.deform(&bent(&rig), &rest_of(&rig), &mut posed).unwrap_err();
    assert_eq!(error, BlackBoxError::NotFinite { vertex: 0 });
    let error = nonsense.deform(&bent(&rig), &[DVec3::ZERO], &mut [DVec3::ZERO]).unwrap_err();
    assert_eq!(error, BlackBoxError::VertexCount { found: 1, expected: rig.vertex_count() });
    let stranger = Pose { world_from_joint: vec![], controls: vec![] };
    let error = nonsense.deform(&stranger, &rest_of(&rig), &mut posed).unwrap_err().to_string();
    assert!(error.contains("0 joints"), "{error}");
    let refused = chain.bind_with(&rig, &mut |_| Err(BlackBoxError::Failed("no such file".into())));
    let message = refused.unwrap_err().to_string();
    assert!(message.contains("\"maker\"") && message.contains("no such file"), "{message}");
}

#[test]
fn what_does_not_fit_the_rig_is_named() {
    let rig = tube();
    let refused = |steps: Vec<Deformer>, words: &[&str]| {
        let message = stack(steps).bind(&rig).unwrap_err().to_string();
        assert!(words.iter().all(|word| message.contains(word)), "{message}");
    };
    let lattice = wavy(LatticeBasis::Bernstein, [3, 2, 2]);
    let with = |change: &dyn Fn(&mut Lattice)| {
        let mut changed = lattice.clone();
        change(&mut changed);
        vec![LINEAR, Deformer::Lattice(changed)]
    };
    refused(vec![], &["\"test\"", "no deformer"]);
    refused(vec![Deformer::Lattice(lattice.clone())], &["\"test\"", "skinning"]);
    refused(vec![LINEAR, LINEAR], &["1", "2", "both"]);
    refused(with(&|l| l.frame = Some("elbo".into())), &["deformer 2", "\"elbo\"", "\"elbow\""]);
    let control = Amount::Control { control: "heavyy".into(), factor: 1.0 };
    refused(with(&|l| l.amount = control.clone()), &["control \"heavyy\"", "\"heavy\""]);
    let angle = Amount::JointAngle { joint: "rist".into(), factor: 1.0 };
    refused(with(&|l| l.amount = angle.clone()), &["joint \"rist\"", "\"wrist\""]);
    refused(with(&|l| l.amount = Amount::Constant(f64::NAN)), &["amount"]);
    refused(with(&|l| l.counts = [4, 2, 2]), &["12", "4 × 2 × 2 = 16"]);
    refused(with(&|l| l.counts = [12, 1, 1]), &["1 control points along an axis"]);
    refused(with(&|l| l.counts = [usize::MAX, 2, 2]), &["along an axis"]);
    refused(with(&|l| l.displacements[5].y = f64::INFINITY), &["control point 5"]);
    refused(with(&|l| l.highest.y = l.lowest.y), &["volume"]);
    refused(with(&|l| l.fade = Some(0.0)), &["fade"]);
    let smoothing = |change: &dyn Fn(&mut Smoothing)| {
        let mut changed = Smoothing::delta_mush();
        change(&mut changed);
        vec![LINEAR, Deformer::Smoothing(changed)]
    };
    refused(smoothing(&|s| s.factor = 1.5), &["factor 1.5"]);
    refused(smoothing(&|s| s.factor = f64::NAN), &["factor"]);
    refused(smoothing(&|s| s.iterations = usize::MAX), &["iterations"]);
    refused(smoothing(&|s| s.detail = f64::NAN), &["detail"]);
    let wrap = |change: &dyn Fn(&mut Wrap)| {
        let mut changed = Wrap { cage: Cage::of_rig(&rig), nearest: 4 };
        change(&mut changed);
        vec![Deformer::Wrap(changed)]
    };
    refused(wrap(&|w| w.nearest = 0), &["nearest"]);
    refused(wrap(&|w| w.cage.joints[1] = "elbo".into()), &["\"elbo\"", "\"elbow\""]);
    refused(wrap(&|w| w.cage.triangles[0] = [0, 1, 9999]), &["9999"]);
    refused(wrap(&|w| w.cage.triangles.clear()), &["triangles"]);
    refused(wrap(&|w| w.cage.weights[3][0].joint = 17), &["vertex 3"]);
    refused(wrap(&|w| w.cage.weights.truncate(5)), &["5"]);
    refused(wrap(&|w| w.cage.positions[2].x = f32::NAN), &["vertex 2"]);
}
