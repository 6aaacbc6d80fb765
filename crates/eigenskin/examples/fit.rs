//! Learns a model from an example set: `cargo run --release -p eigenskin --example fit -- EXAMPLES.glb MODEL.glb`.
#![allow(clippy::print_stdout, reason = "a program")]

use std::sync::Arc;

use eigenskin::gltf::{ModelWriteOptions, ReadOptions};
use eigenskin::{Base, Method, Unwatched, evaluate_against, fit_examples, io};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    let [examples, model] = &paths[..] else { return Err("usage: fit EXAMPLES.glb MODEL.glb".into()) };
    let (file, examples) = io::read_examples(examples, &ReadOptions::default())?;
    let fit = fit_examples(&examples, &Base::default(), &Method::default(), &Unwatched)?;
    io::write_model(model, &file, &fit.model, &ModelWriteOptions::default())?;
    let errors = evaluate_against(&Arc::new(fit.model), &examples, &Unwatched)?;
    println!("rmse {:.5}, plain skinning {:.5}", errors.model.rmse, errors.skinning.rmse);
    Ok(())
}
