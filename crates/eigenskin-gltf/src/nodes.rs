//! The node hierarchy: local transforms, what hangs on what, global transforms.

use eigenskin_core::glam::{DAffine3, DMat3, DQuat, DVec3};
use eigenskin_core::pose::rotation_of;
use serde_json::{Value, json};

use super::accessor::affine_of_columns;
use super::append::remove_key;
use super::document::{Document, index_list};
use super::error::GltfError;

/// A local transform as animations know it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trs {
    /// translation
    pub translation: DVec3,
    /// rotation, unit length
    pub rotation: DQuat,
    /// scale along the rotated axes
    pub scale: DVec3,
}

/// A node's transform relative to its parent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Local {
    /// may be animated
    Trs(Trs),
    /// given as a matrix: static
    Matrix(DAffine3),
}

/// All nodes of a document; a forest.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeGraph {
    /// `node`
    pub parents: Vec<Option<usize>>,
    /// `node`, at the file's default transforms
    pub locals: Vec<Local>,
    /// all nodes, parents before children
    pub parents_first: Vec<usize>,
}

impl Trs {
    /// No transform.
    pub const IDENTITY: Self =
        Self { translation: DVec3::ZERO, rotation: DQuat::IDENTITY, scale: DVec3::ONE };

    /// The transform as a matrix.
    pub fn to_affine(self) -> DAffine3 {
        DAffine3::from_scale_rotation_translation(self.scale, self.rotation, self.translation)
    }

    /// The nearest such transform of a matrix, and how far the matrix is from one: the largest
    /// cosine between axes that should be perpendicular.
    pub fn nearest(matrix: DAffine3) -> (Self, f64) {
        let m = matrix.matrix3;
        let mirror = if m.determinant() < 0.0 { -1.0 } else { 1.0 };
        let lengths = DVec3::new(mirror * m.x_axis.length(), m.y_axis.length(), m.z_axis.length());
        let unit = DMat3::from_cols(
            m.x_axis / nonzero(lengths.x),
            m.y_axis / nonzero(lengths.y),
            m.z_axis / nonzero(lengths.z),
        );
        let shear = unit
            .x_axis
            .dot(unit.y_axis)
            .abs()
            .max(unit.y_axis.dot(unit.z_axis).abs())
            .max(unit.z_axis.dot(unit.x_axis).abs());
        let rotation = rotation_of(unit);
        (Self { translation: matrix.translation, rotation, scale: lengths }, shear)
    }

    /// Rounded to the precision of animation keys, as it will be read again.
    #[must_use]
    pub fn rounded(self) -> Self {
        Self {
            translation: self.translation.as_vec3().as_dvec3(),
            rotation: self.rotation.as_quat().as_dquat().normalize(),
            scale: self.scale.as_vec3().as_dvec3(),
        }
    }
}

impl Local {
    /// The transform as a matrix.
    pub fn to_affine(self) -> DAffine3 {
        match self {
            Self::Trs(trs) => trs.to_affine(),
            Self::Matrix(matrix) => matrix,
        }
    }
}

impl NodeGraph {
    /// Reads and checks the nodes of a document.
    pub fn read(document: &Document) -> Result<Self, GltfError> {
        let nodes = document.array("nodes");
        let mut parents = vec![None; nodes.len()];
        let mut locals = Vec::with_capacity(nodes.len());
        for (index, node) in nodes.iter().enumerate() {
            if !node.is_object() {
                return Err(GltfError::field(format!("nodes[{index}]"), "an object"));
            }
            for child in index_list(node, "children", nodes.len(), || format!("nodes[{index}]"))? {
                if parents[child].is_some() {
                    return Err(GltfError::Node { node: child, problem: "is the child of two nodes" });
                }
                parents[child] = Some(index);
            }
            locals.push(read_local(index, node)?);
        }
        let parents_first = parents_first(&parents)?;
        Ok(Self { parents, locals, parents_first })
    }

    /// Global transforms at the default transforms, `node`.
    pub fn default_globals(&self) -> Vec<DAffine3> {
        self.globals(&self.locals)
    }

    /// Global transforms, `node`, for given local ones.
    pub fn globals(&self, locals: &[Local]) -> Vec<DAffine3> {
        let mut globals = vec![DAffine3::IDENTITY; locals.len()];
        for &node in &self.parents_first {
            let local = locals[node].to_affine();
            globals[node] = self.parents[node].map_or(local, |parent| globals[parent] * local);
        }
        globals
    }

    /// The ancestors of a node, nearest first.
    pub fn ancestors(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(self.parents[node], |&node| self.parents[node])
    }
}

/// The name of a node; empty when it has none.
pub fn name_of(node: &Value) -> &str {
    node.get("name").and_then(Value::as_str).unwrap_or("")
}

