//! Joints: names, hierarchy, rest transforms, forward kinematics.

use std::collections::HashMap;

use glam::{DAffine3, DMat3, DVec3};

/// One joint as a file gives it.
#[derive(Debug, Clone, PartialEq)]
pub struct Joint {
    /// unique, not empty
    pub name: String,
    /// the joint it hangs on; none for a root
    pub parent: Option<usize>,
    /// the joint its motion is measured against; `None` means the parent, and for further roots
    /// the first root. Flat rigs, whose joints are all siblings, must say it here.
    pub reference: Option<usize>,
    /// glTF's inverse bind matrix: from the rest shape's space to the joint's own
    pub joint_from_rest: DAffine3,
}

/// A checked set of joints. There may be none (a face).
#[derive(Debug, Clone, PartialEq)]
pub struct Skeleton {
    joints: Vec<Joint>,
    /// `joint`: world transform at rest
    rest_from_joint: Vec<DAffine3>,
    /// all joints, parents before children
    parents_first: Vec<usize>,
    /// all joints, reference joints before those measured against them
    references_first: Vec<usize>,
}

/// What can be wrong with a skeleton.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SkeletonError {
    /// Joints are identified by name in files.
    #[error("joint {joint} has no name; name all joints")]
    EmptyName {
        /// index of the joint
        joint: usize,
    },
    /// Two joints of one name cannot be told apart in files.
    #[error("joints {first} and {second} are both called {name:?}; rename one of them")]
    DuplicateName {
        /// index of the first
        first: usize,
        /// index of the second
        second: usize,
        /// their name
        name: String,
    },
    /// A parent or reference joint that does not exist.
    #[error("joint {name:?} names joint {target} as its {role}, but there are only {joints} joints")]
    NoSuchJoint {
        /// the joint at fault
        name: String,
        /// "parent" or "reference joint"
        role: &'static str,
        /// the index it gives
        target: usize,
        /// joints in the skeleton
        joints: usize,
    },
    /// Following the parents (or reference joints) never ends.
    #[error(
        "the hierarchy is cyclic: following the {role} of joint {name:?} leads back to it; correct the {role}s"
    )]
    Cycle {
        /// one joint of the cycle
        name: String,
        /// "parent" or "reference joint"
        role: &'static str,
    },
    /// NaN, infinity or a matrix without inverse.
    #[error(
        "the bind matrix of joint {name:?} is not finite or has no inverse; bind the skin again in your modelling program"
    )]
    BadBindMatrix {
        /// the joint at fault
        name: String,
    },
}

impl Skeleton {
    /// Checks the joints and settles their reference joints.
    ///
    /// Bind matrices are rounded to `f32`, the precision of glTF, so that a rig is the same before
    /// and after it went through a file.
    pub fn new(mut joints: Vec<Joint>) -> Result<Self, SkeletonError> {
        check_names(&joints)?;
        let parents: Vec<Option<usize>> = joints.iter().map(|j| j.parent).collect();
        let parents_first = order_by_links(&joints, &parents, "parent")?;
        // In a flat rig several joints have no parent; the root is the one that refers to no other.
        let first_root = joints.iter().position(|j| j.parent.is_none() && j.reference.is_none());
        for (index, joint) in joints.iter_mut().enumerate() {
            joint.reference = if joint.reference.is_some() {
                joint.reference
            } else {
                joint.parent.or(first_root).filter(|&reference| reference != index)
            };
        }
        let references: Vec<Option<usize>> = joints.iter().map(|j| j.reference).collect();
        let references_first = order_by_links(&joints, &references, "reference joint")?;

        let mut rest_from_joint = Vec::with_capacity(joints.len());
        for joint in &mut joints {
            joint.joint_from_rest = rounded_to_f32(joint.joint_from_rest);
            let inverse = joint.joint_from_rest.inverse();
            let volume = joint.joint_from_rest.matrix3.determinant();
            if !joint.joint_from_rest.is_finite() || !inverse.is_finite() || volume.abs() < 1e-30 {
                return Err(SkeletonError::BadBindMatrix { name: joint.name.clone() });
            }
            rest_from_joint.push(inverse);
        }
        Ok(Self { joints, rest_from_joint, parents_first, references_first })
    }

