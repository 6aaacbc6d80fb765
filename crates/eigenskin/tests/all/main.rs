//! All crates together: jobs, fitted models through files, and sets that stay on disk.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod bake;
mod cache_formats;
mod demo;
mod edit_examples;
mod fit;
mod inspect;
mod invert;
mod large_sets;
mod parameterization_files;
mod psd_files;
mod render;
mod reports;
mod simulate;
mod stock_viewer;
mod stop;
mod style;
mod suggest;
mod support;
mod transfer;
mod warnings;
mod weights_files;
