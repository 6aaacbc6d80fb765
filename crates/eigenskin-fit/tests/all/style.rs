//! Style transfer: Kim's Figure 4, the formula against explicitly formed matrices, poses and joints
//! that differ, and what is refused.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use eigenskin_characters::{Character, cylinder, hand, square_bar};
use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::glam::{DAffine3, DQuat, DVec3, Vec3};
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::Unwatched;
use eigenskin_core::rig::{Control, Rig};
use eigenskin_core::skeleton::{Joint, Skeleton};
use eigenskin_core::skinning::{BaseSkinning, PosedSkinning, skinned_shape};
use eigenskin_core::weights::{Influence, SkinWeights};
use eigenskin_fit::metrics::vertex_errors;
use eigenskin_fit::style::{Form, Found, MatchedBy, Regions, Space, StyleError, StyleMap, StyleParams};

const TWIST: usize = 1;
const BEND: usize = 0;
const LINEAR: BaseSkinning = BaseSkinning::LinearBlend;
const DUAL: BaseSkinning = BaseSkinning::DualQuaternion;

/// The paper's whole-body map.
fn whole() -> StyleParams {
    StyleParams { regions: Regions::Whole, ..StyleParams::default() }
}

/// The same with a hard border, to compare with what was computed elsewhere.
fn of_the_paper() -> StyleParams {
    StyleParams { space: Some(Space::Skinning(BaseSkinning::Rigid)), ..whole() }
}

fn pose(bar: &Character, degree: usize, degrees: f64) -> Pose {
    let mut angles = [0.0; 2];
    angles[degree] = degrees.to_radians();
    bar.pose(&angles)
}

fn skinned(rig: &Arc<Rig>, poses: &[Pose], base: BaseSkinning) -> ExampleSet {
    let example = |(index, pose): (usize, &Pose)| {
        let positions = skinned_shape(base, rig, pose);
        Example {
            name: format!("frame {index}"),
            pose: pose.clone(),
            positions,
            normals: None,
            inverted: None,
        }
    };
    ExampleSet::new(rig.clone(), poses.iter().enumerate().map(example).collect()).unwrap()
}

/// Nine frames from rest to `degrees`, linear and dual quaternion.
fn frames(bar: &Character, degree: usize, degrees: f64) -> [ExampleSet; 2] {
    let poses: Vec<Pose> = (0..9).map(|frame| pose(bar, degree, degrees * f64::from(frame) / 8.0)).collect();
    [LINEAR, DUAL].map(|base| skinned(&bar.rig, &poses, base))
}

/// RMSE and MAXE with the length of the bar, 24, set to 100.
fn errors(shapes: &ExampleSet, truth: &ExampleSet) -> (f64, f64) {
    let pairs = shapes.examples().iter().zip(truth.examples());
    let errors: Vec<f64> =
        pairs.flat_map(|(a, b)| vertex_errors(&a.positions, &b.positions)).map(f64::from).collect();
    let squares: f64 = errors.iter().map(|e| e * e).sum();
    let scale = 100.0 / 24.0;
    (scale * (squares / errors.len() as f64).sqrt(), scale * errors.iter().copied().fold(0.0, f64::max))
}

fn transferred(
    x: &[ExampleSet; 2],
    y1: &ExampleSet,
    amount: f64,
    params: &StyleParams,
) -> Result<ExampleSet, StyleError> {
    Ok(StyleMap::capture(&x[0], &x[1], y1, params, &Unwatched)?.transfer(y1, amount, &Unwatched)?.set)
}

