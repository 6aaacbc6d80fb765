//! Budgets on the result of a fit: morph targets, bytes, error.

use anyhow::{Result, bail};
use eigenskin::displacements::Observations;
use eigenskin::examples::ExampleSet;
use eigenskin::gltf::{RigFile, targets};
use eigenskin::method::Method;
use eigenskin::method::budget::{
    Allowed, BudgetError, ErrorLimit, Limits, SizeLimit, WrittenSize, components_within,
};
use eigenskin::model::Model;
use eigenskin::progress::Unwatched;

use crate::commands::fit::write_options;
use crate::fitting;
use crate::output::{bytes, counted};

/// Limits on what is written and on the error that remains.
#[derive(clap::Args, Clone, Copy)]
#[allow(clippy::struct_field_names, reason = "they name the options")]
pub struct BudgetArgs {
    /// Morph targets that the written file may have at most; a component needs one or two. Pose
    /// space deformation merges its fields
    #[arg(long, value_name = "N")]
    max_targets: Option<usize>,
    /// Bytes that the written file may have at most
    #[arg(long, value_name = "N")]
    max_bytes: Option<usize>,
    /// Share of skinning's error that may remain on the training poses: the fewest components that
    /// reach it
    #[arg(long, value_name = "E", value_parser = parse_error)]
    max_error: Option<f64>,
}

/// What the search found.
#[derive(Debug, Clone, PartialEq)]
pub struct BudgetChoice {
    /// the most components all joints may have together
    pub total: usize,
    /// whether `--max-error`, if given, is met
    pub error_is_met: bool,
    /// for people
    pub sentence: String,
}

impl BudgetArgs {
    /// Morph targets at most.
    pub fn max_targets(&self) -> Option<usize> {
        self.max_targets
    }

    /// Whether there are limits that only a written file, or its error, can show.
    pub fn needs_search(&self) -> bool {
        self.max_bytes.is_some() || self.max_error.is_some()
    }

    /// Whether there is anything to search for.
    pub fn given(&self) -> bool {
        self.max_targets.is_some() || self.max_bytes.is_some() || self.max_error.is_some()
    }

    /// The number of components that meets the limits; none without limits. The other limits of
    /// `method` hold as well. `set` is on the rig as it was given.
    pub fn choose(
        self,
        seen: &Observations,
        set: &ExampleSet,
        method: &Method,
        rig_file: &RigFile,
    ) -> Result<Option<BudgetChoice>> {
        if !self.given() {
            return Ok(None);
        }
        let own_targets =
            targets::counts(rig_file.document(), rig_file.layout())?.into_iter().max().unwrap_or(0);
        let options = write_options(set);
        let size = |model: &Model| {
            let (_, report) = eigenskin::gltf::model_glb(rig_file, model, &options)?;
            Ok::<_, anyhow::Error>(WrittenSize { targets: report.targets + own_targets, bytes: report.bytes })
        };
        let limits = Limits { targets: self.max_targets, bytes: self.max_bytes, error: self.max_error };
        match components_within(&limits, seen, method, set, size, &Unwatched) {
            Ok(allowed) => Ok(Some(self.told(&allowed, method))),
            Err(BudgetError::TooSmall { limit, found }) => {
                let (unit, option) = match limit {
                    SizeLimit::Targets(limit) => ("morph targets", format!("--max-targets {limit}")),
                    SizeLimit::Bytes(limit) => ("bytes", format!("--max-bytes {limit}")),
                };
                bail!("without any correction the file has {found} {unit} already; raise {option}")
            }
            Err(BudgetError::Fit(error)) => Err(error.into()),
            Err(BudgetError::Write(error)) => Err(error),
        }
    }

    fn told(self, allowed: &Allowed, method: &Method) -> BudgetChoice {
        let [one, many] = fitting::fields(method);
        let what = format!("{} of {}", counted(allowed.components, one, many), allowed.unlimited);
        let named = |limit: SizeLimit| match limit {
            SizeLimit::Targets(limit) => format!("--max-targets {limit}"),
            SizeLimit::Bytes(limit) => format!("--max-bytes {limit} ({})", bytes(limit)),
        };
        let sentence = match allowed.error {
            ErrorLimit::Open => {
                let why = allowed.limited_by.map_or("the limits do not bite".to_string(), |limit| {
                    format!("the most that {} allows", named(limit))
                });
                format!("{what}, {why}")
            }
            ErrorLimit::Missed { best } => {
                let why = allowed.limited_by.map_or("--per-vertex or the examples".to_string(), named);
                format!("{what}; {why} allow no error below {best:.4}")
            }
            ErrorLimit::Met => {
                format!("{what}, the fewest that reach an error of {}", self.max_error.unwrap_or_default())
            }
        };
        let error_is_met = !matches!(allowed.error, ErrorLimit::Missed { .. });
        BudgetChoice { total: allowed.components, error_is_met, sentence }
    }
}

fn parse_error(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|error| *error >= 0.0 && error.is_finite());
    number.ok_or_else(|| "give a share of skinning's error, such as 0.1".to_string())
}
