//! The same problem for CalculiX, as its input file: a referee for the solver.
//!
//! Elements are C3D8, the material is `*HYPERELASTIC, NEO HOOKE` with C10 · f and D1/f for cells
//! with share f. A held point is a node tied to its cell's corners by `*EQUATION`, with
//! three `SPRING2` to a node that `*BOUNDARY` drives.

use std::collections::BTreeMap;
use std::io::{self, Write};

use eigenskin_core::glam::{DAffine3, DVec3};

use crate::problem::Problem;

/// Displacements of the lattice's nodes at one time.
#[derive(Debug, Clone, PartialEq)]
pub struct Displacements {
    /// time: the step's number at its end
    pub time: f64,
    /// `node` → displacement; nodes without a line are at rest
    pub by: Vec<DVec3>,
}

// Numbers are written with 13 digits: CalculiX reads fields of at most 20 characters.

/// Order of a lattice cell's corners in a C3D8 element.
const CORNER_ORDER: [usize; 8] = [0, 1, 3, 2, 4, 5, 7, 6];

/// Writes an input file that solves `poses` (`pose`, `group` → motion in lattice space), one step each.
/// The material is the neo-Hookean one, whatever the problem's is.
pub fn write_inp(out: &mut impl Write, problem: &Problem, poses: &[Vec<DAffine3>]) -> io::Result<()> {
    let lattice = problem.lattice();
    let nodes = lattice.node_count();
    writeln!(out, "*NODE, NSET=LATTICE")?;
    for (node, x) in lattice.nodes.iter().enumerate() {
        writeln!(out, "{}, {:.12e}, {:.12e}, {:.12e}", node + 1, x.x, x.y, x.z)?;
    }
    writeln!(out, "*NODE, NSET=HELD")?;
    for (point, held) in problem.held().iter().enumerate() {
        let x = lattice.at(&held.embedded, &lattice.nodes);
        for node in [tied_node(nodes, point), driven_node(nodes, point)] {
            writeln!(out, "{node}, {:.12e}, {:.12e}, {:.12e}", x.x, x.y, x.z)?;
        }
    }
    write_cells(out, problem)?;
    write_springs(out, problem)?;
    for motions in poses {
        write_step(out, problem, motions)?;
    }
    Ok(())
}

/// Cells by their share, one material each.
fn write_cells(out: &mut impl Write, problem: &Problem) -> io::Result<()> {
    let lattice = problem.lattice();
    // Positive numbers sort as their bits do.
    let mut by_share: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for cell in 0..lattice.cell_count() {
        by_share.entry(problem.share(cell).to_bits()).or_default().push(cell);
    }
    for (index, (share, cells)) in by_share.iter().enumerate() {
        let share = f64::from_bits(*share);
        writeln!(out, "*ELEMENT, TYPE=C3D8, ELSET=CELLS{index}")?;
        for &cell in cells {
            write!(out, "{}", cell + 1)?;
            for corner in CORNER_ORDER {
                write!(out, ", {}", lattice.corners[cell][corner] + 1)?;
            }
            writeln!(out)?;
        }
        let (c10, d1) = (0.5, 2.0 / problem.material().bulk());
        writeln!(out, "*MATERIAL, NAME=TISSUE{index}\n*HYPERELASTIC, NEO HOOKE")?;
        writeln!(out, "{:.12e}, {:.12e}", c10 * share, d1 / share)?;
        writeln!(out, "*SOLID SECTION, ELSET=CELLS{index}, MATERIAL=TISSUE{index}")?;
    }
    Ok(())
}