    /// No joints: identity skinning.
    pub fn empty() -> Self {
        Self {
            joints: Vec::new(),
            rest_from_joint: Vec::new(),
            parents_first: Vec::new(),
            references_first: Vec::new(),
        }
    }

    /// Number of joints.
    pub fn joint_count(&self) -> usize {
        self.joints.len()
    }

    /// All joints, in the order the skin weights use.
    pub fn joints(&self) -> &[Joint] {
        &self.joints
    }

    /// The joint of that name.
    pub fn joint_named(&self, name: &str) -> Option<usize> {
        self.joints.iter().position(|j| j.name == name)
    }

    /// The root whose motion moves the whole character; `None` without joints.
    pub fn first_root(&self) -> Option<usize> {
        self.joints.iter().position(|joint| joint.reference.is_none())
    }

    /// Where the joints are at rest, `joint`: world from joint.
    pub fn rest_from_joint(&self) -> &[DAffine3] {
        &self.rest_from_joint
    }

    /// Rest position of a joint.
    pub fn rest_position(&self, joint: usize) -> DVec3 {
        self.rest_from_joint[joint].translation
    }

    /// Direct children of a joint.
    pub fn children(&self, joint: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.joints.len()).filter(move |&child| self.joints[child].parent == Some(joint))
    }

    /// All joints, each after its reference joint.
    pub fn references_first(&self) -> &[usize] {
        &self.references_first
    }

    /// World transforms from transforms relative to the parent (both `joint`).
    pub fn forward_kinematics(&self, parent_from_joint: &[DAffine3]) -> Vec<DAffine3> {
        let mut world_from_joint = parent_from_joint.to_vec();
        for &joint in &self.parents_first {
            if let Some(parent) = self.joints[joint].parent {
                world_from_joint[joint] = world_from_joint[parent] * parent_from_joint[joint];
            }
        }
        world_from_joint
    }

    /// Transforms relative to the parent from world transforms (both `joint`).
    pub fn parent_from_joint(&self, world_from_joint: &[DAffine3]) -> Vec<DAffine3> {
        (0..self.joints.len())
            .map(|joint| match self.joints[joint].parent {
                Some(parent) => world_from_joint[parent].inverse() * world_from_joint[joint],
                None => world_from_joint[joint],
            })
            .collect()
    }

    /// The same joints with other reference joints (`joint`).
    pub fn with_references(&self, references: &[Option<usize>]) -> Result<Self, SkeletonError> {
        let joints = self
            .joints
            .iter()
            .zip(references)
            .map(|(joint, &reference)| Joint { reference, ..joint.clone() })
            .collect();
        Self::new(joints)
    }
}

fn check_names(joints: &[Joint]) -> Result<(), SkeletonError> {
    let mut seen = HashMap::new();
    for (index, joint) in joints.iter().enumerate() {
        if joint.name.is_empty() {
            return Err(SkeletonError::EmptyName { joint: index });
        }
        if let Some(first) = seen.insert(&joint.name, index) {
            return Err(SkeletonError::DuplicateName { first, second: index, name: joint.name.clone() });
        }
    }
    Ok(())
}

/// All joints, each after the one it links to; an error names a joint of a cycle.
fn order_by_links(
    joints: &[Joint],
    links: &[Option<usize>],
    role: &'static str,
) -> Result<Vec<usize>, SkeletonError> {
    for (joint, link) in joints.iter().zip(links) {
        if let Some(target) = link.filter(|&target| target >= joints.len()) {
            return Err(SkeletonError::NoSuchJoint {
                name: joint.name.clone(),
                role,
                target,
                joints: joints.len(),
            });
        }
    }
    let mut order = Vec::with_capacity(joints.len());
    let mut placed = vec![false; joints.len()];
    for start in 0..joints.len() {
        let mut chain = Vec::new();
        let mut next = Some(start);
        while let Some(joint) = next.filter(|&joint| !placed[joint]) {
            if chain.contains(&joint) {
                return Err(SkeletonError::Cycle { name: joints[joint].name.clone(), role });
            }
            chain.push(joint);
            next = links[joint];
        }
        for &joint in chain.iter().rev() {
            placed[joint] = true;
            order.push(joint);
        }
    }
    Ok(order)
}

