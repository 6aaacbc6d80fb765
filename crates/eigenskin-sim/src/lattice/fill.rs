//! The lattice of a character: cubes that hold some of its inside, one copy for each part of it.

use eigenskin_core::glam::{DVec3, IVec3};
use eigenskin_core::progress::{Cancelled, Progress};

use super::voxels::{self, Grid, bits, order, voxel_centre};
use super::{Lattice, corner_offset};
use crate::surface::Surface;
use crate::union_find::UnionFind;

/// How to fill a skin.
#[derive(Debug, Clone, PartialEq)]
pub struct FillParams {
    /// edge of a cube in mesh units; `None` (default): a third of the thinnest limb, within the
    /// following bounds
    pub edge: Option<f64>,
    /// cells that an automatic edge gives at least; default 600
    pub fewest_cells: usize,
    /// cells that an automatic edge gives at most; default 3,000
    pub most_cells: usize,
    /// pieces that hang on nothing, hold no bone and are smaller than this share of the body are
    /// dropped; default 0.02
    pub smallest_piece: f64,
}

impl Default for FillParams {
    fn default() -> Self {
        Self { edge: None, fewest_cells: 600, most_cells: 3_000, smallest_piece: 0.02 }
    }
}

/// A lattice and what it was made from.
#[derive(Debug, Clone, PartialEq)]
pub struct Filling {
    /// the lattice
    pub lattice: Lattice,
    /// `cell` → which cube it is a copy of; copies of one cube follow each other
    pub cubes: Vec<IVec3>,
    /// `cell` → its sub-voxels inside of the skin, see [`voxels`]
    pub voxels: Vec<u64>,
    /// `cell` → the piece of the lattice it belongs to
    pub piece_of_cell: Vec<u32>,
    /// number of pieces that share no corners
    pub piece_count: usize,
    /// what was left out
    pub dropped: Vec<DroppedPiece>,
}

/// A piece of the inside that hangs on nothing and was left out.
#[derive(Debug, Clone, PartialEq)]
pub struct DroppedPiece {
    /// number of cells
    pub cells: usize,
    /// share of the body
    pub share: f64,
    /// one of its points, in mesh space
    pub near: DVec3,
}

/// Why a skin cannot be filled.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FillError {
    /// A parameter out of its range.
    #[error("{name} is {value}, but must be {range}")]
    BadParameter {
        /// the parameter at fault
        name: &'static str,
        /// its value
        value: f64,
        /// what it may be
        range: &'static str,
    },
    /// The grid would be too large.
    #[error("cells of edge {edge} are too small for this body; use at least {}", two_digits(*smallest))]
    TooFine {
        /// edge asked for
        edge: f64,
        /// an edge that works
        smallest: f64,
    },
    /// No sub-voxel is inside.
    #[error(
        "no part of the skin is thick enough for cells of edge {edge}; use smaller ones, or give a closed skin"
    )]
    NothingInside {
        /// edge used
        edge: f64,
    },
    /// Ended from outside.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// Two digits that matter, for bodies of any size.
fn two_digits(value: f64) -> String {
    let digits = (1.0 - value.abs().log10().floor()).clamp(0.0, 12.0) as usize;
    if value.abs() < 1e-6 { format!("{value:.1e}") } else { format!("{value:.digits$}") }
}

/// No grid has more cubes, filled or not; no lattice more cells.
const MOST_CUBES: f64 = 2e7;
const MOST_CELLS: f64 = 3e5;

/// Fills the body of `surface`. `thinnest` is the diameter of its thinnest limb, for the automatic
/// edge; `bone_points` (both in mesh units) mark pieces that are kept whatever their size.
pub fn fill(
    surface: &Surface,
    thinnest: f64,
    bone_points: &[DVec3],
    params: &FillParams,
    progress: &dyn Progress,
) -> Result<Filling, FillError> {
    check(thinnest, params)?;
    if let Some(edge) = params.edge {
        return fill_with(surface, edge, bone_points, params, progress);
    }
    let volume = surface.body_volume();
    // A lattice has at least as many cells as the body has cubes, so finer ones need no trying.
    let mut edge = (thinnest / 3.0).max((volume / params.most_cells as f64).cbrt());
    let mut filling = None;
    for _ in 0..12 {
        let next = fill_with(surface, edge, bone_points, params, progress);
        if let Err(FillError::Cancelled(cancelled)) = next {
            return Err(cancelled.into());
        }
        let cells = next.as_ref().map_or(0, |f| f.lattice.cell_count());
        let bound = cells.clamp(params.fewest_cells, params.most_cells);
        filling = Some(next);
        if cells == bound {
            break;
        }
        // Between a body's square and its cube law, and a little further to end within the bounds.
        let beyond = if cells > bound { 1.01 } else { 0.99 };
        edge *= beyond * ((cells as f64).max(0.1 * bound as f64) / bound as f64).powf(0.4);
    }
    filling.unwrap_or(Err(FillError::NothingInside { edge }))
}

