//! Kernels and widths that nobody gave (docs/methods/widths.md): what an artist may rely on.

use std::sync::Arc;

use eigenskin_characters::tube::{pose, set_of, tube};
use eigenskin_core::evaluate::Evaluator;
use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::glam::{DAffine3, DVec3, Vec3};
use eigenskin_core::model::Model;
use eigenskin_core::pose::Pose;
use eigenskin_core::rig::Rig;
use eigenskin_fit::method::PsdParams;

use crate::support::learn;
use crate::support::psd::{REST, setting};

/// Numbers in [0, 1), the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.next()
    }

    fn direction(&mut self) -> DVec3 {
        DVec3::from_array(std::array::from_fn(|_| self.between(-1.0, 1.0)))
    }
}

/// A correction that is a smooth function of the angles of elbow and wrist: fields of their own for what each
/// joint does as 1 − cos and, less, as sin, and for what both do together.
struct Truth {
    rig: Arc<Rig>,
    axes: [DVec3; 2],
    /// `function × vertex`
    fields: Vec<Vec<DVec3>>,
}

impl Truth {
    fn new(random: &mut Random, rig: &Arc<Rig>) -> Self {
        let proportional = random.between(0.0, 0.6);
        let together = random.between(0.2, 1.0);
        let sizes = [1.0, proportional, 1.0, proportional, together, together, together];
        let fields = sizes
            .map(|size| (0..rig.vertex_count()).map(|_| 0.05 * size * random.direction()).collect())
            .to_vec();
        Self {
            rig: rig.clone(),
            axes: [random.direction().normalize(), random.direction().normalize()],
            fields,
        }
    }

    fn pose(&self, [elbow, wrist]: [f64; 2]) -> Pose {
        pose(&self.rig, self.axes[0] * elbow, self.axes[1] * wrist, REST)
    }

    fn functions([elbow, wrist]: [f64; 2]) -> [f64; 7] {
        let (round, straight) = (|x: f64| 1.0 - x.cos(), f64::sin);
        [
            round(elbow),
            straight(elbow),
            round(wrist),
            straight(wrist),
            straight(elbow) * straight(wrist),
            round(elbow) * straight(wrist),
            round(elbow) * round(wrist),
        ]
    }

    /// Linear blending, computed here, of what the skin is at rest: with its correction or without.
    fn shape(&self, angles: [f64; 2], corrected: bool) -> Vec<Vec3> {
        let (pose, functions) = (self.pose(angles), Self::functions(angles));
        let rest = self.rig.skeleton().rest_from_joint();
        let joints: Vec<DAffine3> = (0..3).map(|j| pose.world_from_joint[j] * rest[j].inverse()).collect();
        let skinned = |vertex: usize| {
            let mut at = self.rig.mesh().positions()[vertex].as_dvec3();
            if corrected {
                at += self.fields.iter().zip(functions).map(|(f, amount)| amount * f[vertex]).sum::<DVec3>();
            }
            let parts = self.rig.weights().of(vertex).iter();
            parts.map(|i| f64::from(i.weight) * joints[i.joint as usize].transform_point3(at)).sum::<DVec3>()
        };
        (0..self.rig.vertex_count()).map(|vertex| skinned(vertex).as_vec3()).collect()
    }

    fn model(&self, sculpts: &[[f64; 2]]) -> Arc<Model> {
        let example = |(number, &angles): (usize, &[f64; 2])| Example {
            name: format!("sculpt {number}"),
            pose: self.pose(angles),
            positions: self.shape(angles, true),
            normals: None,
            inverted: None,
        };
        let examples = sculpts.iter().enumerate().map(example).collect();
        let set = ExampleSet::new(self.rig.clone(), examples).unwrap();
        Arc::new(learn(&set, &PsdParams::default()).unwrap().model)
    }

