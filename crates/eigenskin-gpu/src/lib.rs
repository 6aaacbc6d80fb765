//! eigenskin on the GPU.
//!
//! **The vertex program** (EigenSkin §2.5). A [`GpuModel`] is uploaded once; per frame a GPU gets only
//! where the joints are and the coordinates α that the drivers found on the CPU ([`GpuInstances`]).
//! Two kernels pose the vertices, with the same result: [`SkinCompute`] writes a vertex buffer,
//! [`SkinVertex`] works inside the vertex stage of the draw. Each is one WGSL text ([`shaders`]) with
//! a twin in Rust ([`cpu`]) on the same tables ([`tables`], [`frame`]).
//!
//! **Pictures** without a window ([`render`]): lit and coloured shapes as RGBA.
//!
//! ```no_run
//! # use std::sync::Arc;
//! # use eigenskin_core::model::Model;
//! # use eigenskin_core::pose::Pose;
//! # fn play(model: Arc<Model>, pose: Pose) -> Result<(), Box<dyn std::error::Error>> {
//! use eigenskin_core::evaluate::Evaluator;
//! use eigenskin_gpu::{GpuContext, GpuInstances, GpuModel, GpuModelParams, SkinCompute};
//!
//! let context = GpuContext::headless()?;
//! let on_gpu = GpuModel::new(&context, &model, &GpuModelParams::default())?;
//! let mut instances = GpuInstances::new(&context, &on_gpu, 1)?;
//! let skin = SkinCompute::new(&context, &on_gpu);
//! let posed = skin.output(&context, &instances)?;
//!
//! // Each frame:
//! let mut drivers = Evaluator::new(model);
//! instances.set(0, &pose, drivers.drive(&pose));
//! instances.upload(&context);
//! let mut encoder = context.device().create_command_encoder(&Default::default());
//! skin.record(&mut encoder, &instances, &posed);
//! // … draw from posed.buffer(), with the vertex layout of posed.attributes() …
//! context.queue().submit([encoder.finish()]);
//! # Ok(())
//! # }
//! ```

mod context;
pub mod cpu;
pub mod frame;
mod instances;
mod model;
pub mod render;
pub mod shaders;
mod skin_compute;
mod skin_vertex;
pub mod tables;

pub use context::{GpuContext, GpuError};
pub use instances::GpuInstances;
pub use model::{GpuModel, GpuModelParams};
pub use skin_compute::{PosedVertices, SkinCompute};
pub use skin_vertex::SkinVertex;
pub use tables::Storage;
pub use wgpu;
