//! What is told of a style that was captured, and of a target that has it.

use std::collections::BTreeMap;

use eigenskin_core::examples::ExampleSet;
use eigenskin_core::pose::Pose;
use serde::{Serialize, Serializer};

use super::frames::Frames;
use super::joints::JointMatch;
use super::map::{Products, WholeMap};
use super::{ChosenBy, Extrapolation, Found, MatchedBy, SpaceChoice};

/// How a style was captured.
#[derive(Debug, Clone, PartialEq)]
pub struct StyleReport {
    /// how joints were matched
    pub matched_by: MatchedBy,
    /// joints that both characters have
    pub matched_joints: usize,
    /// joints of the target that move and have no counterpart
    pub moving_alone: Vec<String>,
    /// `pose of the target`: where it was found in the first and in the second deformation
    pub found: Vec<[Found; 2]>,
    /// names of the target's poses in which a deformation was interpolated
    pub interpolated: Vec<String>,
    /// where a deformation had to be guessed
    pub extrapolations: Vec<Extrapolation>,
    /// what displacements are measured from, and why
    pub space: SpaceChoice,
    /// numerical rank of X1
    pub rank: usize,
    /// signals of X1 that are used
    pub signals: usize,
    /// share of ‖X2 − X1‖² that the signals carry on the character that showed the style
    pub carried: f64,
    /// √(mean over poses and vertices of |X2 − X1|²), in sizes of the character that showed the style
    pub style_size: f64,
}

impl Serialize for StyleReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Told<'a> {
            matched_joints: usize,
            matched_by: MatchedBy,
            moving_alone: &'a [String],
            interpolated: &'a [String],
            extrapolated: &'a [Extrapolation],
            space: &'a SpaceChoice,
            rank: usize,
            signals: usize,
            style_of_100: f64,
            carried: f64,
        }
        let told = Told {
            matched_joints: self.matched_joints,
            matched_by: self.matched_by,
            moving_alone: &self.moving_alone,
            interpolated: &self.interpolated,
            extrapolated: &self.extrapolations,
            space: &self.space,
            rank: self.rank,
            signals: self.signals,
            style_of_100: 100.0 * self.style_size,
            carried: self.carried,
        };
        told.serialize(serializer)
    }
}

impl Serialize for SpaceChoice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Told {
            name: &'static str,
            chosen_by: &'static str,
            left: BTreeMap<&'static str, f64>,
        }
        let chosen_by = match self.by {
            ChosenBy::Asked => "asked",
            ChosenBy::LeftOut => "left-out",
            ChosenBy::Carried => "carried",
        };
        let left = self.left.iter().map(|&(space, left)| (space.name(), left)).collect();
        Told { name: self.space.name(), chosen_by, left }.serialize(serializer)
    }
}

/// A target with a style.
#[derive(Debug, Clone)]
pub struct Transferred {
    /// Y2, in the poses of Y1
    pub set: ExampleSet,
    /// share of ‖Y1‖² within the signals of X1: what is outside of them does not follow the style
    pub shared: f64,
    /// √(mean over poses and vertices of |Y2 − Y1|²), in sizes of the target
    pub change: f64,
}

impl Serialize for Transferred {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Told {
            shared: f64,
            change_of_100: f64,
        }
        Told { shared: self.shared, change_of_100: 100.0 * self.change }.serialize(serializer)
    }
}

impl StyleReport {
    pub(super) fn new(
        joints: &JointMatch,
        [first, target]: [&ExampleSet; 2],
        [before, after]: [Frames; 2],
        space: SpaceChoice,
        whole: &WholeMap,
        missed: f64,
        products: &Products,
    ) -> Self {
        let poses: Vec<&Pose> = target.examples().iter().map(|example| &example.pose).collect();
        let mut extrapolations = before.extrapolations;
        let also: Vec<Extrapolation> =
            after.extrapolations.into_iter().filter(|e| !extrapolations.contains(e)).collect();
        extrapolations.extend(also);
        let found: Vec<[Found; 2]> = before.found.iter().zip(&after.found).map(|(&a, &b)| [a, b]).collect();
        let guessed = target.examples().iter().zip(&found).filter(|(_, f)| f.contains(&Found::Interpolated));
        let energy = products.style_energy;
        let count = (target.len() * first.rig().vertex_count()) as f64;
        Self {
            matched_by: joints.by,
            matched_joints: joints.source_of.iter().flatten().count(),
            moving_alone: joints.moving_alone(target.rig().skeleton(), &poses),
            interpolated: guessed.map(|(example, _)| example.name.clone()).collect(),
            found,
            extrapolations,
            space,
            rank: whole.rank,
            signals: whole.signals.ncols(),
            carried: if energy > 0.0 { (1.0 - missed / energy).max(0.0) } else { 1.0 },
            style_size: (energy / count).sqrt() / first.rig().mesh().size(),
        }
    }
}
