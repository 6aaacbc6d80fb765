//! Motions for a rig from another character's clips or from motion capture.
//!
//! Retargeting ([`retarget_bvh`], [`retarget_clip`]): a matched joint turns against the
//! nearest matched joint above it as its source turns against *that* joint's source, both measured
//! from rest (a BVH's zero pose, a rig's bind) and in the axes of the scene. Source joints in
//! between are thereby added up, and joints that nothing matches keep their rest. Above joints, in
//! a flat rig, are the reference joints.

use std::collections::BTreeMap;

use eigenskin_core::glam::{DAffine3, DQuat, DVec3};
use eigenskin_core::pose::{Pose, rotation_of};
use eigenskin_core::skeleton::Skeleton;

use eigenskin_gltf::{Clip, Motion, MotionError, RigFile};

use crate::bvh::Bvh;
pub use crate::joint_map::{JointMapError, read_joint_map};

/// Target joint → source joint, by names.
pub type JointMap = BTreeMap<String, String>;

/// How to retarget a motion.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RetargetOptions {
    /// which joint moves which; without it joints of equal names
    pub map: Option<JointMap>,
    /// keys a second; without it the source's own keys
    pub rate: Option<f64>,
    /// whether bones point where the source's do, rather than turn by as much from rest. For
    /// characters that rest in different poses
    pub align: bool,
}

/// Which joints a motion was retargeted between.
#[derive(Debug, Clone, PartialEq)]
pub struct Matching {
    /// (target joint, source joint)
    pub matched: Vec<(String, String)>,
    /// target joints that keep their rest
    pub unmatched: Vec<String>,
    /// source joints that move nothing
    pub unused: Vec<String>,
    /// what root translations were multiplied by
    pub scale: f64,
}

/// A BVH's motion on the joints of a rig. The root starts where the rig rests and moves from there,
/// its steps scaled by the length of the bones.
pub fn retarget_bvh(
    target: &RigFile,
    bvh: &Bvh,
    name: &str,
    options: &RetargetOptions,
) -> Result<(Motion, Matching), MotionError> {
    let source = Source {
        names: bvh.joints().iter().map(|joint| joint.name.clone()).collect(),
        parents: bvh.joints().iter().map(|joint| joint.parent).collect(),
        // The zero pose says nothing about the place of the root: captures start anywhere.
        rest: bvh.zero_positions(),
        origin: Some(bvh.pose_at(0.0).positions),
    };
    let retargeter = Retargeter::new(target, &source, options)?;
    let keys =
        (0..bvh.frame_count().min(Motion::MOST_FRAMES + 1)).map(|i| i as f64 * bvh.frame_time()).collect();
    let times = Motion::resampled(keys, options.rate)?;
    let controls: Vec<f64> = target.rig().controls().iter().map(|control| control.default).collect();
    let poses = times
        .iter()
        .map(|&time| {
            let pose = bvh.pose_at(time);
            retargeter.pose(&pose.rotations, &pose.positions, controls.clone())
        })
        .collect();
    Ok((Motion { name: name.into(), times, poses }, retargeter.matching))
}

/// Another character's clip on the joints of a rig, measured from each one's bind; root
/// translations scaled by the length of the bones, controls by equal names.
pub fn retarget_clip(
    target: &RigFile,
    source_file: &RigFile,
    clip: &Clip,
    options: &RetargetOptions,
) -> Result<(Motion, Matching), MotionError> {
    let skeleton = source_file.rig().skeleton();
    let scene_from_mesh = source_file.layout().scene_from_mesh;
    let source = Source {
        names: skeleton.joints().iter().map(|joint| joint.name.clone()).collect(),
        parents: skeleton.joints().iter().map(|joint| joint.reference).collect(),
        rest: rest_positions(skeleton, scene_from_mesh),
        origin: None,
    };
    let retargeter = Retargeter::new(target, &source, options)?;
    let times = Motion::times_of_clip(source_file, clip, options.rate)?;
    let source_controls = source_file.rig().controls();
    let poses = times
        .iter()
        .map(|&time| {
            let pose = source_file.sample(clip, time);
            let moved: Vec<DAffine3> = pose
                .posed_from_rest(skeleton)
                .map(|posed| scene_from_mesh * posed * scene_from_mesh.inverse())
                .collect();
            let rotations: Vec<DQuat> = moved.iter().map(|m| rotation_of(m.matrix3)).collect();
            let positions: Vec<DVec3> =
                moved.iter().zip(&source.rest).map(|(m, &rest)| m.transform_point3(rest)).collect();
            let control = |wanted: &eigenskin_core::rig::Control| {
                let found = source_controls.iter().position(|control| control.name == wanted.name);
                found.map_or(wanted.default, |control| pose.controls[control])
            };
            let controls = target.rig().controls().iter().map(control).collect();
            retargeter.pose(&rotations, &positions, controls)
        })
        .collect();
    Ok((Motion { name: clip.name.clone(), times, poses }, retargeter.matching))
}

