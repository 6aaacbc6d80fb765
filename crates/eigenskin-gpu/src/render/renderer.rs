//! Paints a scene: light and depth at several samples per pixel, then pixels.

use bytemuck::{Pod, Zeroable};
use eigenskin_core::glam::{Vec3, Vec4};

use super::openness::{OpennessPass, ShapeBuffers};
use super::pipelines::{self, render_pipeline, texture_entry};
use super::{Camera, DrawParams, Openness, Scene, Surface, Wireframe};
use crate::context::{GpuContext, GpuError};
use crate::model::buffer_entry;
use crate::shaders;

/// Most samples of a picture: with depth they take twelve bytes each.
const MOST_SAMPLES: u64 = 24_000_000;
/// Width of outlines as a share of the smaller side, and their brightness.
pub(super) const OUTLINE_WIDTH: f32 = 0.0014;
pub(super) const OUTLINE_BRIGHTNESS: f32 = 0.45;
/// Pixels across and down of a work group, as in the kernel.
const GROUP_SIZE: u32 = 8;

pub(super) const LIGHT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba16Float;
pub(super) const DEPTH: wgpu::TextureFormat = wgpu::TextureFormat::Depth32Float;

/// Draws scenes. Compiled once, used for many pictures.
#[derive(Debug)]
pub struct Renderer {
    context: GpuContext,
    surface: wgpu::RenderPipeline,
    surface_layout: wgpu::BindGroupLayout,
    /// to floats, to bytes
    resolve: [wgpu::ComputePipeline; 2],
    resolve_layout: wgpu::BindGroupLayout,
    openness: OpennessPass,
}

/// A picture in linear light.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearPicture {
    /// `row × column`: mean over the covered samples, then their share of all
    pub pixels: Vec<Vec4>,
    /// samples per pixel that were taken, across and down
    pub samples: u32,
}

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(super) struct View {
    clip_from_world: [f32; 16],
    eye: [f32; 4],
    axes: [[f32; 4]; 3],
    lamp: [f32; 4],
    clay: [f32; 4],
    line_colour: [f32; 4],
    line_width: f32,
    is_clay: f32,
    unused: [f32; 2],
    harmonics: [[f32; 4]; 9],
}

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Picture {
    width: u32,
    height: u32,
    samples: u32,
    outline_reach: u32,
    outline_step: f32,
    outline_brightness: f32,
    unused: [u32; 2],
}

impl Renderer {
    /// Compiles the kernels.
    pub fn new(context: &GpuContext) -> Self {
        let device = context.device();
        let (surface, surface_layout) = surface_pipeline(device);
        let (resolve, resolve_layout) = resolve_pipelines(device);
        let openness = OpennessPass::new(context);
        Self { context: context.clone(), surface, surface_layout, resolve, resolve_layout, openness }
    }

    /// Draws `scene`: `row × column`, sRGB bytes, then how much of the pixel is covered. Colours are not
    /// multiplied with that; where nothing is, all four are zero.
    pub fn draw(
        &self,
        scene: &Scene,
        camera: &Camera,
        params: &DrawParams,
    ) -> Result<Vec<[u8; 4]>, GpuError> {
        self.draw_pixels(scene, camera, params, true).map(|(pixels, _)| pixels)
    }

    /// The same in linear light, as floats.
    pub fn draw_linear(
        &self,
        scene: &Scene,
        camera: &Camera,
        params: &DrawParams,
    ) -> Result<LinearPicture, GpuError> {
        let (pixels, samples) = self.draw_pixels::<[f32; 4]>(scene, camera, params, false)?;
        Ok(LinearPicture { pixels: pixels.into_iter().map(Vec4::from).collect(), samples })
    }

