//! Files of every version ever released stay readable, and mean what they meant.
//!
//! `fixtures/versions/VERSION` has files as that version wrote or read them, and beside each FILE what
//! it meant then: `FILE.expected.json`. Nothing there is ever written again, see its README. All that this test
//! needs is in this one file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use eigenskin_core::deformers::{Base, BlackBox, BlackBoxError};
use eigenskin_core::evaluate::Evaluator;
use eigenskin_core::examples::Example;
use eigenskin_core::glam::{DAffine3, DVec3, Vec3};
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
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Positions, as a share of the size.
const LENGTH: f64 = 1e-6;
/// Normals, in degrees.
const ANGLE: f64 = 0.05;
/// Weights of components (relative to the largest, at least 1), and entries of matrices.
const WEIGHT: f64 = 1e-6;

/// The end of an expectation's file name.
const EXPECTED: &str = ".expected.json";
/// The folder with what only the command reads: tested by its own test of this name.
const OF_THE_COMMAND: &str = "settings";

/// The contents of `FILE.expected.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expectation {
    /// the unit of lengths: diameter of the smallest sphere around the rest shape
    size: f64,
    content: Content,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum Content {
    /// a rig and no more
    Rig { rig: Character },
    /// an example set
    Examples {
        rig: Character,
        /// in their order, muted ones too
        all: Vec<Shown>,
        /// names of those that are learnt from
        learnt: Vec<String>,
        /// how it was simulated
        #[serde(default, skip_serializing_if = "Option::is_none")]
        simulation: Option<Value>,
    },
    /// a model
    Model { rig: Character, base: String, shapes: Vec<Shape> },
    /// a chain of deformers, and what it does to a rig beside it
    Box {
        name: String,
        rig: String,
        /// words of the commands in it, by name
        programs: BTreeMap<String, Vec<String>>,
        /// none with a program
        shapes: Vec<Shape>,
    },
    /// poses by name, for a rig beside it
    Poses { rig: String, poses: Vec<(String, PoseEntry)> },
    /// captured motion: time, places of all joints
    Motion { joints: Vec<String>, frames: Vec<(f64, Vec<[f64; 3]>)> },
    /// shapes, frame by frame
    Frames { frames: Vec<Vec<[f32; 3]>> },
    /// one frame of a folder
    Frame { positions: Vec<[f32; 3]> },
}

/// What every character is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Character {
    /// joint → what its motion is measured against
    joints: BTreeMap<String, Option<String>>,
    /// control → value at rest
    controls: BTreeMap<String, f64>,
    triangles: usize,
    /// plain skinning with the weights that were given: a pose and its positions
    plain: (PoseEntry, Vec<[f32; 3]>),
    /// name, and poses at times
    clips: Vec<(String, Vec<(f64, PoseEntry)>)>,
}

/// A pose and what it looks like.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Shape {
    pose: PoseEntry,
    /// of all layers, one after the other
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    weights: Vec<f32>,
    positions: Vec<[f32; 3]>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    normals: Vec<[f32; 3]>,
}

/// An example.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Shown {
    name: String,
    muted: bool,
    shape: Shape,
    /// pulled back through a chain of this name
    #[serde(default, skip_serializing_if = "Option::is_none")]
    inverted: Option<Pulled>,
}

/// How an example was pulled back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pulled {
    base: String,
    deltas: Vec<[f32; 3]>,
    residuals: Vec<[f32; 3]>,
    /// what the chain makes of rest shape and deltas in the example's pose
    through: Vec<[f32; 3]>,
}

/// Where joints and controls are, by name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PoseEntry {
    /// world matrix in mesh space: three rows of a 3 × 4 matrix on column vectors
    joints: BTreeMap<String, [[f64; 4]; 3]>,
    controls: BTreeMap<String, f64>,
}

impl PoseEntry {
    fn new(rig: &Rig, pose: &Pose) -> Self {
        let joints = rig.skeleton().joints().iter().zip(&pose.world_from_joint);
        let controls = rig.controls().iter().zip(&pose.controls);
        Self {
            joints: joints.map(|(joint, world)| (joint.name.clone(), rows_of(*world))).collect(),
            controls: controls.map(|(control, &value)| (control.name.clone(), value)).collect(),
        }
    }

    fn pose(&self, rig: &Rig) -> Pose {
        Pose {
            world_from_joint: rig
                .skeleton()
                .joints()
                .iter()
                .map(|joint| affine_of_rows(&self.joints[&joint.name]))
                .collect(),
            controls: rig.controls().iter().map(|control| self.controls[&control.name]).collect(),
        }
    }
}

fn rows_of(m: DAffine3) -> [[f64; 4]; 3] {
    let rows = m.matrix3.transpose();
    let row = |r: DVec3, t: f64| [r.x, r.y, r.z, t];
    let t = m.translation;
    [row(rows.x_axis, t.x), row(rows.y_axis, t.y), row(rows.z_axis, t.z)]
}

