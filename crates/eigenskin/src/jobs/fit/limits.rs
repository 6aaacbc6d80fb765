//! Limits on what a fit may write and on the error that may remain. The number of components that meets
//! them is found by bisection, with a fit at each step.

use eigenskin_core::examples::ExampleSet;
use eigenskin_core::model::Model;
use eigenskin_core::progress::Progress;
use eigenskin_gltf::{ModelWriteOptions, RigFile, model_glb};
use serde::{Deserialize, Serialize};

use super::method::Method;
use super::{FitJobError, errors_of};

/// Limits on the written file and on the error.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[allow(clippy::struct_field_names, reason = "each of them is a limit")]
pub struct FitLimits {
    /// morph targets that the file may have at most; a component needs one or two
    pub max_targets: Option<usize>,
    /// bytes that the file may have at most
    pub max_bytes: Option<usize>,
    /// target error on the training poses, relative to plain skinning: the fewest components that reach it
    pub max_error: Option<f64>,
}

/// One of the limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SizeLimit {
    /// morph targets
    Targets(usize),
    /// bytes
    Bytes(usize),
}

/// How many components meet the limits.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FoundWithinLimits {
    /// the most components all joints may have together
    pub total: usize,
    /// whether the target error, if there is one, is reached
    pub error_is_met: bool,
    /// components without limits
    #[serde(skip)]
    pub all: usize,
    /// the limit of size that allows no more
    #[serde(skip)]
    pub limited_by: Option<SizeLimit>,
    /// the target error, and the error with `total` components where that does not reach it
    #[serde(skip)]
    pub error: Option<(f64, Option<f64>)>,
}

impl FitLimits {
    /// Whether there are any.
    pub fn given(&self) -> bool {
        self.max_targets.is_some() || self.max_bytes.is_some() || self.max_error.is_some()
    }

    /// Whether there are limits that only a written file, or its error, can show.
    pub fn need_search(&self) -> bool {
        self.max_bytes.is_some() || self.max_error.is_some()
    }

    /// The number of components that meets the limits; none without limits. `set` is learnt from,
    /// `measured` is the same on the rig as it was given.
    pub(super) fn search(
        self,
        [set, measured]: [&ExampleSet; 2],
        method: &Method,
        rig_file: &RigFile,
        progress: &dyn Progress,
    ) -> Result<Option<FoundWithinLimits>, FitJobError> {
        if !self.given() {
            return Ok(None);
        }
        let own_targets = rig_file.own_target_count();
        let search = Search { limits: self, set, measured, method, rig_file, own_targets, progress };
        let all = search.model(None)?.component_count();
        let (fitting, limited_by) = search.most_that_fits(all)?;
        Ok(Some(search.fewest_for_the_error(all, fitting, limited_by)?))
    }
}

struct Search<'a> {
    limits: FitLimits,
    set: &'a ExampleSet,
    measured: &'a ExampleSet,
    method: &'a Method,
    rig_file: &'a RigFile,
    /// morph targets the file has without ours
    own_targets: usize,
    progress: &'a dyn Progress,
}

impl Search<'_> {
    fn model(&self, total: Option<usize>) -> Result<Model, FitJobError> {
        self.progress.doing("searching")?;
        Ok(self.method.fit(self.set, total)?.into_model())
    }

    /// The limit on size that a model with so many components breaks, and what it has.
    fn broken_limit(&self, total: usize) -> Result<Option<(SizeLimit, usize)>, FitJobError> {
        if self.limits.max_targets.is_none() && self.limits.max_bytes.is_none() {
            return Ok(None);
        }
        let model = self.model(Some(total))?;
        let (_, report) = model_glb(self.rig_file, &model, &ModelWriteOptions::default())?;
        let found = report.targets + self.own_targets;
        if let Some(limit) = self.limits.max_targets.filter(|&limit| found > limit) {
            return Ok(Some((SizeLimit::Targets(limit), found)));
        }
        let bytes = self.limits.max_bytes.filter(|&limit| report.bytes > limit);
        Ok(bytes.map(|limit| (SizeLimit::Bytes(limit), report.bytes)))
    }

    /// The most components, up to `all`, within the limits on size, and the limit that stops there.
    fn most_that_fits(&self, all: usize) -> Result<(usize, Option<SizeLimit>), FitJobError> {
        // Every component is at least one target.
        let possible = self.limits.max_targets.map_or(all, |limit| all.min(limit));
        let Some((mut broken, _)) = self.broken_limit(possible)? else {
            let stops = self.limits.max_targets.filter(|_| possible < all).map(SizeLimit::Targets);
            return Ok((possible, stops));
        };
        if let Some((limit, found)) = self.broken_limit(0)? {
            return Err(FitJobError::LimitBelowRig { limit, found });
        }
        let (mut fits, mut too_many) = (0, possible);
        while too_many - fits > 1 {
            let middle = usize::midpoint(fits, too_many);
            match self.broken_limit(middle)? {
                Some((limit, _)) => (too_many, broken) = (middle, limit),
                None => fits = middle,
            }
        }
        Ok((fits, Some(broken)))
    }

    /// The fewest components, up to `most`, that reach the error; `most` without such a limit.
    fn fewest_for_the_error(
        &self,
        all: usize,
        most: usize,
        limited_by: Option<SizeLimit>,
    ) -> Result<FoundWithinLimits, FitJobError> {
        let found =
            |total, error_is_met, error| FoundWithinLimits { total, error_is_met, all, limited_by, error };
        let Some(wanted) = self.limits.max_error else { return Ok(found(most, true, None)) };
        let error = |total: usize| -> Result<f64, FitJobError> {
            Ok(errors_of(&self.model(Some(total))?, self.measured).relative_error.unwrap_or(0.0))
        };
        let best = error(most)?;
        if best > wanted {
            return Ok(found(most, false, Some((wanted, Some(best)))));
        }
        let mut reaches = if error(0)? <= wanted { 0 } else { most };
        let mut too_few = 0;
        while reaches > too_few + 1 {
            let middle = usize::midpoint(too_few, reaches);
            if error(middle)? <= wanted { reaches = middle } else { too_few = middle }
        }
        Ok(found(reaches, true, Some((wanted, None))))
    }
}
