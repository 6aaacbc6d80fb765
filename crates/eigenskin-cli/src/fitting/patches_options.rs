//! Options of patches.

use eigenskin::method::PatchesParams;

use super::works_with::{Method, OfMethods};

/// Options of `--method patches`.
#[derive(clap::Args)]
#[command(next_help_heading = "Options of --method patches")]
pub struct PatchesArgs {
    /// Patches of the skin; every vertex is in two [default: 24]
    #[arg(long, value_name = "N", hide_short_help = true)]
    patches: Option<usize>,
}

impl PatchesArgs {
    /// These options, and who honours them.
    pub fn of_methods(&self) -> [OfMethods; 1] {
        [OfMethods { option: "--patches", given: self.patches.is_some(), methods: &[Method::Patches] }]
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
