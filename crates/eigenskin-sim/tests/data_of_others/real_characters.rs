//! Lattices of real characters; prints what they are made of.

use std::time::Instant;

use eigenskin_core::progress::Unwatched;
use eigenskin_core::rig::Rig;
use eigenskin_sim::lattice::FillParams;
use eigenskin_sim::problem::LEAST_SHARE;
use eigenskin_sim::tissue::{Tissue, TissueParams};

use crate::data;
use crate::rigs::rig_at;

/// Fills a character whose joints all move, checks what must hold of any, and prints the rest.
fn fill(name: &str, rig: &Rig, params: &TissueParams) -> Tissue {
    let moving = vec![true; rig.skeleton().joint_count()];
    let start = Instant::now();
    let tissue = Tissue::of(rig, &moving, &[], params, &Unwatched).unwrap();
    let seconds = start.elapsed().as_secs_f64();
    let Tissue { surface, plan, filling, embedding, held } = &tissue;
    println!(
        "{name}: {} triangles, {} components, volume {:.4e}; edge {:.4} (thinnest limb {:.4}), {} cells, {} nodes, \
         volume {:.3} of the skin's, {} pieces, {} dropped; extrapolation {:.2}, carried {:.2}; {} held; {seconds:.2} s",
        surface.triangles.len(),
        surface.components.len(),
        surface.body_volume(),
        filling.lattice.edge,
        plan.thinnest,
        filling.lattice.cell_count(),
        filling.lattice.node_count(),
        filling.volume() / surface.body_volume(),
        filling.piece_count,
        filling.dropped.len(),
        embedding.largest_extrapolation,
        embedding.largest_carried,
        held.points.len(),
    );
    for component in &surface.components {
        println!("  {component:?}");
    }
    for (group, count) in plan.groups.iter().zip(&held.points_of_group) {
        print!("  {}: {count};", rig.skeleton().joints()[group.leader].name);
    }
    println!();
    for warning in &held.warnings {
        println!("  {warning}");
    }

    let lattice = &filling.lattice;
    for (vertex, embedded) in embedding.vertices.iter().enumerate() {
        let at = lattice.mesh_from_lattice(lattice.at(embedded, &lattice.nodes));
        let truth = rig.mesh().positions()[vertex].as_dvec3();
        // Welding moves vertices by a millionth of the size at most.
        assert!(at.distance(truth) < 2e-6 * rig.mesh().size());
    }
    for points in held.points.chunk_by(|a, b| a.embedded.cell == b.embedded.cell) {
        assert!(points.iter().all(|point| point.group == points[0].group));
    }
    for (group, &has_skin) in plan.has_skin.iter().enumerate() {
        assert!(!has_skin || held.points_of_group[group] > 0);
    }
    assert!(embedding.largest_extrapolation < 1.0);
    tissue
}

#[test]
fn a_real_hand() {
    let data = data();
    let rig = rig_at(&data.join("webxr-hand/left.glb"));
    fill("webxr-hand, automatic", &rig, &TissueParams::default());
    let params = FillParams { edge: Some(0.006), ..FillParams::default() };
    let tissue = fill("webxr-hand, 6 mm", &rig, &TissueParams { fill: params, ..TissueParams::default() });
    // An independent script counted 2,366 cells.
    let cells = tissue.filling.lattice.cell_count();
    assert!((2_100..2_600).contains(&cells), "{cells}");
    assert_eq!(tissue.filling.piece_count, 1);
    assert_fingers_apart(&rig, &tissue);
    // What is added to cells with hardly any tissue is little.
    let filled = &tissue.filling.lattice.filled;
    let counted: f64 = filled.iter().map(|share| share.max(LEAST_SHARE)).sum();
    let added = counted / filled.iter().sum::<f64>() - 1.0;
    println!("  tissue added to nearly empty cells: {:.2} %", 100.0 * added);
    assert!(added < 0.03, "{added}");
}

/// Skin of the outer two phalanges of different fingers follows cells without a common node.
fn assert_fingers_apart(rig: &Rig, tissue: &Tissue) {
    let mut finger_of_node = vec![None; tissue.filling.lattice.node_count()];
    let mut fingers = std::collections::BTreeSet::new();
    for (vertex, embedded) in tissue.embedding.vertices.iter().enumerate() {
        let heaviest = rig.weights().of(vertex)[0];
        let name = &rig.skeleton().joints()[heaviest.joint as usize].name;
        let Some((finger, part)) = name.split_once("-finger-phalanx-") else { continue };
        if part == "proximal" || heaviest.weight < 0.6 {
            continue;
        }
        fingers.insert(finger);
        for &node in &tissue.filling.lattice.corners[embedded.cell as usize] {
            let first = finger_of_node[node as usize].get_or_insert(finger);
            assert_eq!(*first, finger, "node {node} is part of two fingers");
        }
    }
    assert_eq!(fingers.len(), 4);
}

#[test]
fn sample_characters() {
    let data = data();
    for name in ["CesiumMan", "Fox", "RiggedFigure", "RiggedSimple"] {
        let rig = rig_at(&data.join(format!("gltf/{name}.glb")));
        fill(name, &rig, &TissueParams::default());
    }
}
