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

    /// The support whose next component takes most off the error, of those that may grow and are not `held`.
    fn best_to_grow(&self, counts: &[usize], held: Option<usize>) -> Option<usize> {
        let next = |support: usize| self.energies[support][counts[support]];
        (0..counts.len())
            .filter(|&support| Some(support) != held && self.can_grow(counts, support))
            .max_by(|&a, &b| next(a).total_cmp(&next(b)).then(b.cmp(&a)))
    }

    /// Grows supports while that is possible, best first.
    fn filled(&self, mut counts: Vec<usize>) -> Vec<usize> {
        while let Some(best) = self.best_to_grow(&counts, None) {
            counts[best] += 1;
        }
        counts
    }

    /// Exchanges components between supports as long as the error falls.
    fn improved(&self, counts: Vec<usize>) -> Result<Vec<usize>, Cancelled> {
        let mut best = self.filled(counts);
        let mut best_energy = self.energy(&best);
        loop {
            let grown = (0..best.len())
                .filter(|&support| best[support] < self.caps[support])
                .map(|support| self.forced(best.clone(), support));
            let exchanged = (0..best.len())
                .filter(|&support| best[support] > 0)
                .flat_map(|support| self.exchanged(&best, support));
            let mut next: Option<(f64, Vec<usize>)> = None;
            for counts in grown.chain(exchanged) {
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

    /// One component less for `support`; each of the others that can take the place takes it once, then all others as
    /// long as they can, and `support` last.
    fn exchanged(&self, counts: &[usize], support: usize) -> Vec<Vec<usize>> {
        let mut freed = counts.to_vec();
        freed[support] -= 1;
        let firsts = (0..freed.len()).filter(|&first| first != support && self.can_grow(&freed, first));
        let filled_from = |first: usize| {
            let mut counts = freed.clone();
            counts[first] += 1;
            while let Some(best) = self.best_to_grow(&counts, Some(support)) {
                counts[best] += 1;
            }
            self.filled(counts)
        };
        firsts.map(filled_from).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eigenskin_core::progress::Unwatched;
    use proptest::prelude::*;
    use proptest::strategy::ValueTree;

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

    /// `support` → energies, `support` → points, number of points, limit per point
    type Problem = (Vec<Vec<f64>>, Vec<Vec<u32>>, usize, usize);

    prop_compose! {
        fn problem()(supports in 1usize..6, points in 1usize..6)(
            energies in prop::collection::vec(prop::collection::vec(0.01f64..10.0, 0..4), supports),
            cover in prop::collection::vec(prop::collection::vec(any::<bool>(), points), supports),
            limit in 0usize..6,
        ) -> Problem {
            let energies = energies.into_iter().map(|mut e: Vec<f64>| { e.sort_by(|a, b| b.total_cmp(a)); e }).collect();
            let points = cover[0].len();
            let supports = cover.into_iter().map(|c| (0..points as u32).filter(|&p| c[p as usize]).collect()).collect();
            (energies, supports, points, limit)
        }
    }

    fn is_feasible((_, supports, points, limit): &Problem, counts: &[usize]) -> bool {
        (0..*points as u32).all(|point| {
            let covering = supports.iter().zip(counts).filter(|(support, _)| support.contains(&point));
            covering.map(|(_, &count)| count).sum::<usize>() <= *limit
        })
    }

    fn allocated((energies, supports, points, limit): &Problem) -> Vec<usize> {
        let supports: Vec<&[u32]> = supports.iter().map(Vec::as_slice).collect();
        let budget = Budget { per_vertex: Some(*limit), per_joint: None, total: None };
        allocate(energies, &supports, *points, &budget)
    }

    /// The most energy of all allocations, tried one by one.
    fn optimum(problem: &Problem) -> f64 {
        let energies = &problem.0;
        let combinations: usize = energies.iter().map(|e| e.len() + 1).product();
        let candidate = |mut code: usize| -> Vec<usize> {
            let count = |e: &Vec<f64>| {
                let count = code % (e.len() + 1);
                code /= e.len() + 1;
                count
            };
            energies.iter().map(count).collect()
        };
        let feasible = (0..combinations).map(candidate).filter(|counts| is_feasible(problem, counts));
        feasible.map(|counts| total(energies, &counts)).fold(0.0, f64::max)
    }

    proptest! {
        /// Never over the limit, never worse than the equal split.
        #[test]
        fn feasible_and_no_worse_than_equal(problem in problem()) {
            let counts = allocated(&problem);
            prop_assert!(is_feasible(&problem, &counts));
            let (energies, supports, points, limit) = &problem;
            let covering = |p: u32| supports.iter().filter(|c| c.contains(&p)).count();
            let most = (0..*points as u32).map(covering).max().unwrap_or(0);
            if let Some(n) = limit.checked_div(most) {
                let equal: Vec<usize> = energies.iter().map(|e| e.len().min(n)).collect();
                prop_assert!(total(energies, &counts) >= total(energies, &equal) - 1e-9);
            }
        }
    }

    /// The search has no guarantee, but of 4,000 problems, always the same ones, it misses the best allocation in
    /// less than one of a hundred, and by less than a tenth.
    #[test]
    fn mostly_the_best_of_all_allocations() {
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        let mut missed = 0;
        for _ in 0..4000 {
            let problem = problem().new_tree(&mut runner).unwrap().current();
            let (found, best) = (total(&problem.0, &allocated(&problem)), optimum(&problem));
            assert!(found >= 0.9 * best, "{found} of {best}: {problem:?}");
            missed += usize::from(found < best - 1e-9);
        }
        assert!(missed < 40, "{missed} of 4,000");
    }

    /// One large support makes room for two that it excludes, of which neither alone is worth it.
    #[test]
    fn one_component_is_exchanged_for_two() {
        let energies = vec![vec![7.2], vec![9.9], vec![9.1, 7.7], vec![7.1]];
        let supports: [&[u32]; 4] = [&[0, 1], &[0, 1, 2], &[1, 2], &[0, 2]];
        let budget = Budget { per_vertex: Some(2), per_joint: None, total: None };
        assert_eq!(allocate(&energies, &supports, 3, &budget), [1, 0, 1, 1]);
    }
}
