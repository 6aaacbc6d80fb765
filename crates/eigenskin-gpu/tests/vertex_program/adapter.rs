//! One device for all tests of a program.

use std::io::Write;
use std::sync::OnceLock;

use eigenskin_gpu::GpuContext;

/// The device; `None` where there is none, which is said once, and which is a failure in CI.
pub fn context() -> Option<&'static GpuContext> {
    static CONTEXT: OnceLock<Option<GpuContext>> = OnceLock::new();
    let context = CONTEXT.get_or_init(|| match GpuContext::headless() {
        Ok(context) => Some(context),
        Err(error) => {
            // Not by a macro: the test harness would keep that to itself.
            let line = format!("left out: tests on a GPU ({error})\n");
            std::io::stderr().write_all(line.as_bytes()).unwrap();
            None
        }
    });
    let in_ci = std::env::var("CI").is_ok_and(|value| value == "true");
    assert!(context.is_some() || !in_ci, "there must be a GPU, or one that the CPU imitates, in CI");
    context.as_ref()
}
