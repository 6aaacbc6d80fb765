//! Examples from what artists keep in a glTF file: sculpts as nodes of their own, or shape keys.
//! Their names say which key of a clip they belong to.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use eigenskin_core::examples::{Example, ExampleSet, ExamplesError};
use eigenskin_core::glam::{DVec3, Vec3};
use eigenskin_core::pose::Pose;
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::{BaseSkinning, PosedSkinning};

use super::clip_examples::skinned;
use super::error::flat_shading_hint;
use super::named_poses::{self, NamedKey, NamedPosesError};
use super::{CacheError, Correspondence, CorrespondenceError, VertexCache};
use crate::error::ReadError;
use crate::gltf::{SculptNode, sculpts_of};
use crate::{ReadOptions, RigFile, load_document, read_rig};

/// Why a glTF file does not make examples.
#[derive(Debug, thiserror::Error)]
pub enum SculptsError {
    /// The file could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// There are none.
    #[error("{} has no {what}; {fix}", path.display())]
    Nothing {
        /// the file
        path: PathBuf,
        /// "sculpts" or "shape keys"
        what: &'static str,
        /// what to do
        fix: &'static str,
    },
    /// The names do not say poses.
    #[error("{}: {error}", path.display())]
    Names {
        /// the file
        path: PathBuf,
        /// what is wrong
        error: Box<NamedPosesError>,
    },
    /// A sculpt with other vertices than the rest shape.
    #[error("{}: sculpt {name:?} has {found} vertices, {whose} has {expected}; {fix}{hint}", path.display())]
    OtherVertexCount {
        /// the file
        path: PathBuf,
        /// the sculpt at fault
        name: String,
        /// its vertices
        found: usize,
        /// "the rig" or "sculpt rest"
        whose: &'static str,
        /// its vertices
        expected: usize,
        /// what to do
        fix: &'static str,
        /// what else there is to say
        hint: String,
    },
    /// A sculpt whose vertices come in another order.
    #[error("{}: sculpt {name:?} joins its vertices otherwise than {whose}, so they come in another order; {fix}{hint}", path.display())]
    OtherOrder {
        /// the file
        path: PathBuf,
        /// the sculpt at fault
        name: String,
        /// "the rig" or "sculpt rest"
        whose: &'static str,
        /// what to do
        fix: &'static str,
        /// what else there is to say
        hint: String,
    },
    /// The shapes are damaged.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The shapes are of another mesh.
    #[error("{}: {error}", path.display())]
    Correspondence {
        /// the file
        path: PathBuf,
        /// what is wrong
        error: Box<CorrespondenceError>,
    },
    /// The examples were refused.
    #[error("{}: {error}", path.display())]
    Examples {
        /// the file
        path: PathBuf,
        /// what is wrong
        error: Box<ExamplesError>,
    },
}

/// A sculpt of this name is the rest shape.
const REST: &str = "rest";
/// What to do about sculpts that are not of one mesh.
const ONE_MESH: &str = "make all sculpts from one mesh, shade them smooth and export them together";
/// What to do about sculpts with other vertices than the rig.
const ADD_REST: &str = "add the unposed mesh as a sculpt named \"rest\", so that vertices can be matched";

/// Examples from the sculpts in a GLB or .gltf: mesh nodes without a skin, each the posed character
/// as it stands in the scene, named after a pose of `file` (see `vertex_cache/named_poses.rs`); and what
/// there is to say about it.
///
/// Vertices are matched by the sculpt named "rest". Without one they must be the rig's, in its order.
pub fn examples_from_sculpts(
    file: &RigFile,
    clip: Option<&str>,
    path: &Path,
) -> Result<(ExampleSet, Vec<String>), SculptsError> {
    let rig = file.rig();
    let gltf = |error| ReadError::Gltf { path: path.into(), error: Box::new(error) };
    let document = load_document(path)?;
    // A rig without joints is a mesh node without a skin itself.
    let mut sculpts = sculpts_of(&document, file.mesh_node_name()).map_err(gltf)?;
    let wrong_names = |error| SculptsError::Names { path: path.into(), error: Box::new(error) };
    let is_rest = |sculpt: &SculptNode| sculpt.name.eq_ignore_ascii_case(REST);
    let rest = sculpts.iter().position(is_rest).map(|index| sculpts.remove(index));
    if rest.is_some() && sculpts.iter().any(is_rest) {
        return Err(wrong_names(NamedPosesError::SameName { what: "sculpts", name: REST.into() }));
    }
    if sculpts.is_empty() {
        let fix = "add the sculpted shapes as mesh nodes without a skin, named after their poses";
        return Err(SculptsError::Nothing { path: path.into(), what: "sculpts", fix });
    }
    let names: Vec<String> = sculpts.iter().map(|sculpt| sculpt.name.clone()).collect();
    let keys = named_poses::find(file, clip, &names, "sculpts", false).map_err(wrong_names)?;
    check_order(rig, rest.as_ref(), &sculpts, path)?;

    let mesh_from_scene = file.layout().scene_from_mesh.inverse();
    let in_mesh = |positions: &[Vec3]| -> Vec<Vec3> {
        positions.iter().map(|p| mesh_from_scene.transform_point3(p.as_dvec3()).as_vec3()).collect()
    };
    let (rest_frame, triangles) = match &rest {
        Some(rest) => (in_mesh(&rest.positions), rest.triangles.as_slice()),
        None => (rig.mesh().positions().to_vec(), rig.mesh().triangles()),
    };
    let frames = std::iter::once(rest_frame).chain(sculpts.iter().map(|s| in_mesh(&s.positions))).collect();
    let faces = triangles.iter().map(|triangle| triangle.to_vec()).collect();
    let cache = VertexCache::new(path, frames, Some(faces), None)?;
    let expected: Vec<(usize, Vec<Vec3>)> =
        keys.iter().map(|key| (key.shape + 1, skinned(rig, &key.pose))).collect();
    let correspondence = find_correspondence(rig, &cache, &expected)?;
    let shapes: Vec<Vec<Vec3>> =
        keys.iter().map(|key| correspondence.shape(&cache.frames[key.shape + 1])).collect();
    let mut notes = correspondence.notes;
    for (key, shape) in keys.iter().zip(&shapes) {
        notes.extend(doubt(file, key, &names[key.shape], shape));
    }
    Ok((examples(rig, path, &names, keys, shapes)?, notes))
}

