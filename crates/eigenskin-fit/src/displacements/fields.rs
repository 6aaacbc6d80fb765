//! What examples do at every place of the skin, in memory or stored elsewhere, looked at in tiles: all
//! examples at a few places. Everything that fits need of large sets can be summed tile by tile.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use eigenskin_core::progress::{Cancelled, Progress};
use glam::Vec3;
use rayon::prelude::*;

use crate::numeric::Matrix;

/// Where fields are that do not fit in memory.
pub trait FieldStore: Send + Sync + std::fmt::Debug {
    /// Reads what one example does at some places.
    fn read(&self, example: usize, places: Range<usize>, into: &mut [Vec3]) -> Result<(), StoreError>;
}

/// Stored fields that cannot be read again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot read back what the examples do: {problem}; check the disk and run again")]
pub struct StoreError {
    /// what happened, with the file
    pub problem: String,
}

/// Why not all tiles were looked at.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TileError {
    /// Stored fields that cannot be read again.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The work was ended from outside.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// A vector for every example at every place (points or vertices of the skin), `example × place`.
#[derive(Debug, Clone)]
pub struct Fields {
    example_count: usize,
    place_count: usize,
    values: Values,
}

#[derive(Debug, Clone)]
enum Values {
    Held(Vec<Vec3>),
    Stored(Arc<dyn FieldStore>),
}

/// Some examples at neighbouring places.
pub(crate) struct Tile<'a> {
    /// the places
    pub places: Range<usize>,
    /// `example`, in the order asked for
    rows: Vec<Cow<'a, [Vec3]>>,
}

impl Tile<'_> {
    /// What the example at that place of the list does, `place`.
    pub fn row(&self, example: usize) -> &[Vec3] {
        &self.rows[example]
    }

    /// All of it, `3·place × example`.
    pub(crate) fn matrix(&self) -> Matrix {
        Matrix::from_fn(3 * self.places.len(), self.rows.len(), |row, example| {
            f64::from(self.rows[example][row / 3][row % 3])
        })
    }
}

/// About the bytes that a tile takes, as `f32` and once more as `f64`.
const TILE_BYTES: usize = 12 << 20;

/// Bytes of results that wait for their turn.
const RESULT_BYTES: usize = 64 << 20;

impl Fields {
    /// In memory, `example × place`.
    pub fn held(values: Vec<Vec3>, place_count: usize) -> Self {
        let example_count = values.len().checked_div(place_count).unwrap_or(0);
        Self { example_count, place_count, values: Values::Held(values) }
    }

    /// Elsewhere.
    pub fn stored(store: Arc<dyn FieldStore>, example_count: usize, place_count: usize) -> Self {
        Self { example_count, place_count, values: Values::Stored(store) }
    }

    /// Number of examples.
    pub fn example_count(&self) -> usize {
        self.example_count
    }

    /// Number of places.
    pub fn place_count(&self) -> usize {
        self.place_count
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.example_count * self.place_count == 0
    }

    /// Whether all of it is in memory.
    pub fn are_held(&self) -> bool {
        matches!(self.values, Values::Held(_))
    }

    /// What one example does, `place`.
    pub fn of(&self, example: usize) -> Result<Cow<'_, [Vec3]>, StoreError> {
        self.part_of(example, 0..self.place_count)
    }

    /// What one example does, `place`, of fields in memory; nothing of others.
    pub fn held_of(&self, example: usize) -> &[Vec3] {
        match &self.values {
            Values::Held(values) => &values[example * self.place_count..(example + 1) * self.place_count],
            Values::Stored(_) => &[],
        }
    }

    /// Some of the examples, in memory.
    pub(crate) fn select(&self, examples: &[usize]) -> Result<Self, StoreError> {
        if self.is_empty() {
            return Ok(self.clone());
        }
        let mut values = Vec::with_capacity(examples.len() * self.place_count);
        for &example in examples {
            values.extend_from_slice(&self.of(example)?);
        }
        Ok(Self::held(values, self.place_count))
    }

    /// Other values of one example, `place`, in fields in memory; others stay as they are.
    pub(crate) fn replace_held(&mut self, example: usize, with: &[Vec3]) {
        if let Values::Held(values) = &mut self.values {
            values[example * self.place_count..(example + 1) * self.place_count].copy_from_slice(with);
        }
    }

    fn part_of(&self, example: usize, places: Range<usize>) -> Result<Cow<'_, [Vec3]>, StoreError> {
        match &self.values {
            Values::Held(values) => {
                let first = example * self.place_count;
                Ok(Cow::Borrowed(&values[first + places.start..first + places.end]))
            }
            Values::Stored(store) => {
                let mut values = vec![Vec3::ZERO; places.len()];
                store.read(example, places, &mut values)?;
                Ok(Cow::Owned(values))
            }
        }
    }

    /// Does something with every tile of `examples` that is `wanted`, several at once, and gives the
    /// results (of about `result_bytes` each) to `merge` in the order of the places: sums do not depend
    /// on the number of threads.
    pub(crate) fn fold_tiles<R: Send>(
        &self,
        examples: &[usize],
        result_bytes: usize,
        wanted: impl Fn(&Range<usize>) -> bool,
        work: impl Fn(&Tile<'_>) -> R + Sync,
        mut merge: impl FnMut(R),
        progress: &dyn Progress,
    ) -> Result<(), TileError> {
        let tiles: Vec<Range<usize>> = self.tiles(examples.len()).filter(wanted).collect();
        let at_once = (RESULT_BYTES / result_bytes.max(1)).clamp(rayon::current_num_threads().max(1), 64);
        for batch in tiles.chunks(at_once) {
            let results: Vec<R> = batch
                .par_iter()
                .map(|places| {
                    progress.doing("looking at the examples")?;
                    let read = |&example: &usize| self.part_of(example, places.clone());
                    let rows = examples.iter().map(read).collect::<Result<_, StoreError>>()?;
                    Ok(work(&Tile { places: places.clone(), rows }))
                })
                .collect::<Result<_, TileError>>()?;
            results.into_iter().for_each(&mut merge);
        }
        Ok(())
    }

    /// Places of a tile: about the same bytes, however many examples there are.
    pub fn tile_places(example_count: usize) -> usize {
        let bytes_of_place = example_count.max(1) * 3 * (size_of::<f32>() + size_of::<f64>());
        (TILE_BYTES / bytes_of_place).clamp(16, 2048)
    }

    fn tiles(&self, example_count: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let step = Self::tile_places(example_count);
        let end = self.place_count;
        (0..end).step_by(step).map(move |first| first..(first + step).min(end))
    }
}
