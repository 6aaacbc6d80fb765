//! Characters: a pose of a model, and the memory to evaluate it.

use std::sync::Arc;

use eigenskin_core::glam::{DAffine3, DVec3, Vec4};
use eigenskin_core::packed::PackedEvaluator;
use eigenskin_core::pose::Pose;

use crate::model::{EigenskinModel, Loaded};
use crate::pointers;
use crate::status::{Failure, Status, guard};

/// `eigenskin_character`.
pub struct EigenskinCharacter {
    pub(crate) model: Arc<Loaded>,
    evaluator: PackedEvaluator,
    /// an evaluation that did not come to its end may have left the evaluator with half a pose
    is_evaluating: bool,
    /// `vertex`, aligned as C's arrays need not be; empty if the file has no tangents
    pub(crate) tangents: Vec<Vec4>,
    pose: Pose,
}

/// Parts of their volume that matrices must leave: below, rounding of `f32` decides which way is up.
const SMALLEST_VOLUME: f64 = 1e-6;

impl EigenskinCharacter {
    fn new(model: Arc<Loaded>) -> Self {
        Self {
            evaluator: PackedEvaluator::new(Arc::clone(&model.packed)),
            is_evaluating: false,
            tangents: vec![Vec4::ZERO; model.tangents.as_ref().map_or(0, Vec::len)],
            pose: model.rig().rest_pose(),
            model,
        }
    }

    /// Shows the evaluator the pose.
    pub(crate) fn evaluate(&mut self, work: impl FnOnce(&mut PackedEvaluator, &Pose)) {
        if self.is_evaluating {
            self.evaluator = PackedEvaluator::new(Arc::clone(&self.model.packed));
        }
        self.is_evaluating = true;
        work(&mut self.evaluator, &self.pose);
        self.is_evaluating = false;
    }

    /// The coordinates of the pose.
    pub(crate) fn drive(&mut self) -> &[f32] {
        self.evaluate(|evaluator, pose| {
            evaluator.drive(pose);
        });
        self.evaluator.coordinates()
    }

    fn set_joint<T: Copy + Into<f64>>(&mut self, joint: usize, matrix: &[T]) -> Result<(), Failure> {
        let count = self.pose.world_from_joint.len();
        if joint >= count {
            return Err(Failure::range("joint", joint, count));
        }
        self.pose.world_from_joint[joint] = self.checked(joint, matrix)?;
        Ok(())
    }

    /// All or none.
    fn set_joints<T: Copy + Into<f64>>(&mut self, matrices: &[T]) -> Result<(), Failure> {
        for (joint, matrix) in matrices.chunks_exact(16).enumerate() {
            self.checked(joint, matrix)?;
        }
        for (joint, matrix) in matrices.chunks_exact(16).enumerate() {
            self.pose.world_from_joint[joint] = affine_of(matrix);
        }
        Ok(())
    }

    /// The transform of a column-major matrix, if drivers and skinning can use it.
    fn checked<T: Copy + Into<f64>>(&self, joint: usize, matrix: &[T]) -> Result<DAffine3, Failure> {
        let fail = |problem: &str| {
            let name = self.model.joint_names[joint].to_string_lossy();
            Err(Failure::new(Status::BadNumber, format!("the matrix of joint {joint} ({name:?}) {problem}")))
        };
        // Shapes are `f32`: what is beyond its range would be infinite there.
        if !matrix.iter().all(|&value| (value.into() as f32).is_finite()) {
            return fail("has a number that is not finite");
        }
        let last_row = [3, 7, 11, 15].map(|index| matrix[index].into());
        let is_affine = last_row.iter().zip([0.0, 0.0, 0.0, 1.0]).all(|(a, b)| (a - b).abs() < 1e-5);
        if !is_affine {
            return fail("has another last row than 0 0 0 1; matrices are given column by column");
        }
        let transform = affine_of(matrix);
        let columns = transform.matrix3;
        let longest = columns.x_axis.length().max(columns.y_axis.length()).max(columns.z_axis.length());
        let volume = (columns * (1.0 / longest)).determinant().abs();
        if !(longest > 1e-12 && volume > SMALLEST_VOLUME && transform.inverse().is_finite()) {
            return fail("is singular; give it a scale that is not zero");
        }
        Ok(transform)
    }