#[test]
fn figure_4_is_carried_from_the_bar_to_the_cylinders() {
    let bar = square_bar().unwrap();
    for (degree, name) in [(TWIST, "twist"), (BEND, "bend")] {
        for degrees in [90.0, 135.0, 170.0] {
            let x = frames(&bar, degree, degrees);
            for ring in [12, 20] {
                let [y1, truth] = frames(&cylinder(ring).unwrap(), degree, degrees);
                let before = errors(&y1, &truth);
                for regions in [Regions::Whole, Regions::joints()] {
                    let mut found = Vec::new();
                    for signals in 1..=9 {
                        let params =
                            StyleParams { signals: Some(signals), regions, ..StyleParams::default() };
                        let (rmse, largest) = errors(&transferred(&x, &y1, 1.0, &params).unwrap(), &truth);
                        found.push(format!("{rmse:.3}/{largest:.2}"));
                        if signals == 1 {
                            assert!(rmse <= before.0 && largest <= before.1 + 1e-4, "{rmse} {largest}");
                        } else {
                            assert!(rmse <= 0.20 && largest <= 1.3, "k = {signals}: {rmse} {largest}");
                        }
                    }
                    let vertices = y1.rig().vertex_count();
                    println!(
                        "{name} {degrees}° {vertices} {regions:?}: untransferred {:.3}/{:.2}, k = 1…9 {}",
                        before.0,
                        before.1,
                        found.join(" ")
                    );
                }
            }
        }
    }
}

/// Figures of a NumPy script that forms all matrices (`numpy.linalg.svd`, cut at the numerical rank),
/// hard borders: RMSE of the twist to 90°, 135° and 170°, then of the bend; 290 vertices.
#[test]
fn figure_4_has_the_errors_computed_elsewhere() {
    let bar = square_bar().unwrap();
    let round = cylinder(12).unwrap();
    let expected = [(TWIST, [0.046, 0.101, 0.157]), (BEND, [0.045, 0.100, 0.154])];
    for (degree, expected) in expected {
        for (degrees, expected) in [90.0, 135.0, 170.0].into_iter().zip(expected) {
            let x = frames(&bar, degree, degrees);
            let [y1, truth] = frames(&round, degree, degrees);
            let map = StyleMap::capture(&x[0], &x[1], &y1, &of_the_paper(), &Unwatched).unwrap();
            // Linear blending of one turn has two signals: 1 − cos and sin.
            assert_eq!(map.report.rank, 2);
            let (rmse, _) = errors(&map.transfer(&y1, 1.0, &Unwatched).unwrap().set, &truth);
            assert!((rmse - expected).abs() < 6e-4, "{degrees}: {rmse}, expected {expected}");
        }
    }
}

#[test]
fn no_style_and_none_of_it_leave_the_target_to_the_bit() {
    let bar = square_bar().unwrap();
    let x = frames(&bar, BEND, 120.0);
    let [y1, _] = frames(&cylinder(12).unwrap(), BEND, 120.0);
    let bits = |set: &ExampleSet| -> Vec<[u32; 3]> {
        set.examples().iter().flat_map(|e| &e.positions).map(|p| p.to_array().map(f32::to_bits)).collect()
    };
    for regions in [Regions::Whole, Regions::joints()] {
        for space in [Space::NearestBones, Space::Skinning(BaseSkinning::Rigid), Space::Skinning(DUAL)] {
            let params = StyleParams { regions, space: Some(space), ..StyleParams::default() };
            let none = transferred(&x, &y1, 0.0, &params).unwrap();
            assert_eq!(none, y1);
            assert_eq!(bits(&none), bits(&y1));
            let same = transferred(&[x[0].clone(), x[0].clone()], &y1, 1.0, &params).unwrap();
            assert_eq!(bits(&same), bits(&y1));
            let all = transferred(&x, &y1, 1.0, &params).unwrap();
            assert_ne!(bits(&all), bits(&y1));
            // Half is half of the way.
            let half = transferred(&x, &y1, 0.5, &params).unwrap();
            for ((a, b), c) in y1.examples().iter().zip(half.examples()).zip(all.examples()) {
                for ((a, b), c) in a.positions.iter().zip(&b.positions).zip(&c.positions) {
                    assert!((*a + *c).distance(2.0 * *b) < 1e-5);
                }
            }
        }
    }
    // A style of nothing between poses that must be interpolated is nothing too.
    let few: Vec<usize> = vec![0, 2, 5, 8];
    let sparse = x[0].select(&few).unwrap();
    let same = transferred(&[sparse.clone(), sparse], &y1, 1.0, &StyleParams::default()).unwrap();
    assert_eq!(bits(&same), bits(&y1));
}

