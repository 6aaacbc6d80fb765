//! Models: loaded once, never changed, shared by all characters.

use std::ffi::{CString, c_void};
use std::sync::Arc;

use eigenskin_core::glam::{DAffine3, Vec4};
use eigenskin_core::packed::{PackParams, PackedModel, Storage};
use eigenskin_core::rig::Rig;
use eigenskin_gltf::{ModelFile, MorphWeights};

use crate::pointers;
use crate::status::{Failure, Status, c_text, guard, guard_count};

/// `eigenskin_model`. Characters have a share of it, so it may be freed before they are.
pub struct EigenskinModel(pub(crate) Arc<Loaded>);

/// What is kept of a file.
pub(crate) struct Loaded {
    pub packed: Arc<PackedModel>,
    /// all layers together
    pub component_count: usize,
    /// `joint`
    pub joint_names: Vec<CString>,
    /// `joint` → node of the file
    pub joint_nodes: Vec<usize>,
    /// `control`
    pub control_names: Vec<CString>,
    /// primitives of triangles
    pub primitives: Vec<EigenskinPrimitive>,
    pub scene_from_mesh: DAffine3,
    /// `vertex`: unit tangents and handedness, if the file has them
    pub tangents: Option<Vec<Vec4>>,
    pub morph_weights: MorphWeights,
}

/// `eigenskin_primitive`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct EigenskinPrimitive {
    /// index of the mesh in the file
    pub mesh: usize,
    /// index of the primitive in the mesh
    pub primitive: usize,
    /// its first vertex in the model
    pub first_vertex: usize,
    /// number of vertices
    pub vertex_count: usize,
    /// the model's first morph target in the mesh
    pub first_target: usize,
}

impl Loaded {
    pub fn rig(&self) -> &Rig {
        self.packed.rig()
    }

    fn read(glb: &[u8], storage: Storage) -> Result<Self, Failure> {
        let file = ModelFile::from_bytes(glb)?;
        let (layout, rig) = (file.rig_file.layout(), file.model.rig());
        let tangents = file.rig_file.tangents()?;
        let mut packed = PackedModel::new(&file.model, &PackParams { storage })?;
        if let Some(tangents) = &tangents {
            packed = packed.with_tangents(tangents)?;
        }
        let ranges = layout.primitives.iter().filter_map(|range| {
            Some(EigenskinPrimitive {
                mesh: range.mesh,
                primitive: range.primitive,
                first_vertex: range.first_vertex?,
                vertex_count: range.vertex_count,
                first_target: file.first_target(range.mesh),
            })
        });
        Ok(Self {
            component_count: file.model.component_count(),
            joint_names: rig.skeleton().joints().iter().map(|joint| c_text(&joint.name)).collect(),
            joint_nodes: layout.joint_nodes.clone(),
            control_names: rig.controls().iter().map(|control| c_text(&control.name)).collect(),
            primitives: ranges.collect(),
            scene_from_mesh: layout.scene_from_mesh,
            tangents,
            morph_weights: file.morph_weights.clone(),
            packed: Arc::new(packed),
        })
    }
}

/// Reads a model from the bytes of a GLB.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eigenskin_model_load(
    glb: *const c_void,
    size: usize,
    storage: i32,
    model: *mut *mut EigenskinModel,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for room for a pointer here.
        unsafe { pointers::put(model, "model", std::ptr::null_mut())? };
        pointers::check(glb, "glb")?;
        let storage = match storage {
            0 => Storage::F16,
            1 => Storage::I16,
            2 => Storage::F32,
            other => {
                return Err(Failure::new(
                    Status::OutOfRange,
                    format!("there is no eigenskin_storage {other}"),
                ));
            }
        };
        // SAFETY: the header asks for `size` bytes here, which stay as they are during the call.
        let glb = unsafe { pointers::array(glb.cast::<u8>(), size, "glb")? };
        let loaded = EigenskinModel(Arc::new(Loaded::read(glb, storage)?));
        // SAFETY: as above.
        unsafe { pointers::put(model, "model", Box::into_raw(Box::new(loaded))) }
    })
}

/// Gives a model back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eigenskin_model_free(model: *mut EigenskinModel) {
    if !model.is_null() {
        guard(|| {
            // SAFETY: it was made by `eigenskin_model_load`, and the header allows this once.
            drop(unsafe { Box::from_raw(model) });
            Ok(())
        });
    }
}

/// # Safety
/// A pointer that is not null comes from `eigenskin_model_load` and was not freed.
unsafe fn count_of(model: *const EigenskinModel, count: impl FnOnce(&Loaded) -> usize) -> usize {
    // SAFETY: the caller's promise; models never change.
    guard_count(|| Ok(count(&unsafe { pointers::reference(model, "model")? }.0)))
}

/// Vertices of the model.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eigenskin_vertex_count(model: *const EigenskinModel) -> usize {
    // SAFETY: the header's contract is that of `count_of`; so below.
    unsafe { count_of(model, |model| model.rig().vertex_count()) }
}

/// Triangles of the model.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eigenskin_triangle_count(model: *const EigenskinModel) -> usize {
    // SAFETY: as above.
    unsafe { count_of(model, |model| model.rig().mesh().triangles().len()) }
}

/// Joints of the model.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eigenskin_joint_count(model: *const EigenskinModel) -> usize {
    // SAFETY: as above.
    unsafe { count_of(model, |model| model.rig().skeleton().joint_count()) }
}

/// Controls of the model.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eigenskin_control_count(model: *const EigenskinModel) -> usize {
    // SAFETY: as above.
    unsafe { count_of(model, |model| model.rig().controls().len()) }
}

/// Coordinates of the model.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eigenskin_component_count(model: *const EigenskinModel) -> usize {
    // SAFETY: as above.
    unsafe { count_of(model, |model| model.component_count) }
}

/// Morph targets of the model in each of its meshes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eigenskin_target_count(model: *const EigenskinModel) -> usize {
    // SAFETY: as above.
    unsafe { count_of(model, |model| model.morph_weights.count()) }
}

/// Primitives of the file that the model moves.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eigenskin_primitive_count(model: *const EigenskinModel) -> usize {
    // SAFETY: as above.
    unsafe { count_of(model, |model| model.primitives.len()) }
}

/// 1 if the file has tangents.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eigenskin_has_tangents(model: *const EigenskinModel) -> i32 {
    // SAFETY: as above.
    i32::from(unsafe { count_of(model, |model| usize::from(model.tangents.is_some())) } == 1)
}
