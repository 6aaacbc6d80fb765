//! Which joint of the target is which joint of the character that shows the style.

use std::collections::BTreeMap;

use eigenskin_core::pose::{JointMotion, Pose, rotation_of};
use eigenskin_core::rig::Rig;
use eigenskin_core::skeleton::Skeleton;
use glam::DVec3;
use serde::Serialize;

use super::StyleError;

/// How joints were matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MatchedBy {
    /// a map, and equal names for what it leaves out
    Map,
    /// equal names
    Names,
    /// their order: no name is shared, the hierarchies are equal
    Order,
}

/// The joints of a target in another character.
#[derive(Debug, Clone, PartialEq)]
pub struct JointMatch {
    /// `joint of the target`: the same joint of the source
    pub source_of: Vec<Option<usize>>,
    /// how they were found
    pub by: MatchedBy,
}

/// Finds the joints of `target` in `source`. `map`: joint of the target → joint of the source, by names.
///
/// One character may have joints that the other lacks (finger tips); those that both have must hang on
/// each other alike.
pub fn match_joints(
    source: &Skeleton,
    target: &Skeleton,
    map: Option<&BTreeMap<String, String>>,
) -> Result<JointMatch, StyleError> {
    let by_name = |joint: usize| source.joint_named(&target.joints()[joint].name);
    let mut source_of: Vec<Option<usize>> = (0..target.joint_count()).map(by_name).collect();
    let mut by = MatchedBy::Names;
    if let Some(map) = map {
        by = MatchedBy::Map;
        for (joint, counterpart) in map {
            let unknown = |joint: &String, side| StyleError::UnknownJoint { joint: joint.clone(), side };
            let ours = target.joint_named(joint).ok_or_else(|| unknown(joint, "target"))?;
            let theirs = source
                .joint_named(counterpart)
                .ok_or_else(|| unknown(counterpart, "character that shows the style"))?;
            source_of[ours] = Some(theirs);
        }
    } else if source_of.iter().all(Option::is_none) && same_hierarchy(source, target) {
        by = MatchedBy::Order;
        source_of = (0..target.joint_count()).map(Some).collect();
    }
    let found = source_of.iter().flatten().count();
    // With a map, and where one character has all joints of the other, the rest is left over on purpose.
    if by == MatchedBy::Names && found < target.joint_count().min(source.joint_count()) {
        let missing = source_of.iter().position(Option::is_none).unwrap_or_default();
        return Err(StyleError::NoCounterpart { joint: target.joints()[missing].name.clone() });
    }
    check_one_to_one(source, target, &source_of)?;
    check_hierarchy(source, target, &source_of)?;
    Ok(JointMatch { source_of, by })
}

fn same_hierarchy(source: &Skeleton, target: &Skeleton) -> bool {
    let references = |skeleton: &Skeleton| -> Vec<Option<usize>> {
        skeleton.joints().iter().map(|joint| joint.reference).collect()
    };
    references(source) == references(target)
}

fn check_one_to_one(
    source: &Skeleton,
    target: &Skeleton,
    source_of: &[Option<usize>],
) -> Result<(), StyleError> {
    for (second, counterpart) in source_of.iter().enumerate() {
        let Some(counterpart) = counterpart else { continue };
        if let Some(first) = source_of[..second].iter().position(|other| *other == Some(*counterpart)) {
            return Err(StyleError::SharedCounterpart {
                first: target.joints()[first].name.clone(),
                second: target.joints()[second].name.clone(),
                joint: source.joints()[*counterpart].name.clone(),
            });
        }
    }
    Ok(())
}

/// Going up from a matched joint, the next joint that both characters have must be the same.
fn check_hierarchy(
    source: &Skeleton,
    target: &Skeleton,
    source_of: &[Option<usize>],
) -> Result<(), StyleError> {
    let known = |joint: usize| source_of.contains(&Some(joint));
    for (joint, counterpart) in source_of.iter().enumerate() {
        let Some(counterpart) = *counterpart else { continue };
        let above = next_above(target, joint, |above| source_of[above].is_some());
        let source_above = next_above(source, counterpart, known);
        if above.and_then(|above| source_of[above]) != source_above {
            let name = |skeleton: &Skeleton, joint: Option<usize>| {
                joint.map_or("nothing".to_string(), |joint| skeleton.joints()[joint].name.clone())
            };
            return Err(StyleError::Hierarchy {
                joint: target.joints()[joint].name.clone(),
                target_parent: name(target, above),
                source_joint: source.joints()[counterpart].name.clone(),
                source_parent: name(source, source_above),
            });
        }
    }
    Ok(())
}

/// The first joint above `joint` that is `wanted`.
fn next_above(skeleton: &Skeleton, joint: usize, wanted: impl Fn(usize) -> bool) -> Option<usize> {
    std::iter::successors(skeleton.joints()[joint].reference, |&above| skeleton.joints()[above].reference)
        .find(|&above| wanted(above))
}

impl JointMatch {
    /// For a joint of the target: its counterpart, or that of the nearest joint above that has one.
    pub fn source_or_above(&self, target: &Skeleton, joint: usize) -> Option<usize> {
        self.source_of[joint].or_else(|| {
            next_above(target, joint, |above| self.source_of[above].is_some())
                .and_then(|above| self.source_of[above])
        })
    }

    /// The pose of `source` with the joint angles of a pose of `target`. Rotations are taken in each
    /// joint's own axes; translations too, and scaled by size; controls by name.
    pub fn carry(&self, source: &Rig, target: &Rig, pose: &Pose) -> Pose {
        let scale = source.mesh().size() / target.mesh().size();
        let mut motions = vec![JointMotion::REST; source.skeleton().joint_count()];
        for (joint, counterpart) in self.source_of.iter().enumerate() {
            let Some(counterpart) = *counterpart else { continue };
            let motion = pose.motion_of(target.skeleton(), joint);
            let axes =
                |skeleton: &Skeleton, joint: usize| rotation_of(skeleton.rest_from_joint()[joint].matrix3);
            let in_joint: DVec3 = axes(target.skeleton(), joint).inverse() * motion.translation;
            motions[counterpart] = JointMotion {
                rotation: motion.rotation,
                translation: axes(source.skeleton(), counterpart) * in_joint * scale,
            };
        }
        let value = |control: &eigenskin_core::rig::Control| {
            let ours = target.controls().iter().position(|other| other.name == control.name);
            ours.map_or(control.default, |ours| pose.controls[ours])
        };
        Pose::of_motions(source.skeleton(), &motions, source.controls().iter().map(value).collect())
    }

    /// Names of joints that move in some pose of `target` and have no counterpart.
    pub fn moving_alone(&self, target: &Skeleton, poses: &[&Pose]) -> Vec<String> {
        let moves = |joint: usize| {
            poses.iter().any(|pose| pose.motion_of(target, joint).shortest_turn().length() > MOVED)
        };
        (0..target.joint_count())
            .filter(|&joint| self.source_of[joint].is_none() && moves(joint))
            .map(|joint| target.joints()[joint].name.clone())
            .collect()
    }
}

/// Smaller turns (radians) are rounding of files.
const MOVED: f64 = 1e-4;
