//! Which parts of a character press against each other in a pose: bones as capsules.
//!
//! ```text
//! depth(gap)   = w·ln(1 + e^((r_a + r_b − gap)/w))          softened overlap of two capsules
//! overlap      = max(0, depth(gap) − depth(gap at rest) − w/50) · direction
//! ```
//! The direction leads from the other bone to the own one at their nearest points, in the rest shape's axes as
//! they ride on the own bone; it fades where the bones themselves come nearer than w. So the overlap is zero at
//! rest, continuous, and does not see where the whole character stands.

use glam::{DAffine3, DVec3};

use crate::pose::Pose;
use crate::rig::Rig;
use crate::skeleton::Skeleton;

/// Bones that press less deep than this share of the size do not touch.
pub const LEAST_DEPTH: f64 = 0.005;

/// Softness as a share of the character's size.
const SOFTNESS: f64 = 0.01;
/// Overlaps below this share of the softness are none.
const NOTHING: f64 = 0.02;
/// Softened overlaps are smaller than that from here on: ln(1 + e⁻⁴) < 0.02.
const FAR: f64 = 4.0;
/// Bones that are fewer joints apart always touch.
const APART: usize = 3;
/// A bone without a child reaches this far from its joint, the middle of its skin being at one.
const REACH: f64 = 1.6;

/// A bone as a segment with a radius.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Capsule {
    /// the joint that moves it
    pub joint: usize,
    /// where it begins, rest shape's space
    pub from: DVec3,
    /// where it ends, rest shape's space
    pub to: DVec3,
    /// rest shape's unit
    pub radius: f64,
}

/// Two bones that may touch; seen from the first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CapsulePair {
    /// the bone on which the direction rides
    pub own: Capsule,
    /// the bone that presses
    pub other: Capsule,
    /// length over which touching begins, rest shape's unit
    pub softness: f64,
}

/// The bones of a rig as capsules.
#[derive(Debug, Clone, PartialEq)]
pub struct Capsules {
    all: Vec<Capsule>,
    softness: f64,
    /// `joint → joint`: joints between them along the tree of references
    steps: Vec<Vec<usize>>,
}

impl Capsules {
    /// A capsule for every joint that holds more of some skin than any other joint. It leads from the joint to
    /// the middle of its children, or along its skin where it has none; its radius is the median distance of
    /// that skin.
    pub fn of(rig: &Rig) -> Self {
        let skeleton = rig.skeleton();
        let mut held: Vec<Vec<DVec3>> = vec![Vec::new(); skeleton.joint_count()];
        let seams = rig.seams();
        for point in 0..seams.group_count() {
            let vertex = seams.first_vertex(point);
            let influences = rig.weights().of(vertex).iter();
            if let Some(heaviest) = influences.max_by(|a, b| a.weight.total_cmp(&b.weight)) {
                held[heaviest.joint as usize].push(rig.mesh().positions()[vertex].as_dvec3());
            }
        }
        let capsules = held.iter().enumerate().filter_map(|(joint, skin)| capsule(skeleton, joint, skin));
        Self {
            all: capsules.collect(),
            softness: SOFTNESS * rig.mesh().size(),
            steps: steps_between(skeleton),
        }
    }

    /// All of them, by rising joint.
    pub fn all(&self) -> &[Capsule] {
        &self.all
    }

    /// All ordered pairs of bones that are far enough from each other in the skeleton to come and go.
    pub fn pairs(&self) -> impl Iterator<Item = CapsulePair> + '_ {
        let apart = |own: &Capsule, other: &Capsule| self.steps[own.joint][other.joint] >= APART;
        self.all.iter().flat_map(move |own| {
            let others = self.all.iter().filter(move |other| apart(own, other));
            others.map(|other| CapsulePair { own: *own, other: *other, softness: self.softness })
        })
    }

    /// How deep the two bones that press hardest press into each other, beyond what they do at rest; zero where
    /// nothing touches. Rest shape's unit.
    pub fn deepest(&self, skeleton: &Skeleton, pose: &Pose) -> f64 {
        let once = self.pairs().filter(|pair| pair.own.joint < pair.other.joint);
        once.map(|pair| pair.pressed(skeleton, pose).1).fold(0.0, f64::max)
    }
}

