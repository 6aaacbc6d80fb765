//! Experiments of papers, repeated on built-in data.

mod arm;
mod black_boxes;
pub mod eigenskin;
mod expressions;
mod hinge;
pub mod kim_table1;
pub mod lewis;
pub mod reference;
pub mod xian;
