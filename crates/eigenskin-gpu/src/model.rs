//! A model in the memory of a GPU.

use std::sync::Arc;

use eigenskin_core::glam::Vec4;
use eigenskin_core::model::Model;

use crate::context::{GpuContext, GpuError};
use crate::tables::{ModelTables, Storage};

/// Choices when a model is uploaded.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GpuModelParams {
    /// how displacements are stored; default: 32 bits
    pub storage: Storage,
    /// `vertex`: rest tangents, w the sign of the bitangent; default: none
    pub tangents: Vec<Vec4>,
}

/// A model, uploaded once and shared by all its instances.
#[derive(Debug)]
pub struct GpuModel {
    tables: Arc<ModelTables>,
    /// bindings 1 to 5
    buffers: [wgpu::Buffer; 5],
    layout: wgpu::BindGroupLayout,
}

impl GpuModel {
    /// Uploads `model`.
    pub fn new(context: &GpuContext, model: &Model, params: &GpuModelParams) -> Result<Self, GpuError> {
        let tables = ModelTables::new(model, params.storage, &params.tangents)?;
        let buffers = [
            context.storage("vertices", tables.vertices())?,
            context.storage("influences", tables.influences())?,
            context.storage("displacements", tables.displacements())?,
            context.storage("frames", tables.frames())?,
            context.storage("tangents", tables.tangents())?,
        ];
        Ok(Self { tables: Arc::new(tables), buffers, layout: bind_group_layout(context.device()) })
    }

    /// What was uploaded.
    pub fn tables(&self) -> &Arc<ModelTables> {
        &self.tables
    }

    /// Bytes that a frame reads per vertex, on average.
    pub fn bytes_per_vertex(&self) -> f64 {
        self.tables.bytes_per_vertex()
    }

    /// Layout of bind group 0 of both kernels, for the vertex and the compute stage.
    pub fn bind_group_layout(&self) -> &wgpu::BindGroupLayout {
        &self.layout
    }

    /// Bind group 0 with the buffers of some instances.
    pub(crate) fn bind_group(
        &self,
        device: &wgpu::Device,
        counts: &wgpu::Buffer,
        joints: &wgpu::Buffer,
        coordinates: &wgpu::Buffer,
    ) -> wgpu::BindGroup {
        let [vertices, influences, displacements, frames, tangents] = &self.buffers;
        let all = [counts, vertices, influences, displacements, frames, tangents, joints, coordinates];
        let entries: [wgpu::BindGroupEntry; 8] = std::array::from_fn(|binding| wgpu::BindGroupEntry {
            binding: binding as u32,
            resource: all[binding].as_entire_binding(),
        });
        device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("model and instances"),
            layout: &self.layout,
            entries: &entries,
        })
    }

    /// What is fixed when a kernel is compiled for this model.
    pub(crate) fn constants(&self) -> [(&'static str, f64); 4] {
        let flag = |is: bool| f64::from(u8::from(is));
        [
            ("DUAL_QUATERNION", flag(self.tables.is_dual_quaternion())),
            ("HALF_STORAGE", flag(self.tables.storage() == Storage::F16)),
            ("TANGENTS", flag(!self.tables.tangents().is_empty())),
            ("JOINT_STRIDE", self.tables.joint_stride() as f64),
        ]
    }
}

fn bind_group_layout(device: &wgpu::Device) -> wgpu::BindGroupLayout {
    let entries: [wgpu::BindGroupLayoutEntry; 8] = std::array::from_fn(|binding| {
        let ty = if binding == 0 {
            wgpu::BufferBindingType::Uniform
        } else {
            wgpu::BufferBindingType::Storage { read_only: true }
        };
        buffer_entry(binding as u32, ty, wgpu::ShaderStages::COMPUTE | wgpu::ShaderStages::VERTEX)
    });
    let label = Some("model and instances");
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label, entries: &entries })
}

/// A whole buffer as a binding.
pub(crate) fn buffer_entry(
    binding: u32,
    ty: wgpu::BufferBindingType,
    visibility: wgpu::ShaderStages,
) -> wgpu::BindGroupLayoutEntry {
    wgpu::BindGroupLayoutEntry {
        binding,
        visibility,
        ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None },
        count: None,
    }
}
