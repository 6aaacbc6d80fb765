//! Sets whose shapes stay on disk give the same models as sets in memory.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use eigenskin::example_source::ExampleSource;
use eigenskin::jobs::fit::{Fit, FitInputs, FitJobError, FitSettings, ManyModels, Wanted};
use eigenskin::large_set::{FrameFile, shape_bytes};
use eigenskin::large_set::{LargeSet, LargeSetError, Scratch};
use eigenskin_characters::{arm, truth::true_shape};
use eigenskin_core::evaluate::Evaluator;
use eigenskin_core::examples::ExampleSet;
use eigenskin_core::glam::Vec3;
use eigenskin_core::model::Model;
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::{Cancelled, Progress, Step, Unwatched};
use eigenskin_core::skinning::BaseSkinning;
use eigenskin_fit::displacements::Observations;
use eigenskin_fit::method::{
    EigenSkinParams, Limits, Method, ParameterizationParams, PatchesParams, PrototypeParams, PsdParams, fit,
};
use eigenskin_io::vertex_cache::{write_mdd, write_pc2};
use eigenskin_io::{examples_from_clip, read_cache};

use crate::support::compare::furthest;
use crate::support::numpy::{npy, write_npz};
use crate::support::scene::{Scene, reordered, shuffled};

/// Poses of one joint and so many of several, and others to look at.
fn scene_of(many_joints: usize) -> (Scene, Vec<Pose>) {
    let character = arm(900).unwrap();
    let mut poses = character.single_joint_poses(3);
    poses.extend(character.multi_joint_poses(many_joints, 5));
    let poses: Vec<Pose> = poses.into_iter().map(|named| named.pose).collect();
    let shapes = poses.iter().map(|pose| true_shape(&character, pose)).collect();
    let others = character.multi_joint_poses(5, 99).into_iter().map(|named| named.pose).collect();
    (Scene::new(character.rig.clone(), poses, shapes), others)
}

fn scene() -> (Scene, Vec<Pose>) {
    scene_of(24)
}

fn large(scene: &Scene, path: &Path, scratch: &Scratch) -> LargeSet {
    let shapes = FrameFile::open(path, scratch.folder()).unwrap();
    LargeSet::from_clip(&scene.file, "poses", shapes, 0).unwrap().0
}

/// Positions that a model shows, and a tenth of its normals, which are of unit length.
fn shown(model: Model, poses: &[Pose]) -> Vec<Vec3> {
    let mut evaluator = Evaluator::new(Arc::new(model));
    let mut all = Vec::new();
    for pose in poses {
        let mut positions = vec![Vec3::ZERO; evaluator.model().rig().vertex_count()];
        let mut normals = positions.clone();
        evaluator.evaluate(pose, &mut positions, Some(&mut normals));
        all.extend(positions);
        all.extend(normals.into_iter().map(|normal| 0.1 * normal));
    }
    all
}

/// The scene in every format that can be left on disk.
fn files(scene: &Scene, folder: &Path) -> Vec<PathBuf> {
    let frames = reordered(&scene.frames(), &shuffled(scene.rest.len(), 3));
    let path = |name: &str| folder.join(name);
    write_pc2(path("a.pc2"), &frames, 0.0, 1.0).unwrap();
    let times: Vec<f32> = (0..frames.len()).map(|frame| frame as f32).collect();
    write_mdd(path("a.mdd"), &times, &frames).unwrap();
    std::fs::write(path("a.npy"), npy(&frames)).unwrap();
    write_npz(&path("deflated.npz"), &[("truth", npy(&frames))]);
    let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    let mut zip = zip::ZipWriter::new(std::fs::File::create(path("stored.npz")).unwrap());
    zip.start_file("truth.npy", stored).unwrap();
    std::io::Write::write_all(&mut zip, &npy(&frames)).unwrap();
    zip.finish().unwrap();
    ["a.pc2", "a.mdd", "a.npy", "deflated.npz", "stored.npz"].map(path).to_vec()
}

fn in_memory_seen(set: &ExampleSet) -> Observations {
    Observations::of(set, &BaseSkinning::LinearBlend.into(), false, &Unwatched).unwrap()
}

