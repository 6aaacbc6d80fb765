//! What both kernels give, read back.
//!
//! The vertex program is run as engines run it: its unchanged entry point is the vertex stage of a draw.
//! Every vertex of every instance is drawn as one point into a view port of one pixel (the view sends
//! all points to its middle), and a fragment shader of the test stores what it got there.

use eigenskin_core::glam::{Mat4, Vec3, Vec4};
use eigenskin_gpu::cpu::{self, PosedVertex};
use eigenskin_gpu::wgpu;
use eigenskin_gpu::{GpuContext, GpuInstances, GpuModel, SkinCompute, SkinVertex};

/// `instance × vertex`, from the compute kernel.
pub fn computed(context: &GpuContext, model: &GpuModel, instances: &GpuInstances) -> Vec<PosedVertex> {
    let skin = SkinCompute::new(context, model);
    let posed = skin.output(context, instances).unwrap();
    let mut encoder = context.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    skin.record(&mut encoder, instances, &posed);
    context.queue().submit([encoder.finish()]);
    split(&posed.read(context).unwrap(), posed.stride() / 4)
}

/// The same from its twin.
pub fn computed_by_twin(model: &GpuModel, instances: &GpuInstances) -> Vec<PosedVertex> {
    let tables = model.tables();
    let stride = tables.posed_stride();
    let mut numbers = vec![f32::NAN; instances.count() * tables.rig().vertex_count() * stride];
    cpu::skin_compute(tables, instances.frame(), &mut numbers);
    split(&numbers, stride)
}

fn split(numbers: &[f32], stride: usize) -> Vec<PosedVertex> {
    let vertices = numbers.chunks_exact(stride);
    vertices
        .map(|vertex| PosedVertex {
            position: Vec3::from_slice(vertex),
            normal: Vec3::from_slice(&vertex[3..]),
            tangent: vertex.get(6..10).map_or(Vec4::ZERO, Vec4::from_slice),
        })
        .collect()
}

const STORE: &str = "
struct Shown {
    @builtin(position) pixel: vec4<f32>,
    @location(0) position: vec3<f32>,
    @location(1) normal: vec3<f32>,
    @location(2) tangent: vec4<f32>,
}
struct Shape {
    @location(0) position: vec4<f32>,
    @location(1) normal: vec4<f32>,
}
@fragment fn shape(shown: Shown) -> Shape {
    return Shape(vec4<f32>(shown.position, 1.0), vec4<f32>(shown.normal, 1.0));
}
@fragment fn tangent(shown: Shown) -> @location(0) vec4<f32> {
    return shown.tangent;
}
";

/// `instance × vertex`, from the vertex kernel.
pub fn drawn(context: &GpuContext, model: &GpuModel, instances: &GpuInstances) -> Vec<PosedVertex> {
    let size = [model.tables().rig().vertex_count() as u32, instances.count() as u32];
    // Every point lands in the middle of the view port.
    let to_middle = Mat4::from_cols(Vec4::ZERO, Vec4::ZERO, Vec4::ZERO, Vec4::W);
    let stage = PointStage::new(context, model, to_middle, size);
    let one_by_one = |pass: &mut wgpu::RenderPass| {
        for instance in 0..size[1] {
            for vertex in 0..size[0] {
                pass.set_viewport(vertex as f32, instance as f32, 1.0, 1.0, 0.0, 1.0);
                pass.draw(vertex..vertex + 1, instance..instance + 1);
            }
        }
    };
    let shape = stage.draw("shape", 2, instances, one_by_one);
    let tangents = stage.draw("tangent", 1, instances, one_by_one);
    let texels = shape[0].iter().zip(&shape[1]).zip(&tangents[0]);
    texels
        .map(|((position, normal), &tangent)| {
            assert_eq!((position.w, normal.w), (1.0, 1.0), "a vertex was not drawn");
            PosedVertex { position: position.truncate(), normal: normal.truncate(), tangent }
        })
        .collect()
}

/// Where all vertices of the first instance are seen: `row × column`, their position and one, or zeros.
pub fn seen(
    context: &GpuContext,
    model: &GpuModel,
    instances: &GpuInstances,
    clip_from_world: Mat4,
    size: [u32; 2],
) -> Vec<Vec4> {
    let stage = PointStage::new(context, model, clip_from_world, size);
    let vertices = model.tables().rig().vertex_count() as u32;
    stage.draw("shape", 2, instances, |pass| pass.draw(0..vertices, 0..1)).swap_remove(0)
}

