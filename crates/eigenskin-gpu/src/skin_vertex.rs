//! The kernel `skin_vertex`: the vertex stage of an engine's own draw.

use crate::context::GpuContext;
use crate::model::{GpuModel, buffer_entry};
use crate::shaders;

/// The kernel, ready to be put into render pipelines with any fragment shader.
#[derive(Debug)]
pub struct SkinVertex {
    module: wgpu::ShaderModule,
    constants: [(&'static str, f64); 4],
    view_layout: wgpu::BindGroupLayout,
    layout: wgpu::PipelineLayout,
}

impl SkinVertex {
    /// Compiles the kernel for `model`.
    pub fn new(context: &GpuContext, model: &GpuModel) -> Self {
        let device = context.device();
        let view_layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("view"),
            entries: &[buffer_entry(0, wgpu::BufferBindingType::Uniform, wgpu::ShaderStages::VERTEX)],
        });
        let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some("skin_vertex"),
            bind_group_layouts: &[Some(model.bind_group_layout()), Some(&view_layout)],
            immediate_size: 0,
        });
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("skin_vertex"),
            source: wgpu::ShaderSource::Wgsl(shaders::SKIN_VERTEX.into()),
        });
        Self { module, constants: model.constants(), view_layout, layout }
    }

    /// The vertex stage of a render pipeline. It needs no vertex buffer; a fragment shader gets position,
    /// normal and tangent at locations 0, 1 and 2.
    pub fn vertex_state(&self) -> wgpu::VertexState<'_> {
        wgpu::VertexState {
            module: &self.module,
            entry_point: Some("skin_vertex"),
            compilation_options: wgpu::PipelineCompilationOptions {
                constants: &self.constants,
                ..Default::default()
            },
            buffers: &[],
        }
    }

    /// Pipeline layout of a fragment shader without bindings of its own: group 0 is
    /// [`GpuInstances::bind_group`](crate::GpuInstances::bind_group), group 1 the view.
    pub fn pipeline_layout(&self) -> &wgpu::PipelineLayout {
        &self.layout
    }

    /// Layout of group 1: a uniform with the 4 × 4 matrix `clip_from_world`.
    pub fn view_layout(&self) -> &wgpu::BindGroupLayout {
        &self.view_layout
    }
}
