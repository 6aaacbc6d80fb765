//! From deltas and measured spaces to layers.
//!
//! What an example stores is its delta less what the layers before it add at its pose. All of that is
//! linear, so a stored field is a row of shares of the examples' deltas, and deltas are only touched
//! when the fields are written.

use glam::{DVec3, Vec3};
use rayon::prelude::*;

use super::deltas::ExampleDelta;
use super::drivers::{CardinalDriver, cardinal_driver, with_outputs};
use super::prototypes::Prototypes;
use super::spaces::MeasuredSpace;
use super::{DeltaSpace, PsdError, PsdParams, SpaceReport};
use crate::numeric::Matrix;
use eigenskin_core::driver::FeatureSource;
use eigenskin_core::model::{DisplacementBasis, Frame, Layer, Stage};
use eigenskin_core::rig::Rig;

/// What layers are made from.
pub struct LayerInput<'a> {
    pub rig: &'a Rig,
    pub params: &'a PsdParams,
    /// `example`
    pub names: &'a [&'a str],
    /// `prototype`: inner products of the deltas, `example × example`
    pub grams: &'a [Matrix],
    pub prototypes: &'a Prototypes,
    pub spaces: &'a [MeasuredSpace],
}

/// Shares of the examples' deltas, by example: one stored field.
type Shares = Vec<(usize, f64)>;

/// The model of one prototype.
pub struct PrototypeModel {
    /// `space`
    pub drivers: Vec<CardinalDriver>,
    /// `example`
    shares: Vec<Shares>,
}

impl PrototypeModel {
    /// The shares of some examples' fields, `example × field`.
    pub fn shares_of(&self, examples: &[usize]) -> Matrix {
        let mut matrix = Matrix::zeros(self.shares.len(), examples.len());
        for (field, &example) in examples.iter().enumerate() {
            for &(of, share) in &self.shares[example] {
                matrix[(of, field)] = share;
            }
        }
        matrix
    }
}

/// Smaller shares are rounding of weights that are zero.
const SMALLEST_SHARE: f64 = 1e-12;

/// The layers, space after space, and what is to be said of the spaces.
pub fn fit_layers(
    input: &LayerInput,
    deltas: &[&ExampleDelta],
) -> Result<(Vec<Layer>, Vec<SpaceReport>), PsdError> {
    let models = prototype_models(input)?;
    let places: Vec<(usize, usize)> =
        (0..input.spaces.len()).flat_map(|space| (0..models.len()).map(move |p| (space, p))).collect();
    let layers: Vec<Layer> = places
        .par_iter()
        .map(|&(space, prototype)| layer(input, deltas, space, prototype, &models[prototype]))
        .collect();
    let residuals: Vec<Layer> = places
        .par_iter()
        .filter_map(|&(space, prototype)| residual_layer(input, deltas, space, prototype, &models[prototype]))
        .collect();
    let reports = space_reports(input, &models, &layers);
    Ok((layers.into_iter().chain(residuals).collect(), reports))
}

/// The model of every prototype.
pub fn prototype_models(input: &LayerInput) -> Result<Vec<PrototypeModel>, PsdError> {
    (0..input.prototypes.patterns.len())
        .into_par_iter()
        .map(|prototype| prototype_model(input, prototype))
        .collect()
}

/// What is to be said of the spaces, whose layers stand space after space, prototype after prototype.
pub fn space_reports(input: &LayerInput, models: &[PrototypeModel], layers: &[Layer]) -> Vec<SpaceReport> {
    input
        .spaces
        .iter()
        .enumerate()
        .map(|(index, space)| {
            let own = &layers[index * models.len()..(index + 1) * models.len()];
            let mut vertices: Vec<u32> = own.iter().flat_map(|layer| layer.support.iter().copied()).collect();
            vertices.sort_unstable();
            vertices.dedup();
            let named = |examples: &[usize]| examples.iter().map(|&e| input.names[e].to_string()).collect();
            SpaceReport {
                name: space.name.clone(),
                movers: space.space.movers.iter().map(|m| m.name(input.rig).to_string()).collect(),
                examples: named(&space.space.examples),
                anchors: named(&space.anchors),
                vertex_count: vertices.len(),
                drivers: models.iter().map(|model| model.drivers[index].report).collect(),
            }
        })
        .collect()
}

