//! Plays baked models.

use std::sync::Arc;

use glam::Vec3;

use super::drivers::DriverState;
use super::frame::FrameData;
use super::kernel::{self, Input};
use super::lanes::{Block, LANES};
use super::storage::{Displacements, Fields, Stored};
use super::{BakedModel, Group, LONGEST_GROUP, scalar};
use crate::pose::Pose;

/// The instructions that are used. All give the same shapes, within rounding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Path {
    /// one vertex at a time; for comparison
    Scalar,
    /// eight at a time, as the compiler likes
    Portable,
    /// eight at a time with AVX2, FMA and F16C
    Avx2,
}

impl Path {
    /// The paths that this machine has, the fastest last.
    pub fn available() -> &'static [Self] {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("f16c")
        {
            return &[Self::Scalar, Self::Portable, Self::Avx2];
        }
        &[Self::Scalar, Self::Portable]
    }
}

/// A baked model with the memory to evaluate it. Allocates when made, never per frame.
#[derive(Debug)]
pub struct BakedEvaluator {
    baked: Arc<BakedModel>,
    path: Path,
    drivers: DriverState,
    frame: FrameData,
    /// positions and normals of some groups before they are put in the caller's order
    pieces: [Vec<Block>; 2],
}

/// Blocks that are skinned before they are put in the caller's order: few enough to stay in the
/// nearest cache.
const PIECE: usize = 2 * LONGEST_GROUP;

/// Where shapes go.
enum Output<'a> {
    Caller(&'a mut [Vec3], Option<&'a mut [Vec3]>),
    Baked(&'a mut [Block], Option<&'a mut [Block]>),
}

impl BakedEvaluator {
    /// Prepares to evaluate `baked` with the fastest instructions of this machine.
    pub fn new(baked: Arc<BakedModel>) -> Self {
        let path = Path::available().last().copied().unwrap_or(Path::Portable);
        let drivers = DriverState::new(&baked);
        let frame = FrameData::new(&baked);
        let pieces = [vec![Block::default(); PIECE], vec![Block::default(); PIECE]];
        Self { baked, path, drivers, frame, pieces }
    }

    /// The same with chosen instructions; `None` if this machine does not have them.
    pub fn with_path(baked: Arc<BakedModel>, path: Path) -> Option<Self> {
        Path::available().contains(&path).then(|| Self { path, ..Self::new(baked) })
    }

    /// The baked model.
    pub fn model(&self) -> &Arc<BakedModel> {
        &self.baked
    }

    /// The instructions in use.
    pub fn path(&self) -> Path {
        self.path
    }

    /// The coordinates of the last pose, all layers one after the other.
    pub fn coordinates(&self) -> &[f32] {
        self.drivers.coordinates()
    }

    /// Layers whose drivers were computed for the last pose: those that saw something new.
    pub fn computed_layers(&self) -> usize {
        self.drivers.computed_layers()
    }

    /// Posed positions and, if asked for, unit normals, into the caller's slices (both `vertex`).
    ///
    /// # Panics
    /// If a slice has another length than the rig has vertices, or the pose is of another rig.
    pub fn evaluate(&mut self, pose: &Pose, positions: &mut [Vec3], normals: Option<&mut [Vec3]>) {
        let vertices = self.baked.rig.vertex_count();
        assert_eq!(positions.len(), vertices, "positions of another rig");
        assert!(normals.as_ref().is_none_or(|normals| normals.len() == vertices), "normals of another rig");
        self.set(pose);
        self.skin(Output::Caller(positions, normals));
    }

    /// The same in baked order (both `block`), which is faster: nothing has to be put back in order.
    /// [`BakedModel::vertices`] says which vertex is where.
    ///
    /// # Panics
    /// If a slice has another length than the model has blocks, or the pose is of another rig.
    pub fn evaluate_baked_order(
        &mut self,
        pose: &Pose,
        positions: &mut [Block],
        normals: Option<&mut [Block]>,
    ) {
        let blocks = self.baked.block_count();
        assert_eq!(positions.len(), blocks, "positions of another model");
        assert!(normals.as_ref().is_none_or(|normals| normals.len() == blocks), "normals of another model");
        self.set(pose);
        self.skin(Output::Baked(positions, normals));
    }

