//! PC2 point caches: `POINTCACHE2\0`, version 1, little endian.

use std::path::Path;

use eigenskin_core::glam::Vec3;

use super::{CacheError, VertexCache, counts, frames_of, save};

const MAGIC: &[u8; 12] = b"POINTCACHE2\0";
/// Magic, version, vertices, start, rate, frames.
pub(crate) const HEADER: usize = 32;

/// Reads a cache from the bytes of `path`.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<VertexCache, CacheError> {
    let Some((header, data)) = bytes.split_first_chunk::<HEADER>() else {
        let problem = "it ends within its header".into();
        return Err(CacheError::Damaged { path: path.into(), problem });
    };
    let (vertices, frames) = counts_of(path, header)?;
    VertexCache::new(path, frames_of(path, data, frames, vertices, f32::from_le_bytes)?, None, None)
}

/// The vertices and frames that a header tells.
pub(crate) fn counts_of(path: &Path, header: &[u8; HEADER]) -> Result<(i32, i32), CacheError> {
    let fail = |problem: &str| CacheError::Damaged { path: path.into(), problem: problem.into() };
    if !header.starts_with(MAGIC) {
        return Err(fail("it is no PC2 file: POINTCACHE2 is missing at its start"));
    }
    let whole = |at: usize| i32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    if whole(12) != 1 {
        return Err(fail(&format!("it has version {} of PC2, only version 1 is known", whole(12))));
    }
    Ok((whole(16), whole(28)))
}

/// Writes `frames` (`frame × vertex`), the first at frame number `start`, `rate` frame numbers
/// apart.
pub fn write_pc2(
    path: impl AsRef<Path>,
    frames: &[Vec<Vec3>],
    start: f32,
    rate: f32,
) -> Result<(), CacheError> {
    let path = path.as_ref();
    let (frame_count, vertices) = counts(path, frames)?;
    let mut bytes = header(vertices, frame_count, start, rate);
    bytes.extend(frames.iter().flatten().flat_map(Vec3::to_array).flat_map(f32::to_le_bytes));
    save(path, &bytes)
}

/// What stands before the frames.
pub(crate) fn header(vertices: i32, frames: i32, start: f32, rate: f32) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(1i32.to_le_bytes());
    bytes.extend(vertices.to_le_bytes());
    bytes.extend(start.to_le_bytes());
    bytes.extend(rate.to_le_bytes());
    bytes.extend(frames.to_le_bytes());
    bytes
}
