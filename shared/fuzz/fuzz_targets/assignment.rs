//! Any bytes give an assignment or a typed error, within the memory that the counts justify.
#![no_main]

use proofmill_shared::assignment::fuzzing::collect;

libfuzzer_sys::fuzz_target!(|data: &[u8]| drop(collect(data)));
