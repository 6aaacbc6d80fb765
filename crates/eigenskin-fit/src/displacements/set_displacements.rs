//! The displacements of a whole example set (EigenSkin §2.2):
//!
//! ```text
//! u_i^p = (Σ_b w_ib T_b^p)⁻¹ v_i^p − v_i⁰
//! ```

use std::borrow::Cow;
use std::collections::HashSet;

use eigenskin_core::deformers::Base;
use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::progress::{Cancelled, Counted, Progress};
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::{BaseSkinning, PosedSkinning};
use eigenskin_core::vertex_groups::VertexGroups;
use glam::Vec3;
use rayon::prelude::*;

use super::fields::Fields;
use super::pulled_back::{APART, PullBackError, PulledBack, pull_back, pull_back_skinned};

/// Rest-space displacements of an example set.
#[derive(Debug, Clone)]
pub struct RestDisplacements {
    /// Vertices that are one point of the skin (texture seams): they get one displacement, so
    /// they never separate.
    pub points: VertexGroups,
    /// `example × point`
    pub positions: Fields,
    /// `example × vertex`: differences to the unit rest normal, for the blended-matrix convention;
    /// empty for black boxes, whose shapes are shaded as they come out
    pub normals: Fields,
    /// `example` → vertices, rising, with what displacements at rest cannot reach there, in the first
    /// root's axes
    pub residuals: Vec<Vec<(u32, Vec3)>>,
}

/// Pulls all examples back through `base`; examples of a black box must have been inverted.
pub fn rest_displacements(
    set: &ExampleSet,
    base: &Base,
    progress: &dyn Progress,
) -> Result<RestDisplacements, PullBackError> {
    gathered(set, |example, together| pull_back(set.rig(), base, example, together), progress)
}

/// Pulls all examples back through a skinning in closed form.
pub fn skinned_displacements(
    set: &ExampleSet,
    skinning: BaseSkinning,
    progress: &dyn Progress,
) -> Result<RestDisplacements, Cancelled> {
    gathered(set, |example, together| Ok(pull_back_skinned(set.rig(), skinning, example, together)), progress)
}

fn gathered<E: From<Cancelled> + Send>(
    set: &ExampleSet,
    pull: impl Fn(&Example, &[Vec<u32>]) -> Result<PulledBack, E> + Sync,
    progress: &dyn Progress,
) -> Result<RestDisplacements, E> {
    progress.doing(PULLING_BACK)?;
    let rest = RestSkin::new(set.rig(), SkinPoints::of(set));
    let counted = Counted::new(progress, PULLING_BACK, set.len());
    let pulled: Vec<PulledExample> = set
        .examples()
        .par_iter()
        .map(|example| {
            let pulled = rest.pulled(example, pull(example, &rest.members)?);
            counted.next()?;
            Ok(pulled)
        })
        .collect::<Result<_, E>>()?;
    let mut positions = Vec::with_capacity(set.len() * rest.points.group_count());
    let mut normals = Vec::with_capacity(set.len() * set.rig().vertex_count());
    let mut residuals = Vec::with_capacity(set.len());
    for example in pulled {
        positions.extend(example.positions);
        normals.extend(example.normals);
        residuals.push(example.residuals);
    }
    Ok(RestDisplacements {
        positions: Fields::held(positions, rest.points.group_count()),
        normals: Fields::held(normals, set.rig().vertex_count()),
        residuals,
        points: rest.points,
    })
}

/// What is said while examples are pulled back.
pub const PULLING_BACK: &str = "pulling back";

/// One example at rest.
#[derive(Debug, Clone)]
pub struct PulledExample {
    /// `point`
    pub positions: Vec<Vec3>,
    /// `vertex`; empty for black boxes
    pub normals: Vec<Vec3>,
    /// vertices, rising, with what displacements at rest cannot reach there
    pub residuals: Vec<(u32, Vec3)>,
}

/// What examples are pulled back to.
#[derive(Debug)]
pub struct RestSkin<'a> {
    rig: &'a Rig,
    points: VertexGroups,
    /// `point` → vertices
    members: Vec<Vec<u32>>,
    /// `vertex`: normals of the rest shape as its triangles give them
    smooth_normals: Vec<Vec3>,
}

