//! Fields that are mixtures of the examples' fields.

use eigenskin_core::progress::Progress;
use glam::Vec3;

use crate::displacements::fields::Tile;
use crate::displacements::{Fields, TileError};
use crate::numeric::Matrix;

/// Mixtures of examples. Those that are an example as it is need no arithmetic.
pub(super) struct Mixtures {
    /// `mixture` → the example it is, or its column among the mixed
    parts: Vec<Part>,
    /// `example × mixed`
    mixed: Matrix,
}

enum Part {
    Example(usize),
    Mixed(usize),
}

impl Mixtures {
    /// Shares of examples, `example × mixture`.
    pub fn new(shares: &Matrix) -> Self {
        let alone = |mixture: usize| {
            let mut parts = shares.col(mixture).iter().enumerate().filter(|(_, share)| **share != 0.0);
            parts.next().filter(|(_, share)| **share == 1.0 && parts.next().is_none()).map(|(e, _)| e)
        };
        let (mut parts, mut columns) = (Vec::new(), Vec::new());
        for mixture in 0..shares.ncols() {
            parts.push(alone(mixture).map_or(Part::Mixed(columns.len()), Part::Example));
            if let Some(Part::Mixed(_)) = parts.last() {
                columns.push(mixture);
            }
        }
        let mixed = Matrix::from_fn(shares.nrows(), columns.len(), |e, at| shares[(e, columns[at])]);
        Self { parts, mixed }
    }

    /// At all places, `mixture` → `place`, of the fields of some examples.
    pub fn of(
        &self,
        fields: &Fields,
        examples: &[usize],
        progress: &dyn Progress,
    ) -> Result<Vec<Vec<Vec3>>, TileError> {
        let mut found = vec![Vec::with_capacity(fields.place_count()); self.parts.len()];
        let bytes = 12 * 2048 * self.parts.len();
        let merge = |part: Vec<Vec<Vec3>>| {
            found.iter_mut().zip(part).for_each(|(field, part)| field.extend(part));
        };
        fields.fold_tiles(examples, bytes, |_| true, |tile| self.of_tile(tile), merge, progress)?;
        Ok(found)
    }

    /// Which of the places `looked_at` are moved by more than `least` by some mixture (`place`), and which
    /// mixtures do so anywhere there, rising.
    pub fn moved(
        &self,
        fields: &Fields,
        examples: &[usize],
        looked_at: &[bool],
        least: f32,
        progress: &dyn Progress,
    ) -> Result<(Vec<bool>, Vec<usize>), TileError> {
        let moves = |u: &Vec3| u.length_squared() > least * least;
        let of_tile = |tile: &Tile<'_>| {
            let looked_at = &looked_at[tile.places.clone()];
            let mut moved = vec![false; tile.places.len()];
            let mut mixtures = vec![false; self.parts.len()];
            for (field, moves_any) in self.of_tile(tile).iter().zip(&mut mixtures) {
                for ((moved, u), _) in moved.iter_mut().zip(field).zip(looked_at).filter(|(_, at)| **at) {
                    *moved |= moves(u);
                    *moves_any |= moves(u);
                }
            }
            (moved, mixtures)
        };
        let (mut places, mut live) =
            (Vec::with_capacity(fields.place_count()), vec![false; self.parts.len()]);
        let merge = |(moved, mixtures): (Vec<bool>, Vec<bool>)| {
            places.extend(moved);
            live.iter_mut().zip(mixtures).for_each(|(live, moves)| *live |= moves);
        };
        fields.fold_tiles(examples, 4096, |_| true, of_tile, merge, progress)?;
        Ok((places, (0..live.len()).filter(|&mixture| live[mixture]).collect()))
    }

    fn of_tile(&self, tile: &Tile<'_>) -> Vec<Vec<Vec3>> {
        let mixed = if self.mixed.ncols() > 0 { tile.matrix() * &self.mixed } else { Matrix::zeros(0, 0) };
        let field = |part: &Part| match *part {
            Part::Example(example) => tile.row(example).to_vec(),
            Part::Mixed(column) => {
                let column = mixed.col_as_slice(column).chunks_exact(3);
                column.map(|u| Vec3::new(u[0] as f32, u[1] as f32, u[2] as f32)).collect()
            }
        };
        self.parts.iter().map(field).collect()
    }
}
