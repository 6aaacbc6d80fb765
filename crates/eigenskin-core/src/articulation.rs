//! What the joints of a rig can do, and poses that show it: each degree of freedom alone, two of
//! one joint together, neighbouring joints together, all at random.
//!
//! A pose is described by its angles, one per degree of freedom; missing ones are zero.

use glam::{DQuat, DVec3};

use crate::pose::{JointMotion, Pose};
use crate::random::SplitMix64;
use crate::rig::Rig;

/// One axis that one joint turns about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DegreeOfFreedom {
    /// index of the joint
    pub joint: usize,
    /// unit length, in the joint's own rest axes
    pub axis: DVec3,
    /// smallest angle in radians, not above zero
    pub lowest: f64,
    /// largest angle in radians, not below zero
    pub highest: f64,
}

/// A pose and what to call it.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedPose {
    /// such as "fist" or "index-finger-phalanx-proximal:x-45" (degrees)
    pub name: String,
    /// where the joints are
    pub pose: Pose,
}

/// Angles in radians, one per degree of freedom, and what to call them.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedAngles {
    /// such as "elbow:x-45" or "elbow:x-45+shoulder:y20" (degrees)
    pub name: String,
    /// `degree of freedom`; missing ones are zero
    pub angles: Vec<f64>,
}

/// A rig with what its joints can do.
#[derive(Debug, Clone, Copy)]
pub struct Articulation<'a> {
    /// the rig
    pub rig: &'a Rig,
    /// what can be turned, in the order of the angles of a pose
    pub degrees: &'a [DegreeOfFreedom],
}

impl Articulation<'_> {
    /// The pose with these angles; further ones than there are degrees of freedom are ignored. A
    /// joint with several turns by their product in the listed order.
    pub fn pose(&self, angles: &[f64]) -> Pose {
        let skeleton = self.rig.skeleton();
        let mut motions = vec![JointMotion::REST; skeleton.joint_count()];
        for (degree, &angle) in self.degrees.iter().zip(angles) {
            motions[degree.joint].rotation *= DQuat::from_axis_angle(degree.axis, angle);
        }
        Pose::of_motions(skeleton, &motions, self.rig.rest_pose().controls)
    }

    /// The poses of named angles.
    pub fn poses(&self, angles: &[NamedAngles]) -> Vec<NamedPose> {
        let named = |a: &NamedAngles| NamedPose { name: a.name.clone(), pose: self.pose(&a.angles) };
        angles.iter().map(named).collect()
    }

    /// Each degree of freedom alone, in `per_degree` equal steps from rest to the ends of its range
    /// (both ends share the steps when rest lies between them). Rest itself is not among them.
    /// Each step is moved `back` of a step towards rest: 0 ends at the ends, ½ lies between.
    pub fn sweeps(&self, per_degree: usize, back: f64) -> Vec<NamedAngles> {
        let mut poses = Vec::new();
        for (index, degree) in self.degrees.iter().enumerate() {
            for angle in sweep(degree, per_degree, back) {
                poses.push(self.named(&[(index, angle)]));
            }
        }
        poses
    }

    /// The corners of the plane that the degrees of freedom of a joint with two of them span, at
    /// `shares` of their ranges: samples on the axes alone say little about them.
    pub fn corners(&self, shares: &[f64]) -> Vec<NamedAngles> {
        let mut poses = Vec::new();
        for (first, a) in self.degrees.iter().enumerate() {
            for (second, b) in self.degrees.iter().enumerate().skip(first + 1) {
                let of_joint = self.degrees.iter().filter(|degree| degree.joint == a.joint).count();
                if a.joint == b.joint && of_joint == 2 {
                    poses.extend(self.corners_of(first, second, shares));
                }
            }
        }
        poses
    }

    /// Up to `count` poses that turn two joints at once, the pairs nearest to each other first:
    /// there one joint's bend changes what the other's does to the skin.
    pub fn couplings(&self, count: usize) -> Vec<NamedAngles> {
        let at = |degree: usize| self.rig.skeleton().rest_position(self.degrees[degree].joint);
        let mut pairs: Vec<(usize, usize, f64)> = Vec::new();
        for first in 0..self.degrees.len() {
            for second in first + 1..self.degrees.len() {
                if self.degrees[first].joint != self.degrees[second].joint {
                    pairs.push((first, second, at(first).distance(at(second))));
                }
            }
        }
        pairs.sort_by(|a, b| a.2.total_cmp(&b.2).then((a.0, a.1).cmp(&(b.0, b.1))));
        let further_end = |degree: usize, share: f64| {
            let DegreeOfFreedom { lowest, highest, .. } = self.degrees[degree];
            share * if -lowest > highest { lowest } else { highest }
        };
        // Both far, then one far and one half-way: one round over all pairs before the next.
        let rounds = [(0.85, 0.85), (0.85, 0.45), (0.45, 0.85)];
        rounds
            .iter()
            .flat_map(|&(a, b)| pairs.iter().map(move |&(first, second, _)| (first, a, second, b)))
            .take(count)
            .map(|(first, a, second, b)| {
                self.named(&[(first, further_end(first, a)), (second, further_end(second, b))])
            })
            .collect()
    }

    /// `count` poses that turn all joints at random within `share` of their ranges, the same for
    /// the same seed.
    pub fn random(&self, count: usize, share: f64, seed: u64) -> Vec<NamedAngles> {
        let mut random = SplitMix64(seed);
        let angles = |random: &mut SplitMix64| {
            self.degrees.iter().map(|d| share * random.between(d.lowest, d.highest)).collect()
        };
        (0..count)
            .map(|index| NamedAngles { name: format!("random-{index}"), angles: angles(&mut random) })
            .collect()
    }

    fn corners_of(&self, first: usize, second: usize, shares: &[f64]) -> Vec<NamedAngles> {
        let ends = |degree: usize| {
            let DegreeOfFreedom { lowest, highest, .. } = self.degrees[degree];
            // A range that hardly passes rest has no corner on that side.
            let widest = highest.max(-lowest);
            [lowest, highest].into_iter().filter(move |end| end.abs() > 0.2 * widest)
        };
        let mut poses = Vec::new();
        for &share in shares {
            for a in ends(first) {
                poses.extend(ends(second).map(|b| self.named(&[(first, share * a), (second, share * b)])));
            }
        }
        poses
    }

    /// Angles of a few degrees of freedom, named after them.
    fn named(&self, turned: &[(usize, f64)]) -> NamedAngles {
        let last = turned.iter().map(|&(degree, _)| degree).max().unwrap_or(0);
        let mut angles = vec![0.0; last + 1];
        for &(degree, angle) in turned {
            angles[degree] = angle;
        }
        let parts: Vec<String> = turned.iter().map(|&(degree, angle)| self.name_of(degree, angle)).collect();
        NamedAngles { name: parts.join("+"), angles }
    }

    fn name_of(&self, degree: usize, angle: f64) -> String {
        let DegreeOfFreedom { joint, axis, .. } = self.degrees[degree];
        let axis = [("x", DVec3::X), ("y", DVec3::Y), ("z", DVec3::Z)]
            .into_iter()
            .find(|(_, unit)| unit.distance(axis) < 1e-9)
            .map_or_else(
                || format!("{:.2},{:.2},{:.2}:", axis.x, axis.y, axis.z),
                |(name, _)| name.to_string(),
            );
        let degrees = format!("{:+.3}", angle.to_degrees());
        let degrees = degrees.trim_end_matches('0').trim_end_matches('.');
        format!("{}:{axis}{degrees}", self.rig.skeleton().joints()[joint].name)
    }
}

