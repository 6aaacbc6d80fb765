//! Bars pressed together and a bar folded onto itself.

use eigenskin_core::glam::{DAffine3, DQuat};
use eigenskin_core::progress::Unwatched;

use super::*;
use crate::bones::HeldPoint;
use crate::embedding::embed;
use crate::equilibrium::Equilibrium;
use crate::lattice::{FillParams, fill};
use crate::material::Material;
use crate::path::{PathParams, follow_with_contact};
use crate::problem::Problem;
use crate::solver::Solver;
use crate::test_support::{Random, add_box, mesh_of};

/// Boxes of twelve triangles each, in cubes with an edge of 0.5.
struct Body {
    surface: Surface,
    filling: Filling,
    embedding: Embedding,
}

const EDGE: f64 = 0.5;

fn body(boxes: &[(DVec3, DVec3)]) -> Body {
    let (mut points, mut triangles) = (Vec::new(), Vec::new());
    for &(low, high) in boxes {
        add_box(&mut points, &mut triangles, EDGE * low, EDGE * high);
    }
    let surface = Surface::of(&mesh_of(&points, &triangles), &[]).unwrap();
    let params = FillParams { edge: Some(EDGE), ..FillParams::default() };
    let filling = fill(&surface, 0.0, &[], &params, &Unwatched).unwrap();
    let embedding = embed(&surface, &filling, &Unwatched).unwrap();
    Body { surface, filling, embedding }
}

impl Body {
    fn contact(&self) -> SelfContact<'_> {
        SelfContact::of_parts(
            &self.surface,
            &self.filling,
            &self.embedding,
            &ContactParams::default(),
            &Unwatched,
        )
        .unwrap()
    }

    /// Holds the middles of cells; `group_of` takes them in cubes of the boxes' space.
    fn problem(&self, group_of: impl Fn(DVec3) -> Option<usize>) -> Problem {
        let lattice = &self.filling.lattice;
        let held = (0..lattice.cell_count())
            .filter_map(|cell| {
                let middle = self.filling.middle_of(cell);
                let group = group_of(lattice.mesh_from_lattice(middle) / EDGE)?;
                let embedded = lattice.embed_in(cell, middle);
                Some(HeldPoint { embedded, rest: middle, group, stiffness: 100.0 })
            })
            .collect();
        Problem::new(lattice.clone(), held, 2, Material::default()).unwrap()
    }

    /// Follows group 1 along motions given in cubes of the boxes' space.
    fn follow(&self, problem: &Problem, motion_at: impl Fn(f64) -> DAffine3, with: bool) -> Equilibrium {
        let contact = self.contact();
        let mut solver = Solver::new(problem).unwrap();
        let rest = solver.rest();
        let lattice = &self.filling.lattice;
        let motions_at = |share: f64| {
            let mut motion = motion_at(share);
            motion.translation *= EDGE;
            vec![DAffine3::IDENTITY, lattice.motion_in_lattice(motion)]
        };
        let params = PathParams::default();
        let contact = with.then_some(&contact);
        follow_with_contact(&mut solver, &rest, motions_at, &[0.5, 1.0], &params, contact, &Unwatched)
            .unwrap()
            .remove(1)
    }
}

/// Two bars above each other, 0.4 cubes apart, each held within its outer layer.
fn two_bars() -> (Body, Problem) {
    let low = (DVec3::ZERO, DVec3::new(3.0, 3.0, 8.0));
    let high = (DVec3::new(0.3, 3.4, 0.2), DVec3::new(2.9, 6.4, 7.8));
    let body = body(&[low, high]);
    let problem = body.problem(|x| match x.y {
        y if y < 1.0 => Some(0),
        y if y > 5.4 => Some(1),
        _ => None,
    });
    (body, problem)
}

/// The upper bar pressed down by 1.2 cubes: 0.8 into the lower one.
fn press(share: f64) -> DAffine3 {
    DAffine3::from_translation(DVec3::new(0.0, -1.2 * share, 0.0))
}

/// A bar along z, 3 × 3 cubes, with bones in its axis that end 3.5 cubes from the middle: folded by
/// 150° they leave room for what is between them.
fn one_bar() -> (Body, Problem) {
    let body = body(&[(DVec3::ZERO, DVec3::new(3.0, 3.0, 18.0))]);
    let problem = body.problem(|x| {
        let in_axis = (x.x - 1.5).abs() < 1.2 && (x.y - 1.5).abs() < 0.8;
        (in_axis && (x.z - 9.0).abs() > 3.5).then_some(usize::from(x.z > 9.0))
    });
    (body, problem)
}

fn fold(degrees: f64) -> impl Fn(f64) -> DAffine3 {
    let pivot = DVec3::new(1.5, 1.5, 9.0);
    move |share| {
        let turn = DQuat::from_rotation_x(share * degrees.to_radians());
        DAffine3::from_translation(pivot) * DAffine3::from_quat(turn) * DAffine3::from_translation(-pivot)
    }
}

