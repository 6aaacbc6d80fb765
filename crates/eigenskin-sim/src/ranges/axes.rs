//! The axes that joints turn about, found from where the joints lie at rest.
//!
//! Rigs agree on names more than on local axes, so axes come from geometry: the direction of a
//! joint's bone, a bend that is already there at rest (it goes on bending that way), the palm for
//! fingers, and the body's own left, up and front.

use eigenskin_core::glam::DVec3;
use eigenskin_core::pose::rotation_of;
use eigenskin_core::skeleton::Skeleton;

use super::part::{Part, Place, Side};
use super::table::Turn;

/// The body's directions in mesh space, each along an axis of that space.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BodyFrame {
    /// to the character's left
    pub left: DVec3,
    /// from the feet to the head
    pub up: DVec3,
    /// where it looks
    pub front: DVec3,
}

impl BodyFrame {
    /// From left and right joints, and from feet and trunk; glTF's +Y up, +Z front where there are
    /// none.
    pub fn of(skeleton: &Skeleton, places: &[Place]) -> Self {
        let mean = |wanted: &dyn Fn(Place) -> bool| {
            let points: Vec<DVec3> = (0..places.len())
                .filter(|&joint| wanted(places[joint]))
                .map(|joint| skeleton.rest_position(joint))
                .collect();
            (!points.is_empty()).then(|| points.iter().sum::<DVec3>() / points.len() as f64)
        };
        let between = |from: Option<DVec3>, to: Option<DVec3>| Some((to? - from?).normalize_or_zero());
        let to_left = between(mean(&|p| p.side == Side::Right), mean(&|p| p.side == Side::Left));
        let to_trunk = between(
            mean(&|p| matches!(p.part, Part::Foot | Part::Toes)),
            mean(&|p| matches!(p.part, Part::Spine | Part::Hips | Part::UpperLeg)),
        );
        let up = to_trunk.map_or(DVec3::Y, |direction| nearest_axis(direction, DVec3::ZERO));
        let fallback = if up.x.abs() > 0.5 { DVec3::Y } else { DVec3::X };
        let left = to_left.map_or(fallback, |direction| nearest_axis(direction, up));
        Self { left, up, front: left.cross(up) }
    }
}

/// The signed coordinate axis nearest to a direction, other than `excluded`'s.
fn nearest_axis(direction: DVec3, excluded: DVec3) -> DVec3 {
    let axes = [DVec3::Y, DVec3::Z, DVec3::X];
    let best = axes
        .into_iter()
        .filter(|axis| axis.dot(excluded).abs() < 0.5)
        .max_by(|a, b| direction.dot(*a).abs().total_cmp(&direction.dot(*b).abs()))
        .unwrap_or(DVec3::X);
    if direction.dot(best) < 0.0 { -best } else { best }
}

/// How the limb runs through a joint at rest, in mesh space.
#[derive(Debug, Clone, Copy)]
struct Course {
    /// unit direction of the joint's own bone
    along: DVec3,
    /// axis about which the limb is bent at rest, with the sine of that bend as length
    bend: DVec3,
}

/// Axes of a joint.
pub struct JointAxes<'a> {
    skeleton: &'a Skeleton,
    places: &'a [Place],
    body: BodyFrame,
    /// `joint`: joints measured against it
    followers: Vec<Vec<usize>>,
    /// a wrist with fingers and no body around it
    is_hand: bool,
}

/// Below this sine (about ten degrees) a limb counts as straight.
const STRAIGHT: f64 = 0.17;

impl<'a> JointAxes<'a> {
    /// Prepares the axes of all joints.
    pub fn new(skeleton: &'a Skeleton, places: &'a [Place]) -> Self {
        let mut followers = vec![Vec::new(); skeleton.joint_count()];
        for (index, joint) in skeleton.joints().iter().enumerate() {
            if let Some(reference) = joint.reference {
                followers[reference].push(index);
            }
        }
        let any = |wanted: &dyn Fn(Part) -> bool| places.iter().any(|place| wanted(place.part));
        let is_hand =
            any(&|p| p == Part::FingerProximal) && !any(&|p| matches!(p, Part::UpperArm | Part::Spine));
        Self { skeleton, places, body: BodyFrame::of(skeleton, places), followers, is_hand }
    }

    /// The body's directions.
    pub fn body(&self) -> BodyFrame {
        self.body
    }

    /// How high a joint's bone points, in degrees: 0 is level, −90 straight down.
    pub fn elevation(&self, joint: usize) -> Option<f64> {
        Some(self.course(joint)?.along.dot(self.body.up).clamp(-1.0, 1.0).asin().to_degrees())
    }

    /// The axis of a turn in the joint's own rest axes; `None` when the joint has no bone to turn.
    pub fn local_axis(&self, joint: usize, turn: Turn) -> Option<DVec3> {
        let axis = self.axis(joint, turn)?;
        let rest_from_joint = rotation_of(self.skeleton.rest_from_joint()[joint].matrix3);
        let local = (rest_from_joint.inverse() * axis).normalize();
        // An axis within three degrees of the joint's own is meant to be that one.
        let own = nearest_axis(local, DVec3::ZERO);
        Some(if own.dot(local) > 0.9986 { own } else { local })
    }

