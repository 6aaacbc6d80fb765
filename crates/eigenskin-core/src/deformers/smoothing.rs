//! Delta mush (Mancewicz et al. 2014) and Blender's corrective smoothing: the posed skin is smoothed,
//! and the detail that smoothing takes from the rest shape is put back in frames of the smoothed
//! surface.
//!
//! Detail is kept per corner of a triangle, in the frame of the two bisectors of its edges and the
//! normal, and blended by the corner's outer angle. Those frames turn with the surface, and do not
//! stretch or shear with it. Blender's modifier does the same on a mesh of triangles: the test
//! against it allows 1e-5 of the size. Vertices that are one point of the skin are smoothed as one. Where
//! a vertex has no corner with a frame (loose vertices, folded triangles) it stays as it came.

use glam::{DMat3, DVec3};

use super::stack::DeformerError;
use crate::rig::Rig;
use crate::vertex_groups::VertexGroups;

/// Smoothing that keeps the detail of the rest shape.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Smoothing {
    /// passes of smoothing
    pub iterations: usize,
    /// share of the way to its neighbours that a vertex goes per pass, in [0, 1]
    pub factor: f64,
    /// what neighbours count
    pub weighting: SmoothingWeighting,
    /// border vertices are not smoothed
    pub pin_borders: bool,
    /// how much of the detail is put back; 1 keeps the rest shape, 0 smooths it
    pub detail: f64,
}

/// What neighbours count when they are averaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SmoothingWeighting {
    /// all the same
    Uniform,
    /// as much as the edge to them is long (Blender's "length weighted", with its factor of two)
    EdgeLength,
}

impl SmoothingWeighting {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::EdgeLength => "edge-length",
        }
    }

    /// The weighting of that name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Uniform, Self::EdgeLength].into_iter().find(|weighting| weighting.name() == name)
    }
}

impl Smoothing {
    /// Delta mush as in its paper and in Maya: ten passes, borders stay.
    pub fn delta_mush() -> Self {
        Self {
            iterations: 10,
            factor: 0.5,
            weighting: SmoothingWeighting::Uniform,
            pin_borders: true,
            detail: 1.0,
        }
    }

    /// Blender's modifier with its defaults: five passes, borders move.
    pub fn corrective() -> Self {
        Self { iterations: 5, pin_borders: false, ..Self::delta_mush() }
    }

    /// Binds it to the rest shape of `rig`, as step number `step` of a stack.
    pub(super) fn bind(&self, rig: &Rig, step: usize) -> Result<BoundSmoothing, DeformerError> {
        let wrong = |what: String| DeformerError::Smoothing { step, what };
        if self.iterations > MOST_ITERATIONS {
            return Err(wrong(format!("has {} iterations; give at most {MOST_ITERATIONS}", self.iterations)));
        }
        if !(0.0..=1.0).contains(&self.factor) {
            return Err(wrong(format!("has the factor {}; give one from 0 to 1", self.factor)));
        }
        if !self.detail.is_finite() {
            return Err(wrong("has a detail that is not a finite number".into()));
        }
        Ok(BoundSmoothing::new(*self, rig))
    }
}

/// More passes are refused.
const MOST_ITERATIONS: usize = 10_000;
/// Sine below which a corner has no normal.
const FLAT_CORNER: f64 = 1e-9;

/// Smoothing of a rig. `point`: vertices that are one point of the skin.
#[derive(Debug, Clone)]
pub(super) struct BoundSmoothing {
    settings: Smoothing,
    points: VertexGroups,
    /// `point`: 1 / vertices in it
    share_of_member: Vec<f64>,
    /// `point + 1`: where its neighbours start
    starts: Vec<u32>,
    neighbours: Vec<u32>,
    /// `point`: does not move
    pinned: Vec<bool>,
    corners: Vec<Corner>,
    /// scratch, all `point`
    incoming: Vec<DVec3>,
    smooth: Vec<DVec3>,
    next: Vec<DVec3>,
    detail: Vec<DVec3>,
    weight: Vec<f64>,
}

#[derive(Debug, Clone, Copy)]
struct Corner {
    at: u32,
    before: u32,
    after: u32,
    /// what smoothing took from the rest shape, in the corner's frame
    detail: DVec3,
}

