//! The modules whose outputs are captured where the module itself is not what is read from outside.

use libfuzzer_sys::arbitrary::{Result, Unstructured};
use spirv::Op;
use vkxfb_rewriter::capture::{Layout, MAX_XFB_BUFFERS, MAX_XFB_STRIDE};
use vkxfb_rewriter::spirv::Module;
use vkxfb_rewriter::spirv::declarations::Declarations;
use vkxfb_rewriter::spirv::entry_point::{EntryPoint, find_vertex_shader};
use vkxfb_rewriter::spirv::words_from_bytes;

use crate::mutate::SEEDS;

/// A module with a vertex shader.
pub struct Captured {
    /// The whole module.
    pub module: Module,
    /// Its declarations.
    pub declarations: Declarations,
    /// Its vertex shader.
    pub entry: EntryPoint,
}

impl Captured {
    /// Takes one of the modules that `tests/fuzz.rs` damages. One of its constants, which may be the length of an array,
    /// may have another value. `None` if the module has no vertex shader.
    ///
    /// # Errors
    /// Those of [`Unstructured`].
    pub fn arbitrary(bytes: &mut Unstructured<'_>) -> Result<Option<Self>> {
        let words = words_from_bytes(bytes.choose(&SEEDS)?);
        let mut words = words.unwrap_or_else(|error| panic!("{error}"));
        if bytes.arbitrary()? {
            let is_constant = |at: &usize| words[*at] == 4 << 16 | Op::Constant as u32;
            let constants: Vec<usize> = (5..words.len() - 3).filter(is_constant).collect();
            // What is long takes long.
            let value = match bytes.arbitrary::<u8>()? {
                255 => bytes.arbitrary()?,
                byte => u32::from(byte % 16),
            };
            if !constants.is_empty() {
                words[*bytes.choose(&constants)? + 3] = value;
            }
        }
        let Ok(module) = Module::parse(&words) else { return Ok(None) };
        let Ok(entry) = find_vertex_shader(&module, None) else { return Ok(None) };
        Ok(Some(Self { declarations: Declarations::of(&module), entry, module }))
    }
}

/// Checks what a layout promises.
///
/// # Panics
/// If it does not hold.
pub fn check_layout(layout: &Layout) {
    for buffer in 0..MAX_XFB_BUFFERS {
        let stride = layout.strides[buffer];
        assert!(stride.is_none_or(|stride| (4..=MAX_XFB_STRIDE).contains(&stride)), "{layout:?}");
        let mut end = 0;
        for output in layout.outputs_of(buffer) {
            assert!(output.offset >= end, "{layout:?}");
            assert!((1..=4).contains(&output.components), "{layout:?}");
            end = output.offset + output.size();
        }
        assert!(end <= stride.unwrap_or(0), "{layout:?}");
    }
    assert!(layout.outputs.iter().all(|output| (output.buffer as usize) < MAX_XFB_BUFFERS));
}
