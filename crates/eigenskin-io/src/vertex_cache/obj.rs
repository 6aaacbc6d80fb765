//! Wavefront OBJ: one file per frame. Only positions and faces are read, in the file's order.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use eigenskin_core::glam::Vec3;

use super::{CacheError, LARGEST_CACHE, VertexCache, file_bytes, natural_order, save};

/// Bytes of one file at most; a short face takes several times its text in memory.
const LARGEST_OBJ: u64 = 1 << 27;

/// Positions and faces of one file.
struct Shape {
    positions: Vec<Vec3>,
    faces: Vec<Vec<u32>>,
}

/// Reads the OBJ files of a folder as frames, in natural order of their names. Faces are those of
/// the first; the others may have none, or must have the same.
pub fn read_folder(folder: &Path) -> Result<VertexCache, CacheError> {
    let paths = obj_files(folder)?;
    if paths.is_empty() {
        return Err(CacheError::NoObjFiles { path: folder.into() });
    }
    let (mut frames, mut names) = (Vec::with_capacity(paths.len()), Vec::with_capacity(paths.len()));
    let mut faces: Vec<Vec<u32>> = Vec::new();
    let mut left = LARGEST_CACHE;
    for path in &paths {
        let bytes = file_bytes(path)?;
        left = left
            .checked_sub(bytes.len() as u64)
            .ok_or(CacheError::TooLarge { path: folder.into(), limit: LARGEST_CACHE })?;
        let shape = parse(path, &bytes)?;
        if frames.is_empty() {
            faces = shape.faces;
        } else if !shape.faces.is_empty() && !faces.is_empty() && shape.faces != faces {
            let same_count = frames.first().map(Vec::len) == Some(shape.positions.len());
            if same_count {
                let problem = "its faces are not those of the first file, so its vertices may be in another order; export all frames of one mesh with the same settings".to_string();
                return Err(CacheError::Damaged { path: path.clone(), problem });
            }
        }
        names.push(path.file_stem().unwrap_or_default().to_string_lossy().into_owned());
        frames.push(shape.positions);
    }
    VertexCache::new(folder, frames, Some(faces).filter(|faces| !faces.is_empty()), Some(names))
}

/// One file as a cache of one frame.
pub fn parse_single(path: &Path, bytes: &[u8]) -> Result<VertexCache, CacheError> {
    let shape = parse(path, bytes)?;
    VertexCache::new(path, vec![shape.positions], Some(shape.faces).filter(|faces| !faces.is_empty()), None)
}

/// Writes a shape: positions and normals (`vertex`; normals may be empty) and triangles.
pub fn write_obj(
    path: &Path,
    positions: &[Vec3],
    normals: &[Vec3],
    triangles: &[[u32; 3]],
) -> Result<(), CacheError> {
    save(path, obj_text(positions, normals, triangles).as_bytes())
}

/// The text of an OBJ file: positions and normals (`vertex`; normals may be empty) and triangles.
/// Numbers are the shortest that read back as the same.
pub(crate) fn obj_text(positions: &[Vec3], normals: &[Vec3], triangles: &[[u32; 3]]) -> String {
    let mut text = String::with_capacity(40 * (positions.len() + normals.len() + triangles.len()));
    // Writing to a string cannot fail.
    for p in positions {
        let _ = writeln!(text, "v {} {} {}", p.x, p.y, p.z);
    }
    for n in normals {
        let _ = writeln!(text, "vn {} {} {}", n.x, n.y, n.z);
    }
    for corners in triangles {
        let [a, b, c] = corners.map(|corner| u64::from(corner) + 1);
        let _ = if normals.is_empty() {
            writeln!(text, "f {a} {b} {c}")
        } else {
            writeln!(text, "f {a}//{a} {b}//{b} {c}//{c}")
        };
    }
    text
}

