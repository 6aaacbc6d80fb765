//! Poses on the way to examples in which linear blending collapses.
//!
//! Half a twist leaves no trace of its skin: what such a sculpt adds at rest grows without bound on the way
//! to it (1/cos of half the angle), and what is added after skinning has a direction that is only right at
//! the sculpt. Neither says what lies between. Dual quaternions do not collapse, so in between they are
//! asked: pose space deformation on top of them, from the same examples, gives shapes in poses on the way,
//!
//! ```text
//! in-between(t) = DQ_t(rest + Σ_e w_e(pose_t) u_e)        u_e = DQ_e⁻¹(sculpt_e) − rest
//! ```
//! and these are examples like others of a model on linear blending. The collapsed directions of the sculpt
//! itself, in which any displacement d at rest is as good (Xian §5.3), keep what the in-between before it
//! has there, so that viewers without what is added after skinning are near on the way.

use std::sync::Arc;

use eigenskin_core::deformers::Base;
use eigenskin_core::driver::Kernel;
use eigenskin_core::driver::features::geodesic_angle;
use eigenskin_core::evaluate::Evaluator;
use eigenskin_core::examples::{Example, ExampleSet, whole_motion};
use eigenskin_core::model::Model;
use eigenskin_core::mover::Mover;
use eigenskin_core::pose::{JointMotion, Pose};
use eigenskin_core::progress::Progress;
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::{BaseSkinning, PosedSkinning, skinned_shape};
use glam::{DVec3, Vec3};
use serde::Serialize;

use super::spaces::MeasuredSpace;
use super::{DeltaSpace, PsdInterpolation, PsdParams, learn_from};
use crate::displacements::pulled_back::root_turn;
use crate::displacements::{Fields, Observations, RestSkin};
use crate::drivers::Width;
use crate::method::FitError;

/// Examples that keep less of some direction (relative to the best kept) have in-betweens: twists and bends
/// of more than 120° between two joints of equal weight.
const COLLAPSED: f64 = 0.5;
/// Where in-betweens are, as shares of the way from rest. What skinning loses grows with the square of the
/// angle, but weights start in proportion to it: two in-betweens near rest, and two on its other side.
const SHARES: [f64; 4] = [0.125, 0.25, 0.5, 0.75];
/// On the other side of rest plain skinning stays as it is.
const OTHER_SIDE: [f64; 2] = [-0.125, -0.25];
/// No in-between where an example is nearer than this share of the way.
const NEAR: f64 = 1.0 / 16.0;
/// Width of the kernels of a space with in-betweens, as a share of the way. Leaving out the example at its
/// end would say nothing: what is needed there cannot be told from the others.
const WIDTH: f64 = 0.5;
/// From so many examples of the same joints on, left-out examples decide.
const FEWEST_TO_LEAVE_OUT: usize = 6;
/// Examples left out in turn, at most.
const MOST_LEFT_OUT: usize = 12;

/// An example with in-betweens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InBetweens {
    /// the example
    pub example: String,
    /// names of the in-betweens, from rest on
    pub names: Vec<String>,
}

/// What is learnt from, with in-betweens.
pub(super) struct Guided {
    pub seen: Observations,
    pub added: Vec<InBetweens>,
}

/// Adds in-betweens where they help; none where nothing collapses.
pub(super) fn guided(
    seen: &Observations,
    params: &PsdParams,
    progress: &dyn Progress,
) -> Result<Option<Guided>, FitError> {
    let can = params.deltas == DeltaSpace::Auto
        && seen.base == Base::Skinning(BaseSkinning::LinearBlend)
        && seen.displacements.positions.are_held();
    if !can {
        return Ok(None);
    }
    let collapsed: Vec<usize> = (0..seen.len()).filter(|&example| is_collapsed(seen, example)).collect();
    if collapsed.is_empty() {
        return Ok(None);
    }
    let shown = shown_examples(seen);
    let moved: Vec<Vec<Mover>> = seen.poses.iter().map(|pose| movers(seen, pose)).collect();
    let mut way_to = Vec::new();
    for example in collapsed {
        progress.doing("looking for poses in between")?;
        let alike: Vec<usize> = (0..seen.len()).filter(|&other| moved[other] == moved[example]).collect();
        let helps = if alike.len() < FEWEST_TO_LEAVE_OUT {
            follows_dual_quaternions(seen, &shown[example])
        } else {
            predicts_left_out(seen, &shown, &alike, params, progress)?
        };
        if helps {
            way_to.push((example, alike));
        }
    }
    with_in_betweens(seen, &shown, &way_to, params, progress)
}

