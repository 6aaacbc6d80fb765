//! Which space a style is carried in, where none was asked for.
//!
//! A style is a map from shapes to shapes. In the right space it is nearly linear, so it can be told in a
//! frame p that was left out from the others (q), as the mixture of them that p is itself:
//!
//! ```text
//! X1_p ≈ Σ_q c_q X1_q        c = (X1ᵀX1 + ρ²)⁻¹ X1ᵀ X1_p,  ρ a share of the longest signal
//! X2_p ≈ X1_p + Σ_q c_q (X2_q − X1_q)
//! ```
//! Errors are distances between posed shapes, so spaces can be compared. Corrections that grow are linear
//! as seen from the skinning that they correct; the step from one skinning to another is linear as seen
//! from where it leads; where X1 is linear blending itself, nothing can be told from linear blending.
//! With few frames there is nothing to learn from leaving some out: then a rule decides, by how much of
//! the style the signals carry in the frames themselves.

use eigenskin_core::examples::whole_motion;
use eigenskin_core::progress::{Cancelled, Progress};
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::BaseSkinning;
use glam::{DVec3, Vec3};
use rayon::prelude::*;

use super::frames::Frames;
use super::map::{Products, WholeMap, weighted_rows};
use super::views::Views;
use super::{CAPTURING, Space, StyleParams};
use crate::numeric::{Matrix, symmetric_eigen};

/// The space of a style, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct SpaceChoice {
    /// what displacements are measured from
    pub space: Space,
    /// who chose it
    pub by: ChosenBy,
    /// candidates, with what they leave of the style (distances, root mean square, relative to the
    /// style); empty where nothing was compared
    pub left: Vec<(Space, f64)>,
}

/// How a space was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChosenBy {
    /// it was asked for
    Asked,
    /// it leaves least of the style in frames that were left out in turn
    LeftOut,
    /// the first that carries nearly all of the style in the frames themselves, else the one that carries
    /// most: there are too few frames to leave some out, or those left out do not tell spaces apart
    Carried,
}

/// What is tried. Nearest bones with a hard border make seams, so they are only taken when asked for.
const CANDIDATES: [Space; 3] = [
    Space::NearestBones,
    Space::Skinning(BaseSkinning::LinearBlend),
    Space::Skinning(BaseSkinning::DualQuaternion),
];
/// With fewer different poses frames are not left out.
const FEWEST_TO_LEAVE_OUT: usize = 6;
/// Frames are left out together in at most so many groups, each n-th frame in one.
const MOST_FOLDS: usize = 20;
/// About as many vertices are looked at.
const SAMPLED_VERTICES: usize = 2000;
/// ρ, shares of the longest signal; each space has the one that leaves least.
const RIDGES: [f64; 3] = [1e-3, 1e-2, 1e-1];
/// What may be missed of a style (sum of squares) that counts as carried.
const CARRIED: f64 = 0.01;

/// A space that carries most of the style is left for one that leaves at most this share of what it leaves
/// in frames that were left out. They tell how linear a style is, not all that counts: a style that is a
/// mixture of the frames is carried whole, however little one frame tells of another.
const CLEARLY: f64 = 0.8;

/// The sum of squares that a space misses, frame by frame.
struct Missed {
    /// `frame`: with the map of all frames
    within: Vec<f64>,
    /// `frame`: left out in turn; none where there are too few
    left_out: Option<Vec<f64>>,
}

