//! The built-in arm with sculpts of elbow and shoulder, and how thick it stays when it bends.

use anyhow::Result;
use eigenskin::characters::truth::SweptSkin;
use eigenskin::characters::{Character, arm};
use eigenskin::examples::{Example, ExampleSet};
use eigenskin::glam::{DVec3, Vec3};
use eigenskin::pose::Pose;

/// A sculpt of the arm.
#[derive(Clone, Copy)]
pub struct Sculpt {
    /// its name
    pub name: &'static str,
    /// the joint that it bends
    pub joint: usize,
    /// its degree of freedom
    pub degree: usize,
    /// how far, degrees
    pub angle: f64,
}

const fn sculpt(name: &'static str, joint: usize, degree: usize, angle: f64) -> Sculpt {
    Sculpt { name, joint, degree, angle }
}

/// One of the elbow, two of the shoulder, as in the paper's Figures 8 and 9.
pub const THREE: [Sculpt; 3] =
    [sculpt("elbow", 2, 2, -90.0), sculpt("shoulder up", 1, 0, -75.0), sculpt("shoulder down", 1, 0, 75.0)];
/// One more half-way to each.
pub const HALF_WAY: [Sculpt; 3] = [
    sculpt("elbow half", 2, 2, -45.0),
    sculpt("shoulder half up", 1, 0, -37.5),
    sculpt("shoulder half down", 1, 0, 37.5),
];

/// The arm, and its true shape in any pose.
pub struct Arm {
    /// the rig
    pub character: Character,
}

impl Arm {
    /// Builds it.
    pub fn new(triangles: usize) -> Result<Self> {
        Ok(Self { character: arm(triangles)? })
    }

    /// A pose on the way to a sculpt.
    pub fn pose(&self, sculpt: Sculpt, share: f64) -> Pose {
        let mut angles = vec![0.0; self.character.degrees_of_freedom.len()];
        angles[sculpt.degree] = (share * sculpt.angle).to_radians();
        self.character.pose(&angles)
    }

    /// True shapes at shares of the way to some sculpts.
    pub fn examples(&self, sculpts: &[Sculpt], shares: &[f64]) -> Result<ExampleSet> {
        let skin = SweptSkin::new(&self.character);
        let mut examples = Vec::new();
        for &sculpt in sculpts {
            for &share in shares {
                let pose = self.pose(sculpt, share);
                let positions = skin.shape(&pose);
                let name = if share == 1.0 {
                    sculpt.name.to_string()
                } else {
                    format!("{} at {}°", sculpt.name, share * sculpt.angle)
                };
                examples.push(Example { name, pose, positions, normals: None, inverted: None });
            }
        }
        Ok(ExampleSet::new(self.character.rig.clone(), examples)?)
    }

    /// Area inside the closed skin on the plane through a joint half-way between the directions of
    /// the limbs before and after it.
    pub fn section(&self, joint: usize, pose: &Pose, positions: &[Vec3]) -> f64 {
        let along = |joint: usize| -pose.world_from_joint[joint].matrix3.z_axis.normalize();
        let normal = (along(joint - 1) + along(joint)).normalize();
        let origin = pose.world_from_joint[joint].translation;
        let side = |v: u32| (positions[v as usize].as_dvec3() - origin).dot(normal);
        let mut doubled = DVec3::ZERO;
        for &[a, b, c] in self.character.rig.mesh().triangles() {
            // Where the outline enters and leaves the triangle, in the direction of its winding.
            let (mut enters, mut leaves) = (None, None);
            for (from, to) in [(a, b), (b, c), (c, a)] {
                let (d, e) = (side(from), side(to));
                if (d < 0.0) != (e < 0.0) {
                    let (p, q) = (positions[from as usize].as_dvec3(), positions[to as usize].as_dvec3());
                    let crossing = p + (q - p) * (d / (d - e)) - origin;
                    *(if d < 0.0 { &mut enters } else { &mut leaves }) = Some(crossing);
                }
            }
            if let (Some(enters), Some(leaves)) = (enters, leaves) {
                doubled += leaves.cross(enters);
            }
        }
        0.5 * doubled.dot(normal).abs()
    }
}
