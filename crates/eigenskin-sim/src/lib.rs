//! Training poses without sculpts: a rigged character is bent as soft tissue around its bones
//! (EigenSkin §3, without its cluster).
//!
//! Modules stand in data-flow order: [`ranges`] (what the joints can do) → [`jobs`] (the poses) →
//! `surface`, `winding` (what is inside) → [`lattice`] (cells that fill it) → `embedding`
//! (how the skin follows) → [`bones`] (what moves it) → [`tissue`] (all of that) → [`material`],
//! `element`, [`problem`] (what it costs to bend it) → [`solver`], [`contact`], [`self_contact`],
//! [`path`] (where it comes to lie) → [`simulation`], [`quality`] (poses to learn from);
//! [`calculix`] hands the same problem to an independent program.
//!
//! **Lattice space.** All of it computes in units of the lattice: positions are counted in cell
//! edges from the lattice's origin, stress in units of the shear modulus. A character of ten
//! micrometres and one of a hundred metres are the same problem.

pub mod jobs;
pub mod ranges;

mod surface;
mod winding;

pub mod bones;
mod embedding;
pub mod lattice;
pub mod tissue;

mod element;
pub mod material;
pub mod problem;

pub mod contact;
pub mod equilibrium;
pub mod loads;
pub mod path;
pub mod self_contact;
pub mod solver;

pub mod quality;
pub mod simulation;

pub mod calculix;

mod assembly;
mod dissection;
mod small_matrix;
mod sparse_cholesky;
mod system;
mod union_find;

#[cfg(test)]
mod test_support;

pub use glam;
