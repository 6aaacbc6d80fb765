//! From a rig and jobs to simulated poses.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use eigenskin_core::glam::{DAffine3, Vec3};
use eigenskin_core::pose::{JointMotion, Pose};
use eigenskin_core::progress::{Cancelled, Progress, Step};
use eigenskin_core::rig::Rig;
use rayon::prelude::*;

use crate::equilibrium::{Equilibrium, SolveError};
use crate::jobs::{Job, Purpose};
use crate::material::Material;
use crate::path::{PathError, PathParams, follow_with_contact};
use crate::problem::{Problem, ProblemError};
use crate::quality::{Jumps, PoseQuality, volume_ratio};
use crate::self_contact::{ContactParams, SelfContact};
use crate::solver::Solver;
use crate::tissue::{Tissue, TissueError, TissueParams};

/// How to simulate.
#[derive(Debug, Clone, PartialEq)]
pub struct SimulationParams {
    /// lattice and bones
    pub tissue: TissueParams,
    /// what the tissue is like
    pub material: Material,
    /// how to go from pose to pose
    pub path: PathParams,
    /// how skin pushes skin away; `None` lets parts of the body pass through each other
    pub contact: Option<ContactParams>,
}

impl Default for SimulationParams {
    fn default() -> Self {
        Self {
            tissue: TissueParams::default(),
            material: Material::default(),
            path: PathParams::default(),
            contact: Some(ContactParams::default()),
        }
    }
}

/// A character whose jobs can be solved, in any order and on any number of threads.
#[derive(Debug, Clone)]
pub struct Simulation {
    rig: Arc<Rig>,
    tissue: Tissue,
    problem: Problem,
    path: PathParams,
    contact: Option<ContactParams>,
}

/// Why a character cannot be simulated.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SimulationError {
    /// There is nothing to do.
    #[error("there are no poses to simulate; ask for some, or give joints a range")]
    NoJobs,
    /// Skin, lattice or bones.
    #[error(transparent)]
    Tissue(TissueError),
    /// The parts do not make a problem.
    #[error("the tissue cannot be solved for: {0}")]
    Problem(#[from] ProblemError),
    /// The equations do not fit.
    #[error(transparent)]
    Solver(SolveError),
    /// Ended from outside.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl From<TissueError> for SimulationError {
    fn from(error: TissueError) -> Self {
        match error {
            TissueError::Cancelled(cancelled) => Self::Cancelled(cancelled),
            error => Self::Tissue(error),
        }
    }
}

impl From<SolveError> for SimulationError {
    fn from(error: SolveError) -> Self {
        match error {
            SolveError::Cancelled(cancelled) => Self::Cancelled(cancelled),
            error => Self::Solver(error),
        }
    }
}

/// A solved pose.
#[derive(Debug, Clone, PartialEq)]
pub struct SimulatedPose {
    /// its name
    pub name: String,
    /// what it is for
    pub purpose: Purpose,
    /// where the joints are; the first root is at rest
    pub pose: Pose,
    /// the skin, `vertex`
    pub positions: Vec<Vec3>,
    /// how good it is
    pub quality: PoseQuality,
}

/// What came out of a job.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JobResult {
    /// solved poses, in the order of the way
    pub poses: Vec<SimulatedPose>,
    /// names of the poses that could not be reached, and why
    pub failed: Vec<(String, String)>,
}

impl Simulation {
    /// Fills the skin, lays the bones and sets up the equations. Joints that no job moves are tied
    /// to their neighbours. `excluded`: empty, or per `vertex`, whether it is no skin.
    pub fn new(
        rig: Arc<Rig>,
        jobs: &[Job],
        excluded: &[bool],
        params: &SimulationParams,
        progress: &dyn Progress,
    ) -> Result<Self, SimulationError> {
        if jobs.iter().all(|job| job.stops.is_empty()) {
            return Err(SimulationError::NoJobs);
        }
        let tissue = Tissue::of(&rig, &moving_joints(&rig, jobs), excluded, &params.tissue, progress)?;
        let problem = Problem::new(
            tissue.filling.lattice.clone(),
            tissue.held.points.clone(),
            tissue.plan.groups.len(),
            params.material,
        )?;
        Ok(Self { rig, tissue, problem, path: params.path, contact: params.contact })
    }

    /// The character.
    pub fn rig(&self) -> &Arc<Rig> {
        &self.rig
    }

    /// Its skin, lattice and bones.
    pub fn tissue(&self) -> &Tissue {
        &self.tissue
    }

