//! One sculpted mesh for one pose: an OBJ file, or a mesh node of a GLB.

use std::path::{Path, PathBuf};

use eigenskin_core::glam::Vec3;
use eigenskin_core::nearest_name;
use eigenskin_core::pose::Pose;
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::{BaseSkinning, EXACT_FROM, PosedSkinning};

use super::clip_examples::skinned;
use super::error::flat_shading_hint;
use super::sculpts::edges_and_diagonals;
use super::{CacheError, Correspondence, CorrespondenceError, VertexCache, file_bytes, obj};
use crate::error::ReadError;
use crate::gltf::{SculptNode, sculpts_of};
use crate::{RigFile, load_document};

/// Why a file is not a sculpt of the rig.
#[derive(Debug, thiserror::Error)]
pub enum SculptError {
    /// The GLB could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The OBJ file could not be read.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// Neither OBJ nor glTF.
    #[error("{} is not an .obj, .glb or .gltf file; export the sculpt as one of these", path.display())]
    UnknownExtension {
        /// the file
        path: PathBuf,
    },
    /// No mesh that could be a sculpt.
    #[error("{} has no mesh without a skin; export the sculpt as a mesh of its own", path.display())]
    NoMesh {
        /// the file
        path: PathBuf,
    },
    /// Several meshes that could be it.
    #[error("{} has several meshes without a skin: {}; choose one by name", path.display(), quoted(names))]
    Several {
        /// the file
        path: PathBuf,
        /// their names
        names: Vec<String>,
    },
    /// A name that no mesh has.
    #[error("{} has no mesh {name:?} without a skin{hint}", path.display())]
    NoSuchMesh {
        /// the file
        path: PathBuf,
        /// the name given
        name: String,
        /// what may have been meant, or nothing
        hint: String,
    },
    /// Another number of vertices.
    #[error("{}: the sculpt has {found} vertices, the rig has {expected}; export it from the rig's own mesh, or give the unposed mesh too, so that vertices can be matched{hint}", path.display())]
    OtherVertexCount {
        /// the file
        path: PathBuf,
        /// its vertices
        found: usize,
        /// the rig's
        expected: usize,
        /// what else there is to say
        hint: String,
    },
    /// The same number in another order.
    #[error("{}: the sculpt has its vertices in another order than the rig (vertices {} and {} are joined here, but not in the rig); keep the order when exporting, or give the unposed mesh too", path.display(), edge.0, edge.1)]
    OtherOrder {
        /// the file
        path: PathBuf,
        /// two vertices that the rig does not join, from 0
        edge: (u32, u32),
    },
    /// Nowhere near the pose.
    #[error("{}: the sculpt is {distance:.1} % of the size away from the character in this pose, vertex {vertex} most; check the pose, the vertex order, axes and unit", path.display())]
    FarAway {
        /// the file
        path: PathBuf,
        /// root of the mean square distance to plain skinning, percent of the size
        distance: f64,
        /// the vertex furthest away
        vertex: usize,
    },
    /// The unposed mesh is not the rig's.
    #[error("{}: {error}", path.display())]
    Correspondence {
        /// the file
        path: PathBuf,
        /// what is wrong
        error: Box<CorrespondenceError>,
    },
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
}

/// A sculpt as a shape of the rig.
#[derive(Debug, Clone, PartialEq)]
pub struct SculptedShape {
    /// `vertex`
    pub positions: Vec<Vec3>,
    /// vertices whose skinning collapses in this pose, so that the sculpt has no shape at rest
    pub singular: Vec<usize>,
    /// how much of the sculpt is lost there, a length
    pub largest_loss: f64,
    /// largest displacement at rest, and its vertex
    pub largest_delta: (f64, usize),
    /// what there is to say about it, one sentence each
    pub notes: Vec<String>,
}

impl SculptedShape {
    /// The character in `pose` as it was sculpted (`positions` are `vertex`), with what pulling it back
    /// through linear blending shows: where that collapses, and how far the rest shape moves.
    pub fn new(rig: &Rig, pose: &Pose, positions: Vec<Vec3>) -> Self {
        let skinning = PosedSkinning::new(BaseSkinning::LinearBlend, rig, pose);
        let (mut singular, mut largest_loss, mut largest_delta) = (Vec::new(), 0.0f64, (0.0, 0));
        for (vertex, position) in positions.iter().enumerate() {
            let (rest, posed) = (rig.mesh().positions()[vertex].as_dvec3(), position.as_dvec3());
            let near_rest = skinning.inverse_position(vertex, posed, rest);
            if skinning.conditioning(vertex).condition * EXACT_FROM > 1.0 {
                singular.push(vertex);
                largest_loss = largest_loss.max(skinning.position(vertex, near_rest).distance(posed));
            }
            let delta = near_rest.distance(rest);
            if delta > largest_delta.0 {
                largest_delta = (delta, vertex);
            }
        }
        Self { positions, singular, largest_loss, largest_delta, notes: Vec::new() }
    }
}

/// Sculpts further from plain skinning (root of the mean square, share of the size) are something else.
const FURTHEST: f64 = 0.25;

/// Reads a sculpt of the character in `pose` and pulls it back to rest to see that it can be.
///
/// `node` chooses among several meshes of a GLB. `rest` is a file with the unposed mesh, whose
/// vertices may be welded, shuffled or in other axes; without it vertices are the rig's in its order.
pub fn read_sculpt(
    file: &RigFile,
    pose: &Pose,
    path: &Path,
    node: Option<&str>,
    rest: Option<&Path>,
) -> Result<SculptedShape, SculptError> {
    let rig = file.rig();
    let sculpt = RawShape::read(file, path, node)?;
    let (positions, notes) = if let Some(rest) = rest {
        matched(file, pose, path, sculpt, rest)?
    } else {
        check_order(rig, path, &sculpt)?;
        (sculpt.positions, Vec::new())
    };
    check_near(rig, pose, path, &positions)?;
    Ok(SculptedShape { notes, ..SculptedShape::new(rig, pose, positions) })
}

