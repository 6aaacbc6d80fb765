//! Learning, from outside: against the papers, against numbers of numpy and scipy, and by properties.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod baselines;
mod black_box;
mod cancellation;
mod drivers;
mod eigenskin_properties;
mod examples;
mod metrics;
mod mirror;
mod no_allocation;
mod outside_numbers;
mod parameterization;
mod patches;
mod psd;
mod psd_errors;
mod psd_merged;
mod psd_outside_numbers;
mod psd_papers;
mod psd_weighted;
mod ready_boxes;
mod settings;
mod singular_poses;
mod solve_weights;
mod style;
mod style_spaces;
mod suggest;
mod support;
mod transfer;
mod units;
mod widths;
