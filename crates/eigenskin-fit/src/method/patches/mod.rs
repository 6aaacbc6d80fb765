//! Patches: any poses at once, of one joint or of many (EigenSkin §4, future work).
//!
//! ```text
//! u_p            displacements of pose p, pulled back to rest
//! B_c            fields of patch c, each vertex in its nearest patches
//! u_p ≈ Σ_c A_pc · B_c                                     alternating least squares
//! r_cj           how much joint j alone moves patch c: root of the mean square, 1 for the joint that moves it most
//! k_j(a, b)      = φ(a − b) − φ(a) − φ(b) + 1              over the joint's rotation vectors, φ Gaussian: zero
//!                                                          when either is at rest
//! K_c            = Π_j (1 + s·r_cj^p·k_j) − 1              what joints do alone, in pairs, in threes, …
//! A_c(pose)      = K_c(pose, poses) · (K_c + λ)⁻¹ · A_c
//! ```
//! s, p and λ are those that predict poses best that are left out in turn, each patch for itself.

mod basis;
pub(crate) mod expectation;
mod kernel;
mod layers;
mod params;
mod regions;
mod report;

use eigenskin_core::model::Layer;
use eigenskin_core::progress::{Counted, Progress};
use rayon::prelude::*;

pub use self::params::PatchesParams;
pub use self::report::{PatchReport, PatchesReport};

use self::basis::PatchBasis;
use self::kernel::JointKernels;
use self::layers::DrivenPatch;
use self::regions::Patches;
use super::FitError;
use super::moving_things::moving_things;
use crate::displacements::Observations;
use crate::during::During;

/// Learns layers, one per patch of the skin, from what was observed; with at most `most_components` in all.
pub(super) fn learn(
    seen: &Observations,
    params: &PatchesParams,
    most_components: Option<usize>,
    progress: &dyn Progress,
) -> Result<(Vec<Layer>, PatchesReport), FitError> {
    let things = moving_things(seen);
    if things.is_empty() {
        return Err(FitError::NothingMoves);
    }
    let params = params.within(most_components);
    let shapes = basis::shapes(seen)?;
    let patches = Patches::find(seen, &params, &During::new(progress, "cutting the skin into patches"))?;
    let basis =
        PatchBasis::fit(&shapes, &patches, params.per_patch, &During::new(progress, "finding components"))?;
    let coordinates = basis.coordinates(&shapes, &patches);
    let kernels = JointKernels::new(seen, &things);
    let progress = &During::new(progress, "fitting drivers");
    let counted = Counted::new(progress, "fitting drivers", patches.count());
    let found: Vec<(Layer, PatchReport)> = (0..patches.count())
        .into_par_iter()
        .filter(|&patch| basis.moves(patch))
        .map(|patch| {
            let relevance = patches.relevance(patch, &shapes, &kernels);
            let own = basis.own(patch, &coordinates);
            let driver = kernels.fit(&relevance, &own);
            let driven = DrivenPatch { patch, basis: &basis, coordinates: &own, driver: &driver };
            let layer = layers::layer(seen, &patches, &driven, params.normals, progress)?;
            counted.next()?;
            Ok((layer, PatchReport::new(seen, patches.name(patch), &driver)))
        })
        .collect::<Result<_, FitError>>()?;
    let (layers, patches): (Vec<Layer>, Vec<PatchReport>) = found.into_iter().unzip();
    let residuals = &seen.displacements.residuals;
    let report = PatchesReport {
        rest_space_error: basis.error(&shapes, &coordinates),
        residuals_ignored: residuals.iter().filter(|residuals| !residuals.is_empty()).count(),
        patches,
    };
    Ok((layers, report))
}
