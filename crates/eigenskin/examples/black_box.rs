//! A deformer of one's own, of which eigenskin knows nothing but how to call it, is inverted: which rest
//! shape does it carry to the sculpt? `cargo run --release -p eigenskin --example black_box`.
#![allow(clippy::print_stdout, reason = "a program")]

use eigenskin::deformers::{BlackBox, BlackBoxError};
use eigenskin::displacements::black_box::{InversionParams, invert};
use eigenskin::glam::DVec3;
use eigenskin::{Pose, Unwatched};

/// Bends everything around the z axis, the more the further along x.
struct Bend;

impl BlackBox for Bend {
    fn deform(&mut self, pose: &Pose, near_rest: &[DVec3], posed: &mut [DVec3]) -> Result<(), BlackBoxError> {
        for (posed, p) in posed.iter_mut().zip(near_rest) {
            let (sin, cos) = (pose.controls[0] * p.x).sin_cos();
            *posed = DVec3::new(p.x * cos - p.y * sin, p.x * sin + p.y * cos, p.z);
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pose = Pose { world_from_joint: Vec::new(), controls: vec![0.5] };
    let rest: Vec<DVec3> =
        (0..100).map(|i| DVec3::new(0.1 * f64::from(i % 10), 0.1 * f64::from(i / 10), 0.0)).collect();
    let mut sculpt = rest.clone();
    Bend.deform(&pose, &rest, &mut sculpt)?;
    sculpt[55].z += 0.2;
    let found = invert(&mut Bend, &pose, &rest, &sculpt, 1.0, &InversionParams::default(), &Unwatched)?;
    println!("vertex 55 is displaced by {:.3} at rest", found.deltas[55]);
    Ok(())
}
