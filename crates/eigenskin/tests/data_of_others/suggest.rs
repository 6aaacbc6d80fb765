//! Suggested poses against random ones, on a hand bent by finite elements.

use std::sync::Arc;

use eigenskin_core::articulation::NamedPose;
use eigenskin_core::deformers::Base;
use eigenskin_core::examples::ExampleSet;
use eigenskin_core::model::Model;
use eigenskin_core::progress::Unwatched;
use eigenskin_fit::method::{EigenSkinParams, PatchesParams, PsdParams, fit_examples};
use eigenskin_fit::metrics::evaluate_against;
use eigenskin_fit::suggest::{SuggestParams, suggest_poses};
use eigenskin_gltf::ReadOptions;
use eigenskin_gltf::conformance::random::Random;
use eigenskin_io::read_examples;

use crate::data;

type Fit = fn(&ExampleSet) -> Model;

const SUGGESTED: usize = 12;
const AT_RANDOM: usize = 20;
const SEEDS: u64 = 20;

/// `count` of the training poses, chosen in rounds: the truth at a pose is looked at only after the
/// pose was chosen.
fn suggested(train: &ExampleSet, count: usize, round: usize) -> Vec<usize> {
    let candidates: Vec<NamedPose> =
        train.examples().iter().map(|e| NamedPose { name: e.name.clone(), pose: e.pose.clone() }).collect();
    let mut chosen: Vec<usize> = Vec::new();
    while chosen.len() < count {
        let revealed = if chosen.is_empty() { None } else { Some(train.select(&chosen).unwrap()) };
        let params = SuggestParams { count: round.min(count - chosen.len()) };
        let found = suggest_poses(train.rig(), revealed.as_ref(), &candidates, &params, &Unwatched).unwrap();
        assert!(!found.is_empty());
        for suggestion in found {
            assert!(!chosen.contains(&suggestion.candidate), "{} twice", suggestion.name);
            println!("  {}: {}", suggestion.name, suggestion.reason());
            chosen.push(suggestion.candidate);
        }
    }
    chosen
}

fn at_random(count: usize, of: usize, seed: u64) -> Vec<usize> {
    let mut random = Random::new(seed);
    let mut left: Vec<usize> = (0..of).collect();
    (0..count).map(|_| left.swap_remove(random.below(left.len()))).collect()
}

#[test]
fn twelve_suggested_poses_are_worth_twenty_random_ones() {
    let data = data();
    let read =
        |name: &str| read_examples(data.join("fem-hand").join(name), &ReadOptions::default()).unwrap().1;
    let (train, held_out) = (read("train.npz"), read("held_out.npz"));
    let held_out = held_out.for_rig(train.rig()).unwrap();
    let methods: [(&str, Fit); 3] = [
        ("patches", |set| {
            fit_examples(set, &Base::default(), &PatchesParams::default().into(), &Unwatched).unwrap().model
        }),
        ("psd", |set| {
            fit_examples(set, &Base::default(), &PsdParams::default().into(), &Unwatched).unwrap().model
        }),
        ("eigenskin", |set| {
            fit_examples(set, &Base::default(), &EigenSkinParams::default().into(), &Unwatched).unwrap().model
        }),
    ];
    let all: Vec<usize> = (0..train.len()).collect();
    let ours = [SUGGESTED, 4, 1].map(|round| {
        println!("{round} at a time:");
        (round, suggested(&train, SUGGESTED, round))
    });
    for (name, fit) in methods {
        let error = |poses: &[usize]| {
            let model = Arc::new(fit(&train.select(poses).unwrap()));
            evaluate_against(&model, &held_out, &Unwatched).unwrap().relative_error.unwrap()
        };
        let random: Vec<f64> =
            (0..SEEDS).map(|seed| error(&at_random(AT_RANDOM, train.len(), seed))).collect();
        let mean = random.iter().sum::<f64>() / SEEDS as f64;
        let spread = (random.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / SEEDS as f64).sqrt();
        let least = random.iter().copied().fold(f64::INFINITY, f64::min);
        println!(
            "{name}: {AT_RANDOM} at random {mean:.3} ± {spread:.3}, best of {SEEDS} {least:.3}; all {} {:.3}",
            train.len(),
            error(&all)
        );
        for (round, chosen) in &ours {
            let found = error(chosen);
            println!("{name}: {SUGGESTED} suggested, {round} at a time {found:.3}");
            assert!(found <= mean - spread, "{name}, {round} at a time: {found} against {mean} ± {spread}");
        }
    }
}
