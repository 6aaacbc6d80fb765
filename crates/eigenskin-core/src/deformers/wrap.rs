//! A skin that follows another mesh: a cage with skin weights on the same joints, posed by linear
//! blending.
//!
//! Each vertex is bound at rest to the nearest triangles of the cage. A triangle carries points by
//! the affine map of its frame (edge, edge, normal as long as the root of twice the area), and a
//! vertex goes to the weighted mean of where its triangles carry it: one affine map per vertex in
//! a given pose.

use glam::{DAffine3, DMat3, DVec3, Vec3};

use super::stack::DeformerError;
use crate::closest_point::{mixed, nearest_shares};
use crate::mesh::Mesh;
use crate::nearest_name;
use crate::parallel::map_indices;
use crate::rig::Rig;
use crate::skinning::linear_blend;
use crate::weights::{Influence, SkinWeights};

/// Follows a cage.
#[derive(Debug, Clone, PartialEq)]
pub struct Wrap {
    /// the mesh that is followed
    pub cage: Cage,
    /// triangles that carry each vertex, at least 1
    pub nearest: usize,
}

/// A mesh with skin weights, in the space of the rest shape.
#[derive(Debug, Clone, PartialEq)]
pub struct Cage {
    /// `cage vertex`, at rest
    pub positions: Vec<Vec3>,
    /// corners
    pub triangles: Vec<[u32; 3]>,
    /// `cage joint`: their names in the rig
    pub joints: Vec<String>,
    /// `cage vertex` → (index into `joints`, weight)
    pub weights: Vec<Vec<Influence>>,
}

/// Triangles that carry a vertex where nothing else is said.
pub const USUAL_NEAREST: usize = 8;
/// More are refused.
const MOST_NEAREST: usize = 64;
/// Distance, as a share of the cage's mean edge, below which triangles count as equally near.
const TOUCHING: f64 = 0.05;

impl Cage {
    /// The mesh of another rig, or of the same. Joints that move no vertex are left out, so that the
    /// other rig may have more joints.
    pub fn of_rig(rig: &Rig) -> Self {
        let mut used: Vec<u32> =
            (0..rig.vertex_count()).flat_map(|vertex| rig.weights().of(vertex)).map(|i| i.joint).collect();
        used.sort_unstable();
        used.dedup();
        let influence = |i: &Influence| Influence {
            joint: used.partition_point(|&joint| joint < i.joint) as u32,
            weight: i.weight,
        };
        Self {
            positions: rig.mesh().positions().to_vec(),
            triangles: rig.mesh().triangles().to_vec(),
            joints: used.iter().map(|&j| rig.skeleton().joints()[j as usize].name.clone()).collect(),
            weights: (0..rig.vertex_count())
                .map(|vertex| rig.weights().of(vertex).iter().map(influence).collect())
                .collect(),
        }
    }
}

impl Wrap {
    /// Binds the vertices of `rig`, as step number `step` of a stack.
    pub(super) fn bind(&self, rig: &Rig, step: usize) -> Result<BoundWrap, DeformerError> {
        let wrong = |what: String| DeformerError::Wrap { step, what };
        if !(1..=MOST_NEAREST).contains(&self.nearest) {
            return Err(wrong(format!("has {} nearest triangles; give 1 to {MOST_NEAREST}", self.nearest)));
        }
        let cage = Mesh::new(self.cage.positions.clone(), self.cage.triangles.clone(), None)
            .map_err(|error| wrong(format!("has a bad cage: {error}")))?;
        if cage.triangles().is_empty() {
            return Err(wrong("has a cage without triangles".into()));
        }
        let weights = self.weights_on(rig, step)?;
        let positions: Vec<DVec3> = cage.positions().iter().map(|p| p.as_dvec3()).collect();
        let frames: Vec<DAffine3> =
            cage.triangles().iter().map(|&corners| frame_of(&positions, corners)).collect();
        let vertices = rig.mesh().positions();
        let touching = TOUCHING * mean_edge(&positions, cage.triangles());
        let bound: Vec<Vec<(u32, f64)>> = map_indices(vertices.len(), |vertex| {
            carriers(vertices[vertex].as_dvec3(), &positions, cage.triangles(), self.nearest, touching)
        });
        let mut starts = vec![0];
        let mut carriers = Vec::new();
        for list in bound {
            carriers.extend(list);
            starts.push(carriers.len() as u32);
        }
        Ok(BoundWrap {
            weights,
            triangles: cage.triangles().to_vec(),
            triangle_from_rest: frames.iter().map(DAffine3::inverse).collect(),
            starts,
            carriers,
            posed_cage: positions.clone(),
            posed_from_rest: frames,
            rest: positions,
        })
    }

