//! How examples were pulled back through deformers, for people.

use eigenskin::base::InvertedExamples;

use crate::output::{Output, counted, figure};

/// A few lines.
pub fn tell(inverted: &InvertedExamples, output: &Output) {
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
                "{} {}: {} converged, at most {} off",
                counted(class.vertices, "vertex", "vertices"),
                class.class.description(),
                class.converged,
                figure(class.largest_residual)
            ),
        );
    }
    if let Some((example, vertex)) = &inverted.worst {
        let residual = figure(inverted.largest_residual);
        output.item(
            "",
            format!("residual of {residual}, added after the deformers (vertex {vertex} of {example})"),
        );
    }
}
