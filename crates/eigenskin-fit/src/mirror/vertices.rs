//! Which vertex is which on the other side: by position, then by what vertices are joined to.

use std::collections::{BTreeSet, HashMap};

use eigenskin_core::progress::{Cancelled, Progress};
use eigenskin_core::rig::Rig;
use eigenskin_core::vertex_groups::VertexGroups;
use glam::DVec3;

use super::plane::MirrorPlane;
use crate::during::Small;

/// Where the shape of a vertex comes from in the mirror.
#[derive(Debug, Clone, PartialEq)]
pub struct VertexPairs {
    /// `vertex` → a vertex on the other side; `None` where the mesh is not symmetric
    pub source: Vec<Option<u32>>,
    /// `vertex` → whether the two rest positions are each other's mirror image but for rounding
    pub exact: Vec<bool>,
    /// points of the skin that were paired by what they are joined to
    pub by_topology: usize,
    /// `point` → the points it is joined to
    pub neighbours: Vec<Vec<u32>>,
    /// vertices that are one point of the skin
    pub points: VertexGroups,
}

/// What is said while vertices are paired.
const PAIRING: &str = "pairing vertices";
/// Rest positions that differ by less than this share of the size are mirrored exactly.
pub const EXACT: f64 = 1e-6;
/// By topology, pairs may be this share of the size off.
const LOOSE: f64 = 0.03;
/// How many times nearer than the next one a point has to be.
const CLEARLY: f64 = 4.0;

impl VertexPairs {
    /// Pairs the vertices of a rig; positions agree within `tolerance` (a length).
    pub fn find(
        rig: &Rig,
        plane: MirrorPlane,
        tolerance: f64,
        progress: &dyn Progress,
    ) -> Result<Self, Cancelled> {
        progress.doing(PAIRING)?;
        let size = rig.mesh().size();
        let points = rig.seams();
        let at: Vec<DVec3> = (0..points.group_count())
            .map(|point| rig.mesh().positions()[points.first_vertex(point)].as_dvec3())
            .collect();
        let neighbours = neighbours(rig, &points);
        let mut partner = by_position(&at, plane, tolerance, EXACT * size, progress)?;
        let by_topology = by_topology(&at, plane, &neighbours, &mut partner, LOOSE * size, progress)?;
        let members = points.members();
        let normals = rig.mesh().normals();
        let mut source = vec![None; rig.vertex_count()];
        let mut exact = vec![false; rig.vertex_count()];
        for (point, other) in partner.iter().enumerate() {
            let Some(other) = *other else { continue };
            let near = plane.point(at[point]).distance(at[other]) <= EXACT * size;
            for &vertex in &members[point] {
                // Vertices of a seam differ in their normals or texture; any has the right position.
                let alike = |from: u32| plane.direction(normals[from as usize]).dot(normals[vertex as usize]);
                let best = members[other]
                    .iter()
                    .copied()
                    .reduce(|best, next| if alike(next) > alike(best) { next } else { best });
                source[vertex as usize] = best;
                exact[vertex as usize] = near;
            }
        }
        Ok(Self { source, exact, by_topology, neighbours, points })
    }
}

/// `point` → its mirror image, where one is clearly nearest and says the same.
fn by_position(
    at: &[DVec3],
    plane: MirrorPlane,
    tolerance: f64,
    rounding: f64,
    progress: &dyn Progress,
) -> Result<Vec<Option<usize>>, Cancelled> {
    let cell = tolerance.max(f64::MIN_POSITIVE);
    let key = |p: DVec3| (p / cell).floor().to_array().map(|x| x as i64);
    let mut cells: HashMap<[i64; 3], Vec<usize>> = HashMap::new();
    for (point, &p) in at.iter().enumerate() {
        cells.entry(key(p)).or_default().push(point);
    }
    let nearest = |point: usize| {
        let image = plane.point(at[point]);
        let [x, y, z] = key(image);
        let mut best: Option<(usize, f64)> = None;
        let mut second = f64::INFINITY;
        for offset in 0..27 {
            let [dx, dy, dz] = [offset % 3 - 1, offset / 3 % 3 - 1, offset / 9 - 1];
            let near = cells.get(&[x.saturating_add(dx), y.saturating_add(dy), z.saturating_add(dz)]);
            for &other in near.into_iter().flatten() {
                let distance = image.distance(at[other]);
                if best.is_none_or(|best| distance < best.1) {
                    second = best.map_or(f64::INFINITY, |best| best.1);
                    best = Some((other, distance));
                } else {
                    second = second.min(distance);
                }
            }
        }
        let (other, distance) = best.filter(|best| best.1 <= tolerance)?;
        (second > CLEARLY * distance.max(rounding)).then_some(other)
    };
    let small = Small::new(progress, PAIRING, at.len());
    let nearest: Vec<Option<usize>> = (0..at.len())
        .map(|point| {
            small.next()?;
            Ok(nearest(point))
        })
        .collect::<Result<_, Cancelled>>()?;
    let mutual = |point: usize| nearest[point].filter(|&other| nearest[other] == Some(point));
    Ok((0..at.len()).map(mutual).collect())
}

