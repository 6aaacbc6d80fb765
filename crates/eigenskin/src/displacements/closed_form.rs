//! Observed shapes pulled back to rest through the inverse of skinning (EigenSkin §2.2):
//!
//! ```text
//! u_i^p = (Σ_b w_ib T_b^p)⁻¹ v_i^p − v_i⁰
//! ```

use glam::{DVec3, Vec3};
use rayon::prelude::*;

use crate::examples::ExampleSet;
use crate::skinning::{BaseSkinning, Conditioning, PosedSkinning};
use crate::vertex_groups::VertexGroups;

/// Rest-space displacements of an example set.
#[derive(Debug, Clone)]
pub struct RestDisplacements {
    /// Vertices that are one point of the skin (texture seams): they get one displacement, so
    /// they never separate.
    pub points: VertexGroups,
    /// `example × point`
    pub positions: Vec<Vec3>,
    /// `example × vertex`: differences to the unit rest normal, for the blended-matrix convention
    pub normals: Vec<Vec3>,
    /// `vertex`: the worst over all examples
    pub conditioning: Vec<Conditioning>,
}

/// Seam duplicates that an example pulls apart by more than this share of the size are two points
/// after all (lips that touch at rest).
const APART: f64 = 1e-5;

/// Pulls all examples back through `base`.
pub fn rest_displacements(set: &ExampleSet, base: BaseSkinning) -> RestDisplacements {
    let points = skin_points(set);
    let members = points.members();
    let rig = set.rig();
    let rest_positions = rig.mesh().positions();
    let own_normals = rig.mesh().normals();
    let smooth_normals = rig.mesh().normals_of(rest_positions);

    let pulled: Vec<(Vec<Vec3>, Vec<Vec3>, Vec<Conditioning>)> = (0..set.len())
        .into_par_iter()
        .map(|index| {
            let example = &set.examples()[index];
            let skinning = PosedSkinning::new(base, rig, &example.pose);
            let positions = members
                .iter()
                .map(|vertices| {
                    let sum: DVec3 = vertices
                        .iter()
                        .map(|&vertex| {
                            let rest = rest_positions[vertex as usize].as_dvec3();
                            let posed = example.positions[vertex as usize].as_dvec3();
                            skinning.inverse_position(vertex as usize, posed, rest) - rest
                        })
                        .sum();
                    (sum / vertices.len() as f64).as_vec3()
                })
                .collect();
            // Normals that we computed from the shape are compared with those computed from the
            // rest shape, so that an artist's own normals are turned along and not replaced.
            let rest_normals = if example.normals.is_some() { own_normals } else { &smooth_normals };
            let normals = set
                .normals_of(index)
                .iter()
                .zip(rest_normals)
                .enumerate()
                .map(|(vertex, (posed, rest))| {
                    (skinning.inverse_normal(vertex, posed.as_dvec3()) - rest.as_dvec3()).as_vec3()
                })
                .collect();
            let conditioning = (0..rig.vertex_count()).map(|vertex| skinning.conditioning(vertex)).collect();
            (positions, normals, conditioning)
        })
        .collect();

    let mut result = RestDisplacements {
        points,
        positions: Vec::with_capacity(set.len() * members.len()),
        normals: Vec::with_capacity(set.len() * rig.vertex_count()),
        conditioning: vec![Conditioning { smallest: f64::INFINITY, condition: 0.0 }; rig.vertex_count()],
    };
    for (positions, normals, conditioning) in pulled {
        result.positions.extend(positions);
        result.normals.extend(normals);
        for (worst, here) in result.conditioning.iter_mut().zip(conditioning) {
            worst.smallest = worst.smallest.min(here.smallest);
            worst.condition = worst.condition.max(here.condition);
        }
    }
    result
}

impl RestDisplacements {
    /// Displacements of one example, `point`.
    pub fn positions_of(&self, example: usize) -> &[Vec3] {
        let count = self.points.group_count();
        &self.positions[example * count..(example + 1) * count]
    }

    /// Normal displacements of one example, `vertex`.
    pub fn normals_of(&self, example: usize) -> &[Vec3] {
        let count = self.points.vertex_count();
        &self.normals[example * count..(example + 1) * count]
    }

    /// The vertices of some points (rising), rising, each with its place among the points.
    pub fn vertices_of(&self, points: &[u32]) -> Vec<(u32, usize)> {
        let mut place_of = vec![usize::MAX; self.points.group_count()];
        for (place, &point) in points.iter().enumerate() {
            place_of[point as usize] = place;
        }
        (0..self.points.vertex_count())
            .map(|vertex| (vertex as u32, place_of[self.points.group_of(vertex)]))
            .filter(|&(_, place)| place != usize::MAX)
            .collect()
    }
}

/// Seam duplicates grouped, except those that examples pull apart.
fn skin_points(set: &ExampleSet) -> VertexGroups {
    let seams = set.rig().seams();
    let limit = (APART * set.rig().mesh().size()) as f32;
    let together = |a: u32, b: u32| {
        set.examples().iter().all(|e| e.positions[a as usize].distance(e.positions[b as usize]) <= limit)
    };
    let mut point_of: Vec<u32> = (0..set.rig().vertex_count() as u32).collect();
    for vertices in seams.members().into_iter().filter(|vertices| vertices.len() > 1) {
        let mut firsts: Vec<u32> = Vec::new();
        for vertex in vertices {
            match firsts.iter().find(|&&first| together(first, vertex)) {
                Some(&first) => point_of[vertex as usize] = first,
                None => firsts.push(vertex),
            }
        }
    }
    VertexGroups::by_key(point_of.len(), |vertex| point_of[vertex])
}
