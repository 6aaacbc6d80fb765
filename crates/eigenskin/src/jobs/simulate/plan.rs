//! A simulation that is ready to be solved: what it is going to do, and doing it.

use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

use eigenskin_core::progress::{Cancelled, Progress};
use eigenskin_gltf::{RigFile, SimulationRecord};
use eigenskin_io::WriteError;
use eigenskin_sim::calculix;
use eigenskin_sim::jobs::Job;
use eigenskin_sim::simulation::{JobResult, Simulation, SimulationParams};
use serde::Serialize;

use super::parts::{PartsError, PartsStore, SolvedJob};
use super::settings::TissueSettings;
use super::{SimulateError, SimulateOutcome, SimulationJobs, fingerprint, outcome};

/// A character filled with tissue, and its jobs.
#[derive(Debug, Clone)]
pub struct SimulationPlan {
    /// the rig, with the file that examples are written into
    pub(super) file: RigFile,
    pub(super) jobs: SimulationJobs,
    pub(super) simulation: Simulation,
    pub(super) params: SimulationParams,
    /// names of parts that are no skin
    pub(super) exclude: Vec<String>,
    /// threads that solve; default one per core
    pub threads: Option<usize>,
    /// what sets say of the settings, so that they can be gone on with
    pub(super) settings: Option<serde_json::Value>,
}

/// What is going to be done. Serialises with the names that results have.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanFacts {
    /// what can be turned; empty where the poses were given
    pub degrees_of_freedom: Vec<PlannedDegree>,
    /// cells of the lattice
    pub cells: usize,
    /// their edge in the rig's unit
    pub edge: f64,
    /// unknowns of the equations
    pub unknowns: usize,
    /// `job` → names of its poses
    pub jobs: Vec<Vec<String>>,
}

/// What a joint can do.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlannedDegree {
    /// name of the joint
    pub joint: String,
    /// axis in the joint's own rest axes, unit length
    pub axis: [f64; 3],
    /// smallest angle in degrees
    pub lowest_deg: f64,
    /// largest angle in degrees
    pub highest_deg: f64,
}

impl SimulationPlan {
    /// Fills the skin and lays the bones. Parts of the character named in `exclude` are carried along.
    pub fn new(
        file: RigFile,
        jobs: SimulationJobs,
        tissue: &TissueSettings,
        exclude: &[String],
        progress: &dyn Progress,
    ) -> Result<Self, SimulateError> {
        let excluded = excluded_vertices(&file, exclude)?;
        let params = tissue.params();
        let simulation = Simulation::new(file.rig().clone(), &jobs.jobs, &excluded, &params, progress)?;
        let plan =
            Self { file, jobs, simulation, params, exclude: exclude.to_vec(), threads: None, settings: None };
        plan.check_tissue()?;
        Ok(plan)
    }

    /// Examples of other tissue are not gone on with.
    fn check_tissue(&self) -> Result<(), SimulateError> {
        let Some(before) = self.jobs.before.as_ref().and_then(|list| list.simulation.as_ref()) else {
            return Ok(());
        };
        let told = |record: &SimulationRecord| {
            let SimulationRecord { cubes, unknowns, bones, poisson, .. } = record;
            format!("{cubes} cells, {unknowns} unknowns, {bones} bones, Poisson's ratio {poisson}")
        };
        let (before, now) = (told(before), told(&outcome::tissue_of(self)));
        if before == now { Ok(()) } else { Err(SimulateError::OtherTissue { before, now }) }
    }

    /// The poses, as jobs.
    pub fn jobs(&self) -> &SimulationJobs {
        &self.jobs
    }

    /// Skin, lattice, bones and equations.
    pub fn simulation(&self) -> &Simulation {
        &self.simulation
    }

    /// What is going to be done.
    pub fn facts(&self) -> PlanFacts {
        let lattice = &self.simulation.tissue().filling.lattice;
        let joints = self.file.rig().skeleton().joints();
        let degrees = self.jobs.ranges.iter().flat_map(|ranges| &ranges.degrees);
        let names = |job: &Job| job.stops.iter().map(|stop| stop.name.clone()).collect();
        PlanFacts {
            degrees_of_freedom: degrees
                .map(|degree| PlannedDegree {
                    joint: joints[degree.joint].name.clone(),
                    axis: degree.axis.to_array(),
                    lowest_deg: degree.lowest.to_degrees(),
                    highest_deg: degree.highest.to_degrees(),
                })
                .collect(),
            cells: lattice.cell_count(),
            edge: lattice.edge,
            unknowns: 3 * lattice.node_count(),
            jobs: self.jobs.jobs.iter().map(names).collect(),
        }
    }

    /// Everything that the shapes depend on, as one number.
    pub(super) fn fingerprint(&self) -> String {
        fingerprint::of(self.file.rig(), &self.jobs.jobs, &self.exclude, &self.params)
    }

