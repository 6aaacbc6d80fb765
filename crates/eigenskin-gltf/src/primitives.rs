//! The vertices and triangles of mesh primitives, put together into one mesh.

use std::collections::BTreeMap;

use eigenskin_core::glam::{Vec3, Vec4};
use eigenskin_core::weights::Influence;
use serde_json::Value;

use super::accessor;
use super::document::{Document, optional_count, optional_index};
use super::error::GltfError;
use super::rig::RigLayout;

/// Vertices and triangles of one rig at most. Primitives may name the same data again and again, so
/// the size of the file is no bound.
const MOST: usize = 1 << 23;
/// Sets of four skin weights at most.
const MOST_SETS: usize = 16;

/// Which vertices of the model a primitive has. Primitives that share their vertices share a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrimitiveRange {
    /// index of the mesh
    pub mesh: usize,
    /// index of the primitive in the mesh
    pub primitive: usize,
    /// its first vertex in the model; the others follow in order. None for points and lines, which
    /// are no part of the model but must carry morph targets too
    pub first_vertex: Option<usize>,
    /// number of vertices
    pub vertex_count: usize,
    /// whether the file has normals for it
    pub has_normals: bool,
}

/// Vertices and triangles of several primitives.
#[derive(Debug, Default)]
pub struct Vertices {
    /// `vertex`
    pub positions: Vec<Vec3>,
    /// `vertex`; zero where the file has none
    pub normals: Vec<Vec3>,
    /// whether any primitive has normals
    pub any_normals: bool,
    /// `vertex`; empty lists without joints
    pub influences: Vec<Vec<Influence>>,
    /// corners of triangles
    pub triangles: Vec<[u32; 3]>,
    /// where each primitive's vertices are
    pub ranges: Vec<PrimitiveRange>,
    /// primitives of points or lines
    pub skipped_primitives: usize,
    /// attributes of each vertex range, to find primitives that share their vertices
    shared: BTreeMap<Vec<(String, usize)>, usize>,
}

impl Vertices {
    /// Reads all primitives of a mesh, with their skin weights if asked for.
    pub fn add_mesh(&mut self, document: &Document, mesh: usize, skinned: bool) -> Result<(), GltfError> {
        let entry = document.entry("meshes", mesh)?;
        let primitives = entry
            .get("primitives")
            .and_then(Value::as_array)
            .ok_or_else(|| GltfError::field(format!("meshes[{mesh}].primitives"), "a list"))?;
        for (index, primitive) in primitives.iter().enumerate() {
            Primitive { document, mesh, index, json: primitive }.add_to(self, skinned)?;
        }
        Ok(())
    }
}

/// Tangents of the rig's primitives (`vertex`; w is the handedness, 1 or −1), of unit length; `None`
/// when the file has none at all. Where one is missing or has no length, some direction of the surface
/// with the given normals (`vertex`) stands for it. Of primitives that share vertices the first counts.
pub fn tangents(
    document: &Document,
    layout: &RigLayout,
    normals: &[Vec3],
) -> Result<Option<Vec<Vec4>>, GltfError> {
    let mut found = None;
    let mut is_read = vec![false; normals.len()];
    for range in &layout.primitives {
        let Some(first) = range.first_vertex.filter(|&first| !is_read[first]) else { continue };
        let mesh = document.entry("meshes", range.mesh)?;
        let json = mesh.get("primitives").and_then(|list| list.get(range.primitive)).unwrap_or(&Value::Null);
        let primitive = Primitive { document, mesh: range.mesh, index: range.primitive, json };
        let Some(accessor) = primitive.attribute("TANGENT")? else { continue };
        let read = accessor::read_vec4(document, accessor)?;
        primitive.check_count("tangents", read.len(), range.vertex_count)?;
        let along_surface =
            || normals.iter().map(|normal| normal.any_orthonormal_vector().extend(1.0)).collect();
        let all: &mut Vec<Vec4> = found.get_or_insert_with(along_surface);
        for (vertex, tangent) in (first..).zip(read) {
            is_read[vertex] = true;
            if let Some(unit) = tangent.truncate().try_normalize() {
                all[vertex] = unit.extend(if tangent.w < 0.0 { -1.0 } else { 1.0 });
            }
        }
    }
    Ok(found)
}

struct Primitive<'a> {
    document: &'a Document,
    mesh: usize,
    index: usize,
    json: &'a Value,
}

