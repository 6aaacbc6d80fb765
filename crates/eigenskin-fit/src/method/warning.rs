//! What deserves attention after a fit.

use super::{Fit, Learnt};

/// Something that a model does not do as the examples show it.
#[derive(Debug, Clone, PartialEq)]
pub enum FitWarning {
    /// Deltas at rest do not reach an example where skinning collapses and has no inverse; what they leave is
    /// added after skinning, so the model meets the example and viewers that know only morph targets do not.
    AddedAfterSkinning {
        /// the example
        example: String,
        /// the largest distance, in the unit of the rest shape
        distance: f64,
    },
    /// The weights of a pose space do not interpolate its examples exactly.
    NotExact {
        /// the pose space
        space: String,
        /// the largest error of a weight
        miss: f64,
    },
    /// What skinning cannot reach was left out: signals act before skinning only.
    ResidualsIgnored {
        /// examples of which something was left out
        examples: usize,
    },
}

/// Weights that miss their examples by more are worth a word.
const MISS: f64 = 1e-3;
/// So is what no delta reaches, as a share of the size.
const UNREACHABLE: f64 = 1e-4;

impl Fit {
    /// What deserves attention.
    pub fn warnings(&self) -> Vec<FitWarning> {
        match &self.learnt {
            Learnt::EigenSkin(_) | Learnt::Patches(_) => Vec::new(),
            Learnt::Psd(report) => {
                // What deformers leave is told where examples are pulled back through them: nothing collapses.
                let is_skinning = self.model.base().skinning().is_some();
                let least = UNREACHABLE * self.model.rig().mesh().size();
                let after = report.examples.iter().filter(|e| is_skinning && e.unreachable > least);
                let after = after.map(|example| FitWarning::AddedAfterSkinning {
                    example: example.name.clone(),
                    distance: example.unreachable,
                });
                let misses = report.spaces.iter().map(|space| {
                    let miss = space.drivers.iter().map(|driver| driver.miss).fold(0.0, f64::max);
                    FitWarning::NotExact { space: space.name.clone(), miss }
                });
                let misses = misses
                    .filter(|warning| matches!(warning, FitWarning::NotExact { miss, .. } if *miss > MISS));
                after.chain(misses).collect()
            }
            Learnt::Parameterization(report) => {
                let examples = report.residuals_ignored;
                (examples > 0).then_some(FitWarning::ResidualsIgnored { examples }).into_iter().collect()
            }
        }
    }
}
