//! How many components each support may keep (EigenSkin §2.3, §2.5).
//!
//! Every point of the skin carries at most so many displacements, whichever supports it lies in.
//! The paper takes the same number everywhere; here each support gets what reduces the error
//! most. Greedy choice alone can be worse than the equal split, so the search starts from the
//! equal split and only ever improves it.

use std::collections::BTreeSet;

use eigenskin_core::progress::{Cancelled, Progress};
use serde::{Deserialize, Serialize};

use crate::displacements::Observations;
use crate::supports::JointSupport;

/// Limits on the number of components.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    /// most components that may move one vertex; default 10, as fitted a GeForce 3 (EigenSkin §2.5)
    pub per_vertex: Option<usize>,
    /// components of any one joint
    pub per_joint: Option<usize>,
    /// components of all joints together
    pub total: Option<usize>,
}

impl Budget {
    /// All components.
    pub const UNLIMITED: Self = Self { per_vertex: None, per_joint: None, total: None };
}

impl Default for Budget {
    fn default() -> Self {
        Self { per_vertex: Some(10), per_joint: None, total: None }
    }
}

/// How many components each support keeps (n_j), `support`, from what each takes off the squared error (`support` →
/// component).
pub(super) fn component_counts(
    seen: &Observations,
    supports: &[JointSupport],
    gains: &[Vec<f64>],
    budget: &Budget,
    progress: &dyn Progress,
) -> Result<Vec<usize>, Cancelled> {
    let points: Vec<&[u32]> = supports.iter().map(|s| s.points.as_slice()).collect();
    allocate(gains, &points, seen.displacements.points.group_count(), budget, progress)
}

/// Chooses how many leading components each support keeps.
///
/// `energies`: `support` → squared singular values, falling: what keeping a component takes off
/// the squared error. `supports`: `support` → the points it covers.
pub fn allocate(
    energies: &[Vec<f64>],
    supports: &[&[u32]],
    point_count: usize,
    budget: &Budget,
    progress: &dyn Progress,
) -> Result<Vec<usize>, Cancelled> {
    let search = Search::new(energies, supports, point_count, budget, progress);
    let equal = search.equal_split();
    let none = vec![0; energies.len()];
    let from_equal = search.improved(equal)?;
    let from_none = search.improved(none)?;
    Ok(if search.energy(&from_none) > search.energy(&from_equal) { from_none } else { from_equal })
}

struct Search<'a> {
    energies: &'a [Vec<f64>],
    /// `support`: the most components it may ever keep
    caps: Vec<usize>,
    /// supports that share some point, and how many components they may keep together
    limits: Vec<(Vec<usize>, usize)>,
    /// `support` → the limits it is part of
    limits_of: Vec<Vec<usize>>,
    progress: &'a dyn Progress,
}

impl<'a> Search<'a> {
    fn new(
        energies: &'a [Vec<f64>],
        supports: &[&[u32]],
        point_count: usize,
        budget: &Budget,
        progress: &'a dyn Progress,
    ) -> Self {
        let caps = energies.iter().map(|e| e.len().min(budget.per_joint.unwrap_or(usize::MAX))).collect();
        let mut limits = Vec::new();
        if let Some(limit) = budget.per_vertex {
            let mut covering = vec![Vec::new(); point_count];
            for (support, points) in supports.iter().enumerate() {
                for &point in *points {
                    covering[point as usize].push(support);
                }
            }
            let distinct: BTreeSet<Vec<usize>> = covering.into_iter().filter(|c| !c.is_empty()).collect();
            limits.extend(distinct.into_iter().map(|members| (members, limit)));
        }
        if let Some(limit) = budget.total {
            limits.push(((0..energies.len()).collect(), limit));
        }
        let mut limits_of = vec![Vec::new(); energies.len()];
        for (index, (members, _)) in limits.iter().enumerate() {
            for &member in members {
                limits_of[member].push(index);
            }
        }
        Self { energies, caps, limits, limits_of, progress }
    }

    fn energy(&self, counts: &[usize]) -> f64 {
        self.energies.iter().zip(counts).map(|(e, &count)| e[..count].iter().sum::<f64>()).sum()
    }

    fn used(&self, counts: &[usize], limit: usize) -> usize {
        self.limits[limit].0.iter().map(|&member| counts[member]).sum()
    }

