//! glTF from outside: what is written is read back, by us and by readers of others.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod conformance;
mod independent;
mod key_reduction;
mod round_trips;
mod support;
mod web;
