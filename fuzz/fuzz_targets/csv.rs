//! The bytes of a .csv file, which the command reads as a mesh.

#![no_main]

use libfuzzer_sys::fuzz_target;
use vkxfb_fuzz::capture::read_mesh;

fuzz_target!(|bytes: &[u8]| read_mesh("mesh.csv", bytes));
