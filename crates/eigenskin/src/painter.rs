//! Who paints pictures: the CPU or, with the cargo feature `gpu`, a GPU.
//!
//! An imitated GPU needs four times as long as the CPU painter for pictures that look the same, so
//! [`PainterChoice::Best`] takes real ones only.

use std::sync::atomic::{AtomicUsize, Ordering};

use eigenskin_core::progress::{Progress, Step};
#[cfg(feature = "gpu")]
use eigenskin_gpu::{GpuContext, GpuError, render::GpuPainter};
use eigenskin_report::picture::PictureError;
use eigenskin_report::picture::painter::{CpuPainter, PaintedPanel, PanelPainter, PanelScene};

/// Who is to paint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum PainterChoice {
    /// a real GPU if there is one, else the CPU
    #[default]
    Best,
    /// the CPU
    Cpu,
    /// any GPU, even one that the CPU imitates
    Gpu,
}

/// Why nobody paints.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PainterError {
    /// A GPU was asked for, and this program has no code for one.
    #[error("this program was built without the feature gpu")]
    BuiltWithoutGpu,
    /// There is no GPU, or it does not open.
    #[cfg(feature = "gpu")]
    #[error(transparent)]
    Gpu(#[from] GpuError),
}

/// The CPU, or an open GPU.
#[derive(Debug)]
pub struct Painter(Kind);

#[derive(Debug)]
enum Kind {
    Cpu,
    #[cfg(feature = "gpu")]
    Gpu {
        painter: Box<GpuPainter>,
        name: String,
    },
}

impl Painter {
    /// Opens the painter that was chosen.
    pub fn open(choice: PainterChoice) -> Result<Self, PainterError> {
        match choice {
            PainterChoice::Cpu => Ok(Self(Kind::Cpu)),
            PainterChoice::Best => Ok(best()),
            PainterChoice::Gpu => any_gpu(),
        }
    }

    /// For people.
    pub fn name(&self) -> &str {
        match &self.0 {
            Kind::Cpu => "CPU",
            #[cfg(feature = "gpu")]
            Kind::Gpu { name, .. } => name,
        }
    }
}

impl PanelPainter for Painter {
    fn paint(&self, scene: &PanelScene) -> Result<PaintedPanel, PictureError> {
        match &self.0 {
            Kind::Cpu => CpuPainter.paint(scene),
            #[cfg(feature = "gpu")]
            Kind::Gpu { painter, .. } => painter.paint(scene),
        }
    }
}

#[cfg(feature = "gpu")]
fn best() -> Painter {
    match GpuContext::headless() {
        Ok(context) if !context.is_imitated() => on_gpu(&context),
        _ => Painter(Kind::Cpu),
    }
}

#[cfg(not(feature = "gpu"))]
fn best() -> Painter {
    Painter(Kind::Cpu)
}

#[cfg(feature = "gpu")]
fn any_gpu() -> Result<Painter, PainterError> {
    Ok(on_gpu(&GpuContext::headless()?))
}

#[cfg(not(feature = "gpu"))]
fn any_gpu() -> Result<Painter, PainterError> {
    Err(PainterError::BuiltWithoutGpu)
}

#[cfg(feature = "gpu")]
fn on_gpu(context: &GpuContext) -> Painter {
    let painter = Box::new(GpuPainter::new(context));
    Painter(Kind::Gpu { painter, name: context.name().to_string() })
}

/// Paints the pictures of reports. A panel that its painter fails at is painted on the CPU: what was
/// measured before must not be lost for a picture.
#[derive(Debug)]
pub struct ReportPainter<P = Painter>(P);

impl<P: PanelPainter> ReportPainter<P> {
    /// Paints with `painter` as long as that works.
    pub fn new(painter: P) -> Self {
        Self(painter)
    }
}

impl<P: PanelPainter> PanelPainter for ReportPainter<P> {
    fn paint(&self, scene: &PanelScene) -> Result<PaintedPanel, PictureError> {
        match self.0.paint(scene) {
            Err(PictureError::Painter(_)) => CpuPainter.paint(scene),
            painted => painted,
        }
    }
}

/// Tells a [`Progress`] of every panel that is painted, which may end the work there.
pub struct WatchedPainter<'a> {
    painter: &'a dyn PanelPainter,
    progress: &'a dyn Progress,
    doing: &'a str,
    /// panels painted
    done: AtomicUsize,
    /// panels in all, where that is known
    count: Option<usize>,
}

impl<'a> WatchedPainter<'a> {
    /// Paints with `painter`; `count` are the panels in all, where that is known.
    pub fn new(
        painter: &'a dyn PanelPainter,
        progress: &'a dyn Progress,
        doing: &'a str,
        count: Option<usize>,
    ) -> Self {
        Self { painter, progress, doing, done: AtomicUsize::new(0), count }
    }
}

impl PanelPainter for WatchedPainter<'_> {
    fn paint(&self, scene: &PanelScene) -> Result<PaintedPanel, PictureError> {
        let done = self.done.fetch_add(1, Ordering::Relaxed);
        self.progress.step(Step { doing: self.doing, done, count: self.count })?;
        self.painter.paint(scene)
    }
}

#[cfg(test)]
mod tests {
    use eigenskin_characters::square_bar;
    use eigenskin_report::picture::{Panel, PictureParams, Surface, draw_panels};

    use super::*;

    /// A GPU that was taken away.
    struct Lost;

    impl PanelPainter for Lost {
        fn paint(&self, _: &PanelScene) -> Result<PaintedPanel, PictureError> {
            Err(PictureError::Painter("the device is lost".to_string()))
        }
    }

    #[test]
    fn a_report_outlives_its_gpu() {
        let bar = square_bar().unwrap();
        let mesh = bar.rig.mesh();
        let panel = Panel {
            caption: "bar".to_string(),
            positions: mesh.positions(),
            normals: mesh.normals(),
            surface: Surface::Skin,
        };
        let params = PictureParams { panel_width: 60, panel_height: 60, ..PictureParams::default() };
        let draw =
            |painter: &dyn PanelPainter| draw_panels(painter, mesh, std::slice::from_ref(&panel), &params);
        assert!(draw(&Lost).is_err());
        assert_eq!(draw(&ReportPainter::new(Lost)).unwrap(), draw(&CpuPainter).unwrap());
    }

    #[cfg(not(feature = "gpu"))]
    #[test]
    fn without_the_feature_the_cpu_paints() {
        assert_eq!(Painter::open(PainterChoice::Best).unwrap().name(), "CPU");
        assert!(matches!(Painter::open(PainterChoice::Gpu), Err(PainterError::BuiltWithoutGpu)));
    }
}
