//! Files of every version ever released stay readable, and mean what they meant.
//!
//! `fixtures/versions/VERSION` has files as that version wrote or read them, and beside each FILE what
//! it meant then: `FILE.expected.json`. Nothing there is ever written again, see its README. All that this test
//! needs is in this folder.

mod differences;
mod expectation;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use eigenskin_core::deformers::{Base, BlackBox, BlackBoxError};
use eigenskin_core::evaluate::Evaluator;
use eigenskin_core::examples::Example;
use eigenskin_core::glam::{DVec3, Vec3};
use eigenskin_core::model::Model;
use eigenskin_core::pose::Pose;
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::BaseSkinning;
use eigenskin_gltf::{FileKind, ReadOptions, RigFile};
use eigenskin_io::pose_file::read_poses;
use eigenskin_io::{
    Bvh, file_kind, read_box, read_cache, read_example_list, read_examples, read_model, read_obj_folder,
    read_rig,
};

use differences::Differences;
use expectation::*;

/// The end of an expectation's file name.
const EXPECTED: &str = ".expected.json";
/// The folder with what only the command reads: tested by its own test of this name.
const OF_THE_COMMAND: &str = "settings";

/// Stands for a program that a model names: no test starts the program.
struct StandIn;

impl BlackBox for StandIn {
    fn deform(&mut self, pose: &Pose, points: &[DVec3], out: &mut [DVec3]) -> Result<(), BlackBoxError> {
        let place = pose.world_from_joint[0].translation;
        for (point, out) in points.iter().zip(out) {
            *out = DVec3::new(point.x, 1.25 * point.y, point.z - 0.1 * point.x) + place;
        }
        Ok(())
    }
}

/// What the file is now, asked for the poses of `asked`.
fn found(path: &Path, asked: &Expectation) -> Result<Expectation, String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let beside = |name: &str| {
        read_rig(path.with_file_name(name), &ReadOptions::default()).map_err(|error| text(&error))
    };
    let (size, content) = match &asked.content {
        Content::Rig { rig } => {
            kind_is(path, FileKind::Rig)?;
            let (size, rig) = character(path, rig)?;
            (size, Content::Rig { rig })
        }
        Content::Examples { rig, .. } => {
            kind_is(path, FileKind::Examples)?;
            let (size, rig) = character(path, rig)?;
            let (_, list) = read_example_list(path, &ReadOptions::default()).map_err(|e| text(&e))?;
            let (_, open) = read_examples(path, &ReadOptions::default()).map_err(|e| text(&e))?;
            let shown = |example: &Example| shown(list.set.rig(), example, list.is_muted(&example.name));
            let content = Content::Examples {
                rig,
                all: list.set.examples().iter().map(shown).collect::<Result<_, _>>()?,
                learnt: open.examples().iter().map(|example| example.name.clone()).collect(),
                simulation: list.simulation.as_ref().map(|record| serde_json::to_value(record).unwrap()),
            };
            (size, content)
        }
        Content::Model { rig, shapes, .. } => {
            kind_is(path, FileKind::Model)?;
            let (size, rig) = character(path, rig)?;
            let (_, model) = read_model(path).map_err(|e| text(&e))?;
            let base = model.base().name().to_string();
            let shapes = shapes_in(model, shapes)?;
            (size, Content::Model { rig, base, shapes })
        }
        Content::Box { rig, shapes, .. } => {
            let file = beside(rig)?;
            let read = read_box(path).map_err(|e| text(&e))?;
            let programs = read.externals.iter().map(|(name, command)| (name.clone(), command.words.clone()));
            let programs: BTreeMap<_, _> = programs.collect();
            let name = read.stack.name.clone();
            let shapes = if programs.is_empty() {
                let model =
                    Model::without_corrections(file.rig().clone(), Base::Deformers(read.stack.into()));
                shapes_in(model, shapes)?
            } else {
                Vec::new()
            };
            (file.rig().mesh().size(), Content::Box { name, rig: rig.clone(), programs, shapes })
        }
        Content::Poses { rig, .. } => {
            let file = beside(rig)?;
            let poses = read_poses(path, file.rig()).map_err(|e| text(&e))?;
            let entry = |pose: &Pose| PoseEntry::new(file.rig(), pose);
            let poses = poses.iter().map(|named| (named.name.clone(), entry(&named.pose))).collect();
            (file.rig().mesh().size(), Content::Poses { rig: rig.clone(), poses })
        }
        Content::Motion { .. } => {
            let motion = Bvh::read(path).map_err(|e| text(&e))?;
            let frame = |index: usize| {
                let time = index as f64 * motion.frame_time();
                (time, motion.pose_at(time).positions.iter().map(DVec3::to_array).collect())
            };
            let joints = motion.joints().iter().map(|joint| joint.name.clone()).collect();
            (asked.size, Content::Motion { joints, frames: (0..motion.frame_count()).map(frame).collect() })
        }
        Content::Frames { .. } => {
            let cache = read_cache(path).map_err(|e| text(&e))?;
            (asked.size, Content::Frames { frames: cache.frames.iter().map(|frame| arrays(frame)).collect() })
        }
        Content::Frame { .. } => {
            let cache = read_obj_folder(path.parent().unwrap()).map_err(|e| text(&e))?;
            let name = path.file_stem().unwrap().to_str().unwrap();
            let names = cache.names.unwrap_or_default();
            let frame = names.iter().position(|found| found.trim_end_matches(".obj") == name);
            let frame = frame.ok_or_else(|| format!("no frame {name:?} among {names:?}"))?;
            (asked.size, Content::Frame { positions: arrays(&cache.frames[frame]) })
        }
    };
    Ok(Expectation { size, content })
}

