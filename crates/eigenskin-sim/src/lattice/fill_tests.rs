//! Tests of [`super::fill`].

use eigenskin_core::glam::DVec3;
use eigenskin_core::progress::Unwatched;

use super::*;
use crate::surface::Surface;
use crate::test_support::{Random, add_box, add_cylinder, mesh_of, sphere};

fn surface_of(points: &[DVec3], triangles: &[[u32; 3]]) -> Surface {
    Surface::of(&mesh_of(points, triangles), &[]).unwrap()
}

fn with_edge(edge: f64) -> FillParams {
    FillParams { edge: Some(edge), ..FillParams::default() }
}

fn assert_sound(filling: &Filling) {
    let lattice = &filling.lattice;
    assert_eq!(filling.cubes.len(), lattice.cell_count());
    for (cell, corners) in lattice.corners.iter().enumerate() {
        let mut distinct = corners.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), 8);
        for (corner, &node) in corners.iter().enumerate() {
            let expected = filling.cubes[cell].as_dvec3() + corner_offset(corner);
            assert_eq!(lattice.nodes[node as usize], expected);
        }
        assert!(lattice.filled[cell] >= 1.0 / 64.0 && lattice.filled[cell] <= 1.0);
    }
    let mut used = vec![false; lattice.node_count()];
    for &node in lattice.corners.iter().flatten() {
        used[node as usize] = true;
    }
    assert!(used.iter().all(|&used| used));
}

#[test]
fn volumes_are_those_of_the_shapes() {
    let (mut points, mut triangles) = (Vec::new(), Vec::new());
    add_box(&mut points, &mut triangles, DVec3::new(-1.0, 2.0, 0.0), DVec3::new(1.0, 3.0, 1.5));
    let filling = fill(&surface_of(&points, &triangles), 0.0, &[], &with_edge(0.21), &Unwatched).unwrap();
    assert_sound(&filling);
    assert!((filling.volume() / 3.0 - 1.0).abs() < 0.06, "{}", filling.volume());
    assert_eq!(filling.piece_count, 1);

    let (mut points, mut triangles) = (Vec::new(), Vec::new());
    add_cylinder(&mut points, &mut triangles, 0.5, [0.0, 4.0], 8);
    let filling = fill(&surface_of(&points, &triangles), 0.0, &[], &with_edge(0.17), &Unwatched).unwrap();
    assert_sound(&filling);
    let truth = std::f64::consts::PI;
    assert!((filling.volume() / truth - 1.0).abs() < 0.03, "{}", filling.volume());
    // Full cubes of a solid body share their nodes: far fewer than eight a cell.
    assert!(filling.lattice.node_count() < 2 * filling.lattice.cell_count());
}

#[test]
fn close_fingers_are_not_glued() {
    // Two fingers half a cell apart, which meet in a palm.
    let (mut points, mut triangles) = (Vec::new(), Vec::new());
    add_box(&mut points, &mut triangles, DVec3::ZERO, DVec3::new(0.95, 1.0, 6.0));
    add_box(&mut points, &mut triangles, DVec3::new(1.45, 0.0, 0.0), DVec3::new(2.4, 1.0, 6.0));
    add_box(&mut points, &mut triangles, DVec3::new(0.0, 0.0, -2.0), DVec3::new(2.4, 1.0, 0.5));
    let surface = surface_of(&points, &triangles);
    let filling = fill(&surface, 0.0, &[], &with_edge(1.0), &Unwatched).unwrap();
    assert_sound(&filling);
    assert_eq!(filling.piece_count, 1, "the palm joins them");
    let lattice = &filling.lattice;
    let side_of = |cell: usize| {
        let middle = lattice.mesh_from_lattice(filling.middle_of(cell));
        (middle.z > 2.0).then_some(middle.x < 1.2)
    };
    let nodes_of = |left: bool| -> Vec<u32> {
        (0..lattice.cell_count())
            .filter(|&cell| side_of(cell) == Some(left))
            .flat_map(|cell| lattice.corners[cell])
            .collect()
    };
    let (left, right) = (nodes_of(true), nodes_of(false));
    assert!(!left.is_empty() && !right.is_empty());
    assert!(left.iter().all(|node| !right.contains(node)));
    // Some cube is there twice.
    assert!(filling.cubes.windows(2).any(|pair| pair[0] == pair[1]));
}

