//! The window of eigenskin: a model that is posed by hand, by its clips or by a stream of messages,
//! skinned on the GPU.
//!
//! What happens is in modules that know no window: the pose ([`pose_state`]), the camera ([`orbit`]),
//! clips ([`player`]), messages ([`message`], [`recording`]) and all of them together ([`state`]).
//! A `viewer` draws a state into any texture, with the panel; the window and the WebSocket only
//! bring events to it.

mod measure;
pub mod message;
pub mod orbit;
mod panel;
pub mod player;
pub mod pose_state;
pub mod recording;
mod server;
mod stage;
pub mod state;
mod subject;
mod viewer;
mod window;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use eigenskin_core::pose::Pose;
use eigenskin_gpu::{GpuContext, GpuError, wgpu};

use message::Step;
use recording::Recording;
use state::{Effect, ViewState};
pub use subject::Subject;
use viewer::Viewer;

/// How to begin.
#[derive(Debug, Clone, Default)]
pub struct ViewOptions {
    /// the first pose; default: rest
    pub pose: Option<Pose>,
    /// what to do before the first frame
    pub steps: Vec<Step>,
    /// a stream to play
    pub recording: Option<Recording>,
    /// where to listen for poses; 0 is any free port. Default: nowhere
    pub port: Option<u16>,
    /// pixels of the window at first, or of the picture
    pub size: [u32; 2],
}

/// Why there is nothing to see.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    /// No X11, no Wayland.
    #[error("there is no display; use eigenskin render for pictures without a window, or run under xvfb-run")]
    NoDisplay,
    /// The window could not be opened, or was lost.
    #[error("the window cannot be shown: {problem}")]
    Window {
        /// what the system says
        problem: String,
    },
    /// The GPU.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// The port is taken.
    #[error(
        "poses cannot be listened for on port {port} ({error}); take another, or --port 0 for a free one"
    )]
    Listen {
        /// the port
        port: u16,
        /// what the system says
        error: std::io::Error,
    },
    /// A picture could not be made.
    #[error("the picture could not be made: {problem}")]
    Picture {
        /// what the encoder says
        problem: String,
    },
    /// A picture could not be written.
    #[error("{} could not be written: {error}", path.display())]
    Write {
        /// the file
        path: PathBuf,
        /// what the system says
        error: std::io::Error,
    },
}

/// Opens a window and returns when it is closed. `on_listening` is told the port.
pub fn show(subject: Subject, options: ViewOptions, on_listening: impl FnOnce(u16)) -> Result<(), ViewError> {
    let state = first_state(subject, &options);
    window::show(state, options.recording, options.port, options.size, on_listening)
}

/// Draws one frame, after the whole recording, into a PNG. Needs no display.
pub fn screenshot(subject: Subject, mut options: ViewOptions, path: &Path) -> Result<(), ViewError> {
    let state = first_state(subject, &options);
    let context = GpuContext::headless()?;
    let mut viewer = Viewer::new(&context, wgpu::TextureFormat::Rgba8Unorm, state)?;
    let size = options.size.map(|pixels| pixels.max(1));
    if let Some(recording) = &mut options.recording {
        for step in recording.due(f64::INFINITY) {
            if let Some(Effect::Screenshot(path)) = viewer.state.apply(&step) {
                write_picture(&path, &viewer.picture(size, 1.0)?)?;
            }
        }
    }
    write_picture(path, &viewer.picture(size, 1.0)?)
}

fn first_state(subject: Subject, options: &ViewOptions) -> ViewState {
    let mut state = ViewState::new(Arc::new(subject));
    if let Some(pose) = &options.pose {
        state.set_pose(pose);
    }
    for step in &options.steps {
        // Pictures and the end belong into streams.
        state.apply(step);
    }
    state
}

fn write_picture(path: &Path, bytes: &[u8]) -> Result<(), ViewError> {
    eigenskin_io::atomic::write_file(path, bytes)
        .map_err(|error| ViewError::Write { path: path.to_path_buf(), error })
}
