//! A vertex cache whose frames stay on disk: PC2, MDD, `.npy`, and `.npz` (unpacked first where it is
//! compressed).

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::{Path, PathBuf};

use eigenskin_core::glam::Vec3;

use crate::npz::archive;
use crate::npz::array::{Array, Data};
use crate::npz::header::{Header, Kind};
use crate::positioned_file::PositionedFile;
use crate::vertex_cache::CacheError;
use crate::vertex_cache::npy::{faces_of, shapes_key};
use crate::vertex_cache::pc2;

/// Shapes of one mesh, read frame by frame.
#[derive(Debug)]
pub struct FrameFile {
    /// the file that the user named
    pub source: PathBuf,
    /// frames in all
    pub frame_count: usize,
    /// vertices of each
    pub vertex_count: usize,
    /// corners of each face, where the file knows them
    pub faces: Option<Vec<Vec<u32>>>,
    file: PositionedFile,
    /// where the first frame begins
    start: u64,
    number: Number,
    /// the rest shape, where the file has it beside the frames: it counts as frame 0
    rest: Option<Vec<Vec3>>,
}

/// How a coordinate is stored.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Number {
    Little32,
    Big32,
    Little64,
    Big64,
}

impl Number {
    fn bytes(self) -> usize {
        match self {
            Self::Little32 | Self::Big32 => 4,
            Self::Little64 | Self::Big64 => 8,
        }
    }

    fn value(self, bytes: &[u8]) -> f32 {
        let four = || [bytes[0], bytes[1], bytes[2], bytes[3]];
        let eight = || std::array::from_fn(|byte| bytes[byte]);
        match self {
            Self::Little32 => f32::from_le_bytes(four()),
            Self::Big32 => f32::from_be_bytes(four()),
            Self::Little64 => f64::from_le_bytes(eight()) as f32,
            Self::Big64 => f64::from_be_bytes(eight()) as f32,
        }
    }
}

/// Shapes never shrink further when they are compressed.
const LARGEST_RATIO: u64 = 64;

/// What a header says.
struct Layout {
    start: u64,
    frames: u64,
    vertices: u64,
    number: Number,
}

/// Whether a file is a cache that can be read frame by frame.
pub fn can_be_streamed(path: &Path) -> bool {
    matches!(extension(path).as_str(), "pc2" | "mdd" | "npy" | "npz") && path.is_file()
}

/// Bytes that the shapes of a cache take in memory, from its header alone.
pub fn shape_bytes(path: &Path) -> Result<u64, CacheError> {
    let mut file = open(path)?;
    let layout = match extension(path).as_str() {
        "npz" => {
            let key = archive_key(path, &mut file)?;
            let mut zip = zip::ZipArchive::new(file).map_err(|error| damaged(path, error.to_string()))?;
            let name = format!("{key}.npy");
            let mut entry = zip.by_name(&name).map_err(|error| damaged(path, error.to_string()))?;
            npy_layout(path, &key, &mut entry, 0)?
        }
        _ => layout_of(path, &mut file)?,
    };
    Ok(layout.frames.saturating_mul(layout.vertices).saturating_mul(12))
}

impl FrameFile {
    /// Opens a cache; `scratch` is a folder for what has to be unpacked.
    pub fn open(path: &Path, scratch: &Path) -> Result<Self, CacheError> {
        if extension(path) == "npz" {
            return Self::open_archive(path, scratch);
        }
        let mut file = open(path)?;
        let layout = layout_of(path, &mut file)?;
        Self::new(path, file, &layout, None)
    }

