//! Where the vertices of one mesh lie on the surface of another.

use eigenskin_core::closest_point::mixed;
use eigenskin_core::mesh::Mesh;
use eigenskin_core::progress::{Cancelled, Progress};
use eigenskin_core::rig::Rig;
use eigenskin_core::vertex_groups::VertexGroups;
use glam::DVec3;
use rayon::prelude::*;

use super::triangle_tree::TriangleTree;
use super::{TRANSFERRING, TransferError};
use crate::during::Small;

/// Every vertex of a target as a mean of source vertices.
#[derive(Debug, Clone, PartialEq)]
pub struct Correspondence {
    /// `vertex` → (source vertex, share), shares sum to one; with the vertex's own normal
    own: Vec<Vec<(u32, f64)>>,
    /// `seam group` → the same, one for all duplicates of a point
    groups: Vec<Vec<(u32, f64)>>,
    seams: VertexGroups,
    /// `vertex`: distance from the source surface
    gaps: Vec<f64>,
    /// vertices near which the source faces nowhere as they do
    pub against: usize,
}

/// Surfaces that turn further away from each other are two sides (cosine).
const SAME_SIDE: f64 = 0.2;
/// Of points equally near, the one with the more similar normal: what a full turn costs, in sizes.
const NORMAL_TIE: f64 = 1e-7;
/// Sides are not told apart beyond this distance, in sizes of the source.
const LOOK_FOR_SIDE: f64 = 0.1;
/// Along each edge of the target, where its surface is looked at besides the vertex.
const ALONG_EDGES: f32 = 1.0 / 3.0;

impl Correspondence {
    pub(super) fn new(
        source: &Rig,
        target: &Rig,
        averaging: f64,
        progress: &dyn Progress,
    ) -> Result<Self, TransferError> {
        progress.doing(TRANSFERRING)?;
        let surface = Surface::new(source.mesh())?;
        let mesh = target.mesh();
        let neighbours = neighbours(mesh);
        let lengths = mean_edges(mesh, &neighbours);
        let small = Small::new(progress, TRANSFERRING, mesh.vertex_count());
        let found: Vec<Place> = (0..mesh.vertex_count())
            .into_par_iter()
            .map(|vertex| {
                small.next()?;
                Ok(surface.place(mesh, vertex, &neighbours[vertex], lengths[vertex], averaging))
            })
            .collect::<Result<_, Cancelled>>()?;
        let seams = target.seams();
        let mut groups = vec![Vec::new(); seams.group_count()];
        for (group, members) in seams.members().iter().enumerate() {
            let share = 1.0 / members.len() as f64;
            for &member in members {
                add(&mut groups[group], &found[member as usize].parts, share);
            }
        }
        Ok(Self {
            gaps: found.iter().map(|place| place.gap).collect(),
            against: found.iter().filter(|place| !place.faces_alike).count(),
            own: found.into_iter().map(|place| place.parts).collect(),
            groups,
            seams,
        })
    }

    /// A vertex as (source vertex, share), by its own normal: for what is about normals.
    pub fn of_vertex(&self, vertex: usize) -> &[(u32, f64)] {
        &self.own[vertex]
    }

    /// A vertex as (source vertex, share), the same for all duplicates of a point: for what moves it.
    pub fn of_group(&self, vertex: usize) -> &[(u32, f64)] {
        &self.groups[self.seams.group_of(vertex)]
    }

    /// Distance of each vertex from the source surface.
    pub fn gaps(&self) -> &[f64] {
        &self.gaps
    }
}

/// A point on the source.
struct Place {
    /// (source vertex, share)
    parts: Vec<(u32, f64)>,
    /// distance from the source
    gap: f64,
    /// whether a surface that faces alike is near
    faces_alike: bool,
}

/// The source at rest.
struct Surface<'a> {
    mesh: &'a Mesh,
    tree: TriangleTree,
    /// `vertex`: mean length of its edges
    lengths: Vec<f64>,
    size: f64,
}

impl<'a> Surface<'a> {
    fn new(mesh: &'a Mesh) -> Result<Self, TransferError> {
        if mesh.triangles().is_empty() {
            return Err(TransferError::NoSurface);
        }
        let corner = |&vertex: &u32| mesh.positions()[vertex as usize].as_dvec3();
        let corners = mesh.triangles().iter().map(|[a, b, c]| [a, b, c].map(corner)).collect();
        let lengths = mean_edges(mesh, &neighbours(mesh));
        Ok(Self { mesh, tree: TriangleTree::new(corners), lengths, size: mesh.size() })
    }

