//! The kernel `skin_compute`: all instances into a vertex buffer.

use std::sync::Arc;

use crate::context::{GpuContext, GpuError};
use crate::instances::GpuInstances;
use crate::model::{GpuModel, buffer_entry};
use crate::shaders;
use crate::tables::ModelTables;

/// Vertices per work group, as in the kernel.
const GROUP_SIZE: u32 = 64;

/// The kernel, compiled for a model.
#[derive(Debug)]
pub struct SkinCompute {
    tables: Arc<ModelTables>,
    pipeline: wgpu::ComputePipeline,
    output_layout: wgpu::BindGroupLayout,
}

/// A vertex buffer of posed vertices, `instance × vertex`.
#[derive(Debug)]
pub struct PosedVertices {
    buffer: wgpu::Buffer,
    bind_group: wgpu::BindGroup,
    stride: usize,
    vertex_count: usize,
    instance_count: usize,
}

impl SkinCompute {
    /// Compiles the kernel for `model`.
    pub fn new(context: &GpuContext, model: &GpuModel) -> Self {
        let device = context.device();
        let writable = wgpu::BufferBindingType::Storage { read_only: false };
        let output_layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("posed vertices"),
            entries: &[buffer_entry(0, writable, wgpu::ShaderStages::COMPUTE)],
        });
        let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some("skin_compute"),
            bind_group_layouts: &[Some(model.bind_group_layout()), Some(&output_layout)],
            immediate_size: 0,
        });
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("skin_compute"),
            source: wgpu::ShaderSource::Wgsl(shaders::SKIN_COMPUTE.into()),
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some("skin_compute"),
            layout: Some(&layout),
            module: &module,
            entry_point: Some("skin_compute"),
            compilation_options: wgpu::PipelineCompilationOptions {
                constants: &model.constants(),
                ..Default::default()
            },
            cache: None,
        });
        Self { tables: model.tables().clone(), pipeline, output_layout }
    }

    /// A vertex buffer for the vertices of `instances`.
    pub fn output(&self, context: &GpuContext, instances: &GpuInstances) -> Result<PosedVertices, GpuError> {
        let stride = self.tables.posed_stride() * size_of::<f32>();
        let vertex_count = self.tables.rig().vertex_count();
        let groups = u64::from((vertex_count as u32).div_ceil(GROUP_SIZE));
        let limit = u64::from(context.device().limits().max_compute_workgroups_per_dimension);
        if groups > limit {
            return Err(GpuError::TooLarge { what: "number of work groups", size: groups, limit });
        }
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::VERTEX | wgpu::BufferUsages::COPY_SRC;
        let buffer =
            context.empty_buffer("posed vertices", instances.count() * vertex_count * stride, usage)?;
        let bind_group = context.device().create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("posed vertices"),
            layout: &self.output_layout,
            entries: &[wgpu::BindGroupEntry { binding: 0, resource: buffer.as_entire_binding() }],
        });
        Ok(PosedVertices { buffer, bind_group, stride, vertex_count, instance_count: instances.count() })
    }

    /// Adds a pass that poses `instances`, as last uploaded, into `posed`.
    pub fn record(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        instances: &GpuInstances,
        posed: &PosedVertices,
    ) {
        let label = Some("skin_compute");
        let mut pass =
            encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label, timestamp_writes: None });
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, instances.bind_group(), &[]);
        pass.set_bind_group(1, &posed.bind_group, &[]);
        let groups = (posed.vertex_count as u32).div_ceil(GROUP_SIZE);
        pass.dispatch_workgroups(groups, posed.instance_count.min(instances.count()) as u32, 1);
    }
}

impl PosedVertices {
    /// The vertex buffer; instance `i` begins at vertex `i × vertices`.
    pub fn buffer(&self) -> &wgpu::Buffer {
        &self.buffer
    }

    /// Bytes per vertex.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// Position, normal and, if there are any, tangent at shader locations 0, 1 and 2.
    pub fn attributes(&self) -> &'static [wgpu::VertexAttribute] {
        const ALL: [wgpu::VertexAttribute; 3] =
            wgpu::vertex_attr_array![0 => Float32x3, 1 => Float32x3, 2 => Float32x4];
        if self.stride == 24 { &ALL[..2] } else { &ALL }
    }

    /// Copies all vertices back: `instance × vertex`, each position (3), normal (3) and tangent (4, if
    /// there are any). Waits for all submitted work.
    pub fn read(&self, context: &GpuContext) -> Result<Vec<f32>, GpuError> {
        let bytes = self.instance_count * self.vertex_count * self.stride;
        context.read(&self.buffer, bytes, bytemuck::pod_collect_to_vec)
    }
}
