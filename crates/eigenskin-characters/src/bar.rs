//! The bars of Kim's Figure 4: a square one and round ones, two joints, bent and twisted.
//!
//! They stand along y, 24 rings one unit apart, the joint in the middle at the origin.

use std::sync::Arc;

use glam::{DVec3, Vec3};

use super::truth::{Bend, Flesh};
use super::{Character, CharacterError, degree, joint, one_after_the_other, smoothstep};
use eigenskin_core::mesh::Mesh;
use eigenskin_core::rig::Rig;
use eigenskin_core::skeleton::Skeleton;
use eigenskin_core::weights::{Influence, SkinWeights};

/// Rings along a bar, one unit apart.
const RINGS: usize = 24;
/// Half the length from the first ring to the last.
const HALF_LENGTH: f64 = 0.5 * (RINGS - 1) as f64;
/// Half the side of the square, radius of the cylinder.
const HALF_SIDE: f64 = 2.0;
/// Skin weights change over this stretch around the middle. It decides what style transfer can
/// carry: 12 units fail, 3 are trivial.
const WEIGHT_STRETCH: f64 = 6.0;

/// The square bar: side 4, 24 rings of 16 vertices and two caps of 3 × 3, 402 vertices.
pub fn square_bar() -> Result<Character, CharacterError> {
    // Once around the square, counter-clockwise seen from above.
    let ring: Vec<(f64, f64)> = (0..16)
        .map(|corner| {
            let step = (corner % 4) as f64;
            match corner / 4 {
                0 => (2.0, 2.0 - step),
                1 => (2.0 - step, -2.0),
                2 => (-2.0, -2.0 + step),
                _ => (-2.0 + step, 2.0),
            }
        })
        .collect();
    let mut positions = tube(&ring);
    let mut triangles = tube_triangles(ring.len());
    for top in [false, true] {
        let (y, first_of_ring) = cap_of(top, ring.len());
        let first = positions.len() as u32;
        for row in -1..=1 {
            for column in -1..=1 {
                positions.push(Vec3::new(column as f32, y as f32, row as f32));
            }
        }
        // Vertex at column, row of the 5 × 5 grid: on the border the ring's own, else the cap's.
        let at = |column: i32, row: i32| -> u32 {
            let inside = column.abs() < 2 && row.abs() < 2;
            if inside {
                return first + ((row + 1) * 3 + column + 1) as u32;
            }
            let place = (f64::from(column), f64::from(row));
            let index = ring.iter().position(|&p| p == place).unwrap_or_default();
            first_of_ring + index as u32
        };
        for row in -2..2 {
            for column in -2..2 {
                let quad =
                    [at(column, row), at(column, row + 1), at(column + 1, row + 1), at(column + 1, row)];
                push_quad(&mut triangles, quad, !top);
            }
        }
    }
    bar(positions, triangles)
}

/// The cylinder: radius 2, 24 rings and two cap centres. 12 vertices a ring make 290, 20 make 482.
pub fn cylinder(ring_vertices: usize) -> Result<Character, CharacterError> {
    if ring_vertices < 3 {
        return Err(CharacterError::RingVertices { ring_vertices });
    }
    let ring: Vec<(f64, f64)> = (0..ring_vertices)
        .map(|index| {
            let angle = std::f64::consts::TAU * index as f64 / ring_vertices as f64;
            (HALF_SIDE * angle.cos(), -HALF_SIDE * angle.sin())
        })
        .collect();
    let mut positions = tube(&ring);
    let mut triangles = tube_triangles(ring_vertices);
    for top in [false, true] {
        let (y, first_of_ring) = cap_of(top, ring_vertices);
        let centre = positions.len() as u32;
        positions.push(Vec3::new(0.0, y as f32, 0.0));
        for index in 0..ring_vertices {
            let [a, b] = [index, (index + 1) % ring_vertices].map(|k| first_of_ring + k as u32);
            triangles.push(if top { [centre, a, b] } else { [centre, b, a] });
        }
    }
    bar(positions, triangles)
}

/// Height of a cap and the first vertex of its ring.
fn cap_of(top: bool, ring_vertices: usize) -> (f64, u32) {
    if top { (HALF_LENGTH, ((RINGS - 1) * ring_vertices) as u32) } else { (-HALF_LENGTH, 0) }
}

