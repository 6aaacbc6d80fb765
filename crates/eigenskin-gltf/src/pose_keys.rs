//! From poses to animated nodes.
//!
//! Keys are `f32` translations, rotations and scales. Each joint is fitted to where its parent
//! *will be* after rounding, so that errors do not add up along a chain.

use eigenskin_core::glam::{DAffine3, DQuat, DVec3};
use eigenskin_core::pose::Pose;
use eigenskin_core::rig::Rig;
use serde_json::{Value, json};

use super::append;
use super::clip::Clip;
use super::document::Document;
use super::error::GltfError;
use super::nodes::{Local, Trs, make_animatable};
use super::rig::RigLayout;
use crate::WriteError;

/// A pose as node transforms, rounded as it will be read again.
#[derive(Debug, Clone)]
pub struct NodePose {
    /// `joint`
    pub joints: Vec<Trs>,
    /// `control`
    pub controls: Vec<f64>,
    /// the pose that reading gives
    pub read_back: Pose,
}

/// A matrix sheared by more than this cannot be written.
const LARGEST_SHEAR: f64 = 1e-4;

/// Scales this close to the node's own are the noise of `f32` matrices.
const SCALE_NOISE: f64 = 3e-7;

/// The node transforms that show `pose`; `label` names it in an error.
pub fn node_pose(
    layout: &RigLayout,
    rig: &Rig,
    pose: &Pose,
    label: impl Fn() -> String,
) -> Result<NodePose, WriteError> {
    let graph = &layout.graph;
    let mut joint_of_node = vec![None; graph.parents.len()];
    for (joint, &node) in layout.joint_nodes.iter().enumerate() {
        joint_of_node[node] = Some(joint);
    }
    let mut locals = graph.locals.clone();
    let controls: Vec<f64> = pose.controls.iter().map(|&value| f64::from(value as f32)).collect();
    for (&node, &value) in layout.control_nodes.iter().zip(&controls) {
        let mut trs = animatable(locals[node]);
        trs.translation.x = value;
        locals[node] = Local::Trs(trs);
    }
    let mut joints = vec![Trs::IDENTITY; layout.joint_nodes.len()];
    let mut globals = vec![DAffine3::IDENTITY; locals.len()];
    for &node in &graph.parents_first {
        let parent = graph.parents[node].map_or(DAffine3::IDENTITY, |parent| globals[parent]);
        if let Some(joint) = joint_of_node[node] {
            let wanted = parent.inverse() * (layout.scene_from_mesh * pose.world_from_joint[joint]);
            let (mut trs, shear) = Trs::nearest(wanted);
            if shear.is_nan() || shear > LARGEST_SHEAR {
                let joint = rig.skeleton().joints()[joint].name.clone();
                return Err(WriteError::Shear { pose: label(), joint, shear });
            }
            let default = animatable(graph.locals[node]).scale;
            if (trs.scale - default).abs().max_element() <= SCALE_NOISE * default.abs().max_element() {
                trs.scale = default;
                joints[joint] = Trs { scale: default, ..trs.rounded() };
            } else {
                joints[joint] = trs.rounded();
            }
            locals[node] = Local::Trs(joints[joint]);
        }
        globals[node] = parent * locals[node].to_affine();
    }
    let read_back = layout.pose_of_globals(&globals, &locals);
    Ok(NodePose { joints, controls, read_back })
}

impl NodePose {
    /// A key of a clip, as it is stored: written again, it is the same to the bit.
    pub fn stored(layout: &RigLayout, clip: &Clip, time: f64) -> Self {
        let locals = clip.locals(layout, time, |rotation| rotation);
        let read_back = clip.sample(layout, time);
        Self {
            joints: layout.joint_nodes.iter().map(|&node| animatable(locals[node])).collect(),
            controls: read_back.controls.clone(),
            read_back,
        }
    }
}

/// Appends key times; they are shared by all channels of an animation.
pub fn push_times(document: &mut Document, name: &str, times: &[f32]) -> Result<usize, GltfError> {
    append::scalars(document, name, times, true)
}

