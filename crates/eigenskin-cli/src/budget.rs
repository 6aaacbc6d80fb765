//! Budgets on the result of a fit: morph targets, bytes, error. The number of components that meets
//! them is found by bisection, with a fit at each step.

use anyhow::{Result, bail};
use eigenskin::examples::ExampleSet;
use eigenskin::gltf::{ModelWriteOptions, RigFile};
use eigenskin::model::Model;

use crate::fitting::{MethodParams, measure};
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
}

/// What the search found.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// the most components all joints may have together
    pub total: usize,
    /// whether `--max-error`, if given, is met
    pub error_is_met: bool,
    /// for people
    pub sentence: String,
}

impl BudgetArgs {
    /// The number of components that meets the limits; none without limits. The other limits of
    /// `params` hold as well.
    pub fn choose(
        self,
        [set, measured]: [&ExampleSet; 2],
        params: &MethodParams,
        rig_file: &RigFile,
    ) -> Result<Option<Choice>> {
        if self.max_targets.is_none() && self.max_bytes.is_none() && self.max_error.is_none() {
            return Ok(None);
        }
        let own_targets = rig_file.own_target_count();
        let search = Search { limits: self, set, measured, params, rig_file, own_targets };
        let all = search.model(None)?.component_count();
        let (fitting, limited_by) = search.most_that_fits(all)?;
        Ok(Some(search.fewest_for_the_error(all, fitting, limited_by)?))
    }
}

struct Search<'a> {
    limits: BudgetArgs,
    set: &'a ExampleSet,
    /// the same on the rig as it was given
    measured: &'a ExampleSet,
    params: &'a MethodParams,
    rig_file: &'a RigFile,
    /// morph targets the file has without ours
    own_targets: usize,
}

impl Search<'_> {
    fn model(&self, total: Option<usize>) -> Result<Model> {
        Ok(self.params.fit(self.set, total)?.into_model())
    }

    /// The limit on size that a model with so many components breaks.
    fn broken_limit(&self, total: usize) -> Result<Option<Broken>> {
        if self.limits.max_targets.is_none() && self.limits.max_bytes.is_none() {
            return Ok(None);
        }
        let model = self.model(Some(total))?;
        let options = ModelWriteOptions::default();
        let (_, report) = eigenskin::gltf::model_glb(self.rig_file, &model, &options)?;
        let found = report.targets + self.own_targets;
        if let Some(limit) = self.limits.max_targets.filter(|&limit| found > limit) {
            return Ok(Some(Broken { option: "--max-targets", limit, found }));
        }
        let bytes = self.limits.max_bytes.filter(|&limit| report.bytes > limit);
        Ok(bytes.map(|limit| Broken { option: "--max-bytes", limit, found: report.bytes }))
    }

    /// The most components, up to `all`, within the limits on size, and the limit that stops there.
    fn most_that_fits(&self, all: usize) -> Result<(usize, Option<&'static str>)> {
        // Every component is at least one target.
        let possible = self.limits.max_targets.map_or(all, |limit| all.min(limit));
        let Some(mut broken) = self.broken_limit(possible)? else {
            return Ok((possible, (possible < all).then_some("--max-targets")));
        };
        if let Some(Broken { option, limit, found }) = self.broken_limit(0)? {
            let unit = if option == "--max-bytes" { "bytes" } else { "morph targets" };
            bail!("without any correction the file has {found} {unit} already; raise {option} {limit}");
        }
        let (mut fits, mut too_many) = (0, possible);
        while too_many - fits > 1 {
            let middle = usize::midpoint(fits, too_many);
            match self.broken_limit(middle)? {
                Some(limit) => (too_many, broken) = (middle, limit),
                None => fits = middle,
            }
        }
        Ok((fits, Some(broken.option)))
    }

    /// The fewest components, up to `most`, that reach the error; `most` without such a limit.
    fn fewest_for_the_error(
        &self,
        all: usize,
        most: usize,
        limited_by: Option<&'static str>,
    ) -> Result<Choice> {
        let [one, many] = self.params.fields();
        let what = |total: usize| format!("{} of {all}", counted(total, one, many));
        let Some(wanted) = self.limits.max_error else {
            let why = limited_by.map_or("the limits do not bite".to_string(), |option| {
                format!("the most that {} allows", self.named(option))
            });
            let sentence = format!("{}, {why}", what(most));
            return Ok(Choice { total: most, error_is_met: true, sentence });
        };
        let error = |total: usize| -> Result<f64> {
            Ok(measure(&self.model(Some(total))?, self.measured).relative_error.unwrap_or(0.0))
        };
        let best = error(most)?;
        if best > wanted {
            let why = limited_by.map_or("--per-vertex or the examples".to_string(), |o| self.named(o));
            let sentence = format!("{}; {why} allow no error below {best:.4}", what(most));
            return Ok(Choice { total: most, error_is_met: false, sentence });
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
        let sentence = format!("{}, the fewest that reach an error of {wanted}", what(reaches));
        Ok(Choice { total: reaches, error_is_met: true, sentence })
    }

    fn named(&self, option: &str) -> String {
        match (option, self.limits.max_targets, self.limits.max_bytes) {
            ("--max-targets", Some(limit), _) => format!("--max-targets {limit}"),
            (_, _, Some(limit)) => format!("--max-bytes {limit} ({})", bytes(limit)),
            _ => option.to_string(),
        }
    }
}

/// A limit that a file exceeds.
struct Broken {
    option: &'static str,
    limit: usize,
    found: usize,
}

fn parse_error(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|error| *error >= 0.0 && error.is_finite());
    number.ok_or_else(|| "give a share of skinning's error, such as 0.1".to_string())
}