/// Pairs further points whose paired neighbours agree, spreading from those; how many.
fn by_topology(
    at: &[DVec3],
    plane: MirrorPlane,
    neighbours: &[Vec<u32>],
    partner: &mut [Option<usize>],
    limit: f64,
    progress: &dyn Progress,
) -> Result<usize, Cancelled> {
    let mut paired = 0;
    loop {
        let small = Small::new(progress, PAIRING, at.len());
        let proposal = |point: usize| {
            let image = plane.point(at[point]);
            let images: BTreeSet<usize> =
                neighbours[point].iter().filter_map(|&next| partner[next as usize]).collect();
            if images.len() < 2 {
                return None;
            }
            let candidates: BTreeSet<usize> = images
                .iter()
                .flat_map(|&image| neighbours[image].iter().map(|&next| next as usize))
                .filter(|&other| partner[other].is_none() && image.distance(at[other]) <= limit)
                .collect();
            let shared = |other: usize| {
                neighbours[other].iter().filter(|&&next| images.contains(&(next as usize))).count()
            };
            let ranked = |other: usize| (shared(other), image.distance(at[other]));
            let better = |a: (usize, f64), b: (usize, f64)| a.0 > b.0 || (a.0 == b.0 && a.1 < b.1);
            let best = candidates
                .iter()
                .copied()
                .reduce(|best, next| if better(ranked(next), ranked(best)) { next } else { best })?;
            let (agreeing, distance) = ranked(best);
            // Two that agree alike and lie alike cannot be told apart.
            let alike = candidates.iter().any(|&other| {
                let (others, far) = ranked(other);
                other != best && others == agreeing && far <= CLEARLY * distance
            });
            (agreeing >= 2 && !alike).then_some(best)
        };
        let proposals: Vec<Option<usize>> = (0..at.len())
            .map(|point| {
                small.next()?;
                Ok(if partner[point].is_none() { proposal(point) } else { None })
            })
            .collect::<Result<_, Cancelled>>()?;
        let agreed: Vec<(usize, usize)> = (0..at.len())
            .filter_map(|point| Some((point, proposals[point]?)))
            .filter(|&(point, other)| proposals[other] == Some(point))
            .collect();
        if agreed.is_empty() {
            return Ok(paired);
        }
        paired += agreed.len();
        for (point, other) in agreed {
            partner[point] = Some(other);
        }
    }
}

/// `point` → the points that triangles join it to, rising. The other diagonal of two neighbouring
/// triangles counts too: quads are cut differently on both sides.
fn neighbours(rig: &Rig, points: &VertexGroups) -> Vec<Vec<u32>> {
    let mut neighbours: Vec<Vec<u32>> = vec![Vec::new(); points.group_count()];
    let mut opposite: Vec<((usize, usize), usize)> = Vec::new();
    let mut join = |a: usize, b: usize| {
        if a != b {
            neighbours[a].push(b as u32);
            neighbours[b].push(a as u32);
        }
    };
    for triangle in rig.mesh().triangles() {
        let corners = triangle.map(|vertex| points.group_of(vertex as usize));
        for (from, to, other) in [(0, 1, 2), (1, 2, 0), (2, 0, 1)] {
            let (a, b) = (corners[from], corners[to]);
            join(a, b);
            opposite.push(((a.min(b), a.max(b)), corners[other]));
        }
    }
    opposite.sort_unstable();
    for pair in opposite.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
        join(pair[0].1, pair[1].1);
    }
    for list in &mut neighbours {
        list.sort_unstable();
        list.dedup();
    }
    neighbours
}