fn affine_of_rows(rows: &[[f64; 4]; 3]) -> DAffine3 {
    let column = |c: usize| DVec3::new(rows[0][c], rows[1][c], rows[2][c]);
    DAffine3::from_cols(column(0), column(1), column(2), column(3))
}

fn arrays(vectors: &[Vec3]) -> Vec<[f32; 3]> {
    vectors.iter().map(Vec3::to_array).collect()
}

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

/// Collects where two things differ, one sentence each.
struct Differences {
    size: f64,
    sentences: Vec<String>,
}

impl Differences {
    fn between(wanted: &Expectation, found: &Expectation) -> Vec<String> {
        let mut all = Self { size: wanted.size, sentences: Vec::new() };
        all.number("the size", wanted.size, found.size, LENGTH * wanted.size);
        match (&wanted.content, &found.content) {
            (Content::Rig { rig: wanted }, Content::Rig { rig: found }) => all.characters(wanted, found),
            (
                Content::Examples { rig, all: examples, learnt, simulation },
                Content::Examples {
                    rig: found_rig,
                    all: found_examples,
                    learnt: found_learnt,
                    simulation: found_simulation,
                },
            ) => {
                all.characters(rig, found_rig);
                all.same("the names of what is learnt", learnt, found_learnt);
                all.count("examples", examples, found_examples);
                for (wanted, found) in examples.iter().zip(found_examples) {
                    all.examples(wanted, found);
                }
                let found = found_simulation.clone().unwrap_or(Value::Null);
                if !simulation.as_ref().is_none_or(|wanted| says(&found, wanted)) {
                    all.sentences.push(format!("the simulation is told as {found}"));
                }
            }
            (
                Content::Model { rig, base, shapes },
                Content::Model { rig: found_rig, base: found_base, shapes: found_shapes },
            ) => {
                all.characters(rig, found_rig);
                all.same("the base", base, found_base);
                all.shapes(shapes, found_shapes);
            }
            (
                Content::Box { name, programs, shapes, .. },
                Content::Box { name: found_name, programs: found_programs, shapes: found_shapes, .. },
            ) => {
                all.same("the name", name, found_name);
                all.same("the names of programs", &keys(programs), &keys(found_programs));
                for (wanted, found) in programs.values().zip(found_programs.values()) {
                    // Files beside the box get the path of its folder.
                    let names = |words: &[String]| -> Vec<String> {
                        let name =
                            |word: &String| Path::new(word).file_name().unwrap().to_str().unwrap().into();
                        words.iter().map(name).collect()
                    };
                    all.same("a command", &names(wanted), &names(found));
                }
                all.shapes(shapes, found_shapes);
            }
            (Content::Poses { poses, .. }, Content::Poses { poses: found_poses, .. }) => {
                all.count("poses", poses, found_poses);
                for ((name, wanted), (found_name, found)) in poses.iter().zip(found_poses) {
                    all.same("the name of a pose", name, found_name);
                    all.poses(name, wanted, found);
                }
            }
            (
                Content::Motion { joints, frames },
                Content::Motion { joints: found_joints, frames: found_frames },
            ) => {
                all.same("the names of joints", joints, found_joints);
                all.count("frames", frames, found_frames);
                for ((time, wanted), (found_time, found)) in frames.iter().zip(found_frames) {
                    all.number("the time of a frame", *time, *found_time, 1e-9);
                    all.count("joints of a frame", wanted, found);
                    for (wanted, found) in wanted.iter().flatten().zip(found.iter().flatten()) {
                        all.number("a joint's place", *wanted, *found, LENGTH * all.size);
                    }
                }
            }
            (Content::Frames { frames }, Content::Frames { frames: found_frames }) => {
                all.count("frames", frames, found_frames);
                for (wanted, found) in frames.iter().zip(found_frames) {
                    all.positions("a frame", wanted, found);
                }
            }
            (Content::Frame { positions: wanted }, Content::Frame { positions: found }) => {
                all.positions("the frame", wanted, found);
            }
            _ => all.sentences.push("it is a file of another kind".to_string()),
        }
        all.sentences
    }

    fn characters(&mut self, wanted: &Character, found: &Character) {
        self.same("joints and what they refer to", &wanted.joints, &found.joints);
        self.same("controls", &wanted.controls, &found.controls);
        self.same("the number of triangles", &wanted.triangles, &found.triangles);
        self.positions("plain skinning", &wanted.plain.1, &found.plain.1);
        self.count("clips", &wanted.clips, &found.clips);
        for ((name, wanted), (found_name, found)) in wanted.clips.iter().zip(&found.clips) {
            self.same("the name of a clip", name, found_name);
            self.count("poses of a clip", wanted, found);
            for ((time, wanted), (_, found)) in wanted.iter().zip(found) {
                self.poses(&format!("clip {name:?} at {time} s"), wanted, found);
            }
        }
    }

