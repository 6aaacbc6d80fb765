//! Point caches, read by hand.

use std::path::Path;

use eigenskin::glam::Vec3;

/// The frames of a point cache, read by hand.
pub fn read_pc2(path: &Path) -> Vec<Vec<Vec3>> {
    let bytes = std::fs::read(path).unwrap();
    assert_eq!(&bytes[..16], b"POINTCACHE2\0\x01\0\0\0");
    let count = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let (points, frames) = (count(16), count(28));
    let numbers: Vec<f32> =
        bytes[32..].chunks_exact(4).map(|word| f32::from_le_bytes(word.try_into().unwrap())).collect();
    assert_eq!(numbers.len(), 3 * points * frames);
    let points_of = |frame: &[f32]| frame.chunks_exact(3).map(Vec3::from_slice).collect();
    numbers.chunks_exact(3 * points).map(points_of).collect()
}
