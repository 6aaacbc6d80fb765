//! Learning from examples of others, in the folder that EIGENSKIN_DATA names.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may fail, and tells what it saw")]

mod eigenskin;
mod mirror;
mod parameterization;
mod patches;
mod psd;
mod suggest;
mod weights;

/// The folder with the data of others.
fn data() -> std::path::PathBuf {
    std::env::var_os("EIGENSKIN_DATA")
        .expect("set EIGENSKIN_DATA to the folder with the data of others")
        .into()
}