    /// The equations.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// A solver for its jobs; one per thread ([`Solver::fork`]).
    pub fn solver(&self) -> Result<Solver<'_>, SolveError> {
        Solver::new(&self.problem)
    }

    /// What finds where its skin touches itself, for its jobs; `None` when that is switched off.
    pub fn contact(&self, progress: &dyn Progress) -> Result<Option<SelfContact<'_>>, Cancelled> {
        self.contact.as_ref().map(|params| SelfContact::new(&self.tissue, params, progress)).transpose()
    }

    /// Solves jobs in parallel, in the thread pool that this is called in; `done` hears of each as
    /// it ends, and may end the work. Results are in the order of the jobs and do not depend on the
    /// number of threads.
    pub fn run_all(
        &self,
        jobs: &[Job],
        done: impl Fn(usize, &JobResult) -> Result<(), Cancelled> + Sync,
        progress: &dyn Progress,
    ) -> Result<Vec<JobResult>, SimulationError> {
        let count = jobs.iter().map(|job| job.stops.len()).sum();
        let poses = PosesDone { progress, done: AtomicUsize::new(0), count };
        let first = self.solver()?;
        let contact = self.contact(&poses)?;
        jobs.par_iter()
            .enumerate()
            // Jobs take very different times: hand them out one by one.
            .with_max_len(1)
            .map_init(
                || first.fork(),
                |solver, (index, job)| {
                    let solver = solver.as_mut().map_err(|error| error.clone())?;
                    let result = self.run(solver, contact.as_ref(), job, &poses)?;
                    done(index, &result)?;
                    poses.add(job.stops.len())?;
                    Ok(result)
                },
            )
            .collect()
    }

    /// Solves one job. The result does not depend on what the solver did before.
    pub fn run(
        &self,
        solver: &mut Solver<'_>,
        contact: Option<&SelfContact<'_>>,
        job: &Job,
        progress: &dyn Progress,
    ) -> Result<JobResult, Cancelled> {
        let stops: Vec<f64> = job.stops.iter().map(|stop| stop.share).collect();
        let rest = solver.rest();
        let motions = |share| self.motions(job, share);
        let followed = follow_with_contact(solver, &rest, motions, &stops, &self.path, contact, progress);
        let (states, failure) = match followed {
            Ok(states) => (states, None),
            Err(PathError { cause: SolveError::Cancelled(cancelled), .. }) => return Err(cancelled),
            Err(error) => {
                let reason = format!("{error} ({})", error.cause);
                (error.reached, Some(reason))
            }
        };
        let mut jumps = Jumps::default();
        let mut result = JobResult::default();
        for (stop, state) in job.stops.iter().zip(&states) {
            progress.doing("measuring poses")?;
            let pose = job.pose(&self.rig, stop.share);
            let positions = self.skin(state);
            let jump = jumps.next(&self.rig, &pose, &positions, stop.share);
            let penetration = contact.map(|contact| contact.penetration(&state.positions).deepest);
            let quality = PoseQuality {
                smallest_volume: state.smallest_volume,
                inverted: state.inverted,
                stable: state.stable,
                volume: volume_ratio(self.problem.lattice(), &state.positions),
                penetration: penetration.map(|depth| depth / self.rig.mesh().size()),
                jump,
                newton_steps: state.iterations,
                contact_steps: state.contact.newton_steps,
                settled: !state.contact.dragged,
            };
            result.poses.push(SimulatedPose {
                name: stop.name.clone(),
                purpose: job.purpose,
                pose,
                positions,
                quality,
            });
        }
        if let Some(reason) = failure {
            let missed = job.stops.iter().skip(states.len());
            result.failed.extend(missed.map(|stop| (stop.name.clone(), reason.clone())));
        }
        Ok(result)
    }

    /// `group` → its motion in lattice space at a share of the way.
    pub fn motions(&self, job: &Job, share: f64) -> Vec<DAffine3> {
        let pose = job.pose(&self.rig, share);
        let lattice = self.problem.lattice();
        self.tissue
            .plan
            .groups
            .iter()
            .map(|group| {
                let joint = &self.rig.skeleton().joints()[group.leader];
                lattice.motion_in_lattice(pose.world_from_joint[group.leader] * joint.joint_from_rest)
            })
            .collect()
    }

    /// Where the skin is, `vertex`, in mesh space.
    fn skin(&self, state: &Equilibrium) -> Vec<Vec3> {
        let lattice = self.problem.lattice();
        let at_rest = self.rig.mesh().positions();
        self.tissue
            .embedding
            .vertices
            .iter()
            .zip(at_rest)
            .map(|(embedded, rest)| {
                // What the lattice says of the rest position is rounded; only the motion counts.
                let moved = lattice.mesh_from_lattice(lattice.at(embedded, &state.positions))
                    - lattice.mesh_from_lattice(lattice.at(embedded, &lattice.nodes));
                (rest.as_dvec3() + moved).as_vec3()
            })
            .collect()
    }
}

/// Counts the poses that are done, whatever each thread is at.
struct PosesDone<'a> {
    progress: &'a dyn Progress,
    done: AtomicUsize,
    count: usize,
}

impl PosesDone<'_> {
    fn add(&self, poses: usize) -> Result<(), Cancelled> {
        self.tell(self.done.fetch_add(poses, Ordering::Relaxed) + poses)
    }

    fn tell(&self, done: usize) -> Result<(), Cancelled> {
        self.progress.step(Step { doing: "simulating poses", done, count: Some(self.count) })
    }
}

impl Progress for PosesDone<'_> {
    fn step(&self, _: Step<'_>) -> Result<(), Cancelled> {
        self.tell(self.done.load(Ordering::Relaxed))
    }
}

/// `joint` → whether some job moves it against its reference joint.
fn moving_joints(rig: &Rig, jobs: &[Job]) -> Vec<bool> {
    // Files hold poses in f32: less than this is noise.
    let moves = |motion: &JointMotion| {
        motion.rotation.w.abs() < 1.0 - 1e-9 || motion.translation.length() > 1e-5 * rig.mesh().size()
    };
    (0..rig.skeleton().joint_count()).map(|joint| jobs.iter().any(|job| moves(&job.motions[joint]))).collect()
}
