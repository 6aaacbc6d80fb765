//! A GPU without a window, and what can go wrong with one.

/// A device to compute and draw with.
#[derive(Debug, Clone)]
pub struct GpuContext {
    device: wgpu::Device,
    queue: wgpu::Queue,
    name: String,
    is_imitated: bool,
}

/// What can go wrong on the way to a GPU and back.
#[derive(Debug, thiserror::Error)]
pub enum GpuError {
    /// There is nothing to compute with.
    #[error(
        "there is no GPU that wgpu can use ({reason}); install a Vulkan driver, for example Debian's mesa-vulkan-drivers with libegl1 and libgl1-mesa-dri, which also computes on the CPU"
    )]
    NoAdapter {
        /// what wgpu said
        reason: String,
    },
    /// The driver did not open the device.
    #[error("the GPU {adapter:?} could not be opened: {reason}")]
    NoDevice {
        /// the GPU's name
        adapter: String,
        /// what the driver said
        reason: String,
    },
    /// Chains of deformers have no map per vertex.
    #[error(
        "the model's base is the deformer stack {name:?}, which have no map per vertex; take a model that was fitted on a skinning"
    )]
    Deformers {
        /// name of the chain
        name: String,
    },
    /// Tangents of another mesh.
    #[error("{given} tangents were given for a mesh of {vertices} vertices; give one per vertex, or none")]
    TangentCount {
        /// tangents given
        given: usize,
        /// vertices of the rig
        vertices: usize,
    },
    /// A list that does not belong to the shape.
    #[error("{given} {what} were given for a shape of {vertices} vertices")]
    ShapeLength {
        /// what the list holds
        what: &'static str,
        /// values in it
        given: usize,
        /// values it should have
        vertices: usize,
    },
    /// A triangle of vertices that are not there.
    #[error("triangle {triangle} names vertex {vertex} of a shape of {vertices} vertices")]
    NoSuchVertex {
        /// index of the triangle
        triangle: usize,
        /// the vertex it names
        vertex: u32,
        /// vertices there are
        vertices: usize,
    },
    /// More coordinates than 16 bits can number.
    #[error("the model has {count} coordinates, 16-bit storage can number 65536; take 32-bit storage")]
    TooManyCoordinates {
        /// coordinates of the model
        count: usize,
    },
    /// A buffer or picture that the device cannot hold.
    #[error("the {what} would take {size}, this GPU allows {limit}; take fewer instances or a smaller size")]
    TooLarge {
        /// what it is
        what: &'static str,
        /// bytes, pixels or work groups needed
        size: u64,
        /// most there can be
        limit: u64,
    },
    /// Results did not come back.
    #[error("the GPU gave no results back: {reason}")]
    Lost {
        /// what wgpu said
        reason: String,
    },
}

impl GpuContext {
    /// Opens the best GPU there is, without a window. Falls back to one that the CPU imitates.
    pub fn headless() -> Result<Self, GpuError> {
        // OpenGL is asked last: it may have no storage buffers in the vertex stage.
        let adapter =
            adapter_of(wgpu::Backends::PRIMARY).or_else(|_| adapter_of(wgpu::Backends::SECONDARY))?;
        Self::open(&adapter)
    }

    /// Opens the best GPU that can show its pictures on `surface`, a window of `instance`.
    pub fn for_surface(
        instance: &wgpu::Instance,
        surface: &wgpu::Surface,
    ) -> Result<(Self, wgpu::Adapter), GpuError> {
        let wanted = wgpu::RequestAdapterOptions {
            power_preference: wgpu::PowerPreference::HighPerformance,
            compatible_surface: Some(surface),
            ..Default::default()
        };
        let adapter = pollster::block_on(instance.request_adapter(&wanted))
            .map_err(|error| GpuError::NoAdapter { reason: error.to_string() })?;
        Ok((Self::open(&adapter)?, adapter))
    }

    fn open(adapter: &wgpu::Adapter) -> Result<Self, GpuError> {
        let wgpu::AdapterInfo { name, device_type, .. } = adapter.get_info();
        let is_imitated = device_type == wgpu::DeviceType::Cpu;
        // WebGPU's default limits, except for how large buffers may be: meshes times instances grow.
        let most = adapter.limits();
        let limits = wgpu::Limits {
            max_buffer_size: most.max_buffer_size,
            max_storage_buffer_binding_size: most.max_storage_buffer_binding_size,
            max_texture_dimension_2d: most.max_texture_dimension_2d,
            ..wgpu::Limits::default()
        };
        let wanted = wgpu::DeviceDescriptor {
            label: Some("eigenskin"),
            required_limits: limits,
            ..Default::default()
        };
        let (device, queue) = pollster::block_on(adapter.request_device(&wanted))
            .map_err(|error| GpuError::NoDevice { adapter: name.clone(), reason: error.to_string() })?;
        Ok(Self { device, queue, name, is_imitated })
    }

    /// Works on an engine's own device.
    pub fn from_device(device: wgpu::Device, queue: wgpu::Queue) -> Self {
        Self { device, queue, name: String::new(), is_imitated: false }
    }

    /// The device.
    pub fn device(&self) -> &wgpu::Device {
        &self.device
    }