/// Angles from the lowest to the highest, without zero.
fn sweep(degree: &DegreeOfFreedom, steps: usize, back: f64) -> Vec<f64> {
    let range = degree.highest - degree.lowest;
    if steps == 0 || range <= 0.0 {
        return Vec::new();
    }
    let share_below = -degree.lowest / range;
    let mut below = (share_below * steps as f64).round() as usize;
    if degree.lowest < 0.0 && degree.highest > 0.0 && steps > 1 {
        below = below.clamp(1, steps - 1);
    }
    let above = steps - below;
    let angle = |end: f64, step: usize, of: usize| end * (step as f64 - back) / of as f64;
    let lower = (1..=below).rev().map(|step| angle(degree.lowest, step, below));
    lower.chain((1..=above).map(|step| angle(degree.highest, step, above))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn held_out_angles_lie_half_way_between() {
        let degree = |lowest: f64, highest: f64| DegreeOfFreedom {
            joint: 0,
            axis: DVec3::X,
            lowest: lowest.to_radians(),
            highest: highest.to_radians(),
        };
        let sided = degree(-20.0, 20.0);
        let angles = |back: f64| -> Vec<f64> {
            sweep(&sided, 6, back).iter().map(|a| (a.to_degrees() * 1e6).round() / 1e6).collect()
        };
        assert_eq!(angles(0.0), [-20.0, -13.333_333, -6.666_667, 6.666_667, 13.333_333, 20.0]);
        assert_eq!(angles(0.5), [-16.666_667, -10.0, -3.333_333, 3.333_333, 10.0, 16.666_667]);
        let uneven = degree(-30.0, 5.0);
        // At least one step on either side, however uneven the range.
        assert!((sweep(&uneven, 4, 0.0)[3].to_degrees() - 5.0).abs() < 1e-9);
        assert!(sweep(&degree(0.0, 0.0), 4, 0.0).is_empty());
    }
}