    /// Pixels, `row × column`, and samples per pixel across and down.
    fn draw_pixels<P: Pod>(
        &self,
        scene: &Scene,
        camera: &Camera,
        params: &DrawParams,
        packed: bool,
    ) -> Result<(Vec<P>, u32), GpuError> {
        scene.check()?;
        let context = &self.context;
        let samples = self.samples(params)?;
        let [light, depth] = self.targets(params, samples);
        let mut encoder = context.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let shape = self.shape(scene, camera, samples, &mut encoder)?;
        record_surface(&mut encoder, &self.surface, &shape, &light, &depth, scene.triangles.len());
        let bytes = size_of::<P>() * params.width as usize * params.height as usize;
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
        let pixels = context.empty_buffer("pixels", bytes, usage)?;
        let resolve = &self.resolve[usize::from(packed)];
        self.record_resolve(&mut encoder, resolve, params, samples, camera, [&light, &depth], &pixels)?;
        context.queue().submit([encoder.finish()]);
        Ok((context.read(&pixels, bytes, bytemuck::pod_collect_to_vec)?, samples))
    }

    /// What each vertex sees of the sky past the shape itself, `vertex`: shares of light and of the
    /// hemisphere on the side of the normal, then on the other side.
    pub fn openness(&self, scene: &Scene, camera: &Camera) -> Result<Vec<[f32; 4]>, GpuError> {
        scene.check()?;
        let context = &self.context;
        let mut encoder = context.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let computed = Scene { openness: Openness::Computed, ..*scene };
        let (_, shares) = self.shape_buffers(&computed, camera, &mut encoder)?;
        context.queue().submit([encoder.finish()]);
        let bytes = size_of::<[f32; 4]>() * scene.positions.len();
        context.read(&shares, bytes, bytemuck::pod_collect_to_vec)
    }

    /// Samples per pixel, as many as the GPU can hold.
    fn samples(&self, params: &DrawParams) -> Result<u32, GpuError> {
        let longest = u64::from(params.width.max(params.height));
        let limit = u64::from(self.context.device().limits().max_texture_dimension_2d);
        if longest > limit || params.width == 0 || params.height == 0 {
            return Err(GpuError::TooLarge { what: "side of the picture", size: longest, limit });
        }
        let pixels = u64::from(params.width) * u64::from(params.height);
        let fits = |&samples: &u32| {
            let across = u64::from(samples);
            across * longest <= limit && across * across * pixels <= MOST_SAMPLES
        };
        Ok((1..=params.samples.clamp(1, 8)).rev().find(fits).unwrap_or(1))
    }

    fn targets(&self, params: &DrawParams, samples: u32) -> [wgpu::TextureView; 2] {
        [LIGHT, DEPTH].map(|format| {
            let texture = self.context.device().create_texture(&wgpu::TextureDescriptor {
                label: Some("samples"),
                size: wgpu::Extent3d {
                    width: params.width * samples,
                    height: params.height * samples,
                    depth_or_array_layers: 1,
                },
                mip_level_count: 1,
                sample_count: 1,
                dimension: wgpu::TextureDimension::D2,
                format,
                usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::TEXTURE_BINDING,
                view_formats: &[],
            });
            texture.create_view(&wgpu::TextureViewDescriptor::default())
        })
    }

    /// Uploads the shape (corners, positions, normals) and finds what it hides of the sky.
    fn shape_buffers(
        &self,
        scene: &Scene,
        camera: &Camera,
        encoder: &mut wgpu::CommandEncoder,
    ) -> Result<([wgpu::Buffer; 3], wgpu::Buffer), GpuError> {
        let context = &self.context;
        let floats = |vectors: &[Vec3]| vectors.iter().flat_map(Vec3::to_array).collect::<Vec<f32>>();
        let corners = context.storage("corners", scene.triangles)?;
        let positions = context.storage("positions", &floats(scene.positions))?;
        let normals = context.storage("normals", &floats(scene.normals))?;
        let shares = match scene.openness {
            Openness::Given(shares) => context.storage("openness", shares)?,
            Openness::Everywhere => context.storage("openness", &vec![[1f32; 4]; scene.positions.len()])?,
            Openness::Computed => {
                let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
                let bytes = size_of::<[f32; 4]>() * scene.positions.len();
                let shares = context.empty_buffer("openness", bytes, usage)?;
                let buffers = ShapeBuffers { corners: &corners, positions: &positions, normals: &normals };
                self.openness.record(context, encoder, scene, camera, &buffers, &shares)?;
                shares
            }
        };
        Ok(([corners, positions, normals], shares))
    }

