//! Triangle meshes at rest: positions, normals, triangles, and how vertices group together.

use glam::{DVec3, Vec3};

use crate::bounding_sphere::BoundingSphere;
use crate::vertex_groups::VertexGroups;

/// A mesh at rest. One that exists is valid: indices in range, all numbers finite, no triangle
/// without area, unit normals.
#[derive(Debug, Clone, PartialEq)]
pub struct Mesh {
    /// `vertex`
    positions: Vec<Vec3>,
    /// `vertex`, unit length
    normals: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
    /// Vertices that share one smooth normal: same position, same rest normal (a texture seam).
    /// Same position with another normal is a hard edge and stays apart.
    smoothing: VertexGroups,
    bounds: BoundingSphere,
}

/// What can be wrong with a mesh.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MeshError {
    /// There is nothing to deform.
    #[error("the mesh has no vertices")]
    NoVertices,
    /// NaN or infinity among the positions.
    #[error(
        "vertex {vertex} has a position that is not a finite number; repair the mesh and export it again"
    )]
    PositionNotFinite {
        /// index into the positions
        vertex: usize,
    },
    /// NaN or infinity among the normals.
    #[error("vertex {vertex} has a normal that is not a finite number; repair or leave out the normals")]
    NormalNotFinite {
        /// index into the normals
        vertex: usize,
    },
    /// Normals and positions differ in number.
    #[error("there are {normals} normals for {vertices} vertices; give one normal per vertex or none")]
    NormalCount {
        /// normals given
        normals: usize,
        /// vertices given
        vertices: usize,
    },
    /// A triangle names a vertex that does not exist.
    #[error("triangle {triangle} uses vertex {vertex}, but the mesh has only {vertices} vertices")]
    IndexOutOfRange {
        /// index into the triangles
        triangle: usize,
        /// the vertex it names
        vertex: u32,
        /// vertices in the mesh
        vertices: usize,
    },
    /// A triangle whose corners lie on one line or one point has no normal.
    #[error("triangle {triangle} (vertices {}, {}, {}) has no area; dissolve degenerate faces and export again", corners[0], corners[1], corners[2])]
    ZeroAreaTriangle {
        /// index into the triangles
        triangle: usize,
        /// its corners
        corners: [u32; 3],
    },
    /// All vertices in one point: errors could not be related to a size.
    #[error("all vertices lie in one point, so the mesh has no size")]
    NoSize,
}

impl Mesh {
    /// Checks and completes a mesh. Missing normals (`None`, or single ones of zero length) are
    /// computed from the triangles; given ones are scaled to unit length.
    pub fn new(
        positions: Vec<Vec3>,
        triangles: Vec<[u32; 3]>,
        normals: Option<Vec<Vec3>>,
    ) -> Result<Self, MeshError> {
        if positions.is_empty() {
            return Err(MeshError::NoVertices);
        }
        if let Some(vertex) = positions.iter().position(|p| !p.is_finite()) {
            return Err(MeshError::PositionNotFinite { vertex });
        }
        let bounds = BoundingSphere::of(&positions);
        if bounds.radius <= 0.0 {
            return Err(MeshError::NoSize);
        }
        check_triangles(&positions, &triangles)?;

        let by_position = VertexGroups::by_key(positions.len(), |vertex| position_bits(positions[vertex]));
        let smooth = smooth_normals(&positions, &triangles, &by_position);
        let (normals, smoothing) = match normals {
            None => (smooth, by_position),
            Some(given) => {
                if given.len() != positions.len() {
                    return Err(MeshError::NormalCount { normals: given.len(), vertices: positions.len() });
                }
                if let Some(vertex) = given.iter().position(|n| !n.is_finite()) {
                    return Err(MeshError::NormalNotFinite { vertex });
                }
                let unit: Vec<Vec3> =
                    given.iter().zip(&smooth).map(|(&n, &fallback)| unit_or(n, fallback)).collect();
                let smoothing = VertexGroups::by_key(positions.len(), |vertex| {
                    (position_bits(positions[vertex]), rounded_direction(unit[vertex]))
                });
                (unit, smoothing)
            }
        };
        Ok(Self { positions, normals, triangles, smoothing, bounds })
    }

