//! Layers from shares of the examples' deltas: one per pose space and prototype, and one more for what
//! deltas at rest cannot reach.
//!
//! One field per example may be more than is wanted, or more than memory holds. So layers are planned
//! first; under a limit their fields are merged, whose directions follow from the inner products of the
//! examples; only fields that are kept are ever written.

use std::borrow::Cow;
use std::collections::BTreeMap;

use eigenskin_core::model::{DisplacementBasis, Frame, Layer, Stage};
use eigenskin_core::progress::{Cancelled, Progress};
use glam::Vec3;
use rayon::prelude::*;

use super::deltas::Deltas;
use super::merge::{kept_directions, mixed_driver, signed_directions};
use super::mixtures::Mixtures;
use super::prototypes::Prototypes;
use super::shares::{Lesson, PrototypeModel};
use crate::displacements::tall_matrix::TallMatrix;
use crate::displacements::{Fields, TileError};
use crate::drivers::with_outputs;
use crate::numeric::{Matrix, symmetric_eigen};

/// A layer, and what it was made for.
pub(super) struct WrittenLayer {
    pub layer: Layer,
    pub space: usize,
    /// what deltas cannot reach, not the deltas themselves
    pub is_residual: bool,
}

/// The layers of all spaces and prototypes with at most `most` fields in all, residuals last. `grams` are
/// inner products of the deltas, `prototype` → `example × example`.
pub(super) fn written_layers(
    lesson: &Lesson<'_>,
    deltas: &Deltas<'_>,
    models: &[PrototypeModel],
    grams: &[Matrix],
    most: usize,
    progress: &dyn Progress,
) -> Result<Vec<WrittenLayer>, TileError> {
    let displaced = Source::displacements(lesson, deltas, grams);
    let unreached = Source::residuals(lesson, deltas, progress)?;
    let places: Vec<(&Source<'_>, usize, usize)> = [Some(&displaced), unreached.as_ref()]
        .into_iter()
        .flatten()
        .flat_map(|source| (0..lesson.spaces.len()).map(move |space| (source, space)))
        .flat_map(|(source, space)| (0..models.len()).map(move |prototype| (source, space, prototype)))
        .collect();
    let is_held = deltas.positions.are_held();
    let mut plans: Vec<Plan<'_>> = each(is_held, &places, |&(source, space, prototype)| {
        Plan::new(lesson, source, space, prototype, &models[prototype], progress)
    })?;
    plans.retain(|plan| !(plan.source.is_residual && plan.support.is_empty()));
    merge(&mut plans, most, progress)?;
    each(is_held, &plans, |plan| plan.written(lesson, &models[plan.prototype], progress))
}

/// Does something with all items: several at once where that needs no more memory.
fn each<T: Sync, R: Send, E: Send>(
    at_once: bool,
    items: &[T],
    work: impl Fn(&T) -> Result<R, E> + Sync + Send,
) -> Result<Vec<R>, E> {
    if at_once { items.par_iter().map(work).collect() } else { items.iter().map(work).collect() }
}

/// What the used examples do at places of the skin.
struct Source<'a> {
    /// `row × place`
    fields: Cow<'a, Fields>,
    /// `place` → the vertices that are there
    vertices: Vec<Vec<u32>>,
    /// `row` → the used example; those without a row do nothing
    examples: Vec<usize>,
    /// `used example` → its row
    rows: BTreeMap<usize, usize>,
    /// `row × vertex`; none where normals are left alone
    normals: Option<&'a Fields>,
    /// `prototype` → inner products, `used example` with a row × the same
    grams: Cow<'a, [Matrix]>,
    /// shorter displacements move nothing
    least: f32,
    stage: Stage,
    is_residual: bool,
}

impl<'a> Source<'a> {
    fn displacements(lesson: &Lesson<'_>, deltas: &'a Deltas<'_>, grams: &'a [Matrix]) -> Self {
        let examples: Vec<usize> = (0..lesson.used.examples.len()).collect();
        Self {
            fields: Cow::Borrowed(&deltas.positions),
            vertices: deltas.points.members(),
            rows: examples.iter().map(|&used| (used, lesson.used.examples[used])).collect(),
            examples,
            normals: deltas.normals,
            grams: Cow::Borrowed(grams),
            least: (lesson.params.threshold * lesson.rig.mesh().size()) as f32,
            stage: deltas.stage,
            is_residual: false,
        }
    }