    /// Everything that the surface kernel reads.
    fn shape(
        &self,
        scene: &Scene,
        camera: &Camera,
        samples: u32,
        encoder: &mut wgpu::CommandEncoder,
    ) -> Result<wgpu::BindGroup, GpuError> {
        let context = &self.context;
        let ([corners, positions, normals], shares) = self.shape_buffers(scene, camera, encoder)?;
        let colours: Vec<f32> = match scene.surface {
            Surface::Clay { .. } => Vec::new(),
            Surface::Colours { colours } => colours.iter().flat_map(Vec3::to_array).collect(),
        };
        let colours = context.storage("colours", &colours)?;
        let view = context.uniform("view", &view_of(scene, camera, samples))?;
        let all = [&view, &corners, &positions, &normals, &colours, &shares];
        let entries: [wgpu::BindGroupEntry; 6] = std::array::from_fn(|binding| wgpu::BindGroupEntry {
            binding: binding as u32,
            resource: all[binding].as_entire_binding(),
        });
        Ok(context.device().create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("surface"),
            layout: &self.surface_layout,
            entries: &entries,
        }))
    }

    fn record_resolve(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        pipeline: &wgpu::ComputePipeline,
        params: &DrawParams,
        samples: u32,
        camera: &Camera,
        [light, depth]: [&wgpu::TextureView; 2],
        pixels: &wgpu::Buffer,
    ) -> Result<(), GpuError> {
        let line = OUTLINE_WIDTH * params.width.min(params.height) as f32 * samples as f32;
        let picture = Picture {
            width: params.width,
            height: params.height,
            samples,
            outline_reach: if params.outline { (line.round() as u32).max(1) } else { 0 },
            outline_step: camera.outline_step,
            outline_brightness: OUTLINE_BRIGHTNESS,
            unused: [0; 2],
        };
        let picture = self.context.uniform("picture", &picture)?;
        let label = Some("resolve");
        let bindings = self.context.device().create_bind_group(&wgpu::BindGroupDescriptor {
            label,
            layout: &self.resolve_layout,
            entries: &[
                wgpu::BindGroupEntry { binding: 0, resource: picture.as_entire_binding() },
                wgpu::BindGroupEntry { binding: 1, resource: wgpu::BindingResource::TextureView(light) },
                wgpu::BindGroupEntry { binding: 2, resource: wgpu::BindingResource::TextureView(depth) },
                wgpu::BindGroupEntry { binding: 3, resource: pixels.as_entire_binding() },
            ],
        });
        let mut pass =
            encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label, timestamp_writes: None });
        pass.set_pipeline(pipeline);
        pass.set_bind_group(0, &bindings, &[]);
        pass.dispatch_workgroups(params.width.div_ceil(GROUP_SIZE), params.height.div_ceil(GROUP_SIZE), 1);
        Ok(())
    }
}

pub(super) fn view_of(scene: &Scene, camera: &Camera, samples: u32) -> View {
    let [right, up, toward] = camera.axes;
    let lamp = scene.lighting.lamp;
    let (clay, is_clay) = match scene.surface {
        Surface::Clay { colour, inside } => (colour.extend(inside), 1.0),
        Surface::Colours { .. } => (Vec3::ZERO.extend(1.0), 0.0),
    };
    let no_lines = Wireframe { colour: Vec3::ZERO, opacity: 0.0, width: 0.0 };
    let lines = scene.wireframe.unwrap_or(no_lines);
    View {
        clip_from_world: camera.clip_from_world.to_cols_array(),
        eye: camera.eye.to_array(),
        axes: [right, up, toward].map(|axis| axis.extend(0.0).to_array()),
        lamp: (right * lamp.x + up * lamp.y + toward * lamp.z).extend(0.0).to_array(),
        clay: clay.to_array(),
        line_colour: lines.colour.extend(lines.opacity).to_array(),
        line_width: lines.width.max(0.0) * samples as f32,
        is_clay,
        unused: [0.0; 2],
        harmonics: scene.lighting.harmonics.map(|factor| factor.extend(0.0).to_array()),
    }
}

