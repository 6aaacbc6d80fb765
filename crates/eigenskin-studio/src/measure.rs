//! How far shapes are from each other, on the CPU: what the legend of the heat map needs to know.

use std::sync::Arc;

use eigenskin_core::evaluate::Evaluator;
use eigenskin_core::glam::Vec3;
use eigenskin_core::model::Model;

use crate::state::ViewState;

/// Distances between two shapes, in units of the model.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Distances {
    /// the largest
    pub largest: f64,
    /// root of the mean square
    pub rms: f64,
}

/// Measures the pose that is shown, when it has changed, and keeps a scale that only grows.
#[derive(Debug)]
pub struct Measure {
    evaluator: Evaluator,
    without_corrections: Vec<f32>,
    corrected: Vec<Vec3>,
    compared: Vec<Vec3>,
    /// pose and true shape of `found`
    measured: Option<(u64, Option<usize>)>,
    found: Distances,
    scale: f64,
}

impl Measure {
    /// For `model`.
    pub fn new(model: &Arc<Model>) -> Self {
        let vertices = model.rig().vertex_count();
        Self {
            without_corrections: vec![0.0; model.component_count()],
            corrected: vec![Vec3::ZERO; vertices],
            compared: vec![Vec3::ZERO; vertices],
            evaluator: Evaluator::new(model.clone()),
            measured: None,
            found: Distances::default(),
            scale: 0.0,
        }
    }

    /// Between the model and what it is compared with: the true shape where one is shown, else
    /// skinning.
    pub fn of(&mut self, state: &ViewState) -> Distances {
        let wanted = (state.pose.version(), state.example);
        if self.measured != Some(wanted) {
            self.measured = Some(wanted);
            let pose = state.pose.pose();
            self.evaluator.evaluate(pose, &mut self.corrected, None);
            let truth =
                state.example.and_then(|index| Some(&state.subject.truth.as_ref()?.examples()[index]));
            match truth {
                Some(example) => self.compared.copy_from_slice(&example.positions),
                None => {
                    self.evaluator.evaluate_at(pose, &self.without_corrections, &mut self.compared, None);
                }
            }
            self.found = distances(&self.corrected, &self.compared);
            let size = state.subject.model.rig().mesh().size();
            // Dust below a millionth of the size is no distance.
            if self.found.largest > self.scale.max(1e-6 * size) {
                let per_unit = state.subject.unit.per_model_unit;
                self.scale = round_up(self.found.largest * per_unit) / per_unit;
            }
        }
        self.found
    }

    /// The distance that has the last colour.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// Fits the scale to the next pose that is measured.
    pub fn rescale(&mut self) {
        self.scale = 0.0;
        self.measured = None;
    }

    /// The shape of the model, `vertex`.
    pub fn shape(&mut self, state: &ViewState) -> &[Vec3] {
        self.evaluator.evaluate(state.pose.pose(), &mut self.corrected, None);
        self.measured = None;
        &self.corrected
    }
}

fn distances(a: &[Vec3], b: &[Vec3]) -> Distances {
    let squares = || a.iter().zip(b).map(|(a, b)| a.as_dvec3().distance_squared(b.as_dvec3()));
    let mean = squares().sum::<f64>() / a.len().max(1) as f64;
    Distances { largest: squares().fold(0.0, f64::max).sqrt(), rms: mean.sqrt() }
}

/// The next of 1, 2, 5, 10, 20, …: easy to read off a legend.
fn round_up(value: f64) -> f64 {
    let decade = 10f64.powf(value.log10().floor());
    [1.0, 2.0, 5.0].map(|step| step * decade).into_iter().find(|&step| step >= value).unwrap_or(10.0 * decade)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_are_round_and_not_smaller() {
        for (value, expected) in [(0.9, 1.0), (1.0, 1.0), (0.0012, 0.002), (3.3, 5.0), (70.0, 100.0)] {
            assert!((round_up(value) - expected).abs() < 1e-12 * expected, "{value}");
        }
    }

    #[test]
    fn distances_are_those_of_pairs() {
        let found = distances(&[Vec3::ZERO, Vec3::X], &[Vec3::new(3.0, 4.0, 0.0), Vec3::X]);
        assert_eq!(found, Distances { largest: 5.0, rms: 12.5f64.sqrt() });
    }
}
