//! What a black box does near a shape: every vertex's Jacobian in four calls, in a fifth whether
//! vertices may depend on others, and in up to three more which, if any.

use eigenskin_core::deformers::{BlackBox, BlackBoxError};
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::Progress;
use eigenskin_core::random::SplitMix64;
use eigenskin_core::skinning::{Conditioning, singular_values};
use glam::{DMat3, DVec3};
use rayon::prelude::*;

use super::calls::Calls;

/// A black box near a shape, to first order.
#[derive(Debug, Clone, PartialEq)]
pub struct Probe {
    /// where it puts the shape, `vertex`
    pub posed: Vec<DVec3>,
    /// How a vertex follows when *all* vertices move alike, `vertex`: its own Jacobian, unless it is
    /// coupled to others.
    pub jacobians: Vec<DMat3>,
    /// how well each vertex can be undone, from its Jacobian: the numbers of the invertibility map,
    /// `vertex`
    pub conditioning: Vec<Conditioning>,
    /// whether the vertex also follows others (smoothing), `vertex`
    pub coupled: Vec<bool>,
    /// calls of the box that this took
    pub calls: usize,
}

/// Length of a probing move, as share of the size: far above the rounding of boxes that compute in
/// `f32` (6e-8) or speak in six digits, far below the cells of a lattice.
const PROBE_STEP: f64 = 5e-4;
/// A vertex that answers moves of all vertices, each its own way, by this share of them otherwise than
/// its Jacobian says, may follow others. Or there is a kink beside it.
const COUPLING: f64 = 0.02;
/// A vertex that moves by this share of what others move while its own point stays does follow them.
const FOLLOWING: f64 = 1e-3;

/// Probes a box at `points` (`vertex`) with five calls, or up to eight where vertices seem to follow
/// others. `size` is the size of the shape.
pub fn probe(
    black_box: &mut dyn BlackBox,
    pose: &Pose,
    points: &[DVec3],
    size: f64,
    progress: &dyn Progress,
) -> Result<Probe, BlackBoxError> {
    probe_with(&mut Calls::new(black_box, pose, progress), points, size)
}

pub(super) fn probe_with(calls: &mut Calls, points: &[DVec3], size: f64) -> Result<Probe, BlackBoxError> {
    let before = calls.made;
    let posed = calls.deform(points)?;
    let jacobians = jacobians_at(calls, points, &posed, size)?;
    let coupled = coupled_at(calls, points, &posed, &jacobians, size)?;
    let conditioning = jacobians.par_iter().map(|&jacobian| conditioning_of(jacobian)).collect();
    Ok(Probe { posed, jacobians, conditioning, coupled, calls: calls.made - before })
}

/// Jacobians (`vertex`) by three calls, given where the box puts the points.
pub(super) fn jacobians_at(
    calls: &mut Calls,
    points: &[DVec3],
    posed: &[DVec3],
    size: f64,
) -> Result<Vec<DMat3>, BlackBoxError> {
    let step = probe_step(size);
    let mut columns = Vec::with_capacity(3);
    for axis in DVec3::AXES {
        let moved: Vec<DVec3> = points.iter().map(|&point| point + step * axis).collect();
        columns.push(calls.deform(&moved)?);
    }
    let column = |axis: usize, vertex: usize| (columns[axis][vertex] - posed[vertex]) / step;
    Ok((0..points.len())
        .map(|vertex| DMat3::from_cols(column(0, vertex), column(1, vertex), column(2, vertex)))
        .collect())
}

fn coupled_at(
    calls: &mut Calls,
    points: &[DVec3],
    posed: &[DVec3],
    jacobians: &[DMat3],
    size: f64,
) -> Result<Vec<bool>, BlackBoxError> {
    let step = probe_step(size);
    let mut random = SplitMix64(2006);
    let offsets: Vec<DVec3> =
        points.iter().map(|_| DVec3::from_array([(); 3].map(|()| random.between(-step, step)))).collect();
    let mut answers = |held: &dyn Fn(usize) -> bool| -> Result<Vec<DVec3>, BlackBoxError> {
        let offset = |vertex: usize| if held(vertex) { DVec3::ZERO } else { offsets[vertex] };
        let moved: Vec<DVec3> = points.iter().enumerate().map(|(v, &point)| point + offset(v)).collect();
        Ok(calls.deform(&moved)?.into_iter().zip(posed).map(|(to, &from)| to - from).collect())
    };
    // A vertex that its own Jacobian does not move may still follow others.
    let mean = jacobians.iter().map(stretch).sum::<f64>() / jacobians.len().max(1) as f64;
    let scale = |vertex: usize| step * mean.max(stretch(&jacobians[vertex]));

    let all = answers(&|_| false)?;
    let suspects: Vec<bool> =
        (0..points.len()).map(|v| all[v].distance(jacobians[v] * offsets[v]) > COUPLING * scale(v)).collect();
    if !suspects.contains(&true) {
        return Ok(suspects);
    }
    // Neighbours are suspects too, so half of the suspects are held at a time; then those that did not
    // follow, which had only held neighbours if they do.
    let halves: Vec<bool> = points.iter().map(|_| random.next_bits() & 1 == 0).collect();
    let follows = |answers: &[DVec3], v: usize| answers[v].length() > FOLLOWING * scale(v);
    let first = answers(&|v| suspects[v] && halves[v])?;
    let second = answers(&|v| suspects[v] && !halves[v])?;
    let found: Vec<bool> = (0..points.len())
        .map(|v| suspects[v] && follows(if halves[v] { &first } else { &second }, v))
        .collect();
    if found == suspects {
        return Ok(found);
    }
    let third = answers(&|v| suspects[v] && !found[v])?;
    Ok((0..points.len()).map(|v| suspects[v] && (found[v] || follows(&third, v))).collect())
}

/// Length of a probing move.
pub(super) fn probe_step(size: f64) -> f64 {
    if size > 0.0 { PROBE_STEP * size } else { PROBE_STEP }
}

/// How much a matrix stretches, on average over directions.
pub(super) fn stretch(matrix: &DMat3) -> f64 {
    (matrix.to_cols_array().iter().map(|x| x * x).sum::<f64>() / 3.0).sqrt()
}

fn conditioning_of(jacobian: DMat3) -> Conditioning {
    let [largest, _, smallest] = singular_values(jacobian);
    let condition = if smallest > 0.0 { largest / smallest } else { f64::INFINITY };
    Conditioning { smallest, condition }
}