fn obj_files(folder: &Path) -> Result<Vec<PathBuf>, CacheError> {
    let fail = |error| CacheError::Io { path: folder.into(), error };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        let is_obj = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("obj"));
        // Copies that systems and programs leave beside the real files start with a dot.
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if is_obj && !hidden && path.is_file() {
            paths.push(path);
        }
    }
    let stem = |path: &PathBuf| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    paths.sort_by(|a, b| natural_order::compare(&stem(a), &stem(b)).then_with(|| a.cmp(b)));
    Ok(paths)
}

fn parse(path: &Path, bytes: &[u8]) -> Result<Shape, CacheError> {
    if bytes.len() as u64 > LARGEST_OBJ {
        return Err(CacheError::TooLarge { path: path.into(), limit: LARGEST_OBJ });
    }
    let mut shape = Shape { positions: Vec::new(), faces: Vec::new() };
    let mut lines = bytes.split(|&byte| byte == b'\n').enumerate();
    while let Some((index, line)) = lines.next() {
        // Names of objects may be in any encoding; what is read here is plain ASCII.
        let line = line.trim_ascii();
        let (key, mut rest) = line.split_at(line.iter().take_while(|b| !b.is_ascii_whitespace()).count());
        if !matches!(key, b"v" | b"f") {
            continue;
        }
        let mut text = String::new();
        // A backslash at its end continues a line. Only of those read here: a comment may end so.
        while let Some(start) = rest.strip_suffix(b"\\") {
            text.push_str(&String::from_utf8_lossy(start));
            text.push(' ');
            rest = lines.next().map_or(&b""[..], |(_, line)| line.trim_ascii());
        }
        text.push_str(&String::from_utf8_lossy(rest));
        let fail = |problem: String| CacheError::Line { path: path.into(), line: index + 1, problem };
        let words = text.split_ascii_whitespace().take_while(|word| !word.starts_with('#'));
        if key == b"v" {
            shape.positions.push(vertex(words).map_err(fail)?);
        } else {
            shape.faces.push(face(words, shape.positions.len()).map_err(fail)?);
        }
    }
    let vertices = shape.positions.len();
    if vertices == 0 {
        return Err(CacheError::Empty { path: path.into() });
    }
    if let Some(&corner) = shape.faces.iter().flatten().find(|&&corner| corner as usize >= vertices) {
        return Err(CacheError::Face { path: path.into(), corner: u64::from(corner) + 1, vertices });
    }
    Ok(shape)
}

/// The first three numbers; a weight or a colour may follow.
fn vertex<'a>(mut words: impl Iterator<Item = &'a str>) -> Result<Vec3, String> {
    let mut number = || {
        let word = words.next().ok_or_else(|| "a vertex has three numbers".to_string())?;
        let number: f32 = word.parse().map_err(|_| format!("{:?} is not a number", shortened(word)))?;
        if number.is_finite() {
            Ok(number)
        } else {
            Err(format!("{} is not a finite number", shortened(word)))
        }
    };
    Ok(Vec3::new(number()?, number()?, number()?))
}

/// The corners, where `vertices` have come so far.
fn face<'a>(words: impl Iterator<Item = &'a str>, vertices: usize) -> Result<Vec<u32>, String> {
    let corner = |word: &'a str| {
        corner(word, vertices).ok_or_else(|| format!("{:?} is no vertex of a face", shortened(word)))
    };
    let corners = words.map(corner).collect::<Result<Vec<u32>, _>>()?;
    if corners.len() < 3 { Err("a face has at least three corners".into()) } else { Ok(corners) }
}

/// A binary file has very long words.
fn shortened(word: &str) -> String {
    word.chars().take(40).collect()
}

/// The vertex of a corner such as `7`, `7/1/7` or `-1` (the last one so far), from 0.
fn corner(word: &str, vertices: usize) -> Option<u32> {
    let number: i64 = word.split('/').next()?.parse().ok()?;
    let index = if number > 0 { number - 1 } else { (vertices as i64).checked_add(number)? };
    if number == 0 { None } else { u32::try_from(index).ok() }
}