fn kind_is(path: &Path, wanted: FileKind) -> Result<(), String> {
    match file_kind(path) {
        Ok(kind) if kind == wanted => Ok(()),
        Ok(kind) => Err(format!("is {}, not {}", kind.description(), wanted.description())),
        Err(error) => Err(error.to_string()),
    }
}

/// The rig of a file, and its size.
fn character(path: &Path, asked: &Character) -> Result<(f64, Character), String> {
    let file: RigFile = read_rig(path, &ReadOptions::default()).map_err(|error| error.to_string())?;
    let rig = file.rig();
    let joints = rig.skeleton().joints();
    let clips = file.clips().iter().zip(asked.clips.iter().map(Some).chain(std::iter::repeat(None)));
    let clips = clips.map(|(clip, asked)| {
        let times = asked.into_iter().flat_map(|(_, samples)| samples.iter().map(|(time, _)| *time));
        let samples = times.map(|time| (time, PoseEntry::new(rig, &file.sample(clip, time)))).collect();
        (clip.name.clone(), samples)
    });
    let plain = Model::without_corrections(rig.clone(), BaseSkinning::LinearBlend);
    let plain = shapes_of(plain, std::slice::from_ref(&asked.plain.0))?.remove(0);
    let character = Character {
        joints: joints
            .iter()
            .map(|j| (j.name.clone(), j.reference.map(|r| joints[r].name.clone())))
            .collect(),
        controls: rig.controls().iter().map(|control| (control.name.clone(), control.default)).collect(),
        triangles: rig.mesh().triangles().len(),
        plain: (plain.pose, plain.positions),
        clips: clips.collect(),
    };
    Ok((rig.mesh().size(), character))
}

/// What a model looks like in the poses of shapes.
fn shapes_in(model: Model, asked: &[Shape]) -> Result<Vec<Shape>, String> {
    shapes_of(model, &asked.iter().map(|shape| shape.pose.clone()).collect::<Vec<_>>())
}

/// What a model looks like in poses.
fn shapes_of(model: Model, asked: &[PoseEntry]) -> Result<Vec<Shape>, String> {
    let needs_a_program = matches!(model.base(), Base::Deformers(stack) if stack.has_external());
    let rig = model.rig().clone();
    let mut evaluator = Evaluator::new(Arc::new(model));
    let names = PoseEntry::new(&rig, &rig.rest_pose());
    let (joints, controls) = (keys(&names.joints), keys(&names.controls));
    let shape = |asked: &PoseEntry| {
        if joints != keys(&asked.joints) || controls != keys(&asked.controls) {
            return Err(format!("has other joints or controls: {joints:?}, {controls:?}"));
        }
        let pose = asked.pose(&rig);
        let mut positions = vec![Vec3::ZERO; rig.vertex_count()];
        let mut normals = positions.clone();
        if needs_a_program {
            let through = evaluator.evaluate_through(&mut StandIn, &pose, &mut positions, Some(&mut normals));
            through.map_err(|error| error.to_string())?;
        } else {
            evaluator.evaluate(&pose, &mut positions, Some(&mut normals));
        }
        Ok(Shape {
            pose: asked.clone(),
            weights: evaluator.coordinates().to_vec(),
            positions: arrays(&positions),
            normals: arrays(&normals),
        })
    };
    asked.iter().map(shape).collect()
}

fn shown(rig: &Arc<Rig>, example: &Example, muted: bool) -> Result<Shown, String> {
    let inverted = example.inverted.as_ref().map(|inverted| {
        let Base::Deformers(stack) = &inverted.base else {
            return Err("is pulled through no chain".to_string());
        };
        let mut chain = stack.bind(rig).map_err(|error| error.to_string())?;
        let rest = rig.mesh().positions().iter().zip(&inverted.deltas);
        let rest: Vec<DVec3> = rest.map(|(rest, delta)| rest.as_dvec3() + delta.as_dvec3()).collect();
        let mut posed = vec![DVec3::ZERO; rest.len()];
        chain.deform(&example.pose, &rest, &mut posed).map_err(|error| error.to_string())?;
        Ok(Pulled {
            base: inverted.base.name().to_string(),
            deltas: arrays(&inverted.deltas),
            residuals: arrays(&inverted.residuals),
            through: posed.iter().map(|p| p.as_vec3().to_array()).collect(),
        })
    });
    Ok(Shown {
        name: example.name.clone(),
        muted,
        shape: Shape {
            pose: PoseEntry::new(rig, &example.pose),
            weights: Vec::new(),
            positions: arrays(&example.positions),
            normals: example.normals.as_ref().map(|normals| arrays(normals)).unwrap_or_default(),
        },
        inverted: inverted.transpose()?,
    })
}

