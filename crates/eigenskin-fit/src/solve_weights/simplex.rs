//! Least squares with weights that are not negative and sum to one.
//!
//! min ½ wᵀHw − bᵀw subject to w ≥ 0, Σw = 1, by an active set as in Lawson and Hanson's NNLS, with
//! the sum as an equality in every step. H is positive definite, so there is one answer.

/// A quadratic form over a few joints.
#[derive(Debug, Clone, Default)]
pub(super) struct Quadratic {
    /// joints
    pub count: usize,
    /// H, `joint × joint`
    pub curvature: Vec<f64>,
    /// b, `joint`
    pub pull: Vec<f64>,
}

/// Slack of the optimality test, as a share of the largest curvature.
const TOLERANCE: f64 = 1e-13;

impl Quadratic {
    pub fn new(count: usize) -> Self {
        Self { count, curvature: vec![0.0; count * count], pull: vec![0.0; count] }
    }

    /// Hw − b, one entry.
    fn slope(&self, weights: &[f64], joint: usize) -> f64 {
        let row = &self.curvature[joint * self.count..(joint + 1) * self.count];
        row.iter().zip(weights).map(|(h, w)| h * w).sum::<f64>() - self.pull[joint]
    }

    /// Moves `weights` (`joint`, not negative, sum one) to the minimum. Joints where `allowed` is
    /// false keep the weight zero.
    pub fn minimise(&self, weights: &mut [f64], allowed: &[bool]) {
        let largest = (0..self.count).map(|j| self.curvature[j * (self.count + 1)]).fold(0.0, f64::max);
        let tolerance = TOLERANCE * largest;
        let mut free: Vec<bool> = weights.iter().zip(allowed).map(|(&w, &a)| a && w > 0.0).collect();
        // Each round frees or binds one joint; the answer never takes more than a few per joint.
        for _ in 0..10 * self.count {
            let multiplier = self.settle(weights, &mut free);
            let slopes = (0..self.count).filter(|&j| allowed[j] && !free[j]);
            let steepest = slopes
                .map(|joint| (self.slope(weights, joint) - multiplier, joint))
                .min_by(|a, b| a.0.total_cmp(&b.0));
            match steepest {
                Some((slope, joint)) if slope < -tolerance => free[joint] = true,
                _ => break,
            }
        }
    }

    /// The minimum over the free joints, binding those that would turn negative; returns the
    /// multiplier of the sum.
    fn settle(&self, weights: &mut [f64], free: &mut [bool]) -> f64 {
        loop {
            let list: Vec<usize> = (0..self.count).filter(|&joint| free[joint]).collect();
            let Some((aim, multiplier)) = self.over(&list) else { return 0.0 };
            if aim.iter().all(|&w| w > 0.0) {
                weights.fill(0.0);
                for (&joint, w) in list.iter().zip(aim) {
                    weights[joint] = w;
                }
                return multiplier;
            }
            // As far as weights stay positive, then the joint that stops us is bound.
            let share = list
                .iter()
                .zip(&aim)
                .filter(|&(_, &to)| to <= 0.0)
                .map(|(&joint, &to)| weights[joint] / (weights[joint] - to).max(f64::MIN_POSITIVE))
                .fold(1.0, f64::min);
            for (&joint, to) in list.iter().zip(&aim) {
                weights[joint] += share * (to - weights[joint]);
                if *to <= 0.0 && weights[joint] <= 1e-15 {
                    weights[joint] = 0.0;
                    free[joint] = false;
                }
            }
            // Rounding must not keep us here.
            if list.iter().all(|&joint| free[joint]) {
                let stuck = list.iter().zip(&aim).filter(|(_, to)| **to <= 0.0);
                if let Some((&joint, _)) = stuck.min_by(|a, b| weights[*a.0].total_cmp(&weights[*b.0])) {
                    weights[joint] = 0.0;
                    free[joint] = false;
                }
            }
        }
    }

