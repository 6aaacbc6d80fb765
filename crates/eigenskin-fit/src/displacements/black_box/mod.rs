//! The inverse of any deformer (Xian, Lewis 2006 §5): displacements d of the rest shape and residuals
//! w with SKIN(rest + d) + w = target, where SKIN is a [`BlackBox`] of which nothing is known.
//!
//! One call of a box moves all vertices, so all vertices are solved at once:
//!
//! 1. [`probe`]: a few calls give every vertex's Jacobian and tell which vertices follow others.
//! 2. Newton steps: at once the answer for boxes that are affine per vertex.
//! 3. Powell's method on what is left, all vertices in lock step; both again where it stalled.
//! 4. A fixed point with Anderson's acceleration for vertices that follow others.
//! 5. The residual is what the box does not reach: where it collapses a direction, or smooths.

mod calls;
mod example;
mod fixed_point;
mod lock_step;
mod newton;
mod objective;
mod probe;
mod report;

use glam::{DMat3, DVec3};
use rayon::prelude::*;

use calls::Calls;
use eigenskin_core::deformers::{BlackBox, BlackBoxError};
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::Progress;
use eigenskin_core::skinning::Conditioning;
pub use example::{invert_example, invertibility};
pub use lock_step::{VertexByVertex, invert_vertex_by_vertex};
pub use probe::{Probe, probe};
pub use report::{
    ClassReport, Inversion, InversionParams, InversionReport, InversionStage, InversionStep, VertexClass,
};

/// Newton steps and Powell's method, so often. Powell's method stalls at kinks; steps from there with
/// new Jacobians get most vertices over them.
const ATTEMPTS: usize = 3;

/// Finds what to add to `rest` (`vertex`) so that the box gives `target` (`vertex`). `size` is the
/// rest shape's size, `progress` hears of every call of the box.
///
/// ```
/// use eigenskin_core::deformers::{BlackBox, BlackBoxError};
/// use eigenskin_core::glam::DVec3;
/// use eigenskin_core::pose::Pose;
/// use eigenskin_core::progress::Unwatched;
/// use eigenskin_fit::displacements::black_box::{InversionParams, invert};
///
/// struct Stretch;
///
/// impl BlackBox for Stretch {
///     fn deform(&mut self, _: &Pose, near: &[DVec3], posed: &mut [DVec3]) -> Result<(), BlackBoxError> {
///         posed.iter_mut().zip(near).for_each(|(posed, near)| *posed = 2.0 * *near);
///         Ok(())
///     }
/// }
///
/// let pose = Pose { world_from_joint: Vec::new(), controls: Vec::new() };
/// let (rest, target) = ([DVec3::X, DVec3::Y], [DVec3::new(2.0, 0.0, 1.0), DVec3::new(0.0, 3.0, 0.0)]);
/// let found = invert(&mut Stretch, &pose, &rest, &target, 1.0, &InversionParams::default(), &Unwatched)?;
/// assert!(found.deltas[0].distance(DVec3::new(0.0, 0.0, 0.5)) < 1e-6);
/// # Ok::<(), BlackBoxError>(())
/// ```
pub fn invert(
    black_box: &mut dyn BlackBox,
    pose: &Pose,
    rest: &[DVec3],
    target: &[DVec3],
    size: f64,
    params: &InversionParams,
    progress: &dyn Progress,
) -> Result<Inversion, BlackBoxError> {
    check_target(rest, target)?;
    let calls = Calls::new(black_box, pose, progress);
    if rest.is_empty() {
        return Ok(Inverse::empty());
    }
    let mut inverse = Inverse::probed(calls, rest, target, size, *params)?;
    inverse.solve_alone()?;
    inverse.verify()?;
    inverse.fixed_point()?;
    Ok(inverse.finish())
}

fn check_target(rest: &[DVec3], target: &[DVec3]) -> Result<(), BlackBoxError> {
    if target.len() != rest.len() {
        return Err(BlackBoxError::VertexCount { found: target.len(), expected: rest.len() });
    }
    match target.iter().position(|p| !p.is_finite()) {
        Some(vertex) => {
            Err(BlackBoxError::Failed(format!("the target has no finite place for vertex {vertex}")))
        }
        None => Ok(()),
    }
}

/// An inversion under way. All vectors are `vertex`.
struct Inverse<'a> {
    calls: Calls<'a>,
    rest: &'a [DVec3],
    target: &'a [DVec3],
    size: f64,
    params: InversionParams,
    steps: Vec<InversionStep>,
    conditioning: Vec<Conditioning>,
    /// solved by the fixed point
    coupled: Vec<bool>,
    dampings: Vec<DMat3>,
    /// the newest known
    jacobians: Vec<DMat3>,
    /// the best so far, and what the box misses the target by there
    deltas: Vec<DVec3>,
    residuals: Vec<DVec3>,
    /// of the objective at the deltas
    values: Vec<f64>,
    classes: Vec<VertexClass>,
    converged: Vec<bool>,
}

impl<'a> Inverse<'a> {
    fn probed(
        mut calls: Calls<'a>,
        rest: &'a [DVec3],
        target: &'a [DVec3],
        size: f64,
        params: InversionParams,
    ) -> Result<Self, BlackBoxError> {
        let probe = probe::probe_with(&mut calls, rest, size)?;
        let dampings = (probe.jacobians.par_iter().zip(&probe.conditioning))
            .map(|(&jacobian, &conditioning)| objective::damping(jacobian, conditioning, params.exact_from))
            .collect();
        let residuals: Vec<DVec3> = target.iter().zip(&probe.posed).map(|(&to, &from)| to - from).collect();
        let coupled = probe.coupled.iter().map(|&coupled| coupled && params.fixed_point_steps > 0).collect();
        let mut inverse = Self {
            calls,
            rest,
            target,
            size: if size > 0.0 { size } else { 1.0 },
            params,
            steps: Vec::new(),
            conditioning: probe.conditioning,
            coupled,
            dampings,
            jacobians: probe.jacobians,
            deltas: vec![DVec3::ZERO; rest.len()],
            values: residuals.iter().map(|r| r.length_squared()).collect(),
            residuals,
            classes: vec![VertexClass::Affine; rest.len()],
            converged: vec![false; rest.len()],
        };
        inverse.tell(InversionStage::Probe, rest.len());
        Ok(inverse)
    }

