//! What the joints of a rig can do, where the file does not say: glTF has no joint limits.
//!
//! By name for common rigs ([`part`], [`table`]), with axes from geometry ([`axes`]); a cautious
//! default for joints that nothing is known of; and whatever people say themselves.

pub mod axes;
pub mod part;
pub mod table;

use std::collections::BTreeMap;

use eigenskin_core::articulation::DegreeOfFreedom;
use eigenskin_core::glam::DVec3;
use eigenskin_core::rig::Rig;

use axes::JointAxes;
use part::{Part, Place};
pub use table::Turn;

/// How a joint's range was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeSource {
    /// said by the user
    Said,
    /// the joint's name is known
    Name(Part),
    /// nothing is known: the cautious default
    Default,
    /// it does not bend the skin: a root, an end, a helper, or a joint without skin
    Still,
}

/// The degrees of freedom of a rig.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranges {
    /// what can be turned
    pub degrees: Vec<DegreeOfFreedom>,
    /// `joint` → where its range comes from
    pub sources: Vec<RangeSource>,
}

/// The axis of a range that someone gives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum GivenAxis {
    /// an axis of the joint's own rest axes, unit length
    Own(DVec3),
    /// an anatomical turn
    Turn(Turn),
}

/// A range that someone gives, in degrees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GivenRange {
    /// what it turns about
    pub axis: GivenAxis,
    /// smallest angle in degrees, not above zero
    pub lowest: f64,
    /// largest angle in degrees, not below zero
    pub highest: f64,
}

/// Ranges by joint name: a joint named here has these degrees of freedom and no others.
pub type GivenRanges = BTreeMap<String, Vec<GivenRange>>;

/// Why ranges cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RangeError {
    /// A name that the rig does not have.
    #[error("a range is given for joint {name:?}, which the rig does not have; its joints are: {joints}")]
    NoSuchJoint {
        /// the name given
        name: String,
        /// the names there are
        joints: String,
    },
    /// Rest must lie within every range.
    #[error(
        "the range {lowest}..{highest} of joint {name:?} does not contain rest (0), or goes beyond half a turn; give degrees away from rest, such as -10..90"
    )]
    BadRange {
        /// the joint
        name: String,
        /// as given
        lowest: f64,
        /// as given
        highest: f64,
    },
    /// The root moves everything and bends nothing.
    #[error("joint {name:?} moves the whole character and cannot bend it; give no range for it")]
    Root {
        /// the joint
        name: String,
    },
    /// A joint without length has no anatomical directions.
    #[error("joint {name:?} has no bone that would give it a direction; give its range about x, y or z")]
    NoDirection {
        /// the joint
        name: String,
    },
    /// Nothing left to bend.
    #[error("no joint of the rig bends its skin; give some joint a range")]
    NothingMoves,
    /// A face of controls, or a shape without anything that moves it.
    #[error("the rig has no joints, so there are no ranges of joints to make poses from")]
    NoJoints,
}

/// The degrees of freedom of a rig: given ones, then by name, else a cautious default. All ranges
/// that were not given are multiplied by `share`.
pub fn ranges(rig: &Rig, given: &GivenRanges, share: f64) -> Result<Ranges, RangeError> {
    let skeleton = rig.skeleton();
    if skeleton.joint_count() == 0 {
        return Err(RangeError::NoJoints);
    }
    for name in given.keys() {
        if skeleton.joint_named(name).is_none() {
            let joints: Vec<&str> = skeleton.joints().iter().map(|joint| joint.name.as_str()).collect();
            return Err(RangeError::NoSuchJoint { name: name.clone(), joints: joints.join(", ") });
        }
    }
    let places = part::places(skeleton);
    let axes = JointAxes::new(skeleton, &places);
    let carries_skin = carrying_joints(rig);
    let mut found = Ranges { degrees: Vec::new(), sources: vec![RangeSource::Still; skeleton.joint_count()] };
    for (joint, description) in skeleton.joints().iter().enumerate() {
        if let Some(wanted) = given.get(&description.name) {
            if description.reference.is_none() && !wanted.is_empty() {
                return Err(RangeError::Root { name: description.name.clone() });
            }
            for range in wanted {
                found.degrees.push(given_degree(joint, &description.name, *range, &axes)?);
            }
            found.sources[joint] = RangeSource::Said;
        } else if description.reference.is_some() && carries_skin[joint] {
            let degrees = degrees_by_part(joint, places[joint], &axes, share);
            if !degrees.is_empty() {
                found.sources[joint] = match places[joint].part {
                    Part::Unknown => RangeSource::Default,
                    part => RangeSource::Name(part),
                };
            }
            found.degrees.extend(degrees);
        }
    }
    if found.degrees.is_empty() { Err(RangeError::NothingMoves) } else { Ok(found) }
}