    fn set_control(&mut self, control: usize, value: f64) -> Result<(), Failure> {
        let count = self.pose.controls.len();
        if control >= count {
            return Err(Failure::range("control", control, count));
        }
        self.check_control(control, value)?;
        self.pose.controls[control] = value;
        Ok(())
    }

    fn check_control(&self, control: usize, value: f64) -> Result<(), Failure> {
        if (value as f32).is_finite() {
            return Ok(());
        }
        let name = self.model.control_names[control].to_string_lossy();
        let message = format!("the value of control {control} ({name:?}) is not finite");
        Err(Failure::new(Status::BadNumber, message))
    }
}

fn affine_of<T: Copy + Into<f64>>(matrix: &[T]) -> DAffine3 {
    let column =
        |first: usize| DVec3::new(matrix[first].into(), matrix[first + 1].into(), matrix[first + 2].into());
    DAffine3::from_cols(column(0), column(4), column(8), column(12))
}

/// # Safety
/// A pointer that is not null comes from `eigenskin_character_new`, was not freed, and is used by this
/// thread alone.
pub(crate) unsafe fn character_of<'a>(
    character: *mut EigenskinCharacter,
) -> Result<&'a mut EigenskinCharacter, Failure> {
    // SAFETY: the caller's promise.
    unsafe { pointers::exclusive(character, "character") }
}

/// A character at rest.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eigenskin_character_new(
    model: *const EigenskinModel,
    character: *mut *mut EigenskinCharacter,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for room for a pointer here.
        unsafe { pointers::put(character, "character", std::ptr::null_mut())? };
        // SAFETY: the header asks for a live model; models never change.
        let model = unsafe { pointers::reference(model, "model")? };
        let made = Box::new(EigenskinCharacter::new(Arc::clone(&model.0)));
        // SAFETY: as above.
        unsafe { pointers::put(character, "character", Box::into_raw(made)) }
    })
}

/// Gives a character back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eigenskin_character_free(character: *mut EigenskinCharacter) {
    if !character.is_null() {
        guard(|| {
            // SAFETY: it was made by `eigenskin_character_new`, and the header allows this once.
            drop(unsafe { Box::from_raw(character) });
            Ok(())
        });
    }
}

/// All joints and controls as they are at rest.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eigenskin_reset(character: *mut EigenskinCharacter) -> i32 {
    // SAFETY: the header's contract: a live character of this thread, and arrays as long as they are said
    // to be. So in all functions below.
    guard(|| unsafe {
        let character = character_of(character)?;
        character.pose = character.model.rig().rest_pose();
        Ok(())
    })
}

/// # Safety
/// See [`character_of`]; `matrices` has 16 numbers per joint.
unsafe fn set_joints<T: Copy + Into<f64>>(
    character: *mut EigenskinCharacter,
    matrices: *const T,
    joint_count: usize,
) -> i32 {
    // SAFETY: the caller's promise.
    guard(|| unsafe {
        let character = character_of(character)?;
        let joints = character.pose.world_from_joint.len();
        if joints > 0 {
            pointers::check(matrices, "world_from_joint")?;
        }
        if joint_count != joints {
            return Err(Failure::size("joint_count", joint_count, joints));
        }
        character.set_joints(pointers::array(matrices, 16 * joints, "world_from_joint")?)
    })
}

/// # Safety
/// See [`character_of`]; `matrix` has 16 numbers.
unsafe fn set_joint<T: Copy + Into<f64>>(
    character: *mut EigenskinCharacter,
    joint: usize,
    matrix: *const T,
) -> i32 {
    // SAFETY: the caller's promise.
    guard(|| unsafe {
        character_of(character)?.set_joint(joint, pointers::array(matrix, 16, "world_from_joint")?)
    })
}

