//! One frame: the panel decides what is shown, the stage draws it, the panel is drawn over it.

use std::time::{Duration, Instant};

use egui::{Sense, Ui};
use eigenskin_gpu::{GpuContext, wgpu};

use crate::ViewError;
use crate::measure::Measure;
use crate::message::Shown;
use crate::orbit::Area;
use crate::panel::{self, Figures};
use crate::stage::Stage;
use crate::state::ViewState;

/// Frames farther apart than this stood still in between.
const STILL: Duration = Duration::from_millis(250);

/// Draws a state, into a window or a picture.
pub struct Viewer {
    /// what is shown
    pub state: ViewState,
    /// what is told
    pub figures: Figures,
    context: GpuContext,
    format: wgpu::TextureFormat,
    stage: Stage,
    measure: Measure,
    egui: egui::Context,
    painter: egui_wgpu::Renderer,
    last_frame: Option<Instant>,
    again: Option<Instant>,
}

/// What egui wants after a frame.
pub struct Drawn {
    /// pointer shapes, clipboard
    pub platform: egui::PlatformOutput,
    /// when to draw again at the latest
    pub again_in: Duration,
}

impl Viewer {
    /// Uploads everything. `format` is that of what is drawn into.
    pub fn new(
        context: &GpuContext,
        format: wgpu::TextureFormat,
        state: ViewState,
    ) -> Result<Self, ViewError> {
        let egui = egui::Context::default();
        panel::set_style(&egui);
        let components = state.subject.model.component_count();
        let figures = Figures {
            gpu: context.name().to_string(),
            largest_coordinates: vec![0.0; components],
            ..Figures::default()
        };
        Ok(Self {
            stage: Stage::new(context, &state.subject, format)?,
            measure: Measure::new(&state.subject.model),
            painter: egui_wgpu::Renderer::new(
                context.device(),
                format,
                egui_wgpu::RendererOptions::default(),
            ),
            context: context.clone(),
            format,
            egui,
            figures,
            state,
            last_frame: None,
            again: None,
        })
    }

    /// egui's own state.
    pub fn egui(&self) -> &egui::Context {
        &self.egui
    }

    /// When egui wants to be drawn again, for an animation of its own.
    pub fn egui_again(&self) -> Option<Instant> {
        self.again
    }

    /// Draws a frame of `size` pixels over all of `output`.
    pub fn draw(
        &mut self,
        input: egui::RawInput,
        output: &wgpu::TextureView,
        size: [u32; 2],
    ) -> Result<Drawn, ViewError> {
        let mut free = egui::Rect::NOTHING;
        let egui = self.egui.clone();
        let mut full = egui.run_ui(input, |ui| {
            keys(ui, &mut self.state);
            if self.state.panel {
                panel::show(ui, &mut self.state, &mut self.measure, &self.figures);
            }
            free = ui.available_rect_before_wrap();
            let area = area_of(free, ui.pixels_per_point(), size);
            look_around(ui, free, &mut self.state, &area);
            hints(ui, free);
        });
        if self.state.wants_framing {
            let shape = self.measure.shape(&self.state).to_vec();
            self.state.frame(&shape);
        }
        let pixels_per_point = full.pixels_per_point;
        let area = area_of(free, pixels_per_point, size);
        if self.state.shown == Shown::Heat {
            self.measure.of(&self.state);
        }
        let device = self.context.device();
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        self.figures.uploaded =
            self.stage.record(&mut encoder, output, &self.state, self.measure.scale(), &area)?;
        self.note_coordinates();
        let shapes = egui.tessellate(std::mem::take(&mut full.shapes), pixels_per_point);
        self.paint(&mut encoder, output, &full.textures_delta, &shapes, pixels_per_point, size);
        self.context.queue().submit([encoder.finish()]);
        #[expect(clippy::iter_over_hash_type, reason = "textures do not depend on each other")]
        for id in &full.textures_delta.free {
            self.painter.free_texture(id);
        }
        let again_in = full
            .viewport_output
            .get(&egui::ViewportId::ROOT)
            .map_or(Duration::MAX, |output| output.repaint_delay);
        self.again = Instant::now().checked_add(again_in);
        Ok(Drawn { platform: full.platform_output, again_in })
    }

