//! Which cache vertex each rig vertex is, by the rest frame.
//!
//! Vertex order is no identity: programs merge, split and sort vertices. What both sides agree on is
//! the rest shape. Vertices of a texture seam are several in a rig and one in a cache: many to one.

use eigenskin_core::glam::{DVec3, Vec3};
use eigenskin_core::rig::Rig;

use super::error::{CorrespondenceError, NAMED, flat_shading_hint};
use super::neighbourhood::Neighbourhood;
use super::touching::{self, Choices};
use super::{AxesAndUnit, VertexCache};

/// Rest positions agree within this share of the size.
pub const EXACT: f64 = 1e-5;
/// A rest frame that is further from the rig than this share of the size is another shape.
pub const LARGEST_DRIFT: f64 = 1e-3;

/// How many times nearer one explanation has to be than another.
const CLEARLY: f64 = 4.0;

/// How to read a cache as shapes of a rig.
#[derive(Debug, Clone, PartialEq)]
pub struct Correspondence {
    /// `rig vertex` → cache vertex
    pub cache_vertex: Vec<u32>,
    /// what takes the cache to the rig's axes, unit and place
    pub axes_and_unit: AxesAndUnit,
    /// largest distance between the rest frame and the rig's rest shape, share of the size
    pub drift: f64,
    /// what there is to say about it, one sentence each
    pub notes: Vec<String>,
}

impl Correspondence {
    /// Matches the vertices of `cache` at `rest_frame` to the rest shape of `rig`.
    ///
    /// `expected` are frames with the shape that plain skinning gives them (`vertex`): where a rest
    /// shape looks the same from several sides, the turn nearest to them is taken, and touching
    /// surfaces are told apart by them when the cache has no faces.
    pub fn find(
        rig: &Rig,
        cache: &VertexCache,
        rest_frame: usize,
        expected: &[(usize, Vec<Vec3>)],
    ) -> Result<Self, CorrespondenceError> {
        let Some(rest) = cache.frames.get(rest_frame) else {
            return Err(CorrespondenceError::NoRestFrame { frame: rest_frame, frames: cache.frames.len() });
        };
        let positions = rig.mesh().positions();
        let size = rig.mesh().size();
        let tolerance = 2.0 * LARGEST_DRIFT * size;
        let mut candidates = AxesAndUnit::candidates(positions, rest, tolerance);
        let mut matches = matches(positions, rest, size, &candidates);
        if matches.is_empty() {
            let shifted = AxesAndUnit::shifted_candidates(positions, rest, tolerance);
            matches = self::matches(positions, rest, size, &shifted);
            candidates.extend(shifted);
        }
        let ways = matches.len();
        let mut by_misfit: Vec<(f64, Match)> =
            matches.into_iter().map(|found| (found.misfit(cache, expected), found)).collect();
        by_misfit.sort_by(|a, b| a.0.total_cmp(&b.0));
        let second = by_misfit.get(1).map(|(misfit, _)| *misfit);
        let Some((misfit, found)) = by_misfit.into_iter().next() else {
            return Err(not_matched(rig, cache, rest_frame, &candidates));
        };
        if found.axes_and_unit.shift != DVec3::ZERO {
            let alike = second.is_some_and(|second| second <= CLEARLY * misfit);
            found.check_shift(cache, rest_frame, expected, alike)?;
        }
        let mut notes: Vec<String> = found.axes_and_unit.describe().into_iter().collect();
        if ways > 1 {
            notes.push(format!(
                "the rest shape looks the same in {ways} orientations; the one nearest to plain skinning was taken"
            ));
        }
        let Match { axes_and_unit, choices, same_order, .. } = &found;
        let resolved =
            touching::resolve(rig, cache, rest_frame, *axes_and_unit, expected, choices, *same_order)
                .map_err(|vertices| CorrespondenceError::Ambiguous {
                    count: vertices.len(),
                    first: vertices.into_iter().take(NAMED).collect(),
                    hint: hint(rig, cache),
                })?;
        let drift = found.furthest / size;
        if drift > EXACT {
            notes.push(format!(
                "the rest frame is up to {:.4} % of the size away from the rig's rest shape",
                100.0 * drift
            ));
        }
        notes.extend(resolved.notes);
        notes.extend(order_notes(&resolved.cache_vertex, cache.vertex_count(), found.same_order));
        Ok(Self { cache_vertex: resolved.cache_vertex, axes_and_unit: found.axes_and_unit, drift, notes })
    }

