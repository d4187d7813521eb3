//! libFuzzer's way into `mutate.rs`. `-rss_limit_mb` and `-timeout` bound memory and time.

#![no_main]

#[path = "../mutate.rs"]
mod mutate;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    mutate::Case::new(bytes).run();
});
