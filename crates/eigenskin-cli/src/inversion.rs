//! What is said of examples pulled back through a stack of deformers.

use eigenskin::base::InvertedExamples;

use crate::output::{Output, counted, figure};

/// How many, through what, and how well that went.
pub fn print(output: &Output, inverted: &InvertedExamples) {
    output.item(
        "inverted",
        format!(
            "{} through {:?}: {}, {:.1} s",
            counted(inverted.count, "example", "examples"),
            inverted.through,
            counted(inverted.calls, "call of all vertices", "calls of all vertices"),
            inverted.seconds
        ),
    );
    for class in &inverted.classes {
        output.item(
            "",
            format!(
                "{} vertices {}: {} converged, at most {} off",
                class.vertices,
                class.class.description(),
                class.converged,
                figure(class.largest_residual)
            ),
        );
    }
    if let Some((name, vertex)) = &inverted.worst {
        let residual = figure(inverted.largest_residual);
        output.item(
            "",
            format!("residual of {residual} in {name} (vertex {vertex}), added after the deformers"),
        );
    }
}
