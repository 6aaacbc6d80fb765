//! Bases: few displacement fields that stand for many observed ones.

mod ica;
mod pca;

pub use ica::{IcaParams, independent_components};
pub use pca::{ComponentFields, PrincipalComponents};