/// All rings from below, `ring × corner`.
fn tube(ring: &[(f64, f64)]) -> Vec<Vec3> {
    let heights = (0..RINGS).map(|index| index as f64 - HALF_LENGTH);
    heights.flat_map(|y| ring.iter().map(move |&(x, z)| DVec3::new(x, y, z).as_vec3())).collect()
}

fn tube_triangles(ring_vertices: usize) -> Vec<[u32; 3]> {
    let mut triangles = Vec::new();
    for level in 0..RINGS - 1 {
        for index in 0..ring_vertices {
            let [a, b] = [index, (index + 1) % ring_vertices].map(|k| (level * ring_vertices + k) as u32);
            let up = ring_vertices as u32;
            push_quad(&mut triangles, [a, b, b + up, a + up], false);
        }
    }
    triangles
}

fn push_quad(triangles: &mut Vec<[u32; 3]>, [a, b, c, d]: [u32; 4], reversed: bool) {
    triangles.extend(if reversed { [[a, c, b], [a, d, c]] } else { [[a, b, c], [a, c, d]] });
}

/// Joints, weights, ranges.
fn bar(positions: Vec<Vec3>, triangles: Vec<[u32; 3]>) -> Result<Character, CharacterError> {
    // Axes of the rest shape: x across, y along the bar.
    let skeleton = Skeleton::new(vec![
        joint("lower", None, DVec3::new(0.0, -HALF_LENGTH, 0.0), DVec3::NEG_Z, DVec3::Y),
        joint("upper", Some(0), DVec3::ZERO, DVec3::NEG_Z, DVec3::Y),
    ])?;
    let weights = positions.iter().map(|p| {
        let upper = smoothstep(0.5 + f64::from(p.y) / WEIGHT_STRETCH) as f32;
        vec![Influence { joint: 0, weight: 1.0 - upper }, Influence { joint: 1, weight: upper }]
    });
    let (weights, _) = SkinWeights::new(2, weights)?;
    let rig = Rig::new(Mesh::new(positions, triangles, None)?, skeleton, weights, vec![])?;
    let degrees = vec![degree(1, DVec3::X, 0.0, 120.0), degree(1, DVec3::Y, 0.0, 170.0)];
    let upper = Bend {
        along: DVec3::Y,
        bone: DVec3::Y,
        half_width: 2.0 * HALF_SIDE,
        twist_from: 0.0,
        twist_length: HALF_LENGTH,
        branch: None,
    };
    Ok(Character {
        rig: Arc::new(rig),
        motion_keys: one_after_the_other(&degrees),
        degrees_of_freedom: degrees,
        flesh: Flesh {
            bends: vec![None, Some(upper)],
            branches: vec![],
            swellings: vec![],
            highest_swelling: 1.0,
        },
        named_angles: vec![],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{is_closed_and_outward, volume};

    #[test]
    fn bars_have_the_papers_vertices_and_are_closed() {
        let bars = [(square_bar(), 402, 16.0), (cylinder(12), 290, 12.0), (cylinder(20), 482, 12.36)];
        for (bar, vertices, section) in bars {
            let bar = bar.unwrap();
            let mesh = bar.rig.mesh();
            assert_eq!(mesh.vertex_count(), vertices);
            assert!(is_closed_and_outward(mesh));
            assert!((volume(mesh, mesh.positions()) / (section * 23.0) - 1.0).abs() < 1e-3);
        }
        assert_eq!(cylinder(2).unwrap_err(), CharacterError::RingVertices { ring_vertices: 2 });
    }

    #[test]
    fn weights_rise_smoothly_over_six_units() {
        let bar = square_bar().unwrap();
        for (vertex, p) in bar.rig.mesh().positions().iter().enumerate() {
            let upper: f32 =
                bar.rig.weights().of(vertex).iter().filter(|i| i.joint == 1).map(|i| i.weight).sum();
            let x = ((p.y + 3.0) / 6.0).clamp(0.0, 1.0);
            assert!((upper - x * x * (3.0 - 2.0 * x)).abs() < 1e-6);
        }
    }
}
