//! Prototypes of skin weights for weighted PSD (Kurihara, Miyata 2004).
//!
//! In weighted PSD every vertex measures the distance of two poses with its own skin weights: a joint
//! counts by the vertex's weights of the two bodies it turns against each other. Here
//! some prototypes of weights do so, and vertices blend what the prototypes say by a membership that
//! is as smooth over the skin as the weights are: hard clusters would tear it.

use eigenskin_core::random::SplitMix64;
use eigenskin_core::rig::Rig;
use serde::{Deserialize, Serialize};

/// How prototypes are found and used.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PrototypeParams {
    /// how many, at most; default 8. There are never more than different weights
    pub count: usize,
    /// what a joint counts at least, also where a prototype has no weight of it, in 0 < … ≤ 1; default 0.05.
    /// Without it, poses that differ in that joint could not be told apart
    pub least_weight: f64,
    /// equal seeds give equal prototypes; default 1
    pub seed: u64,
}

impl Default for PrototypeParams {
    fn default() -> Self {
        Self { count: 8, least_weight: 0.05, seed: 1 }
    }
}

/// Prototypes of skin weights, and how far every vertex belongs to each.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Prototypes {
    /// `prototype × joint`: mean weights
    pub patterns: Vec<Vec<f64>>,
    /// `prototype × vertex`: not negative, the sum over prototypes is 1
    pub membership: Vec<Vec<f32>>,
}

/// Rounds of moving prototypes to the mean of their vertices.
const ROUNDS: usize = 30;

impl Prototypes {
    /// Those asked for, else one that all vertices belong to wholly.
    pub fn of(rig: &Rig, params: Option<&PrototypeParams>) -> Self {
        params.map_or_else(|| Self::one(rig), |params| Self::find(rig, params))
    }

    /// One prototype that all vertices belong to wholly.
    fn one(rig: &Rig) -> Self {
        Self::around(vec![vec![1.0; rig.skeleton().joint_count()]], &vec![Vec::new(); rig.vertex_count()])
    }

    /// Clusters the vertices by their skin weights (k-means, started as k-means++).
    pub fn find(rig: &Rig, params: &PrototypeParams) -> Self {
        let joints = rig.skeleton().joint_count();
        let weights: Vec<Vec<(usize, f64)>> = (0..rig.vertex_count())
            .map(|v| rig.weights().of(v).iter().map(|i| (i.joint as usize, f64::from(i.weight))).collect())
            .collect();
        let mut patterns = first_patterns(&weights, joints, params);
        for _ in 0..ROUNDS {
            let mut sums = vec![vec![0.0; joints]; patterns.len()];
            let mut counts = vec![0.0; patterns.len()];
            for weights in &weights {
                let nearest = nearest(&patterns, weights);
                counts[nearest] += 1.0;
                for &(joint, weight) in weights {
                    sums[nearest][joint] += weight;
                }
            }
            let moved: Vec<Vec<f64>> = patterns
                .iter()
                .zip(sums)
                .zip(counts)
                .map(
                    |((pattern, sum), count)| {
                        if count > 0.0 { sum.iter().map(|s| s / count).collect() } else { pattern.clone() }
                    },
                )
                .collect();
            if moved == patterns {
                break;
            }
            patterns = moved;
        }
        Self::around(patterns, &weights)
    }

