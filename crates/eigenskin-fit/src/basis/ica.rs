//! Independent components of signals (Kim 2011 §3): FastICA with symmetric decorrelation and the
//! logcosh contrast (Hyvärinen 1999).
//!
//! Signals are whitened by their principal components and turned until they are as far from
//! Gaussian as they can be, all at once. What comes out is another basis of the same space: a
//! shape is rebuilt as well from k independent components as from k principal ones. Signals are
//! not centred, so that rest stays zero.

use eigenskin_core::progress::{Cancelled, Progress};
use eigenskin_core::random::SplitMix64;
use serde::{Deserialize, Serialize};

use crate::numeric::{Matrix, symmetric_eigen};

/// How to look for independent components.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct IcaParams {
    /// equal seeds give equal components; default 1
    pub seed: u64,
    /// rounds at most; default 400
    pub most_rounds: usize,
    /// directions that turn by less than this from round to round have settled; default 1e-10
    pub tolerance: f64,
}

impl Default for IcaParams {
    fn default() -> Self {
        Self { seed: 1, most_rounds: 400, tolerance: 1e-10 }
    }
}

/// Independent components of signals.
#[derive(Debug, Clone, PartialEq)]
pub struct IndependentComponents {
    /// `component × sample`, most energetic first, each of mean square 1
    pub sources: Vec<Vec<f64>>,
    /// `component × signal`: signal = Σ_component mixing · source
    pub mixing: Vec<Vec<f64>>,
    /// rounds taken
    pub rounds: usize,
    /// whether the directions settled
    pub converged: bool,
}

/// Signals weaker than this share of the strongest are lost in rounding and left out.
const SMALLEST: f64 = 1e-7;

/// Independent components of `signals` (`signal × sample`); as many as the signals have
/// dimensions. The largest entry of each component's mixing is positive.
pub fn independent_components(
    signals: &[Vec<f64>],
    params: &IcaParams,
    progress: &dyn Progress,
) -> Result<IndependentComponents, Cancelled> {
    let samples = signals.first().map_or(0, Vec::len);
    let (white, dewhitening) = whitened(signals, samples);
    let (turn, rounds, converged) = most_independent(&white, params, progress)?;
    let sources = &turn * &white;
    let mixing = &dewhitening * turn.transpose();
    let mut found: Vec<(f64, Vec<f64>, Vec<f64>)> = (0..sources.nrows())
        .map(|c| {
            let mixing: Vec<f64> = (0..signals.len()).map(|s| mixing[(s, c)]).collect();
            let largest = mixing.iter().fold(0.0f64, |l, &x| if x.abs() > l.abs() { x } else { l });
            let sign = if largest < 0.0 { -1.0 } else { 1.0 };
            let energy = mixing.iter().map(|x| x * x).sum();
            let source = (0..samples).map(|p| sign * sources[(c, p)]).collect();
            (energy, source, mixing.iter().map(|x| sign * x).collect())
        })
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (sources, mixing) = found.into_iter().map(|(_, source, mixing)| (source, mixing)).unzip();
    Ok(IndependentComponents { sources, mixing, rounds, converged })
}

/// Uncorrelated combinations of mean square 1 (`component × sample`), and what makes the signals
/// of them (`signal × component`).
fn whitened(signals: &[Vec<f64>], samples: usize) -> (Matrix, Matrix) {
    let count = signals.len();
    let moments = Matrix::from_fn(count, count, |a, b| {
        signals[a].iter().zip(&signals[b]).map(|(x, y)| x * y).sum::<f64>() / samples.max(1) as f64
    });
    let (values, vectors) = symmetric_eigen(&moments);
    let strongest = values.first().copied().unwrap_or(0.0);
    let kept = values.iter().take_while(|&&v| v > SMALLEST * SMALLEST * strongest && v > 0.0).count();
    let deviation: Vec<f64> = values[..kept].iter().map(|v| v.sqrt()).collect();
    let white = Matrix::from_fn(kept, samples, |c, p| {
        signals.iter().enumerate().map(|(s, signal)| vectors[(s, c)] * signal[p]).sum::<f64>() / deviation[c]
    });
    (white, Matrix::from_fn(count, kept, |s, c| vectors[(s, c)] * deviation[c]))
}

