//! The skin as one surface: vertices welded, doubled triangles left out, sides made to agree, and
//! told apart what is body and what only lies on or in it (nails, teeth, eyes, a cape).

mod orientation;
mod weld;

use eigenskin_core::glam::DVec3;
use eigenskin_core::mesh::Mesh;

use crate::union_find::UnionFind;
use crate::winding::Winding;

/// A mesh made ready to be filled.
#[derive(Debug, Clone)]
pub struct Surface {
    /// welded positions, `point`
    pub points: Vec<DVec3>,
    /// `vertex` of the mesh → its point
    pub point_of_vertex: Vec<u32>,
    /// outward normals, `point`; zero for points without a triangle
    pub normals: Vec<DVec3>,
    /// corners as points, counter-clockwise seen from outside; those left out are not here
    pub triangles: Vec<[u32; 3]>,
    /// `triangle` → index of its component
    pub component_of_triangle: Vec<u32>,
    /// `point` → index of its component; none for points without a triangle
    pub component_of_point: Vec<Option<u32>>,
    /// parts that hang together
    pub components: Vec<Component>,
    /// the body's triangles: inside and outside, distances
    pub winding: Winding,
    /// diameter of the mesh
    pub size: f64,
    /// triangles that were there twice, or had no area once welded
    pub dropped_triangles: usize,
}

/// A part of the surface that hangs together.
#[derive(Debug, Clone, PartialEq)]
pub struct Component {
    /// what it is taken for
    pub role: Role,
    /// number of triangles
    pub triangles: usize,
    /// in squared mesh units
    pub area: f64,
    /// in cubed mesh units, not negative; holes are closed with a fan to the middle
    pub volume: f64,
    /// 0 for a closed surface, 1 for a flat sheet: |Σ area · normal| / Σ area
    pub openness: f64,
    /// edges with a triangle on one side only
    pub open_edges: usize,
}

/// What a component is taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// bounds tissue
    Body,
    /// lies within the body and is carried along
    Enclosed,
    /// bounds nothing and is carried along
    Sheet,
}

/// Why a mesh bounds no body.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SurfaceError {
    /// The exclusion list is for another mesh.
    #[error("{given} vertices are marked as excluded or not, but the mesh has {vertices}")]
    ExcludedCount {
        /// entries given
        given: usize,
        /// vertices of the mesh
        vertices: usize,
    },
    /// All of it excluded, or points only.
    #[error("no triangles are left of {triangles}; exclude less of the mesh")]
    NoTriangles {
        /// triangles of the mesh
        triangles: usize,
    },
    /// Flat things have no inside.
    #[error(
        "the mesh bounds no volume: its largest part has {triangles} triangles and is {openness:.2} open (0 closed, 1 flat); give a character with a closed skin"
    )]
    NoVolume {
        /// triangles of the largest part
        triangles: usize,
        /// its openness
        openness: f64,
    },
}

/// Points nearer than this share of the mesh's size are one.
const WELD: f64 = 1e-6;
/// A part that is more open than this is a sheet.
const SHEET: f64 = 0.5;
/// A part whose volume is below this share of area^1.5 is a sheet too. A sphere has 0.094, a rod
/// a hundred times longer than thick 0.01.
const FLAT: f64 = 1e-3;