/// A dense matrix, slow and plain.
#[derive(Clone)]
struct Dense {
    rows: usize,
    columns: usize,
    values: Vec<f64>,
}

impl Dense {
    fn of(rows: usize, columns: usize, value: impl Fn(usize, usize) -> f64) -> Self {
        let values = (0..rows * columns).map(|i| value(i / columns, i % columns)).collect();
        Self { rows, columns, values }
    }

    fn at(&self, row: usize, column: usize) -> f64 {
        self.values[row * self.columns + column]
    }

    fn times(&self, other: &Self) -> Self {
        assert_eq!(self.columns, other.rows);
        Self::of(self.rows, other.columns, |r, c| {
            (0..self.columns).map(|k| self.at(r, k) * other.at(k, c)).sum()
        })
    }

    fn minus(&self, other: &Self) -> Self {
        Self::of(self.rows, self.columns, |r, c| self.at(r, c) - other.at(r, c))
    }

    fn transposed(&self) -> Self {
        Self::of(self.columns, self.rows, |r, c| self.at(c, r))
    }

    /// The pseudo-inverse by one-sided Jacobi rotations (Hestenes 1958), of the `most` longest
    /// directions above `cut` of the longest.
    fn pseudo_inverse(&self, cut: f64, most: usize) -> Self {
        if self.columns > self.rows {
            return self.transposed().pseudo_inverse(cut, most).transposed();
        }
        let n = self.columns;
        let (mut u, mut v) = (self.clone(), Self::of(n, n, |r, c| f64::from(u8::from(r == c))));
        for _ in 0..60 {
            for p in 0..n {
                for q in p + 1..n {
                    let dot = |a: usize, b: usize| (0..u.rows).map(|r| u.at(r, a) * u.at(r, b)).sum::<f64>();
                    let (app, aqq, apq) = (dot(p, p), dot(q, q), dot(p, q));
                    if apq.abs() <= 1e-17 * (app * aqq).sqrt() {
                        continue;
                    }
                    let tau = (aqq - app) / (2.0 * apq);
                    let t = tau.signum() / (tau.abs() + (1.0 + tau * tau).sqrt());
                    let (c, s) = (1.0 / (1.0 + t * t).sqrt(), t / (1.0 + t * t).sqrt());
                    for matrix in [&mut u, &mut v] {
                        for row in 0..matrix.rows {
                            let (a, b) = (matrix.at(row, p), matrix.at(row, q));
                            matrix.values[row * n + p] = c * a - s * b;
                            matrix.values[row * n + q] = s * a + c * b;
                        }
                    }
                }
            }
        }
        let squared: Vec<f64> = (0..n).map(|c| (0..u.rows).map(|r| u.at(r, c).powi(2)).sum()).collect();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| squared[b].total_cmp(&squared[a]));
        let longest = squared[order[0]];
        order.retain(|&c| squared[c] > cut * cut * longest);
        order.truncate(most);
        Self::of(n, u.rows, |r, c| order.iter().map(|&k| v.at(r, k) * u.at(c, k) / squared[k]).sum())
    }
}

/// Displacements from the heaviest joint, `3·vertex × frame`, found with matrices of our own.
fn rigid_displacements(set: &ExampleSet) -> Dense {
    let rig = set.rig();
    let rest = rig.mesh().positions();
    let columns: Vec<Vec<f64>> = set
        .examples()
        .iter()
        .map(|example| {
            let pulled = |vertex: usize| {
                let influences = rig.weights().of(vertex);
                let heaviest = influences
                    .iter()
                    .max_by(|a, b| a.weight.total_cmp(&b.weight).then(b.joint.cmp(&a.joint)));
                let joint = heaviest.unwrap().joint as usize;
                let bind = rig.skeleton().rest_from_joint()[joint];
                let back: DAffine3 = bind * example.pose.world_from_joint[joint].inverse();
                back.transform_point3(example.positions[vertex].as_dvec3()) - rest[vertex].as_dvec3()
            };
            (0..rest.len()).flat_map(|vertex| pulled(vertex).to_array()).collect()
        })
        .collect();
    Dense::of(3 * rest.len(), columns.len(), |row, column| columns[column][row])
}

