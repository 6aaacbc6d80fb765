//! One file per command.

pub mod bake;
pub mod bench;
pub mod check;
pub mod completions;
pub mod demo;
pub mod evaluate;
pub mod examples;
pub mod fit;
pub mod render;
pub mod simulate;
pub mod style;
pub mod suggest;
pub mod transfer;
#[cfg_attr(not(feature = "window"), path = "view_not_built.rs")]
pub mod view;
pub mod weights;
