//! What is said of a pose space deformation.

use eigenskin::method::{DriverReport, InBetweens, PsdReport, SpaceReport};

use crate::output::{Output, counted, figure};
use crate::table;

/// Letters of example names in a line of the table.
const LISTED: usize = 44;
/// Larger figures are told by their size only.
const LARGE: f64 = 1e5;

/// Pose spaces in their order, with their examples, widths and conditions.
pub fn print_spaces(output: &Output, learnt: &PsdReport) {
    let rows: Vec<Vec<String>> = learnt
        .spaces
        .iter()
        .enumerate()
        .map(|(index, space)| {
            vec![
                (index + 1).to_string(),
                space.name.clone(),
                listed(space),
                space.vertex_count.to_string(),
                range(space, |driver| driver.width),
                range(space, |driver| driver.condition),
            ]
        })
        .collect();
    output.line("");
    for line in table::lines(&["", "pose space", "examples", "vertices", "width", "condition"], &rows) {
        output.line(line);
    }
    output.line("");
    for InBetweens { example, names } in &learnt.in_betweens {
        output.item(
            "in between",
            format!(
                "{} on the way to {example:?}, where linear skinning collapses; they follow dual quaternions. --base dual-quaternion needs none, but only plays in eigenskin's own runtimes",
                counted(names.len(), "pose was added", "poses were added")
            ),
        );
    }
}

/// The first names, without the name of the space where all begin with it, and how many more there
/// are.
fn listed(space: &SpaceReport) -> String {
    let prefix = format!("{}:", space.name);
    let short: Option<Vec<&str>> = space.examples.iter().map(|name| name.strip_prefix(&prefix)).collect();
    let names = short.unwrap_or_else(|| space.examples.iter().map(String::as_str).collect());
    let mut text = names.first().copied().unwrap_or_default().to_string();
    let mut shown = 1;
    while let Some(name) = names.get(shown).filter(|name| text.len() + name.len() + 2 <= LISTED) {
        text += ", ";
        text += name;
        shown += 1;
    }
    match names.len().saturating_sub(shown) {
        0 => text,
        more => format!("{text} and {more} more"),
    }
}

/// A figure of all prototypes.
fn range(space: &SpaceReport, of: fn(&DriverReport) -> f64) -> String {
    let shown = |value: f64| if value < LARGE { figure(value) } else { format!("{value:.0e}") };
    let values = || space.drivers.iter().map(of);
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    match (shown(low), shown(high)) {
        _ if high == 0.0 => "–".to_string(),
        (low, high) if low == high => low,
        (low, high) => format!("{low}–{high}"),
    }
}