/// U⁺·T·U·Y1 and Y1·S1⁺·A1⁺·X2 with U and T formed, on meshes small enough for that.
#[test]
fn both_forms_are_those_of_explicit_matrices() {
    let (bar, round) = (cylinder(4).unwrap(), cylinder(3).unwrap());
    let cut = 1e-5;
    // Two turns at once: enough signals for a cut at k to matter.
    let poses = |character: &Character| -> Vec<Pose> {
        let turn = |f: usize| [1.9 * f as f64 / 5.0, 0.7 * (f * f) as f64 / 25.0];
        (0..6).map(|frame| character.pose(&turn(frame))).collect()
    };
    let x = [LINEAR, DUAL].map(|base| skinned(&bar.rig, &poses(&bar), base));
    let y1 = skinned(&round.rig, &poses(&round), LINEAR);
    let [x1, x2, y] = [&x[0], &x[1], &y1].map(rigid_displacements);
    for signals in [2, 3, 5] {
        let inverse = x1.pseudo_inverse(cut, signals);
        // (b) less what the kept signals say of X1 itself, as the default adds the style to Y1.
        let factored = y.times(&inverse).times(&x2.minus(&x1));
        let params = StyleParams { signals: Some(signals), ..of_the_paper() };
        let found = rigid_displacements(&transferred(&x, &y1, 1.0, &params).unwrap()).minus(&y);
        let largest = |m: &Dense| m.values.iter().fold(0.0f64, |a, x| a.max(x.abs()));
        assert!(largest(&factored) > 0.05, "{}", largest(&factored));
        assert!(largest(&found.minus(&factored)) < 1e-5, "k = {signals}");
        // (a): T and U as the paper has them, vertex × vertex.
        let projected = StyleParams { form: Form::Projected, ..params };
        let found = rigid_displacements(&transferred(&x, &y1, 1.0, &projected).unwrap()).minus(&y);
        let projector = inverse.times(&x1);
        let expected = factored.times(&projector);
        assert!(largest(&found.minus(&expected)) < 1e-5, "k = {signals}");
        // Five signals span all six frames, of which the first is rest.
        let apart = largest(&factored.minus(&expected));
        assert!(if signals < 5 { apart > 1e-3 } else { apart < 1e-6 }, "k = {signals}: {apart}");
    }
    // With all signals and Y1 within those of X1, U⁺TUY1 itself.
    let x_inverse = x1.pseudo_inverse(cut, 99);
    let space = x1.times(&y.pseudo_inverse(cut, 99));
    let style = x2.times(&x_inverse);
    let paper = space.pseudo_inverse(cut, 99).times(&style).times(&space).times(&y);
    let projected = StyleParams { form: Form::Projected, ..of_the_paper() };
    let found = rigid_displacements(&transferred(&x, &y1, 1.0, &projected).unwrap());
    let off = found.minus(&paper).values.iter().fold(0.0f64, |a, d| a.max(d.abs()));
    assert!(off < 2e-3, "{off}");
}

