//! Animations: sampling a clip at a time into a pose.

use eigenskin_core::glam::{DQuat, DVec3};
use eigenskin_core::pose::Pose;
use serde_json::Value;

use super::accessor;
use super::document::{Document, optional_index};
use super::error::GltfError;
use super::nodes::{Local, name_of};
use super::rig::RigLayout;

/// Numbers of all clips of a file at most. Channels may name the same data again and again, so the
/// size of the file is no bound.
const MOST_VALUES: usize = 1 << 26;

/// One animation of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Clip {
    /// its name, or "clip N"
    pub name: String,
    /// what moves
    pub channels: Vec<Channel>,
}

/// How one property of one node moves.
#[derive(Debug, Clone, PartialEq)]
pub struct Channel {
    /// the node
    pub node: usize,
    /// what of it
    pub path: ChannelPath,
    /// how to go from key to key
    pub interpolation: Interpolation,
    /// `key`, rising, seconds
    pub times: Vec<f64>,
    /// `key × width`; for cubic splines `key × 3 × width`
    values: Vec<f64>,
    width: usize,
}

/// A property that can be animated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChannelPath {
    /// three numbers
    Translation,
    /// a quaternion
    Rotation,
    /// three numbers
    Scale,
    /// one number per morph target
    Weights,
}

/// How to go from key to key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interpolation {
    /// the last key's value
    Step,
    /// straight; rotations along the shortest arc
    Linear,
    /// Hermite splines with tangents
    CubicSpline,
}

impl Interpolation {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Step => "STEP",
            Self::Linear => "LINEAR",
            Self::CubicSpline => "CUBICSPLINE",
        }
    }
}

impl Clip {
    /// Reads all animations of a document, in its order.
    pub fn read_all(document: &Document) -> Result<Vec<Self>, GltfError> {
        let animations = document.array("animations");
        let mut left = MOST_VALUES;
        animations
            .iter()
            .enumerate()
            .map(|(index, animation)| {
                let name = match name_of(animation) {
                    "" => format!("clip {index}"),
                    name => name.to_string(),
                };
                let channels = read_channels(document, index, animation, &name, &mut left)?;
                Ok(Self { name, channels })
            })
            .collect()
    }

    /// The channels that move the rig: joints, whatever they hang on, and controls.
    pub fn rig_channels<'a>(&'a self, layout: &'a RigLayout) -> impl Iterator<Item = &'a Channel> {
        let mut moves = vec![false; layout.graph.parents.len()];
        for &node in &layout.joint_nodes {
            moves[node] = true;
            layout.graph.ancestors(node).for_each(|ancestor| moves[ancestor] = true);
        }
        layout.control_nodes.iter().for_each(|&node| moves[node] = true);
        self.channels
            .iter()
            .filter(move |channel| channel.path != ChannelPath::Weights && moves[channel.node])
    }

    /// All times at which the rig has a key, rising, each once.
    pub fn key_times(&self, layout: &RigLayout) -> Vec<f64> {
        union_of_times(self.rig_channels(layout))
    }

    /// The last key of any channel, seconds.
    pub fn duration(&self) -> f64 {
        self.channels.iter().filter_map(|channel| channel.times.last().copied()).fold(0.0, f64::max)
    }

    /// Whether the rig jumps from key to key.
    pub fn is_step(&self, layout: &RigLayout) -> bool {
        self.rig_channels(layout).all(|channel| channel.interpolation == Interpolation::Step)
    }

    /// The pose at a time, seconds; before the first and after the last key it stands still.
    pub fn sample(&self, layout: &RigLayout, time: f64) -> Pose {
        layout.pose(&self.locals(layout, time, DQuat::normalize))
    }

    /// The transforms of all nodes at a time, with what is made of the rotations as they are stored.
    pub(crate) fn locals(
        &self,
        layout: &RigLayout,
        time: f64,
        rotation: impl Fn(DQuat) -> DQuat,
    ) -> Vec<Local> {
        let mut locals = layout.graph.locals.clone();
        for channel in self.channels.iter().filter(|channel| channel.path != ChannelPath::Weights) {
            // Nodes given by a matrix cannot be animated; the specification forbids it.
            let Local::Trs(trs) = &mut locals[channel.node] else { continue };
            let value = channel.sample(time);
            match channel.path {
                ChannelPath::Translation => trs.translation = DVec3::from_slice(&value),
                ChannelPath::Rotation => trs.rotation = rotation(DQuat::from_slice(&value)),
                ChannelPath::Scale => trs.scale = DVec3::from_slice(&value),
                ChannelPath::Weights => {}
            }
        }
        locals
    }
}