/// The rotation of white signals that makes them most independent.
fn most_independent(
    white: &Matrix,
    params: &IcaParams,
    progress: &dyn Progress,
) -> Result<(Matrix, usize, bool), Cancelled> {
    let (count, samples) = (white.nrows(), white.ncols());
    let mut random = SplitMix64(params.seed);
    let mut turn = decorrelated(&Matrix::from_fn(count, count, |_, _| random.between(-1.0, 1.0)));
    for round in 1..=params.most_rounds {
        progress.doing("finding independent signals")?;
        let seen = &turn * white;
        let bent = Matrix::from_fn(count, samples, |c, p| seen[(c, p)].tanh());
        let product = &bent * white.transpose();
        let slopes: Vec<f64> =
            (0..count).map(|c| (0..samples).map(|p| 1.0 - bent[(c, p)].powi(2)).sum()).collect();
        let next = decorrelated(&Matrix::from_fn(count, count, |r, c| {
            (product[(r, c)] - slopes[r] * turn[(r, c)]) / samples.max(1) as f64
        }));
        let turned = (0..count)
            .map(|r| 1.0 - (0..count).map(|c| next[(r, c)] * turn[(r, c)]).sum::<f64>().abs())
            .fold(0.0, f64::max);
        turn = next;
        if turned < params.tolerance {
            return Ok((turn, round, true));
        }
    }
    Ok((turn, params.most_rounds, count < 2))
}

/// The nearest rotation or reflection: (M Mᵀ)^(−1/2) M.
fn decorrelated(matrix: &Matrix) -> Matrix {
    let (values, vectors) = symmetric_eigen(&(matrix * matrix.transpose()));
    let scaled = Matrix::from_fn(matrix.nrows(), matrix.nrows(), |r, c| {
        vectors[(r, c)] / values[c].max(f64::MIN_POSITIVE).sqrt()
    });
    scaled * vectors.transpose() * matrix
}

#[cfg(test)]
mod tests {
    use super::*;
    use eigenskin_core::progress::Unwatched;

    fn independent_components(signals: &[Vec<f64>], params: &IcaParams) -> IndependentComponents {
        super::independent_components(signals, params, &Unwatched).unwrap()
    }

    /// A square wave, a saw tooth and noise, all of mean zero.
    fn sources() -> Vec<Vec<f64>> {
        let mut random = SplitMix64(7);
        let time = |p: usize| p as f64 / 2000.0;
        vec![
            (0..2000).map(|p| (40.0 * time(p)).sin().signum()).collect(),
            (0..2000).map(|p| (17.0 * time(p)).fract() * 2.0 - 1.0).collect(),
            (0..2000).map(|_| random.between(-1.0, 1.0).powi(3)).collect(),
        ]
    }

    fn mixed(sources: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let mixing = [[1.0, 0.6, 0.3], [-0.4, 1.0, 0.8], [0.5, -0.3, 1.2]];
        let mix = |row: &[f64; 3], p: usize| row.iter().zip(sources).map(|(m, s)| m * s[p]).sum();
        mixing.iter().map(|row| (0..sources[0].len()).map(|p| mix(row, p)).collect()).collect()
    }

    fn correlation(a: &[f64], b: &[f64]) -> f64 {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
        dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
    }

    #[test]
    fn mixed_sources_are_found_again() {
        let sources = sources();
        let found = independent_components(&mixed(&sources), &IcaParams::default());
        assert!(found.converged);
        for source in &sources {
            let best = found.sources.iter().map(|f| correlation(f, source).abs()).fold(0.0, f64::max);
            assert!(best > 0.995, "{best}");
        }
    }

    #[test]
    fn components_make_the_signals_and_fall_in_energy() {
        let signals = mixed(&sources());
        let found = independent_components(&signals, &IcaParams::default());
        for (s, signal) in signals.iter().enumerate() {
            for (p, value) in signal.iter().enumerate() {
                let sum: f64 = (0..3).map(|c| found.mixing[c][s] * found.sources[c][p]).sum();
                assert!((sum - value).abs() < 1e-10);
            }
        }
        let energies: Vec<f64> = found.mixing.iter().map(|m| m.iter().map(|x| x * x).sum()).collect();
        assert!(energies.windows(2).all(|pair| pair[0] >= pair[1]), "{energies:?}");
        for mixing in &found.mixing {
            let largest = mixing.iter().fold(0.0f64, |l, &x| if x.abs() > l.abs() { x } else { l });
            assert!(largest > 0.0);
        }
    }

    #[test]
    fn the_same_from_run_to_run_and_from_other_seeds() {
        let signals = mixed(&sources());
        let of = |seed| independent_components(&signals, &IcaParams { seed, ..IcaParams::default() });
        assert_eq!(of(1), of(1));
        let (a, b) = (of(1), of(99));
        for (a, b) in a.sources.iter().zip(&b.sources) {
            assert!(correlation(a, b) > 0.999, "other starts end in the same components");
        }
    }

    #[test]
    fn dependent_signals_give_fewer_components() {
        let mut signals = mixed(&sources());
        signals.push(signals[0].iter().zip(&signals[1]).map(|(a, b)| a - 2.0 * b).collect());
        let found = independent_components(&signals, &IcaParams::default());
        assert_eq!(found.sources.len(), 3);
        assert_eq!(found.mixing[0].len(), 4);
        assert!(independent_components(&[], &IcaParams::default()).sources.is_empty());
    }
}
