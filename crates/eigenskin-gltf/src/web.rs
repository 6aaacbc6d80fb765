//! The profile `web`: positions, normals, skin weights and keyed weights as integers
//! (`KHR_mesh_quantization`).
//!
//! Positions and displacements of all meshes of the rig are whole multiples of one step, 1/65534 of the rig's
//! longest extent, from its middle; scales of targets are chosen to fit (see [`halves`](super::halves)). Step
//! and origin go into the inverse bind matrices, so that the skin is shown where it was: B′ = B·D, see
//! [`mesh_space`](super::mesh_space). Normals are bytes, skin weights and keys 16 bits.

use eigenskin_core::glam::{DAffine3, DMat3, DVec3, Vec3};
use eigenskin_core::rig::Rig;
use serde_json::Value;

use super::accessor;
use super::append::{self, OWN};
use super::document::Document;
use super::error::GltfError;
use super::halves::NumberRange;
use super::mesh_space::{self, QUANTIZATION};
use super::repack;
use super::rig::{RigLayout, distinct};
use super::sparse::{Field, Form, SparseFields};

/// Why a rig cannot be written so; none when it can.
pub fn obstacle(document: &Document, layout: &RigLayout) -> Option<&'static str> {
    if layout.skins.is_empty() {
        return Some("it has no skin whose bind matrices could hold their scale");
    }
    let shows = |node: &Value| node.get("mesh").and_then(Value::as_u64).map(|mesh| mesh as usize);
    let mut nodes = document.array("nodes").iter().enumerate();
    let elsewhere = nodes.any(|(index, node)| {
        shows(node).is_some_and(|mesh| layout.meshes.contains(&mesh)) && !layout.mesh_nodes.contains(&index)
    });
    elsewhere.then_some("a node with another skin or none shows its mesh too")
}

/// What numbers of targets may be, so that the step follows from the mesh alone.
pub fn number_range(rig: &Rig) -> NumberRange {
    let (low, high) = bounds(rig.mesh().positions());
    NumberRange { position: (0.5 * (high - low).max_element()) as f32, normal: 1.0 }
}

/// Rewrites a model's document that has no [`obstacle`].
pub fn quantize(document: &mut Document, layout: &RigLayout) -> Result<(), GltfError> {
    let (positions, displacements) = mesh_space::geometry(document, layout)?;
    let (origin, step) = grid(document, &positions, &displacements)?;
    for accessor in positions {
        let values = accessor::read_vec3(document, accessor)?;
        let steps: Vec<Vec3> =
            values.iter().map(|value| ((value.as_dvec3() - origin) / step).round().as_vec3()).collect();
        append::vec3_as(document, "", &steps, Form::Steps, true)?;
        append::replace_by_last(document, accessor)?;
    }
    let unit_bytes = |value: f32| (value.clamp(-1.0, 1.0) * 127.0).round();
    for accessor in mesh_space::attributes(document, layout, &["NORMAL"])? {
        let values = accessor::read_vec3(document, accessor)?;
        let bytes: Vec<Vec3> = values.into_iter().map(|value| value.map(unit_bytes)).collect();
        append::vec3_as(document, "", &bytes, Form::UnitBytes, false)?;
        append::replace_by_last(document, accessor)?;
    }
    for accessor in mesh_space::attributes(document, layout, &["TANGENT"])? {
        let values = accessor::read_vec4(document, accessor)?;
        let bytes: Vec<[f32; 4]> = values.into_iter().map(|value| value.to_array().map(unit_bytes)).collect();
        append::vec4_as(document, "", &bytes, Form::UnitBytes)?;
        append::replace_by_last(document, accessor)?;
    }
    let mut fields = SparseFields::new(&format!("{OWN}target"));
    for accessor in displacements {
        let steps = |value: Vec3| (value.as_dvec3() / step).round().as_vec3();
        replace_field(document, &mut fields, accessor, Form::Steps, true, steps)?;
    }
    for accessor in mesh_space::normal_changes(document, layout)? {
        let bytes = |value: Vec3| value.map(unit_bytes);
        replace_field(document, &mut fields, accessor, Form::UnitBytes, false, bytes)?;
    }
    fields.finish(document)?;
    quantize_skin_weights(document, layout)?;
    quantize_keys(document, layout)?;
    let change = DAffine3 { matrix3: DMat3::from_diagonal(DVec3::splat(step)), translation: origin };
    mesh_space::multiply_binds(document, layout, change)?;
    for key in ["extensionsUsed", "extensionsRequired"] {
        let list = document.array_mut(key)?;
        if !list.iter().any(|name| name == QUANTIZATION) {
            list.push(QUANTIZATION.into());
        }
    }
    repack::drop_unused_views(document)
}

