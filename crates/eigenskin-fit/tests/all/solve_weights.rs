//! Skin weights from examples.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may fail and say why")]

use std::sync::Arc;

use eigenskin_characters::truth::SweptSkin;
use eigenskin_characters::{Character, arm, hand};
use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::glam::{DAffine3, DVec3, Vec3};
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::Unwatched;
use eigenskin_core::rig::Rig;
use eigenskin_core::weights::{Influence, SkinWeights};
use eigenskin_fit::solve_weights::{SolveWeightsError, SolveWeightsParams, solve_weights};

/// Linear blending, computed here.
fn blended(rig: &Rig, weights: &SkinWeights, pose: &Pose) -> Vec<Vec3> {
    let joints: Vec<DAffine3> = pose.posed_from_rest(rig.skeleton()).collect();
    (0..rig.vertex_count())
        .map(|vertex| {
            let rest = rig.mesh().positions()[vertex].as_dvec3();
            let carried = weights.of(vertex).iter().map(|influence| {
                f64::from(influence.weight) * joints[influence.joint as usize].transform_point3(rest)
            });
            carried.sum::<DVec3>().as_vec3()
        })
        .collect()
}

fn examples(rig: &Arc<Rig>, poses: &[(String, Pose)], shape: impl Fn(&Pose) -> Vec<Vec3>) -> ExampleSet {
    let example = |(name, pose): &(String, Pose)| Example {
        name: name.clone(),
        pose: pose.clone(),
        positions: shape(pose),
        normals: None,
        inverted: None,
    };
    ExampleSet::new(rig.clone(), poses.iter().map(example).collect()).unwrap()
}

/// Each joint alone about three axes, one after the other, and all joints together.
fn separating_poses(rig: &Rig) -> Vec<(String, Pose)> {
    use eigenskin_core::glam::DQuat;
    use eigenskin_core::pose::JointMotion;
    let joints = rig.skeleton().joint_count();
    let turned = |turns: &dyn Fn(usize) -> DVec3| {
        let motions: Vec<JointMotion> = (0..joints)
            .map(|j| JointMotion { rotation: DQuat::from_scaled_axis(turns(j)), translation: DVec3::ZERO })
            .collect();
        Pose::of_motions(rig.skeleton(), &motions, Vec::new())
    };
    let mut poses = Vec::new();
    for joint in 1..joints {
        for (k, axis) in [DVec3::X, DVec3::Y, DVec3::Z].into_iter().enumerate() {
            let turn = move |j: usize| if j == joint { 0.7 * axis } else { DVec3::ZERO };
            poses.push((format!("{joint} {k}"), turned(&turn)));
        }
    }
    for k in 0..6 {
        let turn = move |j: usize| {
            let x = (j * 7 + k * 13) as f64;
            0.5 * DVec3::new(x.sin(), (1.7 * x).cos(), (2.3 * x + 1.0).sin())
        };
        poses.push((format!("all {k}"), turned(&turn)));
    }
    poses
}

/// Weights that no rule gives: the four joints nearest to a point, by a wavy field over the rest shape.
fn wavy_weights(rig: &Rig) -> SkinWeights {
    let size = rig.mesh().size();
    let skeleton = rig.skeleton();
    let lists = rig.mesh().positions().iter().map(|p| {
        let p = p.as_dvec3();
        let mut near: Vec<(f64, u32)> = (0..skeleton.joint_count())
            .map(|joint| {
                let far = p.distance(skeleton.rest_position(joint)) / size;
                let wave = 1.0 + 0.4 * (joint as f64 + p.dot(DVec3::new(31.0, 17.0, 23.0)) / size).sin();
                (wave * (-(far / 0.08).powi(2)).exp() + 1e-9 / (1e-3 + far), joint as u32)
            })
            .collect();
        near.sort_by(|a, b| b.0.total_cmp(&a.0));
        // The fifth is taken off, so that the fourth ends where the fifth begins.
        let fifth = near.get(4).map_or(0.0, |n| n.0);
        near.iter().take(4).map(|&(w, joint)| Influence { joint, weight: (w - fifth) as f32 }).collect()
    });
    SkinWeights::new(skeleton.joint_count(), lists).unwrap().0
}

