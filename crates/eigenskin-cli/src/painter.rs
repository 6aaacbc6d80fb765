//! Who paints pictures.
//!
//! `render` paints on any GPU, even one that the CPU imitates, since wireframes and what `view` shows come
//! from there. All other commands paint on a real GPU if there is one and on the CPU otherwise: an imitated
//! GPU needs four times as long for pictures that look the same.

use std::sync::OnceLock;

use anyhow::{Context, Result, bail};
use eigenskin::report::picture::PictureError;
use eigenskin::report::picture::painter::{CpuPainter, PaintedPanel, PanelPainter, PanelScene};
use eigenskin_gpu::GpuContext;
use eigenskin_gpu::render::{GpuPainter, Wireframe};

/// The GPU, or the CPU.
pub enum Painter {
    Cpu,
    Gpu { painter: Box<GpuPainter>, name: String },
}

/// Names who paints the pictures of reports: `gpu` or `cpu`; without it the best is taken.
const PAINTER_VARIABLE: &str = "EIGENSKIN_PAINTER";

/// The CPU if wanted, else the GPU that there must be.
pub fn chosen(cpu: bool, wireframe: bool) -> Result<Painter> {
    if cpu {
        return Ok(Painter::Cpu);
    }
    let context = GpuContext::headless().context("pictures can also be painted with --cpu")?;
    let painter = GpuPainter::new(&context);
    Ok(Painter::gpu(&context, if wireframe { painter.with_wireframe(Wireframe::default()) } else { painter }))
}

/// Who paints the pictures of reports: opened at the first one, the same for all of a command. A panel that
/// the GPU fails at is painted on the CPU: what was measured before must not be lost for a picture.
pub struct ReportPainter<P = Painter>(P);

/// The painter of reports.
pub fn for_reports() -> Result<&'static ReportPainter> {
    static PAINTER: OnceLock<ReportPainter> = OnceLock::new();
    if let Some(painter) = PAINTER.get() {
        return Ok(painter);
    }
    let wanted = std::env::var(PAINTER_VARIABLE).ok();
    let opened = match wanted.as_deref() {
        Some("cpu") => Painter::Cpu,
        Some("gpu") => {
            let context = GpuContext::headless().with_context(|| format!("{PAINTER_VARIABLE} is gpu"))?;
            Painter::gpu(&context, GpuPainter::new(&context))
        }
        None | Some("") => best(),
        Some(other) => bail!("{PAINTER_VARIABLE} is {other:?}; set it to gpu or cpu, or leave it out"),
    };
    Ok(PAINTER.get_or_init(|| ReportPainter(opened)))
}

/// A real GPU, or the CPU.
fn best() -> Painter {
    match GpuContext::headless() {
        Ok(context) if !context.is_imitated() => Painter::gpu(&context, GpuPainter::new(&context)),
        _ => Painter::Cpu,
    }
}

impl Painter {
    fn gpu(context: &GpuContext, painter: GpuPainter) -> Self {
        Self::Gpu { painter: Box::new(painter), name: context.name().to_string() }
    }

    /// For people.
    pub fn name(&self) -> &str {
        match self {
            Self::Cpu => "CPU",
            Self::Gpu { name, .. } => name,
        }
    }
}

impl PanelPainter for Painter {
    fn paint(&self, scene: &PanelScene) -> Result<PaintedPanel, PictureError> {
        match self {
            Self::Cpu => CpuPainter.paint(scene),
            Self::Gpu { painter, .. } => painter.paint(scene),
        }
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

#[cfg(test)]
mod tests {
    use eigenskin::characters::square_bar;
    use eigenskin::report::picture::{Panel, PictureParams, Surface, draw_panels};

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
        assert_eq!(draw(&ReportPainter(Lost)).unwrap(), draw(&CpuPainter).unwrap());
    }
}
