//! Characters that share a model, each in a pose of its own.

use std::sync::Arc;

use eigenskin_core::pose::Pose;

use crate::context::{GpuContext, GpuError};
use crate::frame::{Counts, FrameTables};
use crate::model::GpuModel;
use crate::tables::ModelTables;

/// Instances of a model: all that is uploaded per frame.
#[derive(Debug)]
pub struct GpuInstances {
    tables: Arc<ModelTables>,
    frame: FrameTables,
    counts: wgpu::Buffer,
    joints: wgpu::Buffer,
    coordinates: wgpu::Buffer,
    bind_group: wgpu::BindGroup,
    /// as on the GPU
    uploaded_counts: Option<Counts>,
}

impl GpuInstances {
    /// Makes room for `count` instances, at rest until they are set.
    pub fn new(context: &GpuContext, model: &GpuModel, count: usize) -> Result<Self, GpuError> {
        let tables = model.tables().clone();
        let limit = u64::from(context.device().limits().max_compute_workgroups_per_dimension);
        if count as u64 > limit {
            return Err(GpuError::TooLarge { what: "number of instances", size: count as u64, limit });
        }
        let frame = FrameTables::new(&tables, count);
        let joints = context.storage("joints", frame.joints())?;
        let coordinates = context.storage("coordinates", frame.coordinates())?;
        let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        let counts = context.empty_buffer("counts", size_of::<Counts>(), usage)?;
        let bind_group = model.bind_group(context.device(), &counts, &joints, &coordinates);
        Ok(Self { tables, frame, counts, joints, coordinates, bind_group, uploaded_counts: None })
    }

    /// Poses an instance, in memory: `coordinates` are those of all layers, as
    /// [`Evaluator::drive`](eigenskin_core::evaluate::Evaluator::drive) gives them.
    ///
    /// # Panics
    /// If there is no such instance, or pose or coordinates are of another model.
    pub fn set(&mut self, instance: usize, pose: &Pose, coordinates: &[f32]) {
        self.frame.set(&self.tables, instance, pose, coordinates);
    }

    /// Uploads all instances, to be used by what is submitted next.
    pub fn upload(&mut self, context: &GpuContext) {
        let queue = context.queue();
        queue.write_buffer(&self.joints, 0, bytemuck::cast_slice(self.frame.joints()));
        queue.write_buffer(&self.coordinates, 0, bytemuck::cast_slice(self.frame.coordinates()));
        if self.uploaded_counts != Some(self.frame.counts()) {
            self.uploaded_counts = Some(self.frame.counts());
            queue.write_buffer(&self.counts, 0, bytemuck::bytes_of(&self.frame.counts()));
        }
    }

    /// Bytes that [`upload`](Self::upload) sends per frame: joints and coordinates of all instances.
    pub fn bytes_per_frame(&self) -> usize {
        size_of_val(self.frame.joints()) + size_of_val(self.frame.coordinates())
    }

    /// Number of instances.
    pub fn count(&self) -> usize {
        self.frame.instance_count()
    }

    /// What [`upload`](Self::upload) sends.
    pub fn frame(&self) -> &FrameTables {
        &self.frame
    }

    /// Bind group 0 of both kernels.
    pub fn bind_group(&self) -> &wgpu::BindGroup {
        &self.bind_group
    }
}
