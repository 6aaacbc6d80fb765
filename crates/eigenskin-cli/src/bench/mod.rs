//! How fast models play: synthetic characters, the loop they are compared with, and the clock.

pub mod baseline;
pub mod character;
pub mod clock;
pub mod fixed;
pub mod given;
pub mod player;
pub mod synthetic;

use std::collections::BTreeMap;

/// Named numbers of one run; several runs are merged by their medians.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Figures(pub BTreeMap<String, f64>);

impl Figures {
    /// Notes a number.
    pub fn put(&mut self, name: impl Into<String>, value: f64) {
        self.0.insert(name.into(), value);
    }

    /// A number; NaN if it was not taken.
    pub fn get(&self, name: &str) -> f64 {
        self.0.get(name).copied().unwrap_or(f64::NAN)
    }

    /// The median of every number over several runs.
    pub fn medians(runs: &[Self]) -> Self {
        let names = runs.first().map(|run| run.0.keys().cloned().collect::<Vec<_>>()).unwrap_or_default();
        let median = |name: &String| {
            let mut values: Vec<f64> = runs.iter().map(|run| run.get(name)).collect();
            clock::median(&mut values)
        };
        Self(names.iter().map(|name| (name.clone(), median(name))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_merged_by_medians() {
        let run = |a: f64, b: f64| Figures(BTreeMap::from([("a".into(), a), ("b".into(), b)]));
        let merged = Figures::medians(&[run(1.0, 9.0), run(5.0, 7.0), run(2.0, 8.0)]);
        assert_eq!(merged, run(2.0, 8.0));
        assert!(merged.get("c").is_nan());
    }
}
