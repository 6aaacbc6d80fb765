//! Displacements as a style sees them.
//!
//! Kim's Figure 4 takes displacements in the frame of the nearest bone: its first deformation is linear
//! blending itself, so measured from linear blending it would have none. But where two bones are
//! equally near, neighbours would be measured from different bones, and what a style adds to them would
//! differ by more than they do: a seam. So a vertex is seen from each of its joints, and what a style
//! adds is blended with shares w⁸/Σw⁸: all of it one bone's but for a narrow border. On Figure 4 that
//! is as accurate as the nearest bone alone; shares w (skin weights themselves) are nearly three times
//! worse, since from a far bone the motion of the whole limb is a displacement.

use glam::{DAffine3, DMat3, DVec3, Vec3};
use rayon::prelude::*;

use eigenskin_core::pose::Pose;
use eigenskin_core::progress::{Cancelled, Progress};
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::{BaseSkinning, PosedSkinning};
use serde::{Deserialize, Serialize};

use super::CAPTURING;
use super::frames::Frames;

/// What displacements are measured from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
pub enum Space {
    /// the rigid motion of the nearest bone, with a smooth border between bones
    NearestBones,
    /// a skinning in closed form; [`BaseSkinning::Rigid`] is the nearest bone with a hard border, as in
    /// the paper
    Skinning(BaseSkinning),
}

impl Space {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::NearestBones,
        Self::Skinning(BaseSkinning::Rigid),
        Self::Skinning(BaseSkinning::LinearBlend),
        Self::Skinning(BaseSkinning::DualQuaternion),
    ];

    /// Its name in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::NearestBones => "nearest-bones",
            Self::Skinning(skinning) => skinning.name(),
        }
    }

    /// The one of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|space| space.name() == name)
    }

    /// What a vertex is measured from, in words.
    pub fn description(self) -> &'static str {
        match self {
            Self::NearestBones => "its nearest bones",
            Self::Skinning(BaseSkinning::Rigid) => "its nearest bone",
            Self::Skinning(BaseSkinning::LinearBlend) => "linear blending",
            Self::Skinning(BaseSkinning::DualQuaternion) => "dual quaternion skinning",
        }
    }
}

impl From<Space> for &'static str {
    fn from(space: Space) -> Self {
        space.name()
    }
}

impl TryFrom<String> for Space {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        Self::named(&name).ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            format!("{name:?} is no space for displacements; choose one of {known}")
        })
    }
}

/// Sharpness of the border between bones.
const SHARPNESS: i32 = 8;
/// Smaller shares are left out; a step of this size is no seam.
const LEAST_SHARE: f64 = 1e-4;

/// A vertex as one of its joints sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct View {
    pub vertex: u32,
    /// 0 for rigs without joints
    pub joint: u32,
    /// of all views of the vertex, which add up to one
    pub share: f64,
}

/// All views of a rig, sorted by joint.
pub(super) struct Views<'a> {
    rig: &'a Rig,
    space: Space,
    pub list: Vec<View>,
    /// every so many vertices are seen
    pub step: usize,
}

impl<'a> Views<'a> {
    pub fn new(rig: &'a Rig, space: Space) -> Self {
        Self::sampled(rig, space, 1)
    }

    /// Of every `step`-th vertex.
    pub fn sampled(rig: &'a Rig, space: Space, step: usize) -> Self {
        let vertices = (0..rig.vertex_count()).step_by(step);
        let mut list: Vec<View> = vertices.flat_map(|v| views_of(rig, space, v)).collect();
        list.sort_by_key(|view| (view.joint, view.vertex));
        Self { rig, space, list, step }
    }

    /// What the shapes of a deformation add to the rest shape, `pose` → `view`.
    pub fn of_frames(
        &self,
        frames: &Frames<'_>,
        progress: &dyn Progress,
    ) -> Result<Vec<Vec<Vec3>>, Cancelled> {
        let shown = frames.shapes.iter().map(|(pose, positions)| {
            progress.doing(CAPTURING)?;
            Ok(self.displacements(pose, positions))
        });
        shown.collect()
    }

