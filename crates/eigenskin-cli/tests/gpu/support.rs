//! From the tests that need nothing.

#[path = "../all/support/command.rs"]
pub mod command;
#[path = "../all/support/pictures.rs"]
pub mod pictures;