impl<'a> RestSkin<'a> {
    /// The rest shape of a rig with the points that examples show ([`SkinPoints`]).
    pub fn new(rig: &'a Rig, points: VertexGroups) -> Self {
        let smooth_normals = rig.mesh().normals_of(rig.mesh().positions());
        Self { rig, members: points.members(), points, smooth_normals }
    }

    /// The points of the skin.
    pub fn points(&self) -> &VertexGroups {
        &self.points
    }

    /// Pulls one example back through a skinning in closed form.
    pub fn pull_skinned(&self, skinning: BaseSkinning, example: &Example) -> PulledExample {
        self.pulled(example, pull_back_skinned(self.rig, skinning, example, &self.members))
    }

    fn pulled(&self, example: &Example, pulled: PulledBack) -> PulledExample {
        let normals = pulled.skinning.as_ref().map(|skinning| self.normal_changes(example, skinning));
        let residuals = (0..).zip(pulled.residuals).filter(|(_, w)| *w != Vec3::ZERO).collect();
        let positions = self.members.iter().map(|vertices| pulled.deltas[vertices[0] as usize]).collect();
        PulledExample { positions, normals: normals.unwrap_or_default(), residuals }
    }

    /// What one example does to the normals at rest, `vertex`.
    fn normal_changes(&self, example: &Example, skinning: &PosedSkinning) -> Vec<Vec3> {
        // Normals that we computed from the shape are compared with those computed from the rest shape,
        // so that an artist's own normals are turned along and not replaced.
        let mesh = self.rig.mesh();
        let (posed, rest) = match &example.normals {
            Some(normals) => (Cow::Borrowed(normals), mesh.normals()),
            None => (Cow::Owned(mesh.normals_of(&example.positions)), self.smooth_normals.as_slice()),
        };
        let pairs = posed.iter().zip(rest).enumerate();
        pairs
            .map(|(vertex, (posed, rest))| {
                (skinning.inverse_normal(vertex, posed.as_dvec3()) - rest.as_dvec3()).as_vec3()
            })
            .collect()
    }
}

impl RestDisplacements {
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

/// Seam duplicates that are one point of the skin: all except those that examples pull apart.
#[derive(Debug)]
pub struct SkinPoints {
    /// vertices that share a place at rest, each list longer than one
    seams: Vec<Vec<u32>>,
    /// pairs of such vertices that some example pulls apart
    apart: HashSet<(u32, u32)>,
    limit: f32,
    vertex_count: usize,
}

impl SkinPoints {
    /// The points that a set in memory shows.
    pub fn of(set: &ExampleSet) -> VertexGroups {
        let mut points = Self::new(set.rig());
        set.examples().iter().for_each(|example| points.see(&example.positions));
        points.groups()
    }

    /// Before any example was seen.
    pub fn new(rig: &Rig) -> Self {
        Self {
            seams: rig.seams().members().into_iter().filter(|vertices| vertices.len() > 1).collect(),
            apart: HashSet::new(),
            limit: (APART * rig.mesh().size()) as f32,
            vertex_count: rig.vertex_count(),
        }
    }

    /// Whether there is anything to look for.
    pub fn has_seams(&self) -> bool {
        !self.seams.is_empty()
    }

    /// Looks at the shape of an example, `vertex`.
    pub fn see(&mut self, positions: &[Vec3]) {
        for vertices in &self.seams {
            for (place, &b) in vertices.iter().enumerate() {
                for &a in &vertices[..place] {
                    if positions[a as usize].distance(positions[b as usize]) > self.limit {
                        self.apart.insert((a, b));
                    }
                }
            }
        }
    }

    /// The points.
    pub fn groups(&self) -> VertexGroups {
        let mut point_of: Vec<u32> = (0..self.vertex_count as u32).collect();
        for vertices in &self.seams {
            let mut firsts: Vec<u32> = Vec::new();
            for &vertex in vertices {
                match firsts.iter().find(|&&first| !self.apart.contains(&(first, vertex))) {
                    Some(&first) => point_of[vertex as usize] = first,
                    None => firsts.push(vertex),
                }
            }
        }
        VertexGroups::by_key(point_of.len(), |vertex| point_of[vertex])
    }
}
