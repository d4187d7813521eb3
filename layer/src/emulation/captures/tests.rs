use std::ffi::c_void;

use vkxfb::runtime::descriptor_heaps::{HeapInterface, StageChain};

use super::*;

#[derive(Debug)]
struct NoChain;

// SAFETY: null is allowed.
unsafe impl StageChain for NoChain {
    fn as_ptr(&self) -> *const c_void {
        std::ptr::null()
    }
}

/// Draws of a capture read descriptors in buffers or in heaps, in whichever order, but not in both.
#[test]
fn descriptors_of_a_capture_are_in_one_place() {
    let interface = HeapInterface {
        mappings: Box::new(NoChain),
        moved: Vec::new(),
        copied: 0,
        addresses: Vec::new(),
    };
    let (sets, buffers) = (DescriptorPlace::Sets, DescriptorPlace::Buffers);
    let heaps = DescriptorPlace::Heaps(Arc::new(interface));
    let bound: BoundBuffers = Arc::new([]);
    let mut read_from = ReadFrom::default();
    for place in [&sets, &heaps, &sets, &heaps] {
        assert!(read_from.add(place, Some(&bound)));
    }
    assert!(!read_from.add(&buffers, Some(&bound)));
    let mut read_from = ReadFrom::default();
    for place in [&sets, &buffers, &buffers, &sets] {
        assert!(read_from.add(place, Some(&bound)));
    }
    assert!(!read_from.add(&heaps, Some(&bound)));
}