    /// The axis in mesh space; a positive angle is the direction that [`Turn`] names.
    fn axis(&self, joint: usize, turn: Turn) -> Option<DVec3> {
        let course = self.course(joint)?;
        let flex = self.flex(joint, course)?;
        match turn {
            Turn::Twist => Some(course.along),
            Turn::Flex => Some(flex),
            Turn::Side => {
                let side = course.along.cross(flex);
                let outwards = match self.places[joint] {
                    // Arms are raised, legs are spread.
                    Place { part: Part::UpperArm | Part::Clavicle, .. } => self.body.up,
                    Place { part: Part::UpperLeg, side: Side::Left, .. } => self.body.left,
                    Place { part: Part::UpperLeg, side: Side::Right, .. } => -self.body.left,
                    _ => return Some(side),
                };
                Some(if side.cross(course.along).dot(outwards) < 0.0 { -side } else { side })
            }
        }
    }

    fn flex(&self, joint: usize, course: Course) -> Option<DVec3> {
        let BodyFrame { left, up, front } = self.body;
        let place = self.places[joint];
        // Turning about `along × towards` moves the bone towards that direction.
        let moving_to = |towards: DVec3| perpendicular(course.along.cross(towards), course.along);
        let about = |axis: DVec3| perpendicular(axis - axis.dot(course.along) * course.along, course.along);
        let bent = course.bend.length() > STRAIGHT;
        match place.part {
            Part::Spine | Part::Neck | Part::Head | Part::Jaw if !self.is_hand => about(left),
            Part::UpperLeg => about(-left),
            Part::LowerLeg | Part::LowerArm if bent => about(course.bend),
            Part::LowerLeg | Part::Foot | Part::Toes => about(left),
            Part::LowerArm => moving_to(front),
            Part::UpperArm | Part::Clavicle => moving_to(front).or_else(|| about(up)),
            Part::Hand => about(self.axis_of_reference(joint).unwrap_or(left)),
            Part::FingerProximal
            | Part::FingerIntermediate
            | Part::FingerDistal
            | Part::ThumbMetacarpal
            | Part::ThumbProximal
            | Part::ThumbDistal => about(self.curl_of_finger(joint)?),
            _ if bent => about(course.bend),
            _ => about(left).or_else(|| about(up)),
        }
    }

    fn axis_of_reference(&self, joint: usize) -> Option<DVec3> {
        let reference = self.skeleton.joints()[joint].reference?;
        let course = self.course(reference)?;
        self.flex(reference, course)
    }

    /// The axis that a finger curls about: joints that follow WebXR's convention (−z along the
    /// bone, y out of the back) say it themselves, whatever small bend the other way they rest in;
    /// else the bend at rest over the whole finger, and for straight fingers towards the ground.
    fn curl_of_finger(&self, joint: usize) -> Option<DVec3> {
        let course = self.course(joint)?;
        let own = rotation_of(self.skeleton.rest_from_joint()[joint].matrix3);
        if (own * DVec3::NEG_Z).dot(course.along) > 0.8 {
            return Some((own * DVec3::NEG_X).normalize());
        }
        let chain = self.finger_of(joint);
        let bend: DVec3 = chain.iter().filter_map(|&j| self.course(j)).map(|c| c.bend).sum();
        if bend.length() > STRAIGHT {
            return Some(bend);
        }
        // Palms of a body at rest face down or to the body.
        Some(course.along.cross(-self.body.up))
    }

    /// The joints of the finger that a joint belongs to.
    fn finger_of(&self, joint: usize) -> Vec<usize> {
        let is_finger = |j: usize| {
            matches!(
                self.places[j].part,
                Part::FingerProximal
                    | Part::FingerIntermediate
                    | Part::FingerDistal
                    | Part::ThumbMetacarpal
                    | Part::ThumbProximal
                    | Part::ThumbDistal
            )
        };
        let mut first = joint;
        while let Some(reference) = self.skeleton.joints()[first].reference.filter(|&r| is_finger(r)) {
            first = reference;
        }
        let mut chain = vec![first];
        while let Some(&next) = self.followers[chain[chain.len() - 1]].iter().find(|&&f| is_finger(f)) {
            chain.push(next);
        }
        // The knuckle's own bend says how the hand lies, not how the finger curls.
        if chain.len() > 1 { chain.split_off(1) } else { chain }
    }

    /// How the limb runs through a joint; `None` where nothing has a length.
    fn course(&self, joint: usize) -> Option<Course> {
        let at = self.skeleton.rest_position(joint);
        let incoming = self.skeleton.joints()[joint]
            .reference
            .map_or(DVec3::ZERO, |reference| at - self.skeleton.rest_position(reference))
            .normalize_or_zero();
        let outgoing = self.followers[joint]
            .iter()
            .map(|&follower| self.skeleton.rest_position(follower) - at)
            .sum::<DVec3>()
            .normalize_or_zero();
        let along = outgoing.try_normalize().or(incoming.try_normalize())?;
        Some(Course { along, bend: incoming.cross(outgoing) })
    }
}

/// `axis` at unit length; `None` where the bone runs along it.
fn perpendicular(axis: DVec3, along: DVec3) -> Option<DVec3> {
    let across = axis - axis.dot(along) * along;
    (across.length() > 1e-6).then(|| across.normalize())
}
