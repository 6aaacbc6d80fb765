//! The unit of a mesh that a program has quantised.
//!
//! Programs that store positions as integers put their scale and offset into the inverse bind matrices, so that
//! the mesh is shown as before: B′ = B·D, where D takes integers to what was there before. Drivers measure
//! translations in the old unit, so the table keeps the matrix of one joint, and the reader turns the mesh
//! back: p = D·q for positions, the linear part of D for displacements, B = B′·D⁻¹.

use eigenskin_core::glam::{DAffine3, DMat3, DVec3, Vec3};
use serde_json::Value;

use super::accessor;
use super::append::{self, Usage};
use super::document::Document;
use super::error::GltfError;
use super::rig::{FoundRig, RigLayout, distinct};
use super::table::Table;

/// Matrices that differ by less, relative to what they do to the mesh, are the same up to rounding.
const SAME: f64 = 1e-5;

/// What takes the file's mesh to that of the table, if they differ by scale and offset.
pub fn changed_unit(found: &FoundRig, table: &Table) -> Option<DAffine3> {
    let bind = table.bind.as_ref()?;
    let joint = found.rig.skeleton().joints().iter().find(|joint| joint.name == bind.joint)?;
    let change = bind.matrix().inverse() * joint.joint_from_rest;
    let scale = change.matrix3.x_axis.x;
    let is_uniform = (change.matrix3 - DMat3::from_diagonal(DVec3::splat(scale)))
        .to_cols_array()
        .iter()
        .all(|entry| entry.abs() <= 1e-3 * scale.abs());
    let size = found.rig.mesh().size();
    let is_same = (scale - 1.0).abs() <= SAME && change.translation.length() <= SAME * size;
    (is_uniform && scale > 0.0 && change.is_finite() && !is_same).then(|| {
        // What is left beside scale and offset is rounding.
        DAffine3 { matrix3: DMat3::from_diagonal(DVec3::splat(scale)), translation: change.translation }
    })
}

/// Turns the rig's meshes back: positions and displacements become `f32` in the unit of the table, normals and
/// tangents `f32` as they are.
pub fn turn_back(document: &mut Document, layout: &RigLayout, change: DAffine3) -> Result<(), GltfError> {
    let position = |value: Vec3| change.transform_point3(value.as_dvec3()).as_vec3();
    let displacement = |value: Vec3| change.transform_vector3(value.as_dvec3()).as_vec3();
    let (positions, targets) = geometry(document, layout)?;
    // Accessors may name the same data again and again, or none at all.
    let mut left = document.displacement_limit();
    for &accessor in positions.iter().chain(&targets) {
        let bytes = accessor::count(document, accessor)?.saturating_mul(2 * size_of::<Vec3>());
        left = left.checked_sub(bytes).ok_or_else(|| {
            GltfError::table(
                "its quantised meshes would take too much memory; use the file before quantising",
            )
        })?;
    }
    let directions =
        attributes(document, layout, &["NORMAL"])?.into_iter().chain(normal_changes(document, layout)?);
    for accessor in distinct(directions.filter(|accessor| !targets.contains(accessor))) {
        let values = accessor::read_vec3(document, accessor)?;
        replace(document, accessor, &values, false)?;
    }
    for accessor in attributes(document, layout, &["TANGENT"])? {
        let values: Vec<[f32; 4]> =
            accessor::read_vec4(document, accessor)?.into_iter().map(|value| value.to_array()).collect();
        append::vec4(document, "", &values, Usage::Vertices)?;
        append::replace_by_last(document, accessor)?;
    }
    for accessor in positions {
        let values: Vec<Vec3> = accessor::read_vec3(document, accessor)?.into_iter().map(position).collect();
        replace(document, accessor, &values, true)?;
    }
    for accessor in targets {
        let values: Vec<Vec3> =
            accessor::read_vec3(document, accessor)?.into_iter().map(displacement).collect();
        replace(document, accessor, &values, true)?;
    }
    multiply_binds(document, layout, change.inverse())?;
    if !is_quantized(document) {
        forget_extension(document);
    }
    Ok(())
}

/// The extension that allows integers where glTF alone does not.
pub const QUANTIZATION: &str = "KHR_mesh_quantization";