#[test]
fn forms_agree_where_the_signals_of_the_style_are_within_the_first() {
    let bar = square_bar().unwrap();
    let [x1, dual] = frames(&bar, BEND, 120.0);
    let [y1, _] = frames(&cylinder(12).unwrap(), BEND, 120.0);
    let difference = |x2: &ExampleSet| {
        let x = [x1.clone(), x2.clone()];
        let [a, b] = [Form::Factored, Form::Projected].map(|form| {
            let space = Some(Space::NearestBones);
            transferred(&x, &y1, 1.0, &StyleParams { form, space, ..whole() }).unwrap()
        });
        (errors(&a, &b).1, errors(&a, &y1).1)
    };
    // A style that exaggerates: displacements from the nearest bone times 1.3, the same signals.
    let rest = bar.rig.mesh().positions();
    let exaggerated = x1.examples().iter().map(|example| {
        let skinning = PosedSkinning::new(BaseSkinning::Rigid, &bar.rig, &example.pose);
        let pulled =
            |v: usize| skinning.inverse_position(v, example.positions[v].as_dvec3(), rest[v].as_dvec3());
        let position = |v: usize| {
            let rest = rest[v].as_dvec3();
            skinning.position(v, rest + 1.3 * (pulled(v) - rest)).as_vec3()
        };
        Example { positions: (0..rest.len()).map(position).collect(), ..example.clone() }
    });
    let exaggerated = ExampleSet::new(bar.rig.clone(), exaggerated.collect()).unwrap();
    let rigid = |x2: &ExampleSet| {
        let x = [x1.clone(), x2.clone()];
        let [a, b] = [Form::Factored, Form::Projected]
            .map(|form| transferred(&x, &y1, 1.0, &StyleParams { form, ..of_the_paper() }).unwrap());
        (errors(&a, &b).1, errors(&a, &y1).1)
    };
    let (apart, change) = rigid(&exaggerated);
    assert!(apart < 1e-4 && change > 1.0, "{apart} {change}");
    let (apart, change) = difference(&dual);
    assert!(apart > 0.05 && change > 1.0, "{apart} {change}");
}

#[test]
fn what_a_style_adds_has_no_step_between_bones() {
    // Rings so dense that neighbours stand for one another: the border is at the middle.
    let bar = square_bar().unwrap();
    let x = frames(&bar, BEND, 135.0);
    let [y1, truth] = frames(&cylinder(20).unwrap(), BEND, 135.0);
    // Two columns of vertices at the same place, one bound a little more to the one bone, one to the other.
    let step = |space: Space| {
        let rig = y1.rig();
        let weights = |upper: f32| {
            let lists = (0..rig.vertex_count()).map(|vertex| {
                let y = rig.mesh().positions()[vertex].y;
                let own = rig.weights().of(vertex).to_vec();
                if y.abs() > 0.75 {
                    return own;
                }
                let influence = |joint, weight| Influence { joint, weight };
                vec![influence(0, 1.0 - upper), influence(1, upper)]
            });
            SkinWeights::new(2, lists).unwrap().0
        };
        let shapes = [0.4999f32, 0.5001].map(|upper| {
            let rig = Rig::new(rig.mesh().clone(), rig.skeleton().clone(), weights(upper), vec![]).unwrap();
            let poses: Vec<Pose> = y1.examples().iter().map(|e| e.pose.clone()).collect();
            let y1 = skinned(&Arc::new(rig), &poses, LINEAR);
            transferred(&x, &y1, 1.0, &StyleParams { space: Some(space), ..StyleParams::default() }).unwrap()
        });
        errors(&shapes[0], &shapes[1]).1
    };
    let (smooth, hard) = (step(Space::NearestBones), step(Space::Skinning(BaseSkinning::Rigid)));
    println!("a step of {hard:.3} between bones becomes {smooth:.3}, of 100");
    assert!(smooth < 0.05 && hard > 10.0 * smooth, "{smooth} {hard}");
    assert!(errors(&y1, &truth).0 > 0.5);
}