impl CapsulePair {
    /// How the other bone presses into the own one in a pose: depth times direction, rest shape's axes and
    /// unit; zero where they do not touch.
    pub fn overlap(&self, skeleton: &Skeleton, pose: &Pose) -> DVec3 {
        let (between, depth) = self.pressed(skeleton, pose);
        self.directed(between, depth)
    }

    /// The shortest way from the other bone to the own one in a pose, and how deep they press into each other beyond
    /// what they do at rest.
    fn pressed(&self, skeleton: &Skeleton, pose: &Pose) -> (DVec3, f64) {
        let posed_from_rest =
            |joint: usize| pose.world_from_joint[joint] * skeleton.joints()[joint].joint_from_rest;
        let carried = (posed_from_rest(self.own.joint).inverse(), posed_from_rest(self.other.joint));
        self.pressed_beyond(self.depth_at_rest(), carried)
    }

    /// The overlap beyond a known depth at rest, from where the joints of the own and the other bone carry the rest
    /// shape.
    pub(crate) fn overlap_beyond(&self, at_rest: f64, carried: (DAffine3, DAffine3)) -> DVec3 {
        let (between, depth) = self.pressed_beyond(at_rest, carried);
        self.directed(between, depth)
    }

    /// Bones that cross have no direction; up to there it fades.
    fn directed(&self, between: DVec3, depth: f64) -> DVec3 {
        between * (depth / between.length().max(self.softness))
    }

    /// As [`pressed`](Self::pressed), beyond a known depth at rest. Of bones that are far apart the way is zero too.
    fn pressed_beyond(
        &self,
        at_rest: f64,
        (rest_from_own, other_from_rest): (DAffine3, DAffine3),
    ) -> (DVec3, f64) {
        let seen = |point: DVec3| rest_from_own.transform_point3(other_from_rest.transform_point3(point));
        let (from, to) = (seen(self.other.from), seen(self.other.to));
        // Most pairs are far apart: spheres around the two bones tell that quickly.
        let between_middles = 0.5 * ((self.own.from + self.own.to) - (from + to));
        let lengths = 0.5 * (self.own.from.distance(self.own.to) + from.distance(to));
        let far = self.reach() + lengths;
        if between_middles.length_squared() > far * far {
            return (DVec3::ZERO, 0.0);
        }
        let between = between_segments((self.own.from, self.own.to), (from, to));
        let depth = self.depth(between.length()) - at_rest - NOTHING * self.softness;
        (between, depth.max(0.0))
    }

    /// Bones whose gap is wider do not touch.
    pub(crate) fn reach(&self) -> f64 {
        self.own.radius + self.other.radius + FAR * self.softness
    }

    /// Softened overlap at rest.
    pub(crate) fn depth_at_rest(&self) -> f64 {
        let segment = |capsule: &Capsule| (capsule.from, capsule.to);
        self.depth(between_segments(segment(&self.own), segment(&self.other)).length())
    }

    fn depth(&self, gap: f64) -> f64 {
        let x = (self.own.radius + self.other.radius - gap) / self.softness;
        self.softness * (x.max(0.0) + (-x.abs()).exp().ln_1p())
    }
}

fn capsule(skeleton: &Skeleton, joint: usize, skin: &[DVec3]) -> Option<Capsule> {
    if skin.is_empty() {
        return None;
    }
    let from = skeleton.rest_position(joint);
    let middle = |points: &[DVec3]| points.iter().sum::<DVec3>() / points.len() as f64;
    let children: Vec<DVec3> = (0..skeleton.joint_count())
        .filter(|&child| skeleton.joints()[child].reference == Some(joint))
        .map(|child| skeleton.rest_position(child))
        .collect();
    let to = if children.is_empty() { from.lerp(middle(skin), REACH) } else { middle(&children) };
    let mut distances: Vec<f64> = skin.iter().map(|&point| distance_to_segment(point, from, to)).collect();
    distances.sort_by(f64::total_cmp);
    Some(Capsule { joint, from, to, radius: distances[distances.len() / 2] })
}

