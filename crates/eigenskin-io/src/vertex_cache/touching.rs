//! Telling apart cache vertices that share a place at rest: lips or fingers that touch.
//!
//! Copies that move alike are one point. Others are told apart by what they hang on: the faces of
//! the cache, or without faces by how the rig's edges turn and stretch in some frames, compared
//! with plain skinning. Knowledge spreads from neighbours that are certain.

use std::collections::{BTreeMap, BTreeSet};

use eigenskin_core::glam::{DVec3, Vec3};
use eigenskin_core::rig::Rig;

use super::{AxesAndUnit, EXACT, VertexCache};

/// The cache vertices that each rig vertex may be, nearest first.
#[derive(Debug, Clone, Default)]
pub struct Choices {
    /// `rig vertex` → the end of its part of `options`
    ends: Vec<usize>,
    options: Vec<u32>,
}

impl Choices {
    /// Adds the options of the next rig vertex.
    pub fn push(&mut self, options: &[u32]) {
        self.options.extend(options);
        self.ends.push(self.options.len());
    }

    /// The options of a rig vertex.
    pub fn of(&self, vertex: usize) -> &[u32] {
        let start = vertex.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.options[start..self.ends[vertex]]
    }
}

/// Edges decide when plain skinning explains them this much better than it would have to for the
/// nearest other option to be in question: their error against the distance between the options.
const CLEAR: f64 = 5.0;
/// The same order everywhere else is strong evidence: only much clearer edges overrule it.
const AGAINST_THE_ORDER: f64 = 10.0;

/// One cache vertex for each rig vertex.
pub struct Resolved {
    /// `rig vertex` → cache vertex
    pub cache_vertex: Vec<u32>,
    /// what there is to say
    pub notes: Vec<String>,
}

/// Decides where there are several options; with `same_order` the order decides what nothing else
/// does. The error are the rig vertices that remain open.
pub fn resolve(
    rig: &Rig,
    cache: &VertexCache,
    rest_frame: usize,
    axes_and_unit: AxesAndUnit,
    expected: &[(usize, Vec<Vec3>)],
    choices: &Choices,
    same_order: bool,
) -> Result<Resolved, Vec<usize>> {
    let count = rig.vertex_count();
    let points = MovingPoints::of(cache, choices, count, rest_frame);
    let mut chosen: Vec<Option<u32>> = Vec::with_capacity(count);
    let mut open: Vec<(usize, Vec<u32>)> = Vec::new();
    for vertex in 0..count {
        let mut different: Vec<u32> = choices.of(vertex).iter().map(|&option| points.point(option)).collect();
        different.sort_unstable();
        different.dedup();
        if let [only] = different[..] {
            chosen.push(Some(only));
        } else {
            chosen.push(None);
            open.push((vertex, different));
        }
    }
    let mut notes = Vec::new();
    let touching = open.len();
    if touching > 0 {
        let neighbours = neighbours_of(rig, &open);
        let evidence = Evidence {
            cache,
            axes_and_unit,
            expected,
            clear: if same_order { AGAINST_THE_ORDER } else { CLEAR },
            edges: cache.faces.as_ref().map(|faces| edges(faces, &points)),
        };
        let sharing = sharing_options(&open);
        spread(&mut chosen, &mut open, &neighbours, &evidence);
        eliminate(&mut chosen, &mut open, &sharing);
        let reordered = (0..count)
            .filter(|&v| same_order && chosen[v].is_some_and(|c| c != points.point(v as u32)))
            .count();
        if reordered > 0 {
            notes.push(format!(
                "{reordered} vertices on touching surfaces are in another order than the rig's; they were told apart by their neighbours"
            ));
        } else if !same_order && open.is_empty() {
            notes.push(format!(
                "{touching} vertices on touching surfaces were told apart by their neighbours"
            ));
        }
    }
    if same_order {
        for (vertex, _) in open.drain(..) {
            chosen[vertex] = Some(vertex as u32);
        }
    }
    if !open.is_empty() {
        return Err(open.into_iter().map(|(vertex, _)| vertex).collect());
    }
    Ok(Resolved { cache_vertex: chosen.into_iter().flatten().collect(), notes })
}

