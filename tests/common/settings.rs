//! Environment variables that tests take.

/// The number that a variable holds.
pub fn number(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok();
    value.map_or(default, |v| v.parse().unwrap_or_else(|_| panic!("{name}={v} is no number")))
}

/// Whether the validation layer is to look on: `VKXFB_TEST_VALIDATION` is not 0.
pub fn has_validation() -> bool {
    is_on("VKXFB_TEST_VALIDATION")
}

/// Whether the Khronos tools are there: `VKXFB_TEST_TOOLS` is not 0.
pub fn has_tools() -> bool {
    is_on("VKXFB_TEST_TOOLS")
}

fn is_on(name: &str) -> bool {
    std::env::var_os(name).is_none_or(|value| value != "0")
}