/// Where all joints are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eigenskin_set_joints(
    character: *mut EigenskinCharacter,
    world_from_joint: *const f32,
    joint_count: usize,
) -> i32 {
    // SAFETY: the header's contract.
    unsafe { set_joints(character, world_from_joint, joint_count) }
}

/// The same in double precision.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eigenskin_set_joints_double(
    character: *mut EigenskinCharacter,
    world_from_joint: *const f64,
    joint_count: usize,
) -> i32 {
    // SAFETY: the header's contract.
    unsafe { set_joints(character, world_from_joint, joint_count) }
}

/// Where one joint is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eigenskin_set_joint(
    character: *mut EigenskinCharacter,
    joint: usize,
    world_from_joint: *const f32,
) -> i32 {
    // SAFETY: the header's contract.
    unsafe { set_joint(character, joint, world_from_joint) }
}

/// The same in double precision.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eigenskin_set_joint_double(
    character: *mut EigenskinCharacter,
    joint: usize,
    world_from_joint: *const f64,
) -> i32 {
    // SAFETY: the header's contract.
    unsafe { set_joint(character, joint, world_from_joint) }
}

/// The values of all controls.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eigenskin_set_controls(
    character: *mut EigenskinCharacter,
    values: *const f64,
    control_count: usize,
) -> i32 {
    // SAFETY: the header's contract.
    guard(|| unsafe {
        let character = character_of(character)?;
        let controls = character.pose.controls.len();
        if controls > 0 {
            pointers::check(values, "values")?;
        }
        if control_count != controls {
            return Err(Failure::size("control_count", control_count, controls));
        }
        let values = pointers::array(values, controls, "values")?;
        for (control, &value) in values.iter().enumerate() {
            character.check_control(control, value)?;
        }
        character.pose.controls.copy_from_slice(values);
        Ok(())
    })
}

/// The value of one control.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn eigenskin_set_control(
    character: *mut EigenskinCharacter,
    control: usize,
    value: f64,
) -> i32 {
    // SAFETY: the header's contract.
    guard(|| unsafe { character_of(character)?.set_control(control, value) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::guard;
    use eigenskin_core::glam::Vec3;

    #[test]
    fn a_panic_leaves_a_character_that_evaluates() {
        let glb = include_bytes!("../../../conformance/kernels.glb");
        let mut model = std::ptr::null_mut();
        // SAFETY: all pointers are to live values of the right kind.
        let model = unsafe {
            assert_eq!(
                crate::model::eigenskin_model_load(glb.as_ptr().cast(), glb.len(), 2, &raw mut model),
                0
            );
            Box::from_raw(model)
        };
        let [mut disturbed, mut calm] = [(); 2].map(|()| EigenskinCharacter::new(Arc::clone(&model.0)));
        let vertices = model.0.rig().vertex_count();
        let shape = |character: &mut EigenskinCharacter| {
            let mut positions = vec![Vec3::ZERO; vertices];
            character.evaluate(|evaluator, pose| evaluator.evaluate(pose, &mut positions, None));
            positions
        };
        let rest = shape(&mut disturbed);
        for character in [&mut disturbed, &mut calm] {
            let bent = character.pose.world_from_joint[1] * DAffine3::from_rotation_x(0.4);
            character.pose.world_from_joint[1] = bent;
        }
        // A slice that is too short, as only a bug could ask for.
        let status = guard(|| {
            disturbed.evaluate(|evaluator, pose| evaluator.evaluate(pose, &mut [], None));
            Ok(())
        });
        assert_eq!(status, Status::Panic as i32);
        assert!(disturbed.is_evaluating);
        let bent = shape(&mut disturbed);
        assert!(bent == shape(&mut calm) && bent != rest);
    }
}