#[test]
fn known_weights_are_recovered() {
    let character = hand(6_000).unwrap();
    let rig = &character.rig;
    let truth = wavy_weights(rig);
    let poses = separating_poses(rig);
    let set = examples(rig, &poses, |pose| blended(rig, &truth, pose));
    let solved = solve_weights(&set, &SolveWeightsParams::default(), &Unwatched).unwrap();
    println!(
        "{} poses: {:.3e} → {:.3e} of the size, largest {:.3e}; {} of {} vertices changed",
        poses.len(),
        solved.before.rmse_of_100 / 100.0,
        solved.after.rmse_of_100 / 100.0,
        solved.after.max_of_100 / 100.0,
        solved.changed_vertices,
        rig.vertex_count()
    );
    assert!(solved.before.rmse_of_100 > 0.1);
    assert!(solved.after.max_of_100 <= 1e-3, "residual {} of 100", solved.after.max_of_100);
    assert!(solved.rig.weights().most_influences() <= 4);
    let weight = |weights: &SkinWeights, vertex: usize, joint: u32| {
        weights.of(vertex).iter().find(|i| i.joint == joint).map_or(0.0, |i| i.weight)
    };
    // Joints that turn a point by too little cannot be told apart there; nearly all can.
    let off = |vertex: usize| {
        let joints = 0..rig.skeleton().joint_count() as u32;
        joints
            .map(|joint| (weight(solved.rig.weights(), vertex, joint) - weight(&truth, vertex, joint)).abs())
            .fold(0.0, f32::max)
    };
    let mut offs: Vec<f32> = (0..rig.vertex_count()).map(off).collect();
    offs.sort_by(f32::total_cmp);
    let at = |share: f64| offs[(share * (offs.len() - 1) as f64) as usize];
    println!("weights off by: median {:.1e}, 99 % {:.1e}, largest {:.1e}", at(0.5), at(0.99), at(1.0));
    assert!(at(0.99) < 1e-3 && at(1.0) < 0.02);
}

/// The largest difference of a weight along each edge, rising.
fn edge_jumps(rig: &Rig) -> Vec<f32> {
    let weights = rig.weights();
    let of = |v: u32, j: u32| weights.of(v as usize).iter().find(|i| i.joint == j).map_or(0.0, |i| i.weight);
    let pairs = rig.mesh().triangles().iter().flat_map(|&[a, b, c]| [(a, b), (b, c), (c, a)]);
    let mut jumps: Vec<f32> = pairs
        .map(|(a, b)| {
            let joints = weights.of(a as usize).iter().chain(weights.of(b as usize));
            joints.map(|i| (of(a, i.joint) - of(b, i.joint)).abs()).fold(0.0, f32::max)
        })
        .collect();
    jumps.sort_by(f32::total_cmp);
    jumps
}

fn true_examples(character: &Character, per_degree: usize) -> ExampleSet {
    let skin = SweptSkin::new(character);
    let mut poses: Vec<(String, Pose)> =
        character.single_joint_poses(per_degree).into_iter().map(|p| (p.name, p.pose)).collect();
    poses.extend(character.multi_joint_poses(8, 3).into_iter().map(|p| (p.name, p.pose)));
    examples(&character.rig, &poses, |pose| skin.shape(pose))
}

fn vertex_error(rig: &Rig, set: &ExampleSet) -> Vec<f64> {
    let mut sums = vec![0.0; rig.vertex_count()];
    for example in set.examples() {
        let shape = blended(rig, rig.weights(), &example.pose);
        for (sum, (a, b)) in sums.iter_mut().zip(shape.iter().zip(&example.positions)) {
            *sum += f64::from(a.distance_squared(*b));
        }
    }
    sums
}

