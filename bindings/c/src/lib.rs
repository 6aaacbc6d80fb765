//! The C interface of eigenskin, declared and documented in `include/eigenskin.h`.
//!
//! Everything that comes from C is checked in `pointers` before it is used, and every function runs
//! inside `status::guard`, which turns errors and panics into codes.
#![allow(unsafe_code, reason = "a C interface is made of pointers whose owners the compiler cannot know")]
#![allow(clippy::missing_safety_doc, reason = "eigenskin.h says what each function may be given")]

pub mod character;
pub mod evaluate;
pub mod model;
mod pointers;
pub mod rig;
pub mod status;

/// `EIGENSKIN_NONE`: no joint, no attribute.
pub const NONE: usize = usize::MAX;

/// `EIGENSKIN_VERSION` of the library: major · 65536 + minor · 256 + patch.
#[unsafe(no_mangle)]
pub extern "C" fn eigenskin_version() -> u32 {
    let number = |text: &str| text.parse::<u32>().unwrap_or(0);
    (number(env!("CARGO_PKG_VERSION_MAJOR")) << 16)
        | (number(env!("CARGO_PKG_VERSION_MINOR")) << 8)
        | number(env!("CARGO_PKG_VERSION_PATCH"))
}