    /// A vertex of the target.
    fn place(&self, mesh: &Mesh, vertex: usize, neighbours: &[u32], length: f64, averaging: f64) -> Place {
        let (at, normal) = (mesh.positions()[vertex], mesh.normals()[vertex]);
        let nearest = self.nearest(at.as_dvec3(), normal.as_dvec3());
        let here: f64 = nearest.parts.iter().map(|&(v, share)| share * self.lengths[v as usize]).sum();
        // A vertex that stands for no more surface than the source's takes the point alone.
        let blend = averaging * 0.5 * (1.0 - (here / length.max(f64::MIN_POSITIVE)).powi(2)).clamp(0.0, 1.0);
        if blend < 1e-6 || neighbours.is_empty() {
            return nearest;
        }
        let mut parts = Vec::new();
        add(&mut parts, &nearest.parts, 1.0 - blend);
        for &neighbour in neighbours {
            let (to, towards) = (mesh.positions()[neighbour as usize], mesh.normals()[neighbour as usize]);
            let point = at.lerp(to, ALONG_EDGES).as_dvec3();
            let around = self.nearest(point, normal.lerp(towards, ALONG_EDGES).as_dvec3());
            add(&mut parts, &around.parts, blend / neighbours.len() as f64);
        }
        Place { parts, ..nearest }
    }

    /// The nearest point that faces as `normal` does, else the nearest.
    fn nearest(&self, point: DVec3, normal: DVec3) -> Place {
        let normal = normal.normalize_or_zero();
        let cosine = |triangle: u32, shares: [f64; 3]| {
            let corners = self.mesh.triangles()[triangle as usize];
            mixed(corners.map(|v| self.mesh.normals()[v as usize].as_dvec3()), shares)
                .normalize_or_zero()
                .dot(normal)
        };
        let facing = self.tree.nearest(point, |triangle, shares| {
            let cosine = cosine(triangle, shares);
            (cosine > SAME_SIDE).then_some(NORMAL_TIE * self.size * (1.0 - cosine))
        });
        let any = || self.tree.nearest(point, |_, _| Some(0.0));
        let near = facing.filter(|found| found.distance <= LOOK_FOR_SIDE * self.size);
        let faces_alike = near.is_some();
        match near.or_else(any) {
            Some(found) => {
                let corners = self.mesh.triangles()[found.triangle as usize];
                let parts = corners.into_iter().zip(found.shares).filter(|&(_, share)| share > 0.0);
                Place { parts: parts.collect(), gap: found.distance, faces_alike }
            }
            None => Place { parts: Vec::new(), gap: f64::INFINITY, faces_alike },
        }
    }
}

/// Adds parts with a factor.
fn add(sum: &mut Vec<(u32, f64)>, parts: &[(u32, f64)], factor: f64) {
    for &(vertex, share) in parts {
        match sum.iter_mut().find(|(v, _)| *v == vertex) {
            Some((_, known)) => *known += factor * share,
            None => sum.push((vertex, factor * share)),
        }
    }
}

/// Vertices along the edges of each vertex, rising.
fn neighbours(mesh: &Mesh) -> Vec<Vec<u32>> {
    let mut neighbours = vec![Vec::new(); mesh.vertex_count()];
    for &[a, b, c] in mesh.triangles() {
        for (from, to) in [(a, b), (b, c), (c, a)] {
            neighbours[from as usize].push(to);
            neighbours[to as usize].push(from);
        }
    }
    for list in &mut neighbours {
        list.sort_unstable();
        list.dedup();
    }
    neighbours
}

/// The mean length of each vertex's edges; zero without any.
fn mean_edges(mesh: &Mesh, neighbours: &[Vec<u32>]) -> Vec<f64> {
    let at = |vertex: usize| mesh.positions()[vertex].as_dvec3();
    let mean = |(vertex, list): (usize, &Vec<u32>)| {
        let sum: f64 = list.iter().map(|&to| at(vertex).distance(at(to as usize))).sum();
        sum / list.len().max(1) as f64
    };
    neighbours.iter().enumerate().map(mean).collect()
}
