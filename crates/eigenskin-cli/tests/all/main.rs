//! The command as a user types it.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may fail, and tells what it saw")]

mod bad_input;
mod bake;
mod bench;
mod black_box;
mod clip_sources;
mod commands;
mod examples_editing;
mod fit_options;
mod large_cache;
mod manners;
mod old_versions;
mod parameterization;
mod psd;
mod render;
mod simulate;
mod style;
mod suggest;
mod support;
mod warnings;
mod weights_and_levels;
