//! Pose space deformation (Lewis, Cordner, Fong 2000; inverse form: Xian, Lewis 2006): sculpted
//! shapes in known poses, interpolated over the joints and controls that moved.
//!
//! ```text
//! sculpt → delta → pose space → interpolate → layer        exact at every example, zero at rest
//!
//! δ_e = SKIN_e⁻¹(sculpt_e) − rest                          what example e adds                 Xian §4
//! w_e(pose) = Σ_q λ_eq φ(|pose − pose_q|)                  1 at its own pose, 0 at the others  Lewis §3.2
//! v(pose) = SKIN_pose(rest + Σ_e w_e(pose) field_e)        field_e: δ_e less what earlier layers add
//! ```
//! Every example becomes one displacement field. Its weight is *cardinal*: 1 at its own pose, 0 at
//! rest and at all others. Examples that move the same joints and controls share a pose space, that
//! is one layer and one factorisation for all vertices. Spaces stand in an order: an example stores
//! what the layers before it leave, and a layer is zero at all earlier examples. Under a limit, the
//! fields of each space are merged into those of their principal components that matter most.
//!
//! On the way to examples in which skinning collapses, [in-betweens](InBetweens) are added.
//!
//! Weighted PSD (Kurihara, Miyata 2004) blends several such models, one per prototype of skin
//! weights, by a smooth membership of the vertices ([`PrototypeParams`]).

mod deltas;
mod drivers;
mod examples;
mod in_betweens;
mod layers;
mod merge;
mod mixtures;
mod params;
mod prototypes;
mod report;
mod shares;
mod spaces;

use eigenskin_core::examples::MergedExample;
use eigenskin_core::model::Layer;
use eigenskin_core::progress::Progress;

use deltas::Deltas;
use examples::UsedExamples;
pub use in_betweens::InBetweens;
use in_betweens::{guided, widths_of};
use layers::written_layers;
pub use params::{DeltaSpace, PoseFeature, PsdInterpolation, PsdParams, SpaceOrder};
pub use prototypes::PrototypeParams;
use prototypes::Prototypes;
pub use report::{DriverReport, ExampleReport, PsdReport, SpaceReport};
use shares::{Lesson, prototype_models};
use spaces::{measure_spaces, pose_spaces};

use super::FitError;
use crate::displacements::Observations;
use crate::during::During;

/// Learns layers, one per pose space (and prototype), with at most `most` fields in all; also tells of
/// examples that move nothing.
pub(super) fn learn(
    seen: &Observations,
    params: &PsdParams,
    most: Option<usize>,
    progress: &dyn Progress,
) -> Result<(Vec<Layer>, PsdReport, Vec<MergedExample>), FitError> {
    let Some(guided) = guided(seen, params, progress)? else {
        return learn_from(seen, &[], params, most, progress);
    };
    let (layers, report, idle) = learn_from(&guided.seen, &guided.added, params, most, progress)?;
    Ok((layers, PsdReport { in_betweens: guided.added, ..report }, idle))
}

/// The same from examples that have their `in_betweens` already.
fn learn_from(
    seen: &Observations,
    in_betweens: &[InBetweens],
    params: &PsdParams,
    most: Option<usize>,
    progress: &dyn Progress,
) -> Result<(Vec<Layer>, PsdReport, Vec<MergedExample>), FitError> {
    let deltas = Deltas::of(seen, params, &During::new(progress, "taking deltas"))?;
    let used = UsedExamples::of(seen, &deltas, params, progress)?;
    let spaces = pose_spaces(&seen.rig, &used.moved, &params.order)?;
    let spaces = measure_spaces(&seen.rig, &used, spaces, params)?;
    let widths = widths_of(&used.names, &spaces, in_betweens, params);
    let prototypes = Prototypes::of(&seen.rig, params.prototypes.as_ref());
    let grams = deltas.grams(&used.examples, &prototypes, &During::new(progress, "comparing examples"))?;
    let lesson = Lesson {
        rig: &seen.rig,
        params,
        used: &used,
        prototypes: &prototypes,
        spaces: &spaces,
        widths: &widths,
    };
    let models = prototype_models(&lesson, &grams, &During::new(progress, "fitting drivers"))?;
    let most = most.unwrap_or(usize::MAX);
    let layers =
        written_layers(&lesson, &deltas, &models, &grams, most, &During::new(progress, "writing fields"))?;
    let report = PsdReport::new(&lesson, &models, &layers, &deltas);
    Ok((layers.into_iter().map(|written| written.layer).collect(), report, used.merged))
}