    /// Whether the rest frame is not quite the rest shape; it still means it.
    pub fn rest_has_drifted(&self) -> bool {
        self.drift > EXACT
    }

    /// A frame of the cache as a shape of the rig, `rig vertex`.
    pub fn shape(&self, frame: &[Vec3]) -> Vec<Vec3> {
        self.cache_vertex.iter().map(|&vertex| self.axes_and_unit.apply(frame[vertex as usize])).collect()
    }
}

/// All candidates in which every rig vertex has a partner. The same order as well is beyond doubt.
fn matches(rig: &[Vec3], cache_rest: &[Vec3], size: f64, candidates: &[AxesAndUnit]) -> Vec<Match> {
    let mut matches: Vec<Match> = Vec::new();
    for &axes_and_unit in candidates {
        let found = Match::find(rig, cache_rest, axes_and_unit, size, true);
        if found.unmatched.is_empty() && found.same_order {
            return vec![found];
        }
        if found.unmatched.is_empty() {
            matches.push(found);
        }
    }
    matches
}

/// The rest frame in one orientation, against the rig.
struct Match {
    axes_and_unit: AxesAndUnit,
    choices: Choices,
    same_order: bool,
    /// rig vertices without a partner, and the distance to what stands there in the same order
    unmatched: Vec<usize>,
    /// largest distance of a rig vertex to its partner
    furthest: f64,
}

impl Match {
    /// Finds the partners of all rig vertices; with `all_or_nothing` it gives up at the first that
    /// has none.
    fn find(
        rig: &[Vec3],
        cache_rest: &[Vec3],
        axes_and_unit: AxesAndUnit,
        size: f64,
        all_or_nothing: bool,
    ) -> Self {
        let rest: Vec<Vec3> = cache_rest.iter().map(|&p| axes_and_unit.apply(p)).collect();
        let distance =
            |vertex: usize, partner: usize| rig[vertex].as_dvec3().distance(rest[partner].as_dvec3());
        let same_order = rig.len() == rest.len()
            && (0..rig.len()).all(|vertex| distance(vertex, vertex) <= LARGEST_DRIFT * size);
        let grid = Neighbourhood::new(&rest, LARGEST_DRIFT * size);
        let mut found = Self {
            axes_and_unit,
            choices: Choices::default(),
            same_order,
            unmatched: Vec::new(),
            furthest: 0.0,
        };
        for (vertex, &place) in rig.iter().enumerate() {
            let near = grid.near(place);
            let Some(&(_, nearest)) = near.first() else {
                found.unmatched.push(vertex);
                found.choices.push(&[]);
                if all_or_nothing {
                    break;
                }
                continue;
            };
            let options: Vec<u32> = if nearest <= EXACT * size {
                near.iter().take_while(|n| n.1 <= EXACT * size).map(|n| n.0).collect()
            } else if same_order {
                vec![vertex as u32]
            } else {
                // A drifted vertex has to be clearly nearer than any other.
                near.iter().take_while(|n| n.1 <= 2.0 * nearest).map(|n| n.0).collect()
            };
            found.furthest = found.furthest.max(distance(vertex, options[0] as usize));
            found.choices.push(&options);
        }
        found
    }

    /// How far the cache is from expected shapes in this orientation.
    fn misfit(&self, cache: &VertexCache, expected: &[(usize, Vec<Vec3>)]) -> f64 {
        let of_frame = |(frame, shape): &(usize, Vec<Vec3>)| -> f64 {
            let positions = &cache.frames[*frame];
            let distance = |(vertex, place): (usize, &Vec3)| {
                let found = self.axes_and_unit.apply(positions[self.choices.of(vertex)[0] as usize]);
                f64::from(found.distance_squared(*place))
            };
            shape.iter().enumerate().map(distance).sum()
        };
        expected.iter().map(of_frame).sum()
    }

