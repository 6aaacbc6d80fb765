//! The C interface under valgrind, and its header in C++.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

#[path = "../all/programs.rs"]
mod programs;

use std::process::Command;

use programs::{Sample, check_header, misuse, test_program, with_tangents, written_shapes};

#[test]
fn valgrind_finds_no_error_and_no_leak() {
    let place = tempfile::tempdir().unwrap();
    let program = test_program(place.path());
    let valgrind = || {
        let mut command = Command::new("valgrind");
        command.args(["--quiet", "--error-exitcode=9", "--leak-check=full"]);
        command.arg("--errors-for-leak-kinds=definite,possible").arg(&program);
        command
    };
    misuse(&valgrind, place.path(), 1499, 20);
    let sample = with_tangents(Sample::small());
    let found = written_shapes(&mut valgrind(), &sample, "0", place.path());
    let native = written_shapes(&mut Command::new(&program), &sample, "0", place.path());
    // Its emulated processor may lack instructions that this one has.
    assert_eq!(found.len(), native.len());
    assert!(found.iter().zip(&native).all(|(a, b)| (a - b).abs() < 1e-5));
}

#[test]
fn the_header_is_clean_in_cpp() {
    check_header("c++", ["-x", "c++", "-std=c++11"]);
}
