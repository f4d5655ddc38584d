//! Hands what libFuzzer makes up to the target of this binary's name.
#![no_main]
#![allow(dead_code)]

#[path = "../crates/corpuscle-server/tests/http/fuzzed/targets.rs"]
mod http;
#[path = "../crates/corpuscle/tests/fuzz/targets.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    match env!("CARGO_BIN_NAME") {
        "http" => http::http(data),
        name => targets::TARGETS.iter().filter(|(known, _)| *known == name).for_each(|(_, body)| body(data)),
    }
});
