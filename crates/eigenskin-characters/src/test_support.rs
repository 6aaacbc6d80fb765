//! Measures that several tests of this folder share.

use std::sync::LazyLock;

use glam::Vec3;

use super::meshing::{Surface, is_closed_sphere};
use super::{Character, hand};
use eigenskin_core::mesh::Mesh;

/// Volume within the triangles at these positions, by the divergence theorem.
pub(super) fn volume(mesh: &Mesh, positions: &[Vec3]) -> f64 {
    let corners = mesh.triangles().iter().map(|t| t.map(|v| positions[v as usize].as_dvec3()));
    corners.map(|[a, b, c]| a.dot(b.cross(c)) / 6.0).sum()
}

/// Closed, without handles, and facing outward.
pub(super) fn is_closed_and_outward(mesh: &Mesh) -> bool {
    let positions = mesh.positions().iter().map(|p| p.as_dvec3()).collect();
    let surface = Surface { positions, triangles: mesh.triangles().to_vec() };
    is_closed_sphere(&surface) && volume(mesh, mesh.positions()) > 0.0
}

/// A hand of 3,494 triangles, built once.
pub(super) fn small_hand() -> &'static Character {
    static HAND: LazyLock<Character> = LazyLock::new(|| hand(3494).unwrap());
    &HAND
}

/// A hand of 13,976 triangles, built once.
pub(super) fn medium_hand() -> &'static Character {
    static HAND: LazyLock<Character> = LazyLock::new(|| hand(13_976).unwrap());
    &HAND
}
