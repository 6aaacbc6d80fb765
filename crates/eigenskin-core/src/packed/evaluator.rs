//! Plays packed models.

use std::ops::Range;
use std::sync::Arc;

use glam::Vec3;
#[cfg(feature = "rayon")]
use rayon::ThreadPool;

use super::drivers::DriverState;
use super::frame::FrameData;
use super::kernel::{self, Input, Shape};
use super::lanes::{Block, Lanes, Portable};
use super::output::Output;
use super::storage::{Displacements, Fields, Stored};
#[cfg(feature = "rayon")]
use super::threads::Threads;
use super::{Group, PIECE, PackedModel, scalar};
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

    /// The fastest path of this machine.
    pub fn fastest() -> Self {
        Self::available().last().copied().unwrap_or(Self::Portable)
    }
}

/// A packed model with the memory to evaluate it. Allocates when made, never per frame (but for what
/// rayon does if there are threads).
#[derive(Debug)]
pub struct PackedEvaluator {
    pub(super) packed: Arc<PackedModel>,
    path: Path,
    drivers: DriverState,
    frame: FrameData,
    worker: Worker,
    #[cfg(feature = "rayon")]
    threads: Option<Threads>,
}

/// The memory of one thread.
#[derive(Debug)]
pub(super) struct Worker {
    /// joints of one group, as the kernels like them
    pub joints: Vec<[Lanes; 12]>,
    /// positions, normals and tangents of some groups before they are put in the caller's order
    pub piece: [Vec<Block>; 3],
}

impl Worker {
    pub fn new(packed: &PackedModel) -> Self {
        let piece = || vec![Block::default(); PIECE];
        Self {
            joints: vec![[Lanes::default(); 12]; packed.tables.most_movers],
            piece: [piece(), piece(), piece()],
        }
    }
}

impl PackedEvaluator {
    /// Prepares to evaluate `packed` with the fastest instructions of this machine.
    pub fn new(packed: Arc<PackedModel>) -> Self {
        let drivers = DriverState::new(&packed.drivers);
        let frame = FrameData::new(&packed);
        let worker = Worker::new(&packed);
        Self {
            packed,
            path: Path::fastest(),
            drivers,
            frame,
            worker,
            #[cfg(feature = "rayon")]
            threads: None,
        }
    }

    /// The same with chosen instructions; `None` if this machine does not have them.
    pub fn with_path(packed: Arc<PackedModel>, path: Path) -> Option<Self> {
        Path::available().contains(&path).then(|| Self { path, ..Self::new(packed) })
    }

    /// The same with a thread pool to share the work. Worth it for large shapes: below some ten thousand
    /// vertices threads wait for each other longer than they work.
    #[cfg(feature = "rayon")]
    #[must_use]
    pub fn with_threads(mut self, pool: Arc<ThreadPool>) -> Self {
        self.threads = Some(Threads::new(&self.packed, pool));
        self
    }

