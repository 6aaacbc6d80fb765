//! Parameterization of skin by joints (Kim, Choi, Hoffmann 2011 §3): X(θ) = A · S(θ).
//!
//! Displacements pulled back to rest are taken apart into few fields A and signals S, over the whole
//! skin or over parts of it, and the signals are interpolated over the joints that drive each part by
//! thin plates. The paper's authors cut the body by hand; here the partition is the one that promises
//! the smallest error on examples not seen, under the limit of signals at any vertex.

mod drivers;
mod folds;
mod partition;
mod signals;

use glam::Vec3;
use rayon::prelude::*;

use self::drivers::{
    MovingThing, PartDriver, best_movers, fit_driver, moving_things, thin_plates, with_best_ridge,
};
use self::folds::{Fold, Interpolation, folds_of};
use self::partition::{COUNTS, Part, Pieces};
use self::signals::{PartComponents, PartSignals, part_components, part_signals};
use super::allocation::Budget;
use super::riding_fields::{masked_normal_fields, weights_of_gram};
use crate::basis::IcaParams;
use crate::displacements::{Observations, ObservationsError, PullBackError, RestDisplacements, StoreError};
use crate::drivers::{RbfError, RbfFit, RbfParams, Ridge};
use crate::numeric::Matrix;
use eigenskin_core::deformers::Base;
use eigenskin_core::examples::{ExampleSet, ExamplesError, MergedExample};
use eigenskin_core::model::{DisplacementBasis, Layer, Model, ModelError, Stage};
use eigenskin_core::skinning::BaseSkinning;

/// How to fit.
#[derive(Debug, Clone, PartialEq)]
pub struct ParameterizationParams {
    /// what the corrections sit on; default linear blending
    pub base: Base,
    /// how displacements are taken apart; default principal components
    pub basis: SignalBasis,
    /// signals of their own for x, y and z, only to rebuild the paper's table; default no
    pub per_coordinate: bool,
    /// signals that may act on any vertex (with `per_coordinate`, on each of its coordinates);
    /// default 12, as in the paper. `None` keeps all
    pub signals_per_vertex: Option<usize>,
    /// signals of all parts together; default `None`: no limit
    pub most_signals: Option<usize>,
    /// number of parts; default `None`: what promises the smallest error. 1 is the whole skin. A rig with
    /// fewer pieces is cut into fewer parts
    pub parts: Option<usize>,
    /// how signals are interpolated; default thin plates with their linear tail, ridge by
    /// cross-validation
    pub interpolation: RbfParams,
    /// centres of an interpolant; with more examples than that, so many are chosen and the rest is met
    /// by least squares; default 256
    pub most_centres: usize,
    /// whether normals are corrected along with positions; default yes
    pub normals: bool,
    /// how far signals may leave the range they have over the examples, as a share of the widest range of
    /// a part's signals; default 0.5. They change their sign only where examples do. `None` lets them run
    /// free outside the examples
    pub clamp_margin: Option<f64>,
}

/// How displacements are taken apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SignalBasis {
    /// principal components
    Principal,
    /// independent components of the space that the principal ones span
    Independent(IcaParams),
}

impl Default for ParameterizationParams {
    fn default() -> Self {
        Self {
            base: BaseSkinning::LinearBlend.into(),
            basis: SignalBasis::Principal,
            per_coordinate: false,
            signals_per_vertex: Some(12),
            most_signals: None,
            parts: None,
            interpolation: thin_plates(),
            most_centres: 256,
            normals: true,
            clamp_margin: Some(0.5),
        }
    }
}

impl ParameterizationParams {
    /// Whether one pose may have two shapes: a ridge finds something between them.
    pub fn allows_compromise(&self) -> bool {
        matches!(self.interpolation.ridge, Ridge::Fixed(ridge) if ridge > 0.0)
    }
}

/// A fitted model and what was seen on the way.
#[derive(Debug, Clone)]
pub struct ParameterizationFit {
    /// the model
    pub model: Model,
    /// one per part of the skin that has signals
    pub parts: Vec<PartReport>,
    /// examples that said nothing new
    pub merged: Vec<MergedExample>,
    /// examples used
    pub example_count: usize,
    /// ‖u − A·S‖ / ‖u‖ over all examples, in rest space: what the signals kept cannot show
    pub rest_space_error: f64,
    /// ‖u − A·S(θ)‖ / ‖u‖ in rest space when every example is left out, with its stretch, of components and
    /// drivers; `None` with too few examples to tell
    pub cross_validation: Option<f64>,
    /// examples whose residuals after skinning were left out: this method has none
    pub residuals_ignored: usize,
}

