//! Learning by any method: its options, and what is said of it.

pub mod options;
mod parameterization_options;
mod parameterization_summary;
mod patches_options;
mod psd_options;
mod psd_summary;
pub mod summary;
pub mod works_with;
