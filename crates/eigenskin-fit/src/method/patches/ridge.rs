//! Kernel ridge regression with the errors of left-out examples in closed form.

use crate::numeric::{Matrix, gram, symmetric_eigen};

/// Directions in which centres differ less than this share of the most are the same.
const LEAST_DIFFERENCE: f64 = 1e-12;

/// With K_c the rows of the centres and Kᵀ all columns, the coefficients c minimise
/// ‖Y − K·c‖² + λ·cᵀ·K_c·c. With K_c = V·S·Vᵀ, K·V·S^(−½) = Z·Qᵀ and Zᵀ·Z = Λ this is one division for each
/// λ. Where all examples are centres, it is (K + λ)⁻¹·Y.
pub(super) struct Ridge {
    /// `example × direction`
    turned: Matrix,
    /// `direction`: Λ
    values: Vec<f64>,
    /// `centre × direction`: V·S^(−½)·Q
    back: Matrix,
    /// `direction × output`: Zᵀ·Y
    projected: Matrix,
    /// Y, `example × output`
    coordinates: Matrix,
}

impl Ridge {
    /// Of a kernel (`example × centre`).
    pub fn new(kernel: &Matrix, centres: &[usize], coordinates: &Matrix) -> Self {
        let (examples, count) = (kernel.nrows(), centres.len());
        let (values, vectors) =
            symmetric_eigen(&Matrix::from_fn(count, count, |a, b| kernel[(centres[a], b)]));
        let largest = values.first().copied().unwrap_or(0.0);
        let kept = values.iter().take_while(|value| **value > LEAST_DIFFERENCE * largest).count();
        let scaled = Matrix::from_fn(count, kept, |c, k| vectors[(c, k)] / values[k].sqrt());
        let (turned, values, back) = if count == examples {
            let turned = Matrix::from_fn(count, kept, |c, k| vectors[(c, k)] * values[k].sqrt());
            (turned, values[..kept].to_vec(), scaled)
        } else {
            let whitened = kernel * &scaled;
            let (values, turn) = symmetric_eigen(&gram(&whitened));
            (&whitened * &turn, values, &scaled * &turn)
        };
        let projected = turned.transpose() * coordinates;
        Self { turned, values, back, projected, coordinates: coordinates.clone() }
    }

    /// The squared errors of the examples `judged`, each predicted from all others, in closed form: the residual
    /// of each divided by one minus its own share in its prediction.
    pub fn left_out(&self, smoothing: f64, judged: &[usize]) -> Vec<f64> {
        let weights: Vec<f64> = self.values.iter().map(|value| 1.0 / (value.max(0.0) + smoothing)).collect();
        let error = |&example: &usize| {
            let own = |k: usize| self.turned[(example, k)] * weights[k];
            let share: f64 = (0..weights.len()).map(|k| own(k) * self.turned[(example, k)]).sum();
            let residual = |output: usize| {
                let predicted: f64 = (0..weights.len()).map(|k| own(k) * self.projected[(k, output)]).sum();
                (self.coordinates[(example, output)] - predicted) / (1.0 - share)
            };
            (0..self.coordinates.ncols()).map(|output| residual(output).powi(2)).sum::<f64>()
        };
        judged.iter().map(error).collect()
    }

    /// `centre × output`
    pub fn coefficients(&self, smoothing: f64) -> Matrix {
        let (directions, outputs) = (self.values.len(), self.coordinates.ncols());
        let divided = Matrix::from_fn(directions, outputs, |k, output| {
            self.projected[(k, output)] / (self.values[k].max(0.0) + smoothing)
        });
        &self.back * &divided
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example_kernel() -> Matrix {
        Matrix::from_fn(9, 9, |a, b| {
            (-0.1 * (a as f64 - b as f64).powi(2)).exp()
                + 0.3 * (a as f64 * 0.7).sin() * (b as f64 * 0.7).sin()
        })
    }

    /// The minimum of ‖Y − K·c‖² + λ·cᵀ·K_c·c by its normal equations, for the examples `kept`.
    fn direct(kernel: &Matrix, centres: &[usize], kept: &[usize], y: &Matrix, smoothing: f64) -> Matrix {
        let own = Matrix::from_fn(kept.len(), centres.len(), |a, c| kernel[(kept[a], centres[c])]);
        let right = Matrix::from_fn(kept.len(), y.ncols(), |a, k| y[(kept[a], k)]);
        let normal = gram(&own)
            + Matrix::from_fn(centres.len(), centres.len(), |a, b| {
                smoothing * kernel[(centres[a], centres[b])]
            });
        crate::numeric::solve_positive(&normal, &(own.transpose() * &right))
    }

    /// The closed forms are what leaving out each example and solving again gives, for all centres and for some.
    #[test]
    fn left_out_errors_are_those_of_leaving_out() {
        let (kernel, judged) = (example_kernel(), [1, 4, 7]);
        let coordinates = Matrix::from_fn(9, 2, |e, k| (e as f64 * (1.3 + k as f64)).cos());
        for centres in [(0..9).collect::<Vec<usize>>(), vec![0, 2, 3, 6, 8]] {
            let against = Matrix::from_fn(9, centres.len(), |a, c| kernel[(a, centres[c])]);
            let ridge = Ridge::new(&against, &centres, &coordinates);
            for smoothing in [1e-4, 1e-3, 1e-2, 3e-2, 1e-1] {
                let all: Vec<usize> = (0..9).collect();
                let expected = direct(&kernel, &centres, &all, &coordinates, smoothing);
                let found = ridge.coefficients(smoothing);
                for c in 0..centres.len() {
                    assert!((found[(c, 0)] - expected[(c, 0)]).abs() < 1e-6 * expected.norm_max());
                }
                // An example that is left out may still be compared with: then it is a centre without a shape.
                let found = ridge.left_out(smoothing, &judged);
                for (left, found) in judged.into_iter().zip(found) {
                    let mut expected = 0.0;
                    let kept: Vec<usize> = (0..9).filter(|&e| e != left).collect();
                    let solved = direct(&kernel, &centres, &kept, &coordinates, smoothing);
                    for k in 0..2 {
                        let predicted: f64 =
                            (0..centres.len()).map(|c| kernel[(left, centres[c])] * solved[(c, k)]).sum();
                        expected += (predicted - coordinates[(left, k)]).powi(2);
                    }
                    assert!((found / expected - 1.0).abs() < 1e-6, "{smoothing}: {found} {expected}");
                }
            }
        }
    }
}
