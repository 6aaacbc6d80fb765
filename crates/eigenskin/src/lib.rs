//! Example-based character skinning: learn from example shapes a small pose-dependent correction
//! on top of ordinary skinning.
//!
//! | you want to | look at |
//! |---|---|
//! | do what the command does, from files to files, watched and stopped from outside | [`jobs`] |
//! | read and write rigs, example sets and models | [`io`]; bytes in memory: [`gltf`] |
//! | learn from examples in memory, and measure what was learnt | [`fit_examples`], [`evaluate_against`] |
//! | pose a model | [`Evaluator`]; the fast one: [`packed`] |
//!
//! Programs of ten lines stand in `examples/`: fit, play, simulate, black_box.

pub mod base;
pub mod example_source;
pub mod frame_slice;
pub mod jobs;
pub mod large_set;
pub mod painter;
pub mod pose_source;
pub mod reports;
pub mod rig_source;
pub mod speed;
pub mod text_table;

pub use eigenskin_characters as characters;
pub use eigenskin_core::{
    Base, Evaluator, Example, ExampleSet, Model, Pose, Progress, Rig, Shape, Step, Unwatched,
};
pub use eigenskin_core::{
    articulation, bone_distance, bounding_sphere, closest_point, deformers, driver, evaluate, examples, glam,
    mesh, model, mover, nearest_name, packed, pose, progress, random, reference, rig, skeleton, skinning,
    vertex_groups, weights,
};
pub use eigenskin_fit::{Evaluation, Fit, FitError, Method, evaluate_against, fit_examples};
pub use eigenskin_fit::{
    baselines, displacements, drivers, method, metrics, mirror, solve_weights, style, suggest, supports,
    transfer,
};
pub use eigenskin_gltf as gltf;
#[cfg(feature = "gpu")]
pub use eigenskin_gpu as gpu;
pub use eigenskin_io as io;
pub use eigenskin_report as report;
pub use eigenskin_sim as sim;

/// Its program is tested with the documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
