//! What a posed character looks like.

use std::sync::Arc;

use eigenskin_core::glam::{Vec3, Vec4};
use eigenskin_core::packed::{Output, VertexLayout};

use crate::NONE;
use crate::character::{EigenskinCharacter, character_of};
use crate::model::Loaded;
use crate::pointers::{self, Extent};
use crate::status::{Failure, Status, guard};

/// `eigenskin_layout`, in floats.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct EigenskinLayout {
    /// from one vertex to the next
    pub stride: usize,
    /// where the three of the position begin
    pub position: usize,
    /// where the three of the normal begin, or `NONE`
    pub normal: usize,
    /// where the four of the tangent begin, or `NONE`
    pub tangent: usize,
}

impl EigenskinLayout {
    /// All attributes lie inside the stride, side by side.
    fn check(&self) -> Result<(), Failure> {
        let all = [("position", self.position, 3), ("normal", self.normal, 3), ("tangent", self.tangent, 4)];
        let is_there = |&(name, first, _): &(&str, usize, usize)| name == "position" || first != NONE;
        for (index, &(name, first, width)) in all.iter().enumerate().filter(|(_, a)| is_there(a)) {
            if first.checked_add(width).is_none_or(|end| end > self.stride) {
                let message = format!("the {name} at float {first} does not fit a stride of {}", self.stride);
                return Err(Failure::new(Status::OutOfRange, message));
            }
            for &(other, at, count) in all[..index].iter().filter(|a| is_there(a)) {
                if at < first + width && first < at + count {
                    let message = format!("the {other} and the {name} of a vertex overlap");
                    return Err(Failure::new(Status::OutOfRange, message));
                }
            }
        }
        Ok(())
    }
}

/// Positions and, unless null, normals and tangents.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eigenskin_evaluate(
    character: *mut EigenskinCharacter,
    positions: *mut f32,
    normals: *mut f32,
    tangents: *mut f32,
    vertex_count: usize,
) -> i32 {
    // SAFETY: the header's contract: a live character of this thread, and arrays as long as they are said
    // to be. So in all functions below.
    guard(|| unsafe {
        let character = character_of(character)?;
        pointers::check(positions, "positions")?;
        let vertices = character.model.rig().vertex_count();
        if vertex_count != vertices {
            return Err(Failure::size("vertex_count", vertex_count, vertices));
        }
        let extents = [
            Extent::of(positions, 3 * vertices, "positions"),
            Extent::of(normals, 3 * vertices, "normals"),
            Extent::of(tangents, 4 * vertices, "tangents"),
        ];
        pointers::check_apart(&extents)?;
        let positions = pointers::array_mut(positions.cast::<Vec3>(), vertices, "positions")?;
        let normals = if normals.is_null() {
            None
        } else {
            Some(pointers::array_mut(normals.cast::<Vec3>(), vertices, "normals")?)
        };
        let tangents = if tangents.is_null() {
            None
        } else {
            character.model.tangents()?;
            if normals.is_none() {
                return Err(Failure::new(
                    Status::NullPointer,
                    "normals is a null pointer; tangents need them",
                ));
            }
            Some(pointers::array_mut(tangents, 4 * vertices, "tangents")?)
        };
        evaluate_arrays(character, positions, normals, tangents);
        Ok(())
    })
}

fn evaluate_arrays(
    character: &mut EigenskinCharacter,
    positions: &mut [Vec3],
    normals: Option<&mut [Vec3]>,
    tangents: Option<&mut [f32]>,
) {
    // A panic would keep them.
    let mut aligned = std::mem::take(&mut character.tangents);
    if tangents.is_some() {
        aligned.resize(positions.len(), Vec4::ZERO);
    }
    let to = tangents.is_some().then_some(&mut aligned[..]);
    character.evaluate(|evaluator, pose| {
        evaluator.evaluate_to(pose, Output::Arrays { positions, normals, tangents: to });
    });
    for (to, tangent) in tangents.into_iter().flat_map(|all| all.chunks_exact_mut(4)).zip(&aligned) {
        to.copy_from_slice(&tangent.to_array());
    }
    character.tangents = aligned;
}

/// The same into vertices that have other attributes as well.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eigenskin_evaluate_interleaved(
    character: *mut EigenskinCharacter,
    vertices: *mut f32,
    float_count: usize,
    layout: *const EigenskinLayout,
) -> i32 {
    // SAFETY: see above.
    guard(|| unsafe {
        let character = character_of(character)?;
        pointers::check(vertices, "vertices")?;
        let layout = *pointers::reference(layout, "layout")?;
        layout.check()?;
        let vertex_count = character.model.rig().vertex_count();
        let expected = layout.stride.saturating_mul(vertex_count);
        if float_count != expected {
            return Err(Failure::size("float_count", float_count, expected));
        }
        if layout.tangent != NONE {
            character.model.tangents()?;
            if layout.normal == NONE {
                return Err(Failure::new(Status::OutOfRange, "a layout with tangents needs normals"));
            }
        }
        let floats = pointers::array_mut(vertices, float_count, "vertices")?;
        let there = |offset: usize| (offset != NONE).then_some(offset);
        let layout = VertexLayout {
            stride: layout.stride,
            position: layout.position,
            normal: there(layout.normal),
            tangent: there(layout.tangent),
        };
        character.evaluate(|evaluator, pose| {
            evaluator.evaluate_to(pose, Output::Interleaved { floats, layout });
        });
        Ok(())
    })
}

/// The coordinates of all components.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eigenskin_coordinates(
    character: *mut EigenskinCharacter,
    coordinates: *mut f32,
    component_count: usize,
) -> i32 {
    // SAFETY: see above.
    guard(|| unsafe {
        let character = character_of(character)?;
        let expected = character.model.component_count;
        let to = exact_array(coordinates, component_count, expected, ["coordinates", "component_count"])?;
        to.copy_from_slice(character.drive());
        Ok(())
    })
}

/// The weights of the model's morph targets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eigenskin_target_weights(
    character: *mut EigenskinCharacter,
    weights: *mut f32,
    target_count: usize,
) -> i32 {
    // SAFETY: see above.
    guard(|| unsafe {
        let character = character_of(character)?;
        let model = Arc::clone(&character.model);
        let count = model.morph_weights.count();
        let to = exact_array(weights, target_count, count, ["weights", "target_count"])?;
        model.morph_weights.write(character.drive(), to);
        Ok(())
    })
}

/// # Safety
/// `pointer` is null or points to room for `count` numbers that nobody else uses.
unsafe fn exact_array<'a>(
    pointer: *mut f32,
    count: usize,
    expected: usize,
    [array, length]: [&str; 2],
) -> Result<&'a mut [f32], Failure> {
    if expected > 0 {
        pointers::check(pointer, array)?;
    }
    if count != expected {
        return Err(Failure::size(length, count, expected));
    }
    // SAFETY: the caller's promise.
    unsafe { pointers::array_mut(pointer, count, array) }
}

impl Loaded {
    /// The tangents at rest, if the file has them.
    pub(crate) fn tangents(&self) -> Result<&[Vec4], Failure> {
        self.tangents.as_deref().ok_or_else(|| {
            Failure::new(Status::Unsupported, "the file has no tangents; export the character with them")
        })
    }
}