    /// Solves all jobs, but those that `store` has already; each new one is kept there as it ends.
    pub fn run(
        &self,
        store: Option<&PartsStore>,
        progress: &dyn Progress,
    ) -> Result<SimulateOutcome, SimulateError> {
        let start = Instant::now();
        let results = match self.threads {
            None => self.solve(store, progress)?,
            Some(threads) => rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .map_err(|error| SimulateError::Threads { problem: error.to_string() })?
                .install(|| self.solve(store, progress))?,
        };
        Ok(SimulateOutcome::of(self, &results, start.elapsed().as_secs_f64()))
    }

    /// Solves one job into `store`, for [`SimulationPlan::run`] to collect.
    pub fn run_job(
        &self,
        job: usize,
        store: &PartsStore,
        progress: &dyn Progress,
    ) -> Result<SolvedJob, SimulateError> {
        let count = self.jobs.jobs.len();
        let Some(wanted) = self.jobs.jobs.get(job) else {
            return Err(SimulateError::NoSuchJob { job, count });
        };
        let results = self.simulation.run_all(std::slice::from_ref(wanted), |_, _| Ok(()), progress)?;
        let result = results.into_iter().next().unwrap_or_default();
        store.write(job, &result)?;
        Ok(SolvedJob { job, poses: result.poses.len(), failed: result.failed.len() })
    }

    /// Results in the order of the jobs.
    fn solve(
        &self,
        store: Option<&PartsStore>,
        progress: &dyn Progress,
    ) -> Result<Vec<JobResult>, SimulateError> {
        let jobs = &self.jobs.jobs;
        let kept = |index: usize| -> Result<Option<JobResult>, PartsError> {
            let read = store.map(|store| store.read(index, &jobs[index], self.file.rig()));
            Ok(read.transpose()?.flatten())
        };
        let mut results: Vec<Option<JobResult>> = Vec::with_capacity(jobs.len());
        for index in 0..jobs.len() {
            progress.doing("reading finished jobs")?;
            results.push(kept(index)?);
        }
        let missing: Vec<usize> = (0..jobs.len()).filter(|&index| results[index].is_none()).collect();
        let wanted: Vec<Job> = missing.iter().map(|&index| jobs[index].clone()).collect();
        let failure: Mutex<Option<PartsError>> = Mutex::new(None);
        let keep = |place: usize, result: &JobResult| -> Result<(), Cancelled> {
            let written = store.map_or(Ok(()), |store| store.write(missing[place], result));
            written.map_err(|error| {
                if let Ok(mut failure) = failure.lock() {
                    failure.get_or_insert(error);
                }
                Cancelled
            })
        };
        let solved = self.simulation.run_all(&wanted, keep, progress);
        if let Ok(Some(error)) = failure.into_inner() {
            return Err(error.into());
        }
        for (&index, result) in missing.iter().zip(solved?) {
            // Files round: shapes come from there whether a run was interrupted or not, so that both
            // end with the same bytes.
            results[index] = kept(index)?.or(Some(result));
        }
        Ok(results.into_iter().flatten().collect())
    }

    /// The problem of a job as an input file of CalculiX, an independent solver. Lengths are in cell edges,
    /// stress in shear moduli.
    pub fn calculix_input(&self, job: &Job) -> Vec<u8> {
        let poses: Vec<_> = job.stops.iter().map(|stop| self.simulation.motions(job, stop.share)).collect();
        let mut text = Vec::new();
        // Memory takes all that is written to it.
        let _ = calculix::write_inp(&mut text, self.simulation.problem(), &poses);
        text
    }

    /// Writes one CalculiX input file per job into a folder, which is made: `job-0000.inp` and so on.
    pub fn write_calculix(
        &self,
        folder: impl AsRef<Path>,
        progress: &dyn Progress,
    ) -> Result<(), SimulateError> {
        let folder = folder.as_ref();
        std::fs::create_dir_all(folder).map_err(|error| WriteError::Io { path: folder.into(), error })?;
        for (index, job) in self.jobs.jobs.iter().enumerate() {
            progress.doing("writing input files")?;
            let path = folder.join(format!("job-{index:04}.inp"));
            eigenskin_io::atomic::write_file(&path, &self.calculix_input(job))
                .map_err(|error| WriteError::Io { path, error })?;
        }
        Ok(())
    }
}

/// `vertex` → whether it belongs to something that is named as no skin; empty where nothing is.
fn excluded_vertices(file: &RigFile, names: &[String]) -> Result<Vec<bool>, SimulateError> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let parts = file.named_parts();
    let mut excluded = vec![false; file.rig().vertex_count()];
    for name in names {
        let mut found = false;
        for part in parts.iter().filter(|part| part.names.contains(name)) {
            excluded[part.vertices.clone()].fill(true);
            found = true;
        }
        if !found {
            let mut known: Vec<String> = parts.into_iter().flat_map(|part| part.names).collect();
            known.sort_unstable();
            known.dedup();
            return Err(SimulateError::UnknownPart { name: name.clone(), known });
        }
    }
    Ok(excluded)
}
