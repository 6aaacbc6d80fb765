//! Options of patches.

use anyhow::Result;
use eigenskin::method::PatchesParams;

use super::options::{Method, WorksWith, check_options};

/// Options of `--method patches`.
#[derive(clap::Args)]
#[command(next_help_heading = "Options of --method patches")]
pub struct PatchesArgs {
    /// Patches of the skin; every vertex is in two [default: 24]
    #[arg(long, value_name = "N", hide_short_help = true)]
    patches: Option<usize>,
}

impl PatchesArgs {
    /// Refuses these options beside another method, and `others` (option, given) beside this one.
    pub fn check_method(&self, method: Method, others: &[(&'static str, bool)]) -> Result<()> {
        let instead = || format!("--method {}", method.name());
        let chosen = method == Method::Patches;
        let own = [("--patches", self.patches.is_some())];
        let own = own.map(|(option, given)| WorksWith {
            option,
            given,
            with: "--method patches",
            chosen,
            instead: instead(),
        });
        check_options(&own)?;
        let others: Vec<WorksWith> = others
            .iter()
            .map(|&(option, given)| WorksWith {
                option,
                given,
                with: "the other methods",
                chosen: !chosen,
                instead: instead(),
            })
            .collect();
        check_options(&others)
    }

    /// What was asked for.
    pub fn params(&self, per_vertex: Option<usize>, normals: bool) -> PatchesParams {
        let default = PatchesParams::default();
        PatchesParams {
            patches: self.patches.unwrap_or(default.patches),
            per_vertex: per_vertex.unwrap_or(default.per_vertex),
            normals,
        }
    }
}
