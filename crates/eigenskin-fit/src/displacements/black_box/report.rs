//! How to invert, and how it went.

use eigenskin_core::skinning::{Conditioning, EXACT_FROM};
use glam::DVec3;
use serde::{Deserialize, Serialize};

use crate::displacements::pulled_back::NO_RESIDUAL;

/// How a black box is inverted. Lengths are shares of the size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InversionParams {
    /// Directions that the box keeps to this share of its largest stretch are inverted exactly; below
    /// it they fade over to the residual ([`eigenskin_core::skinning::damped_inverse`]).
    pub exact_from: f64,
    /// a vertex is done when no step would bring it nearer by more than this
    pub tolerance: f64,
    /// residuals shorter than this are set to zero
    pub residual_tolerance: f64,
    /// Rounds of Newton steps, the first with the probe's Jacobians, each further one with new ones.
    /// 0: none.
    pub newton_rounds: usize,
    /// values that Powell's method may ask for per vertex; 0: none
    pub powell_evaluations: usize,
    /// Calls of the fixed point for vertices that follow others. 0: they are treated as if they did
    /// not, and stay where they were if that makes them worse.
    pub fixed_point_steps: usize,
    /// Directions of the whole shape that the box shrinks to about this share and less are given up by
    /// the fixed point: smoothing would need displacements that spoil the interpolation.
    pub fixed_point_damping: f64,
    /// how many former steps the fixed point learns from
    pub fixed_point_memory: usize,
    /// calls of the box in all; a few are needed whatever this says
    pub most_calls: usize,
}

impl Default for InversionParams {
    fn default() -> Self {
        Self {
            exact_from: EXACT_FROM,
            tolerance: 1e-6,
            residual_tolerance: NO_RESIDUAL,
            newton_rounds: 4,
            powell_evaluations: 400,
            fixed_point_steps: 80,
            fixed_point_damping: 0.03,
            fixed_point_memory: 12,
            most_calls: 2000,
        }
    }
}

impl InversionParams {
    /// Powell's method alone, as the paper has it; for comparison.
    pub fn powell_only() -> Self {
        Self { newton_rounds: 0, fixed_point_steps: 0, ..Self::default() }
    }
}

/// What goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InversionStage {
    /// finding out how the box answers
    Probe,
    /// Newton steps
    Newton,
    /// Powell's method, all vertices in lock step
    Powell,
    /// the fixed point of vertices that follow others
    FixedPoint,
    /// looking whether all is as it should be
    Verify,
}

/// How far it was after a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InversionStep {
    /// what goes on
    pub stage: InversionStage,
    /// calls of the box so far
    pub calls: usize,
    /// vertices not done yet
    pub open: usize,
    /// root of the mean square distance from the target, of the best displacements so far
    pub rms: f64,
}

/// How a vertex was solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VertexClass {
    /// by the probe's Jacobian: the box answers as that says
    Affine,
    /// by further Newton steps
    Nonlinear,
    /// by Powell's method
    Powell,
    /// by the fixed point: it follows other vertices
    Coupled,
    /// at the nearest place that the box reaches without large displacements; the residual has the rest
    Singular,
}

impl VertexClass {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Affine, Self::Nonlinear, Self::Powell, Self::Coupled, Self::Singular];

    /// For machines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Affine => "affine",
            Self::Nonlinear => "nonlinear",
            Self::Powell => "powell",
            Self::Coupled => "coupled",
            Self::Singular => "singular",
        }
    }

    /// For people, after "vertices".
    pub fn description(self) -> &'static str {
        match self {
            Self::Affine => "by one Newton step",
            Self::Nonlinear => "by further Newton steps",
            Self::Powell => "by Powell's method",
            Self::Coupled => "by the fixed point (they follow their neighbours)",
            Self::Singular => "where the pose collapses the skin",
        }
    }
}

/// All vertices solved in one way.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ClassReport {
    /// how many
    pub vertices: usize,
    /// how many are at their best place within the tolerance; of coupled ones, at the target
    pub converged: usize,
    /// largest distance from the target without residuals
    pub largest: f64,
    /// root of the mean square of it
    pub rms: f64,
}

/// How an inversion went.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct InversionReport {
    /// calls of the box
    pub calls: usize,
    /// solved by the probe
    pub affine: ClassReport,
    /// by further Newton steps
    pub nonlinear: ClassReport,
    /// by Powell's method
    pub powell: ClassReport,
    /// by the fixed point
    pub coupled: ClassReport,
    /// not reachable as a whole
    pub singular: ClassReport,
}

/// Displacements and residuals: SKIN(rest + delta) + residual is the target, up to
/// [`InversionParams::residual_tolerance`].
#[derive(Debug, Clone, PartialEq)]
pub struct Inversion {
    /// what to add to the rest shape, `vertex`
    pub deltas: Vec<DVec3>,
    /// what to add after the box, in the posed character's axes, `vertex`
    pub residuals: Vec<DVec3>,
    /// how well each vertex can be undone, `vertex`
    pub conditioning: Vec<Conditioning>,
    /// how each vertex was solved, `vertex`
    pub classes: Vec<VertexClass>,
    /// how it went
    pub report: InversionReport,
    /// how far it was, step by step
    pub steps: Vec<InversionStep>,
}

impl InversionReport {
    /// Sums up vertices by class; `distances` (`vertex`) without residuals.
    pub(super) fn new(calls: usize, classes: &[VertexClass], converged: &[bool], distances: &[f64]) -> Self {
        let mut report = Self { calls, ..Self::default() };
        for ((&class, &converged), &distance) in classes.iter().zip(converged).zip(distances) {
            let sum = report.class_mut(class);
            sum.vertices += 1;
            sum.converged += usize::from(converged);
            sum.largest = sum.largest.max(distance);
            sum.rms += distance * distance;
        }
        for class in VertexClass::ALL {
            let sum = report.class_mut(class);
            sum.rms = (sum.rms / sum.vertices.max(1) as f64).sqrt();
        }
        report
    }

    /// The vertices of one class.
    pub fn of(&self, class: VertexClass) -> &ClassReport {
        match class {
            VertexClass::Affine => &self.affine,
            VertexClass::Nonlinear => &self.nonlinear,
            VertexClass::Powell => &self.powell,
            VertexClass::Coupled => &self.coupled,
            VertexClass::Singular => &self.singular,
        }
    }

    fn class_mut(&mut self, class: VertexClass) -> &mut ClassReport {
        match class {
            VertexClass::Affine => &mut self.affine,
            VertexClass::Nonlinear => &mut self.nonlinear,
            VertexClass::Powell => &mut self.powell,
            VertexClass::Coupled => &mut self.coupled,
            VertexClass::Singular => &mut self.singular,
        }
    }
}