fn degrees_by_part(joint: usize, place: Place, axes: &JointAxes, share: f64) -> Vec<DegreeOfFreedom> {
    let ranges = table::ranges_of(place.part);
    ranges
        .iter()
        .filter_map(|&(turn, lowest, highest)| {
            let (lowest, highest) = match (place.part, turn) {
                (Part::UpperArm, Turn::Side) => raised(axes.elevation(joint)?, lowest, highest),
                _ => (lowest, highest),
            };
            let (lowest, highest) = ((share * lowest).to_radians(), (share * highest).to_radians());
            Some(along_positive_axis(DegreeOfFreedom {
                joint,
                axis: axes.local_axis(joint, turn)?,
                lowest,
                highest,
            }))
        })
        .collect()
}

/// The table's range is that of an arm held level; one that hangs must not be pressed into the
/// body, and can be raised more.
fn raised(elevation: f64, lowest: f64, highest: f64) -> (f64, f64) {
    ((lowest - elevation).clamp(lowest, -10.0), (highest - elevation).clamp(15.0, 45.0))
}

/// Closing about −x reads better as negative angles about x.
fn along_positive_axis(degree: DegreeOfFreedom) -> DegreeOfFreedom {
    if [DVec3::NEG_X, DVec3::NEG_Y, DVec3::NEG_Z].contains(&degree.axis) {
        let DegreeOfFreedom { joint, axis, lowest, highest } = degree;
        DegreeOfFreedom { joint, axis: axis.abs(), lowest: -highest, highest: -lowest }
    } else {
        degree
    }
}

fn given_degree(
    joint: usize,
    name: &str,
    range: GivenRange,
    axes: &JointAxes,
) -> Result<DegreeOfFreedom, RangeError> {
    let GivenRange { axis, lowest, highest } = range;
    let sound = lowest.is_finite() && highest.is_finite() && lowest <= 0.0 && highest >= 0.0;
    if !sound || highest <= lowest || lowest < -180.0 || highest > 180.0 {
        return Err(RangeError::BadRange { name: name.into(), lowest, highest });
    }
    let axis = match axis {
        GivenAxis::Own(axis) => axis,
        GivenAxis::Turn(turn) => {
            axes.local_axis(joint, turn).ok_or_else(|| RangeError::NoDirection { name: name.into() })?
        }
    };
    let degree = DegreeOfFreedom { joint, axis, lowest: lowest.to_radians(), highest: highest.to_radians() };
    Ok(along_positive_axis(degree))
}

/// `joint` → whether it, or a joint that follows it, carries skin.
fn carrying_joints(rig: &Rig) -> Vec<bool> {
    let skeleton = rig.skeleton();
    let mut carries = vec![false; skeleton.joint_count()];
    for vertex in 0..rig.vertex_count() {
        for influence in rig.weights().of(vertex).iter().filter(|i| i.weight > 0.0) {
            carries[influence.joint as usize] = true;
        }
    }
    for &joint in skeleton.references_first().iter().rev() {
        if let Some(reference) = skeleton.joints()[joint].reference.filter(|_| carries[joint]) {
            carries[reference] = true;
        }
    }
    carries
}

#[cfg(test)]
mod tests;
