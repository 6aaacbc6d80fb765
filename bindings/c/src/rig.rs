//! What a model says about its joints, controls, triangles and primitives.

use std::ffi::{CStr, CString, c_char};

use eigenskin_core::glam::{DAffine3, DMat4};

use crate::NONE;
use crate::model::{EigenskinModel, EigenskinPrimitive, Loaded};
use crate::pointers;
use crate::status::{Failure, Status, guard};

/// # Safety
/// A pointer that is not null comes from `eigenskin_model_load` and was not freed.
unsafe fn loaded<'a>(model: *const EigenskinModel) -> Result<&'a Loaded, Failure> {
    // SAFETY: the caller's promise; models never change.
    Ok(&unsafe { pointers::reference(model, "model")? }.0)
}

fn entry<'a, T>(list: &'a [T], index: usize, what: &str) -> Result<&'a T, Failure> {
    list.get(index).ok_or_else(|| Failure::range(what, index, list.len()))
}

/// The name of a joint.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eigenskin_joint_name(
    model: *const EigenskinModel,
    joint: usize,
    name: *mut *const c_char,
) -> i32 {
    // SAFETY: the header's contract: a live model, and room for what comes out. So in all of this file.
    guard(|| unsafe {
        let text = entry(&loaded(model)?.joint_names, joint, "joint")?;
        pointers::put(name, "name", text.as_ptr())
    })
}

/// The joint of a name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eigenskin_find_joint(
    model: *const EigenskinModel,
    name: *const c_char,
    joint: *mut usize,
) -> i32 {
    // SAFETY: see above; `name` ends with a zero.
    guard(|| unsafe { pointers::put(joint, "joint", find(&loaded(model)?.joint_names, name, "joint")?) })
}

/// The parent of a joint, or `NONE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eigenskin_joint_parent(
    model: *const EigenskinModel,
    joint: usize,
    parent: *mut usize,
) -> i32 {
    // SAFETY: see above.
    guard(|| unsafe {
        let found = entry(loaded(model)?.rig().skeleton().joints(), joint, "joint")?.parent;
        pointers::put(parent, "parent", found.unwrap_or(NONE))
    })
}

/// The joint that drivers measure a joint against, or `NONE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eigenskin_joint_reference(
    model: *const EigenskinModel,
    joint: usize,
    reference: *mut usize,
) -> i32 {
    // SAFETY: see above.
    guard(|| unsafe {
        let found = entry(loaded(model)?.rig().skeleton().joints(), joint, "joint")?.reference;
        pointers::put(reference, "reference", found.unwrap_or(NONE))
    })
}

/// The node of the file that is a joint.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eigenskin_joint_node(
    model: *const EigenskinModel,
    joint: usize,
    node: *mut usize,
) -> i32 {
    // SAFETY: see above.
    guard(|| unsafe { pointers::put(node, "node", *entry(&loaded(model)?.joint_nodes, joint, "joint")?) })
}

/// Where a joint is at rest, 16 numbers, column by column.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eigenskin_joint_rest(
    model: *const EigenskinModel,
    joint: usize,
    world_from_joint: *mut f32,
) -> i32 {
    // SAFETY: see above.
    guard(|| unsafe {
        let rest = entry(loaded(model)?.rig().skeleton().rest_from_joint(), joint, "joint")?;
        put_matrix(world_from_joint, "world_from_joint", rest)
    })
}

/// The same in double precision.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eigenskin_joint_rest_double(
    model: *const EigenskinModel,
    joint: usize,
    world_from_joint: *mut f64,
) -> i32 {
    // SAFETY: see above.
    guard(|| unsafe {
        let rest = entry(loaded(model)?.rig().skeleton().rest_from_joint(), joint, "joint")?;
        let matrix = pointers::array_mut(world_from_joint, 16, "world_from_joint")?;
        matrix.copy_from_slice(&DMat4::from(*rest).to_cols_array());
        Ok(())
    })
}

