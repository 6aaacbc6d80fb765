//! How long pose space deformation takes on the built-in hand with 20 examples: pulling them back, and
//! fitting them.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints, and may fail")]

use std::time::{Duration, Instant};

use eigenskin_characters::hand;
use eigenskin_characters::truth::SweptSkin;
use eigenskin_core::deformers::Base;
use eigenskin_core::progress::Unwatched;
use eigenskin_fit::displacements::Observations;
use eigenskin_fit::method::{Method, PrototypeParams, PsdParams, fit};

fn main() {
    let character = hand(13_976).unwrap();
    let skin = SweptSkin::new(&character);
    // Many spaces: each degree of freedom alone. One space: all joints in every example. Both.
    let single = character.single_joint_poses(1);
    let whole = character.multi_joint_poses(20, 1).into_iter().rev().take(20).collect::<Vec<_>>();
    let mixed = single.iter().take(12).cloned().chain(whole.iter().take(8).cloned()).collect();
    println!("20 examples, {} triangles    pull back      fit", 13_976);
    for (name, poses) in [("one joint each", single), ("all joints each", whole), ("both kinds", mixed)] {
        let set = skin.examples(poses).unwrap();
        assert_eq!(set.len(), 20);
        let observe = || Observations::of(&set, &Base::default(), false, &Unwatched).unwrap();
        for prototypes in [None, Some(PrototypeParams::default())] {
            let method = Method::Psd(PsdParams { prototypes, ..PsdParams::default() });
            let pull_back = best_of(5, || {
                std::hint::black_box(observe());
            });
            let seen = observe();
            let fitting = best_of(20, || {
                std::hint::black_box(fit(&seen, &method, None, &Unwatched).unwrap());
            });
            let kind = if prototypes.is_some() { ", 8 prototypes" } else { "" };
            let ms = |time: Duration| 1e3 * time.as_secs_f64();
            println!("{:<32} {:>6.1} ms {:>6.1} ms", format!("{name}{kind}"), ms(pull_back), ms(fitting));
        }
    }
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
