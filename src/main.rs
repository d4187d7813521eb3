//! The command `vkxfb`.
fn main() {}
