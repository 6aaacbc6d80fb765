//! What is said of a parameterization by joints.

use eigenskin::method::{ParameterizationFit, PartReport};

use crate::output::{Output, counted, figure};
use crate::table;

/// Letters of joint names in a line of the table.
const LISTED: usize = 44;

/// The model in one line.
pub fn model_line(fit: &ParameterizationFit, targets: usize) -> String {
    format!(
        "{} of {}, at most {} at any vertex; {targets} morph targets",
        counted(fit.model.component_count(), "signal", "signals"),
        counted(fit.parts.len(), "part", "parts"),
        fit.model.most_tuples_per_vertex(),
    )
}

/// Parts, what drives them, and what their signals keep.
pub fn print_parts(output: &Output, fit: &ParameterizationFit) {
    if let Some(unseen) = fit.cross_validation {
        output.item(
            "unseen",
            format!(
                "{unseen:.3} of the displacements at rest, by leaving out a fifth of the examples at a time"
            ),
        );
    }
    let rows: Vec<Vec<String>> = fit
        .parts
        .iter()
        .map(|part| {
            vec![
                part.name.clone(),
                listed(part),
                part.vertex_count.to_string(),
                part.signal_count.to_string(),
                format!("{:.2} %", 100.0 * part.energy_kept),
                figure(part.ridge),
                part.cross_validation.map_or("–".to_string(), |error| format!("{error:.3}")),
            ]
        })
        .collect();
    output.line("");
    let head = ["part", "driven by", "vertices", "signals", "energy", "ridge", "unseen"];
    for line in table::lines(&head, &rows) {
        output.line(line);
    }
    output.line("");
}

/// Names of what drives a part, cut where they grow too long.
fn listed(part: &PartReport) -> String {
    let all = part.drivers.join(", ");
    if all.chars().count() <= LISTED {
        return all;
    }
    let mut shown = String::new();
    for (index, name) in part.drivers.iter().enumerate() {
        if shown.chars().count() + name.chars().count() > LISTED {
            return format!("{shown}… ({} in all)", part.drivers.len());
        }
        shown += if index == 0 { "" } else { ", " };
        shown += name;
    }
    shown
}
