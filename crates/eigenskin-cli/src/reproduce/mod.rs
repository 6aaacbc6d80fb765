//! Experiments of papers, repeated on built-in data.

mod arm;
mod bars;
mod black_boxes;
pub mod eigenskin;
mod expressions;
mod hinge;
pub mod kim_figure4;
pub mod kim_table1;
mod kim_transfers;
pub mod lewis;
pub mod reference;
pub mod xian;
