//! What was found in a file.

use std::path::Path;

use eigenskin_core::mesh::Mesh;
use eigenskin_core::model::Model;
use eigenskin_core::rig::Rig;
use eigenskin_gltf::FileKind;
use eigenskin_gltf::limits::{Counts, LIMITS};
use eigenskin_io::{WriteError, atomic};
use eigenskin_report::picture::painter::PanelPainter;
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};

use super::{Inspect, InspectError, Remark, remarks};
use crate::jobs::invert::{InvertibilityMap, invertibility_picture};

/// What is in a file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InspectOutcome {
    /// what it is
    #[serde(serialize_with = "kind_in_words")]
    pub kind: FileKind,
    /// vertices of the skin
    pub vertices: usize,
    /// triangles of the skin
    pub triangles: usize,
    /// diagonal of the box around the rest shape, in the file's unit
    pub size: f64,
    /// the middle of that box
    #[serde(skip)]
    pub centre: [f64; 3],
    /// joints that the vertex with most of them follows
    pub influences: usize,
    /// in the rig's order
    pub joints: Vec<JointFound>,
    /// in the rig's order
    #[serde(serialize_with = "control_names")]
    pub controls: Vec<ControlFound>,
    /// in the file's order
    pub clips: Vec<ClipFound>,
    /// names of the examples; `None` where it is no example set
    pub examples: Option<Vec<String>>,
    /// components of the model; `None` where it is none
    pub components: Option<usize>,
    /// components that move the vertex with most of them
    pub most_components_per_vertex: Option<usize>,
    /// more of the model
    #[serde(skip)]
    pub model: Option<ModelFound>,
    /// what engines take, beside what the file has
    pub limits: Vec<LimitFound>,
    /// what deserves attention
    pub remarks: Vec<Remark>,
    /// where poses can be sculpted, where that was asked
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invertibility: Option<Vec<InvertibilityMap>>,
}

/// A joint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JointFound {
    /// its name
    pub name: String,
    /// the joint above it
    pub parent: Option<String>,
    /// the joint that its motion is measured against
    pub reference: Option<String>,
}

/// A control.
#[derive(Debug, Clone, PartialEq)]
pub struct ControlFound {
    /// its name
    pub name: String,
    /// its value at rest
    pub default: f64,
}

/// A clip.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClipFound {
    /// its name
    pub name: String,
    /// how long it lasts
    pub seconds: f64,
}

/// A model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFound {
    /// groups of components with a driver of their own
    pub layers: usize,
    /// name of what its corrections are added to
    pub base: String,
}

/// What one engine takes, and what the file has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LimitFound {
    /// the engine
    pub engine: &'static str,
    /// what it limits
    pub what: String,
    /// how many it takes
    pub limit: usize,
    /// how many the file has
    pub found: usize,
    /// whether that is not too many
    pub fits: bool,
    /// what happens beyond the limit
    #[serde(skip)]
    pub beyond: &'static str,
}

impl InspectOutcome {
    /// What is in the file of a job; poses are not probed.
    pub(super) fn of(job: &Inspect) -> Self {
        let rig: &Rig = job.file.rig();
        let model: Option<&Model> = job.model.as_deref();
        let controls = rig.controls().iter();
        let clips = job.file.clips().iter();
        let names = |set: &eigenskin_core::examples::ExampleSet| {
            set.examples().iter().map(|e| e.name.clone()).collect()
        };
        Self {
            kind: job.file.kind,
            vertices: rig.vertex_count(),
            triangles: rig.mesh().triangles().len(),
            size: rig.mesh().size(),
            centre: rig.mesh().bounds().centre.to_array(),
            influences: rig.weights().most_influences(),
            joints: joints(rig),
            controls: controls.map(|c| ControlFound { name: c.name.clone(), default: c.default }).collect(),
            clips: clips.map(|c| ClipFound { name: c.name.clone(), seconds: c.duration() }).collect(),
            examples: job.examples.as_deref().map(names),
            components: model.map(Model::component_count),
            most_components_per_vertex: model.map(Model::most_components_per_vertex),
            model: model.map(|m| ModelFound { layers: m.layers().len(), base: m.base().name().to_string() }),
            limits: limits(&job.file.counts),
            remarks: remarks::of(job),
            invertibility: None,
        }
    }

    /// Draws the poses that were probed with what they collapse, as a PNG; nothing where none was.
    pub fn write_picture(
        &self,
        path: &Path,
        mesh: &Mesh,
        painter: &dyn PanelPainter,
    ) -> Result<(), InspectError> {
        let Some(maps) = &self.invertibility else { return Ok(()) };
        let png = invertibility_picture(mesh, maps, painter)?;
        let refused = |error| WriteError::Io { path: path.into(), error };
        Ok(atomic::write_file(path, &png).map_err(refused)?)
    }
}

fn joints(rig: &Rig) -> Vec<JointFound> {
    let joints = rig.skeleton().joints();
    let name = |joint: Option<usize>| joint.map(|joint| joints[joint].name.clone());
    joints
        .iter()
        .map(|joint| JointFound {
            name: joint.name.clone(),
            parent: name(joint.parent),
            reference: name(joint.reference),
        })
        .collect()
}

fn limits(counts: &Counts) -> Vec<LimitFound> {
    LIMITS
        .iter()
        .map(|limit| {
            let found = counts.of(limit.quantity);
            LimitFound {
                engine: limit.engine,
                what: limit.quantity.to_string(),
                limit: limit.limit,
                found,
                fits: found <= limit.limit,
                beyond: limit.beyond,
            }
        })
        .collect()
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
pub(super) fn kind_in_words<S: Serializer>(kind: &FileKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.description())
}

fn control_names<S: Serializer>(controls: &[ControlFound], serializer: S) -> Result<S::Ok, S::Error> {
    let mut names = serializer.serialize_seq(Some(controls.len()))?;
    for control in controls {
        names.serialize_element(&control.name)?;
    }
    names.end()
}