/// The origin and the step of all positions and displacements.
fn grid(
    document: &Document,
    positions: &[usize],
    displacements: &[usize],
) -> Result<(DVec3, f64), GltfError> {
    let (mut low, mut high) = bounds(&[]);
    for &accessor in positions {
        let own = bounds(&accessor::read_vec3(document, accessor)?);
        (low, high) = (low.min(own.0), high.max(own.1));
    }
    let origin = 0.5 * (low + high);
    let mut reach = (high - origin).max_element();
    for &accessor in displacements {
        let furthest = |value: Vec3| f64::from(value.abs().max_element());
        reach = accessor::read_vec3(document, accessor)?.into_iter().map(furthest).fold(reach, f64::max);
    }
    Ok((origin, if reach > 0.0 { reach / 32767.0 } else { 1.0 }))
}

/// The smallest and largest coordinates.
fn bounds(positions: &[Vec3]) -> (DVec3, DVec3) {
    positions
        .iter()
        .map(|position| position.as_dvec3())
        .fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(low, high), position| {
            (low.min(position), high.max(position))
        })
}

/// Puts whole numbers in place of a field of a morph target. It lists the elements that it did, so that fields
/// go on sharing their lists.
fn replace_field(
    document: &mut Document,
    fields: &mut SparseFields,
    accessor: usize,
    form: Form,
    bounds: bool,
    whole: impl Fn(Vec3) -> Vec3,
) -> Result<(), GltfError> {
    let values: Vec<Vec3> = accessor::read_vec3(document, accessor)?.into_iter().map(whole).collect();
    let listed = accessor::sparse_elements(document, accessor)?;
    let moved = || (0..values.len() as u32).filter(|&element| values[element as usize] != Vec3::ZERO);
    let mut elements = listed.unwrap_or_else(|| moved().collect());
    if elements.is_empty() {
        elements.push(0);
    }
    let entries: Vec<(u32, Vec3)> =
        elements.into_iter().map(|element| (element, values[element as usize])).collect();
    fields.replace(document, accessor, form, Field { count: values.len(), entries: &entries, bounds })
}

/// Skin weights as shares of 65535 that still sum to one: of what rounding leaves over, the heaviest weight of a
/// vertex takes all.
fn quantize_skin_weights(document: &mut Document, layout: &RigLayout) -> Result<(), GltfError> {
    let mut done: Vec<Vec<usize>> = Vec::new();
    for range in &layout.primitives {
        let primitive = &document.entry("meshes", range.mesh)?["primitives"][range.primitive];
        let set = |set: usize| primitive["attributes"].get(format!("WEIGHTS_{set}"))?.as_u64();
        let accessors: Vec<usize> = (0..).map_while(set).map(|accessor| accessor as usize).collect();
        // Sets that another primitive has in another company would no longer sum to one.
        if accessors.is_empty() || done.iter().flatten().any(|known| accessors.contains(known)) {
            continue;
        }
        let mut sets = Vec::with_capacity(accessors.len());
        for &accessor in &accessors {
            sets.push(accessor::read_weights(document, accessor)?);
        }
        let count = sets.iter().map(Vec::len).min().unwrap_or(0);
        let mut shares = vec![vec![0u16; 4 * count]; sets.len()];
        for vertex in 0..count {
            let weights: Vec<f32> = sets.iter().flat_map(|set| set[vertex]).collect();
            for (slot, share) in whole_shares(&weights).into_iter().enumerate() {
                shares[slot / 4][4 * vertex + slot % 4] = share;
            }
        }
        for (&accessor, shares) in accessors.iter().zip(&shares) {
            append::shares(document, "", shares)?;
            append::replace_by_last(document, accessor)?;
        }
        done.push(accessors);
    }
    Ok(())
}

