//! Drivers: from a pose to the coordinates α of one layer's basis.
//!
//! All methods share this one form (features → distance → interpolant). Everything here is `f64`:
//! in `f32` the interpolation coefficients miss the examples by up to 0.1 % of the size.

mod bounds;
pub mod features;
pub mod kernel;
pub mod tail;

pub use features::{FeatureGroup, FeatureScale, FeatureSource, Representation};
pub use kernel::Kernel;
pub use tail::Tail;

use crate::pose::Pose;
use crate::skeleton::Skeleton;

/// From a pose to `output_count` coordinates.
#[derive(Debug, Clone, PartialEq)]
pub struct Driver {
    /// what is looked at
    pub groups: Vec<FeatureGroup>,
    /// how groups become one kernel value
    pub combine: Combine,
    /// how kernel values become coordinates
    pub interpolant: Interpolant,
    /// what happens outside the examples
    pub clamp: Clamp,
}

/// How the groups' distances become the kernel's argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Combine {
    /// φ(√Σ_g weight_g · d_g²)
    Distance,
    /// Π_g (φ(d_g(pose)) − φ(d_g(rest))): zero as soon as one group is at rest, so that a coupling
    /// of joints acts only where all of them have moved
    Product,
    /// Π_g (1 + weight_g · k_g) − 1 with k_g = φ(d_g(pose, centre)) − φ(d_g(pose, rest)) −
    /// φ(d_g(rest, centre)) + φ(0): what each group does alone, what two do together, three, and so on.
    /// Each k_g is zero where pose or centre is at rest, so nothing happens at rest. The weight is how
    /// much a group matters, not a factor of its distance
    Subsets,
}

/// How coordinates are found from the features.
#[derive(Debug, Clone, PartialEq)]
pub enum Interpolant {
    /// α = Σ_c coefficient_c · φ_c(pose) + tail
    Rbf {
        /// radial function
        kernel: Kernel,
        /// `centre × feature`
        centres: Vec<f64>,
        /// `centre`, radians or the feature's own unit after scaling
        widths: Vec<f64>,
        /// `centre × output` (λ in the papers)
        coefficients: Vec<f64>,
        /// polynomial part
        tail: Tail,
    },
    /// Shepard's weighted mean (Lewis §3.1): weights (d² + ε)^(−p/2)
    Shepard {
        /// `centre × feature`
        centres: Vec<f64>,
        /// `centre × output`
        values: Vec<f64>,
        /// p
        power: f64,
        /// ε, in squared feature units
        epsilon: f64,
    },
    /// α = Σ_f coefficient_f · coordinate_f: delta-sum shape interpolation
    Linear {
        /// `linear coordinate × output`
        coefficients: Vec<f64>,
    },
}

/// What happens outside the examples.
#[derive(Debug, Clone, PartialEq)]
pub enum Clamp {
    /// the interpolant's own behaviour
    None,
    /// each output is kept within its range over the examples
    Range {
        /// `output`
        lowest: Vec<f64>,
        /// `output`
        highest: Vec<f64>,
    },
}

/// What can be wrong with a driver, found when a model is put together.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum DriverError {
    /// No features.
    #[error("a driver has no feature groups")]
    NoGroups,
    /// A group names a joint or control that does not exist.
    #[error("a driver names {what} {index}, but the rig has only {count}")]
    OutOfRange {
        /// "joint" or "control"
        what: &'static str,
        /// the index it names
        index: usize,
        /// how many there are
        count: usize,
    },
    /// Array sizes that do not fit together.
    #[error("a driver has {found} {what}, expected {expected}")]
    Shape {
        /// which array
        what: &'static str,
        /// its length
        found: usize,
        /// the length that fits
        expected: usize,
    },
    /// NaN, infinity, or a width or scale that is not positive.
    #[error("a driver has {what} that are not finite or not positive")]
    BadNumber {
        /// which array
        what: &'static str,
    },
}

impl Driver {
    /// Numbers that describe a pose to this driver.
    pub fn feature_count(&self) -> usize {
        self.groups.iter().map(FeatureGroup::feature_count).sum()
    }

    /// Linear coordinates of the features, which polynomial tails use.
    pub fn linear_count(&self) -> usize {
        self.groups.iter().map(FeatureGroup::linear_count).sum()
    }

