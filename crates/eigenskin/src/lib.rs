//! Example-based character skinning: learn from example shapes a small pose-dependent correction
//! on top of ordinary skinning.
//!
//! Modules stand in data-flow order:
//! [`mesh`], [`skeleton`], [`pose`], [`weights`], [`rig`], [`articulation`] → [`skinning`],
//! [`deformers`] → [`examples`] → [`displacements`] (with [`powell`]) → [`supports`] → [`basis`] → [`driver`] → [`fit`] → [`model`] →
//! [`evaluate`] → [`metrics`]; [`style`] makes examples of other examples; [`characters`] are built in.

pub mod bounding_sphere;
pub mod mesh;
pub mod pose;
pub mod skeleton;
pub mod vertex_groups;
pub mod weights;

pub mod articulation;
pub mod bone_distance;
pub mod reference;
pub mod rig;

pub mod skinning;

pub mod deformers;

pub mod examples;
pub mod mirror;

pub mod displacements;

pub mod supports;

pub mod basis;

pub mod driver;

pub mod fit;

pub mod model;

pub mod evaluate;

pub mod baked;

pub mod metrics;

pub mod solve_weights;

pub mod carry;

pub mod style;

pub mod suggest;

pub mod baselines;

pub mod characters;

mod closest_point;
pub mod nearest_name;
mod numeric;
pub mod powell;
mod random;

pub use glam;