/// What was learnt about one part of the skin.
#[derive(Debug, Clone, PartialEq)]
pub struct PartReport {
    /// its name
    pub name: String,
    /// joints and controls that drive it
    pub drivers: Vec<String>,
    /// vertices it moves
    pub vertex_count: usize,
    /// `vertex it moves`, in the order of its layer's support: its share of the skin there
    pub mask: Vec<f32>,
    /// signals kept
    pub signal_count: usize,
    /// share of the part's squared displacements that they show
    pub energy_kept: f64,
    /// squared lengths of all components, falling (for x, then y, then z, where they have their own)
    pub energies: Vec<f64>,
    /// centres of the interpolation
    pub centre_count: usize,
    /// what examples may give way by; 0 is exact
    pub ridge: f64,
    /// condition number of the interpolation
    pub condition: f64,
    /// ‖u − A·S(θ)‖ / ‖u‖ on the part in rest space, every example left out with its stretch; `None` with too
    /// few examples to tell
    pub cross_validation: Option<f64>,
}

/// Why a fit failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ParameterizationError {
    /// Something about the examples.
    #[error(transparent)]
    Examples(#[from] ExamplesError),
    /// No example moves anything.
    #[error("no example moves a joint other than the root, or a control; pose the character in the examples")]
    NothingMoves,
    /// The signals of a part could not be interpolated.
    #[error("part {part:?}, example {first:?} and example {second:?}: {error}")]
    TooClose {
        /// the part
        part: String,
        /// one of the closest pair
        first: String,
        /// the other
        second: String,
        /// what is wrong
        error: RbfError,
    },
    /// A parameter of the interpolation that makes no sense.
    #[error(transparent)]
    Parameter(RbfError),
    /// A parameter that makes no sense.
    #[error("{what} must be {bound}, not {value}")]
    BadParameter {
        /// which one
        what: &'static str,
        /// what it must be
        bound: &'static str,
        /// what it is
        value: f64,
    },
    /// An example that was not inverted through the deformers.
    #[error(transparent)]
    PullBack(#[from] PullBackError),
    /// Displacements that cannot be read again.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The layers do not fit the rig; a bug.
    #[error(transparent)]
    Model(#[from] ModelError),
}

impl From<ObservationsError> for ParameterizationError {
    fn from(error: ObservationsError) -> Self {
        match error {
            ObservationsError::Examples(error) => Self::Examples(error),
            ObservationsError::PullBack(error) => Self::PullBack(error),
        }
    }
}

/// Fits signals over joints.
pub fn fit_parameterization(
    examples: &ExampleSet,
    params: &ParameterizationParams,
) -> Result<ParameterizationFit, ParameterizationError> {
    check(params)?;
    let seen = Observations::of(examples, &params.base, params.allows_compromise())?;
    fit_parameterization_to(&seen, params)
}

/// Fits signals over joints to what was observed, wherever that is kept.
pub fn fit_parameterization_to(
    seen: &Observations,
    params: &ParameterizationParams,
) -> Result<ParameterizationFit, ParameterizationError> {
    check(params)?;
    let things = moving_things(seen);
    if things.is_empty() {
        return Err(ParameterizationError::NothingMoves);
    }
    // §3, Equation 1: displacements, the parts of the skin, and what happens in them.
    let observed = Observed { seen, things: &things };
    let cut = best_partition(observed, params)?;

    // §3, Equation 2: the signals over the joints that drive each part.
    let fitted: Vec<(Layer, PartReport)> = (0..cut.parts.len())
        .filter(|&index| cut.components[index].count() > 0)
        .map(|index| fitted_part(observed, &cut, index, params))
        .collect::<Result<_, _>>()?;
    let (layers, parts) = fitted.into_iter().unzip();
    let total = cut.components.iter().map(PartComponents::energy).sum::<f64>();
    let share = |energy: f64| if total > 0.0 { (energy / total).sqrt() } else { 0.0 };
    let residuals = &seen.displacements.residuals;
    Ok(ParameterizationFit {
        model: Model::new(seen.rig.clone(), seen.base.clone(), layers)?,
        parts,
        merged: seen.merged.clone(),
        example_count: seen.len(),
        rest_space_error: share(cut.energy_lost()),
        cross_validation: cut.error_unseen().map(share),
        residuals_ignored: residuals.iter().filter(|residuals| !residuals.is_empty()).count(),
    })
}

fn check(params: &ParameterizationParams) -> Result<(), ParameterizationError> {
    let bad = |what, bound, value| Err(ParameterizationError::BadParameter { what, bound, value });
    match params {
        ParameterizationParams { clamp_margin: Some(margin), .. }
            if !(margin.is_finite() && *margin >= 0.0) =>
        {
            bad("the clamp margin", "a finite number that is not negative", *margin)
        }
        ParameterizationParams { signals_per_vertex: Some(0), .. } => {
            bad("the limit of signals at a vertex", "at least 1", 0.0)
        }
        ParameterizationParams { parts: Some(0), .. } => bad("the number of parts", "at least 1", 0.0),
        ParameterizationParams { most_centres, .. } if *most_centres < 2 => {
            bad("the number of centres", "at least 2", *most_centres as f64)
        }
        _ => Ok(()),
    }
}

/// What the examples show.
#[derive(Clone, Copy)]
struct Observed<'a> {
    seen: &'a Observations,
    things: &'a [MovingThing],
}

/// The skin in parts, what happens in each, and what drives it.
struct Partition {
    /// `part`
    parts: Vec<Part>,
    /// `part`
    components: Vec<PartComponents>,
    /// `part`
    drivers: Vec<PartDriver>,
}

impl Partition {
    /// Squared displacements that the components kept cannot show, over all examples.
    fn energy_lost(&self) -> f64 {
        self.components.iter().map(PartComponents::energy_lost).sum::<f64>() + 0.0
    }

    /// Squared error over all examples, each left out with its stretch.
    fn error_unseen(&self) -> Option<f64> {
        self.drivers.iter().map(|driver| driver.unseen).sum()
    }
}

/// So many partitions one after the other that could do better and do not end the search.
const PATIENCE: usize = 3;

/// More parts must take this share off the squared error of fewer.
const PAYS: f64 = 0.1;

/// The partition with the smallest error on examples not seen, from the whole skin to many parts.
fn best_partition(observed: Observed<'_>, params: &ParameterizationParams) -> Result<Partition, StoreError> {
    let seen = observed.seen;
    let pieces = Pieces::new(&seen.rig, &seen.displacements)?;
    let counts: Vec<usize> = match params.parts {
        Some(wanted) => pieces.count_up_to(wanted).into_iter().collect(),
        None => COUNTS.to_vec(),
    };
    let mut best: Option<(f64, Partition, Vec<Vec<Fold>>)> = None;
    let mut worse = 0;
    for parts in counts.into_iter().map_while(|count| pieces.parts(count)) {
        let budget =
            Budget { per_vertex: params.signals_per_vertex, per_joint: None, total: params.most_signals };
        let components = part_components(&seen.displacements, &parts, budget, params.per_coordinate)?;
        let lost: f64 = components.iter().map(PartComponents::energy_lost).sum();
        // What is lost of examples that were seen is the least that is lost of others.
        if best.as_ref().is_none_or(|(least, ..)| lost < (1.0 - PAYS) * least) {
            let (partition, folds) = driven(observed, parts, components, params);
            let error = partition.error_unseen().unwrap_or(lost);
            if best.as_ref().is_none_or(|(least, ..)| error < (1.0 - PAYS) * least) {
                best = Some((error, partition, folds));
                worse = 0;
            } else {
                worse += 1;
            }
        }
        if worse >= PATIENCE {
            break;
        }
    }
    let Some((_, mut partition, folds)) = best else {
        return Ok(Partition { parts: Vec::new(), components: Vec::new(), drivers: Vec::new() });
    };
    let interpolation = Interpolation::of(params);
    partition.drivers = partition
        .drivers
        .par_iter()
        .zip(&folds)
        .map(|(driver, folds)| with_best_ridge(seen, observed.things, driver, folds, &interpolation))
        .collect();
    Ok(partition)
}

/// Finds what drives each part.
fn driven(
    observed: Observed<'_>,
    parts: Vec<Part>,
    components: Vec<PartComponents>,
    params: &ParameterizationParams,
) -> (Partition, Vec<Vec<Fold>>) {
    let Observed { seen, things } = observed;
    let interpolation = Interpolation::of(params);
    let found: Vec<(PartDriver, Vec<Fold>)> = parts
        .par_iter()
        .zip(&components)
        .map(|(part, components)| {
            let folds = folds_of(components, seen.len());
            let energies = components.energies_of_examples();
            (best_movers(seen, part, &energies, things, &folds, &interpolation), folds)
        })
        .collect();
    let (drivers, folds) = found.into_iter().unzip();
    (Partition { parts, components, drivers }, folds)
}

fn fitted_part(
    observed: Observed<'_>,
    cut: &Partition,
    index: usize,
    params: &ParameterizationParams,
) -> Result<(Layer, PartReport), ParameterizationError> {
    let Observed { seen, things } = observed;
    let displacements = &seen.displacements;
    let (part, components, chosen) = (&cut.parts[index], &cut.components[index], &cut.drivers[index]);
    let ica = match &params.basis {
        SignalBasis::Principal => None,
        SignalBasis::Independent(ica) => Some(ica),
    };
    let found = part_signals(displacements, part, components, ica)?;
    let fit =
        fit_driver(seen, things, chosen, &found.signals, &Interpolation::of(params), params.clamp_margin)
            .map_err(|(error, first, second)| match error {
                RbfError::Singular { .. } => {
                    ParameterizationError::TooClose { part: part.name.clone(), first, second, error }
                }
                RbfError::BadParameter { .. } => ParameterizationError::Parameter(error),
            })?;
    let normals = if params.normals && !displacements.normals.is_empty() {
        normal_fields(displacements, part, &found)?
    } else {
        Vec::new()
    };
    let layer = layer(displacements, part, &found, normals, &fit);
    let total = components.energy();
    let report = PartReport {
        name: part.name.clone(),
        drivers: chosen.movers.iter().map(|&t| things[t].mover.name(&seen.rig).to_string()).collect(),
        vertex_count: layer.support.len(),
        mask: displacements.vertices_of(&part.points).iter().map(|&(_, point)| part.mask[point]).collect(),
        signal_count: components.count(),
        energy_kept: if total > 0.0 { 1.0 - components.energy_lost() / total } else { 1.0 },
        energies: components.energies().collect(),
        centre_count: fit.driver.centre_count(),
        ridge: fit.ridge,
        condition: fit.condition,
        cross_validation: chosen.unseen.map(|unseen| if total > 0.0 { (unseen / total).sqrt() } else { 0.0 }),
    };
    Ok((layer, report))
}

fn layer(
    displacements: &RestDisplacements,
    part: &Part,
    found: &PartSignals,
    normals: Vec<Vec3>,
    fit: &RbfFit,
) -> Layer {
    let vertices = displacements.vertices_of(&part.points);
    let positions = found
        .fields
        .iter()
        .flat_map(|field| vertices.iter().map(move |&(_, point)| field[point].as_vec3()))
        .collect();
    Layer {
        name: part.name.clone(),
        support: vertices.iter().map(|&(vertex, _)| vertex).collect(),
        basis: DisplacementBasis { positions, normals },
        driver: fit.driver.clone(),
        stage: Stage::BeforeSkinning,
    }
}

/// Normal corrections on the part's own signals.
fn normal_fields(
    displacements: &RestDisplacements,
    part: &Part,
    found: &PartSignals,
) -> Result<Vec<Vec3>, StoreError> {
    let count = found.signals.len();
    let example_count = found.signals[0].len();
    let gram = Matrix::from_fn(count, count, |a, b| {
        found.signals[a].iter().zip(&found.signals[b]).map(|(x, y)| x * y).sum()
    });
    let by_example: Vec<Vec<f64>> =
        (0..example_count).map(|e| found.signals.iter().map(|s| s[e]).collect()).collect();
    let weights = weights_of_gram(&gram, by_example.iter().map(Vec::as_slice));
    let examples: Vec<usize> = (0..example_count).collect();
    masked_normal_fields(displacements, &part.points, &examples, &weights, |_, point| {
        f64::from(part.mask[point])
    })
}