#[test]
fn no_vertex_gets_worse_and_neighbours_hold_together() {
    for (name, character) in [("hand", hand(6_000).unwrap()), ("arm", arm(3_000).unwrap())] {
        let set = true_examples(&character, 3);
        let start = std::time::Instant::now();
        let solved = solve_weights(&set, &SolveWeightsParams::default(), &Unwatched).unwrap();
        let (before, after) = (vertex_error(&character.rig, &set), vertex_error(&solved.rig, &set));
        let (old_jumps, jumps) = (edge_jumps(&character.rig), edge_jumps(&solved.rig));
        let at = |jumps: &[f32], share: f64| jumps[(share * (jumps.len() - 1) as f64) as usize];
        println!(
            "{name}: {:.4} → {:.4} of 100, largest {:.3} → {:.3}; jumps 99 % {:.3} → {:.3}, largest {:.3} → {:.3}; {:.2} s",
            solved.before.rmse_of_100,
            solved.after.rmse_of_100,
            solved.before.max_of_100,
            solved.after.max_of_100,
            at(&old_jumps, 0.99),
            at(&jumps, 0.99),
            at(&old_jumps, 1.0),
            at(&jumps, 1.0),
            start.elapsed().as_secs_f64()
        );
        let size = character.rig.mesh().size();
        let rounding = set.len() as f64 * (1e-6 * size).powi(2);
        for (vertex, (before, after)) in before.iter().zip(&after).enumerate() {
            assert!(*after <= before * (1.0 + 1e-5) + rounding, "{name} {vertex}: {before} → {after}");
        }
        assert!(solved.after.rmse < 0.9 * solved.before.rmse, "{name}");
        for share in [0.99, 1.0] {
            assert!(at(&jumps, share) <= at(&old_jumps, share), "{name}: neighbours jump more at {share}");
        }
    }
}

#[test]
fn smoothing_holds_noise_down() {
    let character = hand(6_000).unwrap();
    let rig = &character.rig;
    let poses = separating_poses(rig);
    let truth = wavy_weights(rig);
    let mut set = examples(rig, &poses, |pose| blended(rig, &truth, pose));
    let truth = Rig::new(rig.mesh().clone(), rig.skeleton().clone(), truth, Vec::new()).unwrap();
    let size = rig.mesh().size() as f32;
    let noisy: Vec<Example> = set
        .examples()
        .iter()
        .enumerate()
        .map(|(e, example)| {
            let noise = |v: usize, axis: f32| 0.01 * size * ((v * 131 + e * 71) as f32 * axis).sin();
            let moved = example.positions.iter().enumerate();
            let positions =
                moved.map(|(v, p)| *p + Vec3::new(noise(v, 1.3), noise(v, 2.9), noise(v, 4.7))).collect();
            Example { positions, ..example.clone() }
        })
        .collect();
    set = ExampleSet::new(rig.clone(), noisy).unwrap();
    // How much the error of the weights jumps along edges: the truth has edges of its own.
    let roughness = |smooth: f64| {
        let params = SolveWeightsParams { smooth, ..SolveWeightsParams::default() };
        let solved = solve_weights(&set, &params, &Unwatched).unwrap();
        let jumps = jumps(&solved.rig, &truth);
        println!(
            "smooth {smooth}: {:.4} → {:.4}; jumps of noise: mean square {:.2e}, largest {:.3}",
            solved.before.rmse_of_100,
            solved.after.rmse_of_100,
            jumps.iter().map(|j| j * j).sum::<f32>() / jumps.len() as f32,
            jumps.iter().copied().fold(0.0, f32::max)
        );
        jumps.iter().map(|j| j * j).sum::<f32>() / jumps.len() as f32
    };
    let [none, usual] = [0.0, SolveWeightsParams::default().smooth].map(roughness);
    assert!(usual < 0.5 * none, "{none} {usual}");
}

