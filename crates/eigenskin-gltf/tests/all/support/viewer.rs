//! What a stock viewer shows: morph, then skin, written here on top of the `gltf` crate, from the
//! baked weights.

use eigenskin_core::glam::{DMat3, DMat4, DVec3, Mat4, Quat, Vec3};

/// Positions and normals in scene space at a key of an animation.
pub struct Viewer {
    pub document: gltf::Document,
    /// the binary part of the GLB: the one buffer that there is
    binary: Vec<u8>,
}

impl Viewer {
    pub fn open(glb: &[u8]) -> Self {
        let gltf::Gltf { document, blob } = gltf::Gltf::from_slice(glb).unwrap();
        assert_eq!(document.buffers().count(), 1);
        Self { document, binary: blob.unwrap() }
    }

    /// Positions, normals and morph weights.
    pub fn show(&self, clip: usize, time: f32) -> (Vec<Vec3>, Vec<Vec3>, Vec<f32>) {
        let mut locals: Vec<gltf::scene::Transform> = self.document.nodes().map(|n| n.transform()).collect();
        let mut weights = Vec::new();
        for channel in self.document.animations().nth(clip).unwrap().channels() {
            let reader = channel.reader(|_| Some(&self.binary));
            let times: Vec<f32> = reader.read_inputs().unwrap().collect();
            let at = times.iter().position(|&t| t == time).unwrap();
            let (mut t, mut r, mut s) = locals[channel.target().node().index()].clone().decomposed();
            match reader.read_outputs().unwrap() {
                gltf::animation::util::ReadOutputs::Translations(mut values) => t = values.nth(at).unwrap(),
                gltf::animation::util::ReadOutputs::Rotations(values) => {
                    r = values.into_f32().nth(at).unwrap();
                }
                gltf::animation::util::ReadOutputs::Scales(mut values) => s = values.nth(at).unwrap(),
                gltf::animation::util::ReadOutputs::MorphTargetWeights(values) => {
                    let all: Vec<f32> = values.into_f32().collect();
                    let count = all.len() / times.len();
                    weights = all[at * count..(at + 1) * count].to_vec();
                }
            }
            locals[channel.target().node().index()] =
                gltf::scene::Transform::Decomposed { translation: t, rotation: r, scale: s };
        }
        let mut globals = vec![DMat4::IDENTITY; locals.len()];
        for root in self.document.default_scene().unwrap().nodes() {
            place(&root, DMat4::IDENTITY, &locals, &mut globals);
        }
        let node = self.document.nodes().find(|n| n.mesh().is_some()).unwrap();
        let (positions, normals) = self.skin(&node, &weights, &globals);
        (positions, normals, weights)
    }

    /// All primitives of a node's mesh, one after the other.
    fn skin(&self, node: &gltf::Node<'_>, weights: &[f32], globals: &[DMat4]) -> (Vec<Vec3>, Vec<Vec3>) {
        let parts =
            node.mesh().unwrap().primitives().map(|p| self.skin_primitive(node, &p, weights, globals));
        let (positions, normals): (Vec<_>, Vec<_>) = parts.unzip();
        (positions.concat(), normals.concat())
    }

    fn skin_primitive(
        &self,
        node: &gltf::Node<'_>,
        primitive: &gltf::Primitive<'_>,
        weights: &[f32],
        globals: &[DMat4],
    ) -> (Vec<Vec3>, Vec<Vec3>) {
        let reader = primitive.reader(|_| Some(&self.binary));
        let mut positions: Vec<Vec3> = reader.read_positions().unwrap().map(Vec3::from_array).collect();
        let mut normals: Vec<Vec3> = reader.read_normals().unwrap().map(Vec3::from_array).collect();
        for ((dp, dn, _), &weight) in reader.read_morph_targets().zip(weights) {
            positions.iter_mut().zip(dp.unwrap()).for_each(|(p, d)| *p += weight * Vec3::from_array(d));
            if let Some(dn) = dn {
                normals.iter_mut().zip(dn).for_each(|(n, d)| *n += weight * Vec3::from_array(d));
            }
        }
        let mut blended = vec![globals[node.index()]; positions.len()];
        if let Some(skin) = node.skin() {
            let binds = skin.reader(|_| Some(&self.binary)).read_inverse_bind_matrices();
            let binds: Vec<DMat4> = binds.unwrap().map(|m| Mat4::from_cols_array_2d(&m).as_dmat4()).collect();
            let joints: Vec<DMat4> =
                skin.joints().zip(&binds).map(|(joint, bind)| globals[joint.index()] * *bind).collect();
            blended.fill(DMat4::ZERO);
            for set in 0.. {
                let (Some(j), Some(w)) = (reader.read_joints(set), reader.read_weights(set)) else { break };
                for ((matrix, j), w) in blended.iter_mut().zip(j.into_u16()).zip(w.into_f32()) {
                    for (joint, weight) in j.into_iter().zip(w) {
                        *matrix += joints[joint as usize] * f64::from(weight);
                    }
                }
            }
        }
        let place = |(p, m): (&Vec3, &DMat4)| m.transform_point3(p.as_dvec3()).as_vec3();
        let turn = |(n, m): (&Vec3, &DMat4)| (DMat3::from_mat4(*m) * n.as_dvec3()).normalize().as_vec3();
        (
            positions.iter().zip(&blended).map(place).collect(),
            normals.iter().zip(&blended).map(turn).collect(),
        )
    }
}

fn place(node: &gltf::Node<'_>, parent: DMat4, locals: &[gltf::scene::Transform], globals: &mut [DMat4]) {
    let (t, r, s) = locals[node.index()].clone().decomposed();
    let local = DMat4::from_scale_rotation_translation(
        DVec3::from_array(s.map(f64::from)),
        Quat::from_array(r).as_dquat().normalize(),
        DVec3::from_array(t.map(f64::from)),
    );
    globals[node.index()] = parent * local;
    for child in node.children() {
        place(&child, globals[node.index()], locals, globals);
    }
}
