//! From measured spaces to drivers, and to what every example stores.
//!
//! What an example stores is its delta less what the layers before it add at its pose. All of that is
//! linear, so a stored field is a row of shares of the examples' deltas, and deltas are only touched
//! when the fields are written.

use std::borrow::Cow;

use eigenskin_core::driver::FeatureSource;
use eigenskin_core::progress::Progress;
use eigenskin_core::rig::Rig;
use rayon::prelude::*;

use super::PsdParams;
use super::drivers::{CardinalDriver, cardinal_driver};
use super::examples::UsedExamples;
use super::prototypes::Prototypes;
use super::spaces::MeasuredSpace;
use crate::method::FitError;
use crate::numeric::Matrix;

/// What is learnt from.
#[derive(Clone, Copy)]
pub(super) struct Lesson<'a> {
    pub rig: &'a Rig,
    pub params: &'a PsdParams,
    pub used: &'a UsedExamples<'a>,
    pub prototypes: &'a Prototypes,
    /// in their order
    pub spaces: &'a [MeasuredSpace],
    /// `space`: kernel widths that are not chosen
    pub widths: &'a [Option<f64>],
}

/// Shares of the examples' deltas, by example: one stored field.
type Shares = Vec<(usize, f64)>;

/// The model of one prototype.
pub(super) struct PrototypeModel {
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

/// The model of every prototype; `grams` are inner products of the deltas, `prototype` →
/// `example × example`.
pub(super) fn prototype_models(
    lesson: &Lesson<'_>,
    grams: &[Matrix],
    progress: &dyn Progress,
) -> Result<Vec<PrototypeModel>, FitError> {
    let of = |prototype: usize| prototype_model(lesson, prototype, &grams[prototype], progress);
    (0..grams.len()).into_par_iter().map(of).collect()
}

fn prototype_model(
    lesson: &Lesson<'_>,
    prototype: usize,
    gram: &Matrix,
    progress: &dyn Progress,
) -> Result<PrototypeModel, FitError> {
    let names = &lesson.used.names;
    let mut model = PrototypeModel { drivers: Vec::new(), shares: vec![Shares::new(); names.len()] };
    for (space, width) in lesson.spaces.iter().zip(lesson.widths) {
        let own = &space.space.examples;
        for &example in own {
            model.shares[example] = stored_shares(lesson, &model, example);
        }
        let shares = model.shares_of(own);
        let gram = shares.transpose() * gram * &shares;
        let weights = group_weights(lesson, space, prototype);
        let params =
            width.map_or(Cow::Borrowed(lesson.params), |width| Cow::Owned(lesson.params.with_width(width)));
        model.drivers.push(cardinal_driver(space, names, &weights, &gram, &params, progress)?);
    }
    Ok(model)
}

/// An example's delta less what the layers so far add at its pose.
fn stored_shares(lesson: &Lesson<'_>, model: &PrototypeModel, example: usize) -> Shares {
    let mut shares = vec![0.0; model.shares.len()];
    shares[example] = 1.0;
    for (space, fitted) in lesson.spaces.iter().zip(&model.drivers) {
        let mut weights = vec![0.0; space.space.examples.len()];
        let sample = example + 1;
        space.all.evaluate(&fitted.driver, sample, &mut weights);
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
fn group_weights(lesson: &Lesson<'_>, space: &MeasuredSpace, prototype: usize) -> Vec<f64> {
    let least = lesson.params.prototypes.map_or(1.0, |prototypes| prototypes.least_weight);
    let pattern = &lesson.prototypes.patterns[prototype];
    let weight = |source: &FeatureSource| match source {
        FeatureSource::Joint { joint, reference, .. } => {
            least + (1.0 - least) * (pattern[*joint] + pattern[*reference]).min(1.0)
        }
        FeatureSource::Control { .. } | FeatureSource::Contact(_) => 1.0,
    };
    space.all.groups.iter().map(|group| weight(&group.source)).collect()
}
