//! Powell's method on many vertices in lock step: each call of the box evaluates one trial of every
//! vertex that is not done. And one vertex after the other, to compare it with.

use eigenskin_core::deformers::{BlackBox, BlackBoxError};
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::Progress;
use glam::DVec3;

use super::calls::Calls;
use super::objective::{conjugate_directions, value};
use super::probe::stretch;
use super::{Inverse, InversionParams, InversionStage, VertexClass, check_target};
use crate::powell::{Powell, PowellParams};

/// What [`invert_vertex_by_vertex`] found.
#[derive(Debug, Clone, PartialEq)]
pub struct VertexByVertex {
    /// of the vertices asked for, in their order
    pub deltas: Vec<DVec3>,
    /// calls of the box: five to probe, then one per trial
    pub calls: usize,
}

/// Powell's method on one vertex after the other, a call of the whole box for each trial: what lock
/// step replaces. For comparisons only. `vertices` may be some of the mesh.
pub fn invert_vertex_by_vertex(
    black_box: &mut dyn BlackBox,
    pose: &Pose,
    rest: &[DVec3],
    target: &[DVec3],
    size: f64,
    params: &InversionParams,
    vertices: &[usize],
    progress: &dyn Progress,
) -> Result<VertexByVertex, BlackBoxError> {
    check_target(rest, target)?;
    let params = InversionParams { most_calls: usize::MAX, newton_rounds: 0, ..*params };
    let calls = Calls::new(black_box, pose, progress);
    let mut inverse = Inverse::probed(calls, rest, target, size, params)?;
    let mut deltas = Vec::with_capacity(vertices.len());
    for &vertex in vertices {
        inverse.powell(&[vertex])?;
        // The next vertex finds all others at rest.
        deltas.push(std::mem::take(&mut inverse.deltas[vertex]));
    }
    Ok(VertexByVertex { deltas, calls: inverse.calls.made })
}

struct Run {
    vertex: usize,
    powell: Powell,
}

impl Inverse<'_> {
    /// Minimises the objectives of some vertices, from where they are.
    pub(super) fn powell(&mut self, vertices: &[usize]) -> Result<(), BlackBoxError> {
        if self.params.powell_evaluations == 0 {
            return Ok(());
        }
        let mut runs: Vec<Run> = vertices.iter().map(|&vertex| self.run_of(vertex)).collect();
        loop {
            for run in runs.iter().filter(|run| run.powell.trial().is_none()) {
                self.converged[run.vertex] = run.powell.converged();
            }
            runs.retain(|run| run.powell.trial().is_some());
            if runs.is_empty() || self.calls_left() == 0 {
                return Ok(());
            }
            let mut trial = self.deltas.clone();
            for run in &runs {
                if let Some(point) = run.powell.trial() {
                    trial[run.vertex] = DVec3::from_slice(point);
                }
            }
            let residuals = self.residuals_at(&trial)?;
            for Run { vertex, powell } in &mut runs {
                let (delta, residual) = (trial[*vertex], residuals[*vertex]);
                powell.observe(value(&self.dampings[*vertex], residual, delta));
                self.keep_if_better(*vertex, delta, residual);
            }
            self.tell(InversionStage::Powell, runs.len());
        }
    }

    fn run_of(&mut self, vertex: usize) -> Run {
        self.classes[vertex] = VertexClass::Powell;
        let (jacobian, damping) = (&self.jacobians[vertex], &self.dampings[vertex]);
        let distance = self.residuals[vertex].length().max(self.tolerance());
        // Directions of Newton's model where there is one; the paper starts with the axes.
        let newton = self.params.newton_rounds > 0;
        let (directions, step) = if newton {
            (conjugate_directions(jacobian, damping), distance)
        } else {
            (DVec3::AXES, distance / stretch(jacobian).max(0.1))
        };
        let params = PowellParams {
            step,
            tolerance: 0.1 * self.tolerance(),
            value_tolerance: 1e-8,
            enough: self.tolerance() * self.tolerance(),
            // the start is known and not asked for
            most_evaluations: self.params.powell_evaluations + 1,
            ..PowellParams::default()
        };
        let directions = directions.iter().map(|direction| direction.to_array().to_vec()).collect();
        let mut powell = Powell::along(&self.deltas[vertex].to_array(), directions, &params);
        powell.observe(self.values[vertex]);
        Run { vertex, powell }
    }
}
