//! What moves the tissue: groups of joints that move as one rigid body, and the points within the
//! lattice that they hold.

use eigenskin::glam::DVec3;

use crate::lattice::Embedded;

/// Joints that move as one body: a joint with those that never move against it.
#[derive(Debug, Clone, PartialEq)]
pub struct RigidGroup {
    /// the joint whose motion moves the group
    pub leader: usize,
    /// all joints of the group, the leader first
    pub joints: Vec<usize>,
}

/// A point of the tissue that a bone holds by a spring.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldPoint {
    /// where it is in the lattice
    pub embedded: Embedded,
    /// its rest position in lattice space
    pub rest: DVec3,
    /// index of the rigid group that holds it
    pub group: usize,
    /// stiffness of the spring, in units of shear modulus · cube edge
    pub stiffness: f64,
}
