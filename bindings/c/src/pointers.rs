//! From C's pointers to slices and references, after checking what can be checked.

use std::ops::Range;

use eigenskin_core::glam::Vec3;

use crate::status::{Failure, Status};

const _: () = assert!(size_of::<Vec3>() == 12 && align_of::<Vec3>() == align_of::<f32>());

/// What a pointer points to, to read. `what` is the parameter's name in the header.
///
/// # Safety
/// A pointer that is not null points to a `T` that nobody changes during `'a`.
pub(crate) unsafe fn reference<'a, T>(pointer: *const T, what: &str) -> Result<&'a T, Failure> {
    check(pointer, what)?;
    // SAFETY: not null and aligned, as just checked; the rest is the caller's promise.
    Ok(unsafe { &*pointer })
}

/// What a pointer points to, to change.
///
/// # Safety
/// A pointer that is not null points to a `T` that nobody else uses during `'a`.
pub(crate) unsafe fn exclusive<'a, T>(pointer: *mut T, what: &str) -> Result<&'a mut T, Failure> {
    check(pointer, what)?;
    // SAFETY: as above.
    Ok(unsafe { &mut *pointer })
}

/// An array, to read. A null pointer will do for an empty one.
///
/// # Safety
/// A pointer that is not null points to `count` values that nobody changes during `'a`.
pub(crate) unsafe fn array<'a, T>(pointer: *const T, count: usize, what: &str) -> Result<&'a [T], Failure> {
    if count == 0 {
        return Ok(&[]);
    }
    check(pointer, what)?;
    check_extent::<T>(count, what)?;
    // SAFETY: not null, aligned and no larger than memory can be; the rest is the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

/// An array, to write into. A null pointer will do for an empty one. It is only written to: what C
/// leaves in it before may be anything.
///
/// # Safety
/// A pointer that is not null points to room for `count` values that nobody else uses during `'a`.
pub(crate) unsafe fn array_mut<'a, T>(
    pointer: *mut T,
    count: usize,
    what: &str,
) -> Result<&'a mut [T], Failure> {
    if count == 0 {
        return Ok(&mut []);
    }
    check(pointer, what)?;
    check_extent::<T>(count, what)?;
    // SAFETY: as above; all bit patterns of the number types used here are values.
    Ok(unsafe { std::slice::from_raw_parts_mut(pointer, count) })
}

/// Writes one result.
///
/// # Safety
/// A pointer that is not null points to room for a `T`.
pub(crate) unsafe fn put<T>(pointer: *mut T, what: &str, value: T) -> Result<(), Failure> {
    check(pointer, what)?;
    // SAFETY: not null and aligned, as just checked; the rest is the caller's promise.
    unsafe { pointer.write(value) };
    Ok(())
}

/// Refuses results that would lie in the same memory: each must be alone in its own.
pub(crate) fn check_apart(arrays: &[Extent]) -> Result<(), Failure> {
    for (index, first) in arrays.iter().enumerate() {
        for second in &arrays[..index] {
            if first.bytes.start < second.bytes.end && second.bytes.start < first.bytes.end {
                let message = format!("{} and {} lie in the same memory", second.what, first.what);
                return Err(Failure::new(Status::BadPointer, message));
            }
        }
    }
    Ok(())
}

/// The addresses of an array.
pub(crate) struct Extent {
    bytes: Range<usize>,
    what: &'static str,
}

impl Extent {
    /// Of `count` values; a null pointer has none.
    pub fn of<T>(pointer: *const T, count: usize, what: &'static str) -> Self {
        let start = pointer.addr();
        let size = if pointer.is_null() { 0 } else { count.saturating_mul(size_of::<T>()) };
        Self { bytes: start..start.saturating_add(size), what }
    }
}

/// Refuses null pointers and odd addresses.
pub(crate) fn check<T>(pointer: *const T, what: &str) -> Result<(), Failure> {
    if pointer.is_null() {
        return Err(Failure::new(Status::NullPointer, format!("{what} is a null pointer")));
    }
    if !pointer.is_aligned() {
        let needed = align_of::<T>();
        return Err(Failure::new(
            Status::BadPointer,
            format!("the address of {what} is no multiple of {needed}"),
        ));
    }
    Ok(())
}

fn check_extent<T>(count: usize, what: &str) -> Result<(), Failure> {
    let bytes = count.checked_mul(size_of::<T>()).filter(|&bytes| isize::try_from(bytes).is_ok());
    bytes.map(|_| ()).ok_or_else(|| Failure::new(Status::WrongSize, format!("{what} of {count} is absurd")))
}
