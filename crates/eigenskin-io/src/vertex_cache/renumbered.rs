//! Examples of a rig whose vertices another program has put into another order.

use std::path::PathBuf;
use std::sync::Arc;

use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::glam::Vec3;
use eigenskin_core::rig::Rig;
use eigenskin_core::weights::{Influence, SkinWeights};

use super::{Correspondence, VertexCache};

/// Rest shapes that differ by less, in sizes, are of one rig: programs round positions to 14 bits and more.
const SAME_RIG: f64 = 1e-4;

/// The same examples with their vertices in the order of `rig`, matched by the rest shape as those of a cache
/// are; joints stay those of the set. None when the rest shapes are not the same. Also what there is to say.
pub fn renumbered(set: &ExampleSet, rig: &Rig) -> Option<(ExampleSet, Vec<String>)> {
    let own = set.rig();
    let cache = VertexCache {
        frames: std::iter::once(own.mesh().positions())
            .chain(set.examples().iter().map(|example| &example.positions[..]))
            .map(<[Vec3]>::to_vec)
            .collect(),
        faces: Some(own.mesh().triangles().iter().map(|corners| corners.to_vec()).collect()),
        names: None,
        source: PathBuf::new(),
    };
    let found = Correspondence::find(rig, &cache, 0, &[]).ok()?;
    // A set that lies elsewhere, or in another unit, is not of the same rig.
    if found.axes_and_unit.describe().is_some() || found.drift > SAME_RIG {
        return None;
    }
    let ordered =
        |field: &[Vec3]| -> Vec<Vec3> { found.cache_vertex.iter().map(|&v| field[v as usize]).collect() };
    let influences: Vec<Vec<Influence>> =
        found.cache_vertex.iter().map(|&vertex| own.weights().of(vertex as usize).to_vec()).collect();
    let (weights, _) = SkinWeights::new(own.skeleton().joint_count(), influences).ok()?;
    let moved =
        Rig::new(rig.mesh().clone(), own.skeleton().clone(), weights, own.controls().to_vec()).ok()?;
    let examples = set.examples().iter().map(|example| Example {
        positions: ordered(&example.positions),
        normals: example.normals.as_deref().map(ordered),
        // It is of the old order.
        inverted: None,
        ..example.clone()
    });
    let set = ExampleSet::new(Arc::new(moved), examples.collect()).ok()?;
    let mut notes =
        vec!["the vertices are in another order; they were matched by the rest shape".to_string()];
    notes.extend(found.notes);
    Some((set, notes))
}
