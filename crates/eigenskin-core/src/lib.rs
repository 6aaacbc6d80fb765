//! What plays a model: checked types, skinning, deformers, drivers, the model and its evaluators.
//!
//! Modules stand in data-flow order: [`mesh`], [`skeleton`], [`pose`], [`weights`], [`rig`], [`mover`],
//! [`articulation`] → [`skinning`], [`deformers`] → [`examples`] → [`driver`] → [`model`] →
//! [`evaluate`], [`packed`].
//!
//! A bar of two triangles that bends at its second joint:
//!
//! ```
//! use std::sync::Arc;
//!
//! use eigenskin_core::glam::{DAffine3, DQuat, DVec3, Vec3};
//! use eigenskin_core::{BaseSkinning, Evaluator, Influence, Joint, Mesh, Model, Rig, Skeleton, SkinWeights};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let corners = [[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]];
//! let positions = corners.map(|[x, y]| Vec3::new(x, y, 0.0)).to_vec();
//! let mesh = Mesh::new(positions, vec![[0, 2, 1], [1, 2, 3]], None)?;
//! let joint = |name: &str, parent, x: f64| Joint {
//!     name: name.to_string(),
//!     parent,
//!     reference: None,
//!     joint_from_rest: DAffine3::from_translation(DVec3::new(-x, 0.0, 0.0)),
//! };
//! let skeleton = Skeleton::new(vec![joint("shoulder", None, 0.0), joint("elbow", Some(0), 1.0)])?;
//! let all = |joint| vec![Influence { joint, weight: 1.0 }];
//! let (weights, _) = SkinWeights::new(2, vec![all(0), all(0), all(1), all(1)])?;
//! let rig = Arc::new(Rig::new(mesh, skeleton, weights, Vec::new())?);
//!
//! let mut pose = rig.rest_pose();
//! pose.world_from_joint[1] *= DAffine3::from_quat(DQuat::from_rotation_z(std::f64::consts::FRAC_PI_2));
//! let model = Arc::new(Model::without_corrections(rig, BaseSkinning::LinearBlend));
//! let shape = Evaluator::new(model).shape(&pose);
//! assert!(shape.positions[2].distance(Vec3::new(1.0, 1.0, 0.0)) < 1e-6);
//! # Ok(())
//! # }
//! ```

pub mod bounding_sphere;
pub mod mesh;
pub mod pose;
pub mod skeleton;
pub mod vertex_groups;
pub mod weights;

pub mod articulation;
pub mod bone_distance;
pub mod contact;
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

pub use deformers::Base;
pub use evaluate::{Evaluator, Shape};
pub use examples::{Example, ExampleSet};
pub use glam;
pub use mesh::Mesh;
pub use model::Model;
pub use pose::Pose;
pub use progress::{Cancelled, Progress, Step, Unwatched};
pub use rig::{Control, Rig};
pub use skeleton::{Joint, Skeleton};
pub use skinning::BaseSkinning;
pub use weights::{Influence, SkinWeights};

/// Its program is tested with the documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
