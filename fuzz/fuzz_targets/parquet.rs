#![no_main]

libfuzzer_sys::fuzz_target!(init: chronoxide_fuzz::start(), |data: &[u8]| chronoxide_fuzz_targets::parquet(data));
