//! How far each part of a body bends, in degrees. Cautious values: a skin must be believable over
//! the whole range, and what lies outside is left to the clamp of the model.

use super::part::Part;

/// A way a joint turns, relative to the body and the limb. The sign of each is in [`super::axes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// the way the joint closes: fingers into the palm, forearm to the upper arm, trunk forward
    Flex,
    /// across that, in the limb's other direction: spreading fingers, leaning to the side
    Side,
    /// about the limb itself
    Twist,
}

/// Ranges of a part: turn, lowest and highest angle in degrees.
pub type PartRanges = &'static [(Turn, f64, f64)];

use Turn::{Flex, Side, Twist};

/// What a part can do.
pub fn ranges_of(part: Part) -> PartRanges {
    match part {
        Part::Hips | Part::Metacarpal | Part::Still => &[],
        Part::Spine => &[(Flex, -12.0, 25.0), (Side, -15.0, 15.0), (Twist, -15.0, 15.0)],
        Part::Neck => &[(Flex, -20.0, 25.0), (Side, -20.0, 20.0), (Twist, -30.0, 30.0)],
        Part::Head => &[(Flex, -20.0, 20.0), (Twist, -25.0, 25.0)],
        Part::Clavicle => &[(Side, -10.0, 25.0), (Flex, -10.0, 15.0)],
        Part::UpperArm => &[(Side, -60.0, 30.0), (Flex, -25.0, 60.0)],
        Part::LowerArm => &[(Flex, 0.0, 110.0), (Twist, -45.0, 45.0)],
        Part::Hand => &[(Flex, -45.0, 50.0), (Side, -15.0, 15.0)],
        Part::UpperLeg => &[(Flex, -20.0, 75.0), (Side, -10.0, 35.0)],
        Part::LowerLeg => &[(Flex, 0.0, 105.0)],
        Part::Foot => &[(Flex, -20.0, 30.0)],
        Part::Toes => &[(Flex, -30.0, 20.0)],
        Part::FingerProximal => &[(Flex, 0.0, 90.0), (Side, -15.0, 15.0)],
        Part::FingerIntermediate => &[(Flex, 0.0, 90.0)],
        Part::FingerDistal => &[(Flex, 0.0, 70.0)],
        Part::ThumbMetacarpal => &[(Flex, -25.0, 40.0), (Side, -25.0, 25.0)],
        Part::ThumbProximal => &[(Flex, 0.0, 55.0)],
        Part::ThumbDistal => &[(Flex, 0.0, 75.0)],
        Part::Jaw => &[(Flex, 0.0, 18.0)],
        Part::Appendage => &[(Flex, -25.0, 25.0), (Side, -25.0, 25.0)],
        Part::Unknown => &[(Flex, -30.0, 30.0), (Side, -20.0, 20.0)],
    }
}