fn versions() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/versions")
}

/// All files below a folder that this test looks at, sorted.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with(OF_THE_COMMAND) {
            files.extend(files_below(&path));
        }
        // Documents and scripts tell how the others were made.
        let is_told = path.extension().is_some_and(|e| ["md", "sh", "py"].iter().any(|told| e == *told));
        if path.is_file() && !is_told {
            files.push(path);
        }
    }
    files.sort();
    files
}

fn is_expectation(path: &Path) -> bool {
    path.to_str().unwrap().ends_with(EXPECTED)
}

fn expectation_of(path: &Path) -> PathBuf {
    PathBuf::from(format!("{}{EXPECTED}", path.to_str().unwrap()))
}

fn stored(path: &Path) -> Expectation {
    let text = std::fs::read_to_string(expectation_of(path)).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_file_has_an_expectation_and_every_expectation_a_file() {
    let (expectations, files): (Vec<_>, Vec<_>) =
        files_below(&versions()).into_iter().partition(|path| is_expectation(path));
    assert!(
        files.iter().any(|path| path.starts_with(versions().join("0.1"))),
        "no files in {:?}",
        versions()
    );
    let wanted: BTreeSet<PathBuf> = files.iter().map(|path| expectation_of(path)).collect();
    let there: BTreeSet<PathBuf> = expectations.into_iter().collect();
    let missing: Vec<_> = wanted.difference(&there).collect();
    let orphans: Vec<_> = there.difference(&wanted).collect();
    assert!(missing.is_empty(), "without an expectation, these would not be tested: {missing:?}");
    assert!(orphans.is_empty(), "the files of these expectations are gone: {orphans:?}");
}

#[test]
fn every_file_of_every_version_means_what_it_meant() {
    let mut broken = Vec::new();
    for path in files_below(&versions()).into_iter().filter(|path| !is_expectation(path)) {
        let wanted = stored(&path);
        let differences = match found(&path, &wanted) {
            Ok(found) => Differences::between(&wanted, &found),
            Err(error) => vec![error],
        };
        if !differences.is_empty() {
            let (count, name) =
                (differences.len(), path.strip_prefix(versions()).unwrap().display().to_string());
            broken.push(format!("{name}: {} ({count} differences)", differences[..count.min(3)].join("; ")));
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn something_moves_in_every_model() {
    for path in files_below(&versions()).into_iter().filter(|path| !is_expectation(path)) {
        if let Content::Model { shapes, .. } = stored(&path).content {
            let weights = shapes.iter().flat_map(|shape| &shape.weights);
            let largest = weights.fold(0f32, |most, weight| weight.abs().max(most));
            assert!(largest > 1e-3 && shapes.len() > 2, "{}: {largest}", path.display());
        }
    }
}

#[test]
fn what_is_a_little_off_is_seen() {
    let path = versions().join("0.1/models/eigenskin.glb");
    let wanted = stored(&path);
    let differs = |change: &dyn Fn(&mut Shape)| {
        let mut changed = wanted.clone();
        let Content::Model { shapes, .. } = &mut changed.content else { panic!("no model") };
        change(&mut shapes[1]);
        !Differences::between(&wanted, &changed).is_empty()
    };
    assert!(!differs(&|_| {}));
    let step = (wanted.size * 2e-6) as f32;
    assert!(differs(&|shape| shape.positions[7][1] += step));
    assert!(differs(&|shape| shape.positions[7][1] = f32::NAN));
    assert!(differs(&|shape| shape.weights[0] += 2e-5));
    assert!(differs(&|shape| {
        let normal = Vec3::from_array(shape.normals[3]);
        shape.normals[3] = (normal + 0.002 * normal.any_orthonormal_vector()).normalize().to_array();
    }));
    assert!(differs(&|shape| shape.positions.truncate(5)));
    assert!(differs(&|shape| shape.weights.truncate(1)));

    let set = versions().join("0.1/examples/edited.glb");
    let wanted = stored(&set);
    let differs = |change: &dyn Fn(&mut Shown)| {
        let mut changed = wanted.clone();
        let Content::Examples { all, .. } = &mut changed.content else { panic!("no example set") };
        change(&mut all[1]);
        !Differences::between(&wanted, &changed).is_empty()
    };
    assert!(!differs(&|_| {}));
    assert!(differs(&|example| example.name.push('!')));
    assert!(differs(&|example| example.muted = !example.muted));
    assert!(differs(&|example| example.shape.positions[0][2] += 1e-4));
    assert!(differs(&|example| example.shape.pose.joints.values_mut().last().unwrap()[0][0] += 1e-5));
}
