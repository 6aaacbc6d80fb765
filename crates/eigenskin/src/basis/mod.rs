//! Bases: few displacement fields that stand for many observed ones.

pub mod pca;

pub use pca::{PrincipalComponents, principal_components};
