//! The command on characters of others, in the folder that EIGENSKIN_DATA names; what it writes is judged by
//! the Khronos validator (`npm ci --prefix tools`).
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod assets;
mod captures;
mod hands;
mod support;
