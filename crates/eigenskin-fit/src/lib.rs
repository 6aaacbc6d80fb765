//! Learning from examples: displacements pulled back to rest, supports, bases, drivers, and the methods
//! that put them together.
//!
//! Modules stand in data-flow order: [`displacements`] (with [`powell`]) → [`supports`] → [`basis`] →
//! [`drivers`] → [`method`] → [`metrics`]; beside them [`style`], [`solve_weights`], [`transfer`],
//! [`suggest`], [`mirror`] and [`baselines`].

pub mod displacements;
pub mod powell;

pub mod supports;

pub mod basis;

pub mod drivers;

pub mod method;

pub mod metrics;

pub mod baselines;
pub mod mirror;
pub mod solve_weights;
pub mod style;
pub mod suggest;
pub mod transfer;

mod during;
mod names;
mod numeric;