impl Surface {
    /// Prepares a mesh. `excluded`: empty, or per `vertex` whether to leave out its triangles
    /// (clothes, hair, teeth); such vertices are carried along.
    pub fn of(mesh: &Mesh, excluded: &[bool]) -> Result<Self, SurfaceError> {
        if !excluded.is_empty() && excluded.len() != mesh.vertex_count() {
            return Err(SurfaceError::ExcludedCount { given: excluded.len(), vertices: mesh.vertex_count() });
        }
        let is_excluded = |vertex: u32| excluded.get(vertex as usize).copied().unwrap_or(false);
        let positions: Vec<DVec3> = mesh.positions().iter().map(|p| p.as_dvec3()).collect();
        let (points, point_of_vertex) = weld::weld(&positions, WELD * mesh.size());
        let wanted: Vec<[u32; 3]> = mesh
            .triangles()
            .iter()
            .filter(|t| !t.iter().any(|&v| is_excluded(v)))
            .map(|t| t.map(|v| point_of_vertex[v as usize]))
            .collect();
        let mut triangles = weld::distinct_triangles(&wanted);
        if triangles.is_empty() {
            return Err(SurfaceError::NoTriangles { triangles: mesh.triangles().len() });
        }
        let edges = orientation::EdgeMap::of(&triangles);
        edges.make_sides_agree(&points, &mut triangles);
        let (component_of_triangle, component_of_point, count) = hang_together(points.len(), &triangles);
        let mut components = measure(&points, &mut triangles, &component_of_triangle, count);
        for triangle in edges.triangles_at_open_edges() {
            components[component_of_triangle[triangle] as usize].open_edges += 1;
        }
        let winding = settle_roles(&points, &triangles, &component_of_triangle, &mut components)?;
        Ok(Self {
            normals: normals(&points, &triangles),
            dropped_triangles: wanted.len() - triangles.len(),
            points,
            point_of_vertex,
            triangles,
            component_of_triangle,
            component_of_point,
            components,
            winding,
            size: mesh.size(),
        })
    }

    /// Volume of all that is body, overlaps counted twice; in cubed mesh units.
    pub fn body_volume(&self) -> f64 {
        self.components.iter().filter(|c| c.role == Role::Body).map(|c| c.volume).sum()
    }

    /// Lowest and highest coordinates of the body.
    pub fn body_bounds(&self) -> (DVec3, DVec3) {
        let body = self.points.iter().zip(&self.component_of_point).filter(|(_, component)| {
            component.is_some_and(|c| self.components[c as usize].role == Role::Body)
        });
        body.fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(low, high), (p, _)| (low.min(*p), high.max(*p)))
    }

    /// Whether a vertex of the mesh lies on the body's own skin.
    pub fn is_body(&self, vertex: usize) -> bool {
        self.component_of_point[self.point_of_vertex[vertex] as usize]
            .is_some_and(|component| self.components[component as usize].role == Role::Body)
    }

    /// How far below the skin a point lies; negative outside.
    pub fn depth(&self, point: DVec3) -> f64 {
        -self.winding.signed_distance(point)
    }
}

/// `triangle` → component, `point` → component, and their number: parts that share a point.
fn hang_together(point_count: usize, triangles: &[[u32; 3]]) -> (Vec<u32>, Vec<Option<u32>>, usize) {
    let mut sets = UnionFind::new(point_count);
    for &[a, b, c] in triangles {
        sets.union(a as usize, b as usize);
        sets.union(a as usize, c as usize);
    }
    let mut number_of_root = vec![None; point_count];
    let mut count = 0;
    let mut component_of_triangle = Vec::with_capacity(triangles.len());
    for t in triangles {
        let root = sets.find(t[0] as usize);
        let number = *number_of_root[root].get_or_insert_with(|| {
            count += 1;
            count as u32 - 1
        });
        component_of_triangle.push(number);
    }
    let component_of_point = (0..point_count).map(|point| number_of_root[sets.find(point)]).collect();
    (component_of_triangle, component_of_point, count)
}

