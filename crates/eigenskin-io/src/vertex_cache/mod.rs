//! Vertex caches: shapes of a character frame by frame, without its joints.
//!
//! A clip of the rig says the poses, a cache the shapes: [`examples_from_clip`] brings them
//! together. Read are a folder of OBJ files, PC2, MDD, `.npy` and `.npz`; written OBJ, PC2 and MDD.

mod axes;
mod clip_examples;
mod correspondence;
mod error;
mod mdd;
mod named_poses;
mod natural_order;
mod neighbourhood;
pub(crate) mod npy;
pub(crate) mod obj;
pub(crate) mod pc2;
mod renumbered;
mod sculpts;
mod single_sculpt;
mod touching;

use std::path::{Path, PathBuf};

use eigenskin_core::glam::Vec3;

pub use axes::AxesAndUnit;
pub use clip_examples::ClipKeys;
pub use clip_examples::{ClipExamplesError, examples_from_clip};
pub use correspondence::{Correspondence, EXACT, LARGEST_DRIFT};
pub use error::{CacheError, CorrespondenceError};
pub use mdd::write_mdd;
pub use named_poses::NamedPosesError;
pub use obj::write_obj;
pub use pc2::write_pc2;
pub use renumbered::renumbered;
pub use sculpts::{SculptsError, examples_from_sculpts, examples_from_shape_keys};
pub use single_sculpt::{SculptError, SculptedShape, read_sculpt};

/// Shapes of one mesh, frame by frame. One that exists has at least one frame, the same number of
/// vertices in each, and finite positions only.
#[derive(Debug, Clone, PartialEq)]
pub struct VertexCache {
    /// `frame × vertex`
    pub frames: Vec<Vec<Vec3>>,
    /// corners of each face, where the file knows them
    pub faces: Option<Vec<Vec<u32>>>,
    /// a name per frame, where the files have one
    pub names: Option<Vec<String>>,
    /// the file or folder
    pub source: PathBuf,
}

/// A cache may not be larger than this, whatever its header claims.
const LARGEST_CACHE: u64 = 1 << 30;

/// Frames of one cache at most; each costs more than its vertices.
const MOST_FRAMES: i32 = 1_000_000;

/// Reads a cache; the format follows from the name: `.pc2`, `.mdd`, `.npy`, `.npz`, or a folder of
/// OBJ files.
pub fn read_cache(path: impl AsRef<Path>) -> Result<VertexCache, CacheError> {
    let path = path.as_ref();
    if path.is_dir() {
        return obj::read_folder(path);
    }
    let parse = parser(path)?;
    parse(path, &file_bytes(path)?)
}

/// The cache in the bytes of a file; the format follows from its name.
pub fn cache_of(name: &Path, bytes: &[u8]) -> Result<VertexCache, CacheError> {
    parser(name)?(name, bytes)
}

/// Reads a folder with one OBJ file per frame, in natural order of their names (`pose 2` before
/// `pose 10`).
pub fn read_obj_folder(folder: impl AsRef<Path>) -> Result<VertexCache, CacheError> {
    let folder = folder.as_ref();
    obj::read_folder(folder)
}

impl VertexCache {
    /// Checks the frames.
    pub fn new(
        source: &Path,
        frames: Vec<Vec<Vec3>>,
        faces: Option<Vec<Vec<u32>>>,
        names: Option<Vec<String>>,
    ) -> Result<Self, CacheError> {
        let path = || source.to_path_buf();
        let vertices = frames.first().map_or(0, Vec::len);
        if vertices == 0 {
            return Err(CacheError::Empty { path: path() });
        }
        for (frame, positions) in frames.iter().enumerate() {
            if positions.len() != vertices {
                let corners = faces.as_ref().map(|faces| faces.iter().map(Vec::len).sum::<usize>());
                return Err(CacheError::OtherVertexCount {
                    path: path(),
                    frame: names.as_ref().map_or_else(|| frame.to_string(), |names| names[frame].clone()),
                    found: positions.len(),
                    expected: vertices,
                    hint: error::flat_shading_hint(positions.len().max(vertices), corners),
                });
            }
            if let Some(vertex) = positions.iter().position(|p| !p.is_finite()) {
                return Err(CacheError::NotFinite { path: path(), frame, vertex });
            }
        }
        if let Some(&corner) = faces.iter().flatten().flatten().find(|&&corner| corner as usize >= vertices) {
            return Err(CacheError::Face { path: path(), corner: u64::from(corner) + 1, vertices });
        }
        Ok(Self { frames, faces, names, source: path() })
    }

