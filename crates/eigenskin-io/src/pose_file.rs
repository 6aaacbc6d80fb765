//! Poses by name as JSON, to be read and written by people.
//!
//! ```json
//! { "poses": [ { "name": "fist", "joints": { "index": [0, 0, -80] }, "controls": { "smile": 0.5 } } ] }
//! ```
//! A joint has its turn away from rest, against its reference joint and in its own rest axes: the
//! axis times the angle in degrees. Long form: `{ "degrees": [x, y, z] }` or `{ "rotation": [x, y, z, w] }`,
//! with `"translation"` in the rest shape's axes and unit. What is not named is at rest.

use std::path::{Path, PathBuf};

use eigenskin_core::articulation::NamedPose;
use eigenskin_core::glam::{DQuat, DVec3};
use eigenskin_core::mover::Mover;
use eigenskin_core::nearest_name;
use eigenskin_core::pose::{JointMotion, Pose};
use eigenskin_core::rig::Rig;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::atomic;
use crate::error::WriteError;

/// Why a file has no poses of the rig.
#[derive(Debug, thiserror::Error)]
pub enum PoseFileError {
    /// The operating system refused.
    #[error("cannot read {}: {error}", path.display())]
    Io {
        /// the file
        path: PathBuf,
        /// what the system says
        error: std::io::Error,
    },
    /// Not JSON of that form.
    #[error("{} is no file of poses ({error}); write {{ \"poses\": [ {{ \"name\": \"bent\", \"joints\": {{ \"elbow\": [0, 0, 90] }} }} ] }}", path.display())]
    Form {
        /// the file
        path: PathBuf,
        /// what the parser says
        error: String,
    },
    /// Something about one pose.
    #[error("{}: pose {pose:?} {problem}", path.display())]
    Pose {
        /// the file
        path: PathBuf,
        /// the pose at fault
        pose: String,
        /// what is wrong with it
        problem: String,
    },
}