/// The key times of channels, rising, each once.
pub fn union_of_times<'a>(channels: impl Iterator<Item = &'a Channel>) -> Vec<f64> {
    let mut times: Vec<f64> = channels.flat_map(|channel| channel.times.iter().copied()).collect();
    times.sort_by(f64::total_cmp);
    times.dedup();
    times
}

impl Channel {
    /// Numbers per key.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The value at a time, `width`.
    pub fn sample(&self, time: f64) -> Vec<f64> {
        let after = self.times.partition_point(|&t| t <= time);
        if after == 0 {
            return self.key(0).to_vec();
        }
        let before = after - 1;
        if after == self.times.len()
            || self.interpolation == Interpolation::Step
            || time == self.times[before]
        {
            return self.key(before).to_vec();
        }
        let span = self.times[after] - self.times[before];
        let t = (time - self.times[before]) / span;
        match self.interpolation {
            Interpolation::CubicSpline => self.hermite(before, t, span),
            _ if self.path == ChannelPath::Rotation => {
                let from = DQuat::from_slice(self.key(before)).normalize();
                let to = DQuat::from_slice(self.key(after)).normalize();
                from.slerp(to, t).to_array().to_vec()
            }
            _ => self.key(before).iter().zip(self.key(after)).map(|(a, b)| a + (b - a) * t).collect(),
        }
    }

    /// The blocks of a key: its value, or in-tangent, value and out-tangent.
    pub fn blocks(&self) -> impl Iterator<Item = &[f64]> {
        self.values.chunks_exact(self.width)
    }

    fn key(&self, key: usize) -> &[f64] {
        match self.interpolation {
            Interpolation::CubicSpline => self.block(3 * key + 1),
            _ => self.block(key),
        }
    }

    fn block(&self, block: usize) -> &[f64] {
        &self.values[block * self.width..(block + 1) * self.width]
    }

    fn hermite(&self, before: usize, t: f64, span: f64) -> Vec<f64> {
        let (t2, t3) = (t * t, t * t * t);
        let (from, out) = (self.block(3 * before + 1), self.block(3 * before + 2));
        let (into, to) = (self.block(3 * before + 3), self.block(3 * before + 4));
        (0..self.width)
            .map(|i| {
                (2.0 * t3 - 3.0 * t2 + 1.0) * from[i]
                    + span * (t3 - 2.0 * t2 + t) * out[i]
                    + (3.0 * t2 - 2.0 * t3) * to[i]
                    + span * (t3 - t2) * into[i]
            })
            .collect()
    }
}

fn read_channels(
    document: &Document,
    animation: usize,
    json: &Value,
    clip: &str,
    left: &mut usize,
) -> Result<Vec<Channel>, GltfError> {
    let list = |key: &str| json.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let samplers = list("samplers");
    let place = || format!("animations[{animation}]");
    let mut channels = Vec::new();
    for (index, channel) in list("channels").iter().enumerate() {
        let fail = |problem| GltfError::Clip { clip: clip.to_string(), channel: index, problem };
        let target = channel.get("target").unwrap_or(&Value::Null);
        let path = match target.get("path").and_then(Value::as_str) {
            Some("translation") => ChannelPath::Translation,
            Some("rotation") => ChannelPath::Rotation,
            Some("scale") => ChannelPath::Scale,
            Some("weights") => ChannelPath::Weights,
            // Extensions animate other things, which are none of ours.
            _ => continue,
        };
        let Some(node) = optional_index(target, "node", document.array("nodes").len(), place)? else {
            continue;
        };
        let sampler = optional_index(channel, "sampler", samplers.len(), place)?
            .ok_or_else(|| fail("it has no sampler"))?;
        let channel = read_channel(document, &samplers[sampler], node, path, place, fail)?;
        *left = left
            .checked_sub(channel.times.len() + channel.values.len())
            .ok_or_else(|| fail("the clips have more keys than can be read; export fewer clips"))?;
        channels.push(channel);
    }
    Ok(channels)
}

