//! Fitting: from examples to a model. Methods differ in how they find supports, bases and drivers;
//! what they produce is the same.

pub mod allocation;
pub mod coordinates;
pub mod coupling;
pub mod eigenskin;
pub(crate) mod isometric;
pub(crate) mod joint_driver;
pub mod parameterization;
pub mod psd;
mod regions;
mod riding_fields;

pub use allocation::Budget;
pub use coupling::{Coupling, CouplingReport, PairReport};
pub use eigenskin::{EigenSkinFit, EigenSkinParams, FitError, JointReport, fit_eigenskin, fit_eigenskin_to};
pub use parameterization::{
    ParameterizationError, ParameterizationFit, ParameterizationParams, PartReport, SignalBasis,
    fit_parameterization, fit_parameterization_to,
};
pub use psd::{PsdError, PsdFit, PsdParams, PsdSession, fit_psd, fit_psd_to};
