//! What supports and components leave of poses that were not seen, from examples left out in turn.
//!
//! ```text
//! gain_jk = d_jk² − Σ_p e_jk^p²                       what component k of joint j takes off the squared error:
//!                                                     its own square, less what its driver misses of examples
//! E       = Σ_j (‖r_j‖² + ‖e_j‖²)/|P_j| + Σ_{j≠i} r̄_j·r̄_i     squared error of poses in which all joints move
//! ```
//! r_j^p = u^p − Σ_k α_jk^p û^jk is what the components of joint j leave of its example p, r̄_j its mean over the
//! examples. All joints move at once in a pose that matters, and what each leaves adds up: far from a joint that is
//! little, but it comes from many. So poses of several joints are taken as sums of those of one; E is the mean over all
//! such sums. Where enough examples move several joints, they are looked at themselves.

use eigenskin_core::progress::Progress;
use glam::DVec3;
use rayon::prelude::*;

use super::EigenSkinParams;
use super::regions::Regions;
use crate::basis::PrincipalComponents;
use crate::displacements::Observations;
use crate::drivers::RbfFit;
use crate::method::FitError;
use crate::method::coordinates::SupportCoordinates;
use crate::method::joint_driver::left_out_squares;
use crate::supports::JointSupport;

/// Left-out errors of fewer examples are noise.
const ENOUGH: usize = 6;
/// What the largest component of a joint gains at least, as a share of its square: left-out examples choose between
/// components, not whether a joint is corrected at all.
const LEAST_SHARE: f64 = 0.01;
/// Poses of several joints decide where there are so many.
const SEVERAL: usize = 10;

/// What each component of every support takes off the squared error of left-out examples, `support` → component.
/// Components are put in the order of that; those that take nothing off come last, and are not told.
pub(super) fn order_by_gain(
    seen: &Observations,
    supports: &[JointSupport],
    components: &mut [PrincipalComponents],
    params: &EigenSkinParams,
    progress: &dyn Progress,
) -> Result<Vec<Vec<f64>>, FitError> {
    let of = |(support, components): (&JointSupport, &mut PrincipalComponents)| {
        let squares: Vec<f64> = components.squares().collect();
        if support.examples.len() < ENOUGH {
            return Ok(squares);
        }
        let observed = SupportCoordinates::of_components(support, components);
        let missed = left_out_squares(seen, support, &observed, &params.interpolation, progress)?;
        let mut gains: Vec<f64> =
            squares.iter().zip(missed).map(|(square, missed)| square - missed).collect();
        if let Some(largest) = gains.first_mut() {
            *largest = largest.max(LEAST_SHARE * squares[0]);
        }
        let mut order: Vec<usize> = (0..gains.len()).collect();
        order.sort_by(|&a, &b| gains[b].total_cmp(&gains[a]).then(a.cmp(&b)));
        components.reorder(&order);
        Ok(order.iter().map(|&component| gains[component]).take_while(|&gain| gain > 0.0).collect())
    };
    supports.par_iter().zip(components).map(of).collect()
}

