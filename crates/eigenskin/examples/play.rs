//! Bends one joint of a model and tells how far the skin moved:
//! `cargo run --release -p eigenskin --example play -- MODEL.glb JOINT`.
#![allow(clippy::print_stdout, reason = "a program")]

use eigenskin::glam::{DAffine3, DQuat};
use eigenskin::{Evaluator, io};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, joint] = &arguments[..] else { return Err("usage: play MODEL.glb JOINT".into()) };
    let (_, model) = io::read_model(model)?;
    let skeleton = model.rig().skeleton();
    let joint = skeleton.joint_named(joint).ok_or_else(|| format!("the model has no joint {joint:?}"))?;
    let mut local = skeleton.parent_from_joint(skeleton.rest_from_joint());
    local[joint] *= DAffine3::from_quat(DQuat::from_rotation_x(45f64.to_radians()));
    let mut pose = model.rig().rest_pose();
    pose.world_from_joint = skeleton.forward_kinematics(&local);
    let rest = model.rig().mesh().positions().to_vec();
    let shape = Evaluator::new(model).shape(&pose);
    let furthest = shape.positions.iter().zip(&rest).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max);
    println!("{} vertices, the furthest moved by {furthest:.4}", rest.len());
    Ok(())
}
