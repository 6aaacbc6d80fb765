//! Small numpy bundles.

use std::io::Write;
use std::path::Path;

use eigenskin::characters::square_bar;
use eigenskin::glam::{DAffine3, DMat4, Vec3};
use eigenskin::rig::Rig;

/// A numpy bundle that tests may spoil before they write it.
pub struct Bundle {
    pub rest: Vec<[f32; 3]>,
    pub faces: Vec<[i32; 3]>,
    /// `vertex × joint`
    pub weights: Vec<Vec<f32>>,
    pub parents: Vec<i32>,
    pub names: Vec<String>,
    pub bind: Vec<[f32; 16]>,
    pub joint_world: Vec<Vec<[f32; 16]>>,
    pub truth: Vec<Vec<[f32; 3]>>,
}

/// The built-in bar, bent to four angles, with bulges.
pub fn bar_bundle() -> Bundle {
    let character = square_bar().unwrap();
    let rig: &Rig = &character.rig;
    let joints = rig.skeleton().joints();
    let matrix = |transform: DAffine3| DMat4::from(transform).transpose().to_cols_array().map(|x| x as f32);
    let mut bundle = Bundle {
        rest: rig.mesh().positions().iter().map(Vec3::to_array).collect(),
        faces: rig.mesh().triangles().iter().map(|t| t.map(|v| v as i32)).collect(),
        weights: vec![vec![0.0; joints.len()]; rig.vertex_count()],
        parents: joints.iter().map(|j| j.parent.map_or(-1, |p| p as i32)).collect(),
        names: joints.iter().map(|j| j.name.clone()).collect(),
        bind: rig.skeleton().rest_from_joint().iter().map(|&t| matrix(t)).collect(),
        joint_world: Vec::new(),
        truth: Vec::new(),
    };
    for (vertex, row) in bundle.weights.iter_mut().enumerate() {
        for influence in rig.weights().of(vertex) {
            row[influence.joint as usize] = influence.weight;
        }
    }
    let count = character.degrees_of_freedom.len();
    for step in 1..=4 {
        let mut angles = vec![0.0; count];
        angles[0] = 0.3 * f64::from(step);
        let pose = character.pose(&angles);
        bundle.joint_world.push(pose.world_from_joint.iter().map(|&t| matrix(t)).collect());
        bundle.truth.push(
            eigenskin::characters::truth::true_shape(&character, &pose).iter().map(Vec3::to_array).collect(),
        );
    }
    bundle
}

impl Bundle {
    pub fn write(&self, path: &Path) {
        let poses = self.truth.len();
        let (vertices, joints) = (self.rest.len(), self.names.len());
        let floats = |values: Vec<f32>| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
        let ints = |values: Vec<i32>| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
        let width = self.names.iter().map(|n| n.chars().count()).max().unwrap_or(1);
        let text = |name: &String| {
            let mut codes: Vec<u32> = name.chars().map(u32::from).collect();
            codes.resize(width, 0);
            codes.into_iter().flat_map(u32::to_le_bytes).collect::<Vec<u8>>()
        };
        let truth_vertices = self.truth.first().map_or(0, Vec::len);
        let arrays = [
            ("rest", "<f4".to_string(), vec![vertices, 3], floats(self.rest.concat())),
            ("faces", "<i4".to_string(), vec![self.faces.len(), 3], ints(self.faces.concat())),
            ("weights", "<f4".to_string(), vec![vertices, joints], floats(self.weights.concat())),
            ("parents", "<i4".to_string(), vec![joints], ints(self.parents.clone())),
            ("names", format!("<U{width}"), vec![joints], self.names.iter().flat_map(text).collect()),
            ("bind", "<f4".to_string(), vec![joints, 4, 4], floats(self.bind.concat())),
            (
                "joint_world",
                "<f4".to_string(),
                vec![poses, joints, 4, 4],
                floats(self.joint_world.concat().concat()),
            ),
            (
                "truth",
                "<f4".to_string(),
                vec![poses, truth_vertices, 3],
                floats(self.truth.concat().concat()),
            ),
        ];
        let mut zip = zip::ZipWriter::new(std::fs::File::create(path).unwrap());
        for (name, kind, shape, bytes) in arrays {
            zip.start_file(format!("{name}.npy"), zip::write::SimpleFileOptions::default()).unwrap();
            zip.write_all(&npy(&kind, &shape, &bytes)).unwrap();
        }
        zip.finish().unwrap();
    }
}

fn npy(kind: &str, shape: &[usize], bytes: &[u8]) -> Vec<u8> {
    let extents: Vec<String> = shape.iter().map(ToString::to_string).collect();
    let mut header =
        format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({},), }}", extents.join(","));
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(bytes);
    file
}