    fn open_archive(path: &Path, scratch: &Path) -> Result<Self, CacheError> {
        let mut file = open(path)?;
        let size = file.metadata().map_err(|error| CacheError::Io { path: path.into(), error })?.len();
        let key = archive_key(path, &mut file)?;
        let fail = |error: String| damaged(path, error);
        let others = archive::read(&mut file, &["rest", "faces"]).map_err(|error| fail(error.to_string()))?;
        let mut zip = zip::ZipArchive::new(file).map_err(|error| fail(error.to_string()))?;
        let mut entry = zip.by_name(&format!("{key}.npy")).map_err(|error| fail(error.to_string()))?;
        let stored_at = (entry.compression() == zip::CompressionMethod::Stored).then(|| entry.data_start());
        let mut found = if let Some(Some(start)) = stored_at {
            let layout = npy_layout(path, &key, &mut entry, start)?;
            drop(entry);
            Self::new(path, zip.into_inner(), &layout, None)?
        } else {
            let unpacked = scratch.join("unpacked.npy");
            let io = |error| CacheError::Io { path: unpacked.clone(), error };
            let mut copy = File::create(&unpacked).map_err(io)?;
            let limit = size.saturating_mul(LARGEST_RATIO);
            let copied = std::io::copy(&mut entry.by_ref().take(limit), &mut copy).map_err(io)?;
            if copied == limit {
                return Err(CacheError::TooLarge { path: path.into(), limit });
            }
            let mut file = open(&unpacked)?;
            let layout = npy_layout(path, &key, &mut file, 0)?;
            Self::new(path, file, &layout, None)?
        };
        let find = |key: &str| others.iter().find(|(name, _)| name == key).map(|(_, array)| array);
        if let Some(Array { shape, data: Data::Numbers(values) }) = find("rest")
            && shape[..] == [found.vertex_count, 3]
        {
            let rest: Vec<Vec3> =
                values.chunks_exact(3).map(|p| Vec3::new(p[0] as f32, p[1] as f32, p[2] as f32)).collect();
            if found.frame(0)? != rest {
                found.rest = Some(rest);
                found.frame_count += 1;
            }
        }
        found.faces = find("faces").and_then(faces_of);
        Ok(found)
    }

    fn new(
        path: &Path,
        file: File,
        layout: &Layout,
        faces: Option<Vec<Vec<u32>>>,
    ) -> Result<Self, CacheError> {
        if layout.frames == 0 || layout.vertices == 0 {
            return Err(CacheError::Empty { path: path.into() });
        }
        let points = layout.frames.checked_mul(layout.vertices);
        let needed = points
            .and_then(|points| points.checked_mul(3 * layout.number.bytes() as u64))
            .and_then(|bytes| bytes.checked_add(layout.start));
        let there = file.metadata().map_err(|error| CacheError::Io { path: path.into(), error })?.len();
        match needed {
            Some(needed) if needed <= there => {}
            _ => {
                let (frames, vertices) = (layout.frames, layout.vertices);
                let problem = format!(
                    "{frames} frames of {vertices} vertices need more bytes than the {there} of the file"
                );
                return Err(damaged(path, problem));
            }
        }
        Ok(Self {
            source: path.into(),
            frame_count: layout.frames as usize,
            vertex_count: layout.vertices as usize,
            faces,
            file: PositionedFile(file),
            start: layout.start,
            number: layout.number,
            rest: None,
        })
    }

    /// The shapes of the file, without a rest shape that is kept beside them.
    #[must_use]
    pub fn without_rest(mut self) -> Self {
        if self.rest.take().is_some() {
            self.frame_count -= 1;
        }
        self
    }

    /// One frame, `vertex`.
    pub fn frame(&self, index: usize) -> Result<Vec<Vec3>, CacheError> {
        let stored = match &self.rest {
            Some(rest) if index == 0 => return Ok(rest.clone()),
            Some(_) => index - 1,
            None => index,
        };
        let size = self.number.bytes();
        let mut bytes = vec![0; 3 * size * self.vertex_count];
        let at = self.start + stored as u64 * bytes.len() as u64;
        self.file
            .read_at(&mut bytes, at)
            .map_err(|error| CacheError::Io { path: self.source.clone(), error })?;
        let value = |bytes: &[u8]| self.number.value(bytes);
        let points: Vec<Vec3> = bytes
            .chunks_exact(3 * size)
            .map(|p| Vec3::new(value(p), value(&p[size..]), value(&p[2 * size..])))
            .collect();
        match points.iter().position(|p| !p.is_finite()) {
            Some(vertex) => Err(CacheError::NotFinite { path: self.source.clone(), frame: index, vertex }),
            None => Ok(points),
        }
    }
}

