//! How long fitting takes: the built-in hand with the paper's two triangle counts and its number of
//! poses. Times are of this machine and moment; what can be compared is the ratio to evaluating the
//! model once in each of the poses, on one thread. And how long choosing the method takes, as a ratio to the
//! plain fit that it is for.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints, and may fail")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use eigenskin_characters::truth::SweptSkin;
use eigenskin_characters::{Character, hand};
use eigenskin_core::deformers::Base;
use eigenskin_core::evaluate::Evaluator;
use eigenskin_core::examples::ExampleSet;
use eigenskin_core::glam::Vec3;
use eigenskin_core::progress::Unwatched;
use eigenskin_fit::method::{ChoiceParams, EigenSkinParams, Method, choose_method, fit_examples};

fn main() {
    fit_and_evaluate();
    choose_and_fit();
}

fn fit_and_evaluate() {
    println!("triangles  vertices  poses      fit  evaluating all poses  fit / evaluating");
    for triangles in [13_976, 55_904] {
        let set = examples(&hand(triangles).unwrap());
        let fit = best_of(3, || {
            std::hint::black_box(
                fit_examples(&set, &Base::default(), &EigenSkinParams::default().into(), &Unwatched).unwrap(),
            );
        });
        let model = fit_examples(&set, &Base::default(), &EigenSkinParams::default().into(), &Unwatched)
            .unwrap()
            .model;
        let mut evaluator = Evaluator::new(Arc::new(model));
        let mut positions = vec![Vec3::ZERO; set.rig().vertex_count()];
        let mut normals = positions.clone();
        let evaluate = best_of(3, || {
            for example in set.examples() {
                evaluator.evaluate(&example.pose, &mut positions, Some(&mut normals));
            }
        });
        println!(
            "{triangles:>9}  {:>8}  {:>5}  {:>5.2} s  {:>18.2} s  {:>16.2}",
            set.rig().vertex_count(),
            set.len(),
            fit.as_secs_f64(),
            evaluate.as_secs_f64(),
            fit.as_secs_f64() / evaluate.as_secs_f64(),
        );
    }
}

fn choose_and_fit() {
    println!("vertices  poses  of many joints  patches  with the choice  ratio");
    for (triangles, many_joints) in [(13_976, 0), (13_976, 24), (13_976, 120), (3_494, 24)] {
        let character = hand(triangles).unwrap();
        let poses =
            character.single_joint_poses(4).into_iter().chain(character.multi_joint_poses(many_joints, 1));
        let set = SweptSkin::new(&character).examples(poses).unwrap();
        let (base, wanted) = (Base::default(), ChoiceParams::default());
        let fit = |method: &Method| drop(fit_examples(&set, &base, method, &Unwatched).unwrap());
        let plain = best_of(3, || fit(&Method::default()));
        let chosen = best_of(3, || fit(&choose_method(&set, &base, &wanted, &Unwatched).unwrap().method));
        let (plain, chosen) = (plain.as_secs_f64(), chosen.as_secs_f64());
        println!(
            "{:>8}  {:>5}  {many_joints:>14}  {plain:>5.2} s  {chosen:>13.2} s  {:>5.2}",
            set.rig().vertex_count(),
            set.len(),
            chosen / plain,
        );
    }
}

fn examples(character: &Character) -> ExampleSet {
    SweptSkin::new(character).examples(character.single_joint_poses(6).into_iter().take(120)).unwrap()
}

fn best_of(times: usize, mut work: impl FnMut()) -> Duration {
    (0..times)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .min()
        .unwrap_or_default()
}