fn read_channel(
    document: &Document,
    sampler: &Value,
    node: usize,
    path: ChannelPath,
    place: impl Fn() -> String,
    fail: impl Fn(&'static str) -> GltfError,
) -> Result<Channel, GltfError> {
    let interpolation = match sampler.get("interpolation").and_then(Value::as_str) {
        None | Some("LINEAR") => Interpolation::Linear,
        Some("STEP") => Interpolation::Step,
        Some("CUBICSPLINE") => Interpolation::CubicSpline,
        Some(_) => return Err(fail("it has an unknown interpolation")),
    };
    let accessors = document.array("accessors").len();
    let input =
        optional_index(sampler, "input", accessors, &place)?.ok_or_else(|| fail("it has no key times"))?;
    let output =
        optional_index(sampler, "output", accessors, &place)?.ok_or_else(|| fail("it has no values"))?;
    let times = accessor::read(document, input, &["SCALAR"])?.values;
    if times.is_empty() || times.windows(2).any(|pair| pair[0] >= pair[1]) || times[0] < 0.0 {
        return Err(fail("its key times do not rise from zero or later"));
    }
    let kind = match path {
        ChannelPath::Translation | ChannelPath::Scale => "VEC3",
        ChannelPath::Rotation => "VEC4",
        ChannelPath::Weights => "SCALAR",
    };
    let values = accessor::read(document, output, &[kind])?.values;
    let blocks = if interpolation == Interpolation::CubicSpline { 3 * times.len() } else { times.len() };
    let width = values.len() / blocks;
    let right_width = match path {
        ChannelPath::Translation | ChannelPath::Scale => width == 3,
        ChannelPath::Rotation => width == 4,
        ChannelPath::Weights => width > 0,
    };
    if !right_width || width * blocks != values.len() {
        return Err(fail("the number of its values does not fit its key times"));
    }
    let channel = Channel { node, path, interpolation, times, values, width };
    let is_zero = |key: usize| channel.key(key).iter().all(|v| v.abs() < 1e-9);
    if path == ChannelPath::Rotation && (0..channel.times.len()).any(is_zero) {
        return Err(fail("it has a rotation of zero length"));
    }
    Ok(channel)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channel(interpolation: Interpolation, path: ChannelPath, values: &[f64], width: usize) -> Channel {
        Channel { node: 0, path, interpolation, times: vec![1.0, 3.0], values: values.to_vec(), width }
    }

    #[test]
    fn each_interpolation_by_hand() {
        let step = channel(Interpolation::Step, ChannelPath::Weights, &[1.0, 5.0], 1);
        assert_eq!([0.0, 1.0, 2.9, 3.0, 9.0].map(|t| step.sample(t)[0]), [1.0, 1.0, 1.0, 5.0, 5.0]);
        let linear = channel(Interpolation::Linear, ChannelPath::Weights, &[1.0, 5.0], 1);
        assert_eq!([0.0, 1.5, 3.0, 4.0].map(|t| linear.sample(t)[0]), [1.0, 2.0, 5.0, 5.0]);
        // In, value, out per key. A cubic through 0 and 8 with slopes 0 and 12 is 8·(t/2)³ for span 2.
        let cubic =
            channel(Interpolation::CubicSpline, ChannelPath::Weights, &[9.0, 0.0, 0.0, 12.0, 8.0, 9.0], 1);
        assert_eq!([1.0, 2.0, 3.0].map(|t| cubic.sample(t)[0]), [0.0, 1.0, 8.0]);
    }

    #[test]
    fn rotations_take_the_short_way() {
        let (a, b) = (DQuat::from_rotation_x(0.2), -DQuat::from_rotation_x(0.6));
        let values = [a.to_array(), b.to_array()].concat();
        let turn = channel(Interpolation::Linear, ChannelPath::Rotation, &values, 4);
        let middle = DQuat::from_slice(&turn.sample(2.0));
        assert!(middle.dot(DQuat::from_rotation_x(0.4)).abs() > 1.0 - 1e-12);
    }
}