    fn empty() -> Inversion {
        Inversion {
            deltas: Vec::new(),
            residuals: Vec::new(),
            conditioning: Vec::new(),
            classes: Vec::new(),
            report: InversionReport::default(),
            steps: Vec::new(),
        }
    }

    /// What the box misses the target by with other displacements; one call.
    fn residuals_at(&mut self, deltas: &[DVec3]) -> Result<Vec<DVec3>, BlackBoxError> {
        let points: Vec<DVec3> = self.rest.iter().zip(deltas).map(|(&rest, &delta)| rest + delta).collect();
        let posed = self.calls.deform(&points)?;
        Ok(self.target.iter().zip(posed).map(|(&to, from)| to - from).collect())
    }

    /// Calls that may be spent; one is kept for [`Inverse::verify`].
    fn calls_left(&self) -> usize {
        self.params.most_calls.saturating_sub(self.calls.made + 1)
    }

    /// Solves vertices that follow no others.
    fn solve_alone(&mut self) -> Result<(), BlackBoxError> {
        let attempts = if self.params.newton_rounds > 0 { ATTEMPTS } else { 1 };
        let far = self.params.residual_tolerance * self.size;
        let mut open: Vec<usize> = (0..self.rest.len()).filter(|&vertex| !self.coupled[vertex]).collect();
        for attempt in 0..attempts {
            open = self.newton(open, attempt > 0)?;
            self.powell(&open)?;
            open.retain(|&vertex| self.residuals[vertex].length() > far);
        }
        Ok(())
    }

    fn tolerance(&self) -> f64 {
        self.params.tolerance * self.size
    }

    fn tell(&mut self, stage: InversionStage, open: usize) {
        let sum: f64 = self.residuals.iter().map(|r| r.length_squared()).sum();
        let rms = (sum / self.residuals.len().max(1) as f64).sqrt();
        self.steps.push(InversionStep { stage, calls: self.calls.made, open, rms });
    }

    /// Takes a displacement that was tried if it is the best so far.
    fn keep_if_better(&mut self, vertex: usize, delta: DVec3, residual: DVec3) -> bool {
        let value = objective::value(&self.dampings[vertex], residual, delta);
        let better = value < self.values[vertex];
        if better {
            self.deltas[vertex] = delta;
            self.residuals[vertex] = residual;
            self.values[vertex] = value;
        }
        better
    }

    /// Looks at all displacements together. Vertices were tried each with others elsewhere: those that
    /// are not where they were then follow others after all.
    fn verify(&mut self) -> Result<(), BlackBoxError> {
        if self.deltas.iter().all(|&delta| delta == DVec3::ZERO) {
            return Ok(());
        }
        let mut residuals = self.residuals_at(&self.deltas.clone())?;
        let strays: Vec<usize> = (0..residuals.len())
            .filter(|&v| !self.coupled[v] && residuals[v].distance(self.residuals[v]) > self.tolerance())
            .collect();
        if self.params.fixed_point_steps > 0 {
            for &vertex in &strays {
                self.coupled[vertex] = true;
            }
        } else if !strays.is_empty() {
            residuals = self.undo_worse(&strays, residuals)?;
        }
        for vertex in 0..residuals.len() {
            self.residuals[vertex] = residuals[vertex];
            self.values[vertex] =
                objective::value(&self.dampings[vertex], residuals[vertex], self.deltas[vertex]);
        }
        self.tell(InversionStage::Verify, self.coupled.iter().filter(|&&coupled| coupled).count());
        Ok(())
    }

    /// Without the fixed point: vertices that follow others go back to rest if together they ended
    /// farther from the target than there.
    fn undo_worse(&mut self, strays: &[usize], residuals: Vec<DVec3>) -> Result<Vec<DVec3>, BlackBoxError> {
        let mut without = self.deltas.clone();
        for &vertex in strays {
            without[vertex] = DVec3::ZERO;
            self.converged[vertex] = false;
        }
        let at_rest = self.residuals_at(&without)?;
        let sum = |of: &[DVec3]| strays.iter().map(|&v| of[v].length_squared()).sum::<f64>();
        if sum(&at_rest) < sum(&residuals) {
            self.deltas = without;
            return Ok(at_rest);
        }
        Ok(residuals)
    }

    fn finish(mut self) -> Inversion {
        let least = self.params.residual_tolerance * self.size;
        let distances: Vec<f64> = self.residuals.iter().map(|r| r.length()).collect();
        for vertex in 0..self.rest.len() {
            let missed = distances[vertex] > least;
            if self.coupled[vertex] {
                self.classes[vertex] = VertexClass::Coupled;
                self.converged[vertex] = !missed;
            } else if missed && self.converged[vertex] && self.classes[vertex] != VertexClass::Powell {
                self.classes[vertex] = VertexClass::Singular;
            }
            if !missed {
                self.residuals[vertex] = DVec3::ZERO;
            }
        }
        let report = InversionReport::new(self.calls.made, &self.classes, &self.converged, &distances);
        Inversion {
            deltas: self.deltas,
            residuals: self.residuals,
            conditioning: self.conditioning,
            classes: self.classes,
            report,
            steps: self.steps,
        }
    }
}
