//! What joints can do, as people give it: in settings, or in a TOML file with a table per joint.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use eigenskin_core::glam::DVec3;
use eigenskin_sim::ranges::{GivenAxis, GivenRange, GivenRanges, Turn};
use serde::{Deserialize, Serialize};

/// Ranges by joint name: a joint named here has these degrees of freedom and no others.
pub type JointRanges = BTreeMap<String, Vec<JointRange>>;

/// How far a joint turns about one axis, in degrees away from rest.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JointRange {
    /// what it turns about
    pub axis: JointAxis,
    /// smallest angle in degrees, not above zero
    pub lowest: f64,
    /// largest angle in degrees, not below zero
    pub highest: f64,
}

/// What a joint turns about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JointAxis {
    /// its own x axis at rest
    X,
    /// its own y axis at rest
    Y,
    /// its own z axis at rest
    Z,
    /// the way it closes: fingers into the palm, forearm to the upper arm
    Flex,
    /// across that: spreading fingers, leaning to the side
    Side,
    /// the limb itself
    Twist,
}

/// Why ranges cannot be used, whatever the rig.
#[derive(Debug, thiserror::Error)]
pub enum JointRangesError {
    /// The file cannot be read.
    #[error("{} could not be read: {error}", path.display())]
    Read {
        /// the file
        path: PathBuf,
        /// what the system says
        error: std::io::Error,
    },
    /// The file is something else.
    #[error(
        "{} is not of the form [joints.\"NAME\"] with lines such as flex = [0, 110] or x = [-30, 45]: {problem}",
        path.display()
    )]
    NotRanges {
        /// the file
        path: PathBuf,
        /// what is wrong
        problem: String,
    },
    /// A line of the file is not about an axis.
    #[error("{}: joint {joint:?}: {error}", path.display())]
    AxisInFile {
        /// the file
        path: PathBuf,
        /// the joint
        joint: String,
        /// what is wrong
        error: UnknownAxis,
    },
    /// A joint that is to move and not to move.
    #[error("joint {joint:?} has a range and is locked; give one of the two")]
    LockedRange {
        /// the joint
        joint: String,
    },
}

/// A name that no axis has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} is no axis; use the joint's own x, y or z, or flex, side or twist")]
pub struct UnknownAxis {
    /// the name given
    pub name: String,
}

/// `[joints."forearm.L"]` with lines `flex = [0, 110]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RangesFile {
    joints: BTreeMap<String, BTreeMap<String, [f64; 2]>>,
}

/// Reads a file of ranges.
pub fn read_joint_ranges(path: impl AsRef<Path>) -> Result<JointRanges, JointRangesError> {
    let path = path.as_ref();
    let text =
        std::fs::read_to_string(path).map_err(|error| JointRangesError::Read { path: path.into(), error })?;
    let file: RangesFile = toml::from_str(&text).map_err(|error| JointRangesError::NotRanges {
        path: path.into(),
        problem: error.message().to_string(),
    })?;
    let ranges_of = |(joint, ranges): (String, BTreeMap<String, [f64; 2]>)| {
        let range = |(axis, [lowest, highest]): (String, [f64; 2])| match axis.parse() {
            Ok(axis) => Ok(JointRange { axis, lowest, highest }),
            Err(error) => {
                Err(JointRangesError::AxisInFile { path: path.into(), joint: joint.clone(), error })
            }
        };
        let ranges = ranges.into_iter().map(range).collect::<Result<Vec<_>, _>>()?;
        Ok((joint, ranges))
    };
    file.joints.into_iter().map(ranges_of).collect()
}

/// All that is said of joints: ranges, and joints that do not move.
pub fn given_ranges(ranges: &JointRanges, locked: &[String]) -> Result<GivenRanges, JointRangesError> {
    let mut given: GivenRanges = ranges
        .iter()
        .map(|(joint, ranges)| (joint.clone(), ranges.iter().copied().map(GivenRange::from).collect()))
        .collect();
    for joint in locked {
        if given.insert(joint.clone(), Vec::new()).is_some_and(|ranges| !ranges.is_empty()) {
            return Err(JointRangesError::LockedRange { joint: joint.clone() });
        }
    }
    Ok(given)
}

impl FromStr for JointAxis {
    type Err = UnknownAxis;

    fn from_str(name: &str) -> Result<Self, UnknownAxis> {
        Ok(match name {
            "x" => Self::X,
            "y" => Self::Y,
            "z" => Self::Z,
            "flex" => Self::Flex,
            "side" => Self::Side,
            "twist" => Self::Twist,
            _ => return Err(UnknownAxis { name: name.to_string() }),
        })
    }
}

impl From<JointRange> for GivenRange {
    fn from(JointRange { axis, lowest, highest }: JointRange) -> Self {
        let axis = match axis {
            JointAxis::X => GivenAxis::Own(DVec3::X),
            JointAxis::Y => GivenAxis::Own(DVec3::Y),
            JointAxis::Z => GivenAxis::Own(DVec3::Z),
            JointAxis::Flex => GivenAxis::Turn(Turn::Flex),
            JointAxis::Side => GivenAxis::Turn(Turn::Side),
            JointAxis::Twist => GivenAxis::Turn(Turn::Twist),
        };
        Self { axis, lowest, highest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_and_faults_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ranges.toml");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            read_joint_ranges(&path)
        };
        let found =
            read("[joints.\"forearm.L\"]\nflex = [0, 110]\ntwist = [-40, 40]\n[joints.hand]\n").unwrap();
        let range = JointRange { axis: JointAxis::Twist, lowest: -40.0, highest: 40.0 };
        assert_eq!((found["forearm.L"].len(), found["forearm.L"][1]), (2, range));
        assert_eq!(found["hand"], []);
        let error = read("[joints.a]\nbend = [0, 1]\n").unwrap_err().to_string();
        assert!(error.contains("joint \"a\"") && error.contains("\"bend\" is no axis"), "{error}");
        assert!(matches!(read("[joint.a]\nx = [0, 1]\n"), Err(JointRangesError::NotRanges { .. })));
        let nowhere = read_joint_ranges(folder.path().join("nowhere.toml"));
        assert!(matches!(nowhere, Err(JointRangesError::Read { .. })));
    }

    #[test]
    fn a_joint_moves_or_is_locked() {
        let range = JointRange { axis: JointAxis::X, lowest: 0.0, highest: 9.0 };
        let ranges = JointRanges::from([("arm".into(), vec![range]), ("hand".into(), vec![])]);
        let given = given_ranges(&ranges, &["hand".into(), "tail".into()]).unwrap();
        assert_eq!((given["arm"][0].axis, given["tail"].len()), (GivenAxis::Own(DVec3::X), 0));
        let error = given_ranges(&ranges, &["arm".into()]).unwrap_err();
        assert!(error.to_string().contains("\"arm\" has a range and is locked"), "{error}");
    }
}
