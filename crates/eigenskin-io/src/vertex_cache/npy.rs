//! Shapes as numpy arrays, [p, v, 3]: an `.npy` file, or one array of an `.npz` archive.

use std::io::Cursor;
use std::path::Path;

use eigenskin_core::glam::{DVec3, Vec3};

use super::{CacheError, VertexCache};
use crate::npz::NpzError;
use crate::npz::archive::{self, LARGEST_BUNDLE};
use crate::npz::array::{Array, Data};

/// Arrays that are taken for the shapes, when an archive has several.
const SHAPES: [&str; 2] = ["truth", "positions"];

/// Reads an `.npy` file from the bytes of `path`.
pub fn parse_array(path: &Path, bytes: &[u8]) -> Result<VertexCache, CacheError> {
    let (array, _) = Array::read("positions", &mut Cursor::new(bytes), LARGEST_BUNDLE)
        .map_err(|error| damaged(path, &error))?;
    VertexCache::new(path, shapes(path, "its array", &array)?, None, None)
}

/// Reads an `.npz` archive from the bytes of `path`: the array `truth` or `positions`, else its
/// only one. `rest` [v, 3], if there, goes in front; `faces` [f, 3|4] tell the connectivity.
pub fn parse_archive(path: &Path, bytes: &[u8]) -> Result<VertexCache, CacheError> {
    let fail = |error: NpzError| damaged(path, &error);
    let keys = archive::keys(Cursor::new(bytes)).map_err(fail)?;
    let key = shapes_key(path, &keys)?;
    let key = key.as_str();
    let arrays = archive::read(Cursor::new(bytes), &[key, "rest", "faces"]).map_err(fail)?;
    let find = |key: &str| arrays.iter().find(|(name, _)| name == key).map(|(_, array)| array);
    let Some(array) = find(key) else {
        return Err(CacheError::Empty { path: path.into() });
    };
    let mut frames = shapes(path, key, array)?;
    if let Some(Array { shape, data: Data::Numbers(values) }) = find("rest").filter(|_| key != "rest")
        && shape[..] == [frames.first().map_or(0, Vec::len), 3]
    {
        let rest = points(values);
        if frames.first() != Some(&rest) {
            frames.insert(0, rest);
        }
    }
    let faces = find("faces").filter(|_| key != "faces").and_then(faces_of);
    VertexCache::new(path, frames, faces, None)
}

/// The array of an archive that holds the shapes: `truth` or `positions`, else the only one.
pub(crate) fn shapes_key(path: &Path, keys: &[String]) -> Result<String, CacheError> {
    let named = SHAPES.iter().find(|wanted| keys.iter().any(|key| key == *wanted));
    match (named, keys) {
        (Some(key), _) => Ok((*key).to_string()),
        (None, [only]) => Ok(only.clone()),
        (None, _) => {
            let problem = format!(
                "it has {} arrays ({}), and none is called truth or positions",
                keys.len(),
                keys.join(", ")
            );
            Err(CacheError::Damaged { path: path.into(), problem })
        }
    }
}

fn shapes(path: &Path, key: &str, array: &Array) -> Result<Vec<Vec<Vec3>>, CacheError> {
    let fail = |problem: String| CacheError::Damaged { path: path.into(), problem };
    let Data::Numbers(values) = &array.data else {
        return Err(fail(format!("{key} holds texts, not positions")));
    };
    match array.shape[..] {
        [frames, vertices, 3] if frames > 0 && vertices > 0 => {
            Ok(values.chunks_exact(3 * vertices).map(points).collect())
        }
        _ => Err(fail(format!("{key} has the shape {:?}, expected [frames, vertices, 3]", array.shape))),
    }
}

/// Faces that are plainly face corners; anything else is no reason to refuse the shapes.
pub(crate) fn faces_of(array: &Array) -> Option<Vec<Vec<u32>>> {
    let Data::Numbers(values) = &array.data else { return None };
    let [_, corners @ 3..=4] = array.shape[..] else { return None };
    let whole = |&value: &f64| (value >= 0.0 && value.fract() == 0.0 && value < 4e9).then_some(value as u32);
    values.chunks_exact(corners).map(|face| face.iter().map(whole).collect()).collect()
}

fn points(values: &[f64]) -> Vec<Vec3> {
    values.chunks_exact(3).map(|v| DVec3::from_slice(v).as_vec3()).collect()
}

fn damaged(path: &Path, error: &NpzError) -> CacheError {
    CacheError::Damaged { path: path.into(), problem: error.to_string() }
}