    /// Checks that the shift of the rest frame is that of all frames, as an object that stood beside
    /// the origin has it: on average each posed frame has to be where plain skinning puts it.
    fn check_shift(
        &self,
        cache: &VertexCache,
        rest_frame: usize,
        expected: &[(usize, Vec<Vec3>)],
        alike: bool,
    ) -> Result<(), CorrespondenceError> {
        let shift = self.axes_and_unit.shift;
        let refuse = |problem: String| CorrespondenceError::Shift { shift: shift.to_array(), problem };
        if alike {
            return Err(refuse("the rest shape fits in several orientations there".into()));
        }
        for (frame, shape) in expected.iter().filter(|(frame, _)| *frame != rest_frame) {
            let place = |(vertex, expected): (usize, &Vec3)| {
                let partner = cache.frames[*frame][self.choices.of(vertex)[0] as usize];
                self.axes_and_unit.apply(partner).as_dvec3() - expected.as_dvec3()
            };
            let away = shape.iter().enumerate().map(place).sum::<DVec3>() / shape.len() as f64;
            if away.length() * CLEARLY > shift.length() {
                let stays = (away - shift).length() * CLEARLY <= shift.length();
                return Err(refuse(if stays {
                    format!("frame {frame} is not shifted")
                } else {
                    format!("frame {frame} is shifted otherwise, or the shift is too small to tell")
                }));
            }
        }
        Ok(())
    }
}

/// The error for the orientation that leaves the fewest vertices without a partner.
fn not_matched(
    rig: &Rig,
    cache: &VertexCache,
    rest_frame: usize,
    candidates: &[AxesAndUnit],
) -> CorrespondenceError {
    let (positions, size) = (rig.mesh().positions(), rig.mesh().size());
    let rest = &cache.frames[rest_frame];
    let unmatched = candidates
        .iter()
        .map(|&candidate| (candidate, Match::find(positions, rest, candidate, size, false).unmatched))
        .min_by_key(|(_, unmatched)| unmatched.len());
    let (axes_and_unit, unmatched) = unmatched.unwrap_or((AxesAndUnit::SAME, Vec::new()));
    let distance = if positions.len() == rest.len() {
        let distance = |&vertex: &usize| positions[vertex].distance(axes_and_unit.apply(rest[vertex]));
        let furthest = unmatched.iter().map(distance).fold(0.0, f32::max);
        format!(", up to {:.3} % of the size away in the same order", 100.0 * f64::from(furthest) / size)
    } else {
        String::new()
    };
    CorrespondenceError::NotMatched {
        frame: rest_frame,
        count: unmatched.len(),
        rig_vertices: positions.len(),
        cache_vertices: rest.len(),
        first: unmatched.into_iter().take(NAMED).collect(),
        distance,
        hint: hint(rig, cache),
    }
}

fn hint(rig: &Rig, cache: &VertexCache) -> String {
    if rig.vertex_count() == cache.vertex_count() {
        return String::new();
    }
    let corners = cache
        .faces
        .as_ref()
        .map_or(3 * rig.mesh().triangles().len(), |faces| faces.iter().map(Vec::len).sum());
    flat_shading_hint(cache.vertex_count(), Some(corners))
}

/// How the vertices of both sides relate.
fn order_notes(cache_vertex: &[u32], cache_count: usize, same_order: bool) -> Vec<String> {
    if same_order {
        return Vec::new();
    }
    let mut used = vec![false; cache_count];
    for &vertex in cache_vertex {
        used[vertex as usize] = true;
    }
    let used_count = used.iter().filter(|used| **used).count();
    let mut notes = vec![format!(
        "{} rig vertices were matched to {used_count} cache vertices by their rest positions",
        cache_vertex.len()
    )];
    if used_count < cache_count {
        notes.push(format!(
            "{} cache vertices have no vertex of the rig at their place, or repeat another, and were left out",
            cache_count - used_count
        ));
    }
    notes
}