impl Primitive<'_> {
    fn add_to(&self, all: &mut Vertices, skinned: bool) -> Result<(), GltfError> {
        let mode = optional_count(self.json, "mode", || self.place())?.unwrap_or(4);
        let position =
            self.attribute("POSITION")?.ok_or_else(|| self.fail("it has no positions; export it again"))?;
        let has_normals = self.attribute("NORMAL")?.is_some();
        let mut range = PrimitiveRange {
            mesh: self.mesh,
            primitive: self.index,
            first_vertex: None,
            vertex_count: accessor::count(self.document, position)?,
            has_normals,
        };
        if !(4..=6).contains(&mode) {
            all.skipped_primitives += 1;
            all.ranges.push(range);
            return Ok(());
        }
        let key = self.vertex_attributes()?;
        let first = if let Some(&first) = all.shared.get(&key) {
            first
        } else {
            let first = all.positions.len();
            self.read_vertices(all, position, skinned)?;
            all.shared.insert(key, first);
            first
        };
        range.first_vertex = Some(first);
        all.ranges.push(range);
        self.read_triangles(all, mode, first, range.vertex_count)
    }

    fn read_vertices(&self, all: &mut Vertices, position: usize, skinned: bool) -> Result<(), GltfError> {
        let positions = accessor::read_vec3(self.document, position)?;
        let count = positions.len();
        if all.positions.len() + count > MOST {
            return Err(self.fail(&format!("the rig would have more than {MOST} vertices; simplify it")));
        }
        all.positions.extend(positions);
        match self.attribute("NORMAL")? {
            Some(normal) => {
                let normals = accessor::read_vec3(self.document, normal)?;
                self.check_count("normals", normals.len(), count)?;
                all.normals.extend(normals);
                all.any_normals = true;
            }
            None => all.normals.extend(std::iter::repeat_n(Vec3::ZERO, count)),
        }
        let mut influences = vec![Vec::new(); count];
        for set in 0.. {
            let joints = self.attribute(&format!("JOINTS_{set}"))?;
            let weights = self.attribute(&format!("WEIGHTS_{set}"))?;
            let (Some(joints), Some(weights)) = (joints, weights) else {
                if skinned && set == 0 {
                    return Err(self.fail("it has no skin weights; bind the whole mesh to the skeleton"));
                }
                break;
            };
            if !skinned {
                break;
            }
            if set == MOST_SETS {
                let most = 4 * MOST_SETS;
                return Err(self.fail(&format!("vertices have more than {most} skin weights; limit them")));
            }
            let joints = accessor::read_joints(self.document, joints)?;
            let weights = accessor::read_weights(self.document, weights)?;
            self.check_count("joint indices", joints.len(), count)?;
            self.check_count("skin weights", weights.len(), count)?;
            for ((list, joints), weights) in influences.iter_mut().zip(joints).zip(weights) {
                for (joint, weight) in joints.into_iter().zip(weights) {
                    if weight != 0.0 {
                        list.push(Influence { joint, weight });
                    }
                }
            }
        }
        all.influences.extend(influences);
        Ok(())
    }

    fn read_triangles(
        &self,
        all: &mut Vertices,
        mode: usize,
        first: usize,
        count: usize,
    ) -> Result<(), GltfError> {
        let accessors = self.document.array("accessors").len();
        let corners = match optional_index(self.json, "indices", accessors, || self.place())? {
            Some(indices) => accessor::read_indices(self.document, indices)?,
            None => (0..count as u32).collect(),
        };
        if let Some(&corner) = corners.iter().find(|&&corner| corner as usize >= count) {
            return Err(self.fail(&format!("a triangle uses vertex {corner} of {count}; export it again")));
        }
        if all.triangles.len() + corners.len() / 3 > MOST {
            return Err(self.fail(&format!("the rig would have more than {MOST} triangles; simplify it")));
        }
        let triangles: Vec<[u32; 3]> = match mode {
            4 => corners.chunks_exact(3).map(|c| [c[0], c[1], c[2]]).collect(),
            // Every other triangle of a strip is wound the other way.
            5 => corners
                .windows(3)
                .enumerate()
                .map(|(i, c)| if i % 2 == 0 { [c[0], c[1], c[2]] } else { [c[1], c[0], c[2]] })
                .collect(),
            _ => corners.windows(2).skip(1).map(|c| [corners[0], c[0], c[1]]).collect(),
        };
        // Strips are stitched together with triangles that repeat a corner.
        let stitch = |[a, b, c]: [u32; 3]| mode != 4 && (a == b || b == c || c == a);
        let kept = triangles.into_iter().filter(|&triangle| !stitch(triangle));
        all.triangles.extend(kept.map(|triangle| triangle.map(|corner| corner + first as u32)));
        Ok(())
    }

    /// The accessors that make up a vertex of the model.
    fn vertex_attributes(&self) -> Result<Vec<(String, usize)>, GltfError> {
        let attributes = self.json.get("attributes").and_then(Value::as_object);
        let mut found = Vec::new();
        for name in attributes.into_iter().flat_map(|a| a.keys()) {
            if name == "POSITION"
                || name == "NORMAL"
                || name.starts_with("JOINTS_")
                || name.starts_with("WEIGHTS_")
            {
                found.extend(self.attribute(name)?.map(|accessor| (name.clone(), accessor)));
            }
        }
        // Targets that differ make vertices differ too.
        for target in self.json.get("targets").and_then(Value::as_array).into_iter().flatten() {
            found.extend(
                target.get("POSITION").and_then(Value::as_u64).map(|a| ("target".into(), a as usize)),
            );
        }
        found.sort();
        Ok(found)
    }

    fn attribute(&self, name: &str) -> Result<Option<usize>, GltfError> {
        let attributes = self.json.get("attributes").unwrap_or(&Value::Null);
        optional_index(attributes, name, self.document.array("accessors").len(), || self.place())
    }

    fn check_count(&self, what: &str, found: usize, expected: usize) -> Result<(), GltfError> {
        if found == expected {
            Ok(())
        } else {
            Err(self.fail(&format!("it has {found} {what} for {expected} vertices; export it again")))
        }
    }

    fn place(&self) -> String {
        format!("meshes[{}].primitives[{}]", self.mesh, self.index)
    }

    fn fail(&self, problem: &str) -> GltfError {
        GltfError::Primitive { mesh: self.mesh, primitive: self.index, problem: problem.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::append::{self, Usage};
    use crate::conformance::cases;

    /// A conformance model with these tangents.
    fn with_tangents(values: &[[f32; 4]]) -> (Document, crate::RigFile) {
        let case = &cases::all().unwrap()[0];
        let mut document = Document::from_bytes(&crate::conformance::glb(case).unwrap(), None).unwrap();
        let (file, _) = crate::model_of(document.clone()).unwrap();
        let accessor = append::vec4(&mut document, "tangents", values, Usage::Vertices).unwrap();
        let mesh = file.layout().meshes[0];
        document.json["meshes"][mesh]["primitives"][0]["attributes"]["TANGENT"] = accessor.into();
        (document, file)
    }

    #[test]
    fn tangents_are_unit_directions_with_a_side() {
        let (_, file) = with_tangents(&[]);
        let normals = file.rig().mesh().normals();
        let read = |document: &Document| tangents(document, file.layout(), normals);
        assert_eq!(read(file.document()).unwrap(), None, "the file has none");

        let mut values = vec![[0.0, 3.0, 4.0, -1.0]; normals.len()];
        values[1] = [0.0, 0.0, 0.0, -1.0];
        values[2] = [f32::MIN_POSITIVE, 0.0, 0.0, 0.0];
        let found = read(&with_tangents(&values).0).unwrap().unwrap();
        assert_eq!(found.len(), normals.len());
        assert!(found[0].abs_diff_eq(Vec4::new(0.0, 0.6, 0.8, -1.0), 1e-6), "{}", found[0]);
        for (tangent, normal) in found.iter().zip(normals).skip(1).take(2) {
            assert!((tangent.truncate().length() - 1.0).abs() < 1e-5 && tangent.w == 1.0, "{tangent}");
            assert!(tangent.truncate().dot(*normal).abs() < 1e-5, "{tangent} leaves the surface");
        }

        let error = read(&with_tangents(&values[1..]).0).unwrap_err().to_string();
        assert!(error.contains("tangents"), "{error}");
        values[3][0] = f32::NAN;
        let error = read(&with_tangents(&values).0).unwrap_err().to_string();
        assert!(error.contains("finite"), "{error}");
    }
}