    fn set(&mut self, pose: &Pose) {
        self.drivers.drive(&self.baked, pose);
        self.frame.set_coordinates(&self.baked, self.drivers.coordinates());
        self.frame.set_pose(&self.baked, pose);
    }

    fn skin(&mut self, output: Output) {
        let baked = Arc::clone(&self.baked);
        match &baked.displacements {
            Displacements::F32(fields) => self.skin_stored(&baked, fields, output),
            Displacements::F16(fields) => self.skin_stored(&baked, fields, output),
            Displacements::I16(fields) => self.skin_stored(&baked, fields, output),
        }
    }

    fn skin_stored<T: Stored>(&mut self, baked: &BakedModel, fields: &Fields<T>, output: Output) {
        let input = Input { tables: &baked.tables, fields, frame: &self.frame, skinning: baked.skinning };
        if self.path == Path::Scalar {
            return skin_scalar(&input, output);
        }
        match output {
            Output::Baked(positions, normals) => {
                run(self.path, &input, &baked.tables.groups, positions, normals);
            }
            Output::Caller(positions, normals) => {
                skin_in_pieces(self.path, &input, &mut self.pieces, positions, normals);
            }
        }
    }
}

fn skin_scalar<T: Stored>(input: &Input<T>, mut output: Output) {
    scalar::run(input, |block, lane, position, normal| match &mut output {
        Output::Caller(positions, normals) => {
            let vertex = input.tables.vertices[block][lane] as usize;
            positions[vertex] = position;
            if let Some(normals) = normals {
                normals[vertex] = normal;
            }
        }
        Output::Baked(positions, normals) => {
            for axis in 0..3 {
                positions[block].0[axis][lane] = position[axis];
                if let Some(normals) = normals {
                    normals[block].0[axis][lane] = normal[axis];
                }
            }
        }
    });
}

/// Some groups at a time, then these in the caller's order.
fn skin_in_pieces<T: Stored>(
    path: Path,
    input: &Input<T>,
    [piece, normal_piece]: &mut [Vec<Block>; 2],
    positions: &mut [Vec3],
    mut normals: Option<&mut [Vec3]>,
) {
    let mut groups = &input.tables.groups[..];
    while let Some(first) = groups.first() {
        let mut blocks = 0;
        let count = groups
            .iter()
            .take_while(|group| {
                blocks += group.block_count;
                blocks <= PIECE
            })
            .count();
        let (own, others) = groups.split_at(count);
        groups = others;
        let blocks: usize = own.iter().map(|group| group.block_count).sum();
        let (to, to_normals) = (&mut piece[..blocks], &mut normal_piece[..blocks]);
        let vertices = &input.tables.vertices[first.first_block..][..blocks];
        match &mut normals {
            None => run(path, input, own, to, None),
            Some(normals) => {
                run(path, input, own, to, Some(&mut *to_normals));
                scatter(to_normals, vertices, normals);
            }
        }
        scatter(to, vertices, positions);
    }
}

fn scatter(blocks: &[Block], vertices: &[[u32; LANES]], to: &mut [Vec3]) {
    for (Block([x, y, z]), vertices) in blocks.iter().zip(vertices) {
        for lane in 0..LANES {
            to[vertices[lane] as usize] = Vec3::new(x[lane], y[lane], z[lane]);
        }
    }
}

fn run<T: Stored>(
    path: Path,
    input: &Input<T>,
    groups: &[Group],
    positions: &mut [Block],
    normals: Option<&mut [Block]>,
) {
    #[cfg(target_arch = "x86_64")]
    if path == Path::Avx2 {
        #[allow(unsafe_code, reason = "instructions were asked for when the path was chosen")]
        // SAFETY: a path is only taken from `Path::available`, which lists this one only where the
        // processor has all three extensions.
        unsafe {
            kernel::avx2(input, groups, positions, normals);
        }
        return;
    }
    kernel::portable(input, groups, positions, normals);
}
