//! Patches: any poses at once, of one joint or of many (EigenSkin §4, future work).
//!
//! ```text
//! u_p            displacements of pose p, pulled back to rest
//! B_c            fields of patch c, each vertex in its nearest patches
//! u_p ≈ Σ_c A_pc · B_c                                     alternating least squares
//! r_cj           how much joint j alone moves patch c: root of the mean square, 1 for the joint that moves it most
//! k_j(a, b)      = φ(a − b) − φ(a) − φ(b) + 1              over the joint's rotation vectors, φ Gaussian: zero
//!                                                          when either is at rest
//! k_f(a, b)      the same over the overlap of two bones that are no neighbours, with a width of its own
//! K_c            = Π_j (1 + s·r_cj^p·k_j) · Π_f (1 + κ·k_f) − 1
//!                                                          what joints and contacts do alone, in pairs, …
//! A_c(pose)      = K_c(pose, poses) · (K_c + λ)⁻¹ · A_c
//! ```
//! s, p, κ, the width of contacts and λ are those that predict poses best that are left out in turn; contact vanishes
//! where it does not help. Patches are small where the skin moves much.

mod basis;
mod contacts;
pub(crate) mod expectation;
mod kernel;
mod layers;
mod params;
mod regions;
mod report;
mod ridge;
mod selection;

use eigenskin_core::model::Layer;
use eigenskin_core::progress::{Counted, Progress};
use rayon::prelude::*;

pub use self::params::PatchesParams;
pub use self::report::{PatchReport, PatchesReport};

use self::basis::{PatchBasis, Projected};
use self::kernel::JointKernels;
use self::layers::DrivenPatch;
use self::regions::Patches;
use self::selection::PatchMotion;
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
    let patches = Patches::find(
        seen,
        &shapes.motion(),
        &params,
        &During::new(progress, "cutting the skin into patches"),
    )?;
    let finding = &During::new(progress, "finding components");
    let mut basis = PatchBasis::fit(&shapes, &patches, params.per_patch(), finding)?;
    if let Some(most) = most_components {
        basis.keep(most, &shapes, &patches);
    }
    drop(shapes);
    let Projected { coordinates, energies, error } = basis.project(seen, &patches, finding)?;
    let kernels = JointKernels::new(seen, &things);
    let progress = &During::new(progress, "fitting drivers");
    let moving: Vec<usize> = (0..patches.count()).filter(|&patch| basis.moves(patch)).collect();
    let counted = Counted::new(progress, "fitting drivers", (selection::STEPS + 1) * moving.len());
    let motions: Vec<PatchMotion> = moving
        .iter()
        .map(|&patch| PatchMotion {
            coordinates: basis.own(patch, &coordinates),
            movers: patches.movers(patch, &energies[patch], &kernels),
        })
        .collect();
    let chosen = selection::choose(&kernels, &motions, &counted)?;
    let found: Vec<((Layer, Option<Layer>), PatchReport)> = (0..moving.len())
        .into_par_iter()
        .map(|place| {
            let (patch, coordinates) = (moving[place], &motions[place].coordinates);
            let driver = selection::driver(&kernels, &motions[place], &chosen[place]);
            let driven = DrivenPatch { patch, basis: &basis, coordinates, driver: &driver };
            let layers = layers::layers(seen, &patches, &driven, params.normals, progress)?;
            counted.next()?;
            Ok((layers, PatchReport::new(seen, patches.name(patch), &driver)))
        })
        .collect::<Result<_, FitError>>()?;
    let (layers, patches): (Vec<_>, Vec<PatchReport>) = found.into_iter().unzip();
    let (mut layers, residuals): (Vec<Layer>, Vec<Option<Layer>>) = layers.into_iter().unzip();
    layers.extend(residuals.into_iter().flatten());
    let report = PatchesReport { rest_space_error: error, patches };
    Ok((layers, report))
}