    /// The packed model.
    pub fn model(&self) -> &Arc<PackedModel> {
        &self.packed
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

    /// Only the drivers: the coordinates of all layers for a pose.
    pub fn drive(&mut self, pose: &Pose) -> &[f32] {
        self.drivers.drive(&self.packed.drivers, self.path, pose);
        self.drivers.coordinates()
    }

    /// Posed positions and, if asked for, unit normals, into the caller's slices (both `vertex`).
    ///
    /// # Panics
    /// If a slice has another length than the rig has vertices, or the pose is of another rig.
    pub fn evaluate(&mut self, pose: &Pose, positions: &mut [Vec3], normals: Option<&mut [Vec3]>) {
        self.evaluate_to(pose, Output::Arrays { positions, normals, tangents: None });
    }

    /// The posed shape, in the layout of the caller's choice.
    ///
    /// # Panics
    /// If [`Output::check`] refuses the output, or the pose is of another rig.
    pub fn evaluate_to(&mut self, pose: &Pose, mut output: Output) {
        self.set(pose, &output);
        #[cfg(feature = "rayon")]
        if let Some(threads) = &mut self.threads {
            return threads.skin(&self.packed, &self.frame, self.path, output);
        }
        let packed = Arc::clone(&self.packed);
        for piece in &packed.tables.pieces {
            self.skin_piece(piece, &mut output);
        }
    }

    /// Takes over a pose.
    pub(super) fn set(&mut self, pose: &Pose, output: &Output) {
        if let Err(error) = output.check(&self.packed) {
            panic!("{error}");
        }
        self.drivers.drive(&self.packed.drivers, self.path, pose);
        let factor = self.packed.displacements.factor(self.path);
        self.frame.set_coordinates(&self.packed, self.drivers.coordinates(), factor);
        self.frame.set_pose(&self.packed, pose);
    }

    /// Skins some groups and puts them where they belong.
    pub(super) fn skin_piece(&mut self, piece: &Range<usize>, output: &mut Output) {
        let groups = &self.packed.tables.groups[piece.clone()];
        let first = groups.first().map_or(0, |group| group.first_block);
        let blocks: usize = groups.iter().map(|group| group.block_count).sum();
        let Worker { joints, piece } = &mut self.worker;
        if let Output::Blocks { positions, normals, tangents } = output {
            let parts = [Some(&mut **positions), normals.as_deref_mut(), tangents.as_deref_mut()];
            let shape = parts.map(|part| part.map_or(&mut [][..], |part| &mut part[first..first + blocks]));
            return skin(self.path, &self.packed, &self.frame, groups, joints, shape);
        }
        let mut shape = piece.each_mut().map(|part| &mut part[..blocks]);
        for (part, wanted) in shape.iter_mut().zip(output.wanted()) {
            if !wanted {
                *part = &mut [];
            }
        }
        skin(self.path, &self.packed, &self.frame, groups, joints, shape);
        output.scatter(&self.packed, first, piece.each_ref().map(|part| &part[..blocks]));
    }
}

/// Skins consecutive groups into blocks.
pub(super) fn skin(
    path: Path,
    packed: &PackedModel,
    frame: &FrameData,
    groups: &[Group],
    joints: &mut [[Lanes; 12]],
    shape: Shape,
) {
    match &packed.displacements {
        Displacements::F32(fields) => skin_stored(path, packed, fields, frame, groups, joints, shape),
        Displacements::F16(fields) => skin_stored(path, packed, fields, frame, groups, joints, shape),
        Displacements::I16(fields) => skin_stored(path, packed, fields, frame, groups, joints, shape),
    }
}

fn skin_stored<T: Stored>(
    path: Path,
    packed: &PackedModel,
    fields: &Fields<T>,
    frame: &FrameData,
    groups: &[Group],
    joints: &mut [[Lanes; 12]],
    shape: Shape,
) {
    let input = Input { tables: &packed.tables, fields, frame, skinning: packed.skinning };
    match path {
        Path::Scalar => scalar::run(&input, groups, shape),
        Path::Portable => kernel::portable(&input, groups, joints, shape),
        #[cfg(target_arch = "x86_64")]
        #[allow(unsafe_code, reason = "instructions were asked for when the path was chosen")]
        // SAFETY: a path is only taken from `Path::available`, which lists this one only where the
        // processor has all three extensions.
        Path::Avx2 => unsafe { kernel::avx2(&input, groups, joints, shape) },
        #[cfg(not(target_arch = "x86_64"))]
        Path::Avx2 => kernel::portable(&input, groups, joints, shape),
    }
}

impl Displacements {
    /// What decoded numbers are multiplied with besides their scales.
    fn factor(&self, path: Path) -> f32 {
        match self {
            Self::F32(_) => of_path::<f32>(path),
            Self::F16(_) => of_path::<super::storage::Half>(path),
            Self::I16(_) => of_path::<i16>(path),
        }
    }
}

fn of_path<T: Stored>(path: Path) -> f32 {
    match path {
        #[cfg(target_arch = "x86_64")]
        Path::Avx2 => T::factor::<super::lanes::Avx2>(),
        _ => T::factor::<Portable>(),
    }
}
