//! Examples under edit: what does not change from one fit to the next is kept.

use std::sync::Arc;

use rayon::prelude::*;

use super::deltas::{DeltaParams, ExampleDelta, RestShape, example_delta};
use super::layers::{LayerInput, fit_layers};
use super::prototypes::Prototypes;
use super::spaces::{check_features, measure_spaces, pose_spaces};
use super::{DeltaSpace, ExampleReport, PsdError, PsdFit, PsdInterpolation, PsdParams};
use crate::numeric::Matrix;
use eigenskin_core::examples::{
    Example, ExampleSet, ExamplesError, MergedExample, SAME_SHAPE, check_example, distinct_examples,
};
use eigenskin_core::model::{Frame, Model, ModelError};
use eigenskin_core::mover::Mover;
use eigenskin_core::rig::Rig;

/// Examples that are changed and fitted again. The delta of every example and the inner products
/// that automatic widths look at are kept, so that one change costs one delta.
#[derive(Debug, Clone)]
pub struct PsdSession {
    rig: Arc<Rig>,
    params: PsdParams,
    rest: RestShape,
    prototypes: Prototypes,
    entries: Vec<Entry>,
}

#[derive(Debug, Clone)]
struct Entry {
    example: Example,
    muted: bool,
    /// what it moves, rising
    moved: Vec<Mover>,
    delta: ExampleDelta,
    /// `prototype × earlier entry or itself`: inner products of the deltas
    products: Vec<Vec<f64>>,
}

impl PsdSession {
    /// Takes in the examples of a set.
    pub fn new(examples: &ExampleSet, params: PsdParams) -> Result<Self, PsdError> {
        let rig = examples.rig().clone();
        check_params(&rig, &params)?;
        let rest = RestShape::new(&rig);
        let prototypes = match &params.prototypes {
            Some(prototypes) => Prototypes::find(&rig, prototypes),
            None => Prototypes::one(&rig),
        };
        let mut session = Self { rig, params, rest, prototypes, entries: Vec::new() };
        session.entries =
            examples.examples().par_iter().map(|e| session.entry(e.clone())).collect::<Result<_, _>>()?;
        session.update_products(None);
        Ok(session)
    }

    /// The rig.
    pub fn rig(&self) -> &Arc<Rig> {
        &self.rig
    }

    /// How it fits.
    pub fn params(&self) -> &PsdParams {
        &self.params
    }

    /// Fits otherwise from now on. Deltas are taken again only if they depend on what changed.
    pub fn set_params(&mut self, params: PsdParams) -> Result<(), PsdError> {
        let same_deltas = delta_params(&self.rig, &params) == delta_params(&self.rig, &self.params);
        if same_deltas && params.prototypes == self.params.prototypes {
            check_params(&self.rig, &params)?;
            self.params = params;
            return Ok(());
        }
        let examples = self.entries.iter().map(|entry| entry.example.clone()).collect();
        let mut session = Self::new(&ExampleSet::new(self.rig.clone(), examples)?, params)?;
        for (new, old) in session.entries.iter_mut().zip(&self.entries) {
            new.muted = old.muted;
        }
        *self = session;
        Ok(())
    }

    /// The examples, each with whether it is muted.
    pub fn examples(&self) -> impl Iterator<Item = (&Example, bool)> {
        self.entries.iter().map(|entry| (&entry.example, entry.muted))
    }

    /// Adds an example, or replaces the one of the same name; a replaced one stays muted if it was.
    pub fn put(&mut self, example: Example) -> Result<(), PsdError> {
        check_example(&self.rig, &example)?;
        let entry = self.entry(example)?;
        let place = self.entries.iter().position(|e| e.example.name == entry.example.name);
        let changed = if let Some(place) = place {
            self.entries[place] = Entry { muted: self.entries[place].muted, ..entry };
            place
        } else {
            self.entries.push(entry);
            self.entries.len() - 1
        };
        self.update_products(Some(changed));
        Ok(())
    }

    /// Takes an example out, and its radius.
    pub fn remove(&mut self, name: &str) -> Result<Example, PsdError> {
        let place = self.place(name)?;
        for later in &mut self.entries[place + 1..] {
            for products in &mut later.products {
                products.remove(place);
            }
        }
        self.params.radii.remove(name);
        Ok(self.entries.remove(place).example)
    }

