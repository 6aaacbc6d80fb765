//! What pose space deformation has learnt.

use serde::{Serialize, Serializer};

use super::InBetweens;
use super::deltas::Deltas;
use super::layers::WrittenLayer;
use super::shares::{Lesson, PrototypeModel};

/// What was learnt about pose spaces and examples.
#[derive(Debug, Clone, PartialEq)]
pub struct PsdReport {
    /// prototypes of skin weights that share the skin; `None` where the method is not weighted
    pub prototypes: Option<usize>,
    /// pose spaces in their order: each stores what the ones before it leave
    pub spaces: Vec<SpaceReport>,
    /// the examples used, in-betweens among them
    pub examples: Vec<ExampleReport>,
    /// examples in which skinning collapses, with the poses that were added on the way to them
    pub in_betweens: Vec<InBetweens>,
}

/// One pose space.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SpaceReport {
    /// its joints and controls in one line, also the layer's name
    pub name: String,
    /// names of its joints and controls
    pub movers: Vec<String>,
    /// names of its examples
    pub examples: Vec<String>,
    /// earlier examples at whose poses the layer is held at zero; those that look like rest or like
    /// another one from here are not listed
    pub anchors: Vec<String>,
    /// vertices it moves
    #[serde(rename = "vertices")]
    pub vertex_count: usize,
    /// one, or one per prototype
    pub drivers: Vec<DriverReport>,
}

/// How the weights of a space are interpolated.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DriverReport {
    /// width of the kernels without a radius of their own; 0 for other interpolants
    pub width: f64,
    /// condition number of the interpolation; 1 for other interpolants
    pub condition: f64,
    /// leave-one-out error of what the space adds, a displacement norm over all vertices; only for
    /// automatic widths
    pub leave_one_out: f64,
    /// largest error of what the space adds at an example or anchor, as a share of the most that an example
    /// adds: 0 but for rounding when exact
    pub miss: f64,
}

/// One example.
#[derive(Debug, Clone, PartialEq)]
pub struct ExampleReport {
    /// its name
    pub name: String,
    /// index of its pose space
    pub space: usize,
    /// its largest delta from the base skinning
    pub largest_delta: f64,
    /// the vertex that has it
    pub vertex: usize,
    /// the largest part of the shape that no delta at rest can reach, where the base skinning
    /// collapses; 0 for forward deltas
    pub unreachable: f64,
}

impl PsdReport {
    pub(super) fn new(
        lesson: &Lesson<'_>,
        models: &[PrototypeModel],
        layers: &[WrittenLayer],
        deltas: &Deltas<'_>,
    ) -> Self {
        let used = lesson.used;
        let space_of = |example| lesson.spaces.iter().position(|s| s.space.examples.contains(&example));
        let examples = used.examples.iter().enumerate().map(|(example, &seen)| ExampleReport {
            name: used.names[example].to_string(),
            space: space_of(example).unwrap_or(0),
            largest_delta: used.largest[example].0,
            vertex: used.largest[example].1,
            unreachable: deltas.unreachable(seen),
        });
        Self {
            prototypes: lesson.params.prototypes.map(|_| models.len()),
            spaces: (0..lesson.spaces.len())
                .map(|space| space_report(lesson, models, layers, space))
                .collect(),
            examples: examples.collect(),
            in_betweens: Vec::new(),
        }
    }
}

fn space_report(
    lesson: &Lesson<'_>,
    models: &[PrototypeModel],
    layers: &[WrittenLayer],
    index: usize,
) -> SpaceReport {
    let space = &lesson.spaces[index];
    let own = layers.iter().filter(|written| written.space == index && !written.is_residual);
    let mut vertices: Vec<u32> = own.flat_map(|written| written.layer.support.iter().copied()).collect();
    vertices.sort_unstable();
    vertices.dedup();
    let named = |examples: &[usize]| examples.iter().map(|&e| lesson.used.names[e].to_string()).collect();
    SpaceReport {
        name: space.name.clone(),
        movers: space.space.movers.iter().map(|mover| mover.name(lesson.rig).to_string()).collect(),
        examples: named(&space.space.examples),
        anchors: named(&space.anchors),
        vertex_count: vertices.len(),
        drivers: models.iter().map(|model| model.drivers[index].report).collect(),
    }
}

impl Serialize for PsdReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Stored<'a> {
            name: &'a str,
            /// its name
            space: Option<&'a str>,
            largest_delta: f64,
            vertex: usize,
            unreachable: f64,
        }
        #[derive(Serialize)]
        struct Told<'a> {
            prototypes: Option<usize>,
            spaces: &'a [SpaceReport],
            deltas: Vec<Stored<'a>>,
            in_betweens: &'a [InBetweens],
        }
        let deltas = self.examples.iter().map(|example| Stored {
            name: &example.name,
            space: self.spaces.get(example.space).map(|space| space.name.as_str()),
            largest_delta: example.largest_delta,
            vertex: example.vertex,
            unreachable: example.unreachable,
        });
        let told = Told {
            prototypes: self.prototypes,
            spaces: &self.spaces,
            deltas: deltas.collect(),
            in_betweens: &self.in_betweens,
        };
        told.serialize(serializer)
    }
}