#[test]
fn poses_are_found_by_their_angles_in_any_order() {
    let bar = square_bar().unwrap();
    let x = frames(&bar, TWIST, 135.0);
    let [y1, truth] = frames(&cylinder(12).unwrap(), TWIST, 135.0);
    let straight = transferred(&x, &y1, 1.0, &whole()).unwrap();
    // Other orders, other places, no rest frame.
    let order = [8, 3, 1, 2, 7, 6, 5, 4];
    let shuffled = [&x[0], &x[1]].map(|set| set.select(&order).unwrap());
    let moved = DAffine3::from_rotation_translation(DQuat::from_rotation_z(0.7), DVec3::new(3.0, 1.0, -2.0));
    let examples = shuffled[1].examples().iter().rev().map(|example| Example {
        pose: example.pose.moved_by(moved),
        positions: example.positions.iter().map(|p| moved.transform_point3(p.as_dvec3()).as_vec3()).collect(),
        ..example.clone()
    });
    let elsewhere = ExampleSet::new(bar.rig.clone(), examples.collect()).unwrap();
    let map = StyleMap::capture(&shuffled[0], &elsewhere, &y1, &whole(), &Unwatched).unwrap();
    assert_eq!(map.report.found[0], [Found::AtRest; 2]);
    assert_eq!(map.report.found[3], [Found::Example(1), Found::Example(6)]);
    let found = map.transfer(&y1, 1.0, &Unwatched).unwrap().set;
    assert!(errors(&found, &straight).1 < 1e-3, "{:?}", errors(&found, &straight));
    assert!(errors(&found, &truth).0 < 0.12);
}

#[test]
fn missing_poses_are_interpolated_and_told() {
    let bar = square_bar().unwrap();
    let round = cylinder(12).unwrap();
    // The style was shown every 15° to 120°; the target stands elsewhere, once beyond.
    let poses = |bar: &Character, degrees: &[f64]| -> Vec<Pose> {
        degrees.iter().map(|&degrees| pose(bar, BEND, degrees)).collect()
    };
    let shown: Vec<f64> = (1..=8).map(|step| 15.0 * f64::from(step)).collect();
    let asked = [10.0, 35.0, 45.0, 70.0, 100.0, 115.0, 130.0];
    let x = [LINEAR, DUAL].map(|base| skinned(&bar.rig, &poses(&bar, &shown), base));
    let [y1, truth] = [LINEAR, DUAL].map(|base| skinned(&round.rig, &poses(&round, &asked), base));
    let map = StyleMap::capture(&x[0], &x[1], &y1, &StyleParams::default(), &Unwatched).unwrap();
    let found: Vec<Found> = map.report.found.iter().map(|found| found[0]).collect();
    assert_eq!(found[2], Found::Example(2));
    assert_eq!(found.iter().filter(|&&f| f == Found::Interpolated).count(), 6);
    let [beyond] = &map.report.extrapolations[..] else { panic!("{:?}", map.report.extrapolations) };
    assert_eq!((beyond.pose.as_str(), beyond.joint.as_str()), ("frame 6", "upper"));
    assert!((beyond.beyond.to_degrees() - 10.0).abs() < 0.01);
    let shapes = map.transfer(&y1, 1.0, &Unwatched).unwrap().set;
    let within: Vec<usize> = (0..6).collect();
    let [shapes, truth, before] = [&shapes, &truth, &y1].map(|set| set.select(&within).unwrap());
    let (after, before) = (errors(&shapes, &truth).0, errors(&before, &truth).0);
    println!("interpolated: {after:.3} of an untransferred {before:.3}");
    assert!(after < 0.35 * before, "{after} {before}");
}

