//! Training poses without sculpts: a rigged character is bent as soft tissue around its bones
//! (EigenSkin §3, without its cluster).
//!
//! Modules stand in data-flow order:
//! [`lattice`] (cubes that fill the skin) → [`bones`] (what moves it) → material and solver
//! (where the rest comes to lie).
//!
//! **Lattice space.** All of it computes in units of the lattice: positions are counted in cube
//! edges from the lattice's origin, stress in units of the shear modulus. A character of ten
//! micrometres and one of a hundred metres are the same problem.

pub mod bones;
pub mod embedding;
pub mod lattice;
pub mod surface;
pub mod tissue;
pub mod winding;

#[cfg(test)]
mod test_support;
mod union_find;

pub use glam;
