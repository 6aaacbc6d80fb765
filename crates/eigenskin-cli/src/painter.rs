//! Who paints pictures.

use anyhow::{Context, Result};
use eigenskin_gpu::GpuContext;
use eigenskin_gpu::render::{GpuPainter, Wireframe};
use eigenskin_report::picture::PictureError;
use eigenskin_report::picture::painter::{CpuPainter, PaintedPanel, PanelPainter, PanelScene};

/// The GPU, or the CPU.
pub enum Painter {
    Cpu,
    Gpu { painter: Box<GpuPainter>, name: String },
}

/// The CPU if wanted, else the GPU that there must be.
pub fn chosen(cpu: bool, wireframe: bool) -> Result<Painter> {
    if cpu {
        return Ok(Painter::Cpu);
    }
    let context = GpuContext::headless().context("pictures can also be painted with --cpu")?;
    let painter = GpuPainter::new(&context);
    let painter = if wireframe { painter.with_wireframe(Wireframe::default()) } else { painter };
    Ok(Painter::Gpu { painter: Box::new(painter), name: context.name().to_string() })
}

impl Painter {
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