/// Draws points with the kernel into textures of floats.
struct PointStage<'a> {
    context: &'a GpuContext,
    kernel: SkinVertex,
    view: wgpu::BindGroup,
    store: wgpu::ShaderModule,
    size: [u32; 2],
}

impl<'a> PointStage<'a> {
    fn new(context: &'a GpuContext, model: &GpuModel, clip_from_world: Mat4, size: [u32; 2]) -> Self {
        let kernel = SkinVertex::new(context, model);
        let device = context.device();
        let matrix = device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 64,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let bytes: Vec<u8> = clip_from_world.to_cols_array().iter().flat_map(|x| x.to_le_bytes()).collect();
        context.queue().write_buffer(&matrix, 0, &bytes);
        let view = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: kernel.view_layout(),
            entries: &[wgpu::BindGroupEntry { binding: 0, resource: matrix.as_entire_binding() }],
        });
        let store = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl(STORE.into()),
        });
        Self { context, kernel, view, store, size }
    }

    /// `target → row × column`.
    fn draw(
        &self,
        entry_point: &str,
        targets: usize,
        instances: &GpuInstances,
        draw: impl Fn(&mut wgpu::RenderPass),
    ) -> Vec<Vec<Vec4>> {
        let device = self.context.device();
        let format = wgpu::TextureFormat::Rgba32Float;
        let pipeline = device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
            label: None,
            layout: Some(self.kernel.pipeline_layout()),
            vertex: self.kernel.vertex_state(),
            primitive: wgpu::PrimitiveState {
                topology: wgpu::PrimitiveTopology::PointList,
                ..Default::default()
            },
            depth_stencil: None,
            multisample: wgpu::MultisampleState::default(),
            fragment: Some(wgpu::FragmentState {
                module: &self.store,
                entry_point: Some(entry_point),
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                targets: &vec![Some(format.into()); targets],
            }),
            multiview_mask: None,
            cache: None,
        });
        let [width, height] = self.size;
        let size = wgpu::Extent3d { width, height, depth_or_array_layers: 1 };
        let textures: Vec<wgpu::Texture> = (0..targets)
            .map(|_| {
                device.create_texture(&wgpu::TextureDescriptor {
                    label: None,
                    size,
                    mip_level_count: 1,
                    sample_count: 1,
                    dimension: wgpu::TextureDimension::D2,
                    format,
                    usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
                    view_formats: &[],
                })
            })
            .collect();
        let views: Vec<wgpu::TextureView> =
            textures.iter().map(|t| t.create_view(&wgpu::TextureViewDescriptor::default())).collect();
        let attachments: Vec<_> = views
            .iter()
            .map(|view| {
                Some(wgpu::RenderPassColorAttachment {
                    view,
                    depth_slice: None,
                    resolve_target: None,
                    ops: wgpu::Operations {
                        load: wgpu::LoadOp::Clear(wgpu::Color::TRANSPARENT),
                        store: wgpu::StoreOp::Store,
                    },
                })
            })
            .collect();
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        {
            let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
                color_attachments: &attachments,
                ..Default::default()
            });
            pass.set_pipeline(&pipeline);
            pass.set_bind_group(0, instances.bind_group(), &[]);
            pass.set_bind_group(1, &self.view, &[]);
            draw(&mut pass);
        }
        let row = (16 * width).next_multiple_of(256);
        let copies: Vec<wgpu::Buffer> = textures
            .iter()
            .map(|texture| {
                let buffer = device.create_buffer(&wgpu::BufferDescriptor {
                    label: None,
                    size: u64::from(row * height),
                    usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
                    mapped_at_creation: false,
                });
                let layout =
                    wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(row), rows_per_image: None };
                let to = wgpu::TexelCopyBufferInfo { buffer: &buffer, layout };
                encoder.copy_texture_to_buffer(texture.as_image_copy(), to, size);
                buffer
            })
            .collect();
        self.context.queue().submit([encoder.finish()]);
        copies.iter().map(|copy| self.texels(copy, row as usize)).collect()
    }

    fn texels(&self, copy: &wgpu::Buffer, row: usize) -> Vec<Vec4> {
        copy.map_async(wgpu::MapMode::Read, .., |result| result.unwrap());
        self.context.device().poll(wgpu::PollType::wait_indefinitely()).unwrap();
        let bytes = copy.get_mapped_range(..).unwrap();
        let float = |at: usize| f32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let texel = |at: usize| Vec4::new(float(at), float(at + 4), float(at + 8), float(at + 12));
        let [width, height] = self.size.map(|n| n as usize);
        (0..height).flat_map(|y| (0..width).map(move |x| texel(y * row + 16 * x))).collect()
    }
}
