//! A baked motion, and its files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use eigenskin_core::bounding_sphere::BoundingSphere;
use eigenskin_core::evaluate::Evaluator;
use eigenskin_core::glam::Vec3;
use eigenskin_core::model::Model;
use eigenskin_core::progress::{Counted, Progress};
use eigenskin_gltf::{FileKind, ModelWriteOptions, ModelWriteReport, Motion, RigFile, model_glb, rig_glb};
use eigenskin_io::posed_shapes::{ObjFrames, Pc2Writer};
use eigenskin_io::{Matching, WriteError};
use serde::{Serialize, Serializer};

use super::{BakeError, BakeSettings, BakeWarning};
use crate::base::OpenBase;

/// A motion on a model. Serialises as what the command prints for machines.
#[derive(Debug, Clone)]
pub struct BakeOutcome {
    /// the model's file, with the motion among its clips
    pub file: RigFile,
    /// the model
    pub model: Arc<Model>,
    /// its poses along time
    pub motion: Motion,
    /// which joints move which, where the motion is another's
    pub matching: Option<Matching>,
    /// diameter of the smallest sphere around the rest shape where the GLB shows it: the unit in which
    /// differences between shapes are judged
    pub size: f64,
    /// what deserves attention
    pub warnings: Vec<BakeWarning>,
    /// files and folders written, in order
    pub written: Vec<PathBuf>,
    rate: Option<f64>,
    file_options: ModelWriteOptions,
}

/// What to write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BakeOutputs {
    /// the model with its clips and this one, component weights keyed
    pub glb: Option<PathBuf>,
    /// a folder of posed shapes, one OBJ per frame
    pub obj: Option<PathBuf>,
    /// all posed shapes in one point cache
    pub pc2: Option<PathBuf>,
}

/// What was written.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BakeWritten {
    /// the GLB
    pub glb: Option<WrittenGlb>,
    /// files in the folder of OBJs
    pub obj_frames: Option<usize>,
    /// size of the point cache
    pub pc2_bytes: Option<usize>,
    /// what deserves attention
    pub warnings: Vec<BakeWarning>,
}

/// A GLB that was written.
#[derive(Debug, Clone, PartialEq)]
pub struct WrittenGlb {
    /// its clips
    pub clips: usize,
    /// its size
    pub bytes: usize,
    /// what is in it; none for a plain rig
    pub model: Option<ModelWriteReport>,
}

impl BakeOutcome {
    pub(super) fn new(
        file: RigFile,
        model: Arc<Model>,
        motion: Motion,
        matching: Option<Matching>,
        settings: &BakeSettings,
        warnings: Vec<BakeWarning>,
    ) -> Self {
        let size = size_in_scene(&file);
        let (rate, file_options) = (settings.rate, settings.file.clone());
        Self { file, model, motion, matching, size, warnings, written: Vec::new(), rate, file_options }
    }

    /// The GLB, and what its writer says of a model in it.
    pub fn glb(&self) -> Result<(Vec<u8>, Option<ModelWriteReport>), BakeError> {
        if self.file.kind != FileKind::Model {
            return Ok((rig_glb(&self.file).map_err(WriteError::from)?, None));
        }
        let options = ModelWriteOptions {
            bake_rate: self.file_options.bake_rate.max(self.rate.unwrap_or(0.0)),
            ..self.file_options.clone()
        };
        let (glb, report) = model_glb(&self.file, &self.model, &options).map_err(WriteError::from)?;
        Ok((glb, Some(report)))
    }

    /// Poses the model frame by frame, where the GLB shows it; `take` gets positions and normals of each
    /// frame, `vertex`. Nothing is kept: long clips need no more memory than short ones.
    pub fn each_shape(
        &self,
        mut take: impl FnMut(&[Vec3], &[Vec3]) -> Result<(), BakeError>,
        progress: &dyn Progress,
    ) -> Result<(), BakeError> {
        // Refuses models whose shapes only another program knows.
        OpenBase::of(self.model.base(), self.model.rig(), "the model")?;
        let scene_from_mesh = self.file.layout().scene_from_mesh;
        // Normals follow the inverse transpose, should the scene scale unevenly.
        let turn = scene_from_mesh.matrix3.inverse().transpose();
        let mut evaluator = Evaluator::new(self.model.clone());
        let mut positions = vec![Vec3::ZERO; self.model.rig().vertex_count()];
        let mut normals = positions.clone();
        let counted = Counted::new(progress, "posing", self.motion.poses.len());
        for pose in &self.motion.poses {
            evaluator.evaluate(pose, &mut positions, Some(&mut normals));
            for (position, normal) in positions.iter_mut().zip(&mut normals) {
                *position = scene_from_mesh.transform_point3(position.as_dvec3()).as_vec3();
                *normal = (turn * normal.as_dvec3()).normalize_or_zero().as_vec3();
            }
            take(&positions, &normals)?;
            counted.next()?;
        }
        Ok(())
    }

