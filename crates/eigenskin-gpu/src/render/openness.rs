//! The kernels of `openness.wgsl`: what vertices see of the sky past the shape itself.

use bytemuck::{Pod, Zeroable};
use eigenskin_core::glam::{DVec3, Vec3};

use super::{Camera, Scene};
use crate::context::{GpuContext, GpuError};
use crate::model::buffer_entry;
use crate::shaders;

/// Directions that stand for the sky: at most as many as a texture may have layers.
const DIRECTIONS: usize = 160;
/// Texels of a depth map, across and down.
const MAP_SIZE: u32 = 192;
/// Vertices per work group, as in the kernel.
const GROUP_SIZE: u32 = 64;

/// The kernels, compiled, and the depth maps.
#[derive(Debug)]
pub(super) struct OpennessPass {
    depth: wgpu::RenderPipeline,
    look_up: wgpu::ComputePipeline,
    shape_layout: wgpu::BindGroupLayout,
    look_up_layout: wgpu::BindGroupLayout,
    maps: wgpu::Texture,
}

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Sky {
    centre: [f32; 4],
    vertices: u32,
    directions: u32,
    map_size: u32,
    unused: u32,
}

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Direction {
    right: [f32; 4],
    up: [f32; 4],
    toward: [f32; 4],
}

/// Buffers of a shape.
pub(super) struct ShapeBuffers<'a> {
    pub corners: &'a wgpu::Buffer,
    pub positions: &'a wgpu::Buffer,
    pub normals: &'a wgpu::Buffer,
}

impl OpennessPass {
    pub fn new(context: &GpuContext) -> Self {
        let device = context.device();
        let both = wgpu::ShaderStages::VERTEX | wgpu::ShaderStages::COMPUTE;
        let read = wgpu::BufferBindingType::Storage { read_only: true };
        let entries: [wgpu::BindGroupLayoutEntry; 4] = std::array::from_fn(|binding| {
            let ty = if binding == 0 { wgpu::BufferBindingType::Uniform } else { read };
            buffer_entry(binding as u32, ty, both)
        });
        let label = Some("openness");
        let shape_layout =
            device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label, entries: &entries });
        let maps_entry = wgpu::BindGroupLayoutEntry {
            binding: 0,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Texture {
                sample_type: wgpu::TextureSampleType::Depth,
                view_dimension: wgpu::TextureViewDimension::D2Array,
                multisampled: false,
            },
            count: None,
        };
        let writable = wgpu::BufferBindingType::Storage { read_only: false };
        let look_up_layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label,
            entries: &[maps_entry, buffer_entry(1, writable, wgpu::ShaderStages::COMPUTE)],
        });
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label,
            source: wgpu::ShaderSource::Wgsl(shaders::OPENNESS.into()),
        });
        let maps = device.create_texture(&wgpu::TextureDescriptor {
            label,
            size: wgpu::Extent3d {
                width: MAP_SIZE,
                height: MAP_SIZE,
                depth_or_array_layers: DIRECTIONS as u32,
            },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: wgpu::TextureFormat::Depth32Float,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::TEXTURE_BINDING,
            view_formats: &[],
        });
        Self {
            depth: depth_pipeline(device, &module, &shape_layout),
            look_up: look_up_pipeline(device, &module, &shape_layout, &look_up_layout),
            shape_layout,
            look_up_layout,
            maps,
        }
    }

    /// Adds passes that write the shares of all vertices into `shares`.
    pub fn record(
        &self,
        context: &GpuContext,
        encoder: &mut wgpu::CommandEncoder,
        scene: &Scene,
        camera: &Camera,
        buffers: &ShapeBuffers,
        shares: &wgpu::Buffer,
    ) -> Result<(), GpuError> {
        let device = context.device();
        let groups = (scene.positions.len() as u32).div_ceil(GROUP_SIZE);
        let limit = device.limits().max_compute_workgroups_per_dimension;
        if groups > limit {
            let (size, limit) = (u64::from(groups), u64::from(limit));
            return Err(GpuError::TooLarge { what: "number of work groups", size, limit });
        }
        let sky = context.uniform("sky", &sky_around(scene.positions))?;
        let directions = context.storage("directions of the sky", &directions(scene, camera))?;
        let all = [&sky, &directions, buffers.positions, buffers.normals];
        let entries: [wgpu::BindGroupEntry; 4] = std::array::from_fn(|binding| wgpu::BindGroupEntry {
            binding: binding as u32,
            resource: all[binding].as_entire_binding(),
        });
        let label = Some("openness");
        let shape = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label,
            layout: &self.shape_layout,
            entries: &entries,
        });
        for direction in 0..DIRECTIONS as u32 {
            self.record_map(encoder, &shape, direction, buffers.corners, 3 * scene.triangles.len() as u32);
        }
        let maps = self.maps.create_view(&wgpu::TextureViewDescriptor {
            dimension: Some(wgpu::TextureViewDimension::D2Array),
            ..Default::default()
        });
        let look_up = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label,
            layout: &self.look_up_layout,
            entries: &[
                wgpu::BindGroupEntry { binding: 0, resource: wgpu::BindingResource::TextureView(&maps) },
                wgpu::BindGroupEntry { binding: 1, resource: shares.as_entire_binding() },
            ],
        });
        let mut pass =
            encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label, timestamp_writes: None });
        pass.set_pipeline(&self.look_up);
        pass.set_bind_group(0, &shape, &[]);
        pass.set_bind_group(1, &look_up, &[]);
        pass.dispatch_workgroups(groups, 1, 1);
        Ok(())
    }

    fn record_map(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        shape: &wgpu::BindGroup,
        direction: u32,
        corners: &wgpu::Buffer,
        corner_count: u32,
    ) {
        let view = self.maps.create_view(&wgpu::TextureViewDescriptor {
            dimension: Some(wgpu::TextureViewDimension::D2),
            base_array_layer: direction,
            array_layer_count: Some(1),
            ..Default::default()
        });
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("depth map"),
            depth_stencil_attachment: Some(wgpu::RenderPassDepthStencilAttachment {
                view: &view,
                depth_ops: Some(wgpu::Operations {
                    load: wgpu::LoadOp::Clear(1.0),
                    store: wgpu::StoreOp::Store,
                }),
                stencil_ops: None,
            }),
            ..Default::default()
        });
        pass.set_pipeline(&self.depth);
        pass.set_bind_group(0, shape, &[]);
        pass.set_index_buffer(corners.slice(..), wgpu::IndexFormat::Uint32);
        pass.draw_indexed(0..corner_count, 0, direction..direction + 1);
    }
}