/// Areas and volumes; components that are inside out are turned.
fn measure(
    points: &[DVec3],
    triangles: &mut [[u32; 3]],
    component_of_triangle: &[u32],
    count: usize,
) -> Vec<Component> {
    let corners = |t: &[u32; 3]| t.map(|p| points[p as usize]);
    let area_normal = |[a, b, c]: [DVec3; 3]| 0.5 * (b - a).cross(c - a);
    let mut middles = vec![(DVec3::ZERO, 0.0); count];
    for (t, &component) in triangles.iter().zip(component_of_triangle) {
        let [a, b, c] = corners(t);
        let area = area_normal([a, b, c]).length();
        let middle = &mut middles[component as usize];
        middle.0 += area * (a + b + c) / 3.0;
        middle.1 += area;
    }
    let mut sums = vec![(0usize, DVec3::ZERO, 0.0); count];
    for (t, &component) in triangles.iter().zip(component_of_triangle) {
        let middle = middles[component as usize].0 / middles[component as usize].1;
        let from_middle = corners(t).map(|p| p - middle);
        let sum = &mut sums[component as usize];
        sum.0 += 1;
        sum.1 += area_normal(from_middle);
        sum.2 += from_middle[0].dot(from_middle[1].cross(from_middle[2])) / 6.0;
    }
    for (t, &component) in triangles.iter_mut().zip(component_of_triangle) {
        if sums[component as usize].2 < 0.0 {
            t.swap(1, 2);
        }
    }
    let component =
        |(&(_, area), &(triangles, sum, volume)): (&(DVec3, f64), &(usize, DVec3, f64))| Component {
            role: Role::Body,
            triangles,
            area,
            volume: volume.abs(),
            openness: sum.length() / area,
            open_edges: 0,
        };
    middles.iter().zip(&sums).map(component).collect()
}

/// Tells sheets and enclosed parts from the body, and returns the body's tree.
fn settle_roles(
    points: &[DVec3],
    triangles: &[[u32; 3]],
    component_of_triangle: &[u32],
    components: &mut [Component],
) -> Result<Winding, SurfaceError> {
    for component in components.iter_mut() {
        if component.openness > SHEET || component.volume < FLAT * component.area.powf(1.5) {
            component.role = Role::Sheet;
        }
    }
    let tree_of = |keep: &dyn Fn(u32) -> bool| {
        let kept: Vec<[u32; 3]> = triangles
            .iter()
            .zip(component_of_triangle)
            .filter(|&(_, &component)| keep(component))
            .map(|(t, _)| *t)
            .collect();
        Winding::new(points, &kept)
    };
    let largest = (0..components.len())
        .filter(|&c| components[c].role == Role::Body)
        .max_by(|&a, &b| components[a].volume.total_cmp(&components[b].volume).then(b.cmp(&a)));
    let Some(largest) = largest else {
        let widest = components.iter().max_by(|a, b| a.area.total_cmp(&b.area));
        return Err(SurfaceError::NoVolume {
            triangles: widest.map_or(0, |c| c.triangles),
            openness: widest.map_or(1.0, |c| c.openness),
        });
    };
    let main = tree_of(&|component| component as usize == largest);
    let mut enclosed = vec![true; components.len()];
    for (t, &component) in triangles.iter().zip(component_of_triangle) {
        let component = component as usize;
        if component != largest && enclosed[component] {
            let middle = t.iter().map(|&p| points[p as usize]).sum::<DVec3>() / 3.0;
            enclosed[component] = main.is_inside(middle);
        }
    }
    for (component, is_enclosed) in enclosed.into_iter().enumerate() {
        if is_enclosed && component != largest {
            components[component].role = Role::Enclosed;
        }
    }
    Ok(tree_of(&|component| components[component as usize].role == Role::Body))
}

