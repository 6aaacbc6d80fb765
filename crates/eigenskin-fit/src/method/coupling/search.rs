//! How much smoothing, which pairs and how many components: by leaving out examples.

use eigenskin_core::driver::Kernel;
use eigenskin_core::progress::{Cancelled, Progress};
use rayon::prelude::*;

use super::features::{Factor, Functions};
use super::pairs::Pair;
use super::refit::{Block, Problem, Refit};
use super::trials::{Built, LEAST_COMPONENTS, MOST_UNKNOWNS, Search, relative};
use super::{Coupling, CouplingReport};
use crate::displacements::Observations;
use crate::drivers::{Smoothing, Width};
use crate::method::FitError;
use crate::method::eigenskin::regions::Regions;
use crate::method::eigenskin::{EigenSkinParams, regions_cut_at};
use crate::supports::Moved;

/// Layers of single joints, then of pairs, and how they were found.
pub struct Coupled {
    /// of the supports in their order, then of the pairs
    pub blocks: Vec<Block>,
    /// pairs, in the order of their blocks
    pub pairs: Vec<Pair>,
    pub refit: Refit,
    /// `block`, `example` → coordinates
    pub coordinates: Vec<Vec<Vec<f64>>>,
    /// ‖u − model‖ / ‖u‖ over all examples
    pub error: f64,
    pub report: CouplingReport,
    /// `pair`: share of the squared error on left-out examples that it took away
    pub gains: Vec<f64>,
}

/// Amounts of smoothing to choose from.
const SMOOTHINGS: [f64; 5] = [1e-3, 3e-3, 1e-2, 3e-2, 1e-1];
/// What "exact" needs where joints could share a displacement in many ways.
const LEAST_SMOOTHING: f64 = 1e-9;
const MIDDLE_SMOOTHING: f64 = 1e-2;
/// Factors of the kernels' own widths to choose from: those were found where a joint moves alone.
const WIDTH_FACTORS: [f64; 5] = [0.7, 1.0, 1.5, 2.2, 3.3];
/// Pairs that are kept lower the error on left-out examples to this share: with ten multi-joint poses,
/// smaller gains were luck.
const PAIRS_PAY: f64 = 0.98;
/// A larger threshold that is kept lowers it to this one.
const PAYS: f64 = 0.99;

/// Refits all layers to all examples; `widths` are those of the supports' own kernels. Supports may be
/// cut elsewhere than in `first`, hence the regions that are returned.
pub fn couple(
    seen: &Observations,
    moved: &Moved,
    first: Regions,
    widths: &[f64],
    params: &EigenSkinParams,
    progress: &dyn Progress,
) -> Result<(Regions, Coupled), FitError> {
    let kernel = kernel_of(params);
    let BestFunctions { functions, width_factor, smoothing_curve } =
        best_functions(seen, &first, widths, params, progress)?;
    let best = smoothing_curve.iter().min_by(|a, b| a.1.total_cmp(&b.1));
    let smoothing = best.map_or(MIDDLE_SMOOTHING, |best| best.0);
    let widths: Vec<f64> = widths.iter().map(|width| width * width_factor).collect();

    let mut regions = first;
    let mut search = Search::new(seen, &regions, &functions, params, progress)?;
    let mut additive = search.settled(&[], smoothing)?;
    let is_large = search.is_large;
    if !is_large && params.support.threshold.is_none() && params.budget.per_vertex.is_some() {
        for threshold in Regions::thresholds_above(regions.threshold) {
            let next = regions_cut_at(threshold, seen, moved, params, progress)?;
            let next_search = Search::new(seen, &next, &functions, params, progress)?;
            let next_additive = next_search.settled(&[], smoothing)?;
            if next_additive.error > PAYS * additive.error {
                break;
            }
            (regions, search, additive) = (next, next_search, next_additive);
        }
    }

    let additive_error = additive.error;
    let (mut chosen, mut gains, mut tried_pairs, mut best) = (Vec::new(), Vec::new(), 0, additive);
    if params.coupling != Coupling::Additive && !is_large {
        let factor = |support: usize| {
            let mover = regions.supports[support].mover;
            Factor::of_one_group(seen, mover, kernel, widths[support])
        };
        let candidates =
            Pair::candidates(search.example_count, &regions.supports, &regions.acting, factor, progress)?;
        tried_pairs = candidates.len();
        let (pairs, pair_gains): (Vec<Pair>, Vec<f64>) =
            search.choose_pairs(candidates, smoothing)?.into_iter().unzip();
        if !pairs.is_empty() {
            let coupled = search.settled(&pairs, smoothing)?;
            if coupled.error < PAIRS_PAY * best.error {
                (best, chosen, gains) = (coupled, pairs, pair_gains);
            }
        }
        // Threes beside the pairs that paid.
        let threes = Pair::threes(
            &chosen,
            search.example_count,
            &regions.supports,
            &regions.acting,
            factor,
            progress,
        )?;
        if !threes.is_empty() {
            tried_pairs += threes.len();
            let candidates = chosen.iter().cloned().chain(threes).collect();
            let (groups, group_gains): (Vec<Pair>, Vec<f64>) =
                search.choose_pairs(candidates, smoothing)?.into_iter().unzip();
            if groups.iter().any(|group| group.supports.len() > 2) {
                let coupled = search.settled(&groups, smoothing)?;
                if coupled.error < PAIRS_PAY * best.error {
                    (best, chosen, gains) = (coupled, groups, group_gains);
                }
            }
        }
    }
    let coupled_error = best.error;
    let Built { blocks, refit, projections, .. } = best.built;
    let all: Vec<usize> = (0..search.example_count).collect();
    let problem = Problem::with(projections, blocks.iter().collect());
    let coordinates = problem.all_coordinates(&refit, all.len());
    let squared: f64 = all.iter().map(|&e| problem.squared_error(&refit, e)).sum();
    let error = relative(squared, all.iter().map(|&e| problem.energy(e)).sum());
    drop(problem);
    let report = CouplingReport {
        multi_joint_examples: regions.acting.iter().filter(|acting| acting.len() > 1).count(),
        smoothing,
        width_factor,
        smoothing_curve,
        additive_error,
        coupled_error,
        tried_pairs,
        too_many_for_pairs: is_large && params.coupling != Coupling::Additive,
        pairs: Vec::new(),
    };
    Ok((regions, Coupled { blocks, pairs: chosen, refit, coordinates, error, report, gains }))
}

