//! Panels that own what they show, and the figures of the EigenSkin paper.

use eigenskin::deformers::Base;
use eigenskin::progress::Unwatched;
use std::sync::Arc;

use anyhow::{Result, bail};
use eigenskin::driver::{Interpolant, Tail};
use eigenskin::evaluate::Evaluator;
use eigenskin::examples::ExampleSet;
use eigenskin::glam::Vec3;
use eigenskin::metrics::vertex_errors;
use eigenskin::model::{Layer, Model};
use eigenskin::report::page::{LengthUnit, component_fields, from_the_side_that_moves, full_colour};
use eigenskin::report::picture::{Panel, Surface, View};

use super::{Shape, Subject, rms};
use crate::output::{counted, figure};

/// A panel with its data.
#[derive(Clone)]
pub struct OwnedPanel {
    pub caption: String,
    pub positions: Vec<Vec3>,
    pub normals: Vec<Vec3>,
    pub surface: OwnedSurface,
}

/// What a surface shows.
#[derive(Clone)]
pub enum OwnedSurface {
    Skin,
    /// `vertex`
    Heat(Vec<f32>),
    /// `vertex`, and the length of full colour
    Displacement(Vec<Vec3>, f32),
}

impl OwnedPanel {
    pub fn new(caption: impl Into<String>, shape: Shape, surface: OwnedSurface) -> Self {
        Self { caption: caption.into(), positions: shape.positions, normals: shape.normals, surface }
    }

    /// As the report's pictures want it.
    pub fn panel(&self) -> Panel<'_> {
        Panel {
            caption: self.caption.clone(),
            positions: &self.positions,
            normals: &self.normals,
            surface: match &self.surface {
                OwnedSurface::Skin => Surface::Skin,
                OwnedSurface::Heat(errors) => Surface::Heat { errors },
                OwnedSurface::Displacement(vectors, scale) => {
                    Surface::Displacement { vectors, scale: *scale }
                }
            },
        }
    }

    /// The largest number of a heat map.
    pub fn largest_error(&self) -> Option<f32> {
        match &self.surface {
            OwnedSurface::Heat(errors) => errors.iter().copied().reduce(f32::max),
            _ => None,
        }
    }
}

/// The truth, then the model with no, one, … `most` components of every layer (EigenSkin, Figure 7).
pub fn by_components(
    subject: &Subject,
    truth: &ExampleSet,
    index: usize,
    most: usize,
    unit: &LengthUnit,
) -> Vec<OwnedPanel> {
    let example = &truth.examples()[index];
    let true_shape = Shape { positions: example.positions.clone(), normals: truth.normals_of(index) };
    let mut panels =
        vec![OwnedPanel::new(format!("truth\n{}", example.name), true_shape, OwnedSurface::Skin)];
    let mut evaluator = Evaluator::new(subject.model.clone());
    let coordinates = evaluator.drive(&example.pose).to_vec();
    let plain = Shape::of(&subject.plain, &example.pose);
    let whole = rms(&vertex_errors(&plain.positions, &example.positions));
    for count in 0..=most {
        let kept = first_components(&subject.model, &coordinates, count);
        let mut shape = plain.clone();
        evaluator.evaluate_at(&example.pose, &kept, &mut shape.positions, Some(&mut shape.normals));
        let errors = vertex_errors(&shape.positions, &example.positions);
        let relative = rms(&errors) / whole;
        let name = match count {
            0 => "plain skinning".to_string(),
            _ => counted(count, "component", "components"),
        };
        let factor = unit.per_model_unit as f32;
        let heat = OwnedSurface::Heat(errors.iter().map(|error| factor * error).collect());
        panels.push(OwnedPanel::new(format!("{name}\nrelative error {}", figure(relative)), shape, heat));
    }
    panels
}

/// Coordinates with all but the first `count` of every layer at zero.
fn first_components(model: &Model, coordinates: &[f32], count: usize) -> Vec<f32> {
    let mut kept = coordinates.to_vec();
    let mut first = 0;
    for layer in model.layers() {
        let own = &mut kept[first..first + layer.component_count()];
        for coordinate in own.iter_mut().skip(count) {
            *coordinate = 0.0;
        }
        first += own.len();
    }
    kept
}

