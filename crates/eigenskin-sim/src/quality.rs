//! How good a simulated pose is, and which ones are not good enough to learn from.

use eigenskin_core::glam::{DVec3, Vec3};
use eigenskin_core::pose::Pose;
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::{BaseSkinning, PosedSkinning};
use serde::{Deserialize, Serialize};

use crate::element::cell_volume;
use crate::lattice::Lattice;

/// What is known about a simulated pose. Names are those of results in JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PoseQuality {
    /// smallest volume left at a Gauss point (det F)
    pub smallest_volume: f64,
    /// Gauss points turned inside out
    pub inverted: usize,
    /// whether a small push would leave it where it is; if not, it may have snapped elsewhere
    pub stable: bool,
    /// volume of the body over its volume at rest
    pub volume: f64,
    /// how deep some skin lies within another part of the body, as a share of the size; `None` when
    /// contact was switched off
    pub penetration: Option<f64>,
    /// how far the correction of some vertex changed against the pose before it on the way, beyond
    /// its change before that, as a share of the size
    pub jump: f64,
    /// Newton steps from the pose before it
    pub newton_steps: usize,
    /// those of them that contact asked for
    pub contact_steps: usize,
    /// whether contact came to rest by itself; if not, drag ended what went to and fro
    pub settled: bool,
}

/// What a pose must keep to be learned from.
#[derive(Debug, Clone, PartialEq)]
pub struct QualityLimits {
    /// largest deviation of the volume from rest; default 0.05
    pub volume: f64,
    /// deepest penetration as a share of the size; default 0.02
    pub penetration: f64,
    /// largest jump as a share of the size; default 0.05
    pub jump: f64,
}

impl Default for QualityLimits {
    fn default() -> Self {
        Self { volume: 0.05, penetration: 0.02, jump: 0.05 }
    }
}

impl PoseQuality {
    /// Why the pose is not to be learned from; `None` when it is good.
    pub fn fault(&self, limits: &QualityLimits) -> Option<String> {
        if self.inverted > 0 {
            return Some(format!("{} points of the tissue are inside out", self.inverted));
        }
        if (self.volume - 1.0).abs() > limits.volume {
            return Some(format!("its volume is {:.1} % of rest", 100.0 * self.volume));
        }
        if let Some(depth) = self.penetration.filter(|&depth| depth > limits.penetration) {
            return Some(format!("skin lies {:.1} % of the size within another part", 100.0 * depth));
        }
        if self.jump > limits.jump {
            return Some(format!(
                "the skin jumps by {:.1} % of the size against the pose before it",
                100.0 * self.jump
            ));
        }
        None
    }
}

/// Volume of the body over its volume at rest.
pub fn volume_ratio(lattice: &Lattice, positions: &[DVec3]) -> f64 {
    let volume: f64 = lattice
        .corners
        .iter()
        .zip(&lattice.filled)
        .map(|(corners, &filled)| cell_volume(&corners.map(|node| positions[node as usize]), filled))
        .sum();
    volume / lattice.filled.iter().sum::<f64>()
}

/// Corrections of the poses of one way, in rest space, to see where one jumps.
#[derive(Debug, Clone, Default)]
pub struct Jumps {
    /// correction of the pose before, `vertex`, and its share of the way
    before: Option<(Vec<DVec3>, f64)>,
    /// largest change per share of the way, between the two poses before
    pace: Option<f64>,
}

impl Jumps {
    /// The jump of the next pose on the way, as a share of the size.
    pub fn next(&mut self, rig: &Rig, pose: &Pose, positions: &[Vec3], share: f64) -> f64 {
        let skinning = PosedSkinning::new(BaseSkinning::LinearBlend, rig, pose);
        let corrections: Vec<DVec3> = rig
            .mesh()
            .positions()
            .iter()
            .zip(positions)
            .enumerate()
            .map(|(vertex, (rest, posed))| {
                let rest = rest.as_dvec3();
                skinning.inverse_position(vertex, posed.as_dvec3(), rest) - rest
            })
            .collect();
        let (from, start) = match &self.before {
            Some((before, share)) => (before.clone(), *share),
            None => (vec![DVec3::ZERO; corrections.len()], 0.0),
        };
        let change = corrections.iter().zip(&from).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max)
            / rig.mesh().size();
        let length = (share - start).max(1e-9);
        // A correction grows faster than the turn; only what is far beyond that is a jump.
        let expected = self.pace.map_or(change, |pace| 2.0 * pace * length);
        self.pace = Some(change / length);
        self.before = Some((corrections, share));
        (change - expected).max(0.0)
    }
}
