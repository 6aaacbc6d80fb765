//! Clips as morph weights: the drivers evaluated at the keys of a clip and in between, and as many of these
//! moments kept as are needed.

use eigenskin_core::model::Model;
use eigenskin_core::packed::PackedDrivers;
use eigenskin_core::pose::Pose;
use eigenskin_core::skinning::singular_values;

use super::clip::{Channel, ChannelPath, Clip, Interpolation, union_of_times};
use super::document::Document;
use super::error::GltfError;
use super::key_reduction::{Samples, VertexBound};
use super::model::ModelWriteOptions;
use super::model_warning::ModelWarning;
use super::targets;
use crate::rig_file::RigFile;

/// One clip with the model's coordinates along it.
#[derive(Debug)]
pub struct BakedClip {
    /// index of the animation
    pub animation: usize,
    /// whether values jump from key to key
    pub step: bool,
    /// `key`, rising, seconds
    pub times: Vec<f32>,
    /// `key` → `component`
    pub coordinates: Vec<Vec<f32>>,
    /// moments at which the drivers were evaluated
    pub sampled: usize,
    /// at most how far a vertex is off at those that are no keys, in sizes
    pub error: f64,
}

/// Keys of one clip at most; a clip that would need more keeps only those it has.
const MOST_KEYS: usize = 100_000;

/// Bakes every clip that moves the rig or drives morph targets of its meshes.
pub fn bake_clips(
    file: &RigFile,
    model: &Model,
    options: &ModelWriteOptions,
    warnings: &mut Vec<ModelWarning>,
) -> Vec<BakedClip> {
    let layout = file.layout();
    let mut baked = Vec::new();
    if model.component_count() == 0 {
        return baked;
    }
    let mut drivers = PackedDrivers::new(model);
    let bound = (options.tolerance > 0.0).then(|| VertexBound::new(model, options.tolerance));
    for (animation, clip) in file.clips().iter().enumerate() {
        let own: Vec<&Channel> = weights_channels(clip, &layout.mesh_nodes).collect();
        let moves = clip.rig_channels(layout).next().is_some();
        if !moves && own.is_empty() {
            continue;
        }
        let channels = || clip.rig_channels(layout).chain(own.iter().copied());
        let step = channels().all(|channel| channel.interpolation == Interpolation::Step);
        let mut times = union_of_times(channels());
        if !step {
            if own.iter().any(|channel| channel.interpolation == Interpolation::Step) {
                warnings.push(ModelWarning::StepsRamp { clip: clip.name.clone() });
            }
            match filled_in(&times, options.bake_rate) {
                Some(filled) => times = filled,
                None => warnings.push(ModelWarning::TooLong { clip: clip.name.clone() }),
            }
        }
        let times = rounded(&times);
        let poses = times.iter().map(|&time| clip.sample(layout, f64::from(time)));
        let (coordinates, stretches): (Vec<Vec<f32>>, Vec<f64>) =
            poses.map(|pose| (drivers.drive(&pose).to_vec(), largest_stretch(model, &pose))).unzip();
        // How far the file's own targets move is nobody's business here: all their keys stay.
        let (keys, error) = match bound.as_ref().filter(|_| own.is_empty()) {
            Some(bound) => {
                let stretches = &stretches;
                Samples { times: &times, coordinates: &coordinates, stretches, step }.keys(bound)
            }
            None => ((0..times.len()).collect(), 0.0),
        };
        baked.push(BakedClip {
            animation,
            step,
            times: keys.iter().map(|&key| times[key]).collect(),
            coordinates: keys.iter().map(|&key| coordinates[key].clone()).collect(),
            sampled: times.len(),
            error: error * options.tolerance,
        });
    }
    baked
}

/// How much the joints of a pose stretch the rest shape at most.
fn largest_stretch(model: &Model, pose: &Pose) -> f64 {
    let joints = pose.posed_from_rest(model.rig().skeleton());
    joints.map(|joint| singular_values(joint.matrix3)[0]).fold(1.0, f64::max)
}

/// Weights of a file's own targets at a time of a clip.
pub fn own_weights(
    file: &RigFile,
    document: &Document,
    animation: usize,
    node: usize,
    own: usize,
    time: f32,
) -> Result<Vec<f32>, GltfError> {
    let nodes = [node];
    let channel = weights_channels(&file.clips()[animation], &nodes).next();
    let mut weights = match channel {
        Some(channel) => channel.sample(f64::from(time)),
        None => targets::own_default_weights(document, node, own)?,
    };
    weights.resize(own, 0.0);
    Ok(weights.into_iter().map(|w| w as f32).collect())
}

fn weights_channels<'a>(clip: &'a Clip, nodes: &'a [usize]) -> impl Iterator<Item = &'a Channel> {
    clip.channels
        .iter()
        .filter(|channel| channel.path == ChannelPath::Weights && nodes.contains(&channel.node))
}

/// Times with others in between, so that no two are further apart than `1/rate`; none when there
/// would be too many.
fn filled_in(times: &[f64], rate: f64) -> Option<Vec<f64>> {
    let mut filled = Vec::new();
    for pair in times.windows(2) {
        let span = pair[1] - pair[0];
        // A key that is late by a rounding error needs no other one before it.
        let pieces = (span * rate - 1e-3).ceil().max(1.0);
        if filled.len() as f64 + pieces > MOST_KEYS as f64 {
            return None;
        }
        filled.extend((0..pieces as usize).map(|i| pair[0] + span * i as f64 / pieces));
    }
    filled.extend(times.last());
    Some(filled)
}

fn rounded(times: &[f64]) -> Vec<f32> {
    let mut rounded: Vec<f32> = times.iter().map(|&time| time as f32).collect();
    rounded.dedup();
    rounded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stay_and_gaps_are_filled() {
        let filled = filled_in(&[0.0, 0.1, 0.110], 30.0).unwrap();
        assert_eq!(filled.len(), 5);
        assert!(filled.contains(&0.1) && filled.contains(&0.110));
        assert!(filled.windows(2).all(|pair| pair[1] - pair[0] <= 1.0 / 30.0 + 1e-4));
        assert_eq!(filled_in(&[0.0, 1.0 / 30.0], 30.0).unwrap().len(), 2);
        assert!(filled_in(&[0.0, 1e12], 30.0).is_none());
    }
}