/// `space`: its width, where it has in-betweens and widths are automatic.
pub(super) fn widths_of(
    names: &[&str],
    spaces: &[MeasuredSpace],
    in_betweens: &[InBetweens],
    params: &PsdParams,
) -> Vec<Option<f64>> {
    let is_automatic = matches!(
        &params.interpolation,
        PsdInterpolation::Rbf(rbf)
            if rbf.width == Width::LeaveOneOut && rbf.kernel.or_gaussian() == Kernel::Gaussian
    );
    let width = |space: &MeasuredSpace| {
        let has = |example: usize| in_betweens.iter().any(|added| added.example == names[example]);
        let ends = space.space.examples.iter().filter(|&&example| has(example));
        // From rest, the first sample, to the example.
        ends.map(|&example| WIDTH * space.all.distance(0, example + 1)).reduce(f64::min)
    };
    spaces.iter().map(|space| width(space).filter(|_| is_automatic)).collect()
}

fn is_collapsed(seen: &Observations, example: usize) -> bool {
    let skinning = PosedSkinning::new(BaseSkinning::LinearBlend, &seen.rig, &seen.poses[example]);
    (0..seen.rig.vertex_count()).any(|vertex| skinning.conditioning(vertex).kept() < COLLAPSED)
}

fn movers(seen: &Observations, pose: &Pose) -> Vec<Mover> {
    Mover::all(&seen.rig).into_iter().filter(|mover| mover.is_moved(&seen.rig, pose)).collect()
}

/// The examples as they were shown: SKIN(rest + d) + w.
fn shown_examples(seen: &Observations) -> Vec<Example> {
    let observed = &seen.displacements;
    let example = |(index, pose): (usize, &Pose)| {
        let skinning = PosedSkinning::new(BaseSkinning::LinearBlend, &seen.rig, pose);
        let deltas = observed.positions.held_of(index);
        let rest = seen.rig.mesh().positions().iter().enumerate();
        let mut positions: Vec<Vec3> = rest
            .map(|(vertex, rest)| {
                let delta = deltas[observed.points.group_of(vertex)];
                skinning.position(vertex, rest.as_dvec3() + delta.as_dvec3()).as_vec3()
            })
            .collect();
        let world_from_root = root_turn(&seen.rig, pose);
        for &(vertex, residual) in &observed.residuals[index] {
            positions[vertex as usize] += (world_from_root * residual.as_dvec3()).as_vec3();
        }
        let name = seen.names[index].clone();
        Example { name, pose: pose.clone(), positions, normals: None, inverted: None }
    };
    seen.poses.iter().enumerate().map(example).collect()
}

/// Whether an example is nearer to dual quaternions than to linear blending: a rule for few examples. A
/// sculpt that is not, such as one that was twisted the other way round, is no guide to what lies before it.
fn follows_dual_quaternions(seen: &Observations, shown: &Example) -> bool {
    let distance = |base: BaseSkinning| -> f64 {
        let skinned = skinned_shape(base, &seen.rig, &shown.pose);
        let pairs = skinned.iter().zip(&shown.positions);
        pairs.map(|(a, b)| a.as_dvec3().distance_squared(b.as_dvec3())).sum()
    };
    distance(BaseSkinning::DualQuaternion) < distance(BaseSkinning::LinearBlend)
}

