//! The plugin in a Bevy without window or renderer, on files that Bevy's own loader spawns.
// Helpers of integration tests are no tests to the linter.
#![allow(clippy::unwrap_used, missing_docs)]

mod characters;
mod conformance;
mod stage;
mod troubles;
