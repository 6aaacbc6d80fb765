//! The displacements of a whole example set (EigenSkin §2.2):
//!
//! ```text
//! u_i^p = (Σ_b w_ib T_b^p)⁻¹ v_i^p − v_i⁰
//! ```

use std::convert::Infallible;

use glam::Vec3;
use rayon::prelude::*;

use super::pulled_back::{APART, PullBackError, PulledBack, pull_back, pull_back_skinned};
use crate::deformers::Base;
use crate::examples::{Example, ExampleSet};
use crate::skinning::{BaseSkinning, PosedSkinning};
use crate::vertex_groups::VertexGroups;

/// Rest-space displacements of an example set.
#[derive(Debug, Clone)]
pub struct RestDisplacements {
    /// Vertices that are one point of the skin (texture seams): they get one displacement, so
    /// they never separate.
    pub points: VertexGroups,
    /// `example × point`
    pub positions: Vec<Vec3>,
    /// `example × vertex`: differences to the unit rest normal, for the blended-matrix convention;
    /// empty for black boxes, whose shapes are shaded as they come out
    pub normals: Vec<Vec3>,
    /// `example` → `vertex`: what displacements at rest cannot reach, in the first root's axes;
    /// empty for an example without
    pub residuals: Vec<Vec<Vec3>>,
}

/// Pulls all examples back through `base`; examples of a black box must have been inverted.
pub fn rest_displacements(set: &ExampleSet, base: &Base) -> Result<RestDisplacements, PullBackError> {
    gathered(set, |example, together| pull_back(set.rig(), base, example, together))
}

/// Pulls all examples back through a skinning in closed form.
pub fn skinned_displacements(set: &ExampleSet, skinning: BaseSkinning) -> RestDisplacements {
    let pull = |example: &Example, together: &[Vec<u32>]| -> Result<PulledBack, Infallible> {
        Ok(pull_back_skinned(set.rig(), skinning, example, together))
    };
    match gathered(set, pull) {
        Ok(displacements) => displacements,
    }
}

fn gathered<E: Send>(
    set: &ExampleSet,
    pull: impl Fn(&Example, &[Vec<u32>]) -> Result<PulledBack, E> + Sync,
) -> Result<RestDisplacements, E> {
    let points = skin_points(set);
    let members = points.members();
    let smooth_normals = set.rig().mesh().normals_of(set.rig().mesh().positions());
    let pulled: Vec<(PulledBack, Vec<Vec3>)> = (0..set.len())
        .into_par_iter()
        .map(|index| {
            let pulled = pull(&set.examples()[index], &members)?;
            let skinning = pulled.skinning.as_ref();
            let normals = skinning.map(|skinning| normal_changes(set, index, skinning, &smooth_normals));
            Ok((pulled, normals.unwrap_or_default()))
        })
        .collect::<Result<_, E>>()?;
    let mut result = RestDisplacements {
        points,
        positions: Vec::with_capacity(set.len() * members.len()),
        normals: Vec::with_capacity(set.len() * set.rig().vertex_count()),
        residuals: Vec::with_capacity(set.len()),
    };
    for (PulledBack { deltas, residuals, .. }, normals) in pulled {
        result.positions.extend(members.iter().map(|vertices| deltas[vertices[0] as usize]));
        result.normals.extend(normals);
        result.residuals.push(residuals);
    }
    Ok(result)
}

/// What one example does to the normals at rest, `vertex`.
fn normal_changes(
    set: &ExampleSet,
    index: usize,
    skinning: &PosedSkinning,
    smooth_normals: &[Vec3],
) -> Vec<Vec3> {
    // Normals that we computed from the shape are compared with those computed from the rest shape,
    // so that an artist's own normals are turned along and not replaced.
    let own = set.examples()[index].normals.is_some();
    let rest_normals = if own { set.rig().mesh().normals() } else { smooth_normals };
    let normals = set.normals_of(index);
    let pairs = normals.iter().zip(rest_normals).enumerate();
    pairs
        .map(|(vertex, (posed, rest))| {
            (skinning.inverse_normal(vertex, posed.as_dvec3()) - rest.as_dvec3()).as_vec3()
        })
        .collect()
}

impl RestDisplacements {
    /// Displacements of one example, `point`.
    pub fn positions_of(&self, example: usize) -> &[Vec3] {
        let count = self.points.group_count();
        &self.positions[example * count..(example + 1) * count]
    }

    /// Normal displacements of one example, `vertex`; only where there are any.
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
pub(crate) fn skin_points(set: &ExampleSet) -> VertexGroups {
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