/// The first components of a layer as colours on the rest shape, with their singular values (EigenSkin,
/// Figure 5); from which side to look, and at which vertices. No name is the strongest layer.
pub fn eigendisplacements(
    model: &Arc<Model>,
    name: &str,
    view: View,
    unit: &LengthUnit,
) -> Result<(Vec<OwnedPanel>, View, Vec<u32>)> {
    const SHOWN: usize = 4;
    let strength = |layer: &&Layer| singular_values(layer).first().copied().unwrap_or(0.0);
    let found = if name.is_empty() {
        model.layers().iter().max_by(|a, b| strength(a).total_cmp(&strength(b)))
    } else {
        model.layers().iter().find(|layer| layer.name == name)
    };
    let Some(layer) = found else {
        let names: Vec<&str> = model.layers().iter().map(|layer| layer.name.as_str()).collect();
        if names.is_empty() {
            bail!("the model has no layers: it has learnt nothing");
        }
        bail!("the model has no layer {name:?}; it has {}", names.join(", "));
    };
    let mesh = model.rig().mesh();
    let fields = component_fields(layer, mesh.vertex_count());
    let values = singular_values(layer);
    let rest = Shape { positions: mesh.positions().to_vec(), normals: mesh.normals().to_vec() };
    let panels = fields
        .iter()
        .take(SHOWN)
        .enumerate()
        .map(|(component, field)| {
            let value = values.get(component).map_or(String::new(), |value| {
                format!("\nsingular value {} {}", figure(unit.per_model_unit * value), unit.name)
            });
            let scale = full_colour(field, &layer.support);
            let caption = format!("{}, {}{value}", layer.name, component + 1);
            OwnedPanel::new(caption, rest.clone(), OwnedSurface::Displacement(field.clone(), scale))
        })
        .collect();
    let view = fields.first().map_or(view, |field| from_the_side_that_moves(view, mesh, field));
    Ok((panels, view, layer.support.clone()))
}

/// Singular values of a layer's components: how much its training examples make of them. None for
/// drivers that do not remember their examples.
fn singular_values(layer: &Layer) -> Vec<f64> {
    let Interpolant::Rbf { centres, tail: Tail::None | Tail::Constant(_), .. } = &layer.driver.interpolant
    else {
        return Vec::new();
    };
    let count = layer.component_count();
    let linear = vec![0.0; layer.driver.linear_count()];
    let mut squares = vec![0.0; count];
    let mut outputs = vec![0.0; count];
    for features in centres.chunks_exact(layer.driver.feature_count().max(1)) {
        layer.driver.evaluate_features(features, &linear, &mut outputs);
        for (square, output) in squares.iter_mut().zip(&outputs) {
            *square += output * output;
        }
    }
    let length = |component: usize| -> f64 {
        let field = layer.basis.component_positions(component, layer.support.len());
        field.iter().map(|d| f64::from(d.length_squared())).sum::<f64>().sqrt()
    };
    squares.iter().enumerate().map(|(component, square)| square.sqrt() * length(component)).collect()
}

#[cfg(test)]
mod tests {
    use eigenskin::characters::arm;
    use eigenskin::characters::truth::SweptSkin;
    use eigenskin::method::{EigenSkinParams, fit_examples};

    use super::*;

    #[test]
    fn singular_values_are_those_of_the_fit() {
        let character = arm(1500).unwrap();
        let set = SweptSkin::new(&character).examples(character.single_joint_poses(4)).unwrap();
        let fit = fit_examples(&set, &Base::default(), &EigenSkinParams::default().into(), &Unwatched).unwrap();
        let mut compared = 0;
        for joint in &fit.joints {
            let Some(layer) = fit.model.layers().iter().find(|layer| layer.name == joint.name) else {
                continue;
            };
            for (value, expected) in singular_values(layer).iter().zip(&joint.singular_values) {
                assert!((value / expected - 1.0).abs() < 0.02, "{}: {value} {expected}", joint.name);
                compared += 1;
            }
        }
        assert!(compared > 2);
    }
}