    /// Its queue.
    pub fn queue(&self) -> &wgpu::Queue {
        &self.queue
    }

    /// The GPU's name; empty for an engine's own device.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the CPU computes in its place; not known of an engine's own device.
    pub fn is_imitated(&self) -> bool {
        self.is_imitated
    }

    /// A storage buffer with the given content. Empty ones get one unused element: none may be empty.
    pub(crate) fn storage<T: bytemuck::NoUninit>(
        &self,
        what: &'static str,
        content: &[T],
    ) -> Result<wgpu::Buffer, GpuError> {
        let bytes: &[u8] = bytemuck::cast_slice(content);
        // Lists of corners are also drawn as indices.
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::INDEX | wgpu::BufferUsages::COPY_DST;
        let buffer = self.empty_buffer(what, bytes.len(), usage)?;
        self.queue.write_buffer(&buffer, 0, bytes);
        Ok(buffer)
    }

    /// A uniform with the given content.
    pub(crate) fn uniform<T: bytemuck::NoUninit>(
        &self,
        what: &'static str,
        content: &T,
    ) -> Result<wgpu::Buffer, GpuError> {
        let bytes = bytemuck::bytes_of(content);
        let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        let buffer = self.empty_buffer(what, bytes.len(), usage)?;
        self.queue.write_buffer(&buffer, 0, bytes);
        Ok(buffer)
    }

    /// A buffer of zeros, at least as large as any element of our tables.
    pub(crate) fn empty_buffer(
        &self,
        what: &'static str,
        bytes: usize,
        usage: wgpu::BufferUsages,
    ) -> Result<wgpu::Buffer, GpuError> {
        let size = (bytes as u64).max(64);
        let limits = self.device.limits();
        let bound = usage.contains(wgpu::BufferUsages::STORAGE);
        let limit = if bound {
            limits.max_buffer_size.min(limits.max_storage_buffer_binding_size)
        } else {
            limits.max_buffer_size
        };
        if size > limit {
            return Err(GpuError::TooLarge { what, size, limit });
        }
        Ok(self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(what),
            size,
            usage,
            mapped_at_creation: false,
        }))
    }

    /// Copies `bytes` of a buffer back and hands them to `take`. Waits for all work before.
    pub(crate) fn read<R>(
        &self,
        buffer: &wgpu::Buffer,
        bytes: usize,
        take: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, GpuError> {
        let usage = wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ;
        let copy = self.empty_buffer("copy of results", bytes, usage)?;
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        encoder.copy_buffer_to_buffer(buffer, 0, &copy, 0, Some(bytes as u64));
        self.queue.submit([encoder.finish()]);
        self.read_mapped(&copy, bytes, take)
    }

    /// Copies a texture of four bytes per texel back, `row × column`. Waits for all work before.
    pub fn read_texture(&self, texture: &wgpu::Texture) -> Result<Vec<[u8; 4]>, GpuError> {
        let (width, height) = (texture.width() as usize, texture.height() as usize);
        let row = (4 * width).next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT as usize);
        let usage = wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ;
        let copy = self.empty_buffer("copy of a picture", row * height, usage)?;
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        encoder.copy_texture_to_buffer(
            texture.as_image_copy(),
            wgpu::TexelCopyBufferInfo {
                buffer: &copy,
                layout: wgpu::TexelCopyBufferLayout {
                    offset: 0,
                    bytes_per_row: Some(row as u32),
                    rows_per_image: None,
                },
            },
            texture.size(),
        );
        self.queue.submit([encoder.finish()]);
        self.read_mapped(&copy, row * height, |bytes| {
            bytes.chunks_exact(row).flat_map(|row| row[..4 * width].as_chunks().0.to_vec()).collect()
        })
    }

    /// The same for a buffer that can be mapped.
    pub(crate) fn read_mapped<R>(
        &self,
        buffer: &wgpu::Buffer,
        bytes: usize,
        take: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, GpuError> {
        let (sender, receiver) = std::sync::mpsc::channel();
        buffer.map_async(wgpu::MapMode::Read, .., move |result| {
            // Nobody waits any more only when this function has failed already.
            let _ = sender.send(result);
        });
        let lost = |reason: String| GpuError::Lost { reason };
        self.device.poll(wgpu::PollType::wait_indefinitely()).map_err(|error| lost(error.to_string()))?;
        receiver.recv().map_err(|error| lost(error.to_string()))?.map_err(|error| lost(error.to_string()))?;
        let view = buffer.get_mapped_range(..).map_err(|error| lost(error.to_string()))?;
        Ok(take(&view[..bytes]))
    }
}

/// The best adapter of some backends; WGPU_BACKEND may leave out some.
fn adapter_of(backends: wgpu::Backends) -> Result<wgpu::Adapter, GpuError> {
    let mut description = wgpu::InstanceDescriptor::new_without_display_handle_from_env();
    description.backends &= backends;
    let wanted = wgpu::RequestAdapterOptions {
        power_preference: wgpu::PowerPreference::HighPerformance,
        ..Default::default()
    };
    pollster::block_on(wgpu::Instance::new(description).request_adapter(&wanted))
        .map_err(|error| GpuError::NoAdapter { reason: error.to_string() })
}