    /// Where the views of each joint are: (joint, range of views), rising.
    pub fn by_joint(&self) -> Vec<(usize, std::ops::Range<usize>)> {
        let mut ranges: Vec<(usize, std::ops::Range<usize>)> = Vec::new();
        for (index, view) in self.list.iter().enumerate() {
            match ranges.last_mut() {
                Some((joint, range)) if *joint == view.joint as usize => range.end = index + 1,
                _ => ranges.push((view.joint as usize, index..index + 1)),
            }
        }
        ranges
    }

    /// What a shape in a pose adds to the rest shape, `view`.
    pub fn displacements(&self, pose: &Pose, positions: &[Vec3]) -> Vec<Vec3> {
        let rest = self.rig.mesh().positions();
        let place = |view: &View| {
            let vertex = view.vertex as usize;
            (vertex, rest[vertex].as_dvec3(), positions[vertex].as_dvec3())
        };
        if let Some(skinning) = self.blended(pose) {
            return self
                .list
                .par_iter()
                .map(|view| {
                    let (vertex, rest, posed) = place(view);
                    (skinning.inverse_position(vertex / self.step, posed, rest) - rest).as_vec3()
                })
                .collect();
        }
        let rest_from_posed: Vec<DAffine3> = self.joints(pose).iter().map(DAffine3::inverse).collect();
        self.list
            .par_iter()
            .map(|view| {
                let (_, rest, posed) = place(view);
                (rest_from_posed[view.joint as usize].transform_point3(posed) - rest).as_vec3()
            })
            .collect()
    }

    /// `positions` with displacements (`view`) added where the pose has carried them. A vertex whose
    /// displacements are all zero stays as it is to the bit.
    pub fn added(&self, pose: &Pose, positions: &[Vec3], displacements: &[DVec3]) -> Vec<Vec3> {
        let blended = self.blended(pose);
        let joints = self.joints(pose);
        let turn = |view: &View| -> DMat3 {
            match &blended {
                Some(skinning) => skinning.posed_from_rest(view.vertex as usize / self.step).matrix3,
                None => joints[view.joint as usize].matrix3,
            }
        };
        let mut added = vec![DVec3::ZERO; positions.len()];
        for (view, displacement) in self.list.iter().zip(displacements) {
            if *displacement != DVec3::ZERO {
                added[view.vertex as usize] += turn(view) * *displacement * view.share;
            }
        }
        let sum = |(position, added): (&Vec3, DVec3)| {
            if added == DVec3::ZERO { *position } else { (position.as_dvec3() + added).as_vec3() }
        };
        positions.iter().zip(added).map(sum).collect()
    }

    /// The maps of the vertices, where they are no joint's own.
    fn blended(&self, pose: &Pose) -> Option<PosedSkinning> {
        match self.space {
            Space::NearestBones | Space::Skinning(BaseSkinning::Rigid) => None,
            Space::Skinning(base) => Some(PosedSkinning::of_every(self.step, base, self.rig, pose)),
        }
    }

    /// Where each joint carries the rest shape.
    fn joints(&self, pose: &Pose) -> Vec<DAffine3> {
        let joints: Vec<DAffine3> = pose.posed_from_rest(self.rig.skeleton()).collect();
        if joints.is_empty() { vec![DAffine3::IDENTITY] } else { joints }
    }
}

fn views_of(rig: &Rig, space: Space, vertex: usize) -> Vec<View> {
    let influences = rig.weights().of(vertex);
    let vertex = vertex as u32;
    let Some(heaviest) = influences.first() else {
        return vec![View { vertex, joint: 0, share: 1.0 }];
    };
    if space == Space::Skinning(BaseSkinning::Rigid) {
        return vec![View { vertex, joint: heaviest.joint, share: 1.0 }];
    }
    let pull = |weight: f32| f64::from(weight / heaviest.weight).powi(SHARPNESS);
    let mut views: Vec<View> = influences
        .iter()
        .map(|influence| View { vertex, joint: influence.joint, share: pull(influence.weight) })
        .filter(|view| view.share > LEAST_SHARE)
        .collect();
    let sum: f64 = views.iter().map(|view| view.share).sum();
    for view in &mut views {
        view.share /= sum;
    }
    views
}