/// Examples from the shape keys in a GLB or .gltf: morph targets of the character's mesh, named
/// after a pose of `file` (see `vertex_cache/named_poses.rs`); and what there is to say about it.
///
/// As every viewer shows them, shape keys displace the mesh at rest, before it is posed.
pub fn examples_from_shape_keys(
    file: &RigFile,
    clip: Option<&str>,
    path: &Path,
    options: &ReadOptions,
) -> Result<(ExampleSet, Vec<String>), SculptsError> {
    let rig = file.rig();
    let source = read_rig(path, options)?;
    let rest = source.rig().mesh().positions();
    let shape_keys =
        source.shape_keys().map_err(|error| ReadError::Gltf { path: path.into(), error: Box::new(error) })?;
    if shape_keys.is_empty() {
        let fix = "add morph targets with names (extras.targetNames of the mesh), each named after its pose";
        return Err(SculptsError::Nothing { path: path.into(), what: "named shape keys", fix });
    }
    let names: Vec<String> = shape_keys.iter().map(|key| key.name.clone()).collect();
    let keys = named_poses::find(file, clip, &names, "shape keys", true)
        .map_err(|error| SculptsError::Names { path: path.into(), error: Box::new(error) })?;
    let displaced = |field: &[Vec3]| rest.iter().zip(field).map(|(p, d)| *p + *d).collect();
    let frames = std::iter::once(rest.to_vec()).chain(shape_keys.iter().map(|k| displaced(&k.displacements)));
    let faces = source.rig().mesh().triangles().iter().map(|triangle| triangle.to_vec()).collect();
    let cache = VertexCache::new(path, frames.collect(), Some(faces), None)?;
    // Before they are posed, all shapes are near the rest shape.
    let expected: Vec<(usize, Vec<Vec3>)> =
        keys.iter().map(|key| (key.shape + 1, rig.mesh().positions().to_vec())).collect();
    let correspondence = find_correspondence(rig, &cache, &expected)?;
    let shapes = keys
        .iter()
        .map(|key| {
            let skinning = PosedSkinning::new(BaseSkinning::LinearBlend, rig, &key.pose);
            let sculpted = correspondence.shape(&cache.frames[key.shape + 1]);
            let posed = |(vertex, p): (usize, &Vec3)| skinning.position(vertex, p.as_dvec3()).as_vec3();
            sculpted.iter().enumerate().map(posed).collect()
        })
        .collect();
    let mut notes = correspondence.notes;
    let used: BTreeSet<usize> = keys.iter().map(|key| key.shape).collect();
    let others: Vec<String> =
        (0..names.len()).filter(|key| !used.contains(key)).map(|key| format!("{:?}", names[key])).collect();
    if !others.is_empty() {
        notes.push(format!("shape keys that name no pose are left out: {}", others.join(", ")));
    }
    Ok((examples(rig, path, &names, keys, shapes)?, notes))
}

fn find_correspondence(
    rig: &Rig,
    cache: &VertexCache,
    expected: &[(usize, Vec<Vec3>)],
) -> Result<Correspondence, SculptsError> {
    Correspondence::find(rig, cache, 0, expected)
        .map_err(|error| SculptsError::Correspondence { path: cache.source.clone(), error: Box::new(error) })
}

