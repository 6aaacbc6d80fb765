//! The window: winit's events in, frames out.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use eigenskin_gpu::{GpuContext, GpuError, wgpu};
use winit::application::ApplicationHandler;
use winit::dpi::LogicalSize;
use winit::event::WindowEvent;
use winit::event_loop::{ActiveEventLoop, ControlFlow, EventLoop};
use winit::window::{Window, WindowId};

use crate::recording::Recording;
use crate::server::{Stream, Wish};
use crate::state::{Effect, ViewState};
use crate::viewer::Viewer;
use crate::{ViewError, write_picture};

/// Something arrived on the pose stream.
#[derive(Debug, Clone, Copy)]
struct Wake;

/// How long to wait where a window cannot be drawn into: it is hidden.
const HIDDEN: Duration = Duration::from_millis(100);

/// Shows `state` until the window is closed.
pub fn show(
    state: ViewState,
    recording: Option<Recording>,
    port: Option<u16>,
    size: [u32; 2],
    on_listening: impl FnOnce(u16),
) -> Result<(), ViewError> {
    if !has_display() {
        return Err(ViewError::NoDisplay);
    }
    let events = EventLoop::<Wake>::with_user_event().build().map_err(|_| ViewError::NoDisplay)?;
    let stream = match port {
        Some(port) => {
            let proxy = events.create_proxy();
            let wake = move || {
                // Without a window there is nobody to wake.
                let _ = proxy.send_event(Wake);
            };
            let stream = Stream::listen(port, state.subject.vocabulary(), wake)
                .map_err(|error| ViewError::Listen { port, error })?;
            on_listening(stream.port);
            Some(stream)
        }
        None => None,
    };
    let mut app = App {
        before: Some(state),
        size,
        open: None,
        recording,
        stream,
        started: None,
        last: Instant::now(),
        ran: false,
        hidden: false,
        ended: Ok(()),
    };
    events.run_app(&mut app).map_err(|error| ViewError::Window { problem: error.to_string() })?;
    app.ended
}

/// X11 or Wayland; other systems always have one.
fn has_display() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !cfg!(any(target_os = "linux", target_os = "freebsd", target_os = "netbsd", target_os = "openbsd"))
        || is_set("DISPLAY")
        || is_set("WAYLAND_DISPLAY")
        || is_set("WAYLAND_SOCKET")
}

struct App {
    /// until the window opens
    before: Option<ViewState>,
    size: [u32; 2],
    open: Option<Open>,
    recording: Option<Recording>,
    stream: Option<Stream>,
    /// the first frame
    started: Option<Instant>,
    last: Instant,
    /// the clip ran when the last frame was drawn
    ran: bool,
    /// the last frame could not be drawn
    hidden: bool,
    ended: Result<(), ViewError>,
}

struct Open {
    window: Arc<Window>,
    surface: wgpu::Surface<'static>,
    config: wgpu::SurfaceConfiguration,
    context: GpuContext,
    viewer: Viewer,
    input: egui_winit::State,
}

impl ApplicationHandler<Wake> for App {
    fn resumed(&mut self, events: &ActiveEventLoop) {
        let Some(state) = self.before.take() else { return };
        match Open::new(events, state, self.size) {
            Ok(mut open) => {
                open.viewer.figures.stream =
                    self.stream.as_ref().map(|stream| format!("poses: ws://127.0.0.1:{}", stream.port));
                open.window.request_redraw();
                self.open = Some(open);
            }
            Err(error) => self.end(events, Err(error)),
        }
    }

    fn user_event(&mut self, events: &ActiveEventLoop, _: Wake) {
        self.take_wishes(events);
    }

    fn window_event(&mut self, events: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        let Some(open) = &mut self.open else { return };
        if open.input.on_window_event(&open.window, &event).repaint {
            open.window.request_redraw();
        }
        match event {
            WindowEvent::CloseRequested => events.exit(),
            WindowEvent::Resized(size) => open.resize([size.width, size.height]),
            WindowEvent::RedrawRequested => self.redraw(events),
            _ => {}
        }
    }

    fn about_to_wait(&mut self, events: &ActiveEventLoop) {
        self.take_wishes(events);
        let Some(open) = &self.open else { return };
        if open.viewer.state.player.is_playing() && !self.hidden {
            open.window.request_redraw();
            events.set_control_flow(ControlFlow::Wait);
            return;
        }
        let now = Instant::now();
        let mut wake = None;
        if open.viewer.state.player.is_playing() {
            wake = Some(now + HIDDEN);
        }
        if let (Some(started), Some(next)) = (self.started, self.recording.as_ref().and_then(Recording::next))
        {
            let due = started + Duration::from_secs_f64(next.min(1e6));
            wake = Some(wake.map_or(due, |wake| wake.min(due)));
        }
        if let Some(again) = open.viewer.egui_again() {
            wake = Some(wake.map_or(again, |wake| wake.min(again)));
        }
        if wake.is_some_and(|wake| wake <= now) {
            open.window.request_redraw();
        }
        events.set_control_flow(wake.map_or(ControlFlow::Wait, ControlFlow::WaitUntil));
    }
}

impl App {
    fn end(&mut self, events: &ActiveEventLoop, ended: Result<(), ViewError>) {
        self.ended = ended;
        events.exit();
    }