    /// What a model of some sculpts leaves of plain skinning's error in the given poses.
    fn error(&self, sculpts: &[[f64; 2]], poses: &[[f64; 2]]) -> f64 {
        let mut evaluator = Evaluator::new(self.model(sculpts));
        let (mut left, mut plain) = (0.0, 0.0);
        let squared = |a: &[Vec3], b: &[Vec3]| {
            a.iter().zip(b).map(|(a, b)| f64::from(a.distance_squared(*b))).sum::<f64>()
        };
        for &angles in poses {
            let truth = self.shape(angles, true);
            left += squared(&evaluator.shape(&self.pose(angles)).positions, &truth);
            plain += squared(&self.shape(angles, false), &truth);
        }
        (left / plain).sqrt()
    }
}

/// A truth, how far its joints turn, and poses to judge by.
fn case(random: &mut Random, rig: &Arc<Rig>) -> (Truth, [f64; 2], Vec<[f64; 2]>) {
    let truth = Truth::new(random, rig);
    let ends = [random.between(0.6, 2.0), random.between(0.6, 2.0)];
    let poses = (0..40).map(|_| ends.map(|end| end * random.next())).collect();
    (truth, ends, poses)
}

/// A sculpt of elbow, wrist or both, somewhere on the way.
fn sculpt(random: &mut Random, ends: [f64; 2], kind: usize) -> [f64; 2] {
    let both = ends.map(|end| end * random.between(0.25, 0.85));
    [[both[0], 0.0], [0.0, both[1]], both][kind]
}

/// Elbow, wrist, both: then one more true sculpt. The finding that began it: 40 of 60 such cases got worse.
#[test]
fn one_more_true_sculpt_never_makes_a_combination_worse() {
    let (rig, mut random) = (tube(), Random(7));
    let (mut worse, mut before, mut after) = (0, 0.0, 0.0);
    let count = 150;
    for number in 0..count {
        let (truth, ends, poses) = case(&mut random, &rig);
        let mut sculpts = vec![[ends[0], 0.0], [0.0, ends[1]], ends];
        let first = truth.error(&sculpts, &poses);
        sculpts.push(sculpt(&mut random, ends, number % 3));
        let second = truth.error(&sculpts, &poses);
        (before, after) =
            (before + first / f64::from(count as u32), after + second / f64::from(count as u32));
        worse += usize::from(second > 1.01 * first);
    }
    eprintln!("{worse} of {count} worse, {before:.3} → {after:.3}");
    assert!(worse * 50 <= count, "{worse} of {count} worse, {before:.3} → {after:.3}");
    assert!(after < 0.85 * before && after < 0.2, "{before:.3} → {after:.3}");
}

/// Elbow and wrist at 90°, alone and together: 2.2 rad from rest. What is left in poses between them, and with
/// one more sculpt of the elbow.
#[test]
fn a_combination_far_from_rest_is_met_between_its_sculpts() {
    let (rig, mut random) = (tube(), Random(3));
    let mut truth = Truth::new(&mut random, &rig);
    let end = std::f64::consts::FRAC_PI_2;
    let poses: Vec<[f64; 2]> =
        (1..49).map(|at| [end * f64::from(at / 7) / 6.0, end * f64::from(at % 7) / 6.0]).collect();
    // As corrections of skinning grow, 1 − cos; then in proportion, as sin, which one sculpt cannot tell.
    for (sizes, most) in [
        ([1.0, 0.0, 1.0, 0.0, 0.3, 0.3, 0.3], [0.12; 3]),
        ([0.0, 1.0, 0.0, 1.0, 0.5, 0.0, 0.0], [0.4, 0.3, 0.12]),
    ] {
        for (field, size) in truth.fields.iter_mut().zip(sizes) {
            for at in field.iter_mut() {
                *at = 0.05 * size * random.direction();
            }
        }
        let mut sculpts = vec![[end, 0.0], [0.0, end], [end, end]];
        for (more, most) in [None, Some([0.5 * end, 0.0]), Some([0.0, 0.5 * end])].into_iter().zip(most) {
            sculpts.extend(more);
            let left = truth.error(&sculpts, &poses);
            eprintln!("{} sculpts: {left:.4}", sculpts.len());
            assert!(left <= most, "{} sculpts: {left:.3}", sculpts.len());
        }
    }
}