/// By how much the difference between the weights of two rigs jumps along each edge.
fn jumps(rig: &Rig, from: &Rig) -> Vec<f32> {
    let of = |rig: &Rig, v: u32, j: u32| {
        rig.weights().of(v as usize).iter().find(|i| i.joint == j).map_or(0.0, |i| i.weight)
    };
    let pairs = rig.mesh().triangles().iter().flat_map(|&[a, b, c]| [(a, b), (b, c), (c, a)]);
    let off = |v: u32, j: u32| of(rig, v, j) - of(from, v, j);
    let joints = 0..rig.skeleton().joint_count() as u32;
    pairs
        .filter(|(a, b)| a < b)
        .map(|(a, b)| joints.clone().map(|j| (off(a, j) - off(b, j)).abs()).fold(0.0, f32::max))
        .collect()
}

#[test]
fn what_was_not_seen_stays_as_it_was() {
    // Only the elbow moves: the wrist's share is not to be told from the elbow's.
    let rig = eigenskin_characters::tube::tube();
    let poses: Vec<(String, Pose)> = (1..5)
        .map(|k| {
            (
                format!("elbow {k}"),
                eigenskin_characters::tube::pose(&rig, DVec3::Z * (0.3 * f64::from(k)), DVec3::ZERO, 0.25),
            )
        })
        .collect();
    let set = examples(&rig, &poses, |pose| blended(&rig, rig.weights(), pose));
    let same = solve_weights(&set, &SolveWeightsParams::default(), &Unwatched).unwrap();
    assert_eq!(same.changed_vertices, 0);
    assert_eq!(same.rig.weights(), rig.weights());
    // The truth moves a tenth of the root's weight to the elbow.
    let lists = (0..rig.vertex_count()).map(|vertex| {
        let of = |j: u32| rig.weights().of(vertex).iter().find(|i| i.joint == j).map_or(0.0, |i| i.weight);
        let moved = 0.1 * of(0);
        [(0, of(0) - moved), (1, of(1) + moved), (2, of(2))]
            .map(|(joint, weight)| Influence { joint, weight })
            .to_vec()
    });
    let truth = SkinWeights::new(3, lists).unwrap().0;
    let set = examples(&rig, &poses, |pose| blended(&rig, &truth, pose));
    let solved = solve_weights(&set, &SolveWeightsParams::default(), &Unwatched).unwrap();
    assert!(solved.after.max_of_100 < 1e-3, "{:?}", solved.after);
    for vertex in 0..rig.vertex_count() {
        let of =
            |w: &SkinWeights, j: u32| w.of(vertex).iter().find(|i| i.joint == j).map_or(0.0, |i| i.weight);
        let (root, wrist) = (of(solved.rig.weights(), 0), of(solved.rig.weights(), 2));
        assert!((root - of(&truth, 0)).abs() < 1e-3, "vertex {vertex}: {root}");
        // Half of what came from the root is as likely the wrist's; more is not.
        assert!((wrist - of(rig.weights(), 2)).abs() <= 0.06, "vertex {vertex}: {wrist}");
    }
    // Seam duplicates stay one point.
    assert_eq!(solved.rig.seams(), rig.seams());
}

#[test]
fn influences_are_limited_and_threads_do_not_matter() {
    let character = hand(3_000).unwrap();
    let set = true_examples(&character, 2);
    let solve = |threads: usize, influences: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let params = SolveWeightsParams { influences, ..SolveWeightsParams::default() };
        pool.install(|| solve_weights(&set, &params, &Unwatched).unwrap())
    };
    let one = solve(1, 4);
    assert_eq!(one, solve(2, 4));
    let mut last = f64::INFINITY;
    for influences in [1, 2, 3, 4, 8] {
        let solved = solve(2, influences);
        assert!(solved.rig.weights().most_influences() <= influences);
        println!("{influences}: {:.4}, limited {}", solved.after.rmse_of_100, solved.limited_vertices);
        assert!(solved.after.rmse <= 1.01 * last);
        last = solved.after.rmse;
    }
    let wrong = |influences: usize, smooth: f64| {
        solve_weights(&set, &SolveWeightsParams { influences, smooth }, &Unwatched).unwrap_err()
    };
    assert_eq!(wrong(0, 0.1), SolveWeightsError::Influences { influences: 0 });
    assert!(matches!(wrong(4, f64::NAN), SolveWeightsError::Smooth { .. }));
}