/// Normals of the points, triangles weighted by area.
fn normals(points: &[DVec3], triangles: &[[u32; 3]]) -> Vec<DVec3> {
    let mut sums = vec![DVec3::ZERO; points.len()];
    for t in triangles {
        let [a, b, c] = t.map(|p| points[p as usize]);
        let normal = (b - a).cross(c - a);
        for &p in t {
            sums[p as usize] += normal;
        }
    }
    sums.into_iter().map(DVec3::normalize_or_zero).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{add_box, mesh_of, sphere};

    #[test]
    fn seams_are_welded_and_doubles_left_out() {
        // A box whose triangles share no vertices, one of them twice, one inside out.
        let (mut points, mut triangles) = (Vec::new(), Vec::new());
        add_box(&mut points, &mut triangles, DVec3::ZERO, DVec3::ONE);
        let loose: Vec<DVec3> = triangles.iter().flatten().map(|&v| points[v as usize]).collect();
        let mut corners: Vec<[u32; 3]> = (0..12).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect();
        corners.push([1, 2, 0]);
        corners[5].swap(0, 1);
        let surface = Surface::of(&mesh_of(&loose, &corners), &[]).unwrap();
        assert_eq!((surface.points.len(), surface.triangles.len()), (8, 12));
        assert_eq!(surface.dropped_triangles, 1);
        assert_eq!(surface.components.len(), 1);
        let body = &surface.components[0];
        assert!((body.volume - 1.0).abs() < 1e-6 && (body.area - 6.0).abs() < 1e-5);
        assert!(body.openness < 1e-6 && body.open_edges == 0);
        assert!((surface.depth(DVec3::splat(0.4)) - 0.4).abs() < 1e-6);
        // Normals point outward although one triangle came inside out.
        for (point, normal) in surface.points.iter().zip(&surface.normals) {
            assert!(normal.dot(*point - DVec3::splat(0.5)) > 0.5);
        }
    }

    #[test]
    fn a_skin_inside_out_is_turned() {
        let (points, mut triangles) = sphere(12);
        for t in &mut triangles {
            t.swap(0, 1);
        }
        let surface = Surface::of(&mesh_of(&points, &triangles), &[]).unwrap();
        assert!((surface.winding.at(DVec3::ZERO) - 1.0).abs() < 1e-2);
    }

    #[test]
    fn parts_are_told_apart() {
        let (mut points, mut triangles) = sphere(16);
        // An eye within, a second body that overlaps the first, a nail on it.
        add_box(&mut points, &mut triangles, DVec3::splat(-0.2), DVec3::splat(0.2));
        add_box(&mut points, &mut triangles, DVec3::new(0.5, -0.5, -0.5), DVec3::new(2.0, 0.5, 0.5));
        let first = points.len() as u32;
        points.extend([
            DVec3::new(-1.05, -0.1, 0.0),
            DVec3::new(-1.05, 0.1, 0.0),
            DVec3::new(-1.05, 0.0, 0.2),
        ]);
        triangles.push([first, first + 1, first + 2]);
        let mesh = mesh_of(&points, &triangles);
        let surface = Surface::of(&mesh, &[]).unwrap();
        let roles: Vec<Role> = surface.components.iter().map(|c| c.role).collect();
        assert_eq!(roles, [Role::Body, Role::Enclosed, Role::Body, Role::Sheet]);
        assert_eq!(surface.components[3].open_edges, 3);
        // In the overlap the surface winds twice; in the eye it must not.
        assert!((surface.winding.at(DVec3::new(0.75, 0.0, 0.0)) - 2.0).abs() < 1e-2);
        assert!((surface.winding.at(DVec3::ZERO) - 1.0).abs() < 1e-2);
        assert!(!surface.is_body(first as usize) && surface.is_body(0));

        // Without the second body its vertices are no body's.
        let excluded: Vec<bool> = mesh.positions().iter().map(|p| p.x > 1.5).collect();
        let surface = Surface::of(&mesh, &excluded).unwrap();
        assert!(!surface.winding.is_inside(DVec3::new(1.6, 0.0, 0.0)));
        assert!(!surface.is_body(excluded.iter().position(|&e| e).unwrap()));
    }

    #[test]
    fn sheets_have_no_inside() {
        let corners = [DVec3::ZERO, DVec3::X, DVec3::new(1.0, 1.0, 0.0), DVec3::Y];
        let mesh = mesh_of(&corners, &[[0, 1, 2], [0, 2, 3]]);
        assert!(matches!(
            Surface::of(&mesh, &[]),
            Err(SurfaceError::NoVolume { triangles: 2, openness }) if openness > 0.99
        ));
        assert_eq!(Surface::of(&mesh, &[true; 4]).err(), Some(SurfaceError::NoTriangles { triangles: 2 }));
        assert_eq!(
            Surface::of(&mesh, &[true]).err(),
            Some(SurfaceError::ExcludedCount { given: 1, vertices: 4 })
        );
    }
}