/// Bytes of a file of poses at most.
const LARGEST: u64 = 1 << 26;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PoseEntry {
    name: String,
    #[serde(default)]
    joints: Map<String, Value>,
    #[serde(default)]
    controls: Map<String, Value>,
    /// written by `suggest`, for people
    #[serde(default, rename = "reason")]
    _reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Poses {
    poses: Vec<PoseEntry>,
}

#[derive(Deserialize, Serialize, Default)]
#[serde(deny_unknown_fields)]
struct LongMotion {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    degrees: Option<[f64; 3]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rotation: Option<[f64; 4]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    translation: Option<[f64; 3]>,
}

/// Reads the poses of a file for `rig`: a list under `poses`, or a single one.
pub fn read_poses(path: impl AsRef<Path>, rig: &Rig) -> Result<Vec<NamedPose>, PoseFileError> {
    let path = path.as_ref();
    let bytes = crate::whole_file::read(path, LARGEST)
        .map_err(|error| PoseFileError::Io { path: path.into(), error })?;
    poses_of(path, &bytes, rig)
}

/// The poses in the bytes of a file.
pub fn poses_of(path: &Path, bytes: &[u8], rig: &Rig) -> Result<Vec<NamedPose>, PoseFileError> {
    let form = |error: String| PoseFileError::Form { path: path.into(), error };
    let value: Value = serde_json::from_slice(bytes).map_err(|error| form(error.to_string()))?;
    let entries = if value.get("poses").is_some() {
        serde_json::from_value::<Poses>(value).map(|file| file.poses)
    } else {
        serde_json::from_value::<PoseEntry>(value).map(|pose| vec![pose])
    };
    let entries = entries.map_err(|error| form(error.to_string()))?;
    if entries.is_empty() {
        return Err(form("it has none".into()));
    }
    let mut poses: Vec<NamedPose> = Vec::with_capacity(entries.len());
    for entry in entries {
        let fail =
            |problem: String| PoseFileError::Pose { path: path.into(), pose: entry.name.clone(), problem };
        if entry.name.is_empty() || poses.iter().any(|pose| pose.name == entry.name) {
            return Err(fail("has no name, or the name of an earlier one".into()));
        }
        let pose = pose_of(rig, &entry).map_err(fail)?;
        poses.push(NamedPose { name: entry.name, pose });
    }
    Ok(poses)
}

/// Writes poses of `rig`, each with a sentence about it or an empty one.
pub fn write_poses(
    path: impl AsRef<Path>,
    rig: &Rig,
    poses: &[(NamedPose, String)],
) -> Result<(), WriteError> {
    let path = path.as_ref();
    let text = format!("{:#}\n", poses_json(rig, poses));
    atomic::write_file(path, text.as_bytes()).map_err(|error| WriteError::Io { path: path.into(), error })
}

/// Poses as JSON. Read back they are the same but for the last bits; where the whole character
/// stands is not kept.
pub fn poses_json(rig: &Rig, poses: &[(NamedPose, String)]) -> Value {
    let list: Vec<Value> = poses
        .iter()
        .map(|(named, reason)| {
            let mut joints = Map::new();
            let mut controls = Map::new();
            for mover in Mover::all(rig).into_iter().filter(|mover| mover.is_moved(rig, &named.pose)) {
                let name = mover.name(rig).to_string();
                match mover {
                    Mover::Joint(joint) => {
                        joints.insert(name, motion_json(rig, &named.pose.motion_of(rig.skeleton(), joint)));
                    }
                    Mover::Control(control) => {
                        controls.insert(name, json!(named.pose.controls[control]));
                    }
                }
            }
            let mut pose = json!({ "name": named.name, "joints": joints });
            if !controls.is_empty() {
                pose["controls"] = Value::Object(controls);
            }
            if !reason.is_empty() {
                pose["reason"] = json!(reason);
            }
            pose
        })
        .collect();
    json!({ "poses": list })
}

fn motion_json(rig: &Rig, motion: &JointMotion) -> Value {
    let degrees = motion.shortest_turn().to_array().map(f64::to_degrees);
    if motion.translation.length() <= 1e-6 * rig.mesh().size() {
        return json!(degrees);
    }
    json!({ "degrees": degrees, "translation": motion.translation.to_array() })
}

fn pose_of(rig: &Rig, entry: &PoseEntry) -> Result<Pose, String> {
    let skeleton = rig.skeleton();
    let joint_names = || skeleton.joints().iter().map(|joint| joint.name.as_str());
    let control_names = || rig.controls().iter().map(|control| control.name.as_str());
    let mut motions = vec![JointMotion::REST; skeleton.joint_count()];
    for (name, value) in &entry.joints {
        let joint = skeleton.joint_named(name).ok_or_else(|| unknown("joint", name, joint_names()))?;
        if skeleton.joints()[joint].reference.is_none() {
            return Err(format!("moves joint {name:?}, which carries the whole character and bends nothing"));
        }
        motions[joint] = motion_of(value).map_err(|problem| format!("has joint {name:?} {problem}"))?;
    }
    let mut controls = rig.rest_pose().controls;
    for (name, value) in &entry.controls {
        let control = control_names()
            .position(|known| known == name)
            .ok_or_else(|| unknown("control", name, control_names()))?;
        controls[control] = value
            .as_f64()
            .filter(|value| value.is_finite())
            .ok_or_else(|| format!("has control {name:?} at something that is no number"))?;
    }
    Ok(Pose::of_motions(skeleton, &motions, controls))
}

fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let all: Vec<&str> = known.collect();
    let hint = match nearest_name::nearest(name, all.iter().copied()) {
        Some(near) => format!("did you mean {near:?}?"),
        None if all.is_empty() => format!("it has no {what}s"),
        None => format!("there are {}", all.join(", ")),
    };
    format!("names {what} {name:?}, which the rig does not have; {hint}")
}