    /// Number of vertices, seam duplicates counted.
    pub fn vertex_count(&self) -> usize {
        self.positions.len()
    }

    /// Rest positions (the papers' v⁰), `vertex`.
    pub fn positions(&self) -> &[Vec3] {
        &self.positions
    }

    /// Rest normals, `vertex`, unit length.
    pub fn normals(&self) -> &[Vec3] {
        &self.normals
    }

    /// Corner indices, counter-clockwise seen from outside.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    /// The smallest sphere around the rest shape.
    pub fn bounds(&self) -> BoundingSphere {
        self.bounds
    }

    /// Diameter of the smallest sphere around the rest shape: the unit of all relative errors.
    pub fn size(&self) -> f64 {
        2.0 * self.bounds.radius
    }

    /// Normals of the same triangles at other positions (`vertex`), hard edges and texture seams
    /// treated as at rest.
    pub fn normals_of(&self, positions: &[Vec3]) -> Vec<Vec3> {
        smooth_normals(positions, &self.triangles, &self.smoothing)
    }

    /// The same into `normals` (`vertex`), with `scratch` of at least as many entries as vertices.
    pub fn normals_into(&self, positions: &[Vec3], scratch: &mut [DVec3], normals: &mut [Vec3]) {
        smooth_normals_into(positions, &self.triangles, &self.smoothing, scratch, normals);
    }
}

/// `normal` at unit length, or `fallback` where it has no direction.
pub fn unit_or(normal: Vec3, fallback: Vec3) -> Vec3 {
    let n = normal.as_dvec3();
    let length = n.length();
    // A unit vector in f32 is kept to the bit, so that reading what was written changes nothing.
    if (length - 1.0).abs() < 1e-6 {
        normal
    } else if length > 1e-12 {
        (n / length).as_vec3()
    } else {
        fallback
    }
}

/// The bits of a position, with the two zeros made one.
pub fn position_bits(p: Vec3) -> [u32; 3] {
    (p + Vec3::ZERO).to_array().map(f32::to_bits)
}

/// A direction rounded so that exporters' noise does not split a seam: about 0.06 degrees.
fn rounded_direction(n: Vec3) -> [i32; 3] {
    n.to_array().map(|x| (x * 1000.0).round() as i32)
}

fn check_triangles(positions: &[Vec3], triangles: &[[u32; 3]]) -> Result<(), MeshError> {
    for (triangle, &corners) in triangles.iter().enumerate() {
        if let Some(&vertex) = corners.iter().find(|&&v| v as usize >= positions.len()) {
            return Err(MeshError::IndexOutOfRange { triangle, vertex, vertices: positions.len() });
        }
        let [a, b, c] = corners.map(|v| positions[v as usize].as_dvec3());
        let longest = (b - a).length_squared().max((c - b).length_squared()).max((a - c).length_squared());
        // Twice the area against the longest edge squared: the sine of the flattest angle, in effect.
        if (b - a).cross(c - a).length() <= 1e-9 * longest {
            return Err(MeshError::ZeroAreaTriangle { triangle, corners });
        }
    }
    Ok(())
}

/// Normals as the mean of the adjoining faces, weighted by the angle at the corner, which does not
/// depend on how a flat region is cut into triangles. Loose vertices point along z.
fn smooth_normals(positions: &[Vec3], triangles: &[[u32; 3]], smoothing: &VertexGroups) -> Vec<Vec3> {
    let mut sums = vec![DVec3::ZERO; smoothing.group_count()];
    let mut normals = vec![Vec3::ZERO; positions.len()];
    smooth_normals_into(positions, triangles, smoothing, &mut sums, &mut normals);
    normals
}

