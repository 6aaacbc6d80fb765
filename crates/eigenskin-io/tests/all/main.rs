//! Files, from outside: what is read, what is refused, and that old ones stay readable.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod box_files;
mod bvh;
mod cache_dialects;
mod external_box;
mod files;
mod interrupted;
mod malformed_cases;
mod malformed_mutations;
mod malformed_table;
mod motion;
mod npz;
mod old_versions;
mod renumbered;
mod sculpts;
mod support;
mod vertex_caches;