fn motion_of(value: &Value) -> Result<JointMotion, String> {
    let wrong = || {
        "with a motion that is not [x, y, z] in degrees, nor { \"degrees\" or \"rotation\", \"translation\" }"
            .to_string()
    };
    let motion: LongMotion = if value.is_array() {
        let degrees = serde_json::from_value(value.clone()).map_err(|_| wrong())?;
        LongMotion { degrees: Some(degrees), ..LongMotion::default() }
    } else {
        serde_json::from_value(value.clone()).map_err(|_| wrong())?
    };
    let rotation = match (motion.degrees, motion.rotation) {
        (Some(_), Some(_)) => return Err("with degrees and a rotation; give one of them".into()),
        (Some(degrees), None) => DQuat::from_scaled_axis(DVec3::from_array(degrees.map(f64::to_radians))),
        (None, Some(rotation)) => {
            let length = DQuat::from_array(rotation).length();
            if !(0.99..1.01).contains(&length) {
                return Err("with a rotation that is no unit quaternion [x, y, z, w]".into());
            }
            DQuat::from_array(rotation).normalize()
        }
        (None, None) => DQuat::IDENTITY,
    };
    let translation = DVec3::from_array(motion.translation.unwrap_or_default());
    if !rotation.is_finite() || !translation.is_finite() {
        return Err("with numbers that are too large".into());
    }
    Ok(JointMotion { rotation, translation })
}

#[cfg(test)]
mod tests {
    use super::*;
    use eigenskin_characters::arm;

    #[test]
    fn poses_come_back_and_slips_are_named() {
        let arm = arm(600).unwrap();
        let rig = &arm.rig;
        let path = Path::new("poses.json");
        let written: Vec<(NamedPose, String)> =
            arm.single_joint_poses(3).into_iter().map(|pose| (pose, "because".to_string())).collect();
        let text = poses_json(rig, &written).to_string();
        let read = poses_of(path, text.as_bytes(), rig).unwrap();
        assert_eq!(read.len(), written.len());
        for (read, (written, _)) in read.iter().zip(&written) {
            assert_eq!(read.name, written.name);
            let pairs = read.pose.world_from_joint.iter().zip(&written.pose.world_from_joint);
            assert!(pairs.into_iter().all(|(a, b)| a.abs_diff_eq(*b, 1e-9)), "{}", read.name);
        }
        let joint = rig.skeleton().joints().iter().find(|j| j.reference.is_some()).unwrap().name.clone();
        let cases = [
            ("[]".to_string(), "is no file of poses"),
            ("{".to_string(), "is no file of poses"),
            (r#"{"poses": []}"#.to_string(), "it has none"),
            (r#"{"name": "a", "joint": {}}"#.to_string(), "unknown field"),
            (format!(r#"{{"name": "a", "joints": {{"{joint}x": [0, 0, 9]}}}}"#), "did you mean"),
            (r#"{"name": "a", "joints": {"qqqqqq": [0, 0, 9]}}"#.to_string(), "there are"),
            (r#"{"name": "a", "controls": {"smile": 1}}"#.to_string(), "it has no controls"),
            (format!(r#"{{"name": "a", "joints": {{"{joint}": [0, 0]}}}}"#), "in degrees"),
            (
                format!(r#"{{"name": "a", "joints": {{"{joint}": {{"rotation": [0, 0, 0, 0]}}}}}}"#),
                "unit quaternion",
            ),
            (
                format!(
                    r#"{{"name": "a", "joints": {{"{joint}": {{"rotation": [0, 0, 0, 1], "degrees": [1, 1, 1]}}}}}}"#
                ),
                "give one of them",
            ),
            (r#"{"poses": [{"name": "a"}, {"name": "a"}]}"#.to_string(), "name of an earlier one"),
        ];
        for (text, expected) in cases {
            let error = poses_of(path, text.as_bytes(), rig).unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains("poses.json"), "{text}: {error}");
        }
        // A turn given as quaternion and in degrees is the same turn.
        let both = [r"[0, 0, 90]".to_string(), format!(r#"{{"rotation": [0, 0, {0}, {0}]}}"#, 0.5f64.sqrt())];
        let [a, b] = both.map(|motion| {
            let text = format!(r#"{{"name": "a", "joints": {{"{joint}": {motion}}}}}"#);
            poses_of(path, text.as_bytes(), rig).unwrap().remove(0).pose
        });
        assert!(a.world_from_joint.iter().zip(&b.world_from_joint).all(|(a, b)| a.abs_diff_eq(*b, 1e-12)));
    }
}