impl BoundSmoothing {
    fn new(settings: Smoothing, rig: &Rig) -> Self {
        let points = rig.seams();
        let count = points.group_count();
        let triangles: Vec<[u32; 3]> = rig
            .mesh()
            .triangles()
            .iter()
            .map(|corners| corners.map(|vertex| points.group_of(vertex as usize) as u32))
            .filter(|[a, b, c]| a != b && b != c && c != a)
            .collect();
        let (starts, neighbours, pinned) = neighbourhoods(count, &triangles, settings.pin_borders);
        let rest: Vec<DVec3> =
            (0..count).map(|p| rig.mesh().positions()[points.first_vertex(p)].as_dvec3()).collect();
        let mut members = vec![0.0; count];
        (0..points.vertex_count()).for_each(|vertex| members[points.group_of(vertex)] += 1.0);
        let mut bound = Self {
            settings,
            share_of_member: members.iter().map(|members: &f64| 1.0 / members).collect(),
            points,
            starts,
            neighbours,
            pinned,
            corners: Vec::new(),
            incoming: vec![DVec3::ZERO; count],
            smooth: rest.clone(),
            next: rest.clone(),
            detail: vec![DVec3::ZERO; count],
            weight: vec![0.0; count],
        };
        bound.smooth_points();
        bound.corners = triangles
            .iter()
            .flat_map(|&[a, b, c]| [[c, a, b], [a, b, c], [b, c, a]])
            .filter_map(|[before, at, after]| {
                let mut corner = Corner { at, before, after, detail: DVec3::ZERO };
                let (frame, _) = corner.frame(&bound.smooth)?;
                corner.detail = frame.transpose() * (rest[at as usize] - bound.smooth[at as usize]);
                Some(corner)
            })
            .collect();
        bound
    }

    /// Smooths posed points (`vertex`).
    pub fn deform(&mut self, vertices: &mut [DVec3]) {
        self.incoming.fill(DVec3::ZERO);
        for (vertex, &position) in vertices.iter().enumerate() {
            let point = self.points.group_of(vertex);
            self.incoming[point] += position * self.share_of_member[point];
        }
        self.smooth.copy_from_slice(&self.incoming);
        self.smooth_points();
        self.detail.fill(DVec3::ZERO);
        self.weight.fill(0.0);
        for corner in &self.corners {
            if let Some((frame, weight)) = corner.frame(&self.smooth) {
                self.detail[corner.at as usize] += weight * (frame * corner.detail);
                self.weight[corner.at as usize] += weight;
            }
        }
        for (vertex, position) in vertices.iter_mut().enumerate() {
            let point = self.points.group_of(vertex);
            *position = if self.weight[point] > 0.0 {
                self.smooth[point] + self.settings.detail / self.weight[point] * self.detail[point]
            } else {
                self.incoming[point]
            };
        }
    }

    fn smooth_points(&mut self) {
        for _ in 0..self.settings.iterations {
            for point in 0..self.smooth.len() {
                self.next[point] = self.smooth[point] + self.step_of(point);
            }
            std::mem::swap(&mut self.smooth, &mut self.next);
        }
    }

    /// How far a point goes in one pass.
    fn step_of(&self, point: usize) -> DVec3 {
        let around = &self.neighbours[self.starts[point] as usize..self.starts[point + 1] as usize];
        if self.pinned[point] || around.is_empty() {
            return DVec3::ZERO;
        }
        let edges = around.iter().map(|&other| self.smooth[other as usize] - self.smooth[point]);
        let count = around.len() as f64;
        match self.settings.weighting {
            SmoothingWeighting::Uniform => edges.sum::<DVec3>() * (self.settings.factor / count),
            SmoothingWeighting::EdgeLength => {
                let (sum, lengths) = edges.fold((DVec3::ZERO, 0.0), |(sum, lengths), edge| {
                    let length = edge.length();
                    (sum + edge * length, lengths + length)
                });
                if lengths > 0.0 {
                    sum * (2.0 * self.settings.factor / (lengths * count))
                } else {
                    DVec3::ZERO
                }
            }
        }
    }
}

impl Corner {
    /// Its frame on a surface (`point`), and the corner's outer angle; none without area.
    fn frame(&self, surface: &[DVec3]) -> Option<(DMat3, f64)> {
        let at = surface[self.at as usize];
        let before = (surface[self.before as usize] - at).normalize_or_zero();
        let after = (surface[self.after as usize] - at).normalize_or_zero();
        let normal = after.cross(before);
        let sine = normal.length();
        let outer_angle = std::f64::consts::PI - sine.atan2(after.dot(before));
        // Bisectors of unit vectors are perpendicular.
        let bisectors = [(after + before).normalize_or_zero(), (after - before).normalize_or_zero()];
        let frame = DMat3::from_cols(bisectors[0], bisectors[1], normal / sine);
        (sine > FLAT_CORNER).then_some((frame, outer_angle))
    }
}

/// The points that share an edge with each (`point + 1` starts, and the neighbours in rising order),
/// and which points are pinned: those on an edge of a single triangle, if asked for.
fn neighbourhoods(
    count: usize,
    triangles: &[[u32; 3]],
    pin_borders: bool,
) -> (Vec<u32>, Vec<u32>, Vec<bool>) {
    let mut edges: Vec<[u32; 2]> = triangles
        .iter()
        .flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]])
        .flat_map(|[a, b]| [[a, b], [b, a]])
        .collect();
    edges.sort_unstable();
    let mut pinned = vec![false; count];
    let mut starts = vec![0; count + 1];
    let mut neighbours = Vec::new();
    for same in edges.chunk_by(|a, b| a == b) {
        let [from, to] = same[0];
        pinned[from as usize] |= pin_borders && same.len() == 1;
        starts[from as usize + 1] += 1;
        neighbours.push(to);
    }
    for point in 0..count {
        starts[point + 1] += starts[point];
    }
    (starts, neighbours, pinned)
}
