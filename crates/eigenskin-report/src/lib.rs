//! Reports: what a model does to a skin, to look at.
//!
//! [`picture`] draws posed skins, error heat maps and displacement maps side by side as a PNG, on
//! the CPU alone.

pub mod picture;