    /// Number of centres; zero for `Linear`.
    pub fn centre_count(&self) -> usize {
        match &self.interpolant {
            Interpolant::Rbf { widths, .. } => widths.len(),
            Interpolant::Shepard { centres, .. } => centres.len() / self.feature_count().max(1),
            Interpolant::Linear { .. } => 0,
        }
    }

    /// Checks indices and array sizes against a rig of that many joints and controls.
    pub fn check(
        &self,
        joint_count: usize,
        control_count: usize,
        output_count: usize,
    ) -> Result<(), DriverError> {
        if self.groups.is_empty() {
            return Err(DriverError::NoGroups);
        }
        for group in &self.groups {
            group.check(joint_count, control_count)?;
        }
        let features = self.feature_count();
        let linear = self.linear_count();
        let shape = |what, found: usize, expected: usize| {
            if found == expected { Ok(()) } else { Err(DriverError::Shape { what, found, expected }) }
        };
        let finite = |what, values: &[f64]| {
            if values.iter().all(|v| v.is_finite()) { Ok(()) } else { Err(DriverError::BadNumber { what }) }
        };
        match &self.interpolant {
            Interpolant::Rbf { kernel: _, centres, widths, coefficients, tail } => {
                shape("centre features", centres.len(), widths.len() * features)?;
                shape("coefficients", coefficients.len(), widths.len() * output_count)?;
                shape("tail coefficients", tail.coefficients().len(), tail.row_count(linear) * output_count)?;
                finite("centres", centres)?;
                finite("coefficients", coefficients)?;
                finite("tail coefficients", tail.coefficients())?;
                if !widths.iter().all(|&w| w.is_finite() && w > 0.0) {
                    return Err(DriverError::BadNumber { what: "widths" });
                }
            }
            Interpolant::Shepard { centres, values, power, epsilon } => {
                shape("centre features", centres.len(), centres.len() / features.max(1) * features)?;
                shape("values", values.len(), centres.len() / features.max(1) * output_count)?;
                finite("centres", centres)?;
                finite("values", values)?;
                if !(power.is_finite() && *power > 0.0 && epsilon.is_finite() && *epsilon >= 0.0) {
                    return Err(DriverError::BadNumber { what: "Shepard parameters" });
                }
            }
            Interpolant::Linear { coefficients } => {
                shape("coefficients", coefficients.len(), linear * output_count)?;
                finite("coefficients", coefficients)?;
            }
        }
        if let Clamp::Range { lowest, highest } = &self.clamp {
            shape("lower bounds", lowest.len(), output_count)?;
            shape("upper bounds", highest.len(), output_count)?;
            if !lowest.iter().zip(highest).all(|(l, h)| l.is_finite() && h.is_finite() && l <= h) {
                return Err(DriverError::BadNumber { what: "clamp bounds" });
            }
        }
        Ok(())
    }

    /// Coordinates for a pose, into `outputs` (`output`). `scratch` needs
    /// [`scratch_count`](Self::scratch_count) numbers.
    pub fn evaluate(&self, skeleton: &Skeleton, pose: &Pose, scratch: &mut [f64], outputs: &mut [f64]) {
        let (features, linear) = scratch[..self.scratch_count()].split_at_mut(self.feature_count());
        for (group, range) in self.group_slices() {
            group.write_features(&group.measure(skeleton, pose), &mut features[range]);
        }
        self.write_linear(skeleton, pose, linear);
        self.evaluate_features(features, linear, outputs);
    }

    /// Linear coordinates of a pose (`linear coordinate`).
    pub fn write_linear(&self, skeleton: &Skeleton, pose: &Pose, linear: &mut [f64]) {
        let mut coordinate = 0;
        for group in &self.groups {
            let own = coordinate..coordinate + group.linear_count();
            coordinate = own.end;
            group.write_linear(&group.measure(skeleton, pose), &mut linear[own]);
        }
    }

    /// Numbers that [`evaluate`](Self::evaluate) writes while it works.
    pub fn scratch_count(&self) -> usize {
        self.feature_count() + self.linear_count()
    }

