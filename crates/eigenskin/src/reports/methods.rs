//! Methods side by side.

use eigenskin_core::examples::ExampleSet;
use eigenskin_core::progress::{Cancelled, Progress};
use eigenskin_core::skinning::BaseSkinning;
use eigenskin_fit::baselines::{
    Baseline, MethodErrors, UnmeasuredMethod, add_leave_one_out, learnt_baselines, psd_baselines,
    skinning_baselines,
};
use eigenskin_fit::method::{EigenSkinParams, FitError, PsdParams};

/// Components per joint that the table of methods goes up to, as in the EigenSkin paper.
const MOST_COMPONENTS: usize = 5;

/// Methods, and those of which there is nothing to show.
#[derive(Debug, Clone)]
pub struct Methods {
    /// what was measured
    pub methods: Vec<MethodErrors>,
    /// what was not, and why
    pub unmeasured: Vec<UnmeasuredMethod>,
}

/// What other methods learn from, and how, so that they can be compared with a model.
#[derive(Debug, Clone, Copy)]
pub struct SameFooting<'a> {
    /// the examples
    pub training: &'a ExampleSet,
    /// what corrections are added to
    pub base: BaseSkinning,
    /// how EigenSkin learns from them
    pub eigenskin: &'a EigenSkinParams,
    /// how pose space deformation learns from them
    pub psd: &'a PsdParams,
}

/// Other methods on the sets whose poses are known: skinnings and, where there are examples to learn
/// from, learnt ones. With `left_out` also on the training examples, each left out in turn, as a last
/// set.
pub fn methods_side_by_side(
    footing: Option<SameFooting>,
    sets: &[&ExampleSet],
    left_out: bool,
    progress: &dyn Progress,
) -> Result<Methods, Cancelled> {
    let mut methods = skinning_baselines(sets, progress)?;
    let mut unmeasured = Vec::new();
    let Some(SameFooting { training, base, eigenskin, psd }) = footing else {
        return Ok(Methods { methods, unmeasured });
    };
    match learnt_baselines(training, base, eigenskin, MOST_COMPONENTS, sets, progress) {
        Ok(learnt) => methods.extend(learnt),
        Err(FitError::Cancelled(cancelled)) => return Err(cancelled),
        Err(error) => {
            let reason = error.to_string();
            unmeasured.push(UnmeasuredMethod { method: Baseline::AllComponents, reason });
        }
    }
    let (deformations, too_large) = psd_baselines(training, base, psd, sets, progress)?;
    // Beside shape interpolation, which they grew from.
    let place = methods.iter().position(|m| m.method == Baseline::Components(0)).unwrap_or(methods.len());
    methods.splice(place..place, deformations);
    unmeasured.extend(too_large);
    if left_out {
        unmeasured.extend(add_leave_one_out(&mut methods, training, base, eigenskin, psd, progress)?);
    }
    Ok(Methods { methods, unmeasured })
}