    fn examples(&mut self, wanted: &Shown, found: &Shown) {
        self.same("the name of an example", &wanted.name, &found.name);
        self.same("whether it is muted", &wanted.muted, &found.muted);
        let what = format!("example {:?}", wanted.name);
        self.poses(&what, &wanted.shape.pose, &found.shape.pose);
        self.shape(&what, &wanted.shape, &found.shape);
        match (&wanted.inverted, &found.inverted) {
            (None, None) => {}
            (Some(wanted), Some(found)) => {
                self.same("what it was pulled through", &wanted.base, &found.base);
                self.positions(&format!("{what} at rest"), &wanted.deltas, &found.deltas);
                self.positions(&format!("{what}, the rest"), &wanted.residuals, &found.residuals);
                self.positions(&format!("{what} through the chain"), &wanted.through, &found.through);
            }
            _ => self.sentences.push(format!("{what} is pulled back in one of the two only")),
        }
    }

    fn shapes(&mut self, wanted: &[Shape], found: &[Shape]) {
        self.count("shapes", wanted, found);
        for (index, (wanted, found)) in wanted.iter().zip(found).enumerate() {
            self.shape(&format!("pose {index}"), wanted, found);
        }
    }

    fn shape(&mut self, what: &str, wanted: &Shape, found: &Shape) {
        self.count(&format!("weights of {what}"), &wanted.weights, &found.weights);
        let largest = wanted.weights.iter().fold(1.0, |most, weight| weight.abs().max(most));
        for (component, (&wanted, &found)) in wanted.weights.iter().zip(&found.weights).enumerate() {
            let allowed = WEIGHT * f64::from(largest);
            self.number(&format!("weight {component} of {what}"), wanted.into(), found.into(), allowed);
        }
        self.positions(what, &wanted.positions, &found.positions);
        self.count(&format!("normals of {what}"), &wanted.normals, &found.normals);
        for (vertex, (&wanted, &found)) in wanted.normals.iter().zip(&found.normals).enumerate() {
            let (wanted, found) = (Vec3::from_array(wanted).as_dvec3(), Vec3::from_array(found).as_dvec3());
            let angle = wanted.angle_between(found).to_degrees();
            self.number(&format!("the normal of vertex {vertex} of {what}, degrees"), 0.0, angle, ANGLE);
        }
    }

    fn positions(&mut self, what: &str, wanted: &[[f32; 3]], found: &[[f32; 3]]) {
        self.count(&format!("vertices of {what}"), wanted, found);
        for (vertex, (&wanted, &found)) in wanted.iter().zip(found).enumerate() {
            let distance = Vec3::from_array(wanted).as_dvec3().distance(Vec3::from_array(found).as_dvec3());
            self.number(&format!("vertex {vertex} of {what}, distance"), 0.0, distance, LENGTH * self.size);
        }
    }

    fn poses(&mut self, what: &str, wanted: &PoseEntry, found: &PoseEntry) {
        self.same(&format!("joints of {what}"), &keys(&wanted.joints), &keys(&found.joints));
        self.same(&format!("controls of {what}"), &keys(&wanted.controls), &keys(&found.controls));
        for (wanted, found) in wanted.joints.values().flatten().zip(found.joints.values().flatten()) {
            for column in 0..4 {
                let allowed = if column == 3 { LENGTH * self.size } else { WEIGHT };
                self.number(&format!("a matrix of {what}"), wanted[column], found[column], allowed);
            }
        }
        for (wanted, found) in wanted.controls.values().zip(found.controls.values()) {
            self.number(&format!("a control of {what}"), *wanted, *found, WEIGHT);
        }
    }

    fn number(&mut self, what: &str, wanted: f64, found: f64, allowed: f64) {
        // What is no number is near nothing.
        let is_near = (wanted - found).abs() <= allowed;
        if !is_near {
            self.sentences.push(format!("{what}: {found:e}, was {wanted:e} (allowed: {allowed:e})"));
        }
    }

    fn count<T>(&mut self, what: &str, wanted: &[T], found: &[T]) {
        if wanted.len() != found.len() {
            self.sentences.push(format!("{} {what}, were {}", found.len(), wanted.len()));
        }
    }

    fn same<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, wanted: &T, found: &T) {
        if wanted != found {
            self.sentences.push(format!("{what}: {found:?}, was {wanted:?}"));
        }
    }
}

fn keys<T>(map: &BTreeMap<String, T>) -> Vec<&String> {
    map.keys().collect()
}

/// Whether `found` has all that `wanted` says; it may say more.
fn says(found: &Value, wanted: &Value) -> bool {
    match (found, wanted) {
        (Value::Object(found), Value::Object(wanted)) => {
            wanted.iter().all(|(key, wanted)| found.get(key).is_some_and(|found| says(found, wanted)))
        }
        (Value::Array(found), Value::Array(wanted)) => {
            found.len() == wanted.len() && found.iter().zip(wanted).all(|(found, wanted)| says(found, wanted))
        }
        _ => found == wanted,
    }
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
