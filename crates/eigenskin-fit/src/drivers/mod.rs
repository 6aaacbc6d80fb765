//! Drivers fitted: from poses and coordinates at the examples to a [`Driver`](eigenskin_core::driver::Driver).

mod centres;
mod clamp;
mod outputs;
mod rbf;
mod samples;

pub use centres::{farthest_samples, fit_rbf_on_centres};
pub(crate) use clamp::clamp_beyond;
pub(crate) use outputs::with_outputs;
pub use rbf::{MANY, RbfError, RbfFit, RbfParams, Ridge, TailChoice, Width, fit_rbf};
pub use samples::Samples;