/// Joints that a motion was made for.
struct Source {
    /// `joint`
    names: Vec<String>,
    /// `joint`: the joint it turns against
    parents: Vec<Option<usize>>,
    /// `joint`: place at rest, in the scene
    rest: Vec<DVec3>,
    /// `joint`: where translations start from, when that is not rest
    origin: Option<Vec<DVec3>>,
}

/// What is to be done for each joint of the target, once per frame.
struct Retargeter {
    /// reference joints before those that refer to them
    order: Vec<usize>,
    /// `joint`
    steps: Vec<Step>,
    scene_from_mesh: DAffine3,
    mesh_from_scene: DAffine3,
    /// `joint`: world from joint at rest, in mesh space
    rest: Vec<DAffine3>,
    matching: Matching,
}

struct Step {
    reference: Option<usize>,
    /// place at rest, in the scene
    rest: DVec3,
    /// its source
    turns: Option<Turn>,
    /// the source joint that it turns against
    against: Option<Turn>,
    /// the source joint whose translation moves it, and where that one starts
    travels: Option<(usize, DVec3)>,
}

/// A source joint, and the rotation that lays the target's rest on the source's.
#[derive(Clone, Copy)]
struct Turn {
    source: usize,
    alignment: DQuat,
}

impl Turn {
    /// How the target turns from its rest in the scene; `rotations` are the source's, `joint`.
    fn rotation(self, rotations: &[DQuat]) -> DQuat {
        rotations[self.source] * self.alignment
    }
}

impl Retargeter {
    fn new(target: &RigFile, source: &Source, options: &RetargetOptions) -> Result<Self, MotionError> {
        let skeleton = target.rig().skeleton();
        let scene_from_mesh = target.layout().scene_from_mesh;
        let rest = rest_positions(skeleton, scene_from_mesh);
        let sources = match_joints(skeleton, source, options.map.as_ref())?;
        let references: Vec<Option<usize>> = skeleton.joints().iter().map(|joint| joint.reference).collect();
        let above: Vec<Option<usize>> =
            (0..sources.len()).map(|joint| matched_above(joint, &references, &sources)).collect();
        let alignments = if options.align {
            alignments(&rest, &source.rest, &sources, &above)
        } else {
            vec![DQuat::IDENTITY; sources.len()]
        };
        let turn_of =
            |joint: usize| sources[joint].map(|source| Turn { source, alignment: alignments[joint] });
        let steps = (0..sources.len())
            .map(|joint| {
                let reference = references[joint];
                let mut step = Step {
                    reference,
                    rest: rest[joint],
                    turns: turn_of(joint),
                    against: None,
                    travels: None,
                };
                let Some(from) = sources[joint] else { return step };
                let is_root = reference.is_none();
                step.against = match above[joint] {
                    Some(above) => turn_of(above),
                    None if is_root => None,
                    None => source.parents[from].map(|source| Turn { source, alignment: DQuat::IDENTITY }),
                };
                if above[joint].is_none() && (is_root || source.parents[from].is_none()) {
                    let start = source.origin.as_ref().unwrap_or(&source.rest)[from];
                    step.travels = Some((from, start));
                }
                step
            })
            .collect();
        let scale = bone_ratio(&rest, &source.rest, &sources, &above);
        Ok(Self {
            order: references_first(&references),
            steps,
            scene_from_mesh,
            mesh_from_scene: scene_from_mesh.inverse(),
            rest: skeleton.rest_from_joint().to_vec(),
            matching: matching(skeleton, source, &sources, scale),
        })
    }

    /// The target's pose; `rotations` away from rest and `positions` are the source's, `joint`.
    fn pose(&self, rotations: &[DQuat], positions: &[DVec3], controls: Vec<f64>) -> Pose {
        // `joint`: where the joint carries the rest scene.
        let mut moved = vec![DAffine3::IDENTITY; self.steps.len()];
        for &joint in &self.order {
            let step = &self.steps[joint];
            let carried = step.reference.map_or(DAffine3::IDENTITY, |reference| moved[reference]);
            let rotation = |turn: Option<Turn>| turn.map_or(DQuat::IDENTITY, |t| t.rotation(rotations));
            let turn = rotation(step.against).inverse() * rotation(step.turns);
            let travel = step
                .travels
                .map_or(DVec3::ZERO, |(from, start)| self.matching.scale * (positions[from] - start));
            moved[joint] = carried
                * DAffine3::from_translation(step.rest + travel)
                * DAffine3::from_quat(turn)
                * DAffine3::from_translation(-step.rest);
        }
        let world_from_joint = moved
            .iter()
            .zip(&self.rest)
            .map(|(&moved, &rest)| self.mesh_from_scene * moved * self.scene_from_mesh * rest)
            .collect();
        Pose { world_from_joint, controls }
    }
}

