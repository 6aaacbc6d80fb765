//! The zip archive around numpy arrays.

use std::io::{Read, Seek, SeekFrom};

use super::NpzError;
use super::array::Array;

/// All arrays of a bundle together may not take more memory than this, whatever the archive claims.
pub const LARGEST_BUNDLE: u64 = 1 << 29;

/// Arrays of a small archive may take this much memory, and so many bytes for each byte of the file:
/// shapes and weights never shrink further, but zeros that fill the memory do.
const SMALL_BUNDLE: u64 = 1 << 26;
const LARGEST_RATIO: u64 = 64;

/// Names of the arrays in an archive.
pub fn keys(file: impl Read + Seek) -> Result<Vec<String>, NpzError> {
    let archive = zip::ZipArchive::new(file).map_err(|error| damaged(&error))?;
    archive.file_names().map(|name| name.map(|name| key_of(&name)).map_err(|error| damaged(&error))).collect()
}

/// Reads the wanted arrays of an archive, in its order.
pub fn read(mut file: impl Read + Seek, wanted: &[&str]) -> Result<Vec<(String, Array)>, NpzError> {
    let size = file.seek(SeekFrom::End(0)).map_err(|error| unreadable(&error.to_string()))?;
    let mut left = size.saturating_mul(LARGEST_RATIO).saturating_add(SMALL_BUNDLE).min(LARGEST_BUNDLE);
    let mut archive = zip::ZipArchive::new(file).map_err(|error| damaged(&error))?;
    if archive.is_empty() {
        return Err(NpzError::Archive {
            problem: "it is empty; save at least rest and faces with numpy.savez".into(),
        });
    }
    let mut arrays: Vec<(String, Array)> = Vec::new();
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).map_err(|error| damaged(&error))?;
        let key = key_of(&entry.name().map_err(|error| damaged(&error))?);
        if !wanted.contains(&key.as_str()) {
            continue;
        }
        if arrays.iter().any(|(known, _)| *known == key) {
            return Err(unreadable(&format!("it has two arrays {key:?}")));
        }
        let (array, memory) = Array::read(&key, &mut entry, left)?;
        left -= memory;
        arrays.push((key, array));
    }
    Ok(arrays)
}

fn key_of(name: &str) -> String {
    name.strip_suffix(".npy").unwrap_or(name).to_string()
}

fn damaged(error: &zip::result::ZipError) -> NpzError {
    unreadable(&error.to_string())
}

fn unreadable(problem: &str) -> NpzError {
    NpzError::Archive { problem: format!("{problem}; save it again with numpy.savez") }
}
