//! Panels that own what they show, and the figures of the EigenSkin paper.

use eigenskin_core::driver::{Interpolant, Tail};
use eigenskin_core::evaluate::{Evaluator, Shape};
use eigenskin_core::examples::ExampleSet;
use eigenskin_core::glam::Vec3;
use eigenskin_core::model::{Layer, Model};
use eigenskin_fit::metrics::vertex_errors;
use eigenskin_report::page::{component_fields, counted, figure, from_the_side_that_moves, full_colour};
use eigenskin_report::picture::{Panel, Surface, View};

use super::RenderError;
use super::side_by_side::{Subject, rms};

/// A panel with its data.
#[derive(Clone)]
pub struct OwnedPanel {
    pub caption: String,
    pub shape: Shape,
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
        Self { caption: caption.into(), shape, surface }
    }

    /// As the report's pictures want it.
    pub fn panel(&self) -> Panel<'_> {
        Panel {
            caption: self.caption.clone(),
            positions: &self.shape.positions,
            normals: &self.shape.normals,
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
pub fn by_component_count(
    subject: &Subject,
    truth: &ExampleSet,
    index: usize,
    most: usize,
) -> Vec<OwnedPanel> {
    let example = &truth.examples()[index];
    let true_shape = Shape { positions: example.positions.clone(), normals: truth.normals_of(index) };
    let mut panels =
        vec![OwnedPanel::new(format!("truth\n{}", example.name), true_shape, OwnedSurface::Skin)];
    let mut evaluator = Evaluator::new(subject.model.clone());
    let coordinates = evaluator.drive(&example.pose).to_vec();
    let plain = Evaluator::new(subject.plain.clone()).shape(&example.pose);
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
        let caption = format!("{name}\nrelative error {}", figure(relative));
        panels.push(OwnedPanel::new(caption, shape, subject.heat(&errors)));
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
pub fn component_panels(
    subject: &Subject,
    name: Option<&str>,
    view: View,
) -> Result<(Vec<OwnedPanel>, View, Vec<u32>), RenderError> {
    const SHOWN: usize = 4;
    let Subject { model, unit, .. } = subject;
    let strength = |layer: &&Layer| singular_values(layer).first().copied().unwrap_or(0.0);
    let layer = match name {
        None => model.layers().iter().max_by(|a, b| strength(a).total_cmp(&strength(b))),
        Some(name) => model.layers().iter().find(|layer| layer.name == name),
    };
    let layer = layer.ok_or_else(|| {
        let known: Vec<String> = model.layers().iter().map(|layer| layer.name.clone()).collect();
        match name {
            Some(name) if !known.is_empty() => RenderError::NoLayer { layer: name.to_string(), known },
            _ => RenderError::NothingLearnt,
        }
    })?;
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
    use eigenskin_characters::arm;
    use eigenskin_characters::truth::SweptSkin;
    use eigenskin_core::deformers::Base;
    use eigenskin_core::progress::Unwatched;
    use eigenskin_fit::method::{EigenSkinParams, fit_examples};

    use super::*;

    #[test]
    fn singular_values_are_those_of_the_fit() {
        let character = arm(1500).unwrap();
        let set = SweptSkin::new(&character).examples(character.single_joint_poses(4)).unwrap();
        let fit =
            fit_examples(&set, &Base::default(), &EigenSkinParams::default().into(), &Unwatched).unwrap();
        let mut compared = 0;
        for joint in &fit.learnt.eigenskin().unwrap().joints {
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
