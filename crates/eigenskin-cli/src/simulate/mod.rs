//! What `simulate`, `demo`, `suggest` and `reproduce` say of simulations, and how ranges are given.

pub mod outcome;
pub mod plan;
pub mod ranges;

use anyhow::anyhow;
use eigenskin::jobs::simulate::SimulateError;

/// An error in the words of the command: settings are called by their options.
pub fn by_option(error: SimulateError) -> anyhow::Error {
    match error {
        SimulateError::BadSetting { name, value, needed } => {
            anyhow!("--{} {value} is not possible; give {needed}", name.replace('_', "-"))
        }
        error => error.into(),
    }
}
