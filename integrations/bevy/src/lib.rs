//! eigenskin models in Bevy: the corrections of a model, driven live by its joints.
//!
//! Bevy's own glTF loader shows a `model.glb`: it skins and morphs it. What it does not know are the
//! drivers, which say how strong each morph target is in a pose. This plugin reads them from the same
//! file, looks at the joints in every frame, and writes the weights.
//!
//! Add [`EigenSkinPlugin`], and put [`EigenSkin`] where the scene of the file is spawned. The README has
//! a whole program.

mod bind;
mod character;
mod drive;
mod model;

use bevy_app::{App, Plugin, PostUpdate};
use bevy_asset::AssetApp;
use bevy_ecs::schedule::{IntoScheduleConfigs, SystemSet};
use bevy_transform::TransformSystems;

pub use character::{EigenSkin, EigenSkinControls, EigenSkinDrive};
pub use model::{EigenSkinLoader, EigenSkinModel, LoadError};

/// Drives the morph targets of all [`EigenSkin`] characters.
#[derive(Debug, Default, Clone, Copy)]
pub struct EigenSkinPlugin;

/// The systems of the plugin, in [`PostUpdate`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, SystemSet)]
pub enum EigenSkinSystems {
    /// Finds the joints, controls and meshes of characters that are new or have changed.
    Bind,
    /// Evaluates the drivers and writes the morph weights.
    Drive,
}

impl Plugin for EigenSkinPlugin {
    fn build(&self, app: &mut App) {
        app.init_asset::<EigenSkinModel>()
            .init_asset_loader::<EigenSkinLoader>()
            .register_type::<EigenSkin>()
            .register_type::<EigenSkinControls>();
        // Animation moves joints and sets morph weights in `PostUpdate` before transforms are propagated.
        // After that the joints are where this frame will show them, and the weights of a clip that was
        // baked into the file are there to be replaced. Renderers take both when all of `PostUpdate` is
        // over, so nothing lags behind by a frame.
        app.configure_sets(
            PostUpdate,
            (EigenSkinSystems::Bind, EigenSkinSystems::Drive).chain().after(TransformSystems::Propagate),
        )
        .add_systems(
            PostUpdate,
            (
                bind::bind_characters.in_set(EigenSkinSystems::Bind),
                drive::drive_characters.in_set(EigenSkinSystems::Drive),
            ),
        );
    }
}

/// The programs of the README compile.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