fn check(thinnest: f64, params: &FillParams) -> Result<(), FillError> {
    let bad = |name, value, range| Err(FillError::BadParameter { name, value, range });
    let positive = |x: f64| x.is_finite() && x > 0.0;
    if let Some(edge) = params.edge.filter(|&edge| !positive(edge)) {
        return bad("edge", edge, "finite and above 0");
    }
    if params.edge.is_none() && !positive(thinnest) {
        return bad("the thinnest limb", thinnest, "finite and above 0; give the edge of the cells");
    }
    if params.fewest_cells == 0 || params.most_cells < 2 * params.fewest_cells {
        return bad(
            "most_cells",
            params.most_cells as f64,
            "at least twice fewest_cells, which is at least 1",
        );
    }
    if params.most_cells as f64 > MOST_CELLS {
        return bad("most_cells", params.most_cells as f64, "at most 300,000");
    }
    if !(0.0..1.0).contains(&params.smallest_piece) {
        return bad("smallest_piece", params.smallest_piece, "in [0, 1)");
    }
    Ok(())
}

fn fill_with(
    surface: &Surface,
    edge: f64,
    bone_points: &[DVec3],
    params: &FillParams,
    progress: &dyn Progress,
) -> Result<Filling, FillError> {
    let volume = surface.body_volume();
    let too_fine = FillError::TooFine { edge, smallest: edge.max((volume / MOST_CELLS).cbrt()) * 1.5 };
    let (lowest, highest) = surface.body_bounds();
    let grid = Grid::around(lowest, highest, edge, MOST_CUBES).filter(|_| volume / edge.powi(3) < MOST_CELLS);
    let Some(grid) = grid else {
        return Err(too_fine);
    };
    let (mut cubes, mut masks) = (Vec::new(), Vec::new());
    for (cube, mask) in grid.inside(&surface.winding, progress)? {
        for part in voxels::parts(mask) {
            cubes.push(cube);
            masks.push(part);
        }
    }
    if cubes.is_empty() {
        return Err(FillError::NothingInside { edge });
    }
    if cubes.len() as f64 > MOST_CELLS {
        return Err(too_fine);
    }
    let all = joined(grid, cubes, masks);
    Ok(without_islands(all, bone_points, params.smallest_piece))
}

/// Puts cells together: corners become one where sub-voxels of two cells touch across a face.
fn joined(grid: Grid, cubes: Vec<IVec3>, voxels: Vec<u64>) -> Filling {
    let mut corner_sets = UnionFind::new(8 * cubes.len());
    let mut pieces = UnionFind::new(cubes.len());
    for lower in 0..cubes.len() {
        for axis in 0..3 {
            let step = IVec3::AXES[axis];
            for upper in cells_of_cube(&cubes, cubes[lower] + step) {
                if voxels::touch(voxels[lower], voxels[upper], axis) {
                    pieces.union(lower, upper);
                    for corner in (0..8).filter(|c| c >> axis & 1 == 0) {
                        corner_sets.union(8 * lower + (corner | 1 << axis), 8 * upper + corner);
                    }
                }
            }
        }
    }
    let (node_of_corner, node_count) = corner_sets.numbered();
    let mut nodes = vec![DVec3::ZERO; node_count];
    let mut corners = Vec::with_capacity(cubes.len());
    for (cell, cube) in cubes.iter().enumerate() {
        let of_cell: [u32; 8] = std::array::from_fn(|c| node_of_corner[8 * cell + c]);
        for (corner, &node) in of_cell.iter().enumerate() {
            nodes[node as usize] = cube.as_dvec3() + corner_offset(corner);
        }
        corners.push(of_cell);
    }
    let filled = voxels.iter().map(|mask| f64::from(mask.count_ones()) / 64.0).collect();
    let (piece_of_cell, piece_count) = pieces.numbered();
    let lattice = Lattice { origin: grid.origin, edge: grid.edge, corners, filled, nodes };
    Filling { lattice, cubes, voxels, piece_of_cell, piece_count, dropped: Vec::new() }
}

