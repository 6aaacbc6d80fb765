//! Who paints pictures, as the environment and the options say.
//!
//! `render` paints on any GPU, even one that the CPU imitates, since what `view` shows comes from there. All
//! other commands paint on a real GPU if there is one. Without the feature `gpu` all paint on the CPU.

use std::sync::OnceLock;

use anyhow::{Context, Result, bail};
use eigenskin::painter::{Painter, PainterChoice, PainterError, ReportPainter};

/// Names who paints the pictures of reports: `gpu` or `cpu`; without it the best is taken.
const PAINTER_VARIABLE: &str = "EIGENSKIN_PAINTER";

/// The CPU if wanted, else the GPU that there must be.
pub fn chosen(cpu: bool) -> Result<Painter> {
    let on_cpu = cpu || cfg!(not(feature = "gpu"));
    let choice = if on_cpu { PainterChoice::Cpu } else { PainterChoice::Gpu };
    Painter::open(choice).context("pictures can also be painted with --cpu")
}

/// The painter of reports: opened at the first one, the same for all of a command.
pub fn for_reports() -> Result<&'static ReportPainter> {
    static PAINTER: OnceLock<ReportPainter> = OnceLock::new();
    if let Some(painter) = PAINTER.get() {
        return Ok(painter);
    }
    let wanted = std::env::var(PAINTER_VARIABLE).ok();
    let choice = match wanted.as_deref() {
        Some("cpu") => PainterChoice::Cpu,
        Some("gpu") => PainterChoice::Gpu,
        None | Some("") => PainterChoice::Best,
        Some(other) => bail!("{PAINTER_VARIABLE} is {other:?}; set it to gpu or cpu, or leave it out"),
    };
    let opened = Painter::open(choice).map_err(|error| match error {
        PainterError::BuiltWithoutGpu => anyhow::anyhow!(
            "{PAINTER_VARIABLE} is gpu, but this eigenskin was built without GPU; get one with: cargo install eigenskin-cli --features gpu"
        ),
        error => anyhow::Error::new(error).context(format!("{PAINTER_VARIABLE} is gpu")),
    })?;
    Ok(PAINTER.get_or_init(|| ReportPainter::new(opened)))
}
