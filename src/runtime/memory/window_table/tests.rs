//! Tests of [`WindowTable`], which assigns descriptors to buffers, without a device.

use ash::vk::Handle;

use crate::runtime::memory::window_table::*;
use Purpose::{Capture, Read, State};

/// The limits for 8 storage buffers: six elements of binding 0, the first two of which are for [`Purpose::State`] in
/// sets for kernels and the other four for [`Purpose::Read`], and two elements of binding 1.
fn limits() -> TableLimits {
    TableLimits::new(8, 1024, 64)
}

fn buffer(number: u64) -> vk::Buffer {
    vk::Buffer::from_raw(number)
}

fn window(number: u64, start: u64, end: u64) -> Window {
    Window { buffer: buffer(number), start, end }
}

fn table() -> WindowTable {
    let mut table = WindowTable::default();
    table.restart();
    table.set_arena(window(1, 0, 32), window(2, 0, 16));
    table
}

#[test]
fn a_quarter_is_written() {
    let split = |all| TableLimits::new(all, 1, 1).bindings();
    assert_eq!([split(0), split(4), split(8)], [[3, 1], [3, 1], [6, 2]]);
    assert_eq!([split(16), split(24), split(99)], [[12, 4], [18, 6], [18, 6]]);
}

/// Assigns windows to the ranges of all `addresses` at once, and returns the resolved addresses.
fn assigned(table: &mut WindowTable, addresses: &[u64]) -> Vec<u64> {
    table.assign(&limits(), addresses.iter().copied());
    addresses.iter().map(|address| table.resolve(*address)).collect()
}

#[test]
fn windows_are_what_is_used_while_there_is_room() {
    let mut table = table();
    let mut at = |purpose, b, offset, size| {
        table.address(&limits(), purpose, format_args!("it"), (buffer(b), offset, size)).unwrap()
    };
    // Windows begin at multiples of the alignment.
    let read =
        [at(Read, 3, 132, 12), at(Read, 3, 140, 4), at(Read, 3, 900, 20), at(Read, 3, 300, 4)];
    let (state, captured) = (at(State, 4, 0, 4), at(Capture, 3, 512, 4));
    let none = at(Read, 3, 8, 0);
    // In binding 0 the windows of `Read` come after those of `State`. The window of the arena is always the first of
    // its purpose.
    assert_eq!(
        assigned(&mut table, &[read[0], read[1] + 2, read[2], state, captured, none]),
        [address(3, 4), address(3, 14), address(4, 4), address(1, 0), address(0, 0), address(2, 0)]
    );
    assert_eq!(
        table.windows,
        [
            vec![window(1, 0, 32), window(3, 128, 144), window(3, 896, 920)],
            vec![window(2, 0, 16), window(4, 0, 4)],
            vec![window(3, 512, 516)],
        ]
    );
    assert!(!table.is_scarce());
    // There are four ranges but only three descriptors: the two ranges that are nearest to each other share a window.
    let far = table.address(&limits(), Read, format_args!("it"), (buffer(3), 500, 4)).unwrap();
    let found = assigned(&mut table, &[read[0], read[2], read[3], far, captured]);
    assert_eq!(
        found,
        [address(3, 4), address(5, 4), address(3, 172), address(4, 52), address(0, 0)]
    );
    assert!(table.is_scarce() && !table.captures_overlap());
    // Resolved addresses do not change if they are resolved again.
    assert!(found.iter().all(|address| table.resolve(*address) == *address));
}

/// A range that is bound again does not take another descriptor.
#[test]
fn equal_ranges_are_one() {
    let mut table = table();
    let mut at = |purpose, offset| {
        table.address(&limits(), purpose, format_args!("it"), (buffer(3), offset, 4)).unwrap()
    };
    // Two addresses in one aligned window, one in the next window, and one for another purpose.
    let all = [at(Read, 64), at(Read, 64), at(Read, 128), at(State, 64)];
    assert_eq!(all[0], all[1]);
    assert_eq!(table.ranges.len(), 3);
    assert_eq!(
        assigned(&mut table, &all),
        [address(3, 0), address(3, 0), address(4, 0), address(1, 0)]
    );
    // A range that the new draws do not access no longer has a window.
    assigned(&mut table, &all[2..3]);
    assert_eq!(table.used, [1]);
    assert_eq!(table.resolve(all[0]), all[0]);
}