/// `joint → joint`: how many references lead from one to the other.
fn steps_between(skeleton: &Skeleton) -> Vec<Vec<usize>> {
    let above = |joint: usize| -> Vec<usize> {
        std::iter::successors(Some(joint), |&joint| skeleton.joints()[joint].reference).collect()
    };
    let chains: Vec<Vec<usize>> = (0..skeleton.joint_count()).map(above).collect();
    let steps = |a: &Vec<usize>, b: &Vec<usize>| {
        let met = a.iter().enumerate().find_map(|(up, joint)| Some(up + b.iter().position(|o| o == joint)?));
        // Joints without a common root are as far apart as can be.
        met.unwrap_or(a.len() + b.len())
    };
    chains.iter().map(|a| chains.iter().map(|b| steps(a, b)).collect()).collect()
}

fn distance_to_segment(point: DVec3, from: DVec3, to: DVec3) -> f64 {
    between_segments((point, point), (from, to)).length()
}

/// The shortest way from the second segment to the first.
fn between_segments((a, a_end): (DVec3, DVec3), (b, b_end): (DVec3, DVec3)) -> DVec3 {
    let (along_a, along_b, start) = (a_end - a, b_end - b, a - b);
    let (aa, bb, ab) = (along_a.length_squared(), along_b.length_squared(), along_a.dot(along_b));
    let (a_start, b_start) = (along_a.dot(start), along_b.dot(start));
    let share = |value: f64, of: f64| if of > 0.0 { (value / of).clamp(0.0, 1.0) } else { 0.0 };
    let area = aa * bb - ab * ab;
    let mut on_a = if area > 1e-12 * aa * bb { share(ab * b_start - a_start * bb, area) } else { 0.0 };
    let on_b = share(ab * on_a + b_start, bb);
    on_a = share(ab * on_b - a_start, aa);
    (a + on_a * along_a) - (b + on_b * along_b)
}

#[cfg(test)]
mod tests {
    use glam::{DQuat, Vec3};
    use proptest::prelude::*;

    use super::*;
    use crate::mesh::Mesh;
    use crate::skeleton::Joint;
    use crate::weights::{Influence, SkinWeights};

    fn point() -> impl Strategy<Value = DVec3> {
        [-1f64..1.0, -1f64..1.0, -1f64..1.0].prop_map(DVec3::from_array)
    }

    proptest! {
        #[test]
        fn nothing_on_two_segments_is_nearer(a in point(), b in point(), c in point(), d in point()) {
            let found = between_segments((a, b), (c, d)).length();
            let mut least = f64::INFINITY;
            for i in 0..=40 {
                for k in 0..=40 {
                    least = least.min(a.lerp(b, f64::from(i) / 40.0).distance(c.lerp(d, f64::from(k) / 40.0)));
                }
            }
            prop_assert!(found <= least + 1e-12, "{found} {least}");
            // The grid misses the nearest points by at most half a step on each.
            prop_assert!(found >= least - (a.distance(b) + c.distance(d)) / 80.0, "{found} {least}");
        }

        #[test]
        fn overlaps_do_not_see_where_the_character_stands(
            turn in [-3f64..3.0, -3f64..3.0, -3f64..3.0], offset in point(), bend in 0.0f64..3.0,
        ) {
            let rig = chain();
            let skeleton = rig.skeleton();
            let pose = curled(&rig, bend);
            let moved = pose.moved_by(DAffine3::from_scale_rotation_translation(
                DVec3::splat(2.5),
                DQuat::from_scaled_axis(DVec3::from_array(turn)),
                offset,
            ));
            for pair in Capsules::of(&rig).pairs() {
                let difference = pair.overlap(skeleton, &pose) - pair.overlap(skeleton, &moved);
                prop_assert!(difference.length() < 1e-9);
            }
        }
    }

    /// Five joints in a row along x, one apart, each with four points of skin 0.2 around its bone.
    fn chain() -> Rig {
        let joints = (0..5).map(|joint| Joint {
            name: format!("j{joint}"),
            parent: (joint > 0).then(|| joint - 1),
            reference: None,
            joint_from_rest: DAffine3::from_translation(DVec3::new(-(joint as f64), 0.0, 0.0)),
        });
        let around = [(0.2, 0.0), (0.0, 0.2), (-0.2, 0.0), (0.0, -0.2)];
        let skin = (0..5).flat_map(|joint| around.map(|(y, z)| Vec3::new(joint as f32 + 0.5, y, z)));
        let mesh = Mesh::new(skin.collect(), (0..18).map(|v| [v, v + 1, v + 2]).collect(), None).unwrap();
        let own = |vertex: u32| vec![Influence { joint: vertex / 4, weight: 1.0 }];
        let weights = SkinWeights::new(5, (0..20).map(own)).unwrap().0;
        Rig::new(mesh, Skeleton::new(joints.collect()).unwrap(), weights, Vec::new()).unwrap()
    }

