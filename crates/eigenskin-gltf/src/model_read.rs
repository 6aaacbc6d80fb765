//! Reading models back.

use std::sync::Arc;

use eigenskin_core::deformers::Base;
use eigenskin_core::glam::Vec3;
use eigenskin_core::model::{DisplacementBasis, Layer, Model};
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::BaseSkinning;

use super::accessor;
use super::append;
use super::document::Document;
use super::driver_table::FeatureEntry;
use super::error::GltfError;
use super::example_set::{own_targets, read_named};
use super::model::DEFORMERS;
use super::rig::RigLayout;
use super::table::{ComponentEntry, LayerEntry, ModelEntry, Storage, Table};
use super::targets;

/// The model of a document.
pub fn read(
    document: &Document,
    layout: &RigLayout,
    rig: &Arc<Rig>,
    table: &Table,
) -> Result<Model, GltfError> {
    let entry = table.model.as_ref().ok_or_else(|| GltfError::table("it has no model"))?;
    let base = match (&entry.deformers, BaseSkinning::named(&entry.base)) {
        (Some(stack), _) if entry.base == DEFORMERS => Base::Deformers(Arc::new(stack.to_stack()?)),
        (_, Some(skinning)) => skinning.into(),
        _ => {
            return Err(GltfError::table(format!(
                "unknown base skinning {:?}; update eigenskin",
                entry.base
            )));
        }
    };
    if entry.order.as_ref().is_some_and(|order| *order != ModelEntry::order_of(rig)) {
        let problem = "another program has renumbered the vertices, and layers after skinning list them";
        return Err(GltfError::table(format!("{problem}; use the file as eigenskin wrote it")));
    }
    let own = own_targets(layout, table)?;
    let reader = Reader { document, layout, rig, own, features: &entry.features };
    let mut layers = Vec::new();
    let mut left = document.displacement_limit();
    for entry in &entry.layers {
        // A layer in targets is read as whole fields before its support is known.
        let fields = entry.components.len().saturating_mul(2 * size_of::<Vec3>() * rig.vertex_count());
        let fields = fields.saturating_add(entry.driver.centre_bytes(reader.features));
        let layer = if fields <= left { Some(reader.layer(entry)?) } else { None };
        let kept =
            layer.as_ref().map(|l| size_of::<Vec3>() * (l.basis.positions.len() + l.basis.normals.len()));
        let kept = kept.map(|kept| kept.saturating_add(entry.driver.centre_bytes(reader.features)));
        let rest = kept.and_then(|kept| left.checked_sub(kept));
        let (Some(layer), Some(rest)) = (layer, rest) else {
            return Err(GltfError::table(format!(
                "layer {:?} would take more memory than the {left} bytes left for it; fit the model again",
                entry.name
            )));
        };
        left = rest;
        layers.push(layer);
    }
    Ok(Model::new(rig.clone(), base, layers)?)
}

struct Reader<'a> {
    document: &'a Document,
    layout: &'a RigLayout,
    rig: &'a Rig,
    own: &'a [usize],
    features: &'a [FeatureEntry],
}

impl Reader<'_> {
    fn layer(&self, entry: &LayerEntry) -> Result<Layer, GltfError> {
        let stored = self.stored_support(entry)?;
        let (support, basis) = match &entry.positions {
            Storage::Targets => self.in_targets(entry, stored)?,
            Storage::Accessor { name } => {
                let support = stored.ok_or_else(|| {
                    GltfError::table(format!("the vertex list of layer {:?} is missing", entry.name))
                })?;
                let positions = self.accessor(name)?;
                let normals = match &entry.normals {
                    Storage::Accessor { name } => self.accessor(name)?,
                    _ => Vec::new(),
                };
                (support, DisplacementBasis { positions, normals })
            }
            Storage::None => {
                return Err(GltfError::table(format!("layer {:?} has no displacements", entry.name)));
            }
        };
        let layer = Layer {
            name: entry.name.clone(),
            support,
            basis,
            driver: entry.driver.to_driver(self.rig, self.features)?,
            stage: entry.stage.to_stage(self.rig)?,
        };
        if layer.support.is_empty() {
            return Err(GltfError::table(format!("layer {:?} moves no vertices", entry.name)));
        }
        Ok(layer)
    }

    /// The vertex list, if the file still has it.
    fn stored_support(&self, entry: &LayerEntry) -> Result<Option<Vec<u32>>, GltfError> {
        let named = |name: &String| append::accessor_named(self.document, name);
        match entry.support.as_ref().and_then(named) {
            Some(accessor) => {
                let support = accessor::read_indices(self.document, accessor)?;
                let valid = support.iter().all(|&v| (v as usize) < self.rig.vertex_count())
                    && support.windows(2).all(|pair| pair[0] < pair[1]);
                Ok(valid.then_some(support))
            }
            None => Ok(None),
        }
    }

    fn in_targets(
        &self,
        entry: &LayerEntry,
        stored: Option<Vec<u32>>,
    ) -> Result<(Vec<u32>, DisplacementBasis), GltfError> {
        let fields = |attribute: &str| -> Result<Vec<Vec<Vec3>>, GltfError> {
            entry.components.iter().map(|component| self.field(component, attribute)).collect()
        };
        let positions = fields("POSITION")?;
        let normals = if entry.normals == Storage::Targets { fields("NORMAL")? } else { Vec::new() };
        let moved = |vertex: usize| positions.iter().chain(&normals).any(|field| field[vertex] != Vec3::ZERO);
        // A program that reordered the vertices leaves a list that no longer fits: then the
        // displacements themselves say where they act.
        let fits = |support: &[u32]| {
            let mut listed = vec![false; self.rig.vertex_count()];
            for &vertex in support {
                listed[vertex as usize] = true;
            }
            (0..listed.len()).all(|vertex| listed[vertex] || !moved(vertex))
        };
        let support = match stored.filter(|support| fits(support)) {
            Some(support) => support,
            None => (0..self.rig.vertex_count()).filter(|&v| moved(v)).map(|v| v as u32).collect(),
        };
        let on_support = |fields: &[Vec<Vec3>]| -> Vec<Vec3> {
            fields.iter().flat_map(|field| support.iter().map(|&v| field[v as usize])).collect()
        };
        let normals = match &entry.normals {
            Storage::Accessor { name } => self.accessor(name)?,
            _ => on_support(&normals),
        };
        let basis = DisplacementBasis { positions: on_support(&positions), normals };
        Ok((support, basis))
    }

    /// One component's field, from whichever half the file has.
    fn field(&self, component: &ComponentEntry, attribute: &str) -> Result<Vec<Vec3>, GltfError> {
        let half = component.plus.map(|half| (half, 1.0)).or(component.minus.map(|half| (half, -1.0)));
        let (half, sign) = half.ok_or_else(|| GltfError::table("a component has no morph target"))?;
        let scale = sign * half.scale as f32;
        if !scale.is_normal() {
            return Err(GltfError::table("a component has the scale zero"));
        }
        let count = self.rig.vertex_count();
        let field =
            targets::read_target(self.document, self.layout, self.own, half.target, attribute, count)?;
        Ok(field.into_iter().map(|v| v / scale).collect())
    }

    fn accessor(&self, name: &str) -> Result<Vec<Vec3>, GltfError> {
        let index = super::example_set::named(self.document, name)?;
        read_named(self.document, name, accessor::count(self.document, index)?)
    }
}
