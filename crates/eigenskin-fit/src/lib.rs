//! Learning from examples: displacements pulled back to rest, supports, bases, drivers, and the methods
//! that put them together.
//!
//! Modules stand in data-flow order: [`displacements`] → [`supports`] → bases → [`drivers`] → [`method`]
//! → [`metrics`], [`baselines`]; beside them [`style`], [`mod@solve_weights`], [`transfer`], [`suggest`] and
//! [`mirror`].
//!
//! A model of a tube that bends, and how far it is from its examples:
//!
//! ```
//! use std::sync::Arc;
//!
//! use eigenskin_core::{Base, Unwatched};
//! use eigenskin_fit::{Method, evaluate_against, fit_examples};
//!
//! let examples = eigenskin_characters::tube::sweeps(&eigenskin_characters::tube::tube());
//! let fit = fit_examples(&examples, &Base::default(), &Method::default(), &Unwatched)?;
//! let errors = evaluate_against(&Arc::new(fit.model), &examples, &Unwatched)?;
//! assert!(errors.relative_error.is_some_and(|share| share < 0.5));
//! # Ok::<(), eigenskin_fit::FitError>(())
//! ```

pub mod displacements;
mod powell;

pub mod supports;

mod basis;

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

pub use displacements::Observations;
pub use method::{
    EigenSkinParams, Fit, FitError, Method, ParameterizationParams, PsdParams, fit, fit_examples,
};
pub use metrics::{Evaluation, evaluate_against};
pub use mirror::Mirror;
pub use solve_weights::solve_weights;
pub use style::StyleMap;
pub use suggest::suggest_poses;
pub use transfer::transfer_model;
