//! The job that simulates training poses: values in, values out; kept jobs; and how it ends early.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use eigenskin::articulation::NamedPose;
use eigenskin::characters::arm;
use eigenskin::gltf::ReadOptions;
use eigenskin::gltf::RigFile;
use eigenskin::io::{read_example_list, write_examples};
use eigenskin::jobs::simulate::{
    JointAxis, JointRange, JointRanges, PartsError, PartsStore, PoseSettings, Simulate, SimulateError,
    SimulateInputs, SimulateSettings, TissueSettings, WantedPoses,
};
use eigenskin::pose::Pose;
use eigenskin::progress::{Cancelled, Progress, Step, Unwatched};
use eigenskin::rig_source::RigSource;
use eigenskin::sim::jobs::Purpose;
use serde_json::{Value, json};

/// Only the elbow of the built-in arm bends, in three poses to one side; two random ones to validate with.
fn bent_arm() -> Simulate {
    let flex = JointRange { axis: JointAxis::Flex, lowest: 0.0, highest: 70.0 };
    let poses = PoseSettings {
        per_degree: 3,
        validation_poses: 2,
        ranges: JointRanges::from([("forearm".to_string(), vec![flex])]),
        locked: ["upper-arm", "forearm-twist", "hand"].map(String::from).into(),
        ..PoseSettings::default()
    };
    let tissue = TissueSettings { max_cells: 400, ..TissueSettings::default() };
    let settings = SimulateSettings { poses, tissue, ..SimulateSettings::default() };
    let file = RigFile::from_rig(arm(400).unwrap().rig, "arm").unwrap();
    Simulate { file, poses: WantedPoses::WithinRanges, settings }
}

/// Ends the work at a step, and counts how often it is asked.
struct EndsAt(usize, AtomicUsize);

impl EndsAt {
    fn step(step: usize) -> Self {
        Self(step, AtomicUsize::new(0))
    }
}

impl Progress for EndsAt {
    fn step(&self, _: Step<'_>) -> Result<(), Cancelled> {
        if self.1.fetch_add(1, Ordering::Relaxed) + 1 >= self.0 { Err(Cancelled) } else { Ok(()) }
    }
}

/// Names of what is in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn an_arm_in_memory_becomes_examples_in_memory() {
    let job = bent_arm();
    let outcome = job.run(&Unwatched).unwrap();
    assert_eq!((outcome.count(Purpose::Training), outcome.count(Purpose::Validation)), (3, 2));
    let training = outcome.examples(|purpose, _| purpose == Purpose::Training).unwrap();
    assert_eq!((training.len(), training.rig()), (3, job.file.rig()));
    let record = outcome.record(|purpose, _| purpose == Purpose::Training);
    let named = |index: usize| (record.poses[index].name.as_str(), &*training.examples()[index].name);
    assert!((0..3).all(|index| named(index).0 == named(index).1));
    assert_eq!((record.poses.len(), record.cubes, record.contact), (3, outcome.plan.cells, true));

    // Results have the names they always had.
    let value = serde_json::to_value(&outcome).unwrap();
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(keys(&value), "plan seconds dropped poses");
    assert_eq!(keys(&value["plan"]), "degrees_of_freedom cells edge unknowns jobs");
    assert_eq!(keys(&value["plan"]["degrees_of_freedom"][0]), "joint axis lowest_deg highest_deg");
    assert_eq!(
        keys(&value["poses"][0]),
        "name smallest_volume inverted stable volume penetration jump newton_steps contact_steps settled"
    );
    assert_eq!(value["dropped"], json!([]));

    // The same poses, given, have the same shapes.
    let pose = |index: usize| {
        let example = &training.examples()[index];
        NamedPose { name: example.name.clone(), pose: example.pose.clone() }
    };
    let given = Simulate { poses: WantedPoses::These((0..3).map(pose).collect()), ..job };
    let again = given.run(&Unwatched).unwrap();
    assert!(again.plan.degrees_of_freedom.is_empty() && again.plan.jobs == outcome.plan.jobs[..1]);
    let size = training.rig().mesh().size() as f32;
    for (kept, before) in again.kept.iter().zip(training.examples()) {
        let apart = kept.example.positions.iter().zip(&before.positions).map(|(a, b)| a.distance(*b));
        assert!(apart.fold(0.0, f32::max) < 1e-4 * size, "{}", before.name);
    }
}