/// Cache vertices, with copies that move alike made one.
struct MovingPoints {
    /// cache vertex → the vertex that stands for it, where that is another
    same_as: BTreeMap<u32, u32>,
}

impl MovingPoints {
    fn of(cache: &VertexCache, choices: &Choices, rig_vertices: usize, rest_frame: usize) -> Self {
        let limit = EXACT * extent(&cache.frames[rest_frame]);
        // Of a cache that stays on disk, only some frames are here.
        let alike = |a: u32, b: u32| {
            let mut frames = cache.frames.iter().filter(|frame| !frame.is_empty());
            frames.all(|frame| f64::from(frame[a as usize].distance(frame[b as usize])) <= limit)
        };
        let mut same_as = BTreeMap::new();
        for vertex in 0..rig_vertices {
            let mut options = choices.of(vertex).to_vec();
            if options.len() < 2 {
                continue;
            }
            options.sort_unstable();
            let mut kinds: Vec<u32> = Vec::new();
            for option in options {
                match kinds.iter().find(|&&kind| alike(kind, option)) {
                    Some(&kind) => {
                        same_as.entry(option).or_insert(kind);
                    }
                    None => kinds.push(option),
                }
            }
        }
        Self { same_as }
    }

    fn point(&self, vertex: u32) -> u32 {
        self.same_as.get(&vertex).copied().unwrap_or(vertex)
    }
}

/// The diagonal of the box around points: enough of a size here.
fn extent(points: &[Vec3]) -> f64 {
    let low = points.iter().fold(Vec3::INFINITY, |low, &p| low.min(p));
    let high = points.iter().fold(Vec3::NEG_INFINITY, |high, &p| high.max(p));
    high.as_dvec3().distance(low.as_dvec3())
}

/// The rig vertices that triangles join to each open one, in the order of `open`.
fn neighbours_of(rig: &Rig, open: &[(usize, Vec<u32>)]) -> BTreeMap<usize, BTreeSet<usize>> {
    let mut neighbours: BTreeMap<usize, BTreeSet<usize>> =
        open.iter().map(|(vertex, _)| (*vertex, BTreeSet::new())).collect();
    for triangle in rig.mesh().triangles() {
        for corner in triangle.map(|corner| corner as usize) {
            if let Some(list) = neighbours.get_mut(&corner) {
                list.extend(triangle.iter().map(|&other| other as usize).filter(|&other| other != corner));
            }
        }
    }
    neighbours
}

/// Pairs of points that share a face of the cache, both ways.
fn edges(faces: &[Vec<u32>], points: &MovingPoints) -> BTreeSet<(u32, u32)> {
    let mut edges = BTreeSet::new();
    for face in faces {
        // All corners of a small face; a large one has too many pairs to be a help.
        let reach = if face.len() <= 8 { face.len() } else { 2 };
        for (index, &a) in face.iter().enumerate() {
            for step in 1..reach {
                let b = face[(index + step) % face.len()];
                edges.insert((points.point(a), points.point(b)));
                edges.insert((points.point(b), points.point(a)));
            }
        }
    }
    edges
}

/// What tells options apart.
struct Evidence<'a> {
    cache: &'a VertexCache,
    axes_and_unit: AxesAndUnit,
    /// frames with the shape that plain skinning gives them, `rig vertex`
    expected: &'a [(usize, Vec<Vec3>)],
    clear: f64,
    /// none without faces
    edges: Option<BTreeSet<(u32, u32)>>,
}

