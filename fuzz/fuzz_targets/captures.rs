//! Capture lists: with locations, built-ins and names, and of names as `glTransformFeedbackVaryings` takes them.

#![no_main]

use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use vkxfb_fuzz::modules::{Captured, check_layout};
use vkxfb_rewriter::capture::{BufferMode, BuiltIn, CaptureEntry, CaptureList, Layout, Selector};

const BUILT_INS: [BuiltIn; 5] = [
    BuiltIn::Position,
    BuiltIn::PointSize,
    BuiltIn::ClipDistance,
    BuiltIn::CullDistance,
    BuiltIn::VertexIndex,
];

/// A number that is mostly small.
fn number(bytes: &mut Unstructured<'_>) -> Result<u32> {
    match bytes.arbitrary::<u8>()? {
        255 => bytes.arbitrary(),
        byte => Ok(u32::from(byte)),
    }
}

fn list(bytes: &mut Unstructured<'_>) -> Result<CaptureList> {
    let mut strides = [None; 4];
    for stride in &mut strides {
        *stride = match bytes.arbitrary::<u8>()? {
            0..=63 => None,
            64 => Some(bytes.arbitrary()?),
            byte => Some(u32::from(byte) * 4),
        };
    }
    let mut captures = Vec::new();
    for _ in 0..bytes.int_in_range(0..=8)? {
        let (buffer, offset) = (number(bytes)? % 5, number(bytes)?.wrapping_mul(4));
        let selector = match bytes.arbitrary::<u8>()? % 3 {
            0 => Selector::Location {
                location: number(bytes)?,
                component: number(bytes)?,
                components: number(bytes)?,
            },
            1 => Selector::BuiltIn {
                built_in: *bytes.choose(&BUILT_INS)?,
                component: number(bytes)?,
                components: number(bytes)?,
            },
            _ => Selector::Name(name(bytes)?),
        };
        captures.push(CaptureEntry::new(selector, buffer, offset));
    }
    Ok(CaptureList::default().captures(captures).strides(strides))
}

/// A name, put together of parts that names have.
fn name(bytes: &mut Unstructured<'_>) -> Result<String> {
    const PARTS: [&str; 24] = [
        "id",
        "checksum",
        "colour",
        "gl_Position",
        "gl_PerVertex",
        "gl_ClipDistance",
        "nested",
        "inner",
        "wide",
        "matrix",
        "first",
        "low",
        "list",
        "gl_NextBuffer",
        "gl_SkipComponents3",
        "@",
        "Position",
        ".",
        "[",
        "]",
        "0",
        "1",
        "4294967295",
        ".yz",
    ];
    let mut name = String::new();
    for _ in 0..bytes.int_in_range(1..=8)? {
        match bytes.arbitrary::<u8>()? {
            255 => name.push(bytes.arbitrary()?),
            byte => name.push_str(PARTS[usize::from(byte) % PARTS.len()]),
        }
    }
    Ok(name)
}

fn run(bytes: &mut Unstructured<'_>) -> Result<()> {
    let Some(captured) = Captured::arbitrary(bytes)? else { return Ok(()) };
    let Captured { declarations, entry, .. } = &captured;
    let list = match bytes.arbitrary::<u8>()? {
        0..=127 => Ok(list(bytes)?),
        byte => {
            let mode = [BufferMode::Interleaved, BufferMode::Separate][usize::from(byte & 1)];
            let mut names = Vec::new();
            for _ in 0..bytes.int_in_range(0..=8)? {
                names.push(name(bytes)?);
            }
            CaptureList::from_varyings(declarations, entry, &names, mode)
        }
    };
    let Ok(list) = list else { return Ok(()) };
    if let Ok(layout) = Layout::from_list(declarations, entry, &list) {
        check_layout(&layout);
    }
    Ok(())
}

// Bytes that end early are no fault.
fuzz_target!(|bytes: &[u8]| {
    let _ = run(&mut Unstructured::new(bytes));
});
