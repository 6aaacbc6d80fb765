//! Poses of the built-in hand, coarse.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use eigenskin_characters::hand;
use eigenskin_core::articulation::Articulation;
use eigenskin_core::deformers::Base;
use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::glam::Vec3;
use eigenskin_core::mesh::Mesh;
use eigenskin_core::model::Model;
use eigenskin_core::progress::{Cancelled, Progress, Step, Unwatched};
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::BaseSkinning;
use eigenskin_fit::method::{EigenSkinParams, fit_examples};
use eigenskin_fit::metrics::evaluate_against;
use eigenskin_sim::jobs::{Job, Purpose, SamplingParams, jobs};
use eigenskin_sim::quality::QualityLimits;
use eigenskin_sim::simulation::{JobResult, Simulation, SimulationError, SimulationParams};

/// A hand in at most 1,200 cubes, and four of its ways: three joints in several poses each, and a
/// knuckle bent and turned aside at once.
fn coarse_hand() -> (Simulation, Vec<Job>) {
    let hand = hand(3500).unwrap();
    let sampling = SamplingParams { per_degree: 4, validation: 0, ..SamplingParams::default() };
    let all = jobs(Articulation { rig: &hand.rig, degrees: &hand.degrees_of_freedom }, &sampling, &[]);
    let mut params = SimulationParams::default();
    params.tissue.fill.most_cells = 1_200;
    let simulation = Simulation::new(hand.rig.clone(), &all, &[], &params, &Unwatched).unwrap();
    let is_sweep = |job: &&Job| job.stops.len() >= 2;
    let sweeps = all.iter().filter(is_sweep).step_by(6).take(3);
    let chosen: Vec<Job> = sweeps.chain(all.last()).cloned().collect();
    assert_eq!(chosen.len(), 4);
    (simulation, chosen)
}

fn with_threads(simulation: &Simulation, jobs: &[Job], threads: usize) -> Vec<JobResult> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| simulation.run_all(jobs, |_, _| Ok(()), &Unwatched).unwrap())
}

#[test]
fn poses_of_a_hand_are_good_and_depend_on_nothing_else() {
    let (simulation, jobs) = coarse_hand();
    let cells = simulation.problem().lattice().cell_count();
    assert!((600..=1_200).contains(&cells), "{cells}");
    let results = with_threads(&simulation, &jobs, 1);
    for (job, result) in jobs.iter().zip(&results) {
        assert_eq!(result.failed, []);
        assert_eq!(result.poses.len(), job.stops.len());
        for (pose, stop) in result.poses.iter().zip(&job.stops) {
            let quality = &pose.quality;
            assert_eq!(pose.name, stop.name);
            assert_eq!(quality.inverted, 0, "{}", pose.name);
            assert!((quality.volume - 1.0).abs() < 0.05, "{}: {quality:?}", pose.name);
            assert!(quality.jump < 0.01, "{}: {quality:?}", pose.name);
            assert_eq!(quality.fault(&QualityLimits::default()), None, "{}", pose.name);
            // It moves, and stays in one piece.
            let rest = simulation.rig().mesh().positions();
            let moved = pose.positions.iter().zip(rest).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max);
            let size = simulation.rig().mesh().size() as f32;
            assert!(moved > 0.02 * size && moved < 2.0 * size, "{}: {moved}", pose.name);
        }
    }
    // Neither the number of threads, nor what a solver did before, nor other jobs matter.
    assert_eq!(with_threads(&simulation, &jobs, 2), results);
    let contact = simulation.contact(&Unwatched).unwrap();
    let mut solver = simulation.solver().unwrap();
    for index in [3, 0] {
        assert_eq!(
            simulation.run(&mut solver, contact.as_ref(), &jobs[index], &Unwatched).unwrap(),
            results[index]
        );
    }
}

/// Ends the work at a step, and counts how often it is asked.
struct EndsAt {
    step: usize,
    asked: AtomicUsize,
}

