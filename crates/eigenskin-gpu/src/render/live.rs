//! A shape that moves, drawn at frame rate into a window or a texture.
//!
//! It looks like the [`Renderer`](super::Renderer)'s pictures, with one difference: how open folds are
//! is estimated from the depth of the picture itself, which takes one pass instead of 160.

use bytemuck::{Pod, Zeroable};
use eigenskin_core::glam::Vec3;

use super::pipelines::{render_pipeline, texture_entry};
use super::renderer::{DEPTH, LIGHT, OUTLINE_BRIGHTNESS, OUTLINE_WIDTH, View, depth_state, view_of};
use super::{Camera, Scene, Surface, Wireframe};
use crate::context::{GpuContext, GpuError};
use crate::model::buffer_entry;
use crate::shaders;

/// Samples per pixel, as in the kernel.
const SAMPLES: u32 = 4;
/// How far folds look for what hides them, as a share of the radius, and at most, in pixels.
const FOLD_REACH: f32 = 0.11;
const MOST_FOLD_PIXELS: f32 = 140.0;
/// How much light folds lose: clay, and colours that a legend explains.
const FOLD_STRENGTH: [f32; 2] = [2.6, 1.0];

/// Draws frames of one mesh. Compiled once; textures follow the size of what is drawn into.
#[derive(Debug)]
pub struct LiveRenderer {
    context: GpuContext,
    surface: wgpu::RenderPipeline,
    surface_layout: wgpu::BindGroupLayout,
    resolve: wgpu::RenderPipeline,
    resolve_layout: wgpu::BindGroupLayout,
    corners: wgpu::Buffer,
    corner_count: u32,
    vertex_count: usize,
    heat: wgpu::Buffer,
    heat_colours: u32,
    view: wgpu::Buffer,
    live: wgpu::Buffer,
    picture: wgpu::Buffer,
    targets: Option<Targets>,
}

/// One frame.
#[derive(Debug, Clone, Copy)]
pub struct LiveFrame<'a> {
    /// what is shown, `vertex × 6`: position and normal, as `SkinCompute` writes them
    pub shape: &'a wgpu::Buffer,
    /// what the surface shows
    pub surface: LiveSurface<'a>,
    /// from where
    pub camera: &'a Camera,
    /// pixels per unit of length at what is looked at
    pub pixels_per_unit: f64,
    /// half the size of what is looked at
    pub radius: f64,
    /// lines along all edges
    pub wireframe: Option<Wireframe>,
    /// what is behind
    pub background: Background,
    /// pixels across and down
    pub size: [u32; 2],
}

/// What the surface of a frame shows.
#[derive(Debug, Clone, Copy)]
pub enum LiveSurface<'a> {
    /// the clay of the report's pictures
    Clay,
    /// how far each vertex is from the same vertex of another shape
    Heat {
        /// the other shape, `vertex × 6`
        compared: &'a wgpu::Buffer,
        /// the distance that has the last colour
        largest: f32,
    },
}

/// A soft gradient, in linear light.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Background {
    /// behind the middle
    pub middle: Vec3,
    /// toward the corners
    pub rim: Vec3,
}

#[derive(Debug)]
struct Targets {
    size: [u32; 2],
    samples: wgpu::TextureView,
    light: wgpu::TextureView,
    depth: wgpu::TextureView,
}

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Live {
    heat_per_unit: f32,
    heat_colours: u32,
    unused: [u32; 2],
}

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Picture {
    world_from_clip: [f32; 16],
    background_middle: [f32; 4],
    background_rim: [f32; 4],
    size: [f32; 2],
    fold_radius: f32,
    fold_pixels: f32,
    outline_step: f32,
    outline_reach: f32,
    outline_brightness: f32,
    fold_strength: f32,
}

impl LiveRenderer {
    /// Compiles the kernels for targets of `format`, one that does not convert to sRGB by itself, and
    /// uploads the mesh's `triangles`. `heat` are the colours from no distance to the largest, linear
    /// light.
    pub fn new(
        context: &GpuContext,
        format: wgpu::TextureFormat,
        triangles: &[[u32; 3]],
        vertex_count: usize,
        heat: &[Vec3],
    ) -> Result<Self, GpuError> {
        for (triangle, corners) in triangles.iter().enumerate() {
            if let Some(&vertex) = corners.iter().find(|&&vertex| vertex as usize >= vertex_count) {
                return Err(GpuError::NoSuchVertex { triangle, vertex, vertices: vertex_count });
            }
        }
        let colours: Vec<[f32; 4]> = heat.iter().map(|colour| colour.extend(1.0).to_array()).collect();
        let (surface, surface_layout) = surface_pipeline(context.device());
        let (resolve, resolve_layout) = resolve_pipeline(context.device(), format);
        let uniform = |what, bytes| {
            context.empty_buffer(what, bytes, wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST)
        };
        Ok(Self {
            context: context.clone(),
            surface,
            surface_layout,
            resolve,
            resolve_layout,
            corners: context.storage("corners", triangles)?,
            corner_count: 3 * triangles.len() as u32,
            vertex_count,
            heat: context.storage("heat colours", &colours)?,
            heat_colours: colours.len() as u32,
            view: uniform("view", size_of::<View>())?,
            live: uniform("live", size_of::<Live>())?,
            picture: uniform("picture", size_of::<Picture>())?,
            targets: None,
        })
    }

