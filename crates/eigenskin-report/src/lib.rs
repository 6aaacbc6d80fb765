//! Reports: what a model does to a skin, to look at.
//!
//! [`page`] puts figures, charts and pictures into one HTML file that needs no other.
//!
//! [`picture`] draws posed skins, error heat maps and displacement maps side by side as a PNG, on
//! the CPU alone. Its letters are DejaVu Sans, which the `dejavu` crate embeds under the licence of
//! Bitstream Vera: binaries that draw pictures carry that font.

pub mod page;
pub mod picture;