/// Drops small pieces that hold no bone. The largest always stays.
fn without_islands(all: Filling, bone_points: &[DVec3], smallest_piece: f64) -> Filling {
    let mut volumes = vec![0.0; all.piece_count];
    for (cell, &piece) in all.piece_of_cell.iter().enumerate() {
        volumes[piece as usize] += all.lattice.filled[cell];
    }
    let whole: f64 = volumes.iter().sum();
    let largest = (0..volumes.len()).max_by(|&a, &b| volumes[a].total_cmp(&volumes[b]).then(b.cmp(&a)));
    let mut keep: Vec<bool> = volumes.iter().map(|volume| volume / whole >= smallest_piece).collect();
    if let Some(largest) = largest {
        keep[largest] = true;
    }
    for &point in bone_points {
        if let Some(cell) = all.cell_around(all.lattice.lattice_from_mesh(point)) {
            keep[all.piece_of_cell[cell] as usize] = true;
        }
    }
    if keep.iter().all(|&kept| kept) {
        return all;
    }
    let dropped = (0..keep.len()).filter(|&piece| !keep[piece]).map(|piece| DroppedPiece {
        cells: all.piece_of_cell.iter().filter(|&&p| p as usize == piece).count(),
        share: volumes[piece] / whole,
        near: (0..all.cubes.len())
            .find(|&cell| all.piece_of_cell[cell] as usize == piece)
            .map_or(DVec3::ZERO, |cell| all.lattice.mesh_from_lattice(all.middle_of(cell))),
    });
    let dropped: Vec<DroppedPiece> = dropped.collect();
    let kept = |cell: &usize| keep[all.piece_of_cell[*cell] as usize];
    let cells: Vec<usize> = (0..all.cubes.len()).filter(kept).collect();
    let grid = Grid { origin: all.lattice.origin, edge: all.lattice.edge, counts: IVec3::ZERO };
    let cubes = cells.iter().map(|&cell| all.cubes[cell]).collect();
    let voxels = cells.iter().map(|&cell| all.voxels[cell]).collect();
    Filling { dropped, ..joined(grid, cubes, voxels) }
}

fn cells_of_cube(cubes: &[IVec3], cube: IVec3) -> std::ops::Range<usize> {
    let first = cubes.partition_point(|&c| order(c) < order(cube));
    let count = cubes[first..].iter().take_while(|&&c| c == cube).count();
    first..first + count
}

impl Filling {
    /// The copies of a cube.
    pub fn cells_of(&self, cube: IVec3) -> std::ops::Range<usize> {
        cells_of_cube(&self.cubes, cube)
    }

    /// The cell with the sub-voxel that a point of lattice space lies in; none outside.
    pub fn cell_around(&self, point: DVec3) -> Option<usize> {
        let cube = point.floor();
        let [x, y, z] = ((point - cube) * 4.0).to_array().map(|i| (i as u32).min(3));
        let bit = 1u64 << ((z * 4 + y) * 4 + x);
        self.cells_of(cube.as_ivec3()).find(|&cell| self.voxels[cell] & bit != 0)
    }

    /// The cell with the sub-voxel nearest to a point of lattice space.
    pub fn nearest_cell(&self, point: DVec3) -> usize {
        self.nearest_of_all(point).1
    }

    /// Squared distance to the nearest of all sub-voxels, and its cell.
    pub(crate) fn nearest_of_all(&self, point: DVec3) -> (f64, usize) {
        // Stray points may be further off than cubes can be counted.
        let cube = point.floor().clamp(DVec3::splat(-1e9), DVec3::splat(1e9)).as_ivec3();
        for reach in 1..=2 {
            let mut near = Vec::new();
            for z in -reach..=reach {
                for y in -reach..=reach {
                    near.extend((-reach..=reach).flat_map(|x| self.cells_of(cube + IVec3::new(x, y, z))));
                }
            }
            // Cubes further out are at least this far.
            let nearest = self.nearest_of(point, near.into_iter());
            if nearest.0 <= f64::from(reach * reach) {
                return nearest;
            }
        }
        self.nearest_of(point, 0..self.cubes.len())
    }

    /// Squared distance to the nearest sub-voxel of some cells, and its cell.
    pub(crate) fn nearest_of(&self, point: DVec3, cells: impl Iterator<Item = usize>) -> (f64, usize) {
        let mut best = (f64::INFINITY, 0);
        for cell in cells {
            let local = point - self.cubes[cell].as_dvec3();
            if (local.clamp(DVec3::ZERO, DVec3::ONE) - local).length_squared() >= best.0 {
                continue;
            }
            for bit in bits(self.voxels[cell]) {
                let off = ((local - voxel_centre(bit)).abs() - 0.125).max(DVec3::ZERO);
                if off.length_squared() < best.0 {
                    best = (off.length_squared(), cell);
                }
            }
        }
        best
    }

    /// Mean of a cell's sub-voxels in lattice space.
    pub fn middle_of(&self, cell: usize) -> DVec3 {
        let sum: DVec3 = bits(self.voxels[cell]).map(voxel_centre).sum();
        self.cubes[cell].as_dvec3() + sum / f64::from(self.voxels[cell].count_ones().max(1))
    }

    /// Volume of all sub-voxels in cubed mesh units.
    pub fn volume(&self) -> f64 {
        self.lattice.filled.iter().sum::<f64>() * self.lattice.edge.powi(3)
    }
}
