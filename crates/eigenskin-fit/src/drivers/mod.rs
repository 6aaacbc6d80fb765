//! Drivers fitted: from poses and coordinates at the examples to a [`Driver`](eigenskin_core::driver::Driver).

pub mod centres;
pub(crate) mod clamp;
pub mod rbf;
pub mod samples;

pub use centres::{farthest_samples, fit_rbf_on_centres};
pub use rbf::{RbfError, RbfFit, RbfParams, Ridge, TailChoice, Width, fit_rbf};
pub use samples::Samples;
