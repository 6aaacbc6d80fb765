//! What is said of a parameterization by joints.

use eigenskin::method::{ParameterizationReport, PartReport};

use crate::output::{Output, figure};
use crate::table;

/// Letters of joint names in a line of the table.
const LISTED: usize = 44;

/// Parts, what drives them, and what their signals keep.
pub fn print_parts(output: &Output, learnt: &ParameterizationReport) {
    if let Some(unseen) = learnt.cross_validation {
        output.item(
            "unseen",
            format!(
                "{unseen:.3} of the displacements at rest, by leaving out a fifth of the examples at a time"
            ),
        );
    }
    let rows: Vec<Vec<String>> = learnt
        .parts
        .iter()
        .map(|part| {
            vec![
                part.name.clone(),
                listed(part),
                part.vertex_count.to_string(),
                part.signal_count.to_string(),
                format!("{:.2} %", 100.0 * part.energy_kept),
                figure(part.smoothing),
                part.cross_validation.map_or("–".to_string(), |error| format!("{error:.3}")),
            ]
        })
        .collect();
    output.line("");
    let head = ["part", "driven by", "vertices", "signals", "energy", "smoothing", "unseen"];
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
