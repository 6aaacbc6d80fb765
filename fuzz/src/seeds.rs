//! A small valid file of every format, to begin with.
#![allow(clippy::unwrap_used, reason = "these files are made here, of known good parts")]

use std::io::{Cursor, Write};

use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::glam::Vec3;
use eigenskin_core::skinning::{BaseSkinning, PosedSkinning};
use eigenskin_gltf::conformance::{cases, glb};
use eigenskin_gltf::{RigFile, examples_glb, rig_glb};

/// One array of a bundle: its key, numpy type, shape, and bytes.
pub type Entry = (&'static str, &'static str, Vec<usize>, Vec<u8>);

/// Every seed: the fuzz target, the name of the file, its bytes.
pub fn all() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    vec![
        ("glb", "model.glb", model_glb()),
        ("glb", "rig.glb", rig_of_model()),
        ("glb", "examples.glb", example_set_glb()),
        ("npz", "bundle.npz", npz(&bundle())),
        ("npz", "cache.npy", npy("<f4", &[2, 4, 3], &floats(&[0.5; 24]))),
        ("obj", "quad.obj", OBJ.as_bytes().to_vec()),
        ("pc2", "quad.pc2", pc2(4, 2, &floats(&[0.5; 24]))),
        ("mdd", "quad.mdd", mdd(4, 2, &[0.25; 24])),
        ("bvh", "leg.bvh", BVH.as_bytes().to_vec()),
    ]
}

/// A quad.
pub const OBJ: &str = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1//1 2//1 3//1\nf -4 -2 -1\n";

/// Two joints, two frames.
pub const BVH: &str = "HIERARCHY\nROOT hips\n{\n OFFSET 0 0 0\n CHANNELS 6 Xposition Yposition Zposition Zrotation Yrotation Xrotation\n JOINT knee\n {\n  OFFSET 1 0 0\n  CHANNELS 3 Xrotation Yrotation Zrotation\n  End Site\n  {\n   OFFSET 0 2 0\n  }\n }\n}\nMOTION\nFrames: 2\nFrame Time: 0.5\n1 2 3 90 0 0 10 20 30\n1 2 4 0 90 0 30 20 10\n";

/// A model with driver table.
pub fn model_glb() -> Vec<u8> {
    glb(&cases::all().unwrap().remove(0)).unwrap()
}

/// Its rig alone.
pub fn rig_of_model() -> Vec<u8> {
    let case = cases::all().unwrap().remove(0);
    rig_glb(&RigFile::from_rig(case.model.rig().clone(), "x").unwrap()).unwrap()
}

/// Its rig with examples: skinned shapes, a little larger.
pub fn example_set_glb() -> Vec<u8> {
    let case = cases::all().unwrap().remove(0);
    let rig = case.model.rig();
    let example = |(index, pose): (usize, &eigenskin_core::pose::Pose)| {
        let skinning = PosedSkinning::new(BaseSkinning::LinearBlend, rig, pose);
        let rest = rig.mesh().positions().iter().enumerate();
        let positions: Vec<Vec3> =
            rest.map(|(v, p)| 1.01 * skinning.position(v, p.as_dvec3()).as_vec3()).collect();
        let normals = (index % 2 == 0).then(|| rig.mesh().normals_of(&positions));
        Example { name: format!("example {index}"), pose: pose.clone(), positions, normals, inverted: None }
    };
    let examples = case.poses.iter().enumerate().map(example).collect();
    let set = ExampleSet::new(rig.clone(), examples).unwrap();
    examples_glb(&RigFile::from_rig(rig.clone(), "x").unwrap(), &set).unwrap()
}

/// A quad with two joints, one pose and a control.
pub fn bundle() -> Vec<Entry> {
    let identity = [1., 0., 0., 0., 0., 1., 0., 0., 0., 0., 1., 0., 0., 0., 0., 1.];
    let rest = floats(&[0., 0., 0., 1., 0., 0., 1., 1., 0., 0., 1., 0.]);
    let two = floats(&[identity, identity].concat());
    vec![
        ("rest", "<f4", vec![4, 3], rest.clone()),
        ("faces", "<i8", vec![1, 4], [0i64, 1, 2, 3].iter().flat_map(|v| v.to_le_bytes()).collect()),
        ("weights", "<f4", vec![4, 2], floats(&[0., 1., 1., 0., 1., 0., 0., 1.])),
        ("parents", "<i4", vec![2], [-1i32, 0].iter().flat_map(|v| v.to_le_bytes()).collect()),
        ("names", "<U1", vec![2], ['a', 'b'].iter().flat_map(|&c| (c as u32).to_le_bytes()).collect()),
        ("bind", "<f4", vec![2, 4, 4], two.clone()),
        ("joint_world", "<f4", vec![1, 2, 4, 4], two),
        ("truth", "<f4", vec![1, 4, 3], rest),
        ("controls", "<f4", vec![1, 1], floats(&[0.5])),
        ("control_names", "<U1", vec![1], ('c' as u32).to_le_bytes().to_vec()),
    ]
}

/// The bytes of an archive of arrays.
pub fn npz(entries: &[Entry]) -> Vec<u8> {
    let files: Vec<(String, Vec<u8>)> = entries
        .iter()
        .map(|(key, kind, shape, data)| (format!("{key}.npy"), npy(kind, shape, data)))
        .collect();
    zipped(&files, zip::CompressionMethod::Deflated)
}

/// Files as an archive.
pub fn zipped(files: &[(String, Vec<u8>)], method: zip::CompressionMethod) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in files {
        archive
            .start_file(name.as_str(), zip::write::SimpleFileOptions::default().compression_method(method))
            .unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

/// The bytes of one array.
pub fn npy(kind: &str, shape: &[usize], data: &[u8]) -> Vec<u8> {
    let extents: Vec<String> = shape.iter().map(|extent| format!("{extent},")).collect();
    let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({}), }}", extents.join(" "));
    npy_with(&header, data)
}

/// An array with any header.
pub fn npy_with(header: &str, data: &[u8]) -> Vec<u8> {
    let mut header = header.to_string();
    header.push_str(&" ".repeat(63 - (header.len() + 10) % 64));
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

/// A PC2 file with any counts.
pub fn pc2(vertices: i32, frames: i32, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"POINTCACHE2\0\x01\0\0\0".to_vec();
    bytes.extend(vertices.to_le_bytes());
    bytes.extend(0f32.to_le_bytes());
    bytes.extend(1f32.to_le_bytes());
    bytes.extend(frames.to_le_bytes());
    bytes.extend(data);
    bytes
}

/// An MDD file with any counts; two times.
pub fn mdd(vertices: i32, frames: i32, data: &[f32]) -> Vec<u8> {
    let mut bytes = frames.to_be_bytes().to_vec();
    bytes.extend(vertices.to_be_bytes());
    bytes.extend([0f32, 1.0].iter().chain(data).flat_map(|v| v.to_be_bytes()));
    bytes
}

/// Little-endian numbers.
pub fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}
