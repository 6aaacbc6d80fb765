//! How many components limits allow: on the file that is written, and on the error that remains. Found
//! by bisection, with a fit at each step.

use std::sync::Arc;

use eigenskin_core::examples::ExampleSet;
use eigenskin_core::model::Model;
use eigenskin_core::progress::{Cancelled, Progress};
use serde::{Deserialize, Serialize};

use super::{FitError, Method, fit};
use crate::displacements::Observations;
use crate::during::During;
use crate::metrics::evaluate_against;

/// Limits on what is written and on the error that remains.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// morph targets at most; a component needs one or two
    pub targets: Option<usize>,
    /// bytes of the written file at most
    pub bytes: Option<usize>,
    /// target error on the training poses, relative to plain skinning: the fewest components that reach it
    pub error: Option<f64>,
}

impl Limits {
    /// Whether nothing is limited.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What a written model needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrittenSize {
    /// morph targets of the file
    pub targets: usize,
    /// bytes of the file
    pub bytes: usize,
}

/// A limit on size, with what it allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SizeLimit {
    /// morph targets
    Targets(usize),
    /// bytes
    Bytes(usize),
}

impl SizeLimit {
    /// What is limited, in words.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Targets(_) => "morph targets",
            Self::Bytes(_) => "bytes",
        }
    }

    /// How many are allowed.
    pub fn amount(self) -> usize {
        match self {
            Self::Targets(limit) | Self::Bytes(limit) => limit,
        }
    }
}

/// What the search found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Allowed {
    /// the most components in all
    pub components: usize,
    /// components without the limits
    pub unlimited: usize,
    /// the limit on size that allows no more
    pub limited_by: Option<SizeLimit>,
    /// whether the limit on the error is met
    pub error: ErrorLimit,
}

/// A limit on the error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ErrorLimit {
    /// none was given
    Open,
    /// the components are the fewest that meet it
    Met,
    /// the least that was reached is above it
    Missed {
        /// share of plain skinning's error
        best: f64,
    },
}

/// Why the limits cannot be met.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BudgetError<E> {
    /// Nothing was learnt.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// The file exceeds a limit without any correction.
    #[error("without any correction the file has {found} {} already; allow more than {}", limit.unit(), limit.amount())]
    TooSmall {
        /// the limit
        limit: SizeLimit,
        /// what the file has
        found: usize,
    },
    /// A model could not be written.
    #[error("{0}")]
    Write(E),
}

impl<E> From<Cancelled> for BudgetError<E> {
    fn from(cancelled: Cancelled) -> Self {
        Self::Fit(cancelled.into())
    }
}

/// The number of components that meets the limits; limits of the method hold as well. `size` is what a
/// model needs in a file; errors are those on `measured`.
///
/// ```
/// use std::convert::Infallible;
/// use eigenskin_core::{deformers::Base, model::Model, progress::Unwatched};
/// use eigenskin_fit::displacements::Observations;
/// use eigenskin_fit::method::{Limits, Method, WrittenSize, components_within, fit};
///
/// let examples = eigenskin_characters::tube::sweeps(&eigenskin_characters::tube::tube());
/// let seen = Observations::of(&examples, &Base::default(), false, &Unwatched)?;
/// let method = Method::default();
/// let size = |model: &Model| Ok::<_, Infallible>(WrittenSize { targets: model.component_count(), bytes: 0 });
/// let limits = Limits { targets: Some(4), ..Limits::default() };
/// let allowed = components_within(&limits, &seen, &method, &examples, size, &Unwatched)?;
/// let fit = fit(&seen, &method, Some(allowed.components), &Unwatched)?;
/// assert!(fit.model.component_count() <= 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn components_within<E>(
    limits: &Limits,
    seen: &Observations,
    method: &Method,
    measured: &ExampleSet,
    size: impl Fn(&Model) -> Result<WrittenSize, E>,
    progress: &dyn Progress,
) -> Result<Allowed, BudgetError<E>> {
    let progress = &During::new(progress, "searching");
    let search = Search { limits, seen, method, measured, size, progress };
    let unlimited = search.model(None)?.component_count();
    let (most, limited_by) = search.most_that_fits(unlimited)?;
    let (components, error) = search.fewest_for_the_error(most)?;
    Ok(Allowed { components, unlimited, limited_by, error })
}

struct Search<'a, S> {
    limits: &'a Limits,
    seen: &'a Observations,
    method: &'a Method,
    measured: &'a ExampleSet,
    size: S,
    progress: &'a dyn Progress,
}

impl<E, S: Fn(&Model) -> Result<WrittenSize, E>> Search<'_, S> {
    fn model(&self, total: Option<usize>) -> Result<Model, FitError> {
        Ok(fit(self.seen, self.method, total, self.progress)?.model)
    }

    /// The limit on size that a model with so many components breaks, and what its file has.
    fn broken_limit(&self, total: usize) -> Result<Option<(SizeLimit, usize)>, BudgetError<E>> {
        if self.limits.targets.is_none() && self.limits.bytes.is_none() {
            return Ok(None);
        }
        let needed = (self.size)(&self.model(Some(total))?).map_err(BudgetError::Write)?;
        if let Some(limit) = self.limits.targets.filter(|&limit| needed.targets > limit) {
            return Ok(Some((SizeLimit::Targets(limit), needed.targets)));
        }
        let bytes = self.limits.bytes.filter(|&limit| needed.bytes > limit);
        Ok(bytes.map(|limit| (SizeLimit::Bytes(limit), needed.bytes)))
    }

    /// The most components, up to `all`, within the limits on size, and the limit that stops there.
    fn most_that_fits(&self, all: usize) -> Result<(usize, Option<SizeLimit>), BudgetError<E>> {
        // Every component is at least one target.
        let possible = self.limits.targets.map_or(all, |limit| all.min(limit));
        let Some((mut broken, _)) = self.broken_limit(possible)? else {
            return Ok((possible, self.limits.targets.filter(|_| possible < all).map(SizeLimit::Targets)));
        };
        if let Some((limit, found)) = self.broken_limit(0)? {
            return Err(BudgetError::TooSmall { limit, found });
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
    fn fewest_for_the_error(&self, most: usize) -> Result<(usize, ErrorLimit), BudgetError<E>> {
        let Some(wanted) = self.limits.error else { return Ok((most, ErrorLimit::Open)) };
        let error = |total: usize| -> Result<f64, BudgetError<E>> {
            let model = Arc::new(self.model(Some(total))?);
            let measured = evaluate_against(&model, self.measured, self.progress)?;
            Ok(measured.relative_error.unwrap_or(0.0))
        };
        let best = error(most)?;
        if best > wanted {
            return Ok((most, ErrorLimit::Missed { best }));
        }
        let mut reaches = most;
        if error(0)? <= wanted {
            reaches = 0;
        }
        let mut too_few = 0;
        while reaches > too_few + 1 {
            let middle = usize::midpoint(too_few, reaches);
            if error(middle)? <= wanted { reaches = middle } else { too_few = middle }
        }
        Ok((reaches, ErrorLimit::Met))
    }
}
