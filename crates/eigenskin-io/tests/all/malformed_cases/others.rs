//! Numpy arrays and archives, vertex caches, motions.

use std::io::{Cursor, Write};

use super::{Case, Input};
use crate::support::malformed::readers::seeds::{self, Entry, floats, npy, npy_with, npz, zipped};

macro_rules! cases {
    ($list:expr; $($name:literal: $input:expr => [$($says:literal),+];)*) => {
        $($list.push(Case { name: $name, input: $input, says: &[$($says),+] });)*
    };
}

/// A single array with this header, and data of 24 floats.
fn array(header: &str) -> Input {
    Input::Cache("a.npy", npy_with(header, &floats(&[0.5; 24])))
}

/// A header of this type, order and shape.
fn header(descr: &str, fortran: &str, shape: &str) -> Input {
    array(&format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}"))
}

pub fn arrays(list: &mut Vec<Case>) {
    let valid = || npy("<f4", &[2, 4, 3], &floats(&[0.5; 24]));
    let start = |at: usize, bytes: &[u8]| {
        let mut array = valid();
        array[at..at + bytes.len()].copy_from_slice(bytes);
        Input::Cache("a.npy", array)
    };
    let mut long_header = b"\x93NUMPY\x02\x00".to_vec();
    long_header.extend(u32::MAX.to_le_bytes());
    let nested = |open: &str| {
        let mut bytes = b"\x93NUMPY\x01\x00\xff\xff".to_vec();
        bytes.extend(open.repeat(65_535 / open.len() + 1).into_bytes());
        Input::Cache("a.npy", bytes)
    };
    let mut nan = valid();
    let last = nan.len() - 4;
    nan[last..].copy_from_slice(&f32::NAN.to_le_bytes());
    cases! { list;
        "an npy of another magic": start(0, b"NUMPY!") => ["a.npy", "does not begin with NUMPY", "save"];
        "npy version 9": start(6, &[9]) => ["version 9", "save it again"];
        "a header beyond the end": start(8, &[0xff, 0xff]) => ["header is cut off"];
        "a header of 4 GiB": Input::Cache("a.npy", long_header) => ["claims 4294967295 bytes"];
        "60,000 open brackets": nested("(") => ["damaged header at character 0"];
        "a shape of open brackets": nested("{'shape':((((((") => ["impossible shape"];
        "a header that is no dictionary": array("[1, 2]") => ["damaged header"];
        "a header without shape": array("{'descr': '<f4', 'fortran_order': False}") => ["lacks", "shape"];
        "a shape of 10^18": header("'<f4'", "False", "(1000000000000000000,)") => ["more than", "fewer poses"];
        "a shape that overflows": header("'<f4'", "False", "(4294967296, 4294967296, 3)") => ["more than", "fewer poses"];
        "a shape beyond 64 bits": header("'<f4'", "False", "(99999999999999999999, 3)") => ["impossible shape"];
        "a negative shape": header("'<f4'", "False", "(-2, 4, 3)") => ["impossible shape"];
        "a shape of 1,000 axes": header("'<f4'", "False", &format!("({})", "1,".repeat(1000))) => ["more than 64 axes"];
        "a shape larger than the data": header("'<f4'", "False", "(3, 4, 3)") => ["should have 144 bytes", "only 96"];
        "a shape smaller than the data": header("'<f4'", "False", "(1, 4, 3)") => ["more bytes than its shape says"];
        "no vertices, 10^18 frames": Input::Cache("a.npy", npy("<f4", &[1_000_000_000_000_000_000, 0, 3], &[])) => ["expected [frames, vertices, 3]"];
        "columns before rows, too large": header("'<f4'", "True", "(3, 4, 3)") => ["only 96"];
        "an order that is a number": header("'<f4'", "1", "(2, 4, 3)") => ["damaged header"];
        "Python objects": header("'|O'", "False", "(24,)") => ["Python objects", "save plain numbers"];
        "complex numbers": header("'<c8'", "False", "(12,)") => ["<c8", "save f32"];
        "half floats": header("'<f2'", "False", "(2, 4, 6)") => ["<f2", "save f32"];
        "texts of 10^9 characters": header("'<U1000000000'", "False", "(1,)") => ["<U1000000000"];
        "texts of no characters": header("'<U0'", "False", "(1000000000,)") => ["<U0"];
        "a type without a size": header("'<f'", "False", "(2, 4, 3)") => ["<f"];
        "records": header("[('x', '<f4')]", "False", "(24,)") => ["records", "save plain numbers"];
        "bytes that take eight times the memory": Input::Cache("a.npy", npy("|u1", &[100_000_000, 3], &[])) => ["fewer poses"];
        "texts for positions": Input::Cache("a.npy", npy("<U1", &[2, 4, 3], &[0; 96])) => ["texts, not positions"];
        "a NaN in the last vertex": Input::Cache("a.npy", nan) => ["vertex 3 of frame 1", "repair"];
    }
}