/// Whether in-betweens lower the error at examples of some joints (`alike`) that are left out in turn.
fn predicts_left_out(
    seen: &Observations,
    shown: &[Example],
    alike: &[usize],
    params: &PsdParams,
    progress: &dyn Progress,
) -> Result<bool, FitError> {
    let mut errors = [0.0; 2];
    for &left_out in alike.iter().step_by(alike.len().div_ceil(MOST_LEFT_OUT)) {
        progress.doing("leaving examples out")?;
        let others: Vec<Example> =
            (0..shown.len()).filter(|&e| e != left_out).map(|e| shown[e].clone()).collect();
        let params = PsdParams { deltas: DeltaSpace::Inverse, normals: false, ..params.clone() };
        let others = ExampleSet::new(seen.rig.clone(), others)?;
        let params = params.for_examples(&others);
        let others = Observations::of(&others, &seen.base, params.allows_compromise(), progress)?;
        let collapsed: Vec<(usize, Vec<usize>)> = (0..others.len())
            .filter(|&example| alike.iter().any(|&e| shown[e].name == others.names[example]))
            .filter(|&example| is_collapsed(&others, example))
            .map(|example| (example, (0..others.len()).collect()))
            .collect();
        let shapes = shown_examples(&others);
        let guided = with_in_betweens(&others, &shapes, &collapsed, &params, progress)?;
        let guided = guided.as_ref().map_or((&others, &[][..]), |g| (&g.seen, g.added.as_slice()));
        for (error, (seen, in_betweens)) in errors.iter_mut().zip([(&others, &[][..]), guided]) {
            let model = model_of(seen, in_betweens, &params, progress)?;
            let shape = shape_in(&model, &shown[left_out].pose);
            let pairs = shape.iter().zip(&shown[left_out].positions);
            *error += pairs.map(|(a, b)| a.as_dvec3().distance_squared(b.as_dvec3())).sum::<f64>();
        }
    }
    Ok(errors[1] < errors[0])
}

fn model_of(
    seen: &Observations,
    in_betweens: &[InBetweens],
    params: &PsdParams,
    progress: &dyn Progress,
) -> Result<Arc<Model>, FitError> {
    let (layers, ..) = learn_from(seen, in_betweens, params, None, progress)?;
    Ok(Arc::new(Model::new(seen.rig.clone(), seen.base.clone(), layers)?))
}

fn shape_in(model: &Arc<Model>, pose: &Pose) -> Vec<Vec3> {
    let mut shape = vec![Vec3::ZERO; model.rig().vertex_count()];
    Evaluator::new(model.clone()).evaluate(pose, &mut shape, None);
    shape
}

/// Adds in-betweens on the way to some examples, each with those that move the same.
fn with_in_betweens(
    seen: &Observations,
    shown: &[Example],
    way_to: &[(usize, Vec<usize>)],
    params: &PsdParams,
    progress: &dyn Progress,
) -> Result<Option<Guided>, FitError> {
    if way_to.is_empty() {
        return Ok(None);
    }
    let params = PsdParams { deltas: DeltaSpace::Inverse, normals: false, ..params.clone() };
    let shapes = ExampleSet::new(seen.rig.clone(), shown.to_vec())?;
    let base = Base::Skinning(BaseSkinning::DualQuaternion);
    let by_dual = Observations::of(&shapes, &base, params.allows_compromise(), progress)?;
    let guide = model_of(&by_dual, &[], &params, progress)?;
    let mut guided = Guided { seen: seen.clone(), added: Vec::new() };
    for (example, alike) in way_to {
        let mut near: Vec<Pose> = alike.iter().map(|&other| seen.poses[other].clone()).collect();
        near.extend(guided.seen.poses[seen.len()..].iter().cloned());
        let (mut names, first) = (Vec::new(), guided.seen.len());
        for (share, pose) in poses_on_the_way(seen, *example, &near) {
            let name = format!("{} at {:.0} %", seen.names[*example], 100.0 * share);
            let positions = if share > 0.0 {
                names.push(name.clone());
                shape_in(&guide, &pose)
            } else {
                skinned_shape(BaseSkinning::LinearBlend, &seen.rig, &pose)
            };
            guided.push(Example { name, pose, positions, normals: None, inverted: None });
        }
        let others = alike.iter().copied().chain(first..guided.seen.len());
        if let Some(before) = guided.pose_before(*example, others) {
            guided.keep_collapsed_directions(*example, &shown[*example], before);
        }
        if !names.is_empty() {
            guided.added.push(InBetweens { example: seen.names[*example].clone(), names });
        }
    }
    Ok(Some(guided))
}

