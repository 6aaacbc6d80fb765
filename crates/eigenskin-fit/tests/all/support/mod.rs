//! What several tests share.

pub mod boxes;
pub mod psd;