/// An animation of joints and controls through the given poses, one key each. Properties that
/// never leave the node's default have no channel. `name` begins the names of the accessors.
pub fn push_animation(
    document: &mut Document,
    layout: &RigLayout,
    name: &str,
    clip: &str,
    input: usize,
    poses: &[NodePose],
    interpolation: &str,
) -> Result<Value, GltfError> {
    let mut keys = Keys { document, input, interpolation, name, channels: Vec::new(), samplers: Vec::new() };
    for (joint, &node) in layout.joint_nodes.iter().enumerate() {
        let default = animatable(layout.graph.locals[node]);
        let key = |pose: &NodePose| pose.joints[joint];
        let moves = |differs: &dyn Fn(Trs) -> bool| poses.iter().any(|pose| differs(key(pose)));
        if moves(&|trs| trs.translation != default.translation) {
            keys.vectors(node, "translation", poses.iter().map(|pose| key(pose).translation))?;
        }
        if moves(&|trs| trs.rotation != default.rotation) {
            keys.rotations(node, poses.iter().map(|pose| key(pose).rotation))?;
        }
        if moves(&|trs| trs.scale != default.scale) {
            keys.vectors(node, "scale", poses.iter().map(|pose| key(pose).scale))?;
        }
        make_animatable(keys.document, node, default)?;
    }
    for (control, &node) in layout.control_nodes.iter().enumerate() {
        let default = animatable(layout.graph.locals[node]);
        let value = |pose: &NodePose| {
            DVec3::new(pose.controls[control], default.translation.y, default.translation.z)
        };
        if poses.iter().any(|pose| value(pose) != default.translation) {
            keys.vectors(node, "translation", poses.iter().map(value))?;
        }
        make_animatable(keys.document, node, default)?;
    }
    if keys.channels.is_empty() {
        // An animation must move something; a channel that holds the root still says no more.
        let default = animatable(layout.graph.locals[layout.root_node]);
        make_animatable(keys.document, layout.root_node, default)?;
        keys.vectors(layout.root_node, "translation", poses.iter().map(|_| default.translation))?;
    }
    let (channels, samplers) = (keys.channels, keys.samplers);
    Ok(json!({"name": clip, "channels": channels, "samplers": samplers}))
}

/// Takes over from an `old` version of an animation whatever does not move `rig_nodes`: weights of
/// morph targets, and other nodes.
pub fn keep_other_channels(animation: &mut Value, old: &Value, rig_nodes: &[usize]) {
    let list = |key: &str| old.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    for channel in list("channels") {
        let target = channel.get("target").unwrap_or(&Value::Null);
        let node = target.get("node").and_then(Value::as_u64).map_or(usize::MAX, |node| node as usize);
        let weights = target.get("path").and_then(Value::as_str) == Some("weights");
        let sampler = channel.get("sampler").and_then(Value::as_u64).map_or(usize::MAX, |s| s as usize);
        let Some(sampler) = list("samplers").get(sampler) else { continue };
        if rig_nodes.contains(&node) && !weights {
            continue;
        }
        let mut channel = channel.clone();
        if let Some(samplers) = animation["samplers"].as_array_mut() {
            channel["sampler"] = samplers.len().into();
            samplers.push(sampler.clone());
        }
        if let Some(channels) = animation["channels"].as_array_mut() {
            channels.push(channel);
        }
    }
    for key in ["extras", "extensions"] {
        if let Some(value) = old.get(key) {
            animation[key] = value.clone();
        }
    }
}

fn animatable(local: Local) -> Trs {
    match local {
        Local::Trs(trs) => trs,
        Local::Matrix(matrix) => Trs::nearest(matrix).0,
    }
}

struct Keys<'a> {
    document: &'a mut Document,
    input: usize,
    interpolation: &'a str,
    name: &'a str,
    channels: Vec<Value>,
    samplers: Vec<Value>,
}

impl Keys<'_> {
    fn vectors(
        &mut self,
        node: usize,
        path: &str,
        values: impl Iterator<Item = DVec3>,
    ) -> Result<(), GltfError> {
        let values: Vec<_> = values.map(DVec3::as_vec3).collect();
        let output = append::vec3(self.document, self.name, &values, append::Usage::Other, false)?;
        self.push(node, path, output);
        Ok(())
    }

    fn rotations(&mut self, node: usize, values: impl Iterator<Item = DQuat>) -> Result<(), GltfError> {
        // q and −q are one rotation; the nearer one keeps programs that do not know it from spinning.
        let mut last = DQuat::IDENTITY;
        let values: Vec<[f32; 4]> = values
            .map(|q| {
                last = if q.dot(last) < 0.0 { -q } else { q };
                last.as_quat().to_array()
            })
            .collect();
        let output = append::vec4(self.document, self.name, &values, append::Usage::Other)?;
        self.push(node, "rotation", output);
        Ok(())
    }

    fn push(&mut self, node: usize, path: &str, output: usize) {
        let sampler = self.samplers.len();
        self.samplers
            .push(json!({"input": self.input, "output": output, "interpolation": self.interpolation}));
        self.channels.push(json!({"sampler": sampler, "target": {"node": node, "path": path}}));
    }
}