    /// A shape that is not posed on the GPU, in the layout that frames take.
    pub fn shape(&self, positions: &[Vec3], normals: &[Vec3]) -> Result<wgpu::Buffer, GpuError> {
        for (what, given) in [("positions", positions.len()), ("normals", normals.len())] {
            if given != self.vertex_count {
                return Err(GpuError::ShapeLength { what, given, vertices: self.vertex_count });
            }
        }
        let numbers: Vec<[f32; 3]> =
            positions.iter().zip(normals).flat_map(|(p, n)| [p.to_array(), n.to_array()]).collect();
        self.context.storage("shape", &numbers)
    }

    /// Adds passes that draw `frame` over all of `output`. One frame at a time: submit it before the next.
    ///
    /// # Panics
    /// If the size is zero.
    pub fn record(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        output: &wgpu::TextureView,
        frame: &LiveFrame,
    ) -> Result<(), GpuError> {
        assert!(frame.size[0] > 0 && frame.size[1] > 0, "a frame has pixels");
        let longest = u64::from(frame.size[0].max(frame.size[1]));
        let limit = u64::from(self.context.device().limits().max_texture_dimension_2d);
        if longest > limit {
            return Err(GpuError::TooLarge { what: "side of the picture", size: longest, limit });
        }
        self.upload(frame);
        if self.targets.as_ref().is_none_or(|targets| targets.size != frame.size) {
            self.targets = Some(Targets::new(self.context.device(), frame.size));
        }
        let Some(targets) = &self.targets else { return Ok(()) };
        let compared = match frame.surface {
            LiveSurface::Clay => frame.shape,
            LiveSurface::Heat { compared, .. } => compared,
        };
        let bindings = |label, layout, entries: &[wgpu::BindGroupEntry]| {
            self.context.device().create_bind_group(&wgpu::BindGroupDescriptor { label, layout, entries })
        };
        let buffers = [
            (0, &self.view),
            (1, &self.corners),
            (6, frame.shape),
            (7, compared),
            (8, &self.heat),
            (9, &self.live),
        ];
        let entries = buffers
            .map(|(binding, buffer)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() });
        let shape = bindings(Some("live surface"), &self.surface_layout, &entries);
        let texture = wgpu::BindingResource::TextureView;
        let pixels = bindings(
            Some("live resolve"),
            &self.resolve_layout,
            &[
                wgpu::BindGroupEntry { binding: 0, resource: self.picture.as_entire_binding() },
                wgpu::BindGroupEntry { binding: 1, resource: texture(&targets.light) },
                wgpu::BindGroupEntry { binding: 2, resource: texture(&targets.depth) },
            ],
        );
        targets.record_surface(encoder, &self.surface, &shape, self.corner_count);
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("live resolve"),
            color_attachments: &[Some(colour_attachment(output, None))],
            ..Default::default()
        });
        pass.set_pipeline(&self.resolve);
        pass.set_bind_group(0, &pixels, &[]);
        pass.draw(0..3, 0..1);
        Ok(())
    }

    fn upload(&self, frame: &LiveFrame) {
        let queue = self.context.queue();
        let mut scene = Scene::new(&[], &[], &[]);
        scene.wireframe = frame.wireframe;
        let mut live = Live { heat_per_unit: 0.0, heat_colours: self.heat_colours, unused: [0; 2] };
        let is_heat = matches!(frame.surface, LiveSurface::Heat { .. }) && self.heat_colours > 1;
        if let (LiveSurface::Heat { largest, .. }, true) = (frame.surface, is_heat) {
            scene.surface = Surface::Colours { colours: &[] };
            live.heat_per_unit = 1.0 / largest.max(1e-30);
        }
        let shorter = frame.size[0].min(frame.size[1]) as f32;
        let fold_radius = FOLD_REACH * frame.radius as f32;
        let picture = Picture {
            world_from_clip: frame.camera.clip_from_world.inverse().to_cols_array(),
            background_middle: frame.background.middle.extend(1.0).to_array(),
            background_rim: frame.background.rim.extend(1.0).to_array(),
            size: frame.size.map(|pixels| pixels as f32),
            fold_radius,
            fold_pixels: (fold_radius * frame.pixels_per_unit as f32).min(MOST_FOLD_PIXELS),
            outline_step: frame.camera.outline_step,
            outline_reach: (OUTLINE_WIDTH * shorter).round().max(1.0),
            outline_brightness: OUTLINE_BRIGHTNESS,
            fold_strength: FOLD_STRENGTH[usize::from(is_heat)],
        };
        queue.write_buffer(&self.view, 0, bytemuck::bytes_of(&view_of(&scene, frame.camera, 1)));
        queue.write_buffer(&self.live, 0, bytemuck::bytes_of(&live));
        queue.write_buffer(&self.picture, 0, bytemuck::bytes_of(&picture));
    }
}

