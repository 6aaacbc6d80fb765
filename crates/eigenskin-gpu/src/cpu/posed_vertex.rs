//! Twin of `shaders/posed_vertex.wgsl`, where the equations are.

use eigenskin_core::glam::{Vec3, Vec4};
use half::f16;

use crate::frame::FrameTables;
use crate::tables::{HEAVIEST, ModelTables, Storage};

const SMALLEST_SQUARE: f32 = 1e-36;
const CANCELLED_SQUARE: f32 = 1e-24;

/// A vertex in its pose.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PosedVertex {
    /// in the space of the pose
    pub position: Vec3,
    /// unit length
    pub normal: Vec3,
    /// unit length, with the sign of the bitangent; zero without tangents
    pub tangent: Vec4,
}

/// Rows of an affine map.
#[derive(Clone, Copy)]
struct Map {
    x: Vec4,
    y: Vec4,
    z: Vec4,
}

/// What the functions of the kernel find in their bindings.
struct Bindings<'a> {
    tables: &'a ModelTables,
    frame: &'a FrameTables,
    first_joint: usize,
    first_coordinate: usize,
}

/// One vertex of one instance.
pub fn posed_vertex(
    tables: &ModelTables,
    frame: &FrameTables,
    vertex: usize,
    instance: usize,
) -> PosedVertex {
    let counts = frame.counts();
    let bindings = Bindings {
        tables,
        frame,
        first_joint: instance * counts.joints as usize,
        first_coordinate: instance * counts.coordinates as usize,
    };
    let own = tables.vertices()[vertex];
    let next = tables.vertices()[vertex + 1];
    let (first, end) = (own.first_influence, next.first_influence);
    let map = if tables.is_dual_quaternion() {
        bindings.dual_quaternion_map(first, end)
    } else {
        bindings.blended_map(first, end, 0)
    };
    let rest = Vec3::from(own.position) + bindings.displacement_sum(own.first_before, own.first_turning);
    let position = map_point(map, rest) + bindings.after_skinning(own.first_after, next.first_before, first);
    let rest_normal = Vec3::from(own.normal) + bindings.displacement_sum(own.first_turning, own.first_after);
    let normal = unit_or(map_vector(map, rest_normal), Vec3::Z);
    let tangent = tables.tangents().get(vertex).map_or(Vec4::ZERO, |&[x, y, z, w]| {
        let carried = map_vector(map, Vec3::new(x, y, z));
        let along_skin = carried - normal * normal.dot(carried);
        unit_or(along_skin, any_perpendicular(normal)).extend(w)
    });
    PosedVertex { position, normal, tangent }
}