    /// Memberships around given patterns: full at a pattern, halves half-way between two, nothing
    /// where another pattern is more than about twice as near.
    fn around(patterns: Vec<Vec<f64>>, weights: &[Vec<(usize, f64)>]) -> Self {
        // The change from one prototype to the next never happens faster than over this distance.
        let pairs = (0..patterns.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
        let closest =
            pairs.map(|(a, b)| squared_between(&patterns[a], &patterns[b])).fold(f64::INFINITY, f64::min);
        let softness = 0.25 * if closest.is_finite() { closest } else { 1.0 };
        let mut membership = vec![vec![0f32; weights.len()]; patterns.len()];
        for (vertex, weights) in weights.iter().enumerate() {
            let squared: Vec<f64> = patterns.iter().map(|p| squared_distance(p, weights)).collect();
            let nearest = squared.iter().copied().fold(f64::INFINITY, f64::min);
            let shares: Vec<f64> = if patterns.len() == 1 {
                vec![1.0]
            } else {
                squared.iter().map(|d| (1.0 - d / (4.0 * nearest + softness)).max(0.0).powi(2)).collect()
            };
            let total: f64 = shares.iter().sum();
            for (membership, share) in membership.iter_mut().zip(&shares) {
                membership[vertex] = (share / total) as f32;
            }
        }
        Self { patterns, membership }
    }
}

/// Starting patterns: vertices drawn with a chance that grows with the squared distance from those
/// already drawn.
fn first_patterns(weights: &[Vec<(usize, f64)>], joints: usize, params: &PrototypeParams) -> Vec<Vec<f64>> {
    let mut random = SplitMix64(params.seed);
    let dense = |vertex: usize| {
        let mut pattern = vec![0.0; joints];
        for &(joint, weight) in &weights[vertex] {
            pattern[joint] = weight;
        }
        pattern
    };
    let first = (random.between(0.0, weights.len() as f64) as usize).min(weights.len() - 1);
    let mut patterns = vec![dense(first)];
    let mut squared: Vec<f64> = weights.iter().map(|w| squared_distance(&patterns[0], w)).collect();
    while patterns.len() < params.count {
        let total: f64 = squared.iter().sum();
        // What is left is rounding: all vertices are like some pattern.
        if total <= 1e-9 * weights.len() as f64 {
            break;
        }
        let mut left = random.between(0.0, total);
        let drawn = squared.iter().position(|&d| {
            left -= d;
            left < 0.0 && d > 0.0
        });
        let Some(drawn) = drawn.or_else(|| squared.iter().rposition(|&d| d > 0.0)) else { break };
        let pattern = dense(drawn);
        for (squared, weights) in squared.iter_mut().zip(weights) {
            *squared = squared.min(squared_distance(&pattern, weights));
        }
        patterns.push(pattern);
    }
    patterns
}

fn nearest(patterns: &[Vec<f64>], weights: &[(usize, f64)]) -> usize {
    let mut best = (0, f64::INFINITY);
    for (index, pattern) in patterns.iter().enumerate() {
        let squared = squared_distance(pattern, weights);
        if squared < best.1 {
            best = (index, squared);
        }
    }
    best.0
}

/// |pattern − weights|², the weights being zero where they are not listed.
fn squared_distance(pattern: &[f64], weights: &[(usize, f64)]) -> f64 {
    let own: f64 = pattern.iter().map(|p| p * p).sum();
    let change: f64 = weights.iter().map(|&(joint, w)| w * (w - 2.0 * pattern[joint])).sum();
    (own + change).max(0.0)
}

fn squared_between(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use eigenskin_characters::arm;

    #[test]
    fn memberships_are_shares_and_as_smooth_as_the_weights() {
        let rig = arm(2000).unwrap().rig;
        for count in [1, 3, 8] {
            let params = PrototypeParams { count, ..PrototypeParams::default() };
            let found = Prototypes::find(&rig, &params);
            assert_eq!(found, Prototypes::find(&rig, &params));
            assert_eq!(found.patterns.len(), count);
            for vertex in 0..rig.vertex_count() {
                let shares = found.membership.iter().map(|m| m[vertex]);
                assert!(shares.clone().all(|m| m >= 0.0));
                assert!((shares.sum::<f32>() - 1.0).abs() < 1e-6, "vertex {vertex}");
            }
            // Along every edge, memberships change by no more than some times what weights do.
            let steepness =
                rig.mesh().triangles().iter().flat_map(|t| [(t[0], t[1]), (t[1], t[2])]).map(|(a, b)| {
                    let dense = |v: u32| {
                        let mut dense = vec![0.0; rig.skeleton().joint_count()];
                        rig.weights()
                            .of(v as usize)
                            .iter()
                            .for_each(|i| dense[i.joint as usize] = f64::from(i.weight));
                        dense
                    };
                    let weights = squared_between(&dense(a), &dense(b)).sqrt();
                    let jump = found
                        .membership
                        .iter()
                        .map(|m| (m[a as usize] - m[b as usize]).abs())
                        .fold(0f32, f32::max);
                    f64::from(jump) / (weights + 0.01)
                });
            let worst = steepness.fold(0.0, f64::max);
            assert!(worst < 25.0, "{count} prototypes: {worst}");
        }
    }

    #[test]
    fn no_more_prototypes_than_kinds_of_weights() {
        let rig = eigenskin_characters::square_bar().unwrap().rig;
        let kinds: std::collections::BTreeSet<Vec<(u32, u32)>> = (0..rig.vertex_count())
            .map(|v| rig.weights().of(v).iter().map(|i| (i.joint, i.weight.to_bits())).collect())
            .collect();
        let params = PrototypeParams { count: 1000, ..PrototypeParams::default() };
        assert!(Prototypes::find(&rig, &params).patterns.len() <= kinds.len());
    }
}