    /// Gives an example another name, which must be free.
    pub fn rename(&mut self, from: &str, to: &str) -> Result<(), PsdError> {
        let place = self.place(from)?;
        let taken = self.entries.iter().enumerate().any(|(e, entry)| e != place && entry.example.name == to);
        if to.is_empty() || taken {
            return Err(ExamplesError::Name { index: place, name: to.to_string() }.into());
        }
        self.entries[place].example.name = to.to_string();
        if let Some(radius) = self.params.radii.remove(from) {
            self.params.radii.insert(to.to_string(), radius);
        }
        Ok(())
    }

    /// Leaves an example out of the fits to come, or takes it back in.
    pub fn mute(&mut self, name: &str, muted: bool) -> Result<(), PsdError> {
        let place = self.place(name)?;
        self.entries[place].muted = muted;
        Ok(())
    }

    /// Fits the examples that are not muted.
    pub fn fit(&self) -> Result<PsdFit, PsdError> {
        for (example, &radius) in &self.params.radii {
            self.place(example)?;
            if !(radius.is_finite() && radius > 0.0) {
                return Err(PsdError::Radius { example: example.clone(), radius });
            }
        }
        let (used, merged) = self.used_entries()?;
        let names: Vec<&str> = used.iter().map(|&e| self.entries[e].example.name.as_str()).collect();
        let poses: Vec<_> = used.iter().map(|&e| &self.entries[e].example.pose).collect();
        let moved: Vec<_> = used.iter().map(|&e| self.entries[e].moved.clone()).collect();
        let deltas: Vec<_> = used.iter().map(|&e| &self.entries[e].delta).collect();
        let spaces = pose_spaces(&self.rig, &moved, &self.params.order)?;
        let compromise = self.allows_compromise();
        let spaces = measure_spaces(&self.rig, &names, &poses, spaces, &self.params.features, compromise)?;
        let grams: Vec<Matrix> = (0..self.prototypes.patterns.len())
            .map(|prototype| {
                Matrix::from_fn(used.len(), used.len(), |a, b| {
                    let (later, earlier) = (used[a].max(used[b]), used[a].min(used[b]));
                    self.entries[later].products[prototype][earlier]
                })
            })
            .collect();
        let input = LayerInput {
            rig: &self.rig,
            params: &self.params,
            names: &names,
            grams: &grams,
            prototypes: &self.prototypes,
            spaces: &spaces,
        };
        let (layers, reports) = fit_layers(&input, &deltas)?;
        let space_of = |example| spaces.iter().position(|s| s.space.examples.contains(&example));
        let examples = deltas
            .iter()
            .enumerate()
            .map(|(example, delta)| ExampleReport {
                name: names[example].to_string(),
                space: space_of(example).unwrap_or(0),
                largest_delta: delta.largest,
                vertex: delta.vertex,
                unreachable: delta.unreachable,
            })
            .collect();
        let model = Model::new(self.rig.clone(), self.params.base.clone(), layers)?;
        Ok(PsdFit { model, spaces: reports, examples, merged })
    }

    /// Entries that take part, rising, and those that say nothing new.
    fn used_entries(&self) -> Result<(Vec<usize>, Vec<MergedExample>), PsdError> {
        let open: Vec<usize> = (0..self.entries.len()).filter(|&e| !self.entries[e].muted).collect();
        let examples: Vec<&Example> = open.iter().map(|&e| &self.entries[e].example).collect();
        let (kept, mut merged) = distinct_examples(&self.rig, &examples, self.allows_compromise())?;
        let mut used = Vec::new();
        for entry in kept.into_iter().map(|place| open[place]) {
            let Entry { example, moved, delta, .. } = &self.entries[entry];
            if !moved.is_empty() {
                used.push(entry);
            } else if delta.largest <= SAME_SHAPE * self.rig.mesh().size() {
                // It moves everything by less than can be told from rest.
                let name = example.name.clone();
                merged.push(MergedExample { name, same_as: None, distance: delta.largest });
            } else {
                let (name, vertex, distance) = (example.name.clone(), delta.vertex, delta.largest);
                return Err(ExamplesError::MovedAtRest { name, vertex, distance }.into());
            }
        }
        if used.is_empty() { Err(PsdError::NothingMoves) } else { Ok((used, merged)) }
    }

    fn allows_compromise(&self) -> bool {
        self.params.allows_compromise()
    }

