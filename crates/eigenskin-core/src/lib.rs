//! What plays a model: checked types, skinning, deformers, drivers, the model and its evaluators.
//!
//! Modules stand in data-flow order: [`mesh`], [`skeleton`], [`pose`], [`weights`], [`rig`], [`mover`],
//! [`articulation`] → [`skinning`], [`deformers`] → [`examples`] → [`driver`] → [`model`] →
//! [`evaluate`], [`packed`].

pub mod bounding_sphere;
pub mod mesh;
pub mod pose;
pub mod skeleton;
pub mod vertex_groups;
pub mod weights;

pub mod articulation;
pub mod bone_distance;
pub mod mover;
pub mod reference;
pub mod rig;

pub mod skinning;

pub mod deformers;

pub mod examples;

pub mod driver;

pub mod model;

pub mod evaluate;

pub mod packed;

pub mod closest_point;
pub mod nearest_name;
mod parallel;
pub mod progress;
pub mod random;

pub use glam;

/// Its program is tested with the documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
