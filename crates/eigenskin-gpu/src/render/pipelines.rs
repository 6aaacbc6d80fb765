//! What pipelines of pictures have in common.

/// A texture as a binding, read texel by texel.
pub(super) fn texture_entry(
    binding: u32,
    sample_type: wgpu::TextureSampleType,
    multisampled: bool,
    visibility: wgpu::ShaderStages,
) -> wgpu::BindGroupLayoutEntry {
    let view_dimension = wgpu::TextureViewDimension::D2;
    let ty = wgpu::BindingType::Texture { sample_type, view_dimension, multisampled };
    wgpu::BindGroupLayoutEntry { binding, visibility, ty, count: None }
}

/// One bind group and the layout of pipelines that use it alone, with the compiled text.
pub(super) fn parts(
    device: &wgpu::Device,
    name: &'static str,
    text: &str,
    entries: &[wgpu::BindGroupLayoutEntry],
) -> (wgpu::BindGroupLayout, wgpu::PipelineLayout, wgpu::ShaderModule) {
    let label = Some(name);
    let bindings = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label, entries });
    let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label,
        bind_group_layouts: &[Some(&bindings)],
        immediate_size: 0,
    });
    let source = wgpu::ShaderSource::Wgsl(text.into());
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor { label, source });
    (bindings, layout, module)
}

/// A pipeline with one bind group: from (text, vertex stage, fragment stage) to (format, depth, samples).
pub(super) fn render_pipeline(
    device: &wgpu::Device,
    name: &'static str,
    (text, vertex, fragment): (&str, &str, &str),
    entries: &[wgpu::BindGroupLayoutEntry],
    (format, depth_stencil, multisample): (
        wgpu::TextureFormat,
        Option<wgpu::DepthStencilState>,
        wgpu::MultisampleState,
    ),
) -> (wgpu::RenderPipeline, wgpu::BindGroupLayout) {
    let label = Some(name);
    let (bindings, layout, module) = parts(device, name, text, entries);
    let pipeline = device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label,
        layout: Some(&layout),
        vertex: wgpu::VertexState {
            module: &module,
            entry_point: Some(vertex),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            buffers: &[],
        },
        primitive: wgpu::PrimitiveState::default(),
        depth_stencil,
        multisample,
        fragment: Some(wgpu::FragmentState {
            module: &module,
            entry_point: Some(fragment),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            targets: &[Some(format.into())],
        }),
        multiview_mask: None,
        cache: None,
    });
    (pipeline, bindings)
}
