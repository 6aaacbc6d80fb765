//! The zip archive around numpy arrays.

use std::io::{Read, Seek};

use super::NpzError;
use super::array::Array;

/// All arrays of a bundle together may not be larger than this, whatever the archive claims.
pub const LARGEST_BUNDLE: u64 = 1 << 30;

/// Names of the arrays in an archive.
pub fn keys(file: impl Read + Seek) -> Result<Vec<String>, NpzError> {
    let archive = zip::ZipArchive::new(file).map_err(|error| damaged(&error))?;
    archive.file_names().map(|name| name.map(|name| key_of(&name)).map_err(|error| damaged(&error))).collect()
}

/// Reads the wanted arrays of an archive, in its order.
pub fn read(file: impl Read + Seek, wanted: &[&str]) -> Result<Vec<(String, Array)>, NpzError> {
    let mut archive = zip::ZipArchive::new(file).map_err(|error| damaged(&error))?;
    if archive.is_empty() {
        return Err(NpzError::Archive {
            problem: "it is empty; save at least rest and faces with numpy.savez".into(),
        });
    }
    let mut arrays = Vec::new();
    let mut left = LARGEST_BUNDLE;
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).map_err(|error| damaged(&error))?;
        let key = key_of(&entry.name().map_err(|error| damaged(&error))?);
        if !wanted.contains(&key.as_str()) {
            continue;
        }
        let (array, bytes) = Array::read(&key, &mut entry, left)?;
        left = left.saturating_sub(bytes);
        arrays.push((key, array));
    }
    Ok(arrays)
}

fn key_of(name: &str) -> String {
    name.strip_suffix(".npy").unwrap_or(name).to_string()
}

fn damaged(error: &zip::result::ZipError) -> NpzError {
    NpzError::Archive { problem: error.to_string() }
}