    /// What deltas at rest cannot reach (w in Xian §5.3), where there is anything.
    fn residuals(
        lesson: &Lesson<'_>,
        deltas: &Deltas<'_>,
        progress: &dyn Progress,
    ) -> Result<Option<Self>, TileError> {
        let Some(residuals) = deltas.residuals else { return Ok(None) };
        let left = |used: usize| &residuals[lesson.used.examples[used]];
        let examples: Vec<usize> =
            (0..lesson.used.examples.len()).filter(|&used| !left(used).is_empty()).collect();
        let mut place_of: BTreeMap<u32, usize> = BTreeMap::new();
        for &(vertex, _) in examples.iter().flat_map(|&used| left(used)) {
            place_of.insert(vertex, 0);
        }
        if place_of.is_empty() {
            return Ok(None);
        }
        for (place, known) in place_of.values_mut().enumerate() {
            *known = place;
        }
        let mut values = vec![Vec3::ZERO; examples.len() * place_of.len()];
        for (row, &used) in values.chunks_exact_mut(place_of.len()).zip(&examples) {
            for (vertex, residual) in left(used) {
                row[place_of[vertex]] = *residual;
            }
        }
        let fields = Fields::held(values, place_of.len());
        let vertices: Vec<u32> = place_of.into_keys().collect();
        Ok(Some(Self {
            grams: Cow::Owned(residual_grams(&fields, &vertices, lesson.prototypes, progress)?),
            fields: Cow::Owned(fields),
            vertices: vertices.into_iter().map(|vertex| vec![vertex]).collect(),
            rows: examples.iter().enumerate().map(|(row, &used)| (used, row)).collect(),
            examples,
            normals: None,
            least: 0.0,
            stage: Stage::AfterSkinning { frame: Frame::Root },
            is_residual: true,
        }))
    }
}

/// Inner products of residuals (`example × vertex`), times the squared membership of each prototype.
fn residual_grams(
    fields: &Fields,
    vertices: &[u32],
    prototypes: &Prototypes,
    progress: &dyn Progress,
) -> Result<Vec<Matrix>, TileError> {
    let examples: Vec<usize> = (0..fields.example_count()).collect();
    let places: Vec<u32> = (0..vertices.len() as u32).collect();
    let gram = |membership: &Vec<f32>| {
        let factor = |_: usize, place: usize| f64::from(membership[vertices[place] as usize]);
        TallMatrix { fields, examples: &examples, points: &places, factor: &factor, axis: None }
            .gram(progress)
    };
    prototypes.membership.iter().map(gram).collect()
}

/// A layer before its fields are written.
struct Plan<'a> {
    source: &'a Source<'a>,
    space: usize,
    prototype: usize,
    /// rows of the source that have a share in some field
    rows: Vec<usize>,
    /// `row × field`: shares of the fields that move something
    shares: Matrix,
    /// fields that move something, by their place among the space's examples
    live: Vec<usize>,
    /// places that some field moves, with their vertices of this prototype, rising by vertex
    support: Vec<(u32, usize)>,
    /// inner products of the fields, `field × field`
    gram: Matrix,
    /// `field × direction`, where fields are merged
    directions: Option<Matrix>,
}

