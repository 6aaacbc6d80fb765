//! Jobs: what people do with eigenskin, each as one value that a front end (the command, Python, Blender,
//! a studio) makes, runs, watches and stops.
//!
//! Every job goes the same way:
//!
//! 1. **`open`** reads files into checked values: a rig, examples in memory or on disk, a model. What was
//!    mended or guessed on the way is kept beside them, for the front end to tell.
//! 2. **The job** is a plain struct of those values and of settings, which serialise: a cluster's worker
//!    or Blender's background process gets them as JSON. Everything in it can be made without files.
//! 3. **`run(&self, progress)`** computes. It prints nothing and writes nothing, and ends soon after
//!    `progress` says so ([`Cancelled`](crate::progress::Cancelled)).
//! 4. **The outcome** serialises too, with the names of `--json`, in Python and in the studio; its
//!    `write` puts files where the user said, whole or not at all.
//!
//! Errors and outcomes carry facts. How a front end calls the remedy (an option, an argument, a button)
//! is for the front end to say.

pub mod bake;
pub mod demo;
pub mod edit_examples;
pub mod evaluate;
pub mod fit;
pub mod inspect;
pub mod invert;
pub mod render;
pub mod simulate;
pub mod style;
pub mod suggest;
pub mod transfer;
pub mod weights;
