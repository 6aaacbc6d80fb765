//! All coefficients of all layers together:
//!
//! ```text
//! minimise  Σ_examples ‖u − Σ_b Σ_k α_bk basis_bk‖² + smoothing Σ ‖coefficients‖²,   α_b = functions_b · coefficients_b
//! ```
//! Only Gram matrices of fields and functions are needed, however many vertices there are.

use eigenskin_core::progress::Progress;
use glam::DVec3;

use super::features::Functions;
use crate::displacements::projections::Projections;
use crate::displacements::{RestDisplacements, StoreError, TileError};
use crate::method::coordinates::{KeptBasis, projections_on};
use crate::numeric::{Matrix, solve_positive};

/// Fields and the functions of the pose that may drive them.
#[derive(Debug, Clone)]
pub struct Block {
    /// the fields
    pub basis: KeptBasis,
    /// `support`: 1 inside, falling to 0 at its border
    pub mask: Vec<f32>,
    /// what may drive them
    pub functions: Functions,
    /// factor of the smoothing
    pub caution: f64,
}

/// Blocks and what the examples show of their fields.
pub struct Problem<'a> {
    pub blocks: Vec<&'a Block>,
    /// first field of every block, and the number of all
    first_field: Vec<usize>,
    pub projections: Projections,
}

/// The coefficients of every block, `function × component`.
pub struct Refit {
    pub coefficients: Vec<Matrix>,
}

impl<'a> Problem<'a> {
    pub fn new(
        displacements: &RestDisplacements,
        blocks: Vec<&'a Block>,
        progress: &dyn Progress,
    ) -> Result<Self, TileError> {
        let projections = projections_on(displacements, blocks.iter().map(|block| &block.basis), progress)?;
        Ok(Self::with(projections, blocks))
    }

    /// With inner products that are known.
    pub fn with(projections: Projections, blocks: Vec<&'a Block>) -> Self {
        let mut first_field = vec![0];
        for block in &blocks {
            first_field.push(first_field[first_field.len() - 1] + block.basis.component_count());
        }
        Self { blocks, first_field, projections }
    }

    /// The coefficients that meet the given examples best.
    pub fn solve(&self, examples: &[usize], smoothing: f64) -> Refit {
        let mut first_function = vec![0];
        for block in &self.blocks {
            first_function.push(first_function[first_function.len() - 1] + block.functions.count());
        }
        let functions =
            Matrix::from_fn(examples.len(), first_function[self.blocks.len()], |place, column| {
                let block = first_function.partition_point(|&first| first <= column) - 1;
                self.blocks[block].functions.values[(examples[place], column - first_function[block])]
            });
        let gram = &self.projections.gram;
        let projections = Matrix::from_fn(examples.len(), gram.ncols(), |place, field| {
            self.projections.of_examples[(examples[place], field)]
        });
        let functions_gram = functions.transpose() * &functions;
        let right_all = functions.transpose() * &projections;
        // One unknown per block, field of it and function of it.
        let unknowns: Vec<(usize, usize, f64)> = (0..self.blocks.len())
            .flat_map(|block| {
                let functions = first_function[block]..first_function[block + 1];
                let smoothing = smoothing * self.blocks[block].caution;
                (self.first_field[block]..self.first_field[block + 1]).flat_map(move |field| {
                    functions.clone().map(move |function| (field, function, smoothing))
                })
            })
            .collect();
        let matrix = Matrix::from_fn(unknowns.len(), unknowns.len(), |row, column| {
            let ((a, f, smoothing), (b, g, _)) = (unknowns[row], unknowns[column]);
            gram[(a, b)] * functions_gram[(f, g)] + if row == column { smoothing } else { 0.0 }
        });
        let right =
            Matrix::from_fn(unknowns.len(), 1, |row, _| right_all[(unknowns[row].1, unknowns[row].0)]);
        let solution = solve_positive(&matrix, &right);
        let mut at = 0;
        let coefficients = self
            .blocks
            .iter()
            .map(|block| {
                let (functions, components) = (block.functions.count(), block.basis.component_count());
                let start = at;
                at += functions * components;
                Matrix::from_fn(functions, components, |f, k| solution[(start + k * functions + f, 0)])
            })
            .collect();
        Refit { coefficients }
    }

    /// ‖u − model‖² of an example.
    pub fn squared_error(&self, refit: &Refit, example: usize) -> f64 {
        let alphas = self.coordinates(refit, example);
        self.projections.squared_error(example, &alphas.into_iter().enumerate().collect::<Vec<_>>())
    }

    /// ‖u‖² of an example.
    pub fn energy(&self, example: usize) -> f64 {
        self.projections.energies[example]
    }

    /// Coordinates of all fields in an example.
    fn coordinates(&self, refit: &Refit, example: usize) -> Vec<f64> {
        (0..self.blocks.len()).flat_map(|block| self.coordinates_of(refit, block, example)).collect()
    }

    /// Coordinates of one block's fields in an example, `component`.
    pub fn coordinates_of(&self, refit: &Refit, block: usize, example: usize) -> Vec<f64> {
        let (values, coefficients) = (&self.blocks[block].functions.values, &refit.coefficients[block]);
        (0..coefficients.ncols())
            .map(|k| (0..coefficients.nrows()).map(|f| values[(example, f)] * coefficients[(f, k)]).sum())
            .collect()
    }

    /// `block`, `example` → coordinates.
    pub fn all_coordinates(&self, refit: &Refit, example_count: usize) -> Vec<Vec<Vec<f64>>> {
        (0..self.blocks.len())
            .map(|block| (0..example_count).map(|e| self.coordinates_of(refit, block, e)).collect())
            .collect()
    }

    /// u − model of an example, `point`.
    pub fn left(
        &self,
        displacements: &RestDisplacements,
        refit: &Refit,
        example: usize,
    ) -> Result<Vec<DVec3>, StoreError> {
        let observed = displacements.positions.of(example)?;
        let mut left: Vec<DVec3> = observed.iter().map(|u| u.as_dvec3()).collect();
        for (index, block) in self.blocks.iter().enumerate() {
            for (component, alpha) in self.coordinates_of(refit, index, example).into_iter().enumerate() {
                if alpha != 0.0 {
                    for (&point, u) in block.basis.points.iter().zip(block.basis.field(component)) {
                        left[point as usize] -= alpha * u.as_dvec3();
                    }
                }
            }
        }
        Ok(left)
    }
}