fn write_springs(out: &mut impl Write, problem: &Problem) -> io::Result<()> {
    let lattice = problem.lattice();
    let nodes = lattice.node_count();
    for (point, held) in problem.held().iter().enumerate() {
        let corners = lattice.corners[held.embedded.cell as usize];
        let terms: Vec<(u32, f64)> =
            corners.into_iter().zip(held.embedded.weights).filter(|&(_, weight)| weight != 0.0).collect();
        for axis in 1..=3 {
            writeln!(out, "*EQUATION\n{}", terms.len() + 1)?;
            writeln!(out, "{}, {axis}, -1.", tied_node(nodes, point))?;
            for (node, weight) in &terms {
                writeln!(out, "{}, {axis}, {weight:.12e}", node + 1)?;
            }
        }
    }
    let mut by_stiffness: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (point, held) in problem.held().iter().enumerate() {
        by_stiffness.entry(held.stiffness.to_bits()).or_default().push(point);
    }
    let mut element = lattice.cell_count();
    for (index, (stiffness, points)) in by_stiffness.iter().enumerate() {
        for axis in 1..=3 {
            writeln!(out, "*ELEMENT, TYPE=SPRING2, ELSET=SPRINGS{index}X{axis}")?;
            for &point in points {
                element += 1;
                writeln!(out, "{element}, {}, {}", tied_node(nodes, point), driven_node(nodes, point))?;
            }
            writeln!(out, "*SPRING, ELSET=SPRINGS{index}X{axis}\n{axis}, {axis}")?;
            writeln!(out, "{:.12e}", f64::from_bits(*stiffness))?;
        }
    }
    Ok(())
}

fn write_step(out: &mut impl Write, problem: &Problem, motions: &[DAffine3]) -> io::Result<()> {
    let lattice = problem.lattice();
    // By default CalculiX is content with half a percent of force out of balance.
    writeln!(out, "*STEP, NLGEOM, INC=1000\n*STATIC\n0.5, 1., 1e-4, 1.")?;
    writeln!(out, "*CONTROLS, PARAMETERS=FIELD\n1e-6, 1e-6")?;
    writeln!(out, "*BOUNDARY")?;
    for (point, held) in problem.held().iter().enumerate() {
        let by = motions[held.group].transform_point3(held.rest) - lattice.at(&held.embedded, &lattice.nodes);
        for axis in 0..3 {
            let node = driven_node(lattice.node_count(), point);
            writeln!(out, "{node}, {}, {}, {:.12e}", axis + 1, axis + 1, by[axis])?;
        }
    }
    writeln!(out, "*NODE PRINT, NSET=LATTICE, FREQUENCY=1000\nU\n*END STEP")
}

fn tied_node(lattice_nodes: usize, point: usize) -> usize {
    lattice_nodes + 2 * point + 1
}

fn driven_node(lattice_nodes: usize, point: usize) -> usize {
    lattice_nodes + 2 * point + 2
}

/// Reads the displacements that CalculiX printed into its `.dat` file, in order of time.
pub fn read_displacements(dat: &str, node_count: usize) -> Vec<Displacements> {
    let mut tables: Vec<Displacements> = Vec::new();
    for line in dat.lines() {
        if line.trim_start().starts_with("displacements") {
            let time = line.split_whitespace().last().and_then(|word| word.parse().ok());
            tables.push(Displacements { time: time.unwrap_or(f64::NAN), by: vec![DVec3::ZERO; node_count] });
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let (Some(table), [node, x, y, z]) = (tables.last_mut(), &words[..]) else { continue };
        if let (Ok(node), Ok(x), Ok(y), Ok(z)) = (node.parse::<usize>(), x.parse(), y.parse(), z.parse())
            && let Some(by) = node.checked_sub(1).and_then(|node| table.by.get_mut(node))
        {
            *by = DVec3::new(x, y, z);
        }
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_calculix_prints() {
        let dat = "\n displacements (vx,vy,vz) for set LATTICE and time  0.1000000E+01\n\n\
                   \x20        1  1.000000E-01 -2.000000E+00  0.000000E+00\n\
                   \x20        9  1.000000E-01 -2.000000E+00  0.000000E+00\n\
                   \n displacements (vx,vy,vz) for set LATTICE and time  0.2000000E+01\n\n\
                   \x20        2  0.000000E+00  0.000000E+00  3.500000E-01\n";
        let tables = read_displacements(dat, 2);
        assert_eq!(tables.len(), 2);
        assert_eq!((tables[0].time, tables[1].time), (1.0, 2.0));
        assert_eq!(tables[0].by, [DVec3::new(0.1, -2.0, 0.0), DVec3::ZERO]);
        assert_eq!(tables[1].by, [DVec3::ZERO, DVec3::new(0.0, 0.0, 0.35)]);
    }
}
