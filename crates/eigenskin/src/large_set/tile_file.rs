//! Fields of many examples on disk, `tile × example × place`: a tile is read in one piece, and an
//! example is written in as many pieces as there are tiles.

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};

use eigenskin_core::glam::Vec3;
use eigenskin_fit::displacements::{FieldStore, Fields, StoreError};

use eigenskin_io::positioned_file::PositionedFile;

/// Bytes of a vector.
const VECTOR: usize = 12;

/// A file of fields.
#[derive(Debug)]
pub struct TileFile {
    path: PathBuf,
    file: PositionedFile,
    example_count: usize,
    place_count: usize,
    /// places of a tile
    step: usize,
}

impl TileFile {
    /// Opens a file for `example × place` vectors; what is in it stays.
    pub fn open(path: &Path, example_count: usize, place_count: usize) -> std::io::Result<Self> {
        let file = File::options().read(true).write(true).create(true).truncate(false).open(path)?;
        let step = Fields::tile_places(example_count);
        Ok(Self { path: path.into(), file: PositionedFile(file), example_count, place_count, step })
    }

    /// Writes examples that follow each other, each `place`.
    pub fn write(&self, first: usize, examples: &[&[Vec3]]) -> std::io::Result<()> {
        let mut bytes = Vec::new();
        for start in (0..self.place_count).step_by(self.step) {
            let places = start..(start + self.step).min(self.place_count);
            bytes.clear();
            for example in examples {
                let part = &example[places.clone()];
                bytes.extend(part.iter().flat_map(Vec3::to_array).flat_map(f32::to_le_bytes));
            }
            self.file.write_at(&bytes, self.byte_of(start, first, 0))?;
        }
        Ok(())
    }

    /// Makes sure that what was written is on the disk.
    pub fn flush(&self) -> std::io::Result<()> {
        self.file.0.sync_data()
    }

    /// Where the vector of an example is, `offset` places into the tile that begins at `start`.
    fn byte_of(&self, start: usize, example: usize, offset: usize) -> u64 {
        let places = self.step.min(self.place_count - start);
        let before = start as u64 * self.example_count as u64;
        (before + example as u64 * places as u64 + offset as u64) * VECTOR as u64
    }
}

impl FieldStore for TileFile {
    fn read(&self, example: usize, places: Range<usize>, into: &mut [Vec3]) -> Result<(), StoreError> {
        let mut bytes = Vec::new();
        let mut written = 0;
        let mut place = places.start;
        while place < places.end {
            let start = place / self.step * self.step;
            let end = (start + self.step).min(places.end);
            bytes.resize(VECTOR * (end - place), 0);
            self.file
                .read_at(&mut bytes, self.byte_of(start, example, place - start))
                .map_err(|error| StoreError { problem: format!("{}: {error}", self.path.display()) })?;
            for vector in bytes.chunks_exact(VECTOR) {
                let at = |i: usize| f32::from_le_bytes(std::array::from_fn(|byte| vector[i + byte]));
                into[written] = Vec3::new(at(0), at(4), at(8));
                written += 1;
            }
            place = end;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_part_is_read_back_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let (examples, places) = (5, 5000);
        let value = |e: usize, p: usize| Vec3::new(e as f32, p as f32, -0.5);
        let all: Vec<Vec<Vec3>> = (0..examples).map(|e| (0..places).map(|p| value(e, p)).collect()).collect();
        let file = TileFile::open(&folder.path().join("fields"), examples, places).unwrap();
        assert!(file.step < places && places % file.step != 0, "several tiles, the last one short");
        let rows: Vec<&[Vec3]> = all.iter().map(Vec::as_slice).collect();
        file.write(3, &rows[3..]).unwrap();
        file.write(0, &rows[..3]).unwrap();
        for (example, range) in [(0, 0..places), (4, 2040..2060), (2, 4999..5000), (3, 0..1)] {
            let mut found = vec![Vec3::ZERO; range.len()];
            file.read(example, range.clone(), &mut found).unwrap();
            assert_eq!(found, all[example][range], "example {example}");
        }
        let mut beyond = [Vec3::ZERO; 1];
        let empty = TileFile::open(&folder.path().join("empty"), 1, 1).unwrap();
        assert!(empty.read(0, 0..1, &mut beyond).unwrap_err().to_string().contains("empty"));
    }
}