#[test]
fn bars_pressed_together_do_not_overlap() {
    let (body, problem) = two_bars();
    assert_eq!(body.filling.piece_count, 2);
    let contact = body.contact();
    let (without, with) = (body.follow(&problem, press, false), body.follow(&problem, press, true));
    let [deep, shallow] = [&without, &with].map(|state| contact.penetration(&state.positions));
    println!("{deep:?}\n{shallow:?} {:?}", with.contact);
    // Nothing deforms without contact: the overlap is what was asked for.
    assert!((deep.deepest / EDGE - 0.8).abs() < 0.01, "{deep:?}");
    assert!(shallow.deepest < 0.1 * deep.deepest && shallow.deepest < 0.1 * EDGE, "{shallow:?}");
    assert!(with.contact.pushing > 20 && with.residual < 1e-5 && with.inverted == 0, "{:?}", with.contact);

    // Contact only passes on what the springs of one bar push to those of the other.
    let lattice = problem.lattice();
    let mut pulls = [DVec3::ZERO; 2];
    for held in problem.held() {
        let gap = lattice.at(&held.embedded, &with.positions)
            - with.motions[held.group].transform_point3(held.rest);
        pulls[held.group] += held.stiffness * gap;
    }
    assert!(
        pulls[0].length() > 1.0 && (pulls[0] + pulls[1]).length() < 1e-4 * pulls[0].length(),
        "{pulls:?}"
    );
    let mut gradient = vec![DVec3::ZERO; lattice.node_count()];
    for row in contact.rows(&with.positions) {
        row.add_gradient(&with.positions, &mut gradient);
    }
    let largest = gradient.iter().fold(0.0_f64, |largest, force| largest.max(force.length()));
    assert!(largest > 0.1 && gradient.iter().sum::<DVec3>().length() < 1e-10 * largest);
}

#[test]
fn distances_are_right_to_first_order() {
    let (body, problem) = two_bars();
    let contact = body.contact();
    let bent = body.follow(&problem, |t| press(0.7 * t) * fold(10.0)(t), true).positions;
    let rows = contact.rows(&bent);
    let grid = CellGrid::new(&body.filling.lattice, &bent);
    let mut random = Random(11);
    let mut checked = 0;
    for point in contact.points() {
        for touch in contact.touches(point, &bent, &grid, Search { margin: 0.3, reach: f64::INFINITY }) {
            let Some(row) = contact.row(point, &touch, &bent) else { continue };
            assert!(rows.contains(&row));
            let to_deformed =
                (touch.within.deformation.inverse().transpose() * touch.outward).length().recip();
            assert!((row.distance(&bent) - touch.distance * to_deformed).abs() < 1e-9);
            // All nodes moved a little at random: the distance is looked up again from scratch.
            let by: Vec<DVec3> = bent.iter().map(|_| random.point()).collect();
            let moved =
                |step: f64| -> Vec<DVec3> { bent.iter().zip(&by).map(|(&x, &by)| x + step * by).collect() };
            let looked_up = |step: f64| {
                let positions = moved(step);
                let corners = body.filling.lattice.corners[touch.cell].map(|node| positions[node as usize]);
                let within = locate(&corners, body.filling.lattice.at(&point.embedded, &positions))?;
                Some(contact.touch(touch.cell, within, 1.0)?.distance * to_deformed)
            };
            let (Some(ahead), Some(behind)) = (looked_up(1e-6), looked_up(-1e-6)) else { continue };
            let truth = (ahead - behind) / 2e-6;
            let linear = (row.distance(&moved(1e-6)) - row.distance(&moved(-1e-6))) / 2e-6;
            // Along a box's edges and on its skin the distance has kinks.
            if touch.distance.abs() > 1e-4 {
                assert!((truth - linear).abs() < 1e-4, "{truth} {linear}");
                checked += 1;
            }
        }
    }
    assert!(checked > 50, "{checked}");
}

#[test]
fn a_folded_bar_does_not_enter_itself() {
    let (body, problem) = one_bar();
    let contact = body.contact();
    let states = [false, true].map(|with| body.follow(&problem, fold(150.0), with));
    let [deep, shallow] = [0, 1].map(|i| contact.penetration(&states[i].positions));
    for (state, penetration) in states.iter().zip([deep, shallow]) {
        println!(
            "{penetration:?} smallest J {:.3}, {} inverted, stable {}, {:?}",
            state.smallest_volume, state.inverted, state.stable, state.contact
        );
    }
    assert!(deep.deepest > 0.3 * EDGE, "{deep:?}");
    // The deepest are on the bar's sharp edges, which have no facing skin to push them out.
    assert!(shallow.deepest < 0.15 * EDGE && states[1].inverted == 0, "{shallow:?}");
    assert!(states[1].residual < 1e-5 && states[1].contact.pushing > 10, "{:?}", states[1].contact);
}

#[test]
fn a_body_that_touches_nothing_has_no_rows() {
    let (body, problem) = one_bar();
    let contact = body.contact();
    assert!(contact.points().len() > 500);
    let rest = &body.filling.lattice.nodes;
    assert_eq!(contact.rows(rest), []);
    assert_eq!(contact.penetration(rest).points, 0);
    // Nor has one that is bent a little; then all is as without contact, to the bit.
    let states = [false, true].map(|with| body.follow(&problem, fold(40.0), with));
    assert_eq!(states[0], states[1]);
}

#[test]
fn threads_do_not_show_in_contacts() {
    let (body, problem) = two_bars();
    let with_threads = |count| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(count).build().unwrap();
        pool.install(|| body.follow(&problem, press, true))
    };
    assert_eq!(with_threads(1), with_threads(2));
}