fn smooth_normals_into(
    positions: &[Vec3],
    triangles: &[[u32; 3]],
    smoothing: &VertexGroups,
    sums: &mut [DVec3],
    normals: &mut [Vec3],
) {
    sums.fill(DVec3::ZERO);
    for corners in triangles {
        let p = corners.map(|v| positions[v as usize].as_dvec3());
        let face = (p[1] - p[0]).cross(p[2] - p[0]).normalize_or_zero();
        for corner in 0..3 {
            let to_next = p[(corner + 1) % 3] - p[corner];
            let to_last = p[(corner + 2) % 3] - p[corner];
            let angle = to_next.cross(to_last).length().atan2(to_next.dot(to_last));
            sums[smoothing.group_of(corners[corner] as usize)] += angle * face;
        }
    }
    for (vertex, normal) in normals.iter_mut().enumerate() {
        *normal = sums[smoothing.group_of(vertex)].normalize_or(DVec3::Z).as_vec3();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A unit square in the plane z = 0, cut along its diagonal.
    fn square() -> (Vec<Vec3>, Vec<[u32; 3]>) {
        let positions = vec![Vec3::ZERO, Vec3::X, Vec3::new(1.0, 1.0, 0.0), Vec3::Y];
        (positions, vec![[0, 1, 2], [0, 2, 3]])
    }

    #[test]
    fn missing_normals_come_from_the_triangles() {
        let (positions, triangles) = square();
        let mesh = Mesh::new(positions, triangles, None).unwrap();
        assert!(mesh.normals().iter().all(|n| (*n - Vec3::Z).length() < 1e-6));
        assert!((mesh.size() - 2f64.sqrt()).abs() < 1e-6);
    }

    #[test]
    fn bad_meshes_are_refused_with_the_culprit() {
        let (mut positions, triangles) = square();
        positions[2].y = f32::NAN;
        assert_eq!(
            Mesh::new(positions, triangles.clone(), None),
            Err(MeshError::PositionNotFinite { vertex: 2 })
        );

        let (positions, _) = square();
        let error = Mesh::new(positions.clone(), vec![[0, 1, 2], [0, 1, 9]], None).unwrap_err();
        assert_eq!(error, MeshError::IndexOutOfRange { triangle: 1, vertex: 9, vertices: 4 });

        let error = Mesh::new(positions.clone(), vec![[0, 1, 1]], None).unwrap_err();
        assert_eq!(error, MeshError::ZeroAreaTriangle { triangle: 0, corners: [0, 1, 1] });

        let error = Mesh::new(positions, triangles, Some(vec![Vec3::Z])).unwrap_err();
        assert_eq!(error, MeshError::NormalCount { normals: 1, vertices: 4 });
    }

    /// A folded sheet whose fold is a hard edge: four vertices on the fold line, two per side.
    #[test]
    fn hard_edges_stay_hard_and_seams_stay_smooth_when_bent() {
        let fold = [Vec3::ZERO, Vec3::Y];
        let build = |left_normal: Vec3, right_normal: Vec3| {
            let positions = vec![fold[0], fold[1], -Vec3::X, fold[0], fold[1], Vec3::X];
            let normals = vec![left_normal, left_normal, Vec3::Z, right_normal, right_normal, Vec3::Z];
            Mesh::new(positions, vec![[0, 1, 2], [3, 5, 4]], Some(normals)).unwrap()
        };
        // Bend the right half up by 90 degrees: its face normal turns from +z to -x.
        let bend = |mesh: &Mesh| {
            let mut posed = mesh.positions().to_vec();
            posed[5] = Vec3::Z;
            mesh.normals_of(&posed)
        };
        let seam = bend(&build(Vec3::Z, Vec3::Z));
        assert_eq!(seam[0], seam[3]);
        assert!((seam[0] - Vec3::new(-1.0, 0.0, 1.0).normalize()).length() < 1e-6);
        let hard = bend(&build(Vec3::Z, Vec3::X));
        assert!((hard[0] - Vec3::Z).length() < 1e-6 && (hard[3] + Vec3::X).length() < 1e-6);
    }
}
