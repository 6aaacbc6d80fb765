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

use ::eigenskin::jobs::simulate::{SimulateOutcome, SimulationPlan};
use ::eigenskin::rig::Rig;
use ::eigenskin::sim::jobs::Purpose;

use crate::output::{Output, counted};

/// How large a character is.
fn rig_summary(rig: &Rig) -> String {
    let (vertices, triangles) = (rig.vertex_count(), rig.mesh().triangles().len());
    format!("{vertices} vertices, {triangles} triangles, {} joints", rig.skeleton().joint_count())
}

/// What is going to be simulated.
fn print_plan(output: &Output, plan: &SimulationPlan) {
    let lattice = &plan.simulation().tissue().filling.lattice;
    output.item(
        "tissue",
        format!(
            "{} cells, {} unknowns; {} poses to learn from, {} to validate with",
            lattice.cell_count(),
            3 * lattice.node_count(),
            plan.jobs().count(Purpose::Training),
            plan.jobs().count(Purpose::Validation)
        ),
    );
}

/// What came out of it.
fn print_simulated(output: &Output, simulated: &SimulateOutcome) {
    let poses = counted(simulated.kept.len(), "pose", "poses");
    output.item("simulated", format!("{poses} in {:.0} s", simulated.seconds));
    for dropped in &simulated.dropped {
        output.item("dropped", format!("{}: {}", dropped.name, dropped.reason));
    }
}
