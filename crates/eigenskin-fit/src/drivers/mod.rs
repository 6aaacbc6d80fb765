//! Drivers fitted: from poses and coordinates at the examples to a [`Driver`](eigenskin_core::driver::Driver).

mod centres;
mod clamp;
mod outputs;
mod rbf;
mod samples;
mod system;
mod widths;

pub(crate) use centres::fit_rbf_on_centres;
pub(crate) use clamp::clamp_beyond;
pub(crate) use outputs::with_outputs;
pub use rbf::{
    KernelChoice, RbfError, RbfFit, RbfParams, Smoothing, TailChoice, UnknownKernel, Width, fit_rbf,
};
pub(crate) use rbf::{MANY, Targets, fit_targets};
pub use samples::Samples;
pub(crate) use widths::ENOUGH_TO_PREDICT;
