//! The report and its pictures, from outside.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod page;
mod picture;
