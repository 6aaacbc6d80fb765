//! Numpy arrays and archives.

use std::io::Write;
use std::path::Path;

use eigenskin_core::glam::Vec3;

/// An array [p, v, 3] as the bytes of an .npy file.
pub fn npy(frames: &[Vec<Vec3>]) -> Vec<u8> {
    let mut header = format!(
        "{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}, 3), }}",
        frames.len(),
        frames[0].len()
    );
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(frames.iter().flatten().flat_map(Vec3::to_array).flat_map(f32::to_le_bytes));
    bytes
}

/// Arrays as an .npz file.
pub fn write_npz(path: &Path, arrays: &[(&str, Vec<u8>)]) {
    let mut zip = zip::ZipWriter::new(std::fs::File::create(path).unwrap());
    for (name, bytes) in arrays {
        zip.start_file(format!("{name}.npy"), zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap();
}