    fn can_grow(&self, counts: &[usize], support: usize) -> bool {
        counts[support] < self.caps[support]
            && self.limits_of[support].iter().all(|&limit| self.used(counts, limit) < self.limits[limit].1)
    }

    /// The paper's choice: the largest number that fits when every support takes it.
    fn equal_split(&self) -> Vec<usize> {
        let most = self.caps.iter().copied().max().unwrap_or(0);
        let split = |n: usize| -> Vec<usize> { self.caps.iter().map(|&cap| cap.min(n)).collect() };
        // The paper's rule counts n for every support, also for one that has fewer components.
        let fits = |n: usize| self.limits.iter().all(|(members, limit)| n * members.len() <= *limit);
        split((0..=most).rev().find(|&n| fits(n)).unwrap_or(0))
    }

    /// Grows supports while that is possible, best first.
    fn filled(&self, mut counts: Vec<usize>) -> Vec<usize> {
        loop {
            let best =
                (0..counts.len()).filter(|&support| self.can_grow(&counts, support)).max_by(|&a, &b| {
                    self.energies[a][counts[a]].total_cmp(&self.energies[b][counts[b]]).then(b.cmp(&a))
                });
            match best {
                Some(support) => counts[support] += 1,
                None => return counts,
            }
        }
    }

    /// Exchanges components between supports as long as the error falls.
    fn improved(&self, counts: Vec<usize>) -> Result<Vec<usize>, Cancelled> {
        let mut best = self.filled(counts);
        let mut best_energy = self.energy(&best);
        loop {
            let grown = (0..best.len())
                .filter(|&support| best[support] < self.caps[support])
                .map(|support| self.forced(best.clone(), support));
            let shrunk = (0..best.len()).filter(|&support| best[support] > 0).map(|support| {
                let mut counts = best.clone();
                counts[support] -= 1;
                self.filled_but(counts, support)
            });
            let mut next: Option<(f64, Vec<usize>)> = None;
            for counts in grown.chain(shrunk) {
                self.progress.doing("allocating components")?;
                let energy = self.energy(&counts);
                if next.as_ref().is_none_or(|next| next.0 < energy) {
                    next = Some((energy, counts));
                }
            }
            match next {
                Some((energy, counts)) if energy > best_energy * (1.0 + 1e-12) => {
                    best = counts;
                    best_energy = energy;
                }
                _ => return Ok(best),
            }
        }
    }

    /// One more component for `support`, paid for by those that lose least per limit relieved.
    fn forced(&self, mut counts: Vec<usize>, support: usize) -> Vec<usize> {
        counts[support] += 1;
        loop {
            let broken: Vec<usize> = self.limits_of[support]
                .iter()
                .copied()
                .filter(|&limit| self.used(&counts, limit) > self.limits[limit].1)
                .collect();
            if broken.is_empty() {
                return self.filled(counts);
            }
            let cost = |other: usize| {
                let relieved = broken.iter().filter(|&&limit| self.limits[limit].0.contains(&other)).count();
                self.energies[other][counts[other] - 1] / relieved as f64
            };
            let payers: BTreeSet<usize> =
                broken.iter().flat_map(|&limit| self.limits[limit].0.clone()).collect();
            let payer = payers
                .into_iter()
                .filter(|&other| other != support && counts[other] > 0)
                .min_by(|&a, &b| cost(a).total_cmp(&cost(b)));
            let Some(payer) = payer else {
                // Nobody can pay: the component does not fit at all.
                counts[support] -= 1;
                return self.filled(counts);
            };
            counts[payer] -= 1;
        }
    }

