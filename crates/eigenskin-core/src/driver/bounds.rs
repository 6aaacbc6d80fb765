//! How far the outputs of a driver go.

use super::{Clamp, Driver, Interpolant, add_scaled, row};

impl Driver {
    /// Lowest and highest value that an output can have in any pose; infinite where nothing bounds it.
    pub fn bounds(&self, output: usize) -> (f64, f64) {
        let everything = (f64::NEG_INFINITY, f64::INFINITY);
        let (low, high) = match &self.interpolant {
            // A weighted mean lies among its values.
            Interpolant::Shepard { centres, values, .. } if !centres.is_empty() => {
                let outputs = values.len() / self.centre_count();
                let own = values.chunks_exact(outputs).map(|values| values[output]);
                own.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
            }
            _ => everything,
        };
        match &self.clamp {
            Clamp::None => (low, high),
            Clamp::Range { lowest, highest } => {
                let within = |value: f64| value.clamp(lowest[output], highest[output]);
                (within(low), within(high))
            }
        }
    }

    /// Lowest and highest value of each output (`output`) where it was learnt: at rest and at the
    /// centres. An interpolant without centres is looked at with every linear coordinate, such as a
    /// joint's turn in radians, between −1 and 1.
    pub fn range_at_centres(&self, output_count: usize) -> Vec<(f64, f64)> {
        let mut ranges = vec![(0f64, 0f64); output_count];
        let mut features = vec![0.0; self.feature_count()];
        let mut linear = vec![0.0; self.linear_count()];
        let mut outputs = vec![0.0; output_count];
        let mut include = |outputs: &[f64]| {
            for ((low, high), &value) in ranges.iter_mut().zip(outputs).filter(|(_, v)| v.is_finite()) {
                (*low, *high) = (low.min(value), high.max(value));
            }
        };
        for (group, range) in self.group_slices() {
            group.write_rest_features(&mut features[range]);
        }
        self.evaluate_features(&features, &linear, &mut outputs);
        include(&outputs);
        match &self.interpolant {
            Interpolant::Rbf { centres, .. } | Interpolant::Shepard { centres, .. } => {
                for centre in centres.chunks_exact(features.len()) {
                    let mut coordinate = 0;
                    for (group, range) in self.group_slices() {
                        let own = coordinate..coordinate + group.linear_count();
                        coordinate = own.end;
                        group.write_linear_of(&centre[range], &mut linear[own]);
                    }
                    self.evaluate_features(centre, &linear, &mut outputs);
                    include(&outputs);
                }
            }
            Interpolant::Linear { coefficients } => {
                for sign in [-1.0, 1.0] {
                    outputs.fill(0.0);
                    for coordinate in 0..linear.len() {
                        let sizes: Vec<f64> =
                            row(coefficients, coordinate, output_count).iter().map(|c| c.abs()).collect();
                        add_scaled(&mut outputs, sign, &sizes);
                    }
                    self.clamp(&mut outputs);
                    include(&outputs);
                }
            }
        }
        ranges
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Combine, FeatureGroup, FeatureScale, Kernel, Tail};
    use super::*;

    fn driver(interpolant: Interpolant, clamp: Clamp) -> Driver {
        let groups = vec![FeatureGroup::control(0, 0.5).scaled(FeatureScale::One(2.0))];
        Driver { groups, combine: Combine::Distance, interpolant, clamp }
    }

    #[test]
    fn clamps_and_means_bound_outputs_and_nothing_else_does() {
        let shepard = Interpolant::Shepard {
            centres: vec![0.0, 1.0, -1.0],
            values: vec![0.0, 0.0, 1.0, -2.0, 3.0, -1.0],
            power: 2.0,
            epsilon: 0.0,
        };
        let free = driver(shepard.clone(), Clamp::None);
        assert_eq!([free.bounds(0), free.bounds(1)], [(0.0, 3.0), (-2.0, 0.0)]);
        let clamp = Clamp::Range { lowest: vec![-1.0, -1.5], highest: vec![2.0, 5.0] };
        let clamped = driver(shepard, clamp);
        assert_eq!([clamped.bounds(0), clamped.bounds(1)], [(0.0, 2.0), (-1.5, 0.0)]);
        let linear = driver(Interpolant::Linear { coefficients: vec![1.0] }, Clamp::None);
        assert_eq!(linear.bounds(0), (f64::NEG_INFINITY, f64::INFINITY));
    }

    #[test]
    fn centres_are_looked_at_with_their_linear_coordinates() {
        // 1 + 3 · (2 · value) at the values 0 (rest), 2 and −1; the kernel adds nothing.
        let interpolant = Interpolant::Rbf {
            kernel: Kernel::Gaussian,
            centres: vec![2.0, -1.0],
            widths: vec![1.0, 1.0],
            coefficients: vec![0.0, 0.0],
            tail: Tail::Linear(vec![1.0, 3.0]),
        };
        assert_eq!(driver(interpolant, Clamp::None).range_at_centres(1), [(-5.0, 13.0)]);
        let interpolant = Interpolant::Linear { coefficients: vec![-4.0, 0.5] };
        assert_eq!(driver(interpolant, Clamp::None).range_at_centres(2), [(-4.0, 4.0), (-0.5, 0.5)]);
    }
}