    /// The window as it is now, drawn into a picture: PNG bytes.
    pub fn picture(&mut self, size: [u32; 2], pixels_per_point: f32) -> Result<Vec<u8>, ViewError> {
        let texture = self.context.device().create_texture(&wgpu::TextureDescriptor {
            label: Some("screenshot"),
            size: wgpu::Extent3d { width: size[0], height: size[1], depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: self.format,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
            view_formats: &[],
        });
        let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
        // A panel that has never been shown needs a second look at its own sizes, and bars need α.
        for _ in 0..3 {
            self.draw(self.still_input(size, pixels_per_point), &view, size)?;
        }
        let mut pixels = self.context.read_texture(&texture)?;
        let is_bgra =
            matches!(self.format, wgpu::TextureFormat::Bgra8Unorm | wgpu::TextureFormat::Bgra8UnormSrgb);
        if is_bgra {
            for pixel in &mut pixels {
                pixel.swap(0, 2);
            }
        }
        let colours: Vec<u8> = pixels.iter().flat_map(|&[red, green, blue, _]| [red, green, blue]).collect();
        png_bytes(&colours, size)
    }

    fn still_input(&self, size: [u32; 2], pixels_per_point: f32) -> egui::RawInput {
        let points = egui::vec2(size[0] as f32, size[1] as f32) / pixels_per_point;
        let mut input = egui::RawInput {
            screen_rect: Some(egui::Rect::from_min_size(egui::Pos2::ZERO, points)),
            max_texture_side: Some(self.context.device().limits().max_texture_dimension_2d as usize),
            ..Default::default()
        };
        if let Some(root) = input.viewports.get_mut(&egui::ViewportId::ROOT) {
            root.native_pixels_per_point = Some(pixels_per_point);
        }
        input
    }

    fn paint(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        output: &wgpu::TextureView,
        textures: &egui::TexturesDelta,
        shapes: &[egui::ClippedPrimitive],
        pixels_per_point: f32,
        size: [u32; 2],
    ) {
        let (device, queue) = (self.context.device(), self.context.queue());
        #[expect(clippy::iter_over_hash_type, reason = "textures do not depend on each other")]
        for (id, deltas) in &textures.set {
            for delta in deltas {
                self.painter.update_texture(device, queue, *id, delta);
            }
        }
        let screen = egui_wgpu::ScreenDescriptor { size_in_pixels: size, pixels_per_point };
        self.painter.update_buffers(device, queue, encoder, shapes, &screen);
        let pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("panel"),
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view: output,
                depth_slice: None,
                resolve_target: None,
                ops: wgpu::Operations { load: wgpu::LoadOp::Load, store: wgpu::StoreOp::Store },
            })],
            ..Default::default()
        });
        self.painter.render(&mut pass.forget_lifetime(), shapes, &screen);
    }

    fn note_coordinates(&mut self) {
        self.figures.coordinates.clear();
        self.figures.coordinates.extend_from_slice(self.stage.coordinates());
        for (largest, value) in self.figures.largest_coordinates.iter_mut().zip(&self.figures.coordinates) {
            *largest = largest.max(value.abs());
        }
    }

    /// Notes that a frame of the window begins.
    pub fn time_frame(&mut self) {
        let now = Instant::now();
        if let Some(last) = self.last_frame
            && now - last < STILL
        {
            let milliseconds = (now - last).as_secs_f64() * 1e3;
            let shown = self.figures.frame_milliseconds;
            // Steady enough to be read.
            self.figures.frame_milliseconds =
                if shown == 0.0 { milliseconds } else { shown + 0.1 * (milliseconds - shown) };
        }
        self.last_frame = Some(now);
    }
}

/// The free part of the window in pixels.
fn area_of(free: egui::Rect, pixels_per_point: f32, size: [u32; 2]) -> Area {
    let scale = f64::from(pixels_per_point);
    let middle = free.center();
    Area {
        window: size.map(f64::from),
        middle: [f64::from(middle.x) * scale, f64::from(middle.y) * scale],
        size: [f64::from(free.width()) * scale, f64::from(free.height()) * scale],
    }
}

/// Drags and the wheel move the camera.
fn look_around(ui: &mut Ui, free: egui::Rect, state: &mut ViewState, area: &Area) {
    let response = ui.interact(free, ui.scope_id().with("character"), Sense::click_and_drag());
    let drag = response.drag_delta();
    let pans = response.dragged_by(egui::PointerButton::Secondary)
        || response.dragged_by(egui::PointerButton::Middle)
        || ui.input(|input| input.modifiers.shift);
    if pans {
        let scale = f64::from(ui.pixels_per_point());
        state.orbit.pan(f64::from(drag.x) * scale, f64::from(drag.y) * scale, area);
    } else if response.dragged() {
        state.orbit.turn(f64::from(drag.x), f64::from(drag.y));
    }
    if response.double_clicked() {
        state.wants_framing = true;
    }
    if response.hovered() {
        let (scroll, pinch) = ui.input(|input| (input.smooth_scroll_delta().y, input.zoom_delta()));
        state.orbit.zoom_by(f64::from(pinch) * (f64::from(scroll) * 0.004).exp());
    }
}

fn keys(ui: &Ui, state: &mut ViewState) {
    if ui.ctx().egui_wants_keyboard_input() {
        return;
    }
    let pressed = |key| ui.input(|input| input.key_pressed(key) && input.modifiers.is_none());
    if pressed(egui::Key::F) {
        state.wants_framing = true;
    }
    if pressed(egui::Key::Space) {
        state.player.toggle();
        state.sample();
    }
    if pressed(egui::Key::R) {
        state.reset();
    }
    if pressed(egui::Key::W) {
        state.wireframe = !state.wireframe;
    }
    if pressed(egui::Key::H) {
        state.panel = !state.panel;
    }
    let views = [egui::Key::Num1, egui::Key::Num2, egui::Key::Num3, egui::Key::Num4];
    for (key, (shown, _)) in views.into_iter().zip(Shown::ALL) {
        if pressed(key) && (shown != Shown::Truth || state.subject.truth.is_some()) {
            state.shown = shown;
        }
    }
}

fn hints(ui: &Ui, free: egui::Rect) {
    let text = "drag to turn  ·  right drag to move  ·  wheel to zoom  ·  F frames  ·  H hides the panel";
    let place = free.left_bottom() + egui::vec2(18.0, -14.0);
    let font = egui::FontId::proportional(11.5);
    ui.painter().text(place, egui::Align2::LEFT_BOTTOM, text, font, egui::Color32::from_white_alpha(110));
}

fn png_bytes(pixels: &[u8], size: [u32; 2]) -> Result<Vec<u8>, ViewError> {
    let fail = |error: png::EncodingError| ViewError::Picture { problem: error.to_string() };
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, size[0], size[1]);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::High);
    let mut writer = encoder.write_header().map_err(fail)?;
    writer.write_image_data(pixels).map_err(fail)?;
    writer.finish().map_err(fail)?;
    Ok(bytes)
}