impl<'a> Plan<'a> {
    fn new(
        lesson: &Lesson<'_>,
        source: &'a Source<'a>,
        space: usize,
        prototype: usize,
        model: &PrototypeModel,
        progress: &dyn Progress,
    ) -> Result<Self, TileError> {
        let all = model.shares_of(&lesson.spaces[space].space.examples);
        let involved: Vec<usize> = (0..source.examples.len())
            .filter(|&at| (0..all.ncols()).any(|field| all[(source.examples[at], field)] != 0.0))
            .collect();
        let rows: Vec<usize> = involved.iter().map(|&at| source.rows[&source.examples[at]]).collect();
        let shares =
            Matrix::from_fn(rows.len(), all.ncols(), |row, f| all[(source.examples[involved[row]], f)]);
        let membership = &lesson.prototypes.membership[prototype];
        let is_own = |vertex: &u32| membership[*vertex as usize] > 0.0;
        let own: Vec<bool> = source.vertices.iter().map(|vertices| vertices.iter().any(is_own)).collect();
        let (moved, live) =
            Mixtures::new(&shares).moved(&source.fields, &rows, &own, source.least, progress)?;
        let shares = Matrix::from_fn(rows.len(), live.len(), |row, field| shares[(row, live[field])]);
        let gram = Matrix::from_fn(rows.len(), rows.len(), |a, b| {
            source.grams[prototype][(involved[a], involved[b])]
        });
        let gram = shares.transpose() * &gram * &shares;
        let mut support: Vec<(u32, usize)> = (0..moved.len())
            .filter(|&place| moved[place])
            .flat_map(|place| source.vertices[place].iter().map(move |&vertex| (vertex, place)))
            .filter(|(vertex, _)| is_own(vertex))
            .collect();
        support.sort_unstable();
        Ok(Self { source, space, prototype, rows, shares, live, support, gram, directions: None })
    }

    fn written(
        &self,
        lesson: &Lesson<'_>,
        model: &PrototypeModel,
        progress: &dyn Progress,
    ) -> Result<WrittenLayer, TileError> {
        let membership = &lesson.prototypes.membership[self.prototype];
        let mixtures = match &self.directions {
            Some(directions) => Mixtures::new(&(&self.shares * directions)),
            None => Mixtures::new(&self.shares),
        };
        let on_support = |fields: Vec<Vec<Vec3>>, place: &dyn Fn((u32, usize)) -> usize| -> Vec<Vec3> {
            let written = |field: &Vec<Vec3>| -> Vec<Vec3> {
                let at = |&at: &(u32, usize)| membership[at.0 as usize] * field[place(at)];
                self.support.iter().map(at).collect()
            };
            fields.iter().flat_map(written).collect()
        };
        let positions = mixtures.of(&self.source.fields, &self.rows, progress)?;
        let positions = on_support(positions, &|(_, place)| place);
        let normals = match self.source.normals {
            Some(normals) => {
                on_support(mixtures.of(normals, &self.rows, progress)?, &|(vertex, _)| vertex as usize)
            }
            None => Vec::new(),
        };
        let count = lesson.spaces[self.space].space.examples.len();
        let driver = with_outputs(&model.drivers[self.space].driver, count, &self.live);
        let layer = Layer {
            name: self.name(lesson),
            support: self.support.iter().map(|&(vertex, _)| vertex).collect(),
            basis: DisplacementBasis { positions, normals },
            driver: self.directions.as_ref().map_or(driver.clone(), |mixed| mixed_driver(&driver, mixed)),
            stage: self.source.stage,
        };
        Ok(WrittenLayer { layer, space: self.space, is_residual: self.source.is_residual })
    }

    fn name(&self, lesson: &Lesson<'_>) -> String {
        let mut name = lesson.spaces[self.space].name.clone();
        if lesson.params.prototypes.is_some() {
            name = format!("{name} (prototype {})", self.prototype + 1);
        }
        if self.source.is_residual {
            name += " (after skinning)";
        }
        name
    }
}

/// Leaves at most `most` fields in all: of each layer's, the directions that matter most. A layer that
/// keeps all of its fields is not touched.
fn merge(plans: &mut [Plan<'_>], most: usize, progress: &dyn Progress) -> Result<(), Cancelled> {
    if plans.iter().map(|plan| plan.live.len()).sum::<usize>() <= most {
        return Ok(());
    }
    let found: Vec<(Vec<f64>, Matrix)> = plans
        .par_iter()
        .map(|plan| {
            progress.doing("merging fields")?;
            Ok(symmetric_eigen(&plan.gram))
        })
        .collect::<Result<_, Cancelled>>()?;
    let kept = kept_directions(found.iter().map(|(values, _)| values.as_slice()), most);
    for ((plan, (_, vectors)), kept) in plans.iter_mut().zip(&found).zip(kept) {
        plan.directions = (kept < plan.live.len()).then(|| signed_directions(vectors, kept));
    }
    Ok(())
}