#[test]
fn every_format_gives_the_model_of_memory() {
    let (scene, others) = scene();
    let folder = tempfile::tempdir().unwrap();
    let limit = 1e-6 * scene.rig().mesh().size();
    let plain = Method::Psd(PsdParams::default());
    let prototypes = Some(PrototypeParams::default());
    let weighted = Method::Psd(PsdParams { prototypes, ..PsdParams::default() });
    // Pose space deformation merged by far, and not at all.
    let methods = [
        (Method::Patches(PatchesParams::default()), None),
        (Method::EigenSkin(EigenSkinParams::default()), None),
        (Method::Parameterization(ParameterizationParams::default()), None),
        (plain.clone(), Some(9)),
        (weighted, Some(30)),
        (plain, None),
    ];
    let mut expected: Option<Vec<Vec<Vec3>>> = None;
    for path in files(&scene, folder.path()) {
        let (in_memory, notes): (ExampleSet, _) =
            examples_from_clip(&scene.file, "poses", &read_cache(&path).unwrap(), 0).unwrap();
        assert_eq!(
            shape_bytes(&path).unwrap(),
            12 * (scene.shapes.len() as u64 + 1) * scene.rest.len() as u64
        );
        let scratch = Scratch::new(&folder.path().join("scratch")).unwrap();
        let shapes = FrameFile::open(&path, scratch.folder()).unwrap();
        let (set, told) = LargeSet::from_clip(&scene.file, "poses", shapes, 0).unwrap();
        assert_eq!(told, notes);
        for (index, example) in in_memory.examples().iter().enumerate() {
            assert_eq!(set.example(index).unwrap(), *example, "{}", path.display());
        }
        let seen = set.observe(BaseSkinning::LinearBlend, false, &scratch, &Unwatched).unwrap();
        let models = |seen: &Observations| -> Vec<Vec<Vec3>> {
            let model = |(method, most): &(Method, Option<usize>)| {
                let model = fit(seen, method, *most, &Unwatched).unwrap().model;
                assert!(model.component_count() <= most.unwrap_or(usize::MAX));
                shown(model, &others)
            };
            methods.iter().map(model).collect()
        };
        let expected = expected.get_or_insert_with(|| models(&in_memory_seen(&in_memory)));
        for (method, (found, expected)) in models(&seen).iter().zip(&*expected).enumerate() {
            let apart = furthest(found, expected);
            assert!(apart <= limit, "{}, method {method}: {apart:e}", path.display());
        }
        drop(seen);
        scratch.remove();
        assert!(!folder.path().join("scratch").exists(), "nothing is left");
    }
}

/// So many poses that components are found by randomised range finding and drivers by least squares.
#[test]
fn many_poses_give_the_model_of_memory() {
    let character = arm(300).unwrap();
    let poses: Vec<Pose> = character.multi_joint_poses(300, 7).into_iter().map(|named| named.pose).collect();
    let shapes = poses.iter().map(|pose| true_shape(&character, pose)).collect();
    let scene = Scene::new(character.rig.clone(), poses, shapes);
    let others: Vec<Pose> = character.multi_joint_poses(5, 99).into_iter().map(|named| named.pose).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pc2");
    write_pc2(&path, &scene.frames(), 0.0, 1.0).unwrap();
    let (in_memory, _) = examples_from_clip(&scene.file, "poses", &read_cache(&path).unwrap(), 0).unwrap();
    let scratch = Scratch::new(&folder.path().join("scratch")).unwrap();
    let set = large(&scene, &path, &scratch);
    let seen = set.observe(BaseSkinning::LinearBlend, false, &scratch, &Unwatched).unwrap();
    assert!(seen.len() > 256, "{}", seen.len());
    let methods = [Method::default(), Method::from(ParameterizationParams::default())];
    let models = |seen: &Observations| {
        methods.each_ref().map(|method| fit(seen, method, None, &Unwatched).unwrap().model)
    };
    let (found, expected) = (models(&seen), models(&in_memory_seen(&in_memory)));
    let limit = 1e-6 * scene.rig().mesh().size();
    for (method, (found, expected)) in found.into_iter().zip(expected).enumerate() {
        let apart = furthest(&shown(found, &others), &shown(expected, &others));
        assert!(apart <= limit, "method {method}: {apart:e}");
    }
}

/// Notes how many poses are safely on disk, each number once.
struct Groups<'a>(&'a Mutex<Vec<usize>>);

impl Progress for Groups<'_> {
    fn step(&self, step: Step<'_>) -> Result<(), Cancelled> {
        let mut steps = self.0.lock().unwrap();
        if step.count.is_some() && steps.last() != Some(&step.done) {
            steps.push(step.done);
        }
        Ok(())
    }
}

/// An interrupted run goes on where it was, and does not read again what it has.
#[test]
fn an_interrupted_run_goes_on() {
    let (scene, others) = scene();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pc2");
    write_pc2(&path, &scene.frames(), 0.0, 1.0).unwrap();
    let fitted = |scratch: &Scratch, steps: &Mutex<Vec<usize>>| {
        let set = large(&scene, &path, scratch);
        let seen = set.observe(BaseSkinning::LinearBlend, false, scratch, &Groups(steps))?;
        let fit = fit(&seen, &Method::default(), None, &Unwatched).unwrap();
        Ok::<_, LargeSetError>(shown(fit.model, &others))
    };
    let whole = Scratch::new(&folder.path().join("whole")).unwrap();
    let steps = Mutex::new(Vec::new());
    let expected = fitted(&whole, &steps).unwrap();
    let count = scene.poses.len();
    assert_eq!(steps.into_inner().unwrap(), [0, 32, count], "{count} poses in groups");

    // As after the first group: the rest of the files is not there.
    let progress = std::fs::read_to_string(whole.folder().join("progress.txt")).unwrap();
    let begun = progress.replace(&format!("\n{count}\n"), "\n32\n");
    assert_ne!(begun, progress);
    std::fs::write(whole.folder().join("progress.txt"), begun).unwrap();
    assert_eq!(Scratch::found(whole.folder()), Some(32));
    let steps = Mutex::new(Vec::new());
    assert!(furthest(&fitted(&whole, &steps).unwrap(), &expected) == 0.0);
    assert_eq!(steps.into_inner().unwrap(), [32, count]);

    // What was pulled back from another file is of no use.
    let mut frames = scene.frames();
    frames[1][0] += Vec3::X * 1e-3;
    std::fs::write(whole.folder().join("progress.txt"), progress).unwrap();
    write_pc2(&path, &frames, 0.0, 1.0).unwrap();
    let steps = Mutex::new(Vec::new());
    assert!(furthest(&fitted(&whole, &steps).unwrap(), &expected) > 0.0);
    assert_eq!(steps.into_inner().unwrap(), [0, 32, count]);
}

