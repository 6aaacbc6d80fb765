//! The poses to simulate, cut into jobs that do not depend on each other.
//!
//! A job starts at rest and goes one way: all joints turn together towards a last pose, and every
//! wanted pose on the way is a stop. A sweep of a joint is two jobs, one to each side.

use eigenskin_core::articulation::{Articulation, NamedAngles, NamedPose};
use eigenskin_core::glam::DVec3;
use eigenskin_core::pose::{JointMotion, Pose};
use eigenskin_core::rig::Rig;

/// How the ranges of a rig are sampled.
#[derive(Debug, Clone, PartialEq)]
pub struct SamplingParams {
    /// poses per degree of freedom, one joint turned alone; default 6, as in the EigenSkin paper
    pub per_degree: usize,
    /// joints that turn about two axes: corners of that plane at these shares of the ranges;
    /// default full
    pub corner_shares: Vec<f64>,
    /// random poses of all joints to validate with; default 25, as in the EigenSkin paper
    pub validation: usize,
    /// share of the ranges that random poses use; default 0.75
    pub validation_share: f64,
    /// seed of the random poses; default 2002
    pub seed: u64,
}

impl Default for SamplingParams {
    fn default() -> Self {
        Self { per_degree: 6, corner_shares: vec![1.0], validation: 25, validation_share: 0.75, seed: 2002 }
    }
}

/// What a pose is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// to learn from
    Training,
    /// to test with, never to learn from
    Validation,
}

/// A way from rest through one or several poses.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// what its poses are for
    pub purpose: Purpose,
    /// `joint` → motion against its reference joint in the last pose
    pub motions: Vec<JointMotion>,
    /// the wanted poses, in the order of the way
    pub stops: Vec<Stop>,
}

/// A pose on the way.
#[derive(Debug, Clone, PartialEq)]
pub struct Stop {
    /// name of the pose
    pub name: String,
    /// share of the way, in (0, 1]
    pub share: f64,
}

impl Job {
    /// The pose at a share of the way; the first root stays at rest.
    pub fn pose(&self, rig: &Rig, share: f64) -> Pose {
        let motions: Vec<JointMotion> = self.motions.iter().map(|motion| motion.share(share)).collect();
        Pose::of_motions(rig.skeleton(), &motions, rig.rest_pose().controls)
    }

    /// The job in a few words: its last pose, and how many lie on the way.
    pub fn description(&self) -> String {
        let last = self.stops.last().map_or("", |stop| stop.name.as_str());
        match self.stops.len() {
            0 | 1 => last.to_string(),
            count => format!("{last} and {} on the way", count - 1),
        }
    }
}

/// All jobs of a rig: sweeps, corners, the given poses of all joints, then validation.
pub fn jobs(articulation: Articulation, params: &SamplingParams, together: &[NamedAngles]) -> Vec<Job> {
    let training = [
        sweep_jobs(articulation, params.per_degree),
        single_jobs(articulation, &articulation.corners(&params.corner_shares), Purpose::Training),
        single_jobs(articulation, together, Purpose::Training),
    ];
    let random = articulation.random(params.validation, params.validation_share, params.seed);
    let validation = single_jobs(articulation, &random, Purpose::Validation);
    training.into_iter().flatten().chain(validation).collect()
}

/// Jobs for given poses: poses on one way from rest (a sweep) share a job. Where the character
/// stands and how its joints are scaled is left out.
pub fn jobs_of_poses(rig: &Rig, poses: &[NamedPose], purpose: Purpose) -> Vec<Job> {
    let skeleton = rig.skeleton();
    let size = rig.mesh().size();
    let ways: Vec<Way> = poses
        .iter()
        .map(|named| {
            let motion = |joint| named.pose.motion_of(skeleton, joint);
            Way::of((0..skeleton.joint_count()).map(motion).collect(), size)
        })
        .collect();
    let mut shared: Vec<Vec<usize>> = Vec::new();
    for (index, way) in ways.iter().enumerate() {
        match shared.iter_mut().find(|group| ways[group[0]].leads_to(way)) {
            Some(group) => group.push(index),
            None => shared.push(vec![index]),
        }
    }
    shared
        .into_iter()
        .map(|mut group| {
            group.sort_by(|&a, &b| ways[a].length.total_cmp(&ways[b].length).then(a.cmp(&b)));
            let furthest = &ways[group[group.len() - 1]];
            let share = |index: usize| (ways[index].length / furthest.length.max(1e-12)).clamp(1e-9, 1.0);
            Job {
                purpose,
                motions: furthest.motions.clone(),
                stops: group
                    .iter()
                    .map(|&index| Stop { name: poses[index].name.clone(), share: share(index) })
                    .collect(),
            }
        })
        .collect()
}

/// A pose as a way from rest: a direction and a length in the space of all motions.
struct Way {
    motions: Vec<JointMotion>,
    /// `joint`: rotation vector in radians and translation over the size, all of unit length together
    direction: Vec<DVec3>,
    length: f64,
}

impl Way {
    fn of(motions: Vec<JointMotion>, size: f64) -> Self {
        let mut direction: Vec<DVec3> =
            motions.iter().flat_map(|motion| [motion.shortest_turn(), motion.translation / size]).collect();
        let length = direction.iter().map(|part| part.length_squared()).sum::<f64>().sqrt();
        for part in &mut direction {
            *part /= length.max(1e-12);
        }
        Self { motions, direction, length }
    }

