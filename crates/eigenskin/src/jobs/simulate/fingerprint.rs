//! A number that tells rigs, poses and settings apart, so that jobs of two runs are never mixed.

use eigenskin_core::glam::DAffine3;
use eigenskin_core::rig::Rig;
use eigenskin_sim::jobs::Job;
use eigenskin_sim::simulation::SimulationParams;

/// Everything that a simulated pose depends on, as one number.
pub(super) fn of(rig: &Rig, jobs: &[Job], excluded: &[String], params: &SimulationParams) -> String {
    let mut hash = Fnv::new();
    for position in rig.mesh().positions() {
        position.to_array().iter().for_each(|x| hash.add(&x.to_bits().to_le_bytes()));
    }
    for vertex in rig.mesh().triangles().iter().flatten() {
        hash.add(&vertex.to_le_bytes());
    }
    for vertex in 0..rig.vertex_count() {
        for influence in rig.weights().of(vertex) {
            hash.add(&influence.joint.to_le_bytes());
            hash.add(&influence.weight.to_bits().to_le_bytes());
        }
    }
    for joint in rig.skeleton().joints() {
        hash.add(joint.name.as_bytes());
        let above = |joint: Option<usize>| joint.map_or(u64::MAX, |joint| joint as u64).to_le_bytes();
        hash.add(&above(joint.parent));
        hash.add(&above(joint.reference));
        hash.add_transform(joint.joint_from_rest);
    }
    for job in jobs {
        for motion in &job.motions {
            hash.add_transform(DAffine3::from_rotation_translation(motion.rotation, motion.translation));
        }
        job.stops.iter().for_each(|stop| hash.add(&stop.share.to_bits().to_le_bytes()));
    }
    for name in excluded {
        hash.add(name.as_bytes());
    }
    // Names and values of all parameters, those that have no option too.
    hash.add(format!("{params:?}").as_bytes());
    format!("{:016x}", hash.0)
}

/// FNV-1a, 64 bits.
struct Fnv(u64);

impl Fnv {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn add_transform(&mut self, transform: DAffine3) {
        transform.to_cols_array().iter().for_each(|x| self.add(&x.to_bits().to_le_bytes()));
    }
}