    /// The minimum over `joints` with sum one and no other bound, and the multiplier of the sum.
    /// By Cholesky; `None` when there are no joints.
    fn over(&self, joints: &[usize]) -> Option<(Vec<f64>, f64)> {
        let count = joints.len();
        if count == 0 {
            return None;
        }
        let mut factor = vec![0.0; count * count];
        for row in 0..count {
            for column in 0..=row {
                let mut sum = self.curvature[joints[row] * self.count + joints[column]];
                for k in 0..column {
                    sum -= factor[row * count + k] * factor[column * count + k];
                }
                factor[row * count + column] = if row == column {
                    // A direction that the data do not know is stiff rather than endless.
                    sum.max(1e-15 * self.curvature[joints[row] * (self.count + 1)]).max(1e-300).sqrt()
                } else {
                    sum / factor[column * count + column]
                };
            }
        }
        let solve = |mut x: Vec<f64>| {
            for row in 0..count {
                for k in 0..row {
                    x[row] -= factor[row * count + k] * x[k];
                }
                x[row] /= factor[row * count + row];
            }
            for row in (0..count).rev() {
                for k in row + 1..count {
                    x[row] -= factor[k * count + row] * x[k];
                }
                x[row] /= factor[row * count + row];
            }
            x
        };
        let free = solve(joints.iter().map(|&joint| self.pull[joint]).collect());
        let ones = solve(vec![1.0; count]);
        let multiplier = (1.0 - free.iter().sum::<f64>()) / ones.iter().sum::<f64>();
        Some((free.iter().zip(&ones).map(|(f, o)| f + multiplier * o).collect(), multiplier))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::{Matrix, invert};
    use eigenskin_core::random::SplitMix64;

    fn value(form: &Quadratic, w: &[f64]) -> f64 {
        (0..form.count).map(|j| w[j] * (0.5 * (form.slope(w, j) + form.pull[j]) - form.pull[j])).sum()
    }

    /// Every set of joints, by the bordered system and its inverse; the best that is feasible.
    fn exhaustive(form: &Quadratic) -> (Vec<f64>, f64) {
        let mut best = (Vec::new(), f64::INFINITY);
        for chosen in 1u32..1 << form.count {
            let joints: Vec<usize> = (0..form.count).filter(|j| chosen >> j & 1 == 1).collect();
            let n = joints.len();
            let bordered = Matrix::from_fn(n + 1, n + 1, |r, c| match (r < n, c < n) {
                (true, true) => form.curvature[joints[r] * form.count + joints[c]],
                (false, false) => 0.0,
                _ => 1.0,
            });
            let inverse = invert(&bordered).matrix;
            let right = |k: usize| if k < n { form.pull[joints[k]] } else { 1.0 };
            let mut w = vec![0.0; form.count];
            for (row, &joint) in joints.iter().enumerate() {
                w[joint] = (0..=n).map(|k| inverse[(row, k)] * right(k)).sum();
            }
            if w.iter().all(|&w| w >= 0.0) && value(form, &w) < best.1 {
                best = (w.clone(), value(form, &w));
            }
        }
        best
    }

    #[test]
    fn the_minimum_is_that_of_trying_all_sets() {
        let mut random = SplitMix64(7);
        let mut on_the_border = 0;
        for case in 0..3000 {
            let count = 1 + case % 4;
            let mut form = Quadratic::new(count);
            let rows: Vec<Vec<f64>> =
                (0..6).map(|_| (0..count).map(|_| random.between(-1.0, 1.0)).collect()).collect();
            for row in &rows {
                let observed = random.between(-1.0, 1.0);
                for a in 0..count {
                    form.pull[a] += row[a] * observed;
                    for b in 0..count {
                        form.curvature[a * count + b] += row[a] * row[b];
                    }
                }
            }
            let (expected, lowest) = exhaustive(&form);
            // From a corner and from the middle: the start must not matter.
            let mut corner = vec![0.0; count];
            corner[case % count] = 1.0;
            for mut found in [corner, vec![1.0 / count as f64; count]] {
                form.minimise(&mut found, &vec![true; count]);
                assert!(value(&form, &found) <= lowest + 1e-12 * (1.0 + lowest.abs()), "case {case}");
                for (found, expected) in found.iter().zip(&expected) {
                    assert!((found - expected).abs() < 1e-8, "case {case}: {found} {expected}");
                }
            }
            on_the_border += usize::from(expected.contains(&0.0));
        }
        assert!(on_the_border > 500, "only {on_the_border} cases bind a joint");
    }

    #[test]
    fn joints_that_are_not_allowed_stay_out() {
        let mut form = Quadratic::new(3);
        for joint in 0..3 {
            form.curvature[joint * 4] = 1.0;
        }
        form.pull = vec![0.2, 0.9, 0.1];
        let mut weights = vec![1.0, 0.0, 0.0];
        form.minimise(&mut weights, &[true, false, true]);
        assert!((weights[0] - 0.55).abs() < 1e-12 && weights[1] == 0.0 && (weights[2] - 0.45).abs() < 1e-12);
    }
}