    /// Whether the other pose lies in the same direction; poses in files are rounded to `f32`.
    fn leads_to(&self, other: &Self) -> bool {
        let apart: f64 =
            self.direction.iter().zip(&other.direction).map(|(a, b)| a.distance_squared(*b)).sum();
        apart.sqrt() < 1e-4
    }
}

/// Each degree of freedom alone, one job per side of rest.
fn sweep_jobs(articulation: Articulation, per_degree: usize) -> Vec<Job> {
    let sweeps = articulation.sweeps(per_degree, 0.0);
    let turned = |angles: &NamedAngles| {
        let degree = angles.angles.len() - 1;
        (degree, angles.angles[degree])
    };
    let mut jobs = Vec::new();
    for degree in 0..articulation.degrees.len() {
        for side in [-1.0, 1.0] {
            let mut poses: Vec<(&NamedAngles, f64)> = sweeps
                .iter()
                .map(|pose| (pose, turned(pose)))
                .filter(|(_, (of, angle))| *of == degree && angle * side > 0.0)
                .map(|(pose, (_, angle))| (pose, angle))
                .collect();
            poses.sort_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
            let Some(&(furthest, end)) = poses.last() else { continue };
            jobs.push(Job {
                purpose: Purpose::Training,
                motions: motions_of(articulation, furthest),
                stops: poses
                    .iter()
                    .map(|(pose, angle)| Stop { name: pose.name.clone(), share: angle / end })
                    .collect(),
            });
        }
    }
    jobs
}

fn single_jobs(articulation: Articulation, poses: &[NamedAngles], purpose: Purpose) -> Vec<Job> {
    let job = |pose: &NamedAngles| Job {
        purpose,
        motions: motions_of(articulation, pose),
        stops: vec![Stop { name: pose.name.clone(), share: 1.0 }],
    };
    poses.iter().map(job).collect()
}

fn motions_of(articulation: Articulation, angles: &NamedAngles) -> Vec<JointMotion> {
    let skeleton = articulation.rig.skeleton();
    let pose = articulation.pose(&angles.angles);
    (0..skeleton.joint_count()).map(|joint| pose.motion_of(skeleton, joint)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use eigenskin_characters::hand;
    use eigenskin_core::glam::DAffine3;

    #[test]
    fn given_poses_of_one_sweep_share_a_way() {
        let hand = hand(1500).unwrap();
        let articulation = hand.articulation();
        let mut poses = articulation.poses(&articulation.sweeps(6, 0.0));
        poses.extend(articulation.poses(&articulation.random(4, 1.0, 1)));
        // As a file would have them: elsewhere, and rounded.
        let there = DAffine3::from_translation(DVec3::new(3.0, -2.0, 1.0));
        for named in &mut poses {
            named.pose = named.pose.moved_by(there);
            for joint in &mut named.pose.world_from_joint {
                *joint = DAffine3::from_cols_array(&joint.to_cols_array().map(|x| f64::from(x as f32)));
            }
        }
        let jobs = jobs_of_poses(&hand.rig, &poses, Purpose::Training);
        assert_eq!(jobs.iter().map(|job| job.stops.len()).sum::<usize>(), poses.len());
        let sides =
            articulation.degrees.iter().map(|d| usize::from(d.lowest < 0.0) + usize::from(d.highest > 0.0));
        assert_eq!(jobs.len(), sides.sum::<usize>() + 4);
        for named in &poses {
            let (job, stop) = jobs
                .iter()
                .find_map(|job| Some((job, job.stops.iter().find(|stop| stop.name == named.name)?)))
                .unwrap();
            let found = job.pose(&hand.rig, stop.share).moved_by(there);
            for (a, b) in found.world_from_joint.iter().zip(&named.pose.world_from_joint) {
                assert!(a.abs_diff_eq(*b, 1e-4), "{}", named.name);
            }
        }
    }

    #[test]
    fn stops_are_the_poses_that_were_asked_for() {
        let hand = hand(1500).unwrap();
        let articulation = hand.articulation();
        let params = SamplingParams { validation: 3, ..SamplingParams::default() };
        let together = articulation.couplings(4);
        let jobs = jobs(articulation, &params, &together);
        let stops = |purpose: Purpose| -> usize {
            jobs.iter().filter(|job| job.purpose == purpose).map(|job| job.stops.len()).sum()
        };
        assert_eq!(stops(Purpose::Validation), 3);
        let corners = articulation.corners(&[1.0]).len();
        assert_eq!(stops(Purpose::Training), 120 + corners + 4);
        let mut wanted = articulation.poses(&articulation.sweeps(6, 0.0));
        wanted.extend(articulation.poses(&together));
        for named in &wanted {
            let (job, stop) = jobs
                .iter()
                .find_map(|job| Some((job, job.stops.iter().find(|stop| stop.name == named.name)?)))
                .unwrap();
            let found = job.pose(&hand.rig, stop.share);
            for (a, b) in found.world_from_joint.iter().zip(&named.pose.world_from_joint) {
                assert!(a.abs_diff_eq(*b, 1e-6), "{}: {a} against {b}", named.name);
            }
        }
        // The way only goes on.
        assert!(jobs.iter().all(|job| job.stops.windows(2).all(|pair| pair[0].share < pair[1].share)));
    }
}
