//! A real hand that touches itself; prints what contact does and costs.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use eigenskin::pose::{JointMotion, Pose};
use eigenskin::reference::guess_references;
use eigenskin::rig::Rig;
use eigenskin_io::{ReadOptions, read_rig};
use eigenskin_sim::glam::{DAffine3, DQuat};
use eigenskin_sim::lattice::FillParams;
use eigenskin_sim::material::Material;
use eigenskin_sim::path::{PathParams, follow_with_contact};
use eigenskin_sim::problem::Problem;
use eigenskin_sim::self_contact::{ContactParams, Penetration, SelfContact};
use eigenskin_sim::solver::Solver;
use eigenskin_sim::tissue::{Tissue, TissueParams};

/// The hand of the WebXR input profiles, or one visible line that the test is left out.
fn hand(test: &str) -> Option<Rig> {
    let Some(folder) = std::env::var_os("EIGENSKIN_DATA").map(PathBuf::from) else {
        let line = format!("\nleft out: {test} (set EIGENSKIN_DATA to the data folder)\n");
        let _ = std::io::stderr().write_all(line.as_bytes());
        return None;
    };
    let path = folder.join("webxr-hand/left.glb");
    let rig = read_rig(&path, &ReadOptions::default()).unwrap().rig().as_ref().clone();
    Some(match guess_references(&rig) {
        Some(guess) => rig.with_references(&guess.references).unwrap(),
        None => rig,
    })
}

/// Turns of the joints whose names end like this, about their x axes in degrees.
fn turned(rig: &Rig, turns: &[(&str, f64)]) -> Vec<JointMotion> {
    let turn_of = |name: &str| turns.iter().find(|(end, _)| name.ends_with(end)).map_or(0.0, |turn| turn.1);
    rig.skeleton()
        .joints()
        .iter()
        .map(|joint| JointMotion {
            rotation: DQuat::from_rotation_x(turn_of(&joint.name).to_radians()),
            ..JointMotion::REST
        })
        .collect()
}

struct Bent {
    penetration: Penetration,
    inverted: usize,
    seconds: f64,
}

/// Follows the hand into a pose and prints how it went.
fn bend(rig: &Rig, tissue: &Tissue, motions: &[JointMotion], contact: &SelfContact, with: bool) -> Bent {
    let lattice = &tissue.filling.lattice;
    let problem = Problem::new(
        lattice.clone(),
        tissue.held.points.clone(),
        tissue.plan.groups.len(),
        Material::default(),
    )
    .unwrap();
    let skeleton = rig.skeleton();
    let motions_at = |share: f64| -> Vec<DAffine3> {
        let part: Vec<JointMotion> = motions.iter().map(|motion| motion.share(share)).collect();
        let pose = Pose::of_motions(skeleton, &part, rig.rest_pose().controls);
        let posed: Vec<DAffine3> = pose.posed_from_rest(skeleton).collect();
        tissue.plan.groups.iter().map(|group| lattice.motion_in_lattice(posed[group.leader])).collect()
    };
    let mut solver = Solver::new(&problem).unwrap();
    let rest = solver.rest();
    let start = Instant::now();
    let states = follow_with_contact(
        &mut solver,
        &rest,
        motions_at,
        &[0.5, 1.0],
        &PathParams::default(),
        with.then_some(contact),
    );
    let seconds = start.elapsed().as_secs_f64();
    if let Ok(states) = &states {
        for state in states {
            println!("    {} Newton steps, {} projected, {:?}", state.iterations, state.projected, state.contact);
        }
    }
    let states = match states {
        Ok(states) => states,
        Err(error) => {
            println!("  contact {with}: {error}: {}", error.cause);
            error.reached
        }
    };
    let end = states.last().unwrap();
    let start = Instant::now();
    let penetration = contact.penetration(&end.positions);
    let lookup = start.elapsed().as_secs_f64();
    println!(
        "  contact {with}: {:.2} mm deep, {} of {} points within; smallest J {:.3}, {} inverted, stable {}; \
         {} Newton steps last, {:?}; {seconds:.2} s, looking {lookup:.4} s",
        1e3 * penetration.deepest,
        penetration.points,
        penetration.of_points,
        end.smallest_volume,
        end.inverted,
        end.stable,
        end.iterations,
        end.contact,
    );
    Bent { penetration, inverted: end.inverted, seconds }
}

#[test]
fn a_hand_does_not_enter_itself() {
    let Some(rig) = hand("a_hand_does_not_enter_itself") else { return };
    let params = TissueParams {
        fill: FillParams { edge: Some(0.006), ..FillParams::default() },
        ..TissueParams::default()
    };
    let moving = vec![true; rig.skeleton().joint_count()];
    let tissue = Tissue::of(&rig, &moving, &[], &params).unwrap();
    let start = Instant::now();
    let contact = SelfContact::new(&tissue, &ContactParams::default());
    println!("{} points, {:.2} s to prepare", contact.points().len(), start.elapsed().as_secs_f64());
    let rest = &tissue.filling.lattice.nodes;
    assert_eq!(contact.penetration(rest).points, 0);
    assert!(contact.rows(rest).iter().all(|row| row.distance(rest) >= 0.0));
    let poses: [(&str, &[(&str, f64)]); 2] = [
        ("index finger, middle joint by 105°", &[("index-finger-phalanx-intermediate", -105.0)]),
        (
            "fist",
            &[
                ("finger-phalanx-proximal", -80.0),
                ("finger-phalanx-intermediate", -90.0),
                ("finger-phalanx-distal", -60.0),
            ],
        ),
    ];
    for (name, turns) in poses {
        println!("{name}");
        let motions = turned(&rig, turns);
        assert!(motions.iter().any(|motion| *motion != JointMotion::REST));
        let without = bend(&rig, &tissue, &motions, &contact, false);
        let with = bend(&rig, &tissue, &motions, &contact, true);
        println!("  {:.1} times the time", with.seconds / without.seconds);
        assert_eq!(with.inverted, 0);
    }
}
