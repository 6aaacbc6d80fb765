//! A rig with the file it came from, to be written back into.

use std::sync::Arc;

use eigenskin_core::glam::Vec4;
use eigenskin_core::pose::Pose;
use eigenskin_core::rig::Rig;

use crate::clip::Clip;
use crate::document::Document;
use crate::error::GltfError;
use crate::example_set::StoredExample;
use crate::limits::Counts;
use crate::motion::Motion;
use crate::nodes::name_of;
use crate::orientation::{self, Orientation};
use crate::pose_keys;
use crate::read::{FileKind, ReadOptions};
use crate::rig::{self, FoundRig, RigLayout};
use crate::sculpts::ShapeKey;
use crate::skin_weights::{self, Former};
use crate::table::Table;
use crate::write_error::WriteError;
use crate::{from_rig, primitives, repack, sculpts, targets};

/// A rig, the document it stands in, its clips, and what there is to say about it.
///
/// The document is the rig alone: what eigenskin itself had put into the file (targets, baked
/// weights, tables) is taken out when it is read and put in anew when it is written.
#[derive(Debug, Clone)]
pub struct RigFile {
    document: Document,
    rig: Arc<Rig>,
    layout: RigLayout,
    clips: Vec<Clip>,
    /// what was mended or left out, one sentence each
    pub notes: Vec<String>,
    /// what the file was
    pub kind: FileKind,
    /// what engines limit, as the file was read or made
    pub counts: Counts,
    /// whether the file needs `KHR_mesh_quantization`
    pub is_quantized: bool,
    /// examples as the file had them, where they are to be written again
    pub(crate) stored: Arc<Vec<StoredExample>>,
}

/// A part of a character as people call it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedPart {
    /// names of nodes, mesh and material
    pub names: Vec<String>,
    /// its vertices
    pub vertices: std::ops::Range<usize>,
}

impl RigFile {
    /// A fresh file for a rig in memory. Vertex order, axes and unit stay as they are.
    pub fn from_rig(rig: Arc<Rig>, name: &str) -> Result<Self, WriteError> {
        let document = from_rig::build(&rig, name)?;
        let found = rig::read(&document, &ReadOptions::default(), Some(&Table::of_rig_in_memory(&rig)))?;
        let counts = targets::engine_counts(&document, &found)?;
        Ok(Self {
            document,
            rig,
            layout: found.layout,
            clips: Vec::new(),
            notes: Vec::new(),
            kind: FileKind::Rig,
            counts,
            is_quantized: false,
            stored: Arc::default(),
        })
    }

    /// Puts a read rig together; everything of ours is taken out of the document.
    pub(crate) fn from_parts(
        mut document: Document,
        found: FoundRig,
        table: Option<&Table>,
    ) -> Result<Self, GltfError> {
        let counts = targets::engine_counts(&document, &found)?;
        if let Some(table) = table {
            targets::strip(&mut document, &found.layout, table)?;
        }
        let clips = Clip::read_all(&document)?;
        let kind = FileKind::of_table(table)?;
        let FoundRig { rig, layout, notes, is_quantized, weights_were_scaled } = found;
        if weights_were_scaled {
            skin_weights::scale_to_one(&mut document, &layout)?;
        }
        // What the integers were in.
        if is_quantized && table.is_some() {
            repack::drop_unused_views(&mut document)?;
        }
        let (rig, stored) = (Arc::new(rig), Arc::default());
        Ok(Self { document, rig, layout, clips, notes, kind, counts, is_quantized, stored })
    }