/// Turns a node given by a matrix into one that can be animated.
pub fn make_animatable(document: &mut Document, node: usize, default: Trs) -> Result<(), GltfError> {
    let entry = document.entry_mut("nodes", node)?;
    if entry.get("matrix").is_some() {
        remove_key(entry, "matrix");
        entry["translation"] = json!(default.translation.to_array());
        entry["rotation"] = json!(default.rotation.to_array());
        entry["scale"] = json!(default.scale.to_array());
    }
    Ok(())
}

fn nonzero(length: f64) -> f64 {
    if length == 0.0 { 1.0 } else { length }
}

fn read_local(index: usize, node: &Value) -> Result<Local, GltfError> {
    if let Some(matrix) = numbers::<16>(index, node, "matrix")? {
        return Ok(Local::Matrix(affine_of_columns(&matrix)));
    }
    let translation = numbers(index, node, "translation")?.map_or(DVec3::ZERO, DVec3::from_array);
    let scale = numbers(index, node, "scale")?.map_or(DVec3::ONE, DVec3::from_array);
    let rotation = numbers(index, node, "rotation")?.map_or(DQuat::IDENTITY, DQuat::from_array);
    if rotation.length() < 1e-6 {
        return Err(GltfError::Node { node: index, problem: "has a rotation of zero length" });
    }
    Ok(Local::Trs(Trs { translation, rotation: rotation.normalize(), scale }))
}

fn numbers<const N: usize>(index: usize, node: &Value, key: &str) -> Result<Option<[f64; N]>, GltfError> {
    let Some(value) = node.get(key) else { return Ok(None) };
    let wrong = || GltfError::field(format!("nodes[{index}].{key}"), "a list of numbers of the right length");
    let list = value.as_array().filter(|list| list.len() == N).ok_or_else(wrong)?;
    let mut numbers = [0.0; N];
    for (number, entry) in numbers.iter_mut().zip(list) {
        // Beyond the range of f32 products overflow; no scene is that large.
        *number = entry.as_f64().filter(|v| v.abs() < 1e30).ok_or_else(wrong)?;
    }
    Ok(Some(numbers))
}

fn parents_first(parents: &[Option<usize>]) -> Result<Vec<usize>, GltfError> {
    let mut children = vec![Vec::new(); parents.len()];
    let mut order = Vec::with_capacity(parents.len());
    for (node, parent) in parents.iter().enumerate() {
        match parent {
            Some(parent) => children[*parent].push(node),
            None => order.push(node),
        }
    }
    let mut next = 0;
    while next < order.len() {
        order.extend_from_slice(&children[order[next]]);
        next += 1;
    }
    if order.len() < parents.len() {
        // Every node has at most one parent, so what is not reached from a root lies on a cycle
        // or below one.
        let mut reached = vec![false; parents.len()];
        for &node in &order {
            reached[node] = true;
        }
        let node = reached.iter().position(|&r| !r).unwrap_or(0);
        return Err(GltfError::Node { node, problem: "is its own ancestor, or hangs below such a node" });
    }
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mirrored_and_scaled_matrices_come_apart_again() {
        let trs = Trs {
            translation: DVec3::new(1.0, 2.0, 3.0),
            rotation: DQuat::from_euler(eigenskin_core::glam::EulerRot::XYZ, 0.3, -1.0, 2.0),
            scale: DVec3::new(-2.0, 0.5, 3.0),
        };
        let (back, shear) = Trs::nearest(trs.to_affine());
        assert!(shear < 1e-12);
        assert!(back.to_affine().abs_diff_eq(trs.to_affine(), 1e-12));
        let sheared = DAffine3::from_mat3(DMat3::from_cols(DVec3::X, DVec3::new(0.1, 1.0, 0.0), DVec3::Z));
        assert!(Trs::nearest(sheared).1 > 0.09);
    }

    #[test]
    fn cycles_and_second_parents_are_refused() {
        let graph = |nodes: Value| {
            let json = json!({"asset": {"version": "2.0"}, "nodes": nodes});
            NodeGraph::read(&Document { json, binary: Vec::new() })
        };
        assert!(graph(json!([{"children": [1]}, {"children": [0]}])).is_err());
        assert!(graph(json!([{"children": [0]}])).is_err());
        assert!(graph(json!([{"children": [2]}, {"children": [2]}, {}])).is_err());
        assert!(graph(json!([{"children": [9]}])).is_err());
        assert!(graph(json!([{"rotation": [0, 0, 0, 0]}])).is_err());
        assert!(graph(json!([{"translation": [0, 0]}])).is_err());
        let fine = graph(json!([{"translation": [0, 0, 1]}, {"children": [0], "scale": [2, 2, 2]}])).unwrap();
        assert_eq!(fine.default_globals()[0].translation, DVec3::new(0.0, 0.0, 2.0));
    }
}