    /// Whether linear coordinates are looked at.
    pub fn needs_linear(&self) -> bool {
        match &self.interpolant {
            Interpolant::Rbf { tail, .. } => matches!(tail, Tail::Linear(_)),
            Interpolant::Shepard { .. } => false,
            Interpolant::Linear { .. } => true,
        }
    }

    /// Coordinates for given features (`feature`) and linear coordinates (`linear coordinate`).
    pub fn evaluate_features(&self, features: &[f64], linear: &[f64], outputs: &mut [f64]) {
        outputs.fill(0.0);
        let feature_count = self.feature_count();
        match &self.interpolant {
            Interpolant::Rbf { kernel, centres, widths, coefficients, tail } => {
                for (centre, (&width, position)) in
                    widths.iter().zip(centres.chunks_exact(feature_count)).enumerate()
                {
                    let value = self.kernel_value(*kernel, width, features, position);
                    add_scaled(outputs, value, row(coefficients, centre, outputs.len()));
                }
                tail.add_to(linear, outputs);
            }
            Interpolant::Shepard { centres, values, power, epsilon } => {
                let mut total = 0.0;
                for (centre, position) in centres.chunks_exact(feature_count).enumerate() {
                    let squared = self.squared_distance(features, position) + epsilon;
                    if squared == 0.0 {
                        outputs.copy_from_slice(row(values, centre, outputs.len()));
                        total = 1.0;
                        break;
                    }
                    let weight = squared.powf(-0.5 * power);
                    total += weight;
                    add_scaled(outputs, weight, row(values, centre, outputs.len()));
                }
                for output in &mut *outputs {
                    *output /= total;
                }
            }
            Interpolant::Linear { coefficients } => {
                for (coordinate, &value) in linear.iter().enumerate() {
                    add_scaled(outputs, value, row(coefficients, coordinate, outputs.len()));
                }
            }
        }
        self.clamp(outputs);
    }

    /// Keeps outputs within their bounds, if there are any.
    pub fn clamp(&self, outputs: &mut [f64]) {
        if let Clamp::Range { lowest, highest } = &self.clamp {
            for ((output, &low), &high) in outputs.iter_mut().zip(lowest).zip(highest) {
                *output = output.clamp(low, high);
            }
        }
    }

    /// φ of a centre at given features (both `feature`).
    fn kernel_value(&self, kernel: Kernel, width: f64, features: &[f64], centre: &[f64]) -> f64 {
        match self.combine {
            Combine::Distance => kernel.value(self.squared_distance(features, centre).sqrt(), width),
            Combine::Product => self.group_slices().fold(1.0, |product, (group, range)| {
                let weight = group.weight.sqrt();
                let here = weight * group.distance(&features[range.clone()], &centre[range.clone()]);
                let at_rest = weight * group.distance_to_rest(&centre[range]);
                product * (kernel.value(here, width) - kernel.value(at_rest, width))
            }),
            Combine::Subsets => {
                let factor = |(group, range): (&FeatureGroup, std::ops::Range<usize>)| {
                    let (here, centre) = (&features[range.clone()], &centre[range]);
                    let phi = |distance: f64| kernel.value(distance, width);
                    let moved = phi(group.distance(here, centre))
                        - phi(group.distance_to_rest(here))
                        - phi(group.distance_to_rest(centre))
                        + phi(0.0);
                    1.0 + group.weight * moved
                };
                self.group_slices().map(factor).product::<f64>() - 1.0
            }
        }
    }

    fn squared_distance(&self, a: &[f64], b: &[f64]) -> f64 {
        self.group_slices()
            .map(|(group, range)| group.weight * group.distance(&a[range.clone()], &b[range]).powi(2))
            .sum()
    }

    fn group_slices(&self) -> impl Iterator<Item = (&FeatureGroup, std::ops::Range<usize>)> {
        self.groups.iter().scan(0, |start, group| {
            let range = *start..*start + group.feature_count();
            *start = range.end;
            Some((group, range))
        })
    }
}

fn row(matrix: &[f64], index: usize, columns: usize) -> &[f64] {
    &matrix[index * columns..(index + 1) * columns]
}

fn add_scaled(sum: &mut [f64], factor: f64, row: &[f64]) {
    for (sum, value) in sum.iter_mut().zip(row) {
        *sum += factor * value;
    }
}