/// The paper's bodies: 39,808 and 38,389 vertices, 55 frames.
#[test]
fn a_body_takes_a_fraction_of_a_second() {
    let [male, female] = [79_612, 76_774].map(|triangles| hand(triangles).unwrap());
    let poses = |body: &Character| -> Vec<Pose> {
        body.multi_joint_poses(49, 5).into_iter().map(|named| named.pose).collect()
    };
    let (shown, asked) = (poses(&male), poses(&female));
    assert_eq!(shown.len(), 55);
    let start = Instant::now();
    let x = [LINEAR, DUAL].map(|base| skinned(&male.rig, &shown, base));
    let y1 = skinned(&female.rig, &asked, LINEAR);
    let skinning = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let map = StyleMap::capture(&x[0], &x[1], &y1, &StyleParams::default(), &Unwatched).unwrap();
    let captured = start.elapsed().as_secs_f64();
    let done = map.transfer(&y1, 1.0, &Unwatched).unwrap();
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{} → {} vertices, 55 frames: {seconds:.3} s (capture {captured:.3} s); skinning these frames {skinning:.3} s",
        male.rig.vertex_count(),
        female.rig.vertex_count()
    );
    let truth = skinned(&female.rig, &asked, DUAL);
    assert!(errors(&done.set, &truth).0 < 0.5 * errors(&y1, &truth).0);
    // T and U of 39,808² entries would take minutes; this is about what posing the frames takes.
    assert!(seconds < 4.0 * skinning, "{seconds} s, skinning {skinning} s");
}

fn renamed(rig: &Rig, names: &[&str]) -> Arc<Rig> {
    let joints = rig.skeleton().joints().iter().zip(names);
    let joints = joints.map(|(joint, name)| Joint { name: (*name).to_string(), ..joint.clone() }).collect();
    let skeleton = Skeleton::new(joints).unwrap();
    Arc::new(Rig::new(rig.mesh().clone(), skeleton, rig.weights().clone(), vec![]).unwrap())
}

fn on_rig(set: &ExampleSet, rig: Arc<Rig>) -> ExampleSet {
    ExampleSet::new(rig, set.examples().to_vec()).unwrap()
}

#[test]
fn joints_are_matched_by_name_by_map_or_by_order() {
    let bar = square_bar().unwrap();
    let x = frames(&bar, BEND, 90.0);
    let [y1, _] = frames(&cylinder(12).unwrap(), BEND, 90.0);
    let plain = transferred(&x, &y1, 1.0, &StyleParams::default()).unwrap();
    let shape =
        |set: &ExampleSet| set.examples().iter().flat_map(|e| e.positions.clone()).collect::<Vec<Vec3>>();
    let other = on_rig(&y1, renamed(y1.rig(), &["hip", "knee"]));
    let map = StyleMap::capture(&x[0], &x[1], &other, &StyleParams::default(), &Unwatched).unwrap();
    assert_eq!(map.report.matched_by, MatchedBy::Order);
    assert_eq!(shape(&map.transfer(&other, 1.0, &Unwatched).unwrap().set), shape(&plain));
    let names = |pairs: &[(&str, &str)]| -> StyleParams {
        let joint_map: BTreeMap<String, String> =
            pairs.iter().map(|(a, b)| ((*a).to_string(), (*b).to_string())).collect();
        StyleParams { joint_map: Some(joint_map), ..StyleParams::default() }
    };
    let mixed = on_rig(&y1, renamed(y1.rig(), &["lower", "knee"]));
    let error = StyleMap::capture(&x[0], &x[1], &mixed, &StyleParams::default(), &Unwatched).unwrap_err();
    assert_eq!(error, StyleError::NoCounterpart { joint: "knee".into() });
    let map = StyleMap::capture(&x[0], &x[1], &mixed, &names(&[("knee", "upper")]), &Unwatched).unwrap();
    assert_eq!(map.report.matched_by, MatchedBy::Map);
    assert_eq!(shape(&map.transfer(&mixed, 1.0, &Unwatched).unwrap().set), shape(&plain));
    let refused = |params: &StyleParams| {
        StyleMap::capture(&x[0], &x[1], &mixed, params, &Unwatched).unwrap_err().to_string()
    };
    assert!(refused(&names(&[("knie", "upper")])).contains("\"knie\", which the target does not have"));
    assert!(refused(&names(&[("knee", "uper")])).contains("\"uper\", which the character that shows"));
    assert!(refused(&names(&[("knee", "lower")])).contains("both have the counterpart \"lower\""));
    let swapped = refused(&names(&[("knee", "lower"), ("lower", "upper")]));
    assert!(
        swapped.contains("\"lower\" hangs on \"nothing\"") && swapped.contains("\"lower\"; both"),
        "{swapped}"
    );
}