fn examples(
    rig: &std::sync::Arc<Rig>,
    path: &Path,
    names: &[String],
    keys: Vec<NamedKey>,
    shapes: Vec<Vec<Vec3>>,
) -> Result<ExampleSet, SculptsError> {
    let example = |(key, positions): (NamedKey, Vec<Vec3>)| Example {
        name: names[key.shape].clone(),
        pose: key.pose,
        positions,
        normals: None,
        inverted: None,
    };
    ExampleSet::new(rig.clone(), keys.into_iter().zip(shapes).map(example).collect())
        .map_err(|error| SculptsError::Examples { path: path.into(), error: Box::new(error) })
}

/// Checks that all sculpts have the vertices of the rest shape in its order, by what their
/// triangles join. The diagonal of a quad may be the other one: programs choose it by the pose.
fn check_order(
    rig: &Rig,
    rest: Option<&SculptNode>,
    sculpts: &[SculptNode],
    path: &Path,
) -> Result<(), SculptsError> {
    let (whose, expected, triangles, fix) = match rest {
        Some(rest) => ("sculpt rest", rest.positions.len(), rest.triangles.as_slice(), ONE_MESH),
        None => ("the rig", rig.vertex_count(), rig.mesh().triangles(), ADD_REST),
    };
    let allowed = edges_and_diagonals(triangles);
    for sculpt in sculpts {
        let (name, found) = (sculpt.name.clone(), sculpt.positions.len());
        let hint = flat_shading_hint(found, Some(3 * sculpt.triangles.len()));
        // All sculpts alike, but not like the rig, need a rest shape; a single odd one is at fault.
        let odd = sculpts.iter().any(|other| other.positions.len() != found);
        let fix = if odd { ONE_MESH } else { fix };
        if found != expected {
            let path = path.into();
            return Err(SculptsError::OtherVertexCount { path, name, found, whose, expected, fix, hint });
        }
        let same = sculpt.triangles.len() == triangles.len()
            && sculpt.triangles.iter().flat_map(edges).all(|edge| allowed.contains(&edge));
        if !same {
            return Err(SculptsError::OtherOrder { path: path.into(), name, whose, fix, hint });
        }
    }
    Ok(())
}

fn edges(&[a, b, c]: &[u32; 3]) -> [(u32, u32); 3] {
    [(a, b), (b, c), (c, a)].map(|(from, to)| (from.min(to), from.max(to)))
}

/// All edges, and the other diagonal of each pair of neighbouring triangles.
pub(super) fn edges_and_diagonals(triangles: &[[u32; 3]]) -> BTreeSet<(u32, u32)> {
    let mut sides: Vec<((u32, u32), u32)> = triangles
        .iter()
        .flat_map(|triangle| edges(triangle).into_iter().zip([triangle[2], triangle[0], triangle[1]]))
        .collect();
    sides.sort_unstable();
    let diagonals = sides.windows(2).filter(|pair| pair[0].0 == pair[1].0).map(|pair| {
        let (a, b) = (pair[0].1, pair[1].1);
        (a.min(b), a.max(b))
    });
    let diagonals: Vec<(u32, u32)> = diagonals.collect();
    sides.into_iter().map(|(edge, _)| edge).chain(diagonals).collect()
}

/// Vertices and keys that are compared at most: enough to see which key a sculpt belongs to.
const COMPARED_VERTICES: usize = 1000;
const COMPARED_KEYS: usize = 300;

/// A sentence when a sculpt is much nearer to plain skinning at another key than at its own: counting
/// frames from one is the usual reason.
fn doubt(file: &RigFile, named: &NamedKey, name: &str, shape: &[Vec3]) -> Option<String> {
    let rig = file.rig();
    let clip = &file.clips()[named.clip];
    let step = shape.len().div_ceil(COMPARED_VERTICES).max(1);
    let distance = |pose: &Pose| {
        let skinning = PosedSkinning::new(BaseSkinning::LinearBlend, rig, pose);
        let off = |vertex: usize| -> DVec3 {
            skinning.position(vertex, rig.mesh().positions()[vertex].as_dvec3()) - shape[vertex].as_dvec3()
        };
        (0..shape.len()).step_by(step).map(|vertex| off(vertex).length_squared()).sum::<f64>().sqrt()
    };
    let own = distance(&named.pose);
    let times = clip.key_times(file.layout());
    let from = named.key.saturating_sub(COMPARED_KEYS / 2);
    let (key, nearest) = (from..times.len().min(from + COMPARED_KEYS))
        .map(|key| (key, distance(&file.sample(clip, times[key]))))
        .min_by(|a, b| a.1.total_cmp(&b.1))?;
    let negligible = 1e-4 * rig.mesh().size() * (shape.len().div_ceil(step) as f64).sqrt();
    (nearest < 0.5 * own && own > negligible).then(|| {
        format!(
            "sculpt {name:?} is at key {} of clip {:?}, but looks like key {key}: keys are counted from 0",
            named.key, clip.name
        )
    })
}
