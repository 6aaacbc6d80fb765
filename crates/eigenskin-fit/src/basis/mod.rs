//! Bases: few displacement fields that stand for many observed ones.

pub mod ica;
pub mod pca;

pub use ica::{IcaParams, IndependentComponents, independent_components};
pub use pca::{ComponentFields, PrincipalComponents};