fn rest_positions(skeleton: &Skeleton, scene_from_mesh: DAffine3) -> Vec<DVec3> {
    let place = |rest: &DAffine3| scene_from_mesh.transform_point3(rest.translation);
    skeleton.rest_from_joint().iter().map(place).collect()
}

/// Target joint → source joint: as the map says, without one by equal names.
fn match_joints(
    skeleton: &Skeleton,
    source: &Source,
    map: Option<&JointMap>,
) -> Result<Vec<Option<usize>>, MotionError> {
    let names = || skeleton.joints().iter().map(|joint| joint.name.clone()).collect::<Vec<_>>();
    let source_named = |name: &str| source.names.iter().position(|other| other == name);
    let mut sources = vec![None; skeleton.joint_count()];
    if let Some(map) = map {
        for (target, from) in map {
            let joint = skeleton
                .joint_named(target)
                .ok_or_else(|| MotionError::NoTargetJoint { name: target.clone(), known: names() })?;
            let from = source_named(from).ok_or_else(|| MotionError::NoSourceJoint {
                name: from.clone(),
                known: source.names.clone(),
            })?;
            sources[joint] = Some(from);
        }
    } else {
        for (joint, from) in skeleton.joints().iter().zip(&mut sources) {
            *from = source_named(&joint.name);
        }
    }
    if sources.iter().all(Option::is_none) {
        return Err(MotionError::NoneMatched { target_joints: names(), source_joints: source.names.clone() });
    }
    Ok(sources)
}

fn matched_above(joint: usize, references: &[Option<usize>], sources: &[Option<usize>]) -> Option<usize> {
    std::iter::successors(references[joint], |&above| references[above])
        .find(|&above| sources[above].is_some())
}

/// Joints in an order in which each comes after its reference joint. The skeleton has no cycles.
fn references_first(references: &[Option<usize>]) -> Vec<usize> {
    let depth = |joint: usize| std::iter::successors(references[joint], |&above| references[above]).count();
    let mut order: Vec<usize> = (0..references.len()).collect();
    order.sort_by_key(|&joint| depth(joint));
    order
}

/// For each joint the rotation that turns its bone at rest, from it to the one matched joint below
/// it, into the direction of the source's. Joints where limbs part have none (three directions can
/// contradict each other), ends follow the joint above them.
fn alignments(
    target_rest: &[DVec3],
    source_rest: &[DVec3],
    sources: &[Option<usize>],
    above: &[Option<usize>],
) -> Vec<DQuat> {
    let below = |joint: usize| {
        (0..above.len()).filter(move |&other| above[other] == Some(joint) && sources[other].is_some())
    };
    let own = |joint: usize| {
        let mut below = below(joint);
        let (only, None) = (below.next()?, below.next()) else { return Some(DQuat::IDENTITY) };
        let (from, to) = (sources[joint]?, sources[only]?);
        let target = (target_rest[only] - target_rest[joint]).try_normalize();
        let source = (source_rest[to] - source_rest[from]).try_normalize();
        let arc = target.zip(source).map(|(target, source)| DQuat::from_rotation_arc(target, source));
        Some(arc.unwrap_or(DQuat::IDENTITY))
    };
    (0..above.len())
        .map(|joint| own(joint).or_else(|| above[joint].and_then(own)).unwrap_or(DQuat::IDENTITY))
        .collect()
}

/// How much longer the target's bones are than the source's, between matched joints; 1 when there
/// are none. Lengths do not depend on how the arms are held at rest, extents do.
fn bone_ratio(
    target_rest: &[DVec3],
    source_rest: &[DVec3],
    sources: &[Option<usize>],
    above: &[Option<usize>],
) -> f64 {
    let (mut target, mut source) = (0.0, 0.0);
    for (joint, from) in sources.iter().enumerate() {
        let Some((from, above)) = from.zip(above[joint]) else { continue };
        let Some(from_above) = sources[above] else { continue };
        target += target_rest[joint].distance(target_rest[above]);
        source += source_rest[from].distance(source_rest[from_above]);
    }
    let ratio = target / source;
    if ratio.is_finite() && ratio > 0.0 { ratio } else { 1.0 }
}

fn matching(skeleton: &Skeleton, source: &Source, sources: &[Option<usize>], scale: f64) -> Matching {
    let mut found = Matching { matched: Vec::new(), unmatched: Vec::new(), unused: Vec::new(), scale };
    let mut used = vec![false; source.names.len()];
    for (joint, from) in skeleton.joints().iter().zip(sources) {
        match *from {
            Some(from) => {
                used[from] = true;
                found.matched.push((joint.name.clone(), source.names[from].clone()));
            }
            None => found.unmatched.push(joint.name.clone()),
        }
    }
    found.unused = (0..used.len()).filter(|&s| !used[s]).map(|s| source.names[s].clone()).collect();
    found
}
