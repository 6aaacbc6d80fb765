//! The kernels' twins: the same steps in the same order, in `f32`, on the same tables. Slow, easy to
//! read, and what the kernels are compared with.

mod posed_vertex;
mod skin_compute;
mod skin_vertex;

pub use posed_vertex::{PosedVertex, posed_vertex};
pub use skin_compute::skin_compute;
pub use skin_vertex::{Shown, skin_vertex};