/// The job, from files: methods race on some of the shapes; what needs all of them in memory is refused at once.
#[test]
fn methods_race_on_disk_and_what_needs_memory_is_refused() {
    let (scene, _) = scene_of(70);
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    eigenskin_io::write_rig(path("rig.glb"), &scene.file).unwrap();
    write_pc2(path("shapes.pc2"), &scene.frames(), 0.0, 1.0).unwrap();
    let cache = ExampleSource::Cache { path: path("shapes.pc2"), clip: "poses".to_string(), rest_frame: 0 };
    let open = |on_disk: bool, settings: FitSettings| {
        let scratch = path("scratch");
        let inputs = FitInputs { on_disk, scratch, ..FitInputs::new(path("rig.glb"), cache.clone()) };
        Fit::open(&inputs, settings).unwrap()
    };
    let choice = |on_disk| open(on_disk, FitSettings::default()).run(&Unwatched).unwrap().choice.unwrap();
    let (on_disk, in_memory) = (choice(true), choice(false));
    assert!(on_disk.tried.len() > 1);
    assert_eq!(on_disk, in_memory);

    let psd = Wanted::This(Method::Psd(PsdParams::default()));
    let limits = Limits { targets: Some(20), ..Limits::default() };
    let settings = |method: &Wanted, limits: &Limits, leave_one_out| FitSettings {
        method: method.clone(),
        limits: *limits,
        leave_one_out,
        ..FitSettings::default()
    };
    let none = Limits::default();
    let refused = |settings| open(true, settings).run(&StopAtOnce).unwrap_err();
    assert!(matches!(refused(settings(&psd, &none, false)), FitJobError::PsdNeedsLimit));
    for (settings, expected) in [
        (settings(&Wanted::default(), &limits, false), ManyModels::Limits),
        (settings(&psd, &Limits { error: Some(0.1), ..limits }, false), ManyModels::Limits),
        (settings(&psd, &limits, true), ManyModels::LeaveOneOut),
    ] {
        assert!(matches!(refused(settings), FitJobError::NeedsMemory { what } if what == expected));
    }
    let merged = open(true, settings(&psd, &limits, false)).run(&Unwatched).unwrap();
    assert!(merged.fit.model.component_count() <= 10);
}

/// Ends all work when it begins.
struct StopAtOnce;

impl Progress for StopAtOnce {
    fn step(&self, _: Step<'_>) -> Result<(), Cancelled> {
        Err(Cancelled)
    }
}

#[test]
fn what_is_wrong_is_named() {
    let (scene, _) = scene();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut frames = scene.frames();
    frames[7][5].y = f32::NAN;
    write_pc2(path("nan.pc2"), &frames, 0.0, 1.0).unwrap();
    let scratch = Scratch::new(&path("scratch")).unwrap();
    let set = large(&scene, &path("nan.pc2"), &scratch);
    let refused = set.observe(BaseSkinning::LinearBlend, false, &scratch, &Unwatched).unwrap_err();
    let sentence = refused.to_string();
    assert!(sentence.contains("nan.pc2") && sentence.contains("vertex 5 of frame 7"), "{sentence}");

    let whole = std::fs::read(path("nan.pc2")).unwrap();
    std::fs::write(path("short.pc2"), &whole[..whole.len() - 1]).unwrap();
    let sentence = FrameFile::open(&path("short.pc2"), &path("scratch")).unwrap_err().to_string();
    assert!(sentence.contains("short.pc2") && sentence.contains("need more bytes"), "{sentence}");

    std::fs::write(path("taken"), "a file").unwrap();
    let sentence = Scratch::new(&path("taken")).unwrap_err().to_string();
    assert!(sentence.contains("taken") && sentence.contains("another folder"), "{sentence}");

    // Scratch files that vanish while they are used are an error, not a wrong model.
    write_pc2(path("good.pc2"), &scene.frames(), 0.0, 1.0).unwrap();
    let set = large(&scene, &path("good.pc2"), &scratch);
    let seen = set.observe(BaseSkinning::LinearBlend, false, &scratch, &Unwatched).unwrap();
    std::fs::File::options()
        .write(true)
        .open(path("scratch").join("positions.tiles"))
        .unwrap()
        .set_len(100)
        .unwrap();
    let sentence = fit(&seen, &Method::default(), None, &Unwatched).unwrap_err().to_string();
    assert!(sentence.contains("positions.tiles"), "{sentence}");
}