    /// All joints but the first turned about z.
    fn curled(rig: &Rig, angle: f64) -> Pose {
        let turned = |joint: usize| DQuat::from_rotation_z(if joint == 0 { 0.0 } else { angle });
        let along = |joint: usize| DVec3::new(if joint == 0 { 0.0 } else { 1.0 }, 0.0, 0.0);
        let parent_from_joint: Vec<DAffine3> =
            (0..5).map(|j| DAffine3::from_rotation_translation(turned(j), along(j))).collect();
        Pose { world_from_joint: rig.skeleton().forward_kinematics(&parent_from_joint), controls: Vec::new() }
    }

    #[test]
    fn capsules_lie_on_bones_and_reach_the_skin() {
        let rig = chain();
        let capsules = Capsules::of(&rig);
        let all = capsules.all();
        assert_eq!(all.len(), 5);
        assert!(all[1].from.distance(DVec3::X) < 1e-6 && all[1].to.distance(2.0 * DVec3::X) < 1e-6);
        assert!((all[1].radius - 0.2).abs() < 1e-6);
        // The last one has no child: 1.6 times as far as the middle of its skin.
        assert!(all[4].to.distance(4.8 * DVec3::X) < 1e-6);
        // Three or more joints apart: (0, 3), (0, 4), (1, 4), both ways.
        assert_eq!(capsules.pairs().count(), 6);
    }

    #[test]
    fn bones_press_along_the_way_between_them() {
        let rig = chain();
        let capsules = Capsules::of(&rig);
        assert_eq!(capsules.deepest(rig.skeleton(), &rig.rest_pose()), 0.0);
        // Three right angles, and a bit less, bring the fourth bone back to the first.
        let pose = curled(&rig, 85f64.to_radians());
        let pair = capsules.pairs().find(|pair| (pair.own.joint, pair.other.joint) == (0, 3)).unwrap();
        let overlap = pair.overlap(rig.skeleton(), &pose);
        let at = |joint: usize| pose.world_from_joint[joint].translation;
        // By hand: gap between the two segments, both in the plane z = 0, which cross or end near each other.
        let gap = between_segments((at(0), at(1)), (at(3), at(4))).length();
        let expected = pair.own.radius + pair.other.radius - gap;
        assert!(expected > 0.1, "{expected}");
        assert!((overlap.length() - expected).abs() < 0.02 * expected + 0.1 * pair.softness);
        assert_eq!(overlap.z, 0.0);
        // The other bone feels as much.
        let back = capsules.pairs().find(|pair| (pair.own.joint, pair.other.joint) == (3, 0)).unwrap();
        assert!((back.overlap(rig.skeleton(), &pose).length() - overlap.length()).abs() < 1e-9);
    }

    /// Bones that cross press hardest, though they have no direction.
    #[test]
    fn the_deepest_are_bones_that_cross() {
        let rig = chain();
        let capsules = Capsules::of(&rig);
        for degrees in [60f64, 75.0, 85.0, 90.0] {
            let pose = curled(&rig, degrees.to_radians());
            let at = |joint: usize| pose.world_from_joint[joint].translation;
            let end = pose.world_from_joint[4].transform_point3(0.8 * DVec3::X);
            let bone = |joint: usize| (at(joint), if joint == 4 { end } else { at(joint + 1) });
            let by_hand = [(0, 3), (0, 4), (1, 4)].map(|(a, b)| {
                let radii = capsules.all()[a].radius + capsules.all()[b].radius;
                radii - between_segments(bone(a), bone(b)).length()
            });
            let deepest = by_hand.into_iter().fold(0.0, f64::max);
            let found = capsules.deepest(rig.skeleton(), &pose);
            assert!((found - deepest).abs() < 0.02 * deepest + 0.1 * capsules.softness, "{found} {deepest}");
            // At a right angle the fourth bone ends on the first.
            assert!(degrees < 90.0 || found > 0.38, "{found}");
        }
    }
}