    /// Vertices of each frame.
    pub fn vertex_count(&self) -> usize {
        self.frames[0].len()
    }
}

type Parser = fn(&Path, &[u8]) -> Result<VertexCache, CacheError>;

fn parser(path: &Path) -> Result<Parser, CacheError> {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("").to_ascii_lowercase();
    match extension.as_str() {
        "pc2" => Ok(pc2::parse),
        "mdd" => Ok(mdd::parse),
        "npy" => Ok(npy::parse_array),
        "npz" => Ok(npy::parse_archive),
        "obj" => Ok(obj::parse_single),
        _ => Err(CacheError::UnknownExtension { path: path.into() }),
    }
}

fn file_bytes(path: &Path) -> Result<Vec<u8>, CacheError> {
    crate::whole_file::read(path, LARGEST_CACHE).map_err(|error| CacheError::Io { path: path.into(), error })
}

/// Frames of points from `data`, which must hold exactly `frames × vertices` of them.
fn frames_of(
    path: &Path,
    data: &[u8],
    frames: i32,
    vertices: i32,
    number: fn([u8; 4]) -> f32,
) -> Result<Vec<Vec<Vec3>>, CacheError> {
    let fail = |problem: String| CacheError::Damaged { path: path.into(), problem };
    if frames < 1 || vertices < 1 {
        return Err(fail(format!("its header says {frames} frames of {vertices} vertices")));
    }
    if frames > MOST_FRAMES {
        return Err(fail(format!("its header says {frames} frames, at most {MOST_FRAMES} are read")));
    }
    let (frames, vertices) = (frames as u64, vertices as u64);
    let expected = frames
        .checked_mul(vertices)
        .and_then(|points| points.checked_mul(12))
        .filter(|&bytes| bytes <= LARGEST_CACHE)
        .ok_or(CacheError::TooLarge { path: path.into(), limit: LARGEST_CACHE })?;
    if data.len() as u64 != expected {
        return Err(fail(format!(
            "{frames} frames of {vertices} vertices need {expected} bytes after the header, but {} are there",
            data.len()
        )));
    }
    let point = |bytes: &[u8]| {
        let at = |i: usize| number([bytes[i], bytes[i + 1], bytes[i + 2], bytes[i + 3]]);
        Vec3::new(at(0), at(4), at(8))
    };
    Ok(data
        .chunks_exact(12 * vertices as usize)
        .map(|frame| frame.chunks_exact(12).map(point).collect())
        .collect())
}

/// The number of frames and vertices as a header holds them; the vertices must be equally many.
fn counts(path: &Path, frames: &[Vec<Vec3>]) -> Result<(i32, i32), CacheError> {
    let cannot = |problem: String| CacheError::CannotWrite { path: path.into(), problem };
    let vertices = frames.first().map_or(0, Vec::len);
    if let Some(frame) = frames.iter().position(|frame| frame.len() != vertices) {
        let found = frames[frame].len();
        return Err(cannot(format!("frame {frame} has {found} vertices, frame 0 has {vertices}")));
    }
    match (i32::try_from(frames.len()), i32::try_from(vertices)) {
        (Ok(frames), Ok(vertices)) if frames > 0 && vertices > 0 => Ok((frames, vertices)),
        _ => Err(cannot(format!("it cannot hold {} frames of {vertices} vertices", frames.len()))),
    }
}

fn save(path: &Path, bytes: &[u8]) -> Result<(), CacheError> {
    crate::atomic::write_file(path, bytes)
        .map_err(|error| CacheError::CannotWrite { path: path.into(), problem: error.to_string() })
}
