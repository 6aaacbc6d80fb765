//! Wavefront OBJ: one file per frame. Only positions and faces are read, in the file's order.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use eigenskin::glam::Vec3;

use super::{CacheError, LARGEST_CACHE, VertexCache, file_bytes, natural_order, save};

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
    let mut shape = Shape { positions: Vec::new(), faces: Vec::new() };
    // Names of objects may be in any encoding; what is read here is plain ASCII.
    let text = String::from_utf8_lossy(bytes);
    for (index, line) in text.lines().enumerate() {
        let fail = |problem: String| CacheError::Line { path: path.into(), line: index + 1, problem };
        let mut words = line.split_ascii_whitespace();
        match words.next() {
            Some("v") => {
                let mut number = || {
                    let word = words.next().ok_or_else(|| fail("a vertex has three numbers".into()))?;
                    let number: f32 = word.parse().map_err(|_| fail(format!("{word:?} is not a number")))?;
                    if number.is_finite() {
                        Ok(number)
                    } else {
                        Err(fail(format!("{word} is not a finite number")))
                    }
                };
                shape.positions.push(Vec3::new(number()?, number()?, number()?));
            }
            Some("f") => {
                let corner = |word: &str| {
                    corner(word, shape.positions.len())
                        .ok_or_else(|| fail(format!("{word:?} is no vertex of a face")))
                };
                let corners = words.take_while(|word| !word.starts_with('#'));
                let face = corners.map(corner).collect::<Result<Vec<u32>, _>>()?;
                if face.len() < 3 {
                    return Err(fail("a face has at least three corners".into()));
                }
                shape.faces.push(face);
            }
            _ => {}
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

/// The vertex of a corner such as `7`, `7/1/7` or `-1` (the last one so far), from 0.
fn corner(word: &str, vertices: usize) -> Option<u32> {
    let number: i64 = word.split('/').next()?.parse().ok()?;
    let index = if number > 0 { number - 1 } else { (vertices as i64).checked_add(number)? };
    if number == 0 { None } else { u32::try_from(index).ok() }
}
