//! Makes examples for a rig that has none, to learn from and to validate with:
//! `cargo run --release -p eigenskin --example simulate -- RIG.glb EXAMPLES.glb VALIDATION.glb`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program")]

use std::sync::{Mutex, PoisonError};

use eigenskin::jobs::simulate::{Simulate, SimulateInputs, SimulateSettings};
use eigenskin::progress::Cancelled;
use eigenskin::rig_source::RigSource;
use eigenskin::{Progress, Step};

/// Tells what is being done, where that has changed. An error would end the work.
#[derive(Default)]
struct Told(Mutex<String>);

impl Progress for Told {
    fn step(&self, Step { doing, done, count }: Step<'_>) -> Result<(), Cancelled> {
        let line = count.map_or(doing.to_string(), |count| format!("{doing} {done} of {count}"));
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if *told != line {
            eprint!("\r{line:<40}");
            *told = line;
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    let [rig, examples, validation] = &paths[..] else {
        return Err("usage: simulate RIG.glb EXAMPLES.glb VALIDATION.glb".into());
    };
    let mut settings = SimulateSettings::default();
    // Fast and rough.
    settings.poses.per_degree = 2;
    settings.tissue.max_cells = 800;
    let inputs = SimulateInputs { rig: RigSource::new(rig), ..SimulateInputs::default() };
    let (job, _) = Simulate::open(&inputs, settings)?;
    let written = job.run(&Told::default())?.write(examples, validation)?;
    println!("\n{} examples to learn from, {} to validate with", written.training, written.validation);
    Ok(())
}