impl EndsAt {
    fn step(step: usize) -> Self {
        Self { step, asked: AtomicUsize::new(0) }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

impl Progress for EndsAt {
    fn step(&self, _: Step<'_>) -> Result<(), Cancelled> {
        if self.asked.fetch_add(1, Ordering::Relaxed) + 1 >= self.step { Err(Cancelled) } else { Ok(()) }
    }
}

#[test]
fn work_ends_soon_after_it_is_told_to() {
    let (simulation, jobs) = coarse_hand();
    let threads = 2;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();

    let fill = |watcher: &EndsAt| {
        let rig = simulation.rig().clone();
        let params = SimulationParams::default();
        pool.install(|| Simulation::new(rig, &jobs, &[], &params, watcher)).err()
    };
    let patient = EndsAt::step(usize::MAX);
    assert_eq!(fill(&patient), None);
    // Blocks of cubes, points of the skin and cells are looked at one after the other.
    assert!(patient.asked() > 500, "{}", patient.asked());
    for share in [0.0, 0.1, 0.5, 0.99] {
        let watcher = EndsAt::step((share * patient.asked() as f64) as usize);
        assert_eq!(fill(&watcher), Some(SimulationError::Cancelled(Cancelled)), "{share}");
        assert!(watcher.asked() <= watcher.step.max(1) + threads, "{share}: {}", watcher.asked());
    }

    let solve = |watcher: &EndsAt, done: &AtomicUsize| {
        let count = |_, _: &JobResult| {
            done.fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        pool.install(|| simulation.run_all(&jobs, count, watcher))
    };
    let (patient, done) = (EndsAt::step(usize::MAX), AtomicUsize::new(0));
    let solved = solve(&patient, &done).unwrap();
    assert_eq!(done.into_inner(), jobs.len());
    let poses = || solved.iter().flat_map(|result| &result.poses);
    let newton_steps: usize = poses().map(|pose| pose.quality.newton_steps).sum();
    assert!(patient.asked() > newton_steps + poses().count(), "{} for {newton_steps}", patient.asked());
    let cells = simulation.problem().lattice().cell_count();
    for step in [1, cells / 2, cells + 3, cells + newton_steps / 2] {
        let (watcher, done) = (EndsAt::step(step), AtomicUsize::new(0));
        let error = solve(&watcher, &done).unwrap_err();
        assert_eq!(error, SimulationError::Cancelled(Cancelled), "{step}");
        assert!(watcher.asked() <= step + threads, "{step}: {}", watcher.asked());
        assert!(done.into_inner() < jobs.len());
    }
}

/// The same hand with its wrist cut open and every twentieth triangle gone.
fn hand_with_holes(whole: &Rig) -> Rig {
    let mesh = whole.mesh();
    let wrist = whole.rest_pose().world_from_joint[0].translation;
    let tip = mesh
        .positions()
        .iter()
        .map(|p| p.as_dvec3())
        .fold(wrist, |tip, p| if p.distance(wrist) > tip.distance(wrist) { p } else { tip });
    let along =
        |vertex: u32| (mesh.positions()[vertex as usize].as_dvec3() - wrist).dot((tip - wrist).normalize());
    let lowest = (0..mesh.vertex_count() as u32).map(along).fold(f64::INFINITY, f64::min);
    let at_wrist = |triangle: &[u32; 3]| triangle.iter().all(|&v| along(v) < lowest + 0.02 * mesh.size());
    let cap = mesh.triangles().iter().filter(|t| at_wrist(t)).count();
    assert!(cap > 20, "{cap} triangles at the wrist");
    let kept = mesh.triangles().iter().enumerate().filter(|(i, t)| i % 20 != 7 && !at_wrist(t));
    let triangles: Vec<[u32; 3]> = kept.map(|(_, &t)| t).collect();
    assert!(triangles.len() < mesh.triangles().len() * 95 / 100);
    let mesh = Mesh::new(mesh.positions().to_vec(), triangles, Some(mesh.normals().to_vec())).unwrap();
    Rig::new(mesh, whole.skeleton().clone(), whole.weights().clone(), Vec::new()).unwrap()
}

#[test]
fn a_hand_with_holes_is_bent_and_learnt_like_a_whole_one() {
    let whole = hand(3500).unwrap();
    let sampling = SamplingParams {
        per_degree: 2,
        corner_shares: Vec::new(),

        validation: 3,
        ..SamplingParams::default()
    };
    let mut params = SimulationParams { contact: None, ..SimulationParams::default() };
    params.tissue.fill.most_cells = 1_200;
    let rigs = [whole.rig.clone(), Arc::new(hand_with_holes(&whole.rig))];
    let [of_whole, of_holes] = rigs.map(|rig| {
        let jobs = jobs(Articulation { rig: &rig, degrees: &whole.degrees_of_freedom }, &sampling, &[]);
        let simulation = Simulation::new(rig.clone(), &jobs, &[], &params, &Unwatched).unwrap();
        let results = with_threads(&simulation, &jobs, 2);
        let set = |purpose: Purpose| {
            let poses = results.iter().flat_map(|result| &result.poses).filter(|p| p.purpose == purpose);
            let examples = poses.map(|pose| {
                assert_eq!(pose.quality.fault(&QualityLimits::default()), None, "{}", pose.name);
                let (name, pose, positions) = (pose.name.clone(), pose.pose.clone(), pose.positions.clone());
                Example { name, pose, positions, normals: None, inverted: None }
            });
            ExampleSet::new(rig.clone(), examples.collect()).unwrap()
        };
        let (training, validation) = (set(Purpose::Training), set(Purpose::Validation));
        let model = Arc::new(
            fit_examples(&training, &Base::default(), &EigenSkinParams::default().into(), &Unwatched)
                .unwrap()
                .model,
        );
        let error = evaluate_against(&model, &validation, &Unwatched).unwrap().relative_error.unwrap();
        (training, error)
    });
    // The shapes differ by a small part of what skinning misses.
    let plain = Model::without_corrections(whole.rig.clone(), BaseSkinning::LinearBlend);
    let skinning = evaluate_against(&Arc::new(plain), &of_whole.0, &Unwatched).unwrap().skinning.rmse;
    let shapes = |set: &ExampleSet| -> Vec<Vec3> {
        set.examples().iter().flat_map(|example| example.positions.clone()).collect()
    };
    let (a, b) = (shapes(&of_whole.0), shapes(&of_holes.0));
    assert_eq!(a.len(), b.len());
    let squares: f64 = a.iter().zip(&b).map(|(a, b)| f64::from(a.distance_squared(*b))).sum();
    let share = (squares / a.len() as f64).sqrt() / skinning;
    println!("difference {share:.3} of skinning's error; held out {:.3} and {:.3}", of_whole.1, of_holes.1);
    assert!(share < 0.2 && of_holes.1 < 0.6 && (of_holes.1 - of_whole.1).abs() < 0.05);
}