    /// The cage's weights on the joints of `rig`.
    fn weights_on(&self, rig: &Rig, step: usize) -> Result<SkinWeights, DeformerError> {
        let wrong = |what: String| DeformerError::Wrap { step, what };
        let names = || rig.skeleton().joints().iter().map(|joint| joint.name.as_str());
        let joints = self.cage.joints.iter().map(|name| {
            rig.skeleton().joint_named(name).map(|joint| joint as u32).ok_or_else(|| {
                DeformerError::NoSuchJoint {
                    step,
                    name: name.clone(),
                    hint: nearest_name::hint(name, names()),
                }
            })
        });
        let joints: Vec<u32> = joints.collect::<Result<_, _>>()?;
        if self.cage.weights.len() != self.cage.positions.len() {
            return Err(wrong(format!(
                "has weights for {} of the {} vertices of its cage",
                self.cage.weights.len(),
                self.cage.positions.len()
            )));
        }
        let listed = self.cage.weights.iter().map(|list| {
            // A joint beyond the list stays beyond the rig's, for the check of the weights to name.
            let of_rig = |index: u32| joints.get(index as usize).copied().unwrap_or(u32::MAX);
            list.iter().map(|i| Influence { joint: of_rig(i.joint), weight: i.weight }).collect()
        });
        let (weights, _) = SkinWeights::new(rig.skeleton().joint_count(), listed)
            .map_err(|error| wrong(format!("has a bad cage: {error}")))?;
        Ok(weights)
    }
}

/// A wrap of a rig.
#[derive(Debug, Clone)]
pub(super) struct BoundWrap {
    /// of the cage, on the rig's joints
    weights: SkinWeights,
    triangles: Vec<[u32; 3]>,
    /// `triangle`
    triangle_from_rest: Vec<DAffine3>,
    /// `vertex + 1`: where its carriers start
    starts: Vec<u32>,
    /// (triangle, weight); weights of a vertex sum to one
    carriers: Vec<(u32, f64)>,
    /// `cage vertex`
    rest: Vec<DVec3>,
    /// scratch, `cage vertex`
    posed_cage: Vec<DVec3>,
    /// scratch, `triangle`
    posed_from_rest: Vec<DAffine3>,
}

impl BoundWrap {
    /// Carries points near rest (`vertex`) along, given where joints carry the rest shape (`joint`).
    pub fn deform(&mut self, joints: &[DAffine3], points: &mut [DVec3]) {
        for (vertex, posed) in self.posed_cage.iter_mut().enumerate() {
            *posed =
                linear_blend::transform(self.weights.of(vertex), joints).transform_point3(self.rest[vertex]);
        }
        for (triangle, &corners) in self.triangles.iter().enumerate() {
            self.posed_from_rest[triangle] =
                frame_of(&self.posed_cage, corners) * self.triangle_from_rest[triangle];
        }
        for (vertex, point) in points.iter_mut().enumerate() {
            let carriers = &self.carriers[self.starts[vertex] as usize..self.starts[vertex + 1] as usize];
            *point = carriers
                .iter()
                .map(|&(triangle, weight)| {
                    weight * self.posed_from_rest[triangle as usize].transform_point3(*point)
                })
                .sum();
        }
    }
}

/// Edge, edge, normal as long as the root of twice the area. A triangle that a pose flattens has a
/// normal of length zero.
fn frame_of(positions: &[DVec3], corners: [u32; 3]) -> DAffine3 {
    let [a, b, c] = corners.map(|corner| positions[corner as usize]);
    let normal = (b - a).cross(c - a);
    let scaled = normal.normalize_or_zero() * normal.length().sqrt();
    DAffine3 { matrix3: DMat3::from_cols(b - a, c - a, scaled), translation: a }
}

fn mean_edge(positions: &[DVec3], triangles: &[[u32; 3]]) -> f64 {
    let length = |a: u32, b: u32| positions[a as usize].distance(positions[b as usize]);
    let sum: f64 = triangles.iter().map(|&[a, b, c]| length(a, b) + length(b, c) + length(c, a)).sum();
    sum / (3 * triangles.len()) as f64
}

/// The nearest triangles of a point and their weights: 1/(distance + touching)², fading to almost
/// nothing towards the first triangle that is left out, so that neighbouring vertices with other
/// triangles get much the same map.
fn carriers(
    point: DVec3,
    positions: &[DVec3],
    triangles: &[[u32; 3]],
    nearest: usize,
    touching: f64,
) -> Vec<(u32, f64)> {
    let mut distances: Vec<(f64, u32)> = triangles
        .iter()
        .enumerate()
        .map(|(triangle, &corners)| {
            let corners = corners.map(|corner| positions[corner as usize]);
            (point.distance(mixed(corners, nearest_shares(point, corners))), triangle as u32)
        })
        .collect();
    let kept = nearest.min(distances.len());
    let by_distance = |a: &(f64, u32), b: &(f64, u32)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
    let left_out = if kept < distances.len() {
        distances.select_nth_unstable_by(kept, by_distance).1.0
    } else {
        f64::INFINITY
    };
    distances.truncate(kept);
    distances.sort_unstable_by(by_distance);
    let weight = |distance: f64| {
        let fade = 1.0 - distance / (left_out + touching);
        fade * fade / (distance + touching).powi(2)
    };
    let sum: f64 = distances.iter().map(|&(distance, _)| weight(distance)).sum();
    distances.iter().map(|&(distance, triangle)| (triangle, weight(distance) / sum)).collect()
}