fn prototype_model(input: &LayerInput, prototype: usize) -> Result<PrototypeModel, PsdError> {
    let count = input.names.len();
    let mut model = PrototypeModel { drivers: Vec::new(), shares: vec![Shares::new(); count] };
    for space in input.spaces {
        let own = &space.space.examples;
        for &example in own {
            model.shares[example] = stored_shares(input, &model, example);
        }
        let shares = model.shares_of(own);
        let gram = shares.transpose() * &input.grams[prototype] * &shares;
        let weights = group_weights(input, space, prototype);
        model.drivers.push(cardinal_driver(space, input.names, &weights, &gram, input.params)?);
    }
    Ok(model)
}

/// An example's delta less what the layers so far add at its pose.
fn stored_shares(input: &LayerInput, model: &PrototypeModel, example: usize) -> Shares {
    let mut shares = vec![0.0; input.names.len()];
    shares[example] = 1.0;
    for (space, fitted) in input.spaces.iter().zip(&model.drivers) {
        let mut weights = vec![0.0; space.space.examples.len()];
        let sample = example + 1;
        fitted.driver.evaluate_features(
            space.all.features_of(sample),
            space.all.linear_of(sample),
            &mut weights,
        );
        for (&earlier, weight) in space.space.examples.iter().zip(weights) {
            for &(of, share) in &model.shares[earlier] {
                shares[of] -= weight * share;
            }
        }
    }
    let large = shares.into_iter().enumerate().filter(|(_, share)| share.abs() > SMALLEST_SHARE);
    large.collect()
}

/// Factors of the squared distances of a space's groups: the prototype's skin weights of the joint and
/// of what it turns against, since that is where its motion deforms the skin.
fn group_weights(input: &LayerInput, space: &MeasuredSpace, prototype: usize) -> Vec<f64> {
    let least = input.params.prototypes.map_or(1.0, |prototypes| prototypes.least_weight);
    let pattern = &input.prototypes.patterns[prototype];
    let weight = |source: &FeatureSource| match source {
        FeatureSource::Joint { joint, reference, .. } => {
            least + (1.0 - least) * (pattern[*joint] + pattern[*reference]).min(1.0)
        }
        FeatureSource::Control { .. } => 1.0,
    };
    space.all.groups.iter().map(|group| weight(&group.source)).collect()
}

fn layer(
    input: &LayerInput,
    deltas: &[&ExampleDelta],
    space: usize,
    prototype: usize,
    model: &PrototypeModel,
) -> Layer {
    let own = &input.spaces[space].space.examples;
    let membership = &input.prototypes.membership[prototype];
    let threshold = (input.params.threshold * input.rig.mesh().size()) as f32;
    let candidates =
        moved_vertices(input.rig, deltas, own.iter().flat_map(|&e| model.shares[e].iter().map(|s| s.0)))
            .into_iter()
            .filter(|&vertex| membership[vertex as usize] > 0.0)
            .collect::<Vec<u32>>();
    let fields: Vec<Vec<Vec3>> = own
        .par_iter()
        .map(|&example| combined(&model.shares[example], |e| &deltas[e].positions, &candidates))
        .collect();
    let moves = |u: &Vec3| u.length_squared() > threshold * threshold;
    let live: Vec<usize> = (0..own.len()).filter(|&field| fields[field].iter().any(moves)).collect();
    let moved: Vec<bool> = (0..candidates.len())
        .into_par_iter()
        .map(|place| live.iter().any(|&field| moves(&fields[field][place])))
        .collect();
    let places: Vec<usize> = (0..candidates.len()).filter(|&place| moved[place]).collect();
    let support: Vec<u32> = places.iter().map(|&place| candidates[place]).collect();

    let share = |vertex: u32| membership[vertex as usize];
    let mut positions = vec![Vec3::ZERO; live.len() * support.len()];
    positions.par_chunks_mut(support.len().max(1)).zip(&live).for_each(|(written, &field)| {
        for (written, &place) in written.iter_mut().zip(&places) {
            *written = share(candidates[place]) * fields[field][place];
        }
    });
    let with_normals = deltas.iter().all(|delta| !delta.normals.is_empty());
    let mut normals = vec![Vec3::ZERO; if with_normals { positions.len() } else { 0 }];
    normals.par_chunks_mut(support.len().max(1)).zip(&live).for_each(|(written, &field)| {
        let field = combined(&model.shares[own[field]], |e| &deltas[e].normals, &support);
        for ((written, normal), &vertex) in written.iter_mut().zip(field).zip(&support) {
            *written = share(vertex) * normal;
        }
    });
    let stage = match input.params.deltas {
        DeltaSpace::Inverse => Stage::BeforeSkinning,
        DeltaSpace::Forward { frame } => Stage::AfterSkinning { frame },
    };
    Layer {
        name: layer_name(input, space, prototype),
        support,
        basis: DisplacementBasis { positions, normals },
        driver: with_outputs(&model.drivers[space].driver, own.len(), &live),
        stage,
    }
}

