//! The character on the GPU: drivers on the CPU, then joints and coordinates are uploaded, and no more.

use eigenskin_core::evaluate::Evaluator;
use eigenskin_core::glam::Vec3;
use eigenskin_gpu::render::{Background, LiveFrame, LiveRenderer, LiveSurface, Wireframe};
use eigenskin_gpu::wgpu;
use eigenskin_gpu::{
    GpuContext, GpuError, GpuInstances, GpuModel, GpuModelParams, PosedVertices, SkinCompute,
};

use crate::message::Shown;
use crate::orbit::Area;
use crate::state::ViewState;
use crate::subject::Subject;

/// A dark room, so that skin and heat stand out.
const ROOM: Background =
    Background { middle: Vec3::new(0.052, 0.060, 0.076), rim: Vec3::new(0.011, 0.013, 0.018) };
const LINES: Wireframe = Wireframe { colour: Vec3::new(0.01, 0.012, 0.02), opacity: 0.5, width: 1.0 };

/// Draws the subject.
#[derive(Debug)]
pub struct Stage {
    context: GpuContext,
    drivers: Evaluator,
    /// component weights of plain skinning
    zeros: Vec<f32>,
    skin: SkinCompute,
    corrected: Posed,
    plain: Posed,
    renderer: LiveRenderer,
    /// the true shape that was uploaded last
    truth: Option<(usize, wgpu::Buffer)>,
}

/// One character with its vertices.
#[derive(Debug)]
struct Posed {
    instances: GpuInstances,
    vertices: PosedVertices,
}

impl Stage {
    /// Uploads the model. `format` is that of what is drawn into.
    pub fn new(
        context: &GpuContext,
        subject: &Subject,
        format: wgpu::TextureFormat,
    ) -> Result<Self, GpuError> {
        let model = &subject.model;
        let on_gpu = GpuModel::new(context, model, &GpuModelParams::default())?;
        let skin = SkinCompute::new(context, &on_gpu);
        let posed = || -> Result<Posed, GpuError> {
            let instances = GpuInstances::new(context, &on_gpu, 1)?;
            let vertices = skin.output(context, &instances)?;
            Ok(Posed { instances, vertices })
        };
        let mesh = model.rig().mesh();
        let heat = subject.heat_in_linear_light();
        Ok(Self {
            corrected: posed()?,
            plain: posed()?,
            renderer: LiveRenderer::new(context, format, mesh.triangles(), mesh.vertex_count(), &heat)?,
            drivers: Evaluator::new(model.clone()),
            zeros: vec![0.0; model.component_count()],
            skin,
            truth: None,
            context: context.clone(),
        })
    }

    /// The coordinates α of the pose that was drawn last.
    pub fn coordinates(&self) -> &[f32] {
        self.drivers.coordinates()
    }

    /// Adds passes that draw the state over all of `output`; `heat_scale` is the distance that has the
    /// last colour. How many bytes of the pose were uploaded.
    pub fn record(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        output: &wgpu::TextureView,
        state: &ViewState,
        heat_scale: f64,
        area: &Area,
    ) -> Result<usize, GpuError> {
        let pose = state.pose.pose();
        self.drivers.drive(pose);
        let wants_truth = matches!(state.shown, Shown::Truth | Shown::Heat);
        let example = state.example.filter(|_| wants_truth);
        if let Some(example) = example {
            self.upload_truth(state, example)?;
        }
        let truth = example.and_then(|_| self.truth.as_ref().map(|(_, shape)| shape));
        let mut uploaded = 0;
        let mut pose_on_gpu = |posed: &mut Posed, coordinates: &[f32]| {
            posed.instances.set(0, pose, coordinates);
            posed.instances.upload(&self.context);
            uploaded += posed.instances.bytes_per_frame();
            self.skin.record(encoder, &posed.instances, &posed.vertices);
        };
        let shows_model = state.shown != Shown::Skinning && (state.shown != Shown::Truth || truth.is_none());
        let shows_plain = state.shown == Shown::Skinning || (state.shown == Shown::Heat && truth.is_none());
        if shows_model {
            pose_on_gpu(&mut self.corrected, self.drivers.coordinates());
        }
        if shows_plain {
            pose_on_gpu(&mut self.plain, &self.zeros);
        }
        let (corrected, plain) = (self.corrected.vertices.buffer(), self.plain.vertices.buffer());
        let shape = match state.shown {
            Shown::Skinning => plain,
            Shown::Truth => truth.unwrap_or(corrected),
            Shown::Model | Shown::Heat => corrected,
        };
        let surface = match state.shown {
            Shown::Heat => LiveSurface::Heat {
                compared: truth.unwrap_or(plain),
                largest: if heat_scale > 0.0 { heat_scale as f32 } else { f32::MAX },
            },
            _ => LiveSurface::Clay,
        };
        let (centre, reach) = state.bounds();
        let sight = state.orbit.sight(centre, reach, area);
        let frame = LiveFrame {
            shape,
            surface,
            camera: &sight.camera,
            pixels_per_unit: sight.pixels_per_unit,
            radius: sight.radius,
            wireframe: state.wireframe.then_some(LINES),
            background: ROOM,
            size: area.window.map(|pixels| pixels as u32),
        };
        self.renderer.record(encoder, output, &frame)?;
        Ok(uploaded)
    }

    fn upload_truth(&mut self, state: &ViewState, example: usize) -> Result<(), GpuError> {
        if self.truth.as_ref().is_some_and(|(shown, _)| *shown == example) {
            return Ok(());
        }
        let Some(set) = &state.subject.truth else { return Ok(()) };
        let shape = self.renderer.shape(&set.examples()[example].positions, &set.normals_of(example))?;
        self.truth = Some((example, shape));
        Ok(())
    }
}