#[test]
fn holes_change_little() {
    let (points, triangles) = sphere(40);
    let whole = fill(&surface_of(&points, &triangles), 0.0, &[], &with_edge(0.2), &Unwatched).unwrap();
    let changed = |triangles: &[[u32; 3]]| {
        let other = fill(&surface_of(&points, triangles), 0.0, &[], &with_edge(0.2), &Unwatched).unwrap();
        assert_eq!(other.lattice.origin, whole.lattice.origin, "the bounds are to stay the same");
        let masks = |f: &Filling, cube| f.cells_of(cube).fold(0, |m, cell| m | f.voxels[cell]);
        let mut cubes: Vec<_> = whole.cubes.iter().chain(&other.cubes).copied().collect();
        cubes.sort_unstable_by_key(eigenskin_core::glam::IVec3::to_array);
        cubes.dedup();
        let differ =
            |&cube: &eigenskin_core::glam::IVec3| (masks(&whole, cube) ^ masks(&other, cube)).count_ones();
        let all: u32 = whole.voxels.iter().map(|mask| mask.count_ones()).sum();
        f64::from(cubes.iter().map(differ).sum::<u32>()) / f64::from(all)
    };
    let mut random = Random(4);
    let mut sparse = triangles.clone();
    sparse.retain(|t| t[0] == 0 || random.unit() > 0.05);
    assert!(changed(&sparse) < 5e-3, "{}", changed(&sparse));
    // A hole of 16 degrees around a place beside the axes.
    let mut open = triangles.clone();
    let place = DVec3::new(1.0, 2.0, 2.0) / 3.0;
    open.retain(|t| t.iter().all(|&v| points[v as usize].dot(place) < 0.99));
    assert!(open.len() < triangles.len());
    assert!(changed(&open) < 5e-3, "{}", changed(&open));
}

#[test]
fn small_islands_are_dropped_unless_they_hold_a_bone() {
    let (mut points, mut triangles) = (Vec::new(), Vec::new());
    add_box(&mut points, &mut triangles, DVec3::ZERO, DVec3::splat(4.0));
    add_box(&mut points, &mut triangles, DVec3::new(6.0, 0.0, 0.0), DVec3::new(6.6, 0.6, 0.6));
    let surface = surface_of(&points, &triangles);
    let filling = fill(&surface, 0.0, &[], &with_edge(0.5), &Unwatched).unwrap();
    assert_sound(&filling);
    assert_eq!((filling.piece_count, filling.dropped.len()), (1, 1));
    assert!(filling.dropped[0].near.x > 5.9 && filling.dropped[0].share < 0.01);
    let bone = DVec3::new(6.3, 0.3, 0.3);
    let filling = fill(&surface, 0.0, &[bone], &with_edge(0.5), &Unwatched).unwrap();
    assert_eq!((filling.piece_count, filling.dropped.len()), (2, 0));
}

#[test]
fn automatic_edges_keep_within_the_bounds() {
    let (points, triangles) = sphere(16);
    let surface = surface_of(&points, &triangles);
    for (thinnest, fewest, most) in [(2.0, 600, 6000), (0.01, 600, 6000), (2.0, 2000, 4000), (0.5, 100, 400)]
    {
        let params = FillParams { fewest_cells: fewest, most_cells: most, ..FillParams::default() };
        let filling = fill(&surface, thinnest, &[], &params, &Unwatched).unwrap();
        let cells = filling.lattice.cell_count();
        assert!(cells >= fewest && cells <= most, "{cells} for {thinnest} in {fewest}..{most}");
    }
    // Within the bounds it is a third of the limb.
    let filling = fill(&surface, 0.6, &[], &FillParams::default(), &Unwatched).unwrap();
    assert!((filling.lattice.edge - 0.2).abs() < 1e-12);
}

#[test]
fn bad_parameters_are_named() {
    let (points, triangles) = sphere(10);
    let surface = surface_of(&points, &triangles);
    let refused = |params: &FillParams| fill(&surface, 0.5, &[], params, &Unwatched).unwrap_err();
    assert!(matches!(refused(&with_edge(f64::NAN)), FillError::BadParameter { name: "edge", .. }));
    assert!(matches!(refused(&with_edge(1e-5)), FillError::TooFine { .. }));
    assert!(matches!(
        fill(&surface, 0.0, &[], &FillParams::default(), &Unwatched),
        Err(FillError::BadParameter { name: "the thinnest limb", .. })
    ));
}
