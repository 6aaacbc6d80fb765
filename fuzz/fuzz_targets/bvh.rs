//! The reader of bvh on any bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| eigenskin_fuzz::bvh(bytes));
