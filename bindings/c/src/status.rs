//! Codes and messages of errors, and the one place where panics end.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use eigenskin_core::packed::PackError;
use eigenskin_gltf::GltfError;

/// `eigenskin_status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum Status {
    /// all went well
    Ok = 0,
    /// a pointer that is needed is null
    NullPointer = 1,
    /// a pointer to numbers at an odd address, or two results in the same memory
    BadPointer = 2,
    /// an array of another length than the model needs
    WrongSize = 3,
    /// a joint, control or primitive that does not exist, or an option that is none
    OutOfRange = 4,
    /// a number that is not finite, or a matrix that cannot be used
    BadNumber = 5,
    /// a damaged file, or no glTF
    BadFile = 6,
    /// a glTF file without a model
    NotAModel = 7,
    /// something this version or this model cannot do
    Unsupported = 8,
    /// a bug in eigenskin
    Panic = 9,
}

const ALL: [(Status, &CStr); 10] = [
    (Status::Ok, c"EIGENSKIN_OK"),
    (Status::NullPointer, c"EIGENSKIN_NULL_POINTER"),
    (Status::BadPointer, c"EIGENSKIN_BAD_POINTER"),
    (Status::WrongSize, c"EIGENSKIN_WRONG_SIZE"),
    (Status::OutOfRange, c"EIGENSKIN_OUT_OF_RANGE"),
    (Status::BadNumber, c"EIGENSKIN_BAD_NUMBER"),
    (Status::BadFile, c"EIGENSKIN_BAD_FILE"),
    (Status::NotAModel, c"EIGENSKIN_NOT_A_MODEL"),
    (Status::Unsupported, c"EIGENSKIN_UNSUPPORTED"),
    (Status::Panic, c"EIGENSKIN_PANIC"),
];

/// What a function could not do.
#[derive(Debug)]
pub(crate) struct Failure {
    pub status: Status,
    pub message: String,
}

impl Failure {
    pub fn new(status: Status, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    /// An index that names nothing.
    pub fn range(what: &str, index: usize, count: usize) -> Self {
        Self::new(Status::OutOfRange, format!("there is no {what} {index}; the model has {count}"))
    }

    /// An array of another length than it must have.
    pub fn size(what: &str, given: usize, expected: usize) -> Self {
        Self::new(Status::WrongSize, format!("{what} is {given}, expected {expected}"))
    }
}

impl From<GltfError> for Failure {
    fn from(error: GltfError) -> Self {
        let status = match &error {
            GltfError::OtherKind { .. } => Status::NotAModel,
            GltfError::Version { .. }
            | GltfError::RequiredExtensions { .. }
            | GltfError::TableVersion { .. } => Status::Unsupported,
            _ => Status::BadFile,
        };
        Self::new(status, error.to_string())
    }
}

impl From<PackError> for Failure {
    fn from(error: PackError) -> Self {
        Self::new(Status::Unsupported, error.to_string())
    }
}

thread_local! {
    static LAST_ERROR: RefCell<CString> = RefCell::new(CString::default());
}

/// Runs the work of a function; errors and panics become a code and the thread's message.
pub(crate) fn guard(work: impl FnOnce() -> Result<(), Failure>) -> i32 {
    // What a panic leaves half done is the caller's buffers, and evaluators, which characters renew.
    let failure = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => return Status::Ok as i32,
        Ok(Err(failure)) => failure,
        Err(panic) => Failure::new(Status::Panic, format!("a bug in eigenskin: {}", told(&*panic))),
    };
    remember(&failure.message);
    failure.status as i32
}

/// The same for functions that return a count: zero where there is none to tell.
pub(crate) fn guard_count(work: impl FnOnce() -> Result<usize, Failure>) -> usize {
    let mut count = 0;
    guard(|| {
        count = work()?;
        Ok(())
    });
    count
}

/// A text for C, which ends at the first zero.
pub(crate) fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default()
}

fn told(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message")
}

fn remember(message: &str) {
    // A thread that is ending may have lost its message already; then nobody can ask for it.
    let _ = LAST_ERROR.try_with(|last| *last.borrow_mut() = c_text(message));
}

/// The message of the last call of this thread that failed; empty if none did.
#[unsafe(no_mangle)]
pub extern "C" fn eigenskin_last_error() -> *const c_char {
    LAST_ERROR.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// The name of a code.
#[unsafe(no_mangle)]
pub extern "C" fn eigenskin_status_name(status: i32) -> *const c_char {
    let known = ALL.iter().find(|(known, _)| *known as i32 == status);
    known.map_or(c"unknown eigenskin_status", |(_, name)| name).as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last_error() -> String {
        // SAFETY: the message lives until the next call of this thread that fails.
        unsafe { CStr::from_ptr(eigenskin_last_error()) }.to_str().unwrap().to_string()
    }

    #[test]
    fn panics_and_errors_become_codes() {
        assert_eq!(last_error(), "");
        assert_eq!(guard(|| panic!("all {} of them", 7)), Status::Panic as i32);
        assert_eq!(last_error(), "a bug in eigenskin: all 7 of them");
        assert_eq!(guard(|| panic!("plain")), 9);
        assert_eq!(last_error(), "a bug in eigenskin: plain");
        assert_eq!(guard_count(|| Err(Failure::new(Status::BadFile, "a\0b"))), 0);
        assert_eq!(last_error(), "a\u{fffd}b");
        assert_eq!((guard(|| Ok(())), guard_count(|| Ok(3))), (0, 3));
        assert_eq!(last_error(), "a\u{fffd}b", "only failures change the message");
        assert_eq!(std::thread::spawn(last_error).join().unwrap(), "", "every thread has its own");
    }
}
