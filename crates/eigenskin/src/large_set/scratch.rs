//! A folder for what is too large for memory, from where an interrupted run goes on.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use eigenskin_core::glam::Vec3;
use eigenskin_fit::displacements::{FieldStore, PulledExample};

use super::tile_file::TileFile;

/// The folder. It belongs to one run at a time.
#[derive(Debug)]
pub struct Scratch {
    folder: PathBuf,
}

/// The operating system refused.
#[derive(Debug, thiserror::Error)]
#[error("scratch files in {}: {error}; free some space there, or choose another folder", folder.display())]
pub struct ScratchError {
    /// the folder
    pub folder: PathBuf,
    /// what the system says
    pub error: std::io::Error,
}

const PROGRESS: &str = "progress.txt";
const POSITIONS: &str = "positions.tiles";
const NORMALS: &str = "normals.tiles";
const RESIDUALS: &str = "residuals.list";
/// Bytes of a residual: example, vertex, x, y, z.
const RESIDUAL: usize = 20;

/// Fields in their files, and the residuals of every example.
type Finished = (Arc<dyn FieldStore>, Arc<dyn FieldStore>, Vec<Vec<(u32, Vec3)>>);

impl Scratch {
    /// Uses a folder, which is made where there is none.
    pub fn new(folder: &Path) -> Result<Self, ScratchError> {
        let scratch = Self { folder: folder.into() };
        std::fs::create_dir_all(folder).map_err(|error| scratch.error(error))?;
        Ok(scratch)
    }

    /// A folder of this process among the temporary files, for who names no other.
    pub fn temporary_folder() -> PathBuf {
        std::env::temp_dir().join(format!("eigenskin-{}", std::process::id()))
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Removes our files, and the folder if it is empty then.
    pub fn remove(self) {
        for name in [PROGRESS, POSITIONS, NORMALS, RESIDUALS, "unpacked.npy"] {
            // What cannot be removed is only in the way.
            let _ = std::fs::remove_file(self.folder.join(name));
        }
        let _ = std::fs::remove_dir(&self.folder);
    }

    /// How many examples an interrupted run has left there, whatever it was.
    pub fn found(folder: &Path) -> Option<usize> {
        let text = std::fs::read_to_string(folder.join(PROGRESS)).ok()?;
        text.lines().nth(1)?.parse().ok().filter(|&done| done > 0)
    }

    /// Files for `example_count` examples at so many points and vertices; what a run of the same
    /// `identity` has written is kept.
    pub(super) fn begin(
        &self,
        identity: &str,
        example_count: usize,
        [points, vertices]: [usize; 2],
    ) -> Result<ScratchFiles<'_>, ScratchError> {
        let fail = |error| self.error(error);
        let progress = std::fs::read_to_string(self.folder.join(PROGRESS)).unwrap_or_default();
        let mut lines = progress.lines();
        let same = lines.next() == Some(identity);
        let done = lines.next().and_then(|done| done.parse().ok()).filter(|_| same).unwrap_or(0);
        if done == 0 {
            for name in [POSITIONS, NORMALS, RESIDUALS] {
                let path = self.folder.join(name);
                if path.exists() {
                    std::fs::remove_file(path).map_err(fail)?;
                }
            }
        }
        let tiles = |name: &str, places| TileFile::open(&self.folder.join(name), example_count, places);
        Ok(ScratchFiles {
            scratch: self,
            identity: identity.to_string(),
            done,
            example_count,
            positions: tiles(POSITIONS, points).map_err(fail)?,
            normals: tiles(NORMALS, vertices).map_err(fail)?,
            residuals: File::options()
                .append(true)
                .create(true)
                .open(self.folder.join(RESIDUALS))
                .map_err(fail)?,
        })
    }

    fn error(&self, error: std::io::Error) -> ScratchError {
        ScratchError { folder: self.folder.clone(), error }
    }
}

/// Files that are being filled.
pub(super) struct ScratchFiles<'a> {
    scratch: &'a Scratch,
    identity: String,
    done: usize,
    example_count: usize,
    positions: TileFile,
    normals: TileFile,
    residuals: File,
}

impl ScratchFiles<'_> {
    /// Examples that are there.
    pub fn done(&self) -> usize {
        self.done
    }

    /// Writes the next examples.
    pub fn push(&mut self, examples: &[PulledExample]) -> Result<(), ScratchError> {
        self.write(examples).map_err(|error| self.scratch.error(error))?;
        self.done += examples.len();
        let progress = format!("{}\n{}\n", self.identity, self.done);
        let path = self.scratch.folder.join(PROGRESS);
        eigenskin_io::atomic::write_file(&path, progress.as_bytes())
            .map_err(|error| self.scratch.error(error))
    }

    fn write(&mut self, examples: &[PulledExample]) -> std::io::Result<()> {
        let rows = |of: fn(&PulledExample) -> &[Vec3]| examples.iter().map(of).collect::<Vec<_>>();
        self.positions.write(self.done, &rows(|example| &example.positions))?;
        self.normals.write(self.done, &rows(|example| &example.normals))?;
        let mut bytes = Vec::new();
        for (place, example) in examples.iter().enumerate() {
            for (vertex, residual) in &example.residuals {
                bytes.extend(((self.done + place) as u32).to_le_bytes());
                bytes.extend(vertex.to_le_bytes());
                bytes.extend(residual.to_array().into_iter().flat_map(f32::to_le_bytes));
            }
        }
        self.residuals.write_all(&bytes)?;
        self.positions.flush()?;
        self.normals.flush()?;
        self.residuals.sync_data()
    }

    /// The files, to be read from now on.
    pub fn finish(self) -> Result<Finished, ScratchError> {
        let mut bytes = Vec::new();
        File::open(self.scratch.folder.join(RESIDUALS))
            .and_then(|mut file| file.read_to_end(&mut bytes))
            .map_err(|error| self.scratch.error(error))?;
        // A run that was interrupted between residuals and progress writes its last group again.
        let mut residuals = vec![std::collections::BTreeMap::new(); self.example_count];
        for record in bytes.chunks_exact(RESIDUAL) {
            let word = |at: usize| std::array::from_fn(|byte| record[at + byte]);
            let (example, vertex) = (u32::from_le_bytes(word(0)), u32::from_le_bytes(word(4)));
            let at = |i: usize| f32::from_le_bytes(word(i));
            if let Some(of_example) = residuals.get_mut(example as usize) {
                of_example.insert(vertex, Vec3::new(at(8), at(12), at(16)));
            }
        }
        let residuals = residuals.into_iter().map(|list| list.into_iter().collect()).collect();
        Ok((Arc::new(self.positions), Arc::new(self.normals), residuals))
    }
}

/// FNV-1a over 64 bits: tells whether two runs are the same, not whether somebody cheats.
pub(super) struct Hash(u64);

impl Default for Hash {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hash {
    pub fn number(&mut self, number: u64) {
        for byte in number.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    pub fn text(&mut self, text: &str) {
        text.bytes().for_each(|byte| self.number(u64::from(byte)));
        self.number(u64::MAX);
    }

    pub fn finish(self) -> String {
        format!("{:016x}", self.0)
    }
}
