//! One device for all tests of a program.

use std::sync::OnceLock;

use eigenskin_gpu::GpuContext;

/// The device. Without one the tests fail, with what to install.
pub fn context() -> &'static GpuContext {
    static CONTEXT: OnceLock<GpuContext> = OnceLock::new();
    CONTEXT.get_or_init(|| GpuContext::headless().unwrap_or_else(|error| panic!("{error}")))
}
