//! What is said of a pose space deformation.

use eigenskin::method::psd::{DriverReport, SpaceReport};
use eigenskin::method::{PsdFit, PsdParams};
use serde_json::{Value, json};

use super::options::Method;
use crate::output::{Output, counted, figure};
use crate::table;

/// Letters of example names in a line of the table.
const LISTED: usize = 44;
/// Larger figures are told by their size only.
const LARGE: f64 = 1e5;
/// Weights that miss their examples by more are worth a word.
const MISS: f64 = 1e-3;
/// So is what no delta reaches, as a share of the size.
const UNREACHABLE: f64 = 1e-4;

/// Pose spaces in their order, with their examples, widths and conditions.
pub fn print_spaces(output: &Output, fit: &PsdFit) {
    let rows: Vec<Vec<String>> = fit
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
}

/// What deserves attention.
pub fn warnings(fit: &PsdFit) -> Vec<String> {
    let size = fit.model.rig().mesh().size();
    let mut warnings = Vec::new();
    for example in fit.examples.iter().filter(|example| example.unreachable > UNREACHABLE * size) {
        warnings.push(format!(
            "example {:?} is missed by up to {} where skinning collapses and has no inverse; --deltas forward reaches it",
            example.name,
            figure(example.unreachable)
        ));
    }
    for space in &fit.spaces {
        let miss = space.drivers.iter().map(|driver| driver.miss).fold(0.0, f64::max);
        if miss > MISS {
            warnings.push(format!(
                "the weights of pose space {:?} miss its examples by up to {}: it does not interpolate them exactly",
                space.name,
                figure(miss)
            ));
        }
    }
    warnings
}

/// For machines.
pub fn json(fit: &PsdFit, params: &PsdParams, method: Method) -> Value {
    let driver = |driver: &DriverReport| {
        json!({
            "width": driver.width,
            "condition": driver.condition,
            "leave_one_out": driver.leave_one_out,
            "miss": driver.miss,
        })
    };
    let spaces: Vec<Value> = fit
        .spaces
        .iter()
        .map(|space| {
            json!({
                "name": space.name,
                "movers": space.movers,
                "examples": space.examples,
                "anchors": space.anchors,
                "vertices": space.vertex_count,
                "drivers": space.drivers.iter().map(driver).collect::<Vec<_>>(),
            })
        })
        .collect();
    let deltas: Vec<Value> = fit
        .examples
        .iter()
        .map(|example| {
            json!({
                "name": example.name,
                "space": fit.spaces.get(example.space).map(|space| space.name.as_str()),
                "largest_delta": example.largest_delta,
                "vertex": example.vertex,
                "unreachable": example.unreachable,
            })
        })
        .collect();
    json!({
        "method": method.name(),
        "examples": fit.examples.len(),
        "prototypes": params.prototypes.map(|_| fit.spaces.first().map_or(0, |space| space.drivers.len())),
        "spaces": spaces,
        "deltas": deltas,
    })
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

/// The model in one line.
pub fn model_line(fit: &PsdFit, targets: usize) -> String {
    format!(
        "{} in {}, at most {} at any vertex; {targets} morph targets",
        counted(fit.model.component_count(), "field", "fields"),
        counted(fit.spaces.len(), "pose space", "pose spaces"),
        fit.model.most_tuples_per_vertex(),
    )
}