/// Poses on the way from rest to an example with their shares, except where one of `others` is near. The
/// other side of rest is left alone where one of them is there.
fn poses_on_the_way(seen: &Observations, example: usize, others: &[Pose]) -> Vec<(f64, Pose)> {
    let (rig, pose) = (&seen.rig, &seen.poses[example]);
    let skeleton = rig.skeleton();
    let motions: Vec<JointMotion> =
        (0..skeleton.joint_count()).map(|joint| pose.motion_of(skeleton, joint)).collect();
    let rest = rig.rest_pose();
    let at = |&share: &f64| {
        let motions: Vec<JointMotion> = motions.iter().map(|motion| motion.share(share)).collect();
        let controls =
            rest.controls.iter().zip(&pose.controls).map(|(rest, set)| rest + share * (set - rest));
        let pose = Pose::of_motions(skeleton, &motions, controls.collect());
        (share, pose.moved_by(whole_motion(rig, &seen.poses[example])))
    };
    let way = largest_turn(rig, &rest, pose);
    let is_free = |pose: &Pose| others.iter().all(|other| largest_turn(rig, other, pose) > NEAR * way);
    let mut poses: Vec<(f64, Pose)> = SHARES.iter().map(at).filter(|(_, pose)| is_free(pose)).collect();
    let other_side: Vec<(f64, Pose)> = OTHER_SIDE.iter().map(at).collect();
    // Near half a turn the example itself is there: turns are measured the short way round, and kernels of
    // poses all around a joint have no exact weights.
    let is_there = |other: &Pose| {
        other_side.iter().any(|(_, pose)| largest_turn(rig, other, pose) < largest_turn(rig, other, &rest))
    };
    if !others.iter().any(is_there) {
        poses.extend(other_side);
    }
    poses
}

/// By how much a joint turns from one pose to another at most, radians.
fn largest_turn(rig: &Rig, a: &Pose, b: &Pose) -> f64 {
    let skeleton = rig.skeleton();
    let turn = |joint: usize| {
        let [a, b] = [a, b].map(|pose| pose.motion_of(skeleton, joint).rotation);
        geodesic_angle(a, b)
    };
    (0..skeleton.joint_count()).map(turn).fold(0.0, f64::max)
}

impl Guided {
    /// One more example.
    fn push(&mut self, example: Example) {
        let observed = &mut self.seen.displacements;
        let pulled = RestSkin::new(&self.seen.rig, observed.points.clone())
            .pull_skinned(BaseSkinning::LinearBlend, &example);
        let with = |fields: &Fields, more: Vec<Vec3>| {
            let held =
                (0..fields.example_count()).flat_map(|example| fields.held_of(example).iter().copied());
            Fields::held(held.chain(more).collect(), fields.place_count())
        };
        observed.positions = with(&observed.positions, pulled.positions);
        if !observed.normals.is_empty() {
            observed.normals = with(&observed.normals, pulled.normals);
        }
        observed.residuals.push(pulled.residuals);
        self.seen.names.push(example.name);
        self.seen.poses.push(example.pose);
    }

    /// Where an example is partly out of reach, starts its displacements from those of the pose `before` it
    /// instead of from rest.
    fn keep_collapsed_directions(&mut self, example: usize, shown: &Example, before: usize) {
        let rig = self.seen.rig.clone();
        let observed = &mut self.seen.displacements;
        let skinning = PosedSkinning::new(BaseSkinning::LinearBlend, &rig, &shown.pose);
        let root_from_world = root_turn(&rig, &shown.pose).inverse();
        let starts = observed.positions.held_of(before).to_vec();
        let mut deltas = observed.positions.held_of(example).to_vec();
        for &(vertex, _) in &observed.residuals[example] {
            let point = observed.points.group_of(vertex as usize);
            let first = observed.points.first_vertex(point);
            let rest = rig.mesh().positions()[first].as_dvec3();
            let start = rest + starts[point].as_dvec3();
            let target = shown.positions[first].as_dvec3();
            deltas[point] = (skinning.inverse_position(first, target, start) - rest).as_vec3();
        }
        for (vertex, residual) in &mut observed.residuals[example] {
            let vertex = *vertex as usize;
            let delta = deltas[observed.points.group_of(vertex)];
            let reached = skinning.position(vertex, (rig.mesh().positions()[vertex] + delta).as_dvec3());
            let missed: DVec3 = shown.positions[vertex].as_dvec3() - reached;
            *residual = (root_from_world * missed).as_vec3();
        }
        observed.positions.replace_held(example, &deltas);
    }

    /// Of some poses the one nearest to an example, among those that are wholly in reach.
    fn pose_before(&self, example: usize, others: impl Iterator<Item = usize>) -> Option<usize> {
        let seen = &self.seen;
        let turn = |other: usize| largest_turn(&seen.rig, &seen.poses[example], &seen.poses[other]);
        others
            .filter(|&other| other != example && seen.displacements.residuals[other].is_empty())
            .min_by(|&a, &b| turn(a).total_cmp(&turn(b)))
    }
}