/// The same from any start: one to eight sculpts of any kind, then one more.
#[test]
fn one_more_true_sculpt_never_makes_any_set_worse() {
    let (rig, mut random) = (tube(), Random(11));
    let (mut worse, mut worst) = (0, 0f64);
    let count = 200;
    for number in 0..count {
        let (truth, ends, poses) = case(&mut random, &rig);
        let all = [[ends[0], 0.0], [0.0, ends[1]], ends];
        let mut sculpts: Vec<[f64; 2]> = all[..=number % 3].to_vec();
        for _ in 0..number % 6 {
            let kind = (random.next() * (1 + number % 3) as f64) as usize;
            sculpts.push(sculpt(&mut random, ends, kind));
        }
        let first = truth.error(&sculpts, &poses);
        let kind = (random.next() * 3.0) as usize;
        sculpts.push(sculpt(&mut random, ends, kind));
        let second = truth.error(&sculpts, &poses);
        worse += usize::from(second > 1.01 * first);
        worst = worst.max(second / first);
    }
    eprintln!("{worse} of {count} worse, by up to {worst:.3}");
    assert!(worse * 50 <= count, "{worse} of {count} worse, by up to {worst:.3}");
}

/// Between rest and one example the weight only grows: about as the square of the angle where joints move, in
/// proportion where a control does. Beyond it stays, on the other side of rest there is none.
#[test]
fn the_way_to_one_example_only_rises() {
    let rig = tube();
    let of = |elbow: f64, wrist: f64, heavy: f64| setting("one", elbow, wrist, REST + heavy);
    for (one, half_way) in [
        (of(1.4, 0.0, 0.0), 0.28),
        (of(1.4, 0.9, 0.0), 0.28),
        (of(0.0, -0.6, 0.0), 0.28),
        (of(0.0, 0.0, 0.8), 0.5),
    ] {
        let set = set_of(&rig, vec![one.clone()]);
        let model = Arc::new(learn(&set, &PsdParams::default()).unwrap().model);
        let mut evaluator = Evaluator::new(model);
        let mut weight = |share: f64| {
            let (_, elbow, wrist, heavy) = &one;
            let there = pose(&rig, share * *elbow, share * *wrist, REST + share * (heavy - REST));
            f64::from(evaluator.drive(&there)[0])
        };
        let along: Vec<f64> = (0..=40).map(|step| weight(f64::from(step) / 40.0)).collect();
        assert!(along.windows(2).all(|pair| pair[1] > pair[0]), "{one:?}: {along:?}");
        assert!(along[0].abs() < 1e-9 && (along[40] - 1.0).abs() < 1e-6);
        assert!((along[20] - half_way).abs() < 5e-3, "{one:?}: {}", along[20]);
        let beyond: Vec<f64> = [1.3, 1.6, 1.9].map(&mut weight).to_vec();
        assert!(beyond.iter().all(|w| (0.99..1.5).contains(w)), "{one:?}: {beyond:?}");
        let back: Vec<f64> = [-0.3, -0.6, -1.0].map(&mut weight).to_vec();
        assert!(back.iter().all(|w| w.abs() < 0.15), "{one:?}: {back:?}");
    }
}

/// Expressions on one axis do not mix with those on the other side of neutral.
#[test]
fn weights_of_expressions_stay_above_a_small_bound() {
    let rig = tube();
    for values in [vec![-1.0, 0.5, 1.0], vec![-1.0, 0.3, 0.6, 1.0], vec![0.8, 1.0], vec![-0.2, 0.1, 0.9]] {
        let settings = values.iter().map(|value| setting(&format!("{value}"), 0.0, 0.0, REST + value));
        let set = set_of(&rig, settings.collect());
        let mut evaluator = Evaluator::new(Arc::new(learn(&set, &PsdParams::default()).unwrap().model));
        let mut lowest = 0f32;
        for step in -100..=100 {
            let there = pose(&rig, DVec3::ZERO, DVec3::ZERO, REST + f64::from(step) / 100.0);
            lowest = evaluator.drive(&there).iter().copied().fold(lowest, f32::min);
        }
        assert!(lowest > -0.11, "{values:?}: {lowest}");
    }
}
