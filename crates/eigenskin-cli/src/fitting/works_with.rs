//! Which options go together: each is honoured, or refused with what can honour it.

use anyhow::{Result, bail};
use clap::ValueEnum;

/// Fitting methods.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Method {
    /// components per patch of the skin, over all joints that move it, alone and together, and over contact
    Patches,
    /// the paper's: principal components per joint support, interpolated over the joint's rotation
    Eigenskin,
    /// pose space deformation: every example as it was sculpted, fading out around its pose
    Psd,
    /// the same, with distances of poses measured as each part of the skin feels them
    WeightedPsd,
    /// few signals per part of the skin, interpolated over the joints that drive it
    Parameterization,
    /// the one of these that predicts left-out examples best; patches for fewer than six examples
    Auto,
}

impl Method {
    /// The methods with one field per example.
    pub const PSD: &'static [Self] = &[Self::Psd, Self::WeightedPsd];
    /// The methods that interpolate with kernels of one's choice.
    pub const WITH_KERNELS: &'static [Self] =
        &[Self::Eigenskin, Self::Psd, Self::WeightedPsd, Self::Parameterization];

    /// Its name as it is typed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Eigenskin => "eigenskin",
            Self::Psd => "psd",
            Self::WeightedPsd => "weighted-psd",
            Self::Parameterization => "parameterization",
            Self::Patches => "patches",
            Self::Auto => "auto",
        }
    }
}

/// An option, whether it is given, and the methods that honour it.
pub struct OfMethods {
    /// such as `--per-joint`
    pub option: &'static str,
    /// whether it was typed
    pub given: bool,
    /// who honours it
    pub methods: &'static [Method],
}

/// Refuses the first option that the method does not honour, with the methods that do.
pub fn check_method(options: impl IntoIterator<Item = OfMethods>, method: Method) -> Result<()> {
    let options = options.into_iter().map(|OfMethods { option, given, methods }| WorksWith {
        option,
        given,
        with: format!("--method {}", listed(methods.iter().map(|method| method.name()))),
        chosen: methods.contains(&method),
        instead: format!("--method {}", method.name()),
    });
    check_options(&options.collect::<Vec<_>>())
}

/// An option, whether it is given, and the choice it works with.
pub struct WorksWith {
    /// such as `--axes`
    pub option: &'static str,
    /// whether it was typed
    pub given: bool,
    /// such as `--deltas forward`
    pub with: String,
    /// whether that was chosen
    pub chosen: bool,
    /// what was chosen instead, such as `--deltas inverse`
    pub instead: String,
}

/// Refuses the first option that only works with what was not chosen.
pub fn check_options(options: &[WorksWith]) -> Result<()> {
    match options.iter().find(|option| option.given && !option.chosen) {
        Some(WorksWith { option, with, instead, .. }) => {
            bail!("{option} only works with {with}, not with {instead}")
        }
        None => Ok(()),
    }
}

/// Names as in a sentence: `a, b and c`.
pub fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => names.concat(),
    }
}