/// An archive with one array of zeros that deflates a thousandfold.
fn bomb(key: &str, array_header: &str, zeros: usize) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default()
        .compression_method(zip::CompressionMethod::Deflated)
        .large_file(true);
    archive.start_file(format!("{key}.npy"), options).unwrap();
    archive.write_all(&npy_with(array_header, &[])).unwrap();
    let block = vec![0; 1 << 20];
    for _ in 0..zeros >> 20 {
        archive.write_all(&block).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

/// Where the entries of the archive's directory begin.
fn directory(bytes: &[u8]) -> Vec<usize> {
    (0..bytes.len() - 4).filter(|&at| bytes[at..].starts_with(b"PK\x01\x02")).collect()
}

pub fn archives(list: &mut Vec<Case>) {
    let gigabytes = |descr: &str, count: usize| {
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({count}, 4, 3), }}")
    };
    let zeros = 256 << 20;
    let small = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, 3), }}", 4);
    let patched = |entry: usize, offset: usize, bytes: &[u8]| {
        let mut archive = npz(&seeds::bundle());
        let at = directory(&archive)[entry] + offset;
        archive[at..at + bytes.len()].copy_from_slice(bytes);
        Input::Bundle(archive)
    };
    // Every entry of the directory points to the first file.
    let overlapping = {
        let mut archive = npz(&seeds::bundle());
        for at in directory(&archive) {
            archive[at + 42..at + 46].copy_from_slice(&[0; 4]);
        }
        Input::Bundle(archive)
    };
    let damaged = {
        let files: Vec<(String, Vec<u8>)> = seeds::bundle()
            .iter()
            .map(|(key, kind, shape, data)| (format!("{key}.npy"), npy(kind, shape, data)))
            .collect();
        let mut archive = zipped(&files, zip::CompressionMethod::Stored);
        let at = archive.windows(4).position(|w| w == 1f32.to_le_bytes()).unwrap();
        archive[at + 2] ^= 1;
        Input::Bundle(archive)
    };
    let twice = {
        let entry = npy("<f4", &[4, 3], &[0; 48]);
        let files = vec![("rest.npy".to_string(), entry.clone()), ("rest".to_string(), entry)];
        Input::Bundle(zipped(&files, zip::CompressionMethod::Stored))
    };
    let nested = {
        let inner = ("rest.npy".to_string(), npz(&seeds::bundle()));
        Input::Bundle(zipped(&[inner], zip::CompressionMethod::Stored))
    };
    cases! { list;
        "an npz of another magic": Input::Bundle(b"no archive at all".to_vec()) => ["not a readable npz", "numpy.savez"];
        "an empty archive": Input::Bundle(zipped(&[], zip::CompressionMethod::Stored)) => ["empty", "numpy.savez"];
        "256 MB of zeros in a bundle": Input::Bundle(bomb("truth", &gigabytes("<f4", zeros / 48), zeros)) => ["\"truth\"", "fewer poses"];
        "256 MB of zeros in a cache": Input::Cache("a.npz", bomb("truth", &gigabytes("<f4", zeros / 48), zeros)) => ["\"truth\"", "fewer poses"];
        "256 MB of zero bytes": Input::Cache("a.npz", bomb("truth", &gigabytes("|u1", zeros / 12), zeros)) => ["\"truth\"", "fewer poses"];
        "256 MB of zeros behind a small array": Input::Bundle(bomb("rest", &small, zeros)) => ["\"rest\"", "more bytes than its shape says"];
        "256 MB of zeros for a header": Input::Bundle(bomb("rest", &" ".repeat(100), zeros)) => ["\"rest\"", "damaged header"];
        "a directory that lies about the size": patched(0, 24, &5u32.to_le_bytes()) => ["\"rest\""];
        "a directory that points beyond the end": patched(0, 42, &0x7fff_ffffu32.to_le_bytes()) => ["npz"];
        "an unknown compression": patched(0, 10, &[99, 0]) => ["\"rest\"", "no numpy array"];
        "overlapping entries": overlapping => ["\"faces\"", "save it again"];
        "a bit that flipped": damaged => ["\"rest\"", "checksum"];
        "an array twice": twice => ["two arrays \"rest\""];
        "an archive within": nested => ["\"rest\"", "no numpy array"];
    }
}