fn depth_pipeline(
    device: &wgpu::Device,
    module: &wgpu::ShaderModule,
    shape_layout: &wgpu::BindGroupLayout,
) -> wgpu::RenderPipeline {
    let label = Some("openness_depth");
    let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label,
        bind_group_layouts: &[Some(shape_layout)],
        immediate_size: 0,
    });
    device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label,
        layout: Some(&layout),
        vertex: wgpu::VertexState {
            module,
            entry_point: label,
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            buffers: &[],
        },
        primitive: wgpu::PrimitiveState::default(),
        depth_stencil: Some(super::renderer::depth_state()),
        multisample: wgpu::MultisampleState::default(),
        fragment: None,
        multiview_mask: None,
        cache: None,
    })
}

fn look_up_pipeline(
    device: &wgpu::Device,
    module: &wgpu::ShaderModule,
    shape_layout: &wgpu::BindGroupLayout,
    look_up_layout: &wgpu::BindGroupLayout,
) -> wgpu::ComputePipeline {
    let label = Some("openness");
    let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label,
        bind_group_layouts: &[Some(shape_layout), Some(look_up_layout)],
        immediate_size: 0,
    });
    device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label,
        layout: Some(&layout),
        module,
        entry_point: label,
        compilation_options: wgpu::PipelineCompilationOptions::default(),
        cache: None,
    })
}

/// A sphere around the shape; not the smallest one.
fn sky_around(positions: &[Vec3]) -> Sky {
    let low = positions.iter().copied().fold(Vec3::INFINITY, Vec3::min);
    let high = positions.iter().copied().fold(Vec3::NEG_INFINITY, Vec3::max);
    let centre = if positions.is_empty() { Vec3::ZERO } else { 0.5 * (low + high) };
    let radius = positions.iter().map(|p| p.distance(centre)).fold(0.0, f32::max);
    Sky {
        centre: centre.extend(if radius > 0.0 { radius } else { 1.0 }).to_array(),
        vertices: positions.len() as u32,
        directions: DIRECTIONS as u32,
        map_size: MAP_SIZE,
        unused: 0,
    }
}

/// Directions spread evenly over the sphere (a golden spiral), with the light from there.
fn directions(scene: &Scene, camera: &Camera) -> Vec<Direction> {
    let golden_angle = std::f64::consts::PI * (3.0 - 5f64.sqrt());
    (0..DIRECTIONS)
        .map(|index| {
            let y = 1.0 - (2.0 * index as f64 + 1.0) / DIRECTIONS as f64;
            let ring = (1.0 - y * y).max(0.0).sqrt();
            let (sine, cosine) = (golden_angle * index as f64).sin_cos();
            let local = DVec3::new(ring * cosine, y, ring * sine).as_vec3();
            let [right, up, toward] = camera.axes;
            let space = (right * local.x + up * local.y + toward * local.z).normalize_or(Vec3::Z);
            let (right, up) = space.any_orthonormal_pair();
            Direction {
                right: right.extend(0.0).to_array(),
                up: up.extend(0.0).to_array(),
                toward: space.extend(scene.lighting.brightness(local)).to_array(),
            }
        })
        .collect()
}