impl Evidence<'_> {
    /// The option of rig vertex `vertex` that hangs on its `neighbours` (rig vertex, cache vertex),
    /// if that is clear.
    fn decide(&self, vertex: usize, options: &[u32], neighbours: &[(usize, u32)]) -> Option<u32> {
        if neighbours.is_empty() {
            return None;
        }
        let badness = |option: u32| match &self.edges {
            Some(edges) => neighbours.iter().filter(|(_, n)| !edges.contains(&(option, *n))).count() as f64,
            None => self.edge_error(vertex, option, neighbours),
        };
        let mut scored: Vec<(f64, u32)> = options.iter().map(|&option| (badness(option), option)).collect();
        scored.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let [(best, option), (second, _), ..] = scored[..] else { return None };
        let clear = match &self.edges {
            Some(_) => best < second && best < neighbours.len() as f64,
            None => scored[1..].iter().all(|&(_, other)| self.clear * best < self.distance(option, other)),
        };
        clear.then_some(option)
    }

    /// How far the edges to the neighbours are from those of plain skinning, root mean square.
    fn edge_error(&self, vertex: usize, option: u32, neighbours: &[(usize, u32)]) -> f64 {
        let error = |(frame, skinned): &(usize, Vec<Vec3>), (neighbour, partner): (usize, u32)| {
            let found = self.place(*frame, option) - self.place(*frame, partner);
            let expected = skinned[vertex].as_dvec3() - skinned[neighbour].as_dvec3();
            found.distance_squared(expected)
        };
        let of_frame = |frame| neighbours.iter().map(|&neighbour| error(frame, neighbour)).sum::<f64>();
        let sum: f64 = self.expected.iter().map(of_frame).sum();
        (sum / (self.expected.len() * neighbours.len()).max(1) as f64).sqrt()
    }

    /// How far two cache vertices are apart over the same frames, root mean square.
    fn distance(&self, a: u32, b: u32) -> f64 {
        let squared =
            |(frame, _): &(usize, Vec<Vec3>)| self.place(*frame, a).distance_squared(self.place(*frame, b));
        let sum: f64 = self.expected.iter().map(squared).sum();
        (sum / self.expected.len().max(1) as f64).sqrt()
    }

    fn place(&self, frame: usize, vertex: u32) -> DVec3 {
        self.axes_and_unit.apply(self.cache.frames[frame][vertex as usize]).as_dvec3()
    }
}

/// Decides open vertices from their decided neighbours, round by round, until nothing changes.
fn spread(
    chosen: &mut [Option<u32>],
    open: &mut Vec<(usize, Vec<u32>)>,
    neighbours: &BTreeMap<usize, BTreeSet<usize>>,
    evidence: &Evidence,
) {
    loop {
        let decide = |(vertex, options): &(usize, Vec<u32>)| {
            let certain: Vec<(usize, u32)> =
                neighbours[vertex].iter().filter_map(|&n| Some((n, chosen[n]?))).collect();
            evidence.decide(*vertex, options, &certain).map(|option| (*vertex, option))
        };
        let decided: Vec<(usize, u32)> = open.iter().filter_map(decide).collect();
        if decided.is_empty() {
            return;
        }
        for (vertex, option) in decided {
            chosen[vertex] = Some(option);
        }
        open.retain(|(vertex, _)| chosen[*vertex].is_none());
    }
}

/// Options → the rig vertices that have them.
type Sharing = BTreeMap<Vec<u32>, Vec<usize>>;

fn sharing_options(open: &[(usize, Vec<u32>)]) -> Sharing {
    let mut sharing = Sharing::new();
    for (vertex, options) in open {
        sharing.entry(options.clone()).or_default().push(*vertex);
    }
    sharing
}

/// Where as many rig vertices as options share a place, the last vertex gets the last option.
fn eliminate(chosen: &mut [Option<u32>], open: &mut Vec<(usize, Vec<u32>)>, sharing: &Sharing) {
    for (vertex, options) in open.iter() {
        let together = &sharing[options];
        let taken: BTreeSet<u32> = together.iter().filter_map(|&other| chosen[other]).collect();
        if together.len() == options.len() && taken.len() + 1 == options.len() {
            chosen[*vertex] = options.iter().copied().find(|option| !taken.contains(option));
        }
    }
    open.retain(|(vertex, _)| chosen[*vertex].is_none());
}
