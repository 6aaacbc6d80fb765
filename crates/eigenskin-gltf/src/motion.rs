//! Poses of a rig along time: from its own clips.

use eigenskin_core::pose::Pose;

use crate::clip::Clip;
use crate::rig_file::RigFile;

/// Poses of a rig along time.
#[derive(Debug, Clone, PartialEq)]
pub struct Motion {
    /// the clip's name
    pub name: String,
    /// `key`, rising, seconds
    pub times: Vec<f64>,
    /// `key`
    pub poses: Vec<Pose>,
}

/// Why there is no motion.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MotionError {
    /// A clip of morph weights or cameras only.
    #[error("clip {clip:?} moves no joint and no control of the rig; choose another clip")]
    StandsStill {
        /// its name
        clip: String,
    },
    /// A rate that is no rate.
    #[error("a rate of {rate} frames a second is not possible; give a number above zero")]
    Rate {
        /// the rate given
        rate: f64,
    },
    /// Too much for a clip.
    #[error("the motion would have {frames} frames; at most {limit} are made, lower the rate")]
    TooLong {
        /// frames wanted
        frames: f64,
        /// frames possible
        limit: usize,
    },
    /// A map that names a joint of the rig that does not exist.
    #[error("the map names joint {name:?}, which the rig does not have; it has {}", known.join(", "))]
    NoTargetJoint {
        /// the name given
        name: String,
        /// what there is
        known: Vec<String>,
    },
    /// A map that names a joint of the motion that does not exist.
    #[error("the map names joint {name:?}, which the motion does not have; it has {}", known.join(", "))]
    NoSourceJoint {
        /// the name given
        name: String,
        /// what there is
        known: Vec<String>,
    },
    /// Nothing in common.
    #[error(
        "no joint of the motion ({}) has the name of a joint of the rig ({}); give a map of joints",
        source_joints.join(", "), target_joints.join(", ")
    )]
    NoneMatched {
        /// joints of the rig
        target_joints: Vec<String>,
        /// joints of the motion
        source_joints: Vec<String>,
    },
}

/// Steps that differ by less, relative to their length, are the same.
const SAME_STEP: f64 = 0.01;

impl Motion {
    /// Frames of one motion at most.
    pub const MOST_FRAMES: usize = 100_000;

    /// A clip of the rig's own file, at its own keys or `rate` times a second.
    pub fn from_clip(file: &RigFile, clip: &Clip, rate: Option<f64>) -> Result<Self, MotionError> {
        let times = Self::times_of_clip(file, clip, rate)?;
        let poses = times.iter().map(|&time| file.sample(clip, time)).collect();
        Ok(Self { name: clip.name.clone(), times, poses })
    }

    /// Last time minus first, seconds.
    pub fn duration(&self) -> f64 {
        self.times.last().zip(self.times.first()).map_or(0.0, |(last, first)| last - first)
    }

    /// Whether all keys are equally far apart; the last step may be shorter.
    pub fn is_even(&self) -> bool {
        let steps: Vec<f64> = self.times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let Some((last, others)) = steps.split_last() else { return true };
        let step = others.first().unwrap_or(last);
        others.iter().all(|other| (other - step).abs() < SAME_STEP * step) && *last < (1.0 + SAME_STEP) * step
    }

    /// The last step, seconds, where it is shorter than the others.
    pub fn short_last_step(&self) -> Option<f64> {
        let [.., before, previous, last] = self.times[..] else { return None };
        let step = previous - before;
        (last - previous < (1.0 - SAME_STEP) * step).then_some(last - previous)
    }

    /// When a clip is looked at: at its own keys or `rate` times a second.
    pub fn times_of_clip(file: &RigFile, clip: &Clip, rate: Option<f64>) -> Result<Vec<f64>, MotionError> {
        let keys = clip.key_times(file.layout());
        if keys.is_empty() {
            return Err(MotionError::StandsStill { clip: clip.name.clone() });
        }
        Self::resampled(keys, rate)
    }

    /// The keys themselves, or times from the first to the last at a distance of exactly `1/rate`. The last key
    /// stays where it is, so that a loop that ends where it began still does: the last step may be shorter.
    pub fn resampled(keys: Vec<f64>, rate: Option<f64>) -> Result<Vec<f64>, MotionError> {
        let too_long = |frames: f64| MotionError::TooLong { frames, limit: Self::MOST_FRAMES };
        let Some(rate) = rate else {
            return if keys.len() > Self::MOST_FRAMES { Err(too_long(keys.len() as f64)) } else { Ok(keys) };
        };
        if !(rate > 0.0 && rate.is_finite()) {
            return Err(MotionError::Rate { rate });
        }
        let (first, last) = (keys[0], keys[keys.len() - 1]);
        if first == last {
            return Ok(vec![first]);
        }
        // A frame that would be the last key, but for rounding, is the last key.
        let steps = ((last - first) * rate - SAME_STEP).ceil().max(1.0);
        if steps + 1.0 > Self::MOST_FRAMES as f64 {
            return Err(too_long(steps + 1.0));
        }
        let frames = (0..steps as usize).map(|frame| first + frame as f64 / rate);
        Ok(frames.chain([last]).collect())
    }
}