#[test]
fn gaps_that_are_captured_to_are_closed_last() {
    let mut table = table();
    let mut at = |purpose, offset, size| {
        table.address(&limits(), purpose, format_args!("it"), (buffer(3), offset, size)).unwrap()
    };
    let read = [at(Read, 0, 4), at(Read, 128, 4), at(Read, 512, 4), at(Read, 896, 4)];
    let captured = [at(Capture, 64, 64), at(Capture, 640, 64), at(Capture, 900, 4)];
    // The gap between the first two ranges is the narrowest, but a capture buffer lies in it. So two other ranges share
    // a window, which also covers the gap between them.
    let all: Vec<u64> = read.into_iter().chain([captured[0]]).collect();
    assigned(&mut table, &all);
    let expected = [window(1, 0, 32), window(3, 0, 4), window(3, 128, 516), window(3, 896, 900)];
    assert_eq!(table.windows[Read as usize], expected);
    assert!(!table.captures_overlap());
    // For three capture ranges there are two windows, so two of the ranges share a window. These are the two whose gap
    // does not contain a range that is read.
    let all: Vec<u64> = read.into_iter().take(3).chain(captured).collect();
    assigned(&mut table, &all);
    let expected = [window(3, 64, 128), window(3, 640, 904)];
    assert_eq!(table.windows[Capture as usize], expected);
    assert!(!table.captures_overlap());
    let all: Vec<u64> = [read[1], read[3]].into_iter().chain(captured).collect();
    assigned(&mut table, &all);
    assert!(table.is_scarce() && table.captures_overlap());
}

#[test]
fn what_lies_far_off_has_a_window_of_its_own() {
    let mut table = table();
    let mut at = |offset, size| {
        table.address(&limits(), Capture, format_args!("it"), (buffer(3), offset, size)).unwrap()
    };
    let far = 0x1_0000_0040;
    let all = [at(far + 6, 800), at(far + 900, 100), at(16, 16)];
    let expected = [address(0, 6), address(0, 900), address(1, 16)];
    assert_eq!(assigned(&mut table, &all), expected);
    let windows = [window(3, far, far + 1000), window(3, 0, 32)];
    assert_eq!(table.windows[Capture as usize], windows);
}

#[test]
fn limits_are_named() {
    let mut table = table();
    let mut at = |purpose, b, offset, size| {
        let what = format_args!("vertex buffer 7");
        let address = table.address(&limits(), purpose, what, (buffer(b), offset, size));
        address.map_err(|error| error.to_string())
    };
    let too_large = |size: u64| {
        let what = "the size of vertex buffer 7 in bytes";
        Err(format!("{what} is {size}: maxStorageBufferRange is 1024"))
    };
    assert_eq!(at(Read, 3, 0, 1025), too_large(1025));
    assert_eq!(at(Read, 3, u64::MAX - 2, 3), too_large(3));
    assert_eq!(at(Read, 3, 8, u64::MAX), too_large(u64::MAX));
    // The range has 1024 bytes. The window has 8 more bytes, because the window begins at the multiple of the alignment
    // before the range.
    assert_eq!(at(Read, 3, 2056, 1024), too_large(1024));
    assert!(at(State, 3, 0, 4).is_ok());
    assert_eq!(
        at(State, 4, 0, 4),
        Err("no descriptor is left for vertex buffer 7: of the 8 storage buffers that captures take of \
             maxPerStageDescriptorStorageBuffers, 2 are for buffers with the same use"
            .to_owned())
    );
    // The address of an empty range differs from 0, which stands for no range.
    assert_ne!(at(State, 4, 0, 0), Ok(0));
}