fn layout_of(path: &Path, file: &mut File) -> Result<Layout, CacheError> {
    match extension(path).as_str() {
        "pc2" => {
            let mut header = [0; pc2::HEADER];
            file.read_exact(&mut header).map_err(|_| damaged(path, "it ends within its header".into()))?;
            let (vertices, frames) = pc2::counts_of(path, &header)?;
            layout(path, header.len() as u64, frames, vertices, Number::Little32)
        }
        "mdd" => {
            let mut header = [0; 8];
            file.read_exact(&mut header).map_err(|_| damaged(path, "it ends within its header".into()))?;
            let whole = |at: usize| i32::from_be_bytes(std::array::from_fn(|byte| header[at + byte]));
            let start = 8 + 4 * u64::try_from(whole(0)).unwrap_or(0);
            layout(path, start, whole(0), whole(4), Number::Big32)
        }
        "npy" => npy_layout(path, "its array", file, 0),
        _ => Err(CacheError::UnknownExtension { path: path.into() }),
    }
}

fn layout(path: &Path, start: u64, frames: i32, vertices: i32, number: Number) -> Result<Layout, CacheError> {
    match (u64::try_from(frames), u64::try_from(vertices)) {
        (Ok(frames), Ok(vertices)) => Ok(Layout { start, frames, vertices, number }),
        _ => Err(damaged(path, format!("its header says {frames} frames of {vertices} vertices"))),
    }
}

/// What the header of a numpy array says, which begins `before` bytes into the file.
fn npy_layout(path: &Path, key: &str, reader: &mut impl Read, before: u64) -> Result<Layout, CacheError> {
    let mut counting = Counting { reader: BufReader::with_capacity(1, reader), count: 0 };
    let header = Header::read(&mut counting).map_err(|problem| damaged(path, format!("{key} {problem}")))?;
    let number = match (header.kind, header.size, header.big_endian) {
        (Kind::Float, 4, false) => Number::Little32,
        (Kind::Float, 4, true) => Number::Big32,
        (Kind::Float, 8, false) => Number::Little64,
        (Kind::Float, 8, true) => Number::Big64,
        _ => return Err(damaged(path, format!("{key} is too large for whole numbers; save it as float32"))),
    };
    if header.fortran {
        return Err(damaged(path, format!("{key} is too large for Fortran order; save it in C order")));
    }
    let [frames, vertices, 3] = header.shape[..] else {
        let shape = &header.shape;
        return Err(damaged(path, format!("{key} has the shape {shape:?}, expected [frames, vertices, 3]")));
    };
    Ok(Layout { start: before + counting.count, frames, vertices, number })
}

/// Counts the bytes that are read.
struct Counting<R> {
    reader: R,
    count: u64,
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let count = self.reader.read(into)?;
        self.count += count as u64;
        Ok(count)
    }
}

/// The array of an archive that holds the shapes.
fn archive_key(path: &Path, file: &mut File) -> Result<String, CacheError> {
    let keys = archive::keys(&mut *file).map_err(|error| damaged(path, error.to_string()))?;
    file.rewind().map_err(|error| CacheError::Io { path: path.into(), error })?;
    shapes_key(path, &keys)
}

fn open(path: &Path) -> Result<File, CacheError> {
    File::open(path).map_err(|error| CacheError::Io { path: path.into(), error })
}

fn extension(path: &Path) -> String {
    path.extension().and_then(|e| e.to_str()).unwrap_or("").to_ascii_lowercase()
}

fn damaged(path: &Path, problem: String) -> CacheError {
    CacheError::Damaged { path: path.into(), problem }
}
