//! Better triangles on the same surface: edge flips towards six neighbours, tangential averaging,
//! projection back onto the body.

use std::collections::BTreeSet;

use glam::DVec3;
use rayon::prelude::*;

use super::edge_collapse::twice_area;
use super::implicit::Body;
use super::meshing::Surface;

/// Rounds of flips and averaging. The number of triangles does not change.
pub(super) fn relax(surface: &mut Surface, body: &Body, rounds: usize) {
    for round in 0..rounds {
        // The last rounds only move vertices, so that they settle.
        if round + 3 < rounds {
            flip_edges(surface);
        }
        average(surface, body);
    }
}

/// One directed edge per triangle side, with its triangle: sorted, so twins are found by search.
fn sides(surface: &Surface) -> Vec<(u32, u32, u32)> {
    let mut sides: Vec<_> = surface
        .triangles
        .iter()
        .enumerate()
        .flat_map(|(t, &[a, b, c])| [(a, b, t as u32), (b, c, t as u32), (c, a, t as u32)])
        .collect();
    sides.sort_unstable();
    sides
}

/// Flips each edge whose flip brings its four vertices nearer to six neighbours each.
fn flip_edges(surface: &mut Surface) {
    let sides = sides(surface);
    let mut valence = vec![0i32; surface.positions.len()];
    for &(a, _, _) in &sides {
        valence[a as usize] += 1;
    }
    let triangle_at = |a: u32, b: u32| {
        let index = sides.partition_point(|&(p, q, _)| (p, q) < (a, b));
        sides.get(index).filter(|&&(p, q, _)| (p, q) == (a, b)).map(|&(_, _, t)| t as usize)
    };
    let mut touched = vec![false; surface.triangles.len()];
    let mut added = BTreeSet::new();
    for &(a, b, left) in sides.iter().filter(|&&(a, b, _)| a < b) {
        let left = left as usize;
        let Some(right) = triangle_at(b, a) else { continue };
        if touched[left] || touched[right] {
            continue;
        }
        let opposite = |t: usize| surface.triangles[t].into_iter().find(|&v| v != a && v != b);
        let (Some(c), Some(d)) = (opposite(left), opposite(right)) else { continue };
        let off = |v: u32, change: i32| (valence[v as usize] + change - 6).pow(2);
        let before = off(a, 0) + off(b, 0) + off(c, 0) + off(d, 0);
        let after = off(a, -1) + off(b, -1) + off(c, 1) + off(d, 1);
        let exists = triangle_at(c, d).is_some() || triangle_at(d, c).is_some();
        if after >= before
            || exists
            || added.contains(&(c.min(d), c.max(d)))
            || !flip_is_flat(surface, [a, b, c, d])
        {
            continue;
        }
        surface.triangles[left] = [a, d, c];
        surface.triangles[right] = [d, b, c];
        touched[left] = true;
        touched[right] = true;
        added.insert((c.min(d), c.max(d)));
        for (v, change) in [(a, -1), (b, -1), (c, 1), (d, 1)] {
            valence[v as usize] += change;
        }
    }
}

/// Whether the two triangles after a flip face the way the two before did, and are not slivers.
fn flip_is_flat(surface: &Surface, corners: [u32; 4]) -> bool {
    let [a, b, c, d] = corners.map(|v| surface.positions[v as usize]);
    let normal = twice_area([a, b, c]).normalize_or_zero() + twice_area([b, a, d]).normalize_or_zero();
    let normal = normal.normalize_or_zero();
    [[a, d, c], [d, b, c]].into_iter().all(|triangle| {
        let area = twice_area(triangle);
        area.dot(normal) > 0.8 * area.length() && quality(triangle) > 0.3
    })
}

/// Triangles at least this good (see [`quality`]) need no protection.
const GOOD: f64 = 0.5;

/// Moves every vertex towards the middle of its neighbours, within the surface, unless that spoils
/// a triangle: where a few triangles go round a fingertip it would.
fn average(surface: &mut Surface, body: &Body) {
    let sides = sides(surface);
    let positions = &surface.positions;
    let moved: Vec<DVec3> = (0..positions.len() as u32)
        .into_par_iter()
        .map(|vertex| {
            let from = sides.partition_point(|side| side.0 < vertex);
            let length = sides[from..].iter().take_while(|side| side.0 == vertex).count();
            let around = &sides[from..from + length];
            let sum: DVec3 = around.iter().map(|side| positions[side.1 as usize]).sum();
            let here = positions[vertex as usize];
            let normal = body.sample(here).gradient.normalize_or_zero();
            let step = sum / length as f64 - here;
            let there = body.project(here + 0.6 * (step - normal * step.dot(normal)), 2);
            let worst = |at: DVec3| {
                let triangles = around.iter().map(|side| surface.triangles[side.2 as usize]);
                let corners = |t: [u32; 3]| t.map(|v| if v == vertex { at } else { positions[v as usize] });
                triangles.map(|t| quality(corners(t))).fold(f64::INFINITY, f64::min)
            };
            let after = worst(there);
            if after > GOOD || after >= worst(here) { there } else { here }
        })
        .collect();
    surface.positions = moved;
}

/// Twice the area over the longest edge squared: 0.87 for the best triangle, 0 for a flat one.
fn quality(triangle: [DVec3; 3]) -> f64 {
    let longest = (0..3).map(|k| triangle[k].distance_squared(triangle[(k + 1) % 3])).fold(0.0, f64::max);
    twice_area(triangle).length() / longest
}
