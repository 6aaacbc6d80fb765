//! Functions of a pose that are zero at rest, for one joint or for several that must all have moved.
//!
//! Of a joint's kernel φ: k(a, b) = φ(a, b) − φ(a, rest) − φ(rest, b) + φ(rest, rest), which is
//! symmetric and zero as soon as a or b is rest. Of several joints: the product of their kernels.
//! Functions are whitened: what smoothing then punishes is the size of the function itself.

use eigenskin_core::driver::{Clamp, Combine, Driver, FeatureGroup, FeatureScale, Interpolant, Kernel, Tail};
use eigenskin_core::mover::Mover;

use crate::displacements::Observations;
use crate::drivers::Samples;
use crate::method::joint_driver::feature_groups;
use crate::numeric::{Matrix, symmetric_eigen};

/// One joint or control in all examples, and how its settings are compared.
#[derive(Debug, Clone)]
pub struct Factor {
    kernel: Kernel,
    width: f64,
    /// rest, then all examples
    samples: Samples,
    /// `example + 1`: distance to rest
    from_rest: Vec<f64>,
}

impl Factor {
    /// All that is known of a mover.
    pub fn of_mover(seen: &Observations, mover: Mover, kernel: Kernel, width: f64) -> Self {
        Self::new(seen, feature_groups(&seen.rig, mover, seen.poses.iter()), kernel, width)
    }

    /// The mover by one group of features, as products need it: its rotation where it turns, else
    /// its translation.
    pub fn of_one_group(seen: &Observations, mover: Mover, kernel: Kernel, width: f64) -> Self {
        let all = Self::of_mover(seen, mover, kernel, width);
        let only = |group: &FeatureGroup| Self::new(seen, vec![group.clone()], kernel, width);
        let reach = |factor: &Self| factor.from_rest.iter().copied().fold(0.0, f64::max);
        let mut best = None;
        for factor in all.samples.groups.iter().map(only) {
            if best.as_ref().is_none_or(|best| reach(&factor) > reach(best)) {
                best = Some(factor);
            }
        }
        best.unwrap_or(all)
    }

    fn new(seen: &Observations, groups: Vec<FeatureGroup>, kernel: Kernel, width: f64) -> Self {
        let samples = Samples::measure(groups, seen.rig.skeleton(), &seen.poses);
        let from_rest = (0..samples.count()).map(|sample| samples.distance(0, sample)).collect();
        Self { kernel, width, samples, from_rest }
    }

    fn distance(&self, example: usize, other: usize) -> f64 {
        self.samples.distance(example + 1, other + 1)
    }

    /// k of two examples.
    fn value(&self, example: usize, other: usize) -> f64 {
        let phi = |distance: f64| self.kernel.value(distance, self.width);
        phi(self.distance(example, other)) - phi(self.from_rest[example + 1]) - phi(self.from_rest[other + 1])
            + phi(0.0)
    }
}

/// Whitened functions of one factor, or of the product of several.
#[derive(Debug, Clone)]
pub struct Functions {
    factors: Vec<Factor>,
    /// examples whose settings are centres
    centres: Vec<usize>,
    /// `centre × function`
    combinations: Matrix,
    /// `example × function`: their values
    pub values: Matrix,
}

/// More distinct settings than this are thinned out, furthest first.
const MOST_CENTRES: usize = 32;
/// Settings nearer than this share of a width are one centre.
const SAME_SETTING: f64 = 1e-3;
/// Functions weaker than this share of the strongest are noise.
const LEAST_FUNCTION: f64 = 1e-5;

impl Functions {
    /// The strongest, up to `most`, centred on the settings of `candidates` (examples).
    pub fn new(factors: Vec<Factor>, candidates: &[usize], example_count: usize, most: usize) -> Self {
        let centres = furthest_first(&factors, candidates);
        let product = |a: usize, b: usize| factors.iter().map(|factor| factor.value(a, b)).product::<f64>();
        let among = Matrix::from_fn(centres.len(), centres.len(), |a, b| product(centres[a], centres[b]));
        let (strengths, vectors) = symmetric_eigen(&among);
        let strongest = strengths.first().copied().unwrap_or(0.0);
        let rank = strengths.iter().filter(|&&s| s > LEAST_FUNCTION * strongest && s > 0.0).count().min(most);
        let combinations = Matrix::from_fn(centres.len(), rank, |centre, function| {
            vectors[(centre, function)] / strengths[function].sqrt()
        });
        let at = Matrix::from_fn(example_count, centres.len(), |e, centre| product(e, centres[centre]));
        let values = &at * &combinations;
        Self { factors, centres, combinations, values }
    }

    /// Number of functions.
    pub fn count(&self) -> usize {
        self.combinations.ncols()
    }

    /// The driver whose outputs are `coefficients` (`function × output`) of these functions.
    pub fn driver(&self, coefficients: &Matrix, clamp: Clamp) -> Driver {
        let of_centres = &self.combinations * coefficients;
        match self.factors.as_slice() {
            [factor] => self.distance_driver(factor, &of_centres, clamp),
            _ => self.product_driver(&of_centres, clamp),
        }
    }