/// Whether some attribute needs the extension.
fn is_quantized(document: &Document) -> bool {
    let is_integer = |accessor: &Value| {
        let index = accessor.as_u64().unwrap_or(u64::MAX) as usize;
        let form = document.array("accessors").get(index).and_then(|entry| entry.get("componentType"));
        form.and_then(Value::as_u64) != Some(5126)
    };
    let needs = |attributes: &Value| {
        let named = attributes.as_object().into_iter().flatten();
        let mut plain = named.filter(|(name, _)| {
            matches!(name.as_str(), "POSITION" | "NORMAL" | "TANGENT") || name.starts_with("TEXCOORD_")
        });
        plain.any(|(_, accessor)| is_integer(accessor))
    };
    let primitives =
        document.array("meshes").iter().filter_map(|mesh| mesh.get("primitives")?.as_array()).flatten();
    let mut attributes = primitives.flat_map(|primitive| {
        let targets = primitive["targets"].as_array().into_iter().flatten();
        std::iter::once(&primitive["attributes"]).chain(targets)
    });
    attributes.any(needs)
}

fn forget_extension(document: &mut Document) {
    for key in ["extensionsUsed", "extensionsRequired"] {
        let Some(list) = document.json.get_mut(key).and_then(Value::as_array_mut) else { continue };
        list.retain(|name| name != QUANTIZATION);
        if list.is_empty() {
            append::remove_key(&mut document.json, key);
        }
    }
}

/// Accessors of vertex attributes of the rig's meshes by their names, each once.
pub fn attributes(document: &Document, layout: &RigLayout, names: &[&str]) -> Result<Vec<usize>, GltfError> {
    let mut found = Vec::new();
    for range in &layout.primitives {
        let primitive = &document.entry("meshes", range.mesh)?["primitives"][range.primitive];
        let of_name = |name: &&str| primitive["attributes"].get(*name)?.as_u64();
        found.extend(names.iter().filter_map(of_name).map(|accessor| accessor as usize));
    }
    Ok(distinct(found.into_iter()))
}

/// Accessors of the changes of normals by morph targets, each once.
pub fn normal_changes(document: &Document, layout: &RigLayout) -> Result<Vec<usize>, GltfError> {
    let mut found = Vec::new();
    for range in &layout.primitives {
        let targets = &document.entry("meshes", range.mesh)?["primitives"][range.primitive]["targets"];
        let normals =
            targets.as_array().into_iter().flatten().filter_map(|target| target.get("NORMAL")?.as_u64());
        found.extend(normals.map(|accessor| accessor as usize));
    }
    Ok(distinct(found.into_iter()))
}

/// Accessors of the positions of the rig's meshes, and of the displacements of their morph targets.
pub fn geometry(document: &Document, layout: &RigLayout) -> Result<(Vec<usize>, Vec<usize>), GltfError> {
    let (mut positions, mut targets) = (Vec::new(), Vec::new());
    let index = |holder: &Value| holder.get("POSITION").and_then(Value::as_u64).map(|index| index as usize);
    for range in &layout.primitives {
        let primitive = &document.entry("meshes", range.mesh)?["primitives"][range.primitive];
        positions.extend(index(&primitive["attributes"]));
        targets.extend(primitive["targets"].as_array().into_iter().flatten().filter_map(index));
    }
    Ok((distinct(positions.into_iter()), distinct(targets.into_iter())))
}

/// Multiplies the inverse bind matrices of the rig's skins by a transform of the mesh.
pub fn multiply_binds(
    document: &mut Document,
    layout: &RigLayout,
    change: DAffine3,
) -> Result<(), GltfError> {
    let accessor_of = |document: &Document, skin: usize| {
        let accessor = document.array("skins").get(skin)?.get("inverseBindMatrices")?.as_u64()?;
        usize::try_from(accessor).ok()
    };
    let skins = document.array("skins").len();
    let shared: Vec<Option<usize>> = (0..skins)
        .filter(|skin| !layout.skins.contains(skin))
        .map(|skin| accessor_of(document, skin))
        .collect();
    let mut done = Vec::new();
    for &skin in &layout.skins {
        let accessor = accessor_of(document, skin);
        if accessor.is_some() && done.contains(&accessor) {
            continue;
        }
        let binds = match accessor {
            Some(accessor) => accessor::read_transforms(document, accessor)?,
            None => vec![DAffine3::IDENTITY; layout.joint_nodes.len()],
        };
        let binds: Vec<DAffine3> = binds.into_iter().map(|bind| bind * change).collect();
        let appended = append::transforms(document, "inverse bind matrices", &binds)?;
        match accessor.filter(|accessor| !shared.contains(&Some(*accessor))) {
            Some(accessor) => append::replace_by_last(document, accessor)?,
            None => document.entry_mut("skins", skin)?["inverseBindMatrices"] = appended.into(),
        }
        done.push(accessor);
    }
    Ok(())
}

fn replace(document: &mut Document, accessor: usize, values: &[Vec3], bounds: bool) -> Result<(), GltfError> {
    append::vec3(document, "", values, Usage::Vertices, bounds)?;
    append::replace_by_last(document, accessor)
}