pub fn bundles(list: &mut Vec<Case>) {
    let with = |key: &'static str, kind: &'static str, shape: Vec<usize>, data: Vec<u8>| {
        let mut entries = seeds::bundle();
        let place = entries.iter_mut().find(|entry| entry.0 == key).unwrap();
        *place = (key, kind, shape, data);
        Input::Bundle(npz(&entries))
    };
    let without = |keys: &[&str]| {
        let entries: Vec<Entry> =
            seeds::bundle().into_iter().filter(|entry| !keys.contains(&entry.0)).collect();
        Input::Bundle(npz(&entries))
    };
    let words = |values: &[i32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    cases! { list;
        "a bundle without rest": without(&["rest", "faces"]) => ["no rest, faces", "add the missing"];
        "a bundle without binds": without(&["bind"]) => ["no bind"];
        "a bundle without weights": without(&["weights"]) => ["no weights"];
        "rest positions that are NaN": with("rest", "<f4", vec![4, 3], floats(&[f32::NAN; 12])) => ["vertex 0"];
        "rest positions in a plane": with("rest", "<f4", vec![6, 2], floats(&[0.0; 12])) => ["\"rest\"", "[6, 2]", "save it again"];
        "faces of five corners": with("faces", "<i4", vec![1, 5], words(&[0, 1, 2, 3, 0])) => ["\"faces\"", "[1, 5]"];
        "a face beyond the vertices": with("faces", "<i4", vec![1, 3], words(&[0, 1, i32::MAX])) => ["face 0 uses vertex 2147483647", "save the faces"];
        "a parent that is not there": with("parents", "<i4", vec![2], words(&[-1, 9])) => ["joint 1 has the parent 9", "-1 for a root"];
        "a ring of parents": with("parents", "<i4", vec![2], words(&[1, 0])) => ["joint"];
        "parents that are texts": with("parents", "<U1", vec![2], vec![0; 8]) => ["\"parents\"", "texts, not numbers"];
        "names that are numbers": with("names", "<i4", vec![2], words(&[1, 2])) => ["\"names\"", "numbers, not texts"];
        "names that are not Unicode": with("names", "<U1", vec![2], vec![0xff; 8]) => ["\"names\"", "not Unicode"];
        "binds without inverse": with("bind", "<f4", vec![2, 4, 4], floats(&[0.0; 32])) => ["joint"];
        "weights that are infinite": with("weights", "<f4", vec![4, 2], floats(&[f32::INFINITY; 8])) => ["vertex 0"];
        "poses that are NaN": with("joint_world", "<f4", vec![1, 2, 4, 4], floats(&[f32::NAN; 32])) => ["pose 0"];
        "truth of other vertices": with("truth", "<f4", vec![4, 1, 3], floats(&[0.0; 12])) => ["\"truth\"", "[4, 1, 3]"];
    }
}

pub fn caches(list: &mut Vec<Case>) {
    let obj = |text: &str| Input::Cache("a.obj", text.as_bytes().to_vec());
    let pc2 =
        |vertices: i32, frames: i32| Input::Cache("a.pc2", seeds::pc2(vertices, frames, &floats(&[0.5; 24])));
    let mdd = |vertices: i32, frames: i32| Input::Cache("a.mdd", seeds::mdd(vertices, frames, &[0.5; 24]));
    let mut other_version = seeds::pc2(4, 2, &floats(&[0.5; 24]));
    other_version[12] = 2;
    cases! { list;
        "an unknown extension": Input::Cache("a.fbx", Vec::new()) => ["a.fbx is not a .pc2", "export"];
        "an OBJ without vertices": obj("# nothing\n") => ["a.obj has no frames or no vertices", "export"];
        "an OBJ of bytes": Input::Cache("a.obj", vec![0xff; 5000]) => ["no vertices"];
        "a vertex of two numbers": obj("v 0 0\n") => ["line 1", "three numbers", "export it again"];
        "a vertex of words": obj("v 0 0 0\nv a b c\n") => ["line 2", "\"a\" is not a number"];
        "a vertex with commas": obj("v 0,5 1 2\n") => ["\"0,5\" is not a number"];
        "a vertex that is NaN": obj("v nan 0 0\n") => ["line 1", "not a finite number"];
        "a vertex beyond f32": obj("v 1e999 0 0\n") => ["1e999 is not a finite number"];
        "a word of a million letters": obj(&format!("v {} 0 0", "x".repeat(1_000_000))) => ["is not a number"];
        "a face of two corners": obj("v 0 0 0\nf 1 1\n") => ["line 2", "three corners"];
        "a corner zero": obj("v 0 0 0\nf 0 1 1\n") => ["\"0\" is no vertex"];
        "a corner beyond the vertices": obj("v 0 0 0\nf 1 1 4000000000\n") => ["vertex 4000000000 of 1"];
        "a corner beyond 64 bits": obj("v 0 0 0\nf 1 1 99999999999999999999\n") => ["is no vertex of a face"];
        "a corner before the first": obj("v 0 0 0\nf -1 -1 -2\n") => ["\"-2\" is no vertex"];
        "the smallest corner there is": obj("v 0 0 0\nf 1 1 -9223372036854775808\n") => ["is no vertex"];
        "a PC2 of another magic": Input::Cache("a.pc2", b"POINTCACHE9\0 and so on and so on and so on".to_vec()) => ["a.pc2", "no PC2", "export"];
        "PC2 version 2": Input::Cache("a.pc2", other_version) => ["version 2"];
        "2^31 vertices and frames": pc2(i32::MAX, i32::MAX) => ["2147483647 frames, at most 1000000"];
        "2^31 vertices": pc2(i32::MAX, 1000) => ["more than 1073741824 bytes", "split"];
        "minus one vertex": pc2(-1, 2) => ["-1 vertices"];
        "no frames": pc2(4, 0) => ["0 frames"];
        "a frame too many": pc2(4, 3) => ["need 144 bytes", "but 96"];
        "an MDD of 2^31 frames": mdd(4, i32::MAX) => ["a.mdd", "ends within their times", "export"];
        "an MDD of 2^31 vertices": mdd(i32::MAX, 2) => ["bytes"];
        "an MDD of minus one frame": mdd(4, -1) => ["-1 frames"];
        "an MDD in the other byte order": mdd(4i32.swap_bytes(), 2i32.swap_bytes()) => ["33554432 frames"];
        "an MDD of NaN": Input::Cache("a.mdd", seeds::mdd(4, 2, &[f32::NAN; 24])) => ["vertex 0 of frame 0"];
    }
}

pub fn motions(list: &mut Vec<Case>) {
    let changed = |from: &str, to: &str| {
        assert!(seeds::BVH.contains(from), "{from}");
        Input::Bvh(seeds::BVH.replace(from, to).into_bytes())
    };
    let deep = |levels: usize, end: &str| {
        let joints = "JOINT b\n{ OFFSET 0 0 0 ".repeat(levels);
        Input::Bvh(format!("HIERARCHY ROOT a\n{{ OFFSET 0 0 0 {joints}{end}").into_bytes())
    };
    cases! { list;
        "no motion": Input::Bvh(b"glTF\x02\0\0\0".to_vec()) => ["line 1", "HIERARCHY", "export"];
        "a motion of bytes": Input::Bvh(vec![0xff; 100_000]) => ["line 1", "HIERARCHY"];
        "missing channels": changed("CHANNELS 3 Xrotation Yrotation Zrotation", "CHANNELS 3 Xrotation") => ["line 10", "a channel such as Zrotation"];
        "an unknown channel": changed("Yrotation Zrotation", "Wrotation Zrotation") => ["line 9", "a channel"];
        "10^11 channels": changed("CHANNELS 3", "CHANNELS 99999999999") => ["line 9", "at most 6"];
        "an offset that is NaN": changed("OFFSET 1 0 0", "OFFSET 1 nan 0") => ["line 8", "three numbers"];
        "an offset beyond all bounds": changed("OFFSET 1 0 0", "OFFSET 1e300 0 0") => ["line 8"];
        "10,001 levels": deep(10_001, "") => ["more than 10000 joints", "one character"];
        "9,000 levels without an end": deep(9_000, "") => ["the end of the file"];
        "a closed brace too many": changed("MOTION", "}\nMOTION") => ["ROOT, or MOTION"];
        "fewer frames than said": changed("Frames: 2", "Frames: 3") => ["3 frames of 9 numbers", "18 numbers", "export"];
        "10^9 frames": changed("Frames: 2", "Frames: 999999999") => ["999999999 frames"];
        "minus one frame of a motion": changed("Frames: 2", "Frames: -1") => ["a whole number of frames"];
        "a frame time of zero": changed("Time: 0.5", "Time: 0") => ["frame time above zero"];
        "a frame time that is infinite": changed("Time: 0.5", "Time: inf") => ["line 18"];
        "a number that is none": changed("90 0 0 10", "90 0 x 10") => ["line 19", "\"x\""];
        "a number that is NaN": changed("90 0 0 10", "90 0 nan 10") => ["line 19", "\"nan\""];
        "a word of a million letters in a motion": changed("90 0 0 10", &"y".repeat(1_000_000)) => ["line 19"];
    }
}