    /// Σ a_c k(·, c) = Σ a_c φ(·, c) − (Σ a_c) φ(·, rest) + a constant that makes rest zero.
    fn distance_driver(&self, factor: &Factor, of_centres: &Matrix, clamp: Clamp) -> Driver {
        let outputs = of_centres.ncols();
        let mut centres = factor.samples.features_of(0).to_vec();
        let mut coefficients: Vec<f64> =
            (0..outputs).map(|k| -(0..self.centres.len()).map(|c| of_centres[(c, k)]).sum::<f64>()).collect();
        for (place, &example) in self.centres.iter().enumerate() {
            centres.extend(factor.samples.features_of(example + 1));
            coefficients.extend((0..outputs).map(|k| of_centres[(place, k)]));
        }
        let mut driver = Driver {
            groups: factor.samples.groups.clone(),
            combine: Combine::Distance,
            interpolant: Interpolant::Rbf {
                kernel: factor.kernel,
                centres,
                widths: vec![factor.width; self.centres.len() + 1],
                coefficients,
                tail: Tail::None,
            },
            clamp: Clamp::None,
        };
        // The driver's own sum at rest, so that it cancels to the last bit.
        let mut at_rest = vec![0.0; outputs];
        driver.evaluate_features(factor.samples.features_of(0), factor.samples.linear_of(0), &mut at_rest);
        if let Interpolant::Rbf { tail, .. } = &mut driver.interpolant {
            *tail = Tail::Constant(at_rest.into_iter().map(|value| -value).collect());
        }
        Driver { clamp, ..driver }
    }

    /// Every factor k(·, c) is (φ(·, c) − φ(rest, c)) − (φ(·, rest) − φ(rest, rest)): multiplied out,
    /// products of what a product driver computes, centred on c or on rest factor by factor.
    fn product_driver(&self, of_centres: &Matrix, clamp: Clamp) -> Driver {
        let (outputs, all) = (of_centres.ncols(), (1usize << self.factors.len()) - 1);
        let (mut centres, mut coefficients) = (Vec::new(), Vec::new());
        let mut push = |example: Option<usize>, at_rest: usize, coefficient: &dyn Fn(usize) -> f64| {
            for (bit, factor) in self.factors.iter().enumerate() {
                let sample = example.filter(|_| at_rest >> bit & 1 == 0).map_or(0, |example| example + 1);
                centres.extend(factor.samples.features_of(sample));
            }
            let sign = if at_rest.count_ones().is_multiple_of(2) { 1.0 } else { -1.0 };
            coefficients.extend((0..outputs).map(|k| sign * coefficient(k)));
        };
        for (place, &example) in self.centres.iter().enumerate() {
            for at_rest in 0..all {
                push(Some(example), at_rest, &|k| of_centres[(place, k)]);
            }
        }
        push(None, all, &|k| (0..self.centres.len()).map(|c| of_centres[(c, k)]).sum());
        let groups = self
            .factors
            .iter()
            .flat_map(|factor| factor.samples.groups.iter().map(|group| narrowed(group, factor.width)));
        Driver {
            groups: groups.collect(),
            combine: Combine::Product,
            interpolant: Interpolant::Rbf {
                kernel: self.factors[0].kernel,
                centres,
                widths: vec![1.0; self.centres.len() * all + 1],
                coefficients,
                tail: Tail::None,
            },
            clamp,
        }
    }
}

/// The group measured in widths: the factors of a product share one width.
fn narrowed(group: &FeatureGroup, width: f64) -> FeatureGroup {
    let scale = match group.scale {
        FeatureScale::One(factor) => FeatureScale::One(factor / width),
        FeatureScale::PerAxis(factors) => FeatureScale::PerAxis(factors / width),
        FeatureScale::Matrix(matrix) => FeatureScale::Matrix(matrix * (1.0 / width)),
    };
    group.clone().scaled(scale)
}

/// Examples with distinct settings, those furthest from rest and from each other first.
fn furthest_first(factors: &[Factor], candidates: &[usize]) -> Vec<usize> {
    let squared =
        |of: &dyn Fn(&Factor) -> f64| factors.iter().map(|f| (of(f) / f.width).powi(2)).sum::<f64>();
    let mut nearest: Vec<f64> =
        candidates.iter().map(|&e| squared(&|factor: &Factor| factor.from_rest[e + 1])).collect();
    let mut chosen = Vec::new();
    while chosen.len() < MOST_CENTRES {
        let next = (0..candidates.len()).max_by(|&a, &b| nearest[a].total_cmp(&nearest[b]).then(b.cmp(&a)));
        let Some(next) = next.filter(|&next| nearest[next] > SAME_SETTING * SAME_SETTING) else { break };
        chosen.push(candidates[next]);
        for (place, &candidate) in candidates.iter().enumerate() {
            let here = squared(&|factor: &Factor| factor.distance(candidates[next], candidate));
            nearest[place] = nearest[place].min(here);
        }
    }
    chosen.sort_unstable();
    chosen
}
