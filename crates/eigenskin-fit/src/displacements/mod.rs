//! Rest-space displacements: what to add to the rest shape so that skinning gives the observed shape.

pub mod black_box;
pub mod fields;
pub mod observations;
pub(crate) mod projections;
pub mod pulled_back;
pub mod set_displacements;
pub mod tall_matrix;

pub use fields::{FieldStore, Fields, StoreError};
pub use observations::{Observations, ObservationsError};
pub use pulled_back::{PullBackError, PulledBack, pull_back};
pub use set_displacements::{
    PulledExample, RestDisplacements, RestSkin, SkinPoints, rest_displacements, skinned_displacements,
};