impl Targets {
    fn new(device: &wgpu::Device, size: [u32; 2]) -> Self {
        let texture = |format, sample_count, usage| {
            let texture = device.create_texture(&wgpu::TextureDescriptor {
                label: Some("live"),
                size: wgpu::Extent3d { width: size[0], height: size[1], depth_or_array_layers: 1 },
                mip_level_count: 1,
                sample_count,
                dimension: wgpu::TextureDimension::D2,
                format,
                usage: wgpu::TextureUsages::RENDER_ATTACHMENT | usage,
                view_formats: &[],
            });
            texture.create_view(&wgpu::TextureViewDescriptor::default())
        };
        let read = wgpu::TextureUsages::TEXTURE_BINDING;
        Self {
            size,
            samples: texture(LIGHT, SAMPLES, wgpu::TextureUsages::empty()),
            light: texture(LIGHT, 1, read),
            depth: texture(DEPTH, SAMPLES, read),
        }
    }

    fn record_surface(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        pipeline: &wgpu::RenderPipeline,
        shape: &wgpu::BindGroup,
        corner_count: u32,
    ) {
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("live surface"),
            color_attachments: &[Some(colour_attachment(&self.samples, Some(&self.light)))],
            depth_stencil_attachment: Some(wgpu::RenderPassDepthStencilAttachment {
                view: &self.depth,
                depth_ops: Some(wgpu::Operations {
                    load: wgpu::LoadOp::Clear(1.0),
                    store: wgpu::StoreOp::Store,
                }),
                stencil_ops: None,
            }),
            ..Default::default()
        });
        pass.set_pipeline(pipeline);
        pass.set_bind_group(0, shape, &[]);
        pass.draw(0..corner_count, 0..1);
    }
}

/// Cleared; only the resolved texels are kept where samples are resolved.
fn colour_attachment<'a>(
    view: &'a wgpu::TextureView,
    resolve_target: Option<&'a wgpu::TextureView>,
) -> wgpu::RenderPassColorAttachment<'a> {
    let store = if resolve_target.is_some() { wgpu::StoreOp::Discard } else { wgpu::StoreOp::Store };
    let ops = wgpu::Operations { load: wgpu::LoadOp::Clear(wgpu::Color::TRANSPARENT), store };
    wgpu::RenderPassColorAttachment { view, depth_slice: None, resolve_target, ops }
}

fn surface_pipeline(device: &wgpu::Device) -> (wgpu::RenderPipeline, wgpu::BindGroupLayout) {
    let read = wgpu::BufferBindingType::Storage { read_only: true };
    let uniform = wgpu::BufferBindingType::Uniform;
    let vertex = wgpu::ShaderStages::VERTEX;
    let entries = [
        buffer_entry(0, uniform, wgpu::ShaderStages::VERTEX_FRAGMENT),
        buffer_entry(1, read, vertex),
        buffer_entry(6, read, vertex),
        buffer_entry(7, read, vertex),
        buffer_entry(8, read, vertex),
        buffer_entry(9, uniform, vertex),
    ];
    let multisample = wgpu::MultisampleState { count: SAMPLES, ..Default::default() };
    render_pipeline(
        device,
        "live surface",
        (shaders::LIVE_SURFACE, "live_vertex", "surface_fragment"),
        &entries,
        (LIGHT, Some(depth_state()), multisample),
    )
}

fn resolve_pipeline(
    device: &wgpu::Device,
    format: wgpu::TextureFormat,
) -> (wgpu::RenderPipeline, wgpu::BindGroupLayout) {
    let stage = wgpu::ShaderStages::FRAGMENT;
    let entries = [
        buffer_entry(0, wgpu::BufferBindingType::Uniform, stage),
        texture_entry(1, wgpu::TextureSampleType::Float { filterable: false }, false, stage),
        texture_entry(2, wgpu::TextureSampleType::Depth, true, stage),
    ];
    render_pipeline(
        device,
        "live resolve",
        (shaders::LIVE_RESOLVE, "whole_picture", "live_resolve"),
        &entries,
        (format, None, wgpu::MultisampleState::default()),
    )
}
