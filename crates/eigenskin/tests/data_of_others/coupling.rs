//! Poses that move many joints, on hands bent as soft tissue: the paper's recipe, all joints refitted
//! together, and pairs of joints coupled.

use std::path::Path;
use std::sync::Arc;

use eigenskin_core::deformers::Base;
use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::progress::Unwatched;
use eigenskin_fit::method::{Budget, Coupling, EigenSkinParams, Fit, fit_examples};
use eigenskin_fit::metrics::evaluate_against;
use eigenskin_gltf::ReadOptions;
use eigenskin_gltf::conformance::random::Random;
use eigenskin_io::read_examples;

use crate::data;

const VARIANTS: [Coupling; 3] = [Coupling::None, Coupling::Additive, Coupling::Automatic];

fn read(path: &Path) -> ExampleSet {
    read_examples(path, &ReadOptions::default()).unwrap().1
}

fn with(set: &ExampleSet, more: &ExampleSet, chosen: &[usize]) -> ExampleSet {
    let more = chosen.iter().map(|&e| more.examples()[e].clone());
    let examples: Vec<Example> = set.examples().iter().cloned().chain(more).collect();
    ExampleSet::new(set.rig().clone(), examples).unwrap()
}

fn fit(set: &ExampleSet, coupling: Coupling, budget: Budget) -> Fit {
    fit_examples(
        set,
        &Base::default(),
        &EigenSkinParams { coupling, budget, ..EigenSkinParams::default() }.into(),
        &Unwatched,
    )
    .unwrap()
}

/// Relative errors of the three variants on what was held out.
fn errors(train: &ExampleSet, held_out: &ExampleSet, budget: Budget) -> [f64; 3] {
    VARIANTS.map(|coupling| {
        let fit = fit(train, coupling, budget);
        if let Some(limit) = budget.per_vertex {
            assert!(fit.model.most_components_per_vertex() <= limit);
        }
        if let Some(report) = fit
            .learnt
            .eigenskin()
            .unwrap()
            .coupling
            .as_ref()
            .filter(|_| std::env::var_os("EIGENSKIN_VERBOSE").is_some())
        {
            println!("{report:#?}");
            println!(
                "{:?}",
                fit.learnt
                    .eigenskin()
                    .unwrap()
                    .joints
                    .iter()
                    .map(|j| (j.component_count, j.width))
                    .collect::<Vec<_>>()
            );
        }
        evaluate_against(&Arc::new(fit.model), held_out, &Unwatched).unwrap().relative_error.unwrap()
    })
}

fn print(what: &str, [paper, additive, coupled]: [f64; 3]) {
    println!("{what}: paper's recipe {paper:.3}, additive {additive:.3}, coupled {coupled:.3}");
}

#[test]
fn coupled_joints_predict_poses_of_a_hand_bent_by_finite_elements() {
    let data = data();
    let train = read(&data.join("fem-hand/train.npz"));
    let multi = read(&data.join("fem-hand/held_out.npz")).for_rig(train.rig()).unwrap();
    for (name, budget) in budgets() {
        let mut mean = [0.0; 3];
        for split in 0..5 {
            let mut random = Random::new(split);
            let mut learn: Vec<usize> = (0..multi.len()).collect();
            let mut hold: Vec<usize> = (0..3).map(|_| learn.swap_remove(random.below(learn.len()))).collect();
            learn.sort_unstable();
            hold.sort_unstable();
            let set = with(&train, &multi, &learn);
            let found = errors(&set, &multi.select(&hold).unwrap(), budget);
            print(&format!("fem-hand, {name}, split {split}, held out {hold:?}"), found);
            for (mean, error) in mean.iter_mut().zip(found) {
                *mean += error / 5.0;
            }
        }
        print(&format!("fem-hand, {name}, mean of 5 splits"), mean);
        let [paper, additive, coupled] = mean;
        assert!(coupled <= 0.8 * paper, "{name}: {coupled} against {paper}");
        assert!(coupled <= 1.005 * additive, "{name}: {coupled} against {additive}");
    }
}

fn budgets() -> [(&'static str, Budget); 2] {
    let free = Budget { per_vertex: None, per_joint: None, total: None };
    [("10 per vertex", Budget::default()), ("any number", free)]
}

/// Needs a set that takes minutes to make:
/// `eigenskin simulate left.glb -o train.glb --no-corners --multi-joint-poses 0 --validation-poses 50`, its folder in
/// EIGENSKIN_SIMULATED_HAND. `./check --full` does that.
#[test]
#[ignore = "needs a hand that takes minutes to simulate; part of check --full"]
fn coupled_joints_predict_random_poses_of_a_simulated_hand() {
    let folder = std::env::var_os("EIGENSKIN_SIMULATED_HAND")
        .expect("set EIGENSKIN_SIMULATED_HAND to the folder of a simulated hand");
    let folder = Path::new(&folder);
    let train = read(&folder.join("train.glb"));
    let multi = read(&folder.join("train.validation.glb")).for_rig(train.rig()).unwrap();
    let (learn, hold): (Vec<usize>, Vec<usize>) = (0..multi.len()).partition(|e| e % 2 == 0);
    let held_out = multi.select(&hold).unwrap();
    for (name, budget) in budgets() {
        let found = errors(&with(&train, &multi, &learn), &held_out, budget);
        print(
            &format!("simulated hand, {name}, {} random poses learnt, {} held out", learn.len(), hold.len()),
            found,
        );
        // Wanted is 0.25. Reached without contact; with it, skin that touches skin keeps about 0.3.
        let [recipe, additive, coupled] = found;
        assert!(coupled < recipe && coupled < 1.02 * additive, "{name}: {found:?}");
    }
}
