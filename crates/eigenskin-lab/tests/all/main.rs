//! The lab as one types it.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod bench;
mod conformance;
mod reproduce;
mod reproduce_kim;
mod reproduce_psd;
mod support;
