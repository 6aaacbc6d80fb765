//! From coordinates to the weights of a file's morph targets: what runtimes set that let an engine morph.

use eigenskin_core::model::Model;

use super::error::GltfError;
use super::table::Table;

/// Which coordinate drives which morph target of the file; layers after skinning have none.
#[derive(Debug, Clone, Default)]
pub struct MorphWeights {
    count: usize,
    halves: Vec<Half>,
}

/// One target: its weight is max(sign · coordinate, 0) / scale, or without the max if it stands alone.
#[derive(Debug, Clone, Copy)]
struct Half {
    target: usize,
    component: usize,
    sign: f32,
    scale: f32,
    /// 0; −∞ for a component without the other half. Files of version 0.1 left out halves that their
    /// examples did not use, but poses elsewhere may: then the weight is negative, which engines play
    lowest: f32,
}

impl MorphWeights {
    /// As the file's table says of `model`, for meshes of `in_file` targets: room for weights is not made by
    /// the table's word alone. The table lists layers as the model does; those without components are in the
    /// table alone.
    pub(crate) fn new(table: &Table, model: &Model, in_file: usize) -> Result<Self, GltfError> {
        let Some(entry) = &table.model else { return Ok(Self::default()) };
        let count = entry.targets.min(in_file);
        let mut halves = Vec::new();
        let mut layers = model.layers().iter().peekable();
        let mut first_component = 0;
        for entry in &entry.layers {
            let Some(layer) = layers.next_if(|layer| layer.name == entry.name) else { continue };
            for (index, component) in entry.components.iter().take(layer.component_count()).enumerate() {
                let is_split = component.plus.is_some() && component.minus.is_some();
                let lowest = if is_split { 0.0 } else { f32::NEG_INFINITY };
                for (half, sign) in [(component.plus, 1.0), (component.minus, -1.0)] {
                    let Some(half) = half else { continue };
                    if half.target >= count {
                        let problem = format!("layer {:?} names morph target {}", entry.name, half.target);
                        return Err(GltfError::table(format!("{problem} of {count}; fit the model again")));
                    }
                    let component = first_component + index;
                    let (target, scale) = (half.target, half.scale as f32);
                    halves.push(Half { target, component, sign, scale, lowest });
                }
            }
            first_component += layer.component_count();
        }
        Ok(Self { count, halves })
    }

    /// Morph targets of the model in each of its meshes, after the meshes' own.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether a target shows this component of all layers.
    pub fn shows(&self, component: usize) -> bool {
        self.halves.iter().any(|half| half.component == component)
    }

    /// The weights of the model's targets (`target`) for the coordinates of all layers.
    pub fn write(&self, coordinates: &[f32], weights: &mut [f32]) {
        weights.fill(0.0);
        for half in &self.halves {
            weights[half.target] = (half.sign * coordinates[half.component]).max(half.lowest) / half.scale;
        }
    }
}
