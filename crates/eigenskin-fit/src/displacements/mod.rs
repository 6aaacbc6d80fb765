//! Rest-space displacements: what to add to the rest shape so that skinning gives the observed shape.

pub mod black_box;
pub(crate) mod fields;
mod observations;
pub(crate) mod projections;
pub(crate) mod pulled_back;
mod set_displacements;
pub(crate) mod tall_matrix;

pub(crate) use fields::TileError;
pub use fields::{FieldStore, Fields, StoreError};
pub use observations::{Observations, ObservationsError};
pub use pulled_back::{PullBackError, PulledBack, pull_back};
pub use set_displacements::{
    PULLING_BACK, PulledExample, RestDisplacements, RestSkin, SkinPoints, skinned_displacements,
};
