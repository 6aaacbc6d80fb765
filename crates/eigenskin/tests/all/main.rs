//! All crates together: fitted models through files, and sets that stay on disk.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod cache_formats;
mod demo;
mod large_sets;
mod parameterization_files;
mod psd_files;
mod simulate;
mod stock_viewer;
mod support;
mod weights_files;