impl Bindings<'_> {
    fn joint(&self, joint: u32, offset: usize) -> Vec4 {
        let at = (self.first_joint + joint as usize) * self.tables.joint_stride() + offset;
        Vec4::from(self.frame.joints()[at])
    }

    fn coordinate(&self, slot: u32) -> f32 {
        self.frame.coordinates()[self.first_coordinate + slot as usize]
    }

    fn displacement_at(&self, entry: u32) -> (u32, Vec3) {
        let (words, entry) = (self.tables.displacements(), entry as usize);
        match self.tables.storage() {
            Storage::F16 => {
                let [a, b] = words[entry];
                let half = |bits: u32| f16::from_bits(bits as u16).to_f32();
                (a & 0xffff, Vec3::new(half(a >> 16), half(b & 0xffff), half(b >> 16)))
            }
            Storage::F32 => {
                let ([slot, x], [y, z]) = (words[2 * entry], words[2 * entry + 1]);
                (slot, Vec3::from([x, y, z].map(f32::from_bits)))
            }
        }
    }

    fn displacement_sum(&self, first: u32, end: u32) -> Vec3 {
        let mut sum = Vec3::ZERO;
        for entry in first..end {
            let (slot, vector) = self.displacement_at(entry);
            sum += self.coordinate(slot) * vector;
        }
        sum
    }

    fn after_skinning(&self, first: u32, end: u32, heaviest: u32) -> Vec3 {
        let (mut sum, mut in_frame, mut frame) = (Vec3::ZERO, Vec3::ZERO, 0);
        for entry in first..end {
            let (slot, vector) = self.displacement_at(entry);
            let next = self.tables.frames()[slot as usize];
            if entry > first && next != frame {
                sum += self.turned(in_frame, frame, heaviest);
                in_frame = Vec3::ZERO;
            }
            frame = next;
            in_frame += self.coordinate(slot) * vector;
        }
        if end > first { sum + self.turned(in_frame, frame, heaviest) } else { sum }
    }

    fn turned(&self, vector: Vec3, frame: u32, heaviest: u32) -> Vec3 {
        let joint = if frame == HEAVIEST { self.tables.influences()[heaviest as usize].joint } else { frame };
        let rotation = self.joint(joint, if self.tables.is_dual_quaternion() { 0 } else { 3 });
        let axis = rotation.truncate();
        let twice = 2.0 * axis.cross(vector);
        vector + rotation.w * twice + axis.cross(twice)
    }

    fn blended_map(&self, first: u32, end: u32, offset: usize) -> Map {
        let mut map = Map { x: Vec4::ZERO, y: Vec4::ZERO, z: Vec4::ZERO };
        for influence in &self.tables.influences()[first as usize..end as usize] {
            map.x += influence.weight * self.joint(influence.joint, offset);
            map.y += influence.weight * self.joint(influence.joint, offset + 1);
            map.z += influence.weight * self.joint(influence.joint, offset + 2);
        }
        map
    }

    fn dual_quaternion_map(&self, first: u32, end: u32) -> Map {
        let heaviest = self.tables.influences()[first as usize].joint;
        let pivot = self.joint(heaviest, 0);
        let (mut real, mut dual) = (Vec4::ZERO, Vec4::ZERO);
        for influence in &self.tables.influences()[first as usize..end as usize] {
            let one = self.joint(influence.joint, 0);
            let weight = if one.dot(pivot) < 0.0 { -influence.weight } else { influence.weight };
            real += weight * one;
            dual += weight * self.joint(influence.joint, 1);
        }
        let squared = real.dot(real);
        let (real, dual) = if squared > CANCELLED_SQUARE {
            let scale = 1.0 / squared.sqrt();
            (real * scale, dual * scale)
        } else {
            (pivot, self.joint(heaviest, 1))
        };
        let rigid = rigid_map(real, dual);
        if self.frame.counts().any_stretch == 0 {
            rigid
        } else {
            map_after(rigid, self.blended_map(first, end, 2))
        }
    }
}

fn rigid_map(q: Vec4, dual: Vec4) -> Map {
    let (axis, dual_axis) = (q.truncate(), dual.truncate());
    let moved = 2.0 * (q.w * dual_axis - dual.w * axis + axis.cross(dual_axis));
    let d = 2.0 * axis * axis;
    let m = 2.0 * axis * Vec3::new(axis.y, axis.z, axis.x);
    let w = 2.0 * q.w * axis;
    Map {
        x: Vec4::new(1.0 - d.y - d.z, m.x - w.z, m.z + w.y, moved.x),
        y: Vec4::new(m.x + w.z, 1.0 - d.x - d.z, m.y - w.x, moved.y),
        z: Vec4::new(m.z - w.y, m.y + w.x, 1.0 - d.x - d.y, moved.z),
    }
}

fn map_after(outer: Map, inner: Map) -> Map {
    let row = |r: Vec4| r.x * inner.x + r.y * inner.y + r.z * inner.z + r.w * Vec4::W;
    Map { x: row(outer.x), y: row(outer.y), z: row(outer.z) }
}

fn map_point(map: Map, point: Vec3) -> Vec3 {
    let p = point.extend(1.0);
    Vec3::new(map.x.dot(p), map.y.dot(p), map.z.dot(p))
}

fn map_vector(map: Map, vector: Vec3) -> Vec3 {
    let v = vector.extend(0.0);
    Vec3::new(map.x.dot(v), map.y.dot(v), map.z.dot(v))
}

fn unit_or(vector: Vec3, otherwise: Vec3) -> Vec3 {
    let squared = vector.length_squared();
    if squared > SMALLEST_SQUARE { vector / squared.sqrt() } else { otherwise }
}

fn any_perpendicular(normal: Vec3) -> Vec3 {
    let off_axis = if normal.x.abs() > 0.7 { Vec3::Y } else { Vec3::X };
    normal.cross(off_axis).normalize()
}