#[test]
fn settings_go_through_json() {
    let settings = bent_arm().settings;
    let text = serde_json::to_string(&settings).unwrap();
    assert!(text.contains(r#""ranges":{"forearm":[{"axis":"flex","lowest":0.0,"highest":70.0}]}"#), "{text}");
    assert_eq!(serde_json::from_str::<SimulateSettings>(&text).unwrap(), settings);
    assert_eq!(serde_json::from_str::<SimulateSettings>("{}").unwrap(), SimulateSettings::default());
    let misspelt = serde_json::from_str::<SimulateSettings>(r#"{ "tissue": { "max_cels": 5 } }"#);
    assert!(misspelt.unwrap_err().to_string().contains("max_cels"));
}

#[test]
fn what_cannot_be_simulated_is_named() {
    let with = |change: &dyn Fn(&mut SimulateSettings)| {
        let mut job = bent_arm();
        change(&mut job.settings);
        job.run(&Unwatched).unwrap_err()
    };
    let bad = |change: &dyn Fn(&mut SimulateSettings)| match with(change) {
        SimulateError::BadSetting { name, .. } => name,
        error => panic!("{error}"),
    };
    assert_eq!(bad(&|settings| settings.tissue.cell_size = Some(-1.0)), "cell_size");
    assert_eq!(bad(&|settings| settings.tissue.max_cells = 3), "max_cells");
    assert_eq!(bad(&|settings| settings.tissue.bone_radius = f64::NAN), "bone_radius");
    assert_eq!(bad(&|settings| settings.tissue.gap = -1.0), "gap");
    assert_eq!(bad(&|settings| settings.poses.range_share = 2.0), "range_share");
    assert_eq!(bad(&|settings| settings.threads = Some(0)), "threads");
    let error = with(&|settings| settings.exclude = vec!["hat".to_string()]);
    assert!(matches!(&error, SimulateError::UnknownPart { name, .. } if name == "hat"), "{error}");
    let error = with(&|settings| settings.poses.locked.push("forearm".to_string()));
    assert!(error.to_string().contains("\"forearm\" has a range and is locked"), "{error}");
    let error = with(&|settings| settings.tissue.poisson = 0.5);
    assert!(matches!(error, SimulateError::Simulation(_)) && error.to_string().contains("0.499"), "{error}");
    // A front end says by which option, argument or button: no message here may.
    assert!(!format!("{}", SimulateError::NoPoses).contains("--"));
}

#[test]
fn work_that_is_ended_leaves_whole_jobs_to_go_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut job = bent_arm();
    job.settings.threads = Some(1);
    assert!(matches!(job.run(&EndsAt::step(1)), Err(SimulateError::Cancelled(_))));

    let plan = job.plan(job.jobs(&Unwatched).unwrap(), &Unwatched).unwrap();
    let store = PartsStore::create(path("whole.parts"), &plan).unwrap();
    let patient = EndsAt::step(usize::MAX);
    let whole = plan.run(Some(&store), &patient).unwrap();
    whole.write(path("whole.glb"), path("whole.validation.glb")).unwrap();
    store.remove().unwrap();
    assert_eq!(names(folder.path()), ["whole.glb", "whole.validation.glb"]);

    let steps = patient.1.into_inner();
    let mut ended_between_jobs = false;
    for share in [0.3, 0.8, 0.99] {
        let store = PartsStore::open(path("parts"), &plan).unwrap();
        let ended = plan.run(Some(&store), &EndsAt::step((share * steps as f64) as usize));
        assert!(matches!(ended, Err(SimulateError::Cancelled(_))), "{share}");
        let parts = names(&path("parts"));
        let (jobs, others): (Vec<_>, Vec<_>) = parts.iter().partition(|name| name.starts_with("job-"));
        assert_eq!(others, ["plan.json"]);
        assert!(jobs.chunks(2).all(|pair| {
            let [glb, json] = pair else { return false };
            glb.strip_suffix(".glb").is_some_and(|job| json.strip_suffix(".json") == Some(job))
        }));
        ended_between_jobs |= !jobs.is_empty();
        if share > 0.9 {
            let error = PartsStore::create(path("parts"), &plan).unwrap_err();
            assert!(matches!(error, PartsError::EarlierRun { .. }), "{error}");
            let outcome = plan.run(Some(&store), &Unwatched).unwrap();
            outcome.write(path("parts.glb"), path("parts.validation.glb")).unwrap();
            store.remove().unwrap();
        } else {
            store.remove().unwrap();
        }
    }
    assert!(ended_between_jobs);
    let bytes = |name: &str| std::fs::read(path(name)).unwrap();
    assert_eq!(bytes("parts.glb"), bytes("whole.glb"));
    assert_eq!(bytes("parts.validation.glb"), bytes("whole.validation.glb"));
    assert_eq!(names(folder.path()).len(), 4);
}

#[test]
fn a_store_belongs_to_one_plan() {
    let folder = tempfile::tempdir().unwrap();
    let mut job = bent_arm();
    let plan = job.plan(job.jobs(&Unwatched).unwrap(), &Unwatched).unwrap();
    let store = PartsStore::create(folder.path().join("parts"), &plan).unwrap();
    assert!(matches!(
        plan.run_job(3, &store, &Unwatched),
        Err(SimulateError::NoSuchJob { job: 3, count: 3 })
    ));
    let solved = plan.run_job(2, &store, &Unwatched).unwrap();
    assert_eq!(serde_json::to_value(&solved).unwrap(), json!({ "job": 2, "poses": 1, "failed": 0 }));
    assert_eq!(names(&folder.path().join("parts")), ["job-0002.glb", "job-0002.json", "plan.json"]);
    job.settings.tissue.poisson = 0.4;
    let other = job.plan(job.jobs(&Unwatched).unwrap(), &Unwatched).unwrap();
    let refused = PartsStore::open(folder.path().join("parts"), &other).unwrap_err();
    assert!(matches!(refused, PartsError::OtherSettings { .. }), "{refused}");
}

/// Elbow and hand of the built-in arm bend, to one pose on each side and to four of both.
fn arm_of_two_joints() -> Simulate {
    let range = |axis, lowest, highest| vec![JointRange { axis, lowest, highest }];
    let mut job = bent_arm();
    job.settings.poses = PoseSettings {
        per_degree: 2,
        multi_joint_poses: 4,
        validation_poses: 2,
        ranges: JointRanges::from([
            ("forearm".to_string(), range(JointAxis::Flex, 0.0, 70.0)),
            ("hand".to_string(), range(JointAxis::X, -20.0, 30.0)),
        ]),
        locked: ["upper-arm", "forearm-twist"].map(String::from).into(),
        ..PoseSettings::default()
    };
    job
}

#[test]
fn more_poses_are_added_and_nothing_else_changes() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut job = arm_of_two_joints();
    job.settings.threads = Some(2);
    let first = job.run(&Unwatched).unwrap();
    first.write(path("set.glb"), path("validation.glb")).unwrap();
    let read = |name: &str| read_example_list(path(name), &ReadOptions::default()).unwrap().1;

    let more = |name: &str, count| {
        let inputs = SimulateInputs {
            rig: RigSource::new(path(name)),
            more: Some(count),
            ..SimulateInputs::default()
        };
        Simulate::open(&inputs, SimulateSettings::default()).map(|(job, _)| job)
    };
    let again = more("set.glb", 3).unwrap();
    // As it was simulated before, on as many threads as now.
    let settings = |job: &Simulate| SimulateSettings { threads: None, ..job.settings.clone() };
    assert_eq!(settings(&again), settings(&job));
    let outcome = again.run(&Unwatched).unwrap();
    assert_eq!(outcome.count(Purpose::Training) + outcome.dropped.len(), 3);
    assert_eq!((outcome.count(Purpose::Training), outcome.count(Purpose::Validation)), (3, 0));
    // Into the same file, as the examples are edited.
    std::fs::copy(path("set.glb"), path("before.glb")).unwrap();
    let written = outcome.write(path("set.glb"), path("none.glb")).unwrap();
    assert_eq!((written.training, written.validation), (2 + 2 + 4 + 3, 0));
    assert_eq!(names(folder.path()), ["before.glb", "set.glb", "validation.glb"]);

    let (old, new) = (read("before.glb"), read("set.glb"));
    assert_eq!(new.set.len(), old.set.len() + 3);
    for (kept, before) in new.set.examples().iter().zip(old.set.examples()) {
        assert_eq!(kept, before, "{}", before.name);
    }
    let told = |list: &eigenskin::gltf::ExampleList| list.simulation.clone().unwrap();
    assert_eq!(told(&new).settings, told(&old).settings);
    assert_eq!(told(&new).poses[..8], told(&old).poses);
    let added: Vec<&str> = new.set.examples()[8..].iter().map(|e| e.name.as_str()).collect();
    assert_eq!(added, ["together-4", "together-5", "together-6"]);
    assert_eq!(told(&new).poses[8..].iter().map(|p| p.name.as_str()).collect::<Vec<_>>(), added);

    // All poses differ, those to validate with too.
    let validation = read("validation.glb");
    let poses: Vec<&Pose> =
        new.set.examples().iter().chain(validation.set.examples()).map(|e| &e.pose).collect();
    for (place, pose) in poses.iter().enumerate() {
        let differs = |other: &&Pose| {
            let pairs = pose.world_from_joint.iter().zip(&other.world_from_joint);
            pairs.into_iter().any(|(a, b)| !a.abs_diff_eq(*b, 1e-3))
        };
        assert!(poses[..place].iter().all(differs), "{place}");
    }

    // The next ones are others again.
    let next = more("set.glb", 2).unwrap().jobs(&Unwatched).unwrap();
    let stops: Vec<&str> = next.jobs.iter().flat_map(|job| &job.stops).map(|s| s.name.as_str()).collect();
    assert_eq!(stops, ["together-7", "together-8"]);
    assert!(next.jobs.iter().all(|job| job.purpose == Purpose::Training));

    // What cannot be gone on with is said.
    assert!(matches!(more("set.glb", 0), Err(SimulateError::BadSetting { name: "more", .. })));
    write_examples(path("plain.glb"), &job.file, &old.set.for_rig(job.file.rig()).unwrap()).unwrap();
    let error = more("plain.glb", 1).unwrap_err().to_string();
    assert!(error.contains("plain.glb cannot get more poses: it does not say how"), "{error}");
    eigenskin::io::write_rig(path("rig.glb"), &job.file).unwrap();
    let error = more("rig.glb", 1).unwrap_err().to_string();
    assert!(error.contains("rig.glb has no examples to go on with"), "{error}");
    let mut other = more("set.glb", 1).unwrap();
    other.settings.tissue.max_cells = 200;
    let error = other.run(&Unwatched).unwrap_err();
    assert!(matches!(error, SimulateError::OtherTissue { .. }), "{error}");
}
