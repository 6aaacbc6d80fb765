//! How long pose space deformation takes on the built-in hand with 20 examples: taking them in,
//! fitting, and fitting again after one example was replaced or muted.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints, and may fail")]

use std::time::{Duration, Instant};

use eigenskin_characters::hand;
use eigenskin_characters::truth::SweptSkin;
use eigenskin_fit::method::psd::PrototypeParams;
use eigenskin_fit::method::{PsdParams, PsdSession};

fn main() {
    let character = hand(13_976).unwrap();
    let skin = SweptSkin::new(&character);
    // Many spaces: each degree of freedom alone. One space: all joints in every example. Both.
    let single = character.single_joint_poses(1);
    let whole = character.multi_joint_poses(20, 1).into_iter().rev().take(20).collect::<Vec<_>>();
    let mixed = single.iter().take(12).cloned().chain(whole.iter().take(8).cloned()).collect();
    println!("20 examples, {} triangles    take in      fit  replace + fit  mute + fit", 13_976);
    for (name, poses) in [("one joint each", single), ("all joints each", whole), ("both kinds", mixed)] {
        let set = skin.examples(poses).unwrap();
        assert_eq!(set.len(), 20);
        for prototypes in [None, Some(PrototypeParams::default())] {
            let params = PsdParams { prototypes, ..PsdParams::default() };
            let take_in = best_of(5, || {
                std::hint::black_box(PsdSession::new(&set, params.clone()).unwrap());
            });
            let mut session = PsdSession::new(&set, params.clone()).unwrap();
            let fit = best_of(20, || {
                std::hint::black_box(session.fit().unwrap());
            });
            let replace = best_of(20, || {
                session.put(set.examples()[7].clone()).unwrap();
                std::hint::black_box(session.fit().unwrap());
            });
            let mut muted = false;
            let mute = best_of(20, || {
                muted = !muted;
                session.mute(&set.examples()[3].name, muted).unwrap();
                std::hint::black_box(session.fit().unwrap());
            });
            let kind = if prototypes.is_some() { ", 8 prototypes" } else { "" };
            let ms = |time: Duration| 1e3 * time.as_secs_f64();
            println!(
                "{:<32} {:>5.1} ms {:>6.1} ms  {:>10.1} ms  {:>7.1} ms",
                format!("{name}{kind}"),
                ms(take_in),
                ms(fit),
                ms(replace),
                ms(mute)
            );
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