/// The single joints' functions with the widths that predict left-out examples best.
struct BestFunctions {
    functions: Vec<Functions>,
    width_factor: f64,
    /// the errors of all amounts of smoothing
    smoothing_curve: Vec<(f64, f64)>,
}

fn best_functions(
    seen: &Observations,
    regions: &Regions,
    widths: &[f64],
    params: &EigenSkinParams,
    progress: &dyn Progress,
) -> Result<BestFunctions, FitError> {
    let smoothings = match params.interpolation.smoothing {
        Smoothing::Fixed(smoothing) => vec![smoothing.max(LEAST_SMOOTHING)],
        Smoothing::Automatic => SMOOTHINGS.to_vec(),
    };
    let middle = smoothings[smoothings.len() / 2];
    let factors = if params.interpolation.width == Width::LeaveOneOut { &WIDTH_FACTORS[..] } else { &[1.0] };
    let mut best: Option<(f64, Vec<Functions>, f64)> = None;
    for &factor in factors {
        let functions = single_functions(seen, regions, widths, factor, kernel_of(params), progress)?;
        let search = Search::new(seen, regions, &functions, params, progress)?;
        let error = search.generous_error(&search.problem(), middle)?;
        if best.as_ref().is_none_or(|best| error < best.0) {
            best = Some((error, functions, factor));
        }
    }
    let (_, functions, width_factor) = best.unwrap_or_default();
    let search = Search::new(seen, regions, &functions, params, progress)?;
    let problem = search.problem();
    let smoothing_curve = smoothings
        .into_iter()
        .map(|smoothing| Ok((smoothing, search.generous_error(&problem, smoothing)?)))
        .collect::<Result<_, Cancelled>>()?;
    drop(problem);
    Ok(BestFunctions { functions, width_factor, smoothing_curve })
}

fn single_functions(
    seen: &Observations,
    regions: &Regions,
    widths: &[f64],
    width_factor: f64,
    kernel: Kernel,
    progress: &dyn Progress,
) -> Result<Vec<Functions>, Cancelled> {
    let most = (MOST_UNKNOWNS / (LEAST_COMPONENTS * regions.supports.len())).max(LEAST_COMPONENTS);
    (0..regions.supports.len())
        .into_par_iter()
        .map(|support| {
            progress.doing(super::COUPLING)?;
            let moving: Vec<usize> =
                (0..seen.len()).filter(|&e| regions.acting[e].contains(&support)).collect();
            let mover = regions.supports[support].mover;
            let factor = Factor::of_mover(seen, mover, kernel, width_factor * widths[support]);
            Ok(Functions::new(vec![factor], &moving, seen.len(), most))
        })
        .collect()
}

/// Kernels that need a polynomial beside them have no form that is zero at rest and positive.
fn kernel_of(params: &EigenSkinParams) -> Kernel {
    let kernel = params.interpolation.kernel;
    if kernel.least_tail_degree() < 0 { kernel } else { Kernel::Gaussian }
}
