//! What a file means now against what it meant.

use std::path::Path;

use eigenskin_core::glam::Vec3;
use serde_json::Value;

use super::expectation::*;

/// Positions, as a share of the size.
const LENGTH: f64 = 1e-6;
/// Normals, in degrees.
const ANGLE: f64 = 0.05;
/// Weights of components (relative to the largest, at least 1), and entries of matrices.
const WEIGHT: f64 = 1e-6;

/// Collects where two things differ, one sentence each.
pub struct Differences {
    pub size: f64,
    pub sentences: Vec<String>,
}

impl Differences {
    pub fn between(wanted: &Expectation, found: &Expectation) -> Vec<String> {
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

    pub fn characters(&mut self, wanted: &Character, found: &Character) {
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

    pub fn examples(&mut self, wanted: &Shown, found: &Shown) {
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

    pub fn shapes(&mut self, wanted: &[Shape], found: &[Shape]) {
        self.count("shapes", wanted, found);
        for (index, (wanted, found)) in wanted.iter().zip(found).enumerate() {
            self.shape(&format!("pose {index}"), wanted, found);
        }
    }

    pub fn shape(&mut self, what: &str, wanted: &Shape, found: &Shape) {
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

    pub fn positions(&mut self, what: &str, wanted: &[[f32; 3]], found: &[[f32; 3]]) {
        self.count(&format!("vertices of {what}"), wanted, found);
        for (vertex, (&wanted, &found)) in wanted.iter().zip(found).enumerate() {
            let distance = Vec3::from_array(wanted).as_dvec3().distance(Vec3::from_array(found).as_dvec3());
            self.number(&format!("vertex {vertex} of {what}, distance"), 0.0, distance, LENGTH * self.size);
        }
    }

    pub fn poses(&mut self, what: &str, wanted: &PoseEntry, found: &PoseEntry) {
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

    pub fn number(&mut self, what: &str, wanted: f64, found: f64, allowed: f64) {
        // What is no number is near nothing.
        let is_near = (wanted - found).abs() <= allowed;
        if !is_near {
            self.sentences.push(format!("{what}: {found:e}, was {wanted:e} (allowed: {allowed:e})"));
        }
    }

    pub fn count<T>(&mut self, what: &str, wanted: &[T], found: &[T]) {
        if wanted.len() != found.len() {
            self.sentences.push(format!("{} {what}, were {}", found.len(), wanted.len()));
        }
    }

    pub fn same<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, wanted: &T, found: &T) {
        if wanted != found {
            self.sentences.push(format!("{what}: {found:?}, was {wanted:?}"));
        }
    }
}

/// Whether `found` has all that `wanted` says; it may say more.
pub fn says(found: &Value, wanted: &Value) -> bool {
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
