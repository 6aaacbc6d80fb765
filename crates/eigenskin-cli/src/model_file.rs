//! Options about the GLB that a model is written into, and what is said of it.

use eigenskin::gltf::{ModelWriteOptions, ModelWriteReport, Profile};

use crate::output::{Output, counted};

/// How a model's GLB is written.
#[derive(clap::Args, Clone, Copy)]
pub struct ModelFileArgs {
    /// Key the weights of clips at all moments that were looked at; usually as many are left out as keep
    /// every vertex within 1e-4 of the size
    #[arg(long, hide_short_help = true, help_heading = "Output")]
    exact: bool,
    /// plain: for every viewer and engine. web: less than half the size, in integers (KHR_mesh_quantization)
    #[arg(
        long,
        value_enum,
        default_value = "plain",
        hide_possible_values = true,
        hide_short_help = true,
        value_name = "plain|web",
        help_heading = "Output"
    )]
    profile: ProfileName,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum ProfileName {
    Plain,
    Web,
}

impl ModelFileArgs {
    /// As the writer knows them.
    pub fn options(self) -> ModelWriteOptions {
        let default = ModelWriteOptions::default();
        let profile = match self.profile {
            ProfileName::Plain => Profile::Plain,
            ProfileName::Web => Profile::Web,
        };
        ModelWriteOptions { tolerance: if self.exact { 0.0 } else { default.tolerance }, profile, ..default }
    }
}

/// Says what was left out of a model's file.
pub fn print_losses(output: &Output, report: &ModelWriteReport) {
    if report.keys < report.sampled {
        let clips = counted(report.baked_clips, "clip", "clips");
        output.item(
            "keys",
            format!(
                "{} of {} in {clips}; vertices stay within {:.1e} of the size (--exact keeps all)",
                report.keys, report.sampled, report.key_error
            ),
        );
    }
    if let Some(rounding) = &report.rounding {
        output.item(
            "rounding",
            format!(
                "vertices up to {:.1e} of the size, normals up to {:.1}° in all clips and at rest",
                rounding.position, rounding.normal_degrees
            ),
        );
    }
}
