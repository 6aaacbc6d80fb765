//! Options of the parameterization by joints.

use eigenskin::method::{IcaParams, ParameterizationParams, SignalBasis};

use super::works_with::{Method, OfMethods};

/// Options of `--method parameterization`.
#[derive(clap::Args)]
#[command(next_help_heading = "Options of --method parameterization")]
pub struct ParameterizationArgs {
    /// Signals that may act on any vertex, or none for no limit [default: 12]
    #[arg(long, value_name = "N|none", value_parser = parse_signals, hide_short_help = true)]
    signals: Option<SignalLimit>,
    /// Parts of the skin, each with signals of its own; 1 is the whole skin [default: as many as promise
    /// the smallest error on examples not seen]
    #[arg(long, value_name = "N", hide_short_help = true)]
    parts: Option<usize>,
    /// Independent components instead of principal ones: the same shapes, other signals
    #[arg(long, hide_short_help = true)]
    ica: bool,
    /// Signals of their own for x, y and z, as in the paper's table; --signals then limits each of them
    #[arg(long, hide_short_help = true)]
    per_coordinate: bool,
}

#[derive(Clone, Copy)]
struct SignalLimit(Option<usize>);

impl ParameterizationArgs {
    /// These options, and who honours them.
    pub fn of_methods(&self) -> [OfMethods; 4] {
        let own = |option, given| OfMethods { option, given, methods: &[Method::Parameterization] };
        [
            own("--signals", self.signals.is_some()),
            own("--parts", self.parts.is_some()),
            own("--ica", self.ica),
            own("--per-coordinate", self.per_coordinate),
        ]
    }

    /// What was asked for, on top of what all methods share.
    pub fn params(&self, common: ParameterizationParams) -> ParameterizationParams {
        let signals_per_vertex = self.signals.map_or(common.signals_per_vertex, |limit| limit.0);
        let basis = if self.ica { SignalBasis::Independent(IcaParams::default()) } else { common.basis };
        ParameterizationParams {
            signals_per_vertex,
            parts: self.parts,
            basis,
            per_coordinate: self.per_coordinate,
            ..common
        }
    }
}

fn parse_signals(text: &str) -> Result<SignalLimit, String> {
    match text {
        "none" => Ok(SignalLimit(None)),
        number => match number.parse() {
            Ok(count) if count > 0 => Ok(SignalLimit(Some(count))),
            _ => Err("give a number of signals such as 12, or none".to_string()),
        },
    }
}