    /// The same file with an animation added: one pose per time (seconds, rising), straight
    /// between them.
    pub fn with_clip(mut self, name: &str, times: &[f64], poses: &[Pose]) -> Result<Self, WriteError> {
        let other_rig = |problem: String| WriteError::OtherRig { what: "the clip's poses", problem };
        let rising = times.windows(2).all(|pair| (pair[0] as f32) < (pair[1] as f32));
        if times.is_empty() || times.len() != poses.len() || !rising || times[0] < 0.0 {
            return Err(other_rig(format!(
                "{} poses at {} times that should rise",
                poses.len(),
                times.len()
            )));
        }
        for pose in poses {
            let (joints, controls) = (self.rig.skeleton().joint_count(), self.rig.controls().len());
            if pose.world_from_joint.len() != joints || pose.controls.len() != controls {
                return Err(other_rig("they have other joints or controls".into()));
            }
        }
        let keys = poses
            .iter()
            .enumerate()
            .map(|(key, pose)| {
                pose_keys::node_pose(&self.layout, &self.rig, pose, || format!("key {key} of clip {name:?}"))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let times: Vec<f32> = times.iter().map(|&time| time as f32).collect();
        let input = pose_keys::push_times(&mut self.document, "times", &times)?;
        let animation = pose_keys::push_animation(
            &mut self.document,
            &self.layout,
            "keys",
            name,
            input,
            &keys,
            "LINEAR",
        )?;
        self.document.array_mut("animations")?.push(animation);
        // Nodes that were given by a matrix can move now.
        self.layout.graph = crate::nodes::NodeGraph::read(&self.document)?;
        self.clips = Clip::read_all(&self.document)?;
        Ok(self)
    }

    /// The same file with a motion as a clip. A clip of that name is replaced as far as it moves the
    /// rig; what else it animates (cameras, the file's own morph targets) stays.
    pub fn with_motion(self, motion: &Motion) -> Result<Self, WriteError> {
        let Some(index) = self.clips.iter().position(|clip| clip.name == motion.name) else {
            return self.with_clip(&motion.name, &motion.times, &motion.poses);
        };
        let rig_nodes: Vec<usize> =
            self.clips[index].rig_channels(&self.layout).map(|channel| channel.node).collect();
        let old = self.document.entry("animations", index)?.clone();
        let mut file = self.with_clip(&motion.name, &motion.times, &motion.poses)?;
        let Some(mut animation) = file.document.array_mut("animations")?.pop() else { return Ok(file) };
        pose_keys::keep_other_channels(&mut animation, &old, &rig_nodes);
        *file.document.entry_mut("animations", index)? = animation;
        file.clips = Clip::read_all(&file.document)?;
        Ok(file)
    }

    /// The same file with another version of the rig: other reference joints, say. Mesh, joints
    /// and controls must be the same.
    pub fn with_rig(mut self, rig: Arc<Rig>) -> Result<Self, WriteError> {
        self.check_same_rig(&rig, "its parts")?;
        self.rig = rig;
        Ok(self)
    }

    /// The same file with the skin weights of `rig`, which is the same in all else.
    pub fn with_weights(mut self, rig: Arc<Rig>) -> Result<Self, WriteError> {
        self.check_same_rig(&rig, "its skin weights")?;
        skin_weights::replace(&mut self.document, &self.layout, rig.weights(), Former::GivenUp)?;
        self.counts.influences = rig.weights().most_influences();
        self.rig = rig;
        Ok(self)
    }

    /// The same file under a root node that turns and scales it to glTF's axes and metres. The rig
    /// itself keeps its numbers.
    pub fn with_orientation(mut self, orientation: Orientation) -> Result<Self, WriteError> {
        if orientation == Orientation::GLTF {
            return Ok(self);
        }
        orientation::add_root(&mut self.document, orientation)?;
        let table = self.table("rig", &self.rig);
        self.layout = rig::read(&self.document, &ReadOptions::default(), Some(&table))?.layout;
        Ok(self)
    }

    /// The rig.
    pub fn rig(&self) -> &Arc<Rig> {
        &self.rig
    }

    /// The rig's glTF, without anything of ours.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// Where the rig's parts are in the document.
    pub fn layout(&self) -> &RigLayout {
        &self.layout
    }

    /// The rig's primitives with the names of their mesh, of the nodes that show it and of their
    /// material: how people call parts of a character.
    pub fn named_parts(&self) -> Vec<NamedPart> {
        let name_of =
            |kind: &str, index: usize| self.document.json[kind][index]["name"].as_str().map(str::to_string);
        let layout = &self.layout;
        let with_vertices = |range: &crate::primitives::PrimitiveRange| {
            let first = range.first_vertex?;
            let shown_by = layout
                .mesh_nodes
                .iter()
                .filter(|&&node| {
                    self.document.json["nodes"][node]["mesh"].as_u64() == Some(range.mesh as u64)
                })
                .filter_map(|&node| name_of("nodes", node));
            let primitive = &self.document.json["meshes"][range.mesh]["primitives"][range.primitive];
            let material =
                primitive["material"].as_u64().and_then(|index| name_of("materials", index as usize));
            Some(NamedPart {
                names: shown_by.chain(name_of("meshes", range.mesh)).chain(material).collect(),
                vertices: first..first + range.vertex_count,
            })
        };
        layout.primitives.iter().filter_map(with_vertices).collect()
    }

    /// Morph targets of the file's own; of the mesh that has most.
    pub fn own_target_count(&self) -> usize {
        // The document was read, so its meshes are there.
        targets::counts(&self.document, &self.layout)
            .map_or(0, |counts| counts.into_iter().max().unwrap_or(0))
    }

    /// The file's own morph targets by name, in its order. Targets of several meshes with one name are
    /// one shape key. Those without a name are left out.
    pub fn shape_keys(&self) -> Result<Vec<ShapeKey>, GltfError> {
        sculpts::read_shape_keys(&self.document, &self.layout, self.rig.vertex_count())
    }

    /// Tangents at rest (`vertex`; w is the handedness, 1 or −1), of unit length; `None` when the file has
    /// none at all. Where one is missing or has no length, some direction of the surface stands for it.
    pub fn tangents(&self) -> Result<Option<Vec<Vec4>>, GltfError> {
        primitives::tangents(&self.document, &self.layout, self.rig.mesh().normals())
    }

    /// The name of the mesh node, of a rig without joints.
    pub fn mesh_node_name(&self) -> Option<&str> {
        let node = self.document.array("nodes").get(self.layout.root_node)?;
        self.layout.skins.is_empty().then(|| name_of(node))
    }

    /// The animations of the file, in its order.
    pub fn clips(&self) -> &[Clip] {
        &self.clips
    }

    /// The clip of that name.
    pub fn clip_named(&self, name: &str) -> Option<&Clip> {
        self.clips.iter().find(|clip| clip.name == name)
    }

    /// The pose of a clip at a time, seconds.
    pub fn sample(&self, clip: &Clip, time: f64) -> Pose {
        clip.sample(&self.layout, time)
    }

    /// The pose that the file shows when nothing is animated.
    pub fn default_pose(&self) -> Pose {
        self.layout.default_pose()
    }

    /// `wanted`, with a number when the file has a clip of that name.
    pub fn unused_clip_name(&self, wanted: &str) -> String {
        let mut name = wanted.to_string();
        let mut number = 2;
        while self.clip_named(&name).is_some() {
            name = format!("{wanted} {number}");
            number += 1;
        }
        name
    }

    /// A table about `rig` (this file's rig, perhaps with other reference joints).
    pub(crate) fn table(&self, kind: &str, rig: &Rig) -> Table {
        Table::of_rig(kind, rig, &self.layout)
    }

    /// Checks that `rig` numbers vertices, joints and controls as this file does.
    pub(crate) fn check_same_rig(&self, rig: &Rig, what: &'static str) -> Result<(), WriteError> {
        let joint_names = |rig: &Rig| -> Vec<String> {
            rig.skeleton().joints().iter().map(|joint| joint.name.clone()).collect()
        };
        let control_names =
            |rig: &Rig| -> Vec<String> { rig.controls().iter().map(|c| c.name.clone()).collect() };
        let problem = if let Err(error) = self.rig.correspondence_in(rig) {
            error.to_string()
        } else if joint_names(rig) != joint_names(&self.rig) || control_names(rig) != control_names(&self.rig)
        {
            "joints or controls are in another order".into()
        } else {
            return Ok(());
        };
        Err(WriteError::OtherRig { what, problem })
    }
}