/// Error of poses that were not seen, relative to the displacements there; `drivers` by support.
pub(super) fn left_out_error(
    seen: &Observations,
    regions: &Regions,
    drivers: &[RbfFit],
) -> Result<f64, FitError> {
    let share = |left: f64, all: f64| if all > 0.0 { (left / all).sqrt() } else { 0.0 };
    let positions = &seen.displacements.positions;
    let several = regions.acting.iter().filter(|acting| acting.len() > 1).count();
    if several >= SEVERAL {
        let mut all = 0.0;
        for example in 0..seen.len() {
            all += positions.of(example)?.iter().map(|u| f64::from(u.length_squared())).sum::<f64>();
        }
        let count = |support| regions.acting.iter().filter(|acting| acting.contains(&support)).count() as f64;
        let missed = drivers.iter().enumerate().map(|(j, fit)| count(j) * fit.leave_one_out.powi(2));
        return Ok(share(regions.error.powi(2) * all + missed.sum::<f64>(), all));
    }
    let (mut left, mut all) = (Vec::new(), Vec::new());
    for (support, fit) in drivers.iter().enumerate() {
        let (basis, observed) = (&regions.bases[support], regions.coordinates_of(support));
        let (mut left_here, mut all_here) = (FieldMoments::default(), FieldMoments::default());
        for (index, &example) in observed.examples.iter().enumerate() {
            let mut field: Vec<DVec3> = positions.of(example)?.iter().map(|u| u.as_dvec3()).collect();
            all_here.add(&field);
            for (component, &alpha) in observed.of(index).iter().enumerate() {
                for (&point, shown) in basis.points.iter().zip(basis.field(component)) {
                    field[point as usize] -= alpha * shown.as_dvec3();
                }
            }
            left_here.add(&field);
        }
        left_here.squares += left_here.count * fit.leave_one_out.powi(2);
        left.push(left_here);
        all.push(all_here);
    }
    Ok(share(mean_square_of_sums(&left), mean_square_of_sums(&all)))
}

/// What is known of some displacement fields together.
#[derive(Debug, Default)]
struct FieldMoments {
    count: f64,
    /// `point`
    sum: Vec<DVec3>,
    /// of their norms
    squares: f64,
}

impl FieldMoments {
    fn add(&mut self, field: &[DVec3]) {
        self.count += 1.0;
        self.sum.resize(field.len(), DVec3::ZERO);
        for (sum, u) in self.sum.iter_mut().zip(field) {
            *sum += *u;
        }
        self.squares += square(field);
    }
}

/// The mean of ‖Σ_j f_j‖² over all choices of one field f_j of every set:
/// Σ_j mean ‖f_j‖² + Σ_{j≠i} f̄_j·f̄_i, and that sum is ‖Σ_j f̄_j‖² − Σ_j ‖f̄_j‖².
fn mean_square_of_sums(sets: &[FieldMoments]) -> f64 {
    let point_count = sets.first().map_or(0, |set| set.sum.len());
    let mut sum = vec![DVec3::ZERO; point_count];
    let mut apart = 0.0;
    for set in sets.iter().filter(|set| set.count > 0.0) {
        let mean: Vec<DVec3> = set.sum.iter().map(|u| *u / set.count).collect();
        apart += set.squares / set.count - square(&mean);
        for (sum, mean) in sum.iter_mut().zip(mean) {
            *sum += mean;
        }
    }
    apart + square(&sum)
}

fn square(field: &[DVec3]) -> f64 {
    field.iter().map(|u| u.length_squared()).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const POINTS: usize = 3;

    fn field() -> impl Strategy<Value = Vec<DVec3>> {
        let vector = [-1f64..1.0, -1f64..1.0, -1f64..1.0].prop_map(DVec3::from_array);
        prop::collection::vec(vector, POINTS)
    }

    proptest! {
        /// Against the mean over all choices, one by one.
        #[test]
        fn sums_of_one_field_of_every_set(
            sets in prop::collection::vec(prop::collection::vec(field(), 1..4), 1..4),
        ) {
            let mut moments = Vec::new();
            for set in &sets {
                let mut here = FieldMoments::default();
                for field in set {
                    here.add(field);
                }
                moments.push(here);
            }
            let choices: usize = sets.iter().map(Vec::len).product();
            let mut mean = 0.0;
            for mut choice in 0..choices {
                let mut sum = vec![DVec3::ZERO; POINTS];
                for set in &sets {
                    let field = &set[choice % set.len()];
                    choice /= set.len();
                    for (sum, u) in sum.iter_mut().zip(field) {
                        *sum += *u;
                    }
                }
                mean += square(&sum) / choices as f64;
            }
            prop_assert!((mean_square_of_sums(&moments) - mean).abs() < 1e-12 * mean.max(1.0));
        }
    }
}
