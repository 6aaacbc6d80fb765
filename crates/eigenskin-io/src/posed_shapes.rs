//! Posed shapes frame by frame: numbered OBJ files, and point caches (PC2).
//!
//! Frames are written as they come, so that a long clip needs no more memory than a short one.
//! Vertices stand in the model's order, seams split as in the GLB.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use eigenskin_core::glam::Vec3;

use crate::atomic::{FileInProgress, FolderInProgress};
use crate::error::WriteError;
use crate::vertex_cache::obj::obj_text;
use crate::vertex_cache::pc2;

/// A folder of files `frame-0001.obj`, `frame-0002.obj` …, which appear when all are there.
#[derive(Debug)]
pub struct ObjFrames {
    folder: PathBuf,
    files: FolderInProgress,
    digits: usize,
    written: usize,
    triangles: Vec<[u32; 3]>,
}

impl ObjFrames {
    /// Begins `frames` files in `folder`, which is made when it is missing.
    pub fn new(folder: &Path, triangles: &[[u32; 3]], frames: usize) -> Result<Self, WriteError> {
        let files =
            FolderInProgress::new(folder).map_err(|error| WriteError::Io { path: folder.into(), error })?;
        let digits = frames.to_string().len().max(4);
        Ok(Self { folder: folder.into(), files, digits, written: 0, triangles: triangles.to_vec() })
    }

    /// Writes the next frame; `positions` and `normals` are `vertex`. Numbers read back exactly.
    pub fn push(&mut self, positions: &[Vec3], normals: &[Vec3]) -> Result<(), WriteError> {
        let text = obj_text(positions, normals, &self.triangles);
        let name = self.name_of(self.written + 1);
        let path = self.folder.join(&name);
        self.files.write_file(&name, text.as_bytes()).map_err(|error| WriteError::Io { path, error })?;
        self.written += 1;
        Ok(())
    }

    /// Whether the folder has a frame after the last one written: left from a longer motion.
    pub fn has_older_frames(&self) -> bool {
        self.folder.join(self.name_of(self.written + 1)).exists()
    }

    /// Moves the files into place.
    pub fn finish(self) -> Result<(), WriteError> {
        self.files.finish().map_err(|error| WriteError::Io { path: self.folder, error })
    }

    /// The file of a frame, counted from one.
    fn name_of(&self, frame: usize) -> String {
        format!("frame-{frame:0digits$}.obj", digits = self.digits)
    }
}

/// What comes before the points of a cache.
const HEADER_BYTES: usize = 32;

/// A point cache: all frames in one file.
#[derive(Debug)]
pub struct Pc2Writer {
    path: PathBuf,
    file: std::io::BufWriter<FileInProgress>,
    points: usize,
    left: usize,
}

impl Pc2Writer {
    /// Begins a cache of `frames` frames of `points` points, numbered from 0 in steps of 1.
    pub fn new(path: &Path, points: usize, frames: usize) -> Result<Self, WriteError> {
        let count = |what: &'static str, found: usize| {
            i32::try_from(found).map_err(|_| WriteError::TooMany { what, found, limit: i32::MAX as usize })
        };
        let header = pc2::header(count("points", points)?, count("frames", frames)?, 0.0, 1.0);
        let begin = || -> std::io::Result<_> {
            let mut file = std::io::BufWriter::new(FileInProgress::new(path)?);
            file.write_all(&header)?;
            Ok(file)
        };
        let file = begin().map_err(|error| WriteError::Io { path: path.into(), error })?;
        Ok(Self { path: path.into(), file, points, left: frames })
    }

    /// Size of a cache of `frames` frames of `points` points.
    pub fn bytes(points: usize, frames: usize) -> usize {
        HEADER_BYTES + std::mem::size_of::<Vec3>() * points * frames
    }

    /// Writes the next frame, `vertex`.
    pub fn push(&mut self, positions: &[Vec3]) -> Result<(), WriteError> {
        if positions.len() != self.points || self.left == 0 {
            return Err(self.failed("another number of points or frames than announced".into()));
        }
        self.left -= 1;
        let bytes: Vec<u8> = positions.iter().flat_map(Vec3::to_array).flat_map(f32::to_le_bytes).collect();
        self.file.write_all(&bytes).map_err(|error| WriteError::Io { path: self.path.clone(), error })
    }

    /// Moves the file into place.
    pub fn finish(self) -> Result<(), WriteError> {
        if self.left > 0 {
            return Err(self.failed(format!("{} frames are missing", self.left)));
        }
        let io = |error| WriteError::Io { path: self.path.clone(), error };
        let file = self.file.into_inner().map_err(|error| io(error.into_error()))?;
        file.finish().map_err(io)
    }

    fn failed(&self, problem: String) -> WriteError {
        WriteError::Io { path: self.path.clone(), error: std::io::Error::other(problem) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_a_point_cache() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.pc2");
        let mut cache = Pc2Writer::new(&path, 1, 2).unwrap();
        cache.push(&[Vec3::new(1.0, 2.0, -0.5)]).unwrap();
        assert!(cache.push(&[]).is_err());
        assert!(!path.exists());
        cache.push(&[Vec3::ZERO]).unwrap();
        cache.finish().unwrap();
        let mut expected = b"POINTCACHE2\0\x01\0\0\0\x01\0\0\0\0\0\0\0\0\0\x80\x3f\x02\0\0\0".to_vec();
        expected.extend(b"\0\0\x80\x3f\0\0\0\x40\0\0\0\xbf");
        expected.extend([0; 12]);
        assert_eq!(std::fs::read(&path).unwrap(), expected);
        assert_eq!(Pc2Writer::bytes(1, 2), expected.len());

        let unfinished = Pc2Writer::new(&path, 1, 2).unwrap();
        assert!(unfinished.finish().is_err());
        assert_eq!(std::fs::read(&path).unwrap(), expected);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn frames_are_numbered_from_one() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("new/frames");
        let mut frames = ObjFrames::new(&inside, &[[0, 1, 2]], 2).unwrap();
        let positions = [Vec3::ZERO, Vec3::X, Vec3::new(0.1, 1e-7, -2.0)];
        frames.push(&positions, &[Vec3::Z; 3]).unwrap();
        assert!(!inside.join("frame-0001.obj").exists());
        assert!(!frames.has_older_frames());
        std::fs::write(inside.join("frame-0002.obj"), "").unwrap();
        assert!(frames.has_older_frames());
        frames.finish().unwrap();
        let text = std::fs::read_to_string(inside.join("frame-0001.obj")).unwrap();
        assert_eq!(
            text,
            "v 0 0 0\nv 1 0 0\nv 0.1 0.0000001 -2\nvn 0 0 1\nvn 0 0 1\nvn 0 0 1\nf 1//1 2//2 3//3\n"
        );
        assert_eq!(ObjFrames::new(&inside, &[], 12345).unwrap().name_of(7), "frame-00007.obj");
    }
}