    /// Follows all that has arrived.
    fn take_wishes(&mut self, events: &ActiveEventLoop) {
        let (Some(open), Some(stream)) = (&mut self.open, &self.stream) else { return };
        let mut quit = false;
        for Wish { steps, answer } in stream.wishes.try_iter() {
            for step in &steps {
                match open.viewer.state.apply(step) {
                    Some(Effect::Screenshot(path)) => {
                        // A client that has left needs no answer.
                        let _ = answer.send(open.screenshot(&path).map_err(|error| error.to_string()));
                    }
                    Some(Effect::Quit) => quit = true,
                    None => {}
                }
            }
            open.window.request_redraw();
        }
        if quit {
            events.exit();
        }
    }

    /// Follows the recording, lets time pass and draws.
    fn redraw(&mut self, events: &ActiveEventLoop) {
        let Some(open) = &mut self.open else { return };
        let now = Instant::now();
        let started = *self.started.get_or_insert(now);
        let passed = now - self.last;
        self.last = now;
        // A clip runs from the frame that shows its start.
        if self.ran {
            open.viewer.state.advance(passed.as_secs_f64());
        }
        let due = self.recording.as_mut().map(|recording| recording.due((now - started).as_secs_f64()));
        for step in due.unwrap_or_default() {
            match open.viewer.state.apply(&step) {
                Some(Effect::Screenshot(path)) => {
                    if let Err(error) = open.screenshot(&path) {
                        return self.end(events, Err(error));
                    }
                }
                Some(Effect::Quit) => return events.exit(),
                None => {}
            }
        }
        self.ran = open.viewer.state.player.is_playing();
        match open.draw() {
            Ok(drawn) => self.hidden = !drawn,
            Err(error) => self.end(events, Err(error)),
        }
    }
}

impl Open {
    fn new(events: &ActiveEventLoop, state: ViewState, size: [u32; 2]) -> Result<Self, ViewError> {
        let fail = |problem: String| ViewError::Window { problem };
        let attributes = Window::default_attributes()
            .with_title(format!("{} – eigenskin", state.subject.name))
            .with_inner_size(LogicalSize::new(size[0], size[1]))
            .with_min_inner_size(LogicalSize::new(520, 360));
        let window = Arc::new(events.create_window(attributes).map_err(|error| fail(error.to_string()))?);
        let display = Box::new(events.owned_display_handle());
        let instance =
            wgpu::Instance::new(wgpu::InstanceDescriptor::new_with_display_handle_from_env(display));
        let surface = instance
            .create_surface(window.clone())
            .map_err(|error| ViewError::Gpu(GpuError::NoAdapter { reason: error.to_string() }))?;
        let (context, adapter) = GpuContext::for_surface(&instance, &surface)?;
        let pixels = window.inner_size();
        let mut config = surface
            .get_default_config(&adapter, pixels.width.max(1), pixels.height.max(1))
            .ok_or_else(|| fail("the GPU cannot draw into it".into()))?;
        // The kernels write sRGB bytes themselves, as egui's do.
        let formats = surface.get_capabilities(&adapter).formats;
        let plain = [wgpu::TextureFormat::Bgra8Unorm, wgpu::TextureFormat::Rgba8Unorm];
        config.format = plain
            .into_iter()
            .find(|format| formats.contains(format))
            .ok_or_else(|| fail("it has no plain format of eight bits".into()))?;
        config.present_mode = wgpu::PresentMode::AutoVsync;
        surface.configure(context.device(), &config);
        let viewer = Viewer::new(&context, config.format, state)?;
        let input = egui_winit::State::new(
            viewer.egui().clone(),
            egui::ViewportId::ROOT,
            &window,
            Some(window.scale_factor() as f32),
            None,
            Some(context.device().limits().max_texture_dimension_2d as usize),
        );
        Ok(Self { window, surface, config, context, viewer, input })
    }

    fn resize(&mut self, size: [u32; 2]) {
        // A window that is folded away has no pixels.
        if size[0] > 0 && size[1] > 0 {
            [self.config.width, self.config.height] = size;
            self.surface.configure(self.context.device(), &self.config);
            self.window.request_redraw();
        }
    }

    /// Draws a frame. Whether it can be seen.
    fn draw(&mut self) -> Result<bool, ViewError> {
        use wgpu::CurrentSurfaceTexture as Current;
        let texture = match self.surface.get_current_texture() {
            Current::Success(texture) | Current::Suboptimal(texture) => texture,
            Current::Timeout | Current::Occluded => return Ok(false),
            Current::Outdated => {
                self.surface.configure(self.context.device(), &self.config);
                self.window.request_redraw();
                return Ok(true);
            }
            Current::Lost | Current::Validation => {
                return Err(ViewError::Window { problem: "the GPU has lost it".into() });
            }
        };
        let view = texture.texture.create_view(&wgpu::TextureViewDescriptor::default());
        let input = self.input.take_egui_input(&self.window);
        self.viewer.time_frame();
        let drawn = self.viewer.draw(input, &view, [self.config.width, self.config.height])?;
        self.window.pre_present_notify();
        self.context.queue().present(texture);
        self.input.handle_platform_output(&self.window, drawn.platform);
        if drawn.again_in.is_zero() {
            self.window.request_redraw();
        }
        Ok(true)
    }

    fn screenshot(&mut self, path: &Path) -> Result<(), ViewError> {
        let size = [self.config.width, self.config.height];
        let picture = self.viewer.picture(size, self.window.scale_factor() as f32)?;
        self.window.request_redraw();
        write_picture(path, &picture)
    }
}