/// The sculpt with its vertices matched by the unposed mesh in `rest_path`, and what there is to say.
fn matched(
    file: &RigFile,
    pose: &Pose,
    path: &Path,
    sculpt: RawShape,
    rest_path: &Path,
) -> Result<(Vec<Vec3>, Vec<String>), SculptError> {
    let rig = file.rig();
    let rest = RawShape::read(file, rest_path, None)?;
    let expected = rest.positions.len();
    if sculpt.positions.len() != expected {
        let hint = format!(" ({} has {expected})", rest_path.display());
        return Err(other_count(path, &sculpt, rig.vertex_count(), hint));
    }
    let cache = VertexCache::new(path, vec![rest.positions, sculpt.positions], Some(rest.faces), None)?;
    let found = Correspondence::find(rig, &cache, 0, &[(1, skinned(rig, pose))])
        .map_err(|error| SculptError::Correspondence { path: rest_path.into(), error: Box::new(error) })?;
    Ok((found.shape(&cache.frames[1]), found.notes))
}

/// Positions in mesh space, and faces.
struct RawShape {
    positions: Vec<Vec3>,
    faces: Vec<Vec<u32>>,
}

impl RawShape {
    fn read(file: &RigFile, path: &Path, node: Option<&str>) -> Result<Self, SculptError> {
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("").to_ascii_lowercase();
        match extension.as_str() {
            "obj" => {
                let mut cache = obj::parse_single(path, &file_bytes(path)?)?;
                Ok(Self { positions: cache.frames.swap_remove(0), faces: cache.faces.unwrap_or_default() })
            }
            "glb" | "gltf" => Self::of_node(file, path, node),
            _ => Err(SculptError::UnknownExtension { path: path.into() }),
        }
    }

    fn of_node(file: &RigFile, path: &Path, node: Option<&str>) -> Result<Self, SculptError> {
        let gltf = |error| ReadError::Gltf { path: path.into(), error: Box::new(error) };
        let document = load_document(path)?;
        // A rig without joints is a mesh node without a skin itself; a sculpt may well have its name,
        // unless there are others.
        let mut found = sculpts_of(&document, file.mesh_node_name()).map_err(gltf)?;
        if found.is_empty() {
            found = sculpts_of(&document, None).map_err(gltf)?;
        }
        let sculpt = chosen(found, path, node)?;
        let mesh_from_scene = file.layout().scene_from_mesh.inverse();
        let in_mesh = |p: &Vec3| mesh_from_scene.transform_point3(p.as_dvec3()).as_vec3();
        Ok(Self {
            positions: sculpt.positions.iter().map(in_mesh).collect(),
            faces: sculpt.triangles.iter().map(|triangle| triangle.to_vec()).collect(),
        })
    }
}

fn chosen(mut found: Vec<SculptNode>, path: &Path, node: Option<&str>) -> Result<SculptNode, SculptError> {
    let path = path.to_path_buf();
    match node {
        Some(name) => {
            let names = || found.iter().map(|sculpt| sculpt.name.as_str());
            let Some(place) = names().position(|known| known == name) else {
                let hint = nearest_name::hint(name, names());
                return Err(SculptError::NoSuchMesh { path, name: name.to_string(), hint });
            };
            Ok(found.swap_remove(place))
        }
        None if found.len() == 1 => Ok(found.swap_remove(0)),
        None if found.is_empty() => Err(SculptError::NoMesh { path }),
        None => {
            let names = found.into_iter().map(|sculpt| sculpt.name).collect();
            Err(SculptError::Several { path, names })
        }
    }
}

fn other_count(path: &Path, sculpt: &RawShape, expected: usize, more: String) -> SculptError {
    let found = sculpt.positions.len();
    let corners = sculpt.faces.iter().map(Vec::len).sum();
    let hint = more + &flat_shading_hint(found, Some(corners));
    SculptError::OtherVertexCount { path: path.into(), found, expected, hint }
}

fn check_order(rig: &Rig, path: &Path, sculpt: &RawShape) -> Result<(), SculptError> {
    if sculpt.positions.len() != rig.vertex_count() {
        return Err(other_count(path, sculpt, rig.vertex_count(), String::new()));
    }
    let allowed = edges_and_diagonals(rig.mesh().triangles());
    for face in &sculpt.faces {
        for (corner, &from) in face.iter().enumerate() {
            let to = face[(corner + 1) % face.len()];
            let edge = (from.min(to), from.max(to));
            if from != to && !allowed.contains(&edge) {
                return Err(SculptError::OtherOrder { path: path.into(), edge });
            }
        }
    }
    Ok(())
}

fn check_near(rig: &Rig, pose: &Pose, path: &Path, positions: &[Vec3]) -> Result<(), SculptError> {
    let plain = skinned(rig, pose);
    let distances: Vec<f64> = plain.iter().zip(positions).map(|(a, b)| f64::from(a.distance(*b))).collect();
    let mean = distances.iter().map(|d| d * d).sum::<f64>() / distances.len() as f64;
    let share = mean.sqrt() / rig.mesh().size();
    if share <= FURTHEST {
        return Ok(());
    }
    let vertex = (0..distances.len()).max_by(|&a, &b| distances[a].total_cmp(&distances[b])).unwrap_or(0);
    Err(SculptError::FarAway { path: path.into(), distance: 100.0 * share, vertex })
}