/// What the examples of a space leave after skinning (w in Xian §5.3), on the weights of their deltas.
fn residual_layer(
    input: &LayerInput,
    deltas: &[&ExampleDelta],
    space: usize,
    prototype: usize,
    model: &PrototypeModel,
) -> Option<Layer> {
    let own = &input.spaces[space].space.examples;
    let membership = &input.prototypes.membership[prototype];
    let mut left = vec![false; input.rig.vertex_count()];
    let parts = own.iter().flat_map(|&example| &model.shares[example]);
    for residuals in parts.map(|&(example, _)| &deltas[example].residuals) {
        for (left, residual) in left.iter_mut().zip(residuals) {
            *left |= *residual != Vec3::ZERO;
        }
    }
    let left = left.into_iter().zip(membership).enumerate();
    let support: Vec<u32> = left.filter(|(_, (l, m))| *l && **m > 0.0).map(|(v, _)| v as u32).collect();
    if support.is_empty() {
        return None;
    }
    let live: Vec<usize> = (0..own.len()).collect();
    let mut positions = Vec::with_capacity(live.len() * support.len());
    for &example in own {
        let shares: Shares =
            model.shares[example].iter().copied().filter(|&(e, _)| !deltas[e].residuals.is_empty()).collect();
        let field = combined(&shares, |e| &deltas[e].residuals, &support);
        let shared = field.into_iter().zip(&support).map(|(w, &vertex)| membership[vertex as usize] * w);
        positions.extend(shared);
    }
    Some(Layer {
        name: format!("{} (after skinning)", layer_name(input, space, prototype)),
        support,
        basis: DisplacementBasis { positions, normals: Vec::new() },
        driver: with_outputs(&model.drivers[space].driver, own.len(), &live),
        stage: Stage::AfterSkinning { frame: Frame::Root },
    })
}

/// What a layer is called.
pub fn layer_name(input: &LayerInput, space: usize, prototype: usize) -> String {
    let name = &input.spaces[space].name;
    if input.params.prototypes.is_some() {
        format!("{name} (prototype {})", prototype + 1)
    } else {
        name.clone()
    }
}

/// Vertices that some of the examples move, rising.
fn moved_vertices(rig: &Rig, deltas: &[&ExampleDelta], examples: impl Iterator<Item = usize>) -> Vec<u32> {
    let mut listed = vec![false; deltas.len()];
    examples.for_each(|example| listed[example] = true);
    let mut moved = vec![false; rig.vertex_count()];
    for (delta, _) in deltas.iter().zip(listed).filter(|(_, listed)| *listed) {
        delta.moved.iter().for_each(|&vertex| moved[vertex as usize] = true);
    }
    (0..moved.len() as u32).filter(|&vertex| moved[vertex as usize]).collect()
}

/// A combination of the examples' fields on some vertices.
fn combined<'a>(
    shares: &[(usize, f64)],
    field: impl Fn(usize) -> &'a Vec<Vec3>,
    vertices: &[u32],
) -> Vec<Vec3> {
    if let [(example, 1.0)] = shares {
        let field = field(*example);
        return vertices.iter().map(|&vertex| field[vertex as usize]).collect();
    }
    let mut sum = vec![DVec3::ZERO; vertices.len()];
    for &(example, share) in shares {
        let field = field(example);
        for (sum, &vertex) in sum.iter_mut().zip(vertices) {
            *sum += share * field[vertex as usize].as_dvec3();
        }
    }
    sum.into_iter().map(DVec3::as_vec3).collect()
}