/// Where the file's default transforms put the model, 16 numbers, column by column.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eigenskin_scene_from_mesh(
    model: *const EigenskinModel,
    scene_from_mesh: *mut f32,
) -> i32 {
    // SAFETY: see above.
    guard(|| unsafe {
        let transform = &loaded(model)?.scene_from_mesh;
        put_matrix(scene_from_mesh, "scene_from_mesh", transform)
    })
}

/// The name of a control.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eigenskin_control_name(
    model: *const EigenskinModel,
    control: usize,
    name: *mut *const c_char,
) -> i32 {
    // SAFETY: see above.
    guard(|| unsafe {
        let text = entry(&loaded(model)?.control_names, control, "control")?;
        pointers::put(name, "name", text.as_ptr())
    })
}

/// The control of a name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eigenskin_find_control(
    model: *const EigenskinModel,
    name: *const c_char,
    control: *mut usize,
) -> i32 {
    // SAFETY: see above; `name` ends with a zero.
    guard(|| unsafe {
        pointers::put(control, "control", find(&loaded(model)?.control_names, name, "control")?)
    })
}

/// The value of a control at rest.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eigenskin_control_rest(
    model: *const EigenskinModel,
    control: usize,
    value: *mut f64,
) -> i32 {
    // SAFETY: see above.
    guard(|| unsafe {
        pointers::put(value, "value", entry(loaded(model)?.rig().controls(), control, "control")?.default)
    })
}

/// One primitive of the file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eigenskin_get_primitive(
    model: *const EigenskinModel,
    index: usize,
    primitive: *mut EigenskinPrimitive,
) -> i32 {
    // SAFETY: see above.
    guard(|| unsafe {
        pointers::put(primitive, "primitive", *entry(&loaded(model)?.primitives, index, "primitive")?)
    })
}

/// The corners of all triangles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eigenskin_triangles(
    model: *const EigenskinModel,
    corners: *mut u32,
    triangle_count: usize,
) -> i32 {
    // SAFETY: see above.
    guard(|| unsafe {
        let triangles = loaded(model)?.rig().mesh().triangles();
        pointers::check(corners, "corners")?;
        if triangle_count != triangles.len() {
            return Err(Failure::size("triangle_count", triangle_count, triangles.len()));
        }
        pointers::array_mut(corners, 3 * triangle_count, "corners")?
            .copy_from_slice(triangles.as_flattened());
        Ok(())
    })
}

/// The tangents at rest, four numbers each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eigenskin_rest_tangents(
    model: *const EigenskinModel,
    tangents: *mut f32,
    vertex_count: usize,
) -> i32 {
    // SAFETY: see above.
    guard(|| unsafe {
        let found = loaded(model)?.tangents()?;
        pointers::check(tangents, "tangents")?;
        if vertex_count != found.len() {
            return Err(Failure::size("vertex_count", vertex_count, found.len()));
        }
        let to = pointers::array_mut(tangents, 4 * vertex_count, "tangents")?;
        for (to, tangent) in to.chunks_exact_mut(4).zip(found) {
            to.copy_from_slice(&tangent.to_array());
        }
        Ok(())
    })
}

/// # Safety
/// `to` is null or has room for 16 numbers.
unsafe fn put_matrix(to: *mut f32, what: &str, transform: &DAffine3) -> Result<(), Failure> {
    // SAFETY: the caller's promise.
    let to = unsafe { pointers::array_mut(to, 16, what)? };
    to.copy_from_slice(&DMat4::from(*transform).as_mat4().to_cols_array());
    Ok(())
}

/// # Safety
/// `name` is null or ends with a zero.
unsafe fn find(names: &[CString], name: *const c_char, what: &str) -> Result<usize, Failure> {
    pointers::check(name, "name")?;
    // SAFETY: the caller's promise, and it is not null.
    let wanted = unsafe { CStr::from_ptr(name) };
    names.iter().position(|name| name.as_c_str() == wanted).ok_or_else(|| {
        Failure::new(Status::OutOfRange, format!("there is no {what} {:?}", wanted.to_string_lossy()))
    })
}