    /// Writes what is asked for, when all of it is ready: a run that is stopped leaves nothing behind.
    pub fn write(
        &mut self,
        outputs: &BakeOutputs,
        progress: &dyn Progress,
    ) -> Result<BakeWritten, BakeError> {
        let mut written = BakeWritten::default();
        let glb = match &outputs.glb {
            Some(path) => {
                progress.doing("keying weights")?;
                let (glb, model) = self.glb()?;
                let said = model.iter().flat_map(|report| report.warnings.iter().cloned());
                written.warnings.extend(said.map(BakeWarning::Model));
                Some((path, glb, model))
            }
            None => None,
        };
        let (obj, pc2) = self.shapes(outputs, &mut written.warnings, progress)?;
        if let Some((path, glb, model)) = glb {
            eigenskin_io::write_glb(path, &glb)?;
            written.glb = Some(WrittenGlb { clips: self.file.clips().len(), bytes: glb.len(), model });
            self.written.push(path.clone());
        }
        let frames = self.motion.poses.len();
        if let (Some(obj), Some(folder)) = (obj, &outputs.obj) {
            if obj.has_older_frames() {
                written.warnings.push(BakeWarning::OlderFrames { folder: folder.clone() });
            }
            obj.finish()?;
            written.obj_frames = Some(frames);
            self.written.push(folder.clone());
        }
        if let (Some(pc2), Some(path)) = (pc2, &outputs.pc2) {
            pc2.finish()?;
            written.pc2_bytes = Some(Pc2Writer::bytes(self.model.rig().vertex_count(), frames));
            self.written.push(path.clone());
        }
        Ok(written)
    }

    /// The posed shapes, written but not yet in place.
    fn shapes(
        &self,
        outputs: &BakeOutputs,
        warnings: &mut Vec<BakeWarning>,
        progress: &dyn Progress,
    ) -> Result<(Option<ObjFrames>, Option<Pc2Writer>), BakeError> {
        if outputs.obj.is_none() && outputs.pc2.is_none() {
            return Ok((None, None));
        }
        if self.file.own_target_count() > 0 {
            warnings.push(BakeWarning::OwnTargets);
        }
        if outputs.pc2.is_some() && !self.motion.is_even() {
            warnings.push(BakeWarning::UnevenKeys);
        } else if let Some(seconds) = self.motion.short_last_step().filter(|_| outputs.pc2.is_some()) {
            warnings.push(BakeWarning::ShortLastStep { seconds });
        }
        let (frames, rig) = (self.motion.poses.len(), self.model.rig());
        let begin_obj = |folder: &Path| ObjFrames::new(folder, rig.mesh().triangles(), frames);
        let begin_pc2 = |path: &Path| Pc2Writer::new(path, rig.vertex_count(), frames);
        let mut obj = outputs.obj.as_deref().map(begin_obj).transpose()?;
        let mut pc2 = outputs.pc2.as_deref().map(begin_pc2).transpose()?;
        let take = |positions: &[Vec3], normals: &[Vec3]| {
            if let Some(obj) = &mut obj {
                obj.push(positions, normals)?;
            }
            if let Some(pc2) = &mut pc2 {
                pc2.push(positions)?;
            }
            Ok(())
        };
        self.each_shape(take, progress)?;
        Ok((obj, pc2))
    }
}

fn size_in_scene(file: &RigFile) -> f64 {
    let to_scene =
        |position: &Vec3| file.layout().scene_from_mesh.transform_point3(position.as_dvec3()).as_vec3();
    let rest: Vec<Vec3> = file.rig().mesh().positions().iter().map(to_scene).collect();
    2.0 * BoundingSphere::of(&rest).radius
}

impl Serialize for BakeOutcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let motion = &self.motion;
        Figures {
            clip: &motion.name,
            frames: motion.poses.len(),
            times: &motion.times,
            size: self.size,
            duration: motion.duration(),
            written: self.written.iter().map(|path| path.display().to_string()).collect(),
            matching: self.matching.as_ref().map(MatchingFigures::of),
        }
        .serialize(serializer)
    }
}

/// A baked motion for machines.
#[derive(Serialize)]
struct Figures<'a> {
    clip: &'a str,
    frames: usize,
    times: &'a [f64],
    size: f64,
    duration: f64,
    written: Vec<String>,
    #[serde(flatten)]
    matching: Option<MatchingFigures<'a>>,
}

/// Only of motions that were retargeted.
#[derive(Serialize)]
struct MatchingFigures<'a> {
    matched: Vec<MatchedJoint<'a>>,
    unmatched: &'a [String],
    unused: &'a [String],
    scale: f64,
}

#[derive(Serialize)]
struct MatchedJoint<'a> {
    joint: &'a str,
    source: &'a str,
}

impl<'a> MatchingFigures<'a> {
    fn of(matching: &'a Matching) -> Self {
        Self {
            matched: matching.matched.iter().map(|(joint, source)| MatchedJoint { joint, source }).collect(),
            unmatched: &matching.unmatched,
            unused: &matching.unused,
            scale: matching.scale,
        }
    }
}
