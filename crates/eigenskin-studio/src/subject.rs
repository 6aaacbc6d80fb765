//! What is looked at.

use std::sync::Arc;

use eigenskin_core::examples::ExampleSet;
use eigenskin_core::glam::{DVec3, Vec3};
use eigenskin_core::model::Model;
use eigenskin_core::pose::Pose;
use eigenskin_gltf::RigFile;
use eigenskin_report::page::LengthUnit;

use crate::message::Vocabulary;

/// A model with what belongs to it.
#[derive(Debug)]
pub struct Subject {
    /// for the title
    pub name: String,
    /// the model
    pub model: Arc<Model>,
    /// the file it came from, with its clips
    pub file: RigFile,
    /// true shapes of the model's rig
    pub truth: Option<ExampleSet>,
    /// how lengths are told
    pub unit: LengthUnit,
    /// the heat map from nothing to the largest, sRGB bytes; at least two colours
    pub heat_colours: Vec<[u8; 3]>,
    /// from the character toward the eye, at first
    pub from_direction: DVec3,
    /// what is up
    pub up: DVec3,
}

impl Subject {
    /// The names that messages may use.
    pub fn vocabulary(&self) -> Vocabulary {
        let examples = self.truth.iter().flat_map(ExampleSet::examples);
        Vocabulary {
            rig: self.model.rig().clone(),
            clips: self.file.clips().iter().map(|clip| (clip.name.clone(), clip.duration())).collect(),
            examples: examples.map(|example| example.name.clone()).collect(),
        }
    }

    /// The pose of a clip at a time.
    pub fn sample(&self, clip: usize, time: f64) -> Pose {
        self.file.sample(&self.file.clips()[clip], time)
    }

    /// The heat map in linear light.
    pub fn heat_in_linear_light(&self) -> Vec<Vec3> {
        let linear = |byte: u8| {
            let x = f32::from(byte) / 255.0;
            if x <= 0.04045 { x / 12.92 } else { ((x + 0.055) / 1.055).powf(2.4) }
        };
        self.heat_colours.iter().map(|bytes| Vec3::from(bytes.map(linear))).collect()
    }
}
