//! Coordinates of a pose without its shape.

use eigenskin::pose::Pose;

use crate::model::Loaded;

/// Drives a model's layers, with the memory it takes.
pub(crate) struct Coordinates {
    /// features of the widest driver
    scratch: Vec<f64>,
    /// coordinates of the widest layer
    outputs: Vec<f64>,
    /// of all layers, one after the other
    values: Vec<f32>,
}

impl Coordinates {
    pub fn new(model: &Loaded) -> Self {
        let widest = |size: &dyn Fn(&(eigenskin::driver::Driver, usize)) -> usize| {
            model.drivers.iter().map(size).max().unwrap_or(0)
        };
        Self {
            scratch: vec![0.0; widest(&|(driver, _)| driver.scratch_count())],
            outputs: vec![0.0; widest(&|&(_, count)| count)],
            values: vec![0.0; model.component_count],
        }
    }

    /// The coordinates α of all layers.
    pub fn drive(&mut self, model: &Loaded, pose: &Pose) -> &[f32] {
        let mut first = 0;
        for &(ref driver, count) in &model.drivers {
            let outputs = &mut self.outputs[..count];
            driver.evaluate(model.rig().skeleton(), pose, &mut self.scratch, outputs);
            for (value, output) in self.values[first..first + count].iter_mut().zip(outputs) {
                *value = *output as f32;
            }
            first += count;
        }
        &self.values
    }
}