/// Faces: no joints, poses are values of controls, and nothing is measured from bones.
#[test]
fn a_face_without_joints_takes_a_style_too() {
    let face = |ring: usize| -> Arc<Rig> {
        let mesh = cylinder(ring).unwrap().rig.mesh().clone();
        let weights = SkinWeights::none(mesh.vertex_count());
        let controls = ["smile", "frown"].map(|name| Control { name: name.into(), default: 0.0 });
        Arc::new(Rig::new(mesh, Skeleton::empty(), weights, controls.to_vec()).unwrap())
    };
    // Smiles widen, frowns lift; the style makes smiles twice as wide.
    let shapes = |rig: &Arc<Rig>, wide: f32| -> ExampleSet {
        let example = |(index, [smile, frown]): (usize, [f32; 2])| {
            let moved = |p: &Vec3| *p + Vec3::new(wide * smile * 0.3 * p.x, frown * 0.2 * p.z, 0.0);
            let positions = rig.mesh().positions().iter().map(moved).collect();
            let controls = vec![f64::from(smile), f64::from(frown)];
            let pose = Pose { world_from_joint: vec![], controls };
            Example { name: format!("face {index}"), pose, positions, normals: None, inverted: None }
        };
        let values = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.2, 0.9]];
        ExampleSet::new(rig.clone(), values.into_iter().enumerate().map(example).collect()).unwrap()
    };
    let (source, target) = (face(12), face(20));
    let x = [shapes(&source, 1.0), shapes(&source, 2.0)];
    let (y1, truth) = (shapes(&target, 1.0), shapes(&target, 2.0));
    for regions in [Regions::Whole, Regions::joints()] {
        let params = StyleParams { regions, ..StyleParams::default() };
        let found = transferred(&x, &y1, 1.0, &params).unwrap();
        let (after, before) = (errors(&found, &truth).1, errors(&y1, &truth).1);
        assert!(before > 1.0 && after < 1e-3 * before, "{after} {before}");
    }
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let bar = square_bar().unwrap();
    let x = frames(&bar, BEND, 90.0);
    let [y1, _] = frames(&cylinder(12).unwrap(), BEND, 90.0);
    let refused = |x1: &ExampleSet, x2: &ExampleSet, y1: &ExampleSet, params: &StyleParams| {
        StyleMap::capture(x1, x2, y1, params, &Unwatched).unwrap_err().to_string()
    };
    let default = StyleParams::default();
    let other = refused(&x[0], &y1, &y1, &default);
    assert!(other.contains("not of one character") && other.contains("290 vertices"), "{other}");
    let few = refused(&x[0], &x[1], &y1.select(&[0, 3]).unwrap(), &default);
    assert!(few.contains("1 of the at least 2"), "{few}");
    let unshared = refused(&x[0].select(&[0, 3]).unwrap(), &x[1], &y1, &default);
    assert!(unshared.contains("7 of the target's poses") && unshared.contains("too few"), "{unshared}");
    let from_linear = StyleParams { space: Some(Space::Skinning(LINEAR)), ..default.clone() };
    let still = refused(&x[0], &x[1], &y1, &from_linear);
    assert!(still.contains("away from linear blending"), "{still}");
    let none = refused(&x[0], &x[1], &y1, &StyleParams { signals: Some(0), ..default.clone() });
    assert!(none.contains("at least 1, not 0"), "{none}");
    let map = StyleMap::capture(&x[0], &x[1], &y1, &default, &Unwatched).unwrap();
    assert!(map.transfer(&y1, f64::NAN, &Unwatched).is_err());
    assert_eq!(
        map.transfer(&y1.select(&[1, 2]).unwrap(), 1.0, &Unwatched).unwrap_err(),
        StyleError::OtherPoses { expected: 9, found: 2 }
    );
}
