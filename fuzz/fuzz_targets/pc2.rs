//! The reader of pc2 on any bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| eigenskin_fuzz::pc2(bytes));
