//! What came out of a simulation, in a few lines.

use std::path::Path;

use eigenskin::jobs::simulate::SimulateOutcome;
use eigenskin::sim::quality::PoseQuality;
use eigenskin::suggest::Outlook;

use crate::output::{Output, counted};

/// Sums it up for people.
pub fn print(output: &Output, outcome: &SimulateOutcome) {
    let over = |of: fn(&PoseQuality) -> f64, pick: fn(f64, f64) -> f64| {
        outcome.kept.iter().map(|pose| of(&pose.quality)).reduce(pick)
    };
    if let (Some(low), Some(high), Some(smallest)) = (
        over(|quality| quality.volume, f64::min),
        over(|quality| quality.volume, f64::max),
        over(|quality| quality.smallest_volume, f64::min),
    ) {
        output.item(
            "simulated",
            format!(
                "{} in {:.0} s; volume {:.1}–{:.1} % of rest, no point inside out (smallest J {smallest:.2})",
                counted(outcome.kept.len(), "pose", "poses"),
                outcome.seconds,
                100.0 * low,
                100.0 * high
            ),
        );
    }
    print_contact(output, outcome);
    if !outcome.dropped.is_empty() {
        output.item("dropped", format!("{}:", counted(outcome.dropped.len(), "pose", "poses")));
        for dropped in &outcome.dropped {
            output.item("", format!("{}: {}", dropped.name, dropped.reason));
        }
    }
}

/// What more poses would buy, and how to get them.
pub fn print_outlook(output: &Output, outlook: &Outlook, examples: &Path) {
    let Outlook { poses, with_half, with_all } = outlook;
    output.item(
        "outlook",
        format!("error on left-out poses of several joints {with_all:.3} of plain skinning's, {with_half:.3} with half of the {poses}"),
    );
    let after = outlook.with_more(*poses);
    output.item(
        "",
        format!(
            "with {poses} more, expect about {after:.3}: eigenskin simulate {} --more {poses}",
            examples.display()
        ),
    );
}

/// What contact cost, and what it left.
fn print_contact(output: &Output, outcome: &SimulateOutcome) {
    let qualities = || outcome.poses.iter().map(|pose| &pose.quality);
    let touching = qualities().filter(|quality| quality.contact_steps > 0).count();
    if touching == 0 {
        return;
    }
    let steps: usize = qualities().map(|quality| quality.newton_steps).sum();
    let of_contact: usize = qualities().map(|quality| quality.contact_steps).sum();
    let dragged = qualities().filter(|quality| !quality.settled).count();
    let depths = outcome.kept.iter().filter_map(|pose| pose.quality.penetration);
    output.item(
        "contact",
        format!(
            "skin touches skin in {touching} of {} ({dragged} ended by drag), which took {of_contact} of {steps} Newton steps; at most {:.1} % of the size within other skin",
            counted(outcome.poses.len(), "pose", "poses"),
            100.0 * depths.fold(0.0, f64::max)
        ),
    );
}