fn record_surface(
    encoder: &mut wgpu::CommandEncoder,
    pipeline: &wgpu::RenderPipeline,
    shape: &wgpu::BindGroup,
    light: &wgpu::TextureView,
    depth: &wgpu::TextureView,
    triangles: usize,
) {
    let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
        label: Some("surface"),
        color_attachments: &[Some(wgpu::RenderPassColorAttachment {
            view: light,
            depth_slice: None,
            resolve_target: None,
            ops: wgpu::Operations {
                load: wgpu::LoadOp::Clear(wgpu::Color::TRANSPARENT),
                store: wgpu::StoreOp::Store,
            },
        })],
        depth_stencil_attachment: Some(wgpu::RenderPassDepthStencilAttachment {
            view: depth,
            depth_ops: Some(wgpu::Operations { load: wgpu::LoadOp::Clear(1.0), store: wgpu::StoreOp::Store }),
            stencil_ops: None,
        }),
        ..Default::default()
    });
    pass.set_pipeline(pipeline);
    pass.set_bind_group(0, shape, &[]);
    pass.draw(0..3 * triangles as u32, 0..1);
}

/// Nearer hides farther.
pub(super) fn depth_state() -> wgpu::DepthStencilState {
    wgpu::DepthStencilState {
        format: DEPTH,
        depth_write_enabled: Some(true),
        depth_compare: Some(wgpu::CompareFunction::Less),
        stencil: wgpu::StencilState::default(),
        bias: wgpu::DepthBiasState::default(),
    }
}

fn surface_pipeline(device: &wgpu::Device) -> (wgpu::RenderPipeline, wgpu::BindGroupLayout) {
    let read = wgpu::BufferBindingType::Storage { read_only: true };
    let entries: [wgpu::BindGroupLayoutEntry; 6] = std::array::from_fn(|binding| {
        if binding == 0 {
            buffer_entry(0, wgpu::BufferBindingType::Uniform, wgpu::ShaderStages::VERTEX_FRAGMENT)
        } else {
            buffer_entry(binding as u32, read, wgpu::ShaderStages::VERTEX)
        }
    });
    render_pipeline(
        device,
        "surface",
        (shaders::SURFACE, "surface_vertex", "surface_fragment"),
        &entries,
        (LIGHT, Some(depth_state()), wgpu::MultisampleState::default()),
    )
}

/// To floats, to bytes.
fn resolve_pipelines(device: &wgpu::Device) -> ([wgpu::ComputePipeline; 2], wgpu::BindGroupLayout) {
    let stage = wgpu::ShaderStages::COMPUTE;
    let entries = [
        buffer_entry(0, wgpu::BufferBindingType::Uniform, stage),
        texture_entry(1, wgpu::TextureSampleType::Float { filterable: false }, false, stage),
        texture_entry(2, wgpu::TextureSampleType::Depth, false, stage),
        buffer_entry(3, wgpu::BufferBindingType::Storage { read_only: false }, stage),
    ];
    let (bindings, layout, module) = pipelines::parts(device, "resolve", shaders::RESOLVE, &entries);
    let label = Some("resolve");
    let pipelines = [0.0, 1.0].map(|packed| {
        device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label,
            layout: Some(&layout),
            module: &module,
            entry_point: label,
            compilation_options: wgpu::PipelineCompilationOptions {
                constants: &[("PACKED", packed)],
                ..Default::default()
            },
            cache: None,
        })
    });
    (pipelines, bindings)
}
