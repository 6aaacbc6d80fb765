//! MDD point caches: counts, times, positions; big endian, no magic.

use std::path::Path;

use eigenskin_core::glam::Vec3;

use super::{CacheError, VertexCache, counts, frames_of, save};

/// Reads a cache from the bytes of `path`.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<VertexCache, CacheError> {
    let fail = |problem: String| CacheError::Damaged { path: path.into(), problem };
    let Some((header, rest)) = bytes.split_at_checked(8) else {
        return Err(fail("it ends within its header".into()));
    };
    let whole = |at: usize| i32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let (frames, vertices) = (whole(0), whole(4));
    let times = usize::try_from(frames).ok().and_then(|frames| frames.checked_mul(4));
    let Some((_, data)) = times.and_then(|times| rest.split_at_checked(times)) else {
        return Err(fail(format!("its header says {frames} frames, but it ends within their times")));
    };
    VertexCache::new(path, frames_of(path, data, frames, vertices, f32::from_be_bytes)?, None, None)
}

/// Writes `frames` (`frame × vertex`) with their times in seconds (`frame`).
pub fn write_mdd(path: impl AsRef<Path>, times: &[f32], frames: &[Vec<Vec3>]) -> Result<(), CacheError> {
    let path = path.as_ref();
    let (frame_count, vertices) = counts(path, frames)?;
    if times.len() != frames.len() {
        let problem = format!("there are {} times for {} frames", times.len(), frames.len());
        return Err(CacheError::CannotWrite { path: path.into(), problem });
    }
    let mut bytes = frame_count.to_be_bytes().to_vec();
    bytes.extend(vertices.to_be_bytes());
    bytes.extend(times.iter().copied().flat_map(f32::to_be_bytes));
    bytes.extend(frames.iter().flatten().flat_map(Vec3::to_array).flat_map(f32::to_be_bytes));
    save(path, &bytes)
}