fn rounded_to_f32(transform: DAffine3) -> DAffine3 {
    let round = |v: DVec3| v.as_vec3().as_dvec3();
    DAffine3 {
        matrix3: DMat3::from_cols(
            round(transform.matrix3.x_axis),
            round(transform.matrix3.y_axis),
            round(transform.matrix3.z_axis),
        ),
        translation: round(transform.translation),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DQuat;

    fn joint(name: &str, parent: Option<usize>, at: DVec3) -> Joint {
        Joint {
            name: name.into(),
            parent,
            reference: None,
            joint_from_rest: DAffine3::from_translation(at).inverse(),
        }
    }

    #[test]
    fn children_may_come_before_their_parents() {
        let skeleton = Skeleton::new(vec![
            joint("tip", Some(1), DVec3::new(2.0, 0.0, 0.0)),
            joint("middle", Some(2), DVec3::X),
            joint("root", None, DVec3::ZERO),
        ])
        .unwrap();
        let rest_local = skeleton.parent_from_joint(skeleton.rest_from_joint());
        let mut bent = rest_local.clone();
        bent[1] *= DAffine3::from_quat(DQuat::from_rotation_z(std::f64::consts::FRAC_PI_2));
        let world = skeleton.forward_kinematics(&bent);
        assert!((world[0].translation - DVec3::new(1.0, 1.0, 0.0)).length() < 1e-12);
        let back = skeleton.parent_from_joint(&world);
        assert!(back.iter().zip(&bent).all(|(a, b)| a.abs_diff_eq(*b, 1e-12)));
    }

    #[test]
    fn further_roots_refer_to_the_first() {
        let skeleton = Skeleton::new(vec![
            joint("a", None, DVec3::ZERO),
            joint("b", None, DVec3::X),
            joint("c", Some(1), DVec3::Y),
        ])
        .unwrap();
        let references: Vec<_> = skeleton.joints().iter().map(|j| j.reference).collect();
        assert_eq!(references, [None, Some(0), Some(1)]);
    }

    #[test]
    fn the_root_of_a_flat_rig_is_the_joint_without_reference() {
        let mut flat: Vec<_> =
            ["tip", "base", "wrist"].map(|name| joint(name, None, DVec3::ZERO)).into_iter().collect();
        flat[0].reference = Some(1);
        flat[1].reference = Some(2);
        let skeleton = Skeleton::new(flat).unwrap();
        assert_eq!(skeleton.first_root(), Some(2));
        assert_eq!(skeleton.joints()[0].reference, Some(1));
    }

    #[test]
    fn bad_skeletons_are_refused_with_the_culprit() {
        let cyclic = vec![joint("a", Some(1), DVec3::ZERO), joint("b", Some(0), DVec3::X)];
        assert!(matches!(Skeleton::new(cyclic), Err(SkeletonError::Cycle { name, .. }) if name == "a"));
        let own_parent = vec![joint("a", Some(0), DVec3::ZERO)];
        assert!(matches!(Skeleton::new(own_parent), Err(SkeletonError::Cycle { .. })));
        let twice = vec![joint("a", None, DVec3::ZERO), joint("a", Some(0), DVec3::X)];
        assert!(matches!(
            Skeleton::new(twice),
            Err(SkeletonError::DuplicateName { first: 0, second: 1, .. })
        ));
        let nameless = vec![joint("", None, DVec3::ZERO)];
        assert_eq!(Skeleton::new(nameless), Err(SkeletonError::EmptyName { joint: 0 }));
        let stray = vec![joint("a", Some(7), DVec3::ZERO)];
        assert!(matches!(Skeleton::new(stray), Err(SkeletonError::NoSuchJoint { target: 7, .. })));
        let mut flat = joint("a", None, DVec3::ZERO);
        flat.joint_from_rest.matrix3.x_axis = DVec3::ZERO;
        assert!(matches!(Skeleton::new(vec![flat]), Err(SkeletonError::BadBindMatrix { .. })));
        let mut around = vec![joint("a", None, DVec3::ZERO), joint("b", None, DVec3::X)];
        around[0].reference = Some(1);
        around[1].reference = Some(0);
        assert!(matches!(Skeleton::new(around), Err(SkeletonError::Cycle { role: "reference joint", .. })));
    }
}