    fn entry(&self, example: Example) -> Result<Entry, PsdError> {
        let movers = Mover::all(&self.rig).into_iter();
        let mut moved: Vec<Mover> = movers.filter(|mover| mover.is_moved(&self.rig, &example.pose)).collect();
        moved.sort();
        let params = delta_params(&self.rig, &self.params);
        let delta = example_delta(&self.rig, &self.rest, &example, &params)?;
        Ok(Entry { example, muted: false, moved, delta, products: Vec::new() })
    }

    /// Computes the inner products of all entries, or those with one that changed.
    fn update_products(&mut self, changed: Option<usize>) {
        let prototypes = self.prototypes.patterns.len();
        for (place, entry) in self.entries.iter_mut().enumerate() {
            entry.products.resize(prototypes, Vec::new());
            entry.products.iter_mut().for_each(|products| products.resize(place + 1, 0.0));
        }
        let count = self.entries.len();
        let pairs: Vec<(usize, usize)> = match changed {
            None => (0..count).flat_map(|a| (0..=a).map(move |b| (a, b))).collect(),
            Some(changed) => (0..count).map(|other| (changed.max(other), changed.min(other))).collect(),
        };
        let found: Vec<Vec<f64>> = pairs
            .par_iter()
            .map(|&(a, b)| {
                let (a, b) = (&self.entries[a].delta, &self.entries[b].delta);
                self.prototypes.membership.iter().map(|shares| inner_product(a, b, shares)).collect()
            })
            .collect();
        for ((a, b), products) in pairs.into_iter().zip(found) {
            for (prototype, product) in products.into_iter().enumerate() {
                self.entries[a].products[prototype][b] = product;
            }
        }
    }

    fn place(&self, name: &str) -> Result<usize, PsdError> {
        self.entries.iter().position(|entry| entry.example.name == name).ok_or_else(|| {
            let known: Vec<&str> = self.entries.iter().map(|entry| entry.example.name.as_str()).collect();
            PsdError::UnknownExample { name: name.to_string(), known: known.join(", ") }
        })
    }
}

/// Σ share² · a · b over the vertices that both move.
fn inner_product(a: &ExampleDelta, b: &ExampleDelta, shares: &[f32]) -> f64 {
    let (few, many) = if a.moved.len() <= b.moved.len() { (a, b) } else { (b, a) };
    few.moved
        .iter()
        .map(|&vertex| {
            let vertex = vertex as usize;
            let product = few.positions[vertex].as_dvec3().dot(many.positions[vertex].as_dvec3());
            f64::from(shares[vertex]).powi(2) * product
        })
        .sum()
}

fn delta_params(rig: &Rig, params: &PsdParams) -> DeltaParams {
    DeltaParams {
        base: params.base.clone(),
        space: params.deltas,
        normals: params.normals,
        threshold: params.threshold * rig.mesh().size(),
    }
}

pub(super) fn check_params(rig: &Rig, params: &PsdParams) -> Result<(), PsdError> {
    let check = |good: bool, what, bound, value| {
        if good { Ok(()) } else { Err(PsdError::Parameter { what, bound, value }) }
    };
    let finite = |value: f64, good: bool| value.is_finite() && good;
    check(
        finite(params.threshold, params.threshold >= 0.0),
        "the threshold",
        "a finite number that is not negative",
        params.threshold,
    )?;
    if let Some(margin) = params.clamp_margin {
        let good = finite(margin, margin >= 0.0);
        check(good, "the clamp margin", "a finite number that is not negative", margin)?;
    }
    if let Some(prototypes) = &params.prototypes {
        check(prototypes.count > 0, "the number of prototypes", "at least 1", prototypes.count as f64)?;
        let least = prototypes.least_weight;
        check(
            finite(least, least > 0.0 && least <= 1.0),
            "the least weight",
            "above 0 and at most 1",
            least,
        )?;
    }
    if let PsdInterpolation::Shepard { power, epsilon } = params.interpolation {
        check(finite(power, power > 0.0), "Shepard's power", "a finite number above zero", power)?;
        let good = finite(epsilon, epsilon >= 0.0);
        check(good, "Shepard's epsilon", "a finite number that is not negative", epsilon)?;
    }
    if params.base.skinning().is_none() && params.deltas != DeltaSpace::Inverse {
        return Err(PsdError::ForwardOnDeformers);
    }
    if let DeltaSpace::Forward { frame: Frame::Joint(joint) } = params.deltas
        && joint >= rig.skeleton().joint_count()
    {
        return Err(ModelError::NoSuchFrame { layer: "forward deltas".to_string(), joint }.into());
    }
    check_features(rig, &params.features)
}