    /// Like `filled`, but `held` gets the freed place back only after all others have tried.
    fn filled_but(&self, mut counts: Vec<usize>, held: usize) -> Vec<usize> {
        loop {
            let best = (0..counts.len())
                .filter(|&support| support != held && self.can_grow(&counts, support))
                .max_by(|&a, &b| {
                    self.energies[a][counts[a]].total_cmp(&self.energies[b][counts[b]]).then(b.cmp(&a))
                });
            match best {
                Some(support) => counts[support] += 1,
                None => return self.filled(counts),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eigenskin_core::progress::Unwatched;
    use proptest::prelude::*;

    fn allocate(energies: &[Vec<f64>], supports: &[&[u32]], points: usize, budget: &Budget) -> Vec<usize> {
        super::allocate(energies, supports, points, budget, &Unwatched).unwrap()
    }

    fn total(energies: &[Vec<f64>], counts: &[usize]) -> f64 {
        energies.iter().zip(counts).map(|(e, &n)| e[..n].iter().sum::<f64>()).sum()
    }

    /// The example of three supports where greedy choice loses to the equal split.
    #[test]
    fn beats_greedy_where_greedy_fails() {
        let energies = vec![vec![10.0, 6.0], vec![5.0], vec![5.0]];
        let supports: [&[u32]; 3] = [&[0, 1], &[0], &[1]];
        let budget = Budget { per_vertex: Some(2), per_joint: None, total: None };
        let counts = allocate(&energies, &supports, 2, &budget);
        assert_eq!(total(&energies, &counts), 20.0);
    }

    #[test]
    fn limits_hold_alone_and_together() {
        let energies = vec![vec![9.0, 8.0, 7.0], vec![6.0, 5.0, 4.0]];
        let apart: [&[u32]; 2] = [&[0], &[1]];
        let of = |per_vertex, per_joint, total| {
            allocate(&energies, &apart, 2, &Budget { per_vertex, per_joint, total })
        };
        assert_eq!(of(None, None, None), [3, 3]);
        assert_eq!(of(Some(2), None, None), [2, 2]);
        assert_eq!(of(None, Some(1), None), [1, 1]);
        assert_eq!(of(None, None, Some(4)), [3, 1]);
        assert_eq!(of(Some(2), None, Some(3)), [2, 1]);
        assert_eq!(of(Some(0), None, None), [0, 0]);
    }

    prop_compose! {
        fn problem()(supports in 1usize..6, points in 1usize..6)(
            energies in prop::collection::vec(prop::collection::vec(0.01f64..10.0, 0..4), supports),
            cover in prop::collection::vec(prop::collection::vec(any::<bool>(), points), supports),
            limit in 0usize..6,
        ) -> (Vec<Vec<f64>>, Vec<Vec<u32>>, usize, usize) {
            let energies = energies.into_iter().map(|mut e: Vec<f64>| { e.sort_by(|a, b| b.total_cmp(a)); e }).collect();
            let points = cover[0].len();
            let supports = cover.into_iter().map(|c| (0..points as u32).filter(|&p| c[p as usize]).collect()).collect();
            (energies, supports, points, limit)
        }
    }

    proptest! {
        /// Never over the limit, never worse than the equal split, and against all allocations
        /// tried one by one: within a tenth of the best.
        #[test]
        fn feasible_and_no_worse_than_equal((energies, supports, points, limit) in problem()) {
            let covers: Vec<&[u32]> = supports.iter().map(Vec::as_slice).collect();
            let budget = Budget { per_vertex: Some(limit), per_joint: None, total: None };
            let counts = allocate(&energies, &covers, points, &budget);
            let load = |counts: &[usize], point: u32| -> usize {
                covers.iter().zip(counts).filter(|(c, _)| c.contains(&point)).map(|(_, &n)| n).sum()
            };
            let feasible = |counts: &[usize]| (0..points as u32).all(|p| load(counts, p) <= limit);
            prop_assert!(feasible(&counts));
            let most = (0..points as u32).map(|p| covers.iter().filter(|c| c.contains(&p)).count()).max().unwrap_or(0);
            if let Some(n) = limit.checked_div(most) {
                let equal: Vec<usize> = energies.iter().map(|e| e.len().min(n)).collect();
                prop_assert!(total(&energies, &counts) >= total(&energies, &equal) - 1e-9);
            }
            let mut best: f64 = 0.0;
            let combinations: usize = energies.iter().map(|e| e.len() + 1).product();
            for mut code in 0..combinations {
                let candidate: Vec<usize> = energies.iter().map(|e| { let n = code % (e.len() + 1); code /= e.len() + 1; n }).collect();
                if feasible(&candidate) {
                    best = best.max(total(&energies, &candidate));
                }
            }
            prop_assert!(total(&energies, &counts) >= 0.9 * best);
        }
    }
}