/// Chooses the space of a style that is shown by `before` → `after` (of `rig`), of which `different` poses
/// differ; `noise` is the rounding of displacements.
pub(super) fn chosen_space(
    rig: &Rig,
    frames: [&Frames<'_>; 2],
    different: usize,
    noise: f64,
    params: &StyleParams,
    progress: &dyn Progress,
) -> Result<SpaceChoice, Cancelled> {
    if let Some(space) = params.space {
        return Ok(SpaceChoice { space, by: ChosenBy::Asked, left: Vec::new() });
    }
    let leave_out = different >= FEWEST_TO_LEAVE_OUT;
    let step = rig.vertex_count().div_ceil(SAMPLED_VERTICES).max(1);
    let carried = carried_shapes(rig, frames);
    let style: f64 = frame_errors(&carried, frames[1], step).iter().sum();
    let missed = |&space: &Space| {
        let views = Views::sampled(rig, space, step);
        missed_in(&views, frames, &carried, leave_out, noise, params, progress)
    };
    let missed: Vec<Missed> = CANDIDATES.iter().map(missed).collect::<Result<_, _>>()?;
    let all = |errors: &[f64]| errors.iter().sum::<f64>();
    let least = |totals: &[f64]| {
        (1..totals.len()).fold(0, |best, next| if totals[next] < totals[best] { next } else { best })
    };
    let within: Vec<f64> = missed.iter().map(|missed| all(&missed.within)).collect();
    let rule = within.iter().position(|&missed| missed <= CARRIED * style).unwrap_or_else(|| least(&within));
    let left_out: Option<Vec<&Vec<f64>>> = missed.iter().map(|missed| missed.left_out.as_ref()).collect();
    let (place, by, totals) = match left_out {
        Some(errors) => {
            let totals: Vec<f64> = errors.iter().map(|errors| all(errors)).collect();
            let best = least(&totals);
            let better = best == rule || is_clearly_less(errors[best], errors[rule]);
            let choice = if better { (best, ChosenBy::LeftOut) } else { (rule, ChosenBy::Carried) };
            (choice.0, choice.1, totals)
        }
        None => (rule, ChosenBy::Carried, within),
    };
    let share = |missed: &f64| if style > 0.0 { (missed / style).sqrt() } else { 0.0 };
    let left = CANDIDATES.into_iter().zip(totals.iter().map(share)).collect();
    Ok(SpaceChoice { space: CANDIDATES[place], by, left })
}

/// Whether the difference is large, and its mean, frame by frame, more than its standard error.
fn is_clearly_less(less: &[f64], more: &[f64]) -> bool {
    if less.iter().sum::<f64>() > CLEARLY * CLEARLY * more.iter().sum::<f64>() {
        return false;
    }
    let differences: Vec<f64> = less.iter().zip(more).map(|(less, more)| more - less).collect();
    let count = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / count;
    let squares: f64 = differences.iter().map(|d| (d - mean).powi(2)).sum();
    mean > (squares / (count * (count - 1.0).max(1.0))).sqrt()
}

fn missed_in(
    views: &Views<'_>,
    [before, after]: [&Frames<'_>; 2],
    carried: &[Vec<Vec3>],
    leave_out: bool,
    noise: f64,
    params: &StyleParams,
    progress: &dyn Progress,
) -> Result<Missed, Cancelled> {
    let fields = [views.of_frames(before, progress)?, views.of_frames(after, progress)?];
    let every = 0..views.list.len();
    let products = Products::of(&views.list, every.clone(), &fields, progress)?;
    let first = weighted_rows(&views.list, every.clone(), &fields[0], |_| 1.0);
    let change = weighted_rows(&views.list, every, &fields[1], |_| 1.0) - &first;
    let errors = |changes: Matrix| -> Vec<f64> {
        let shapes: Vec<Vec<Vec3>> = (0..carried.len())
            .into_par_iter()
            .map(|frame| views.added(&after.shapes[frame].0, &carried[frame], &column(&changes, frame)))
            .collect();
        frame_errors(&shapes, after, views.step)
    };
    let whole = WholeMap::of(&products, noise, params);
    let within = errors(&first * &whole.mixing);
    if !leave_out {
        return Ok(Missed { within, left_out: None });
    }
    let mut left_out: Option<Vec<f64>> = None;
    for ridge in RIDGES {
        progress.doing(CAPTURING)?;
        let errors = errors(&change * left_out_mixtures(&products, ridge, noise, params.signals));
        let is_less = left_out.as_ref().is_none_or(|so_far| errors.iter().sum::<f64>() < so_far.iter().sum());
        if is_less {
            left_out = Some(errors);
        }
    }
    Ok(Missed { within, left_out })
}

/// c of every frame, from the frames of other folds: `frame × frame`.
fn left_out_mixtures(products: &Products, ridge: f64, noise: f64, most: Option<usize>) -> Matrix {
    let gram = &products.first;
    let count = gram.nrows();
    let folds = count.min(MOST_FOLDS);
    let mut mixtures = Matrix::zeros(count, count);
    for fold in 0..folds {
        let others: Vec<usize> = (0..count).filter(|frame| frame % folds != fold).collect();
        let own = Matrix::from_fn(others.len(), others.len(), |a, b| gram[(others[a], others[b])]);
        let (values, vectors) = symmetric_eigen(&own);
        let used = products.signals_in(&values, noise, most);
        let least = ridge * ridge * values.first().copied().unwrap_or(0.0).max(0.0);
        for frame in (fold..count).step_by(folds) {
            for signal in 0..used {
                let along: f64 =
                    others.iter().enumerate().map(|(at, &q)| vectors[(at, signal)] * gram[(q, frame)]).sum();
                for (at, &other) in others.iter().enumerate() {
                    mixtures[(other, frame)] += vectors[(at, signal)] * along / (values[signal] + least);
                }
            }
        }
    }
    mixtures
}

/// A column of `3·view × frame` as vectors.
fn column(rows: &Matrix, frame: usize) -> Vec<DVec3> {
    let at = |view: usize, axis: usize| rows[(3 * view + axis, frame)];
    (0..rows.nrows() / 3).map(|view| DVec3::new(at(view, 0), at(view, 1), at(view, 2))).collect()
}

/// X1 where the character of X2 stands, `frame` → `vertex`: the two may have been moved as a whole.
fn carried_shapes(rig: &Rig, [before, after]: [&Frames<'_>; 2]) -> Vec<Vec<Vec3>> {
    let pairs = before.shapes.iter().zip(&after.shapes);
    pairs
        .map(|((from, positions), (to, _))| {
            let motion = whole_motion(rig, to) * whole_motion(rig, from).inverse();
            positions.iter().map(|p| motion.transform_point3(p.as_dvec3()).as_vec3()).collect()
        })
        .collect()
}

/// Squared distances to X2 on every `step`-th vertex, by frame.
fn frame_errors(shapes: &[Vec<Vec3>], after: &Frames<'_>, step: usize) -> Vec<f64> {
    let of_frame = |(shape, (_, wanted)): (&Vec<Vec3>, &(_, std::borrow::Cow<'_, [Vec3]>))| {
        let pairs = shape.iter().zip(wanted.iter()).step_by(step);
        pairs.map(|(a, b)| a.as_dvec3().distance_squared(b.as_dvec3())).sum()
    };
    shapes.iter().zip(&after.shapes).map(of_frame).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Solves by Gaussian elimination.
    fn solved(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> Vec<f64> {
        let count = right.len();
        for column in 0..count {
            for row in column + 1..count {
                let factor = matrix[row][column] / matrix[column][column];
                for at in column..count {
                    matrix[row][at] -= factor * matrix[column][at];
                }
                right[row] -= factor * right[column];
            }
        }
        for row in (0..count).rev() {
            let known: f64 = (row + 1..count).map(|at| matrix[row][at] * right[at]).sum();
            right[row] = (right[row] - known) / matrix[row][row];
        }
        right
    }

    #[test]
    fn mixtures_of_left_out_frames_solve_the_normal_equations_of_the_others() {
        let x = |row: usize, frame: usize| ((row * 7 + frame * frame * 3) as f64).sin();
        let frames = 5;
        let first = Matrix::from_fn(frames, frames, |a, b| (0..12).map(|row| x(row, a) * x(row, b)).sum());
        let products = Products::of_gram(first.clone());
        let ridge = 0.1;
        let found = left_out_mixtures(&products, ridge, 0.0, None);
        for frame in 0..frames {
            let others: Vec<usize> = (0..frames).filter(|&other| other != frame).collect();
            let own = Matrix::from_fn(4, 4, |a, b| first[(others[a], others[b])]);
            let largest = symmetric_eigen(&own).0[0];
            let ridged =
                |a: usize, b: usize| own[(a, b)] + if a == b { ridge * ridge * largest } else { 0.0 };
            let matrix = (0..4).map(|a| (0..4).map(|b| ridged(a, b)).collect()).collect();
            let expected = solved(matrix, others.iter().map(|&q| first[(q, frame)]).collect());
            for (&other, expected) in others.iter().zip(expected) {
                assert!((found[(other, frame)] - expected).abs() < 1e-10);
            }
            assert_eq!(found[(frame, frame)], 0.0);
        }
    }

    #[test]
    fn a_difference_must_exceed_its_standard_error() {
        assert!(is_clearly_less(&[1.0, 1.0, 1.0], &[2.0, 2.1, 1.9]));
        assert!(!is_clearly_less(&[1.0, 1.0, 1.0], &[9.0, 0.5, 0.5]));
        assert!(!is_clearly_less(&[1.0, 1.0, 1.0], &[1.2, 1.2, 1.2]));
    }
}