/// Shares of 65535 that sum to it; all zero for weights that are.
fn whole_shares(weights: &[f32]) -> Vec<u16> {
    let sum: f32 = weights.iter().sum();
    if !(sum > 0.0 && sum.is_finite()) {
        return vec![0; weights.len()];
    }
    // A joint that is listed has some weight.
    let share = |weight: f32| (65535.0 * f64::from(weight) / f64::from(sum)).round().max(1.0) as i64;
    let mut shares: Vec<i64> =
        weights.iter().map(|&weight| if weight > 0.0 { share(weight) } else { 0 }).collect();
    let left_over = 65535 - shares.iter().sum::<i64>();
    // The first of equals stays the heaviest: rigid skinning goes by it.
    let heaviest = if left_over > 0 { shares.iter_mut().rev().max() } else { shares.iter_mut().max() };
    if let Some(heaviest) = heaviest {
        *heaviest += left_over;
    }
    shares.into_iter().map(|share| share.clamp(0, 65535) as u16).collect()
}

/// Keyed weights as shares of 32767, where they are between minus one and one.
fn quantize_keys(document: &mut Document, layout: &RigLayout) -> Result<(), GltfError> {
    let mut outputs = Vec::new();
    for animation in document.array("animations") {
        let channels = animation["channels"].as_array().into_iter().flatten();
        for channel in channels {
            let target = &channel["target"];
            let node = target["node"].as_u64().map_or(usize::MAX, |node| node as usize);
            if target["path"] == "weights" && layout.mesh_nodes.contains(&node) {
                let sampler = channel["sampler"].as_u64().map_or(usize::MAX, |sampler| sampler as usize);
                outputs
                    .extend(animation["samplers"][sampler]["output"].as_u64().map(|output| output as usize));
            }
        }
    }
    for output in distinct(outputs.into_iter()) {
        let values = accessor::read(document, output, &["SCALAR"])?.values;
        if values.iter().all(|value| (-1.0..=1.0).contains(value)) {
            let shares: Vec<i16> = values.iter().map(|value| (32767.0 * value).round() as i16).collect();
            append::signed_shares(document, "", &shares)?;
            append::replace_by_last(document, output)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_sum_to_one() {
        for weights in
            [&[0.5, 0.5][..], &[1.0 / 3.0; 3], &[0.1, 0.2, 0.3, 0.4], &[1e-9, 1.0], &[0.9], &[1.0 / 7.0; 7]]
        {
            let shares = whole_shares(weights);
            assert_eq!(shares.iter().map(|&share| u64::from(share)).sum::<u64>(), 65535, "{weights:?}");
            let sum: f32 = weights.iter().sum();
            for (share, weight) in shares.iter().zip(weights) {
                let off = (f64::from(*share) / 65535.0 - f64::from(weight / sum)).abs();
                assert!(off < 4.0 / 65535.0, "{weights:?} {off}");
            }
        }
        assert_eq!(whole_shares(&[0.5, 0.5]), [32768, 32767]);
        assert_eq!(whole_shares(&[1e-9, 1.0, 0.0]), [1, 65534, 0]);
        assert_eq!(whole_shares(&[0.0, 0.0]), [0, 0]);
    }
}
