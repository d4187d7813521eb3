//! Stream outputs: the JSON that the command reads, or numbers; and the capture list of them for a module.

#![no_main]

use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use vkxfb_fuzz::command::stream_outputs;
use vkxfb_fuzz::modules::{Captured, check_layout};
use vkxfb_rewriter::capture::Layout;
use vkxfb_translators::stream_output::{SlotLocations, StreamOutput, StreamOutputInfo};

/// Stream outputs whose numbers mostly fit into the bits that Gallium has for them.
fn arbitrary(bytes: &mut Unstructured<'_>) -> Result<StreamOutputInfo> {
    let number = |bytes: &mut Unstructured<'_>, end: u32| match bytes.arbitrary::<u8>()? {
        255 => bytes.arbitrary(),
        byte => Ok(u32::from(byte) % end),
    };
    let mut strides = [0; 4];
    for stride in &mut strides {
        *stride = number(bytes, 64)?;
    }
    let locations =
        [SlotLocations::Packed, SlotLocations::Unpacked][usize::from(bytes.arbitrary::<bool>()?)];
    let outputs_written = bytes.arbitrary()?;
    let mut outputs = Vec::new();
    for _ in 0..bytes.int_in_range(0..=12)? {
        outputs.push(StreamOutput {
            register_index: number(bytes, 16)?,
            start_component: number(bytes, 4)?,
            num_components: number(bytes, 5)?,
            output_buffer: number(bytes, 4)?,
            dst_offset: number(bytes, 64)?,
            stream: number(bytes, 255)? / 64,
        });
    }
    Ok(StreamOutputInfo { outputs, strides, locations, outputs_written })
}

/// Makes the capture list of stream outputs, and the layout of that.
fn capture(info: &StreamOutputInfo, captured: &Captured) {
    let Captured { module, declarations, entry } = captured;
    let Ok(list) = info.list_of(module, declarations, entry) else { return };
    if let Ok(layout) = Layout::from_list(declarations, entry, &list) {
        check_layout(&layout);
    }
}

fn run(bytes: &[u8]) -> Result<()> {
    // The file's module is chosen by its length.
    if let Ok(text) = str::from_utf8(bytes)
        && text.trim_start().starts_with('{')
    {
        let Some(info) = stream_outputs(text) else { return Ok(()) };
        let number = [text.len() as u8, 0];
        if let Some(captured) = Captured::arbitrary(&mut Unstructured::new(&number))? {
            capture(&info, &captured);
        }
        return Ok(());
    }
    let mut bytes = Unstructured::new(bytes);
    let Some(captured) = Captured::arbitrary(&mut bytes)? else { return Ok(()) };
    capture(&arbitrary(&mut bytes)?, &captured);
    Ok(())
}

// Bytes that end early are no fault.
fuzz_target!(|bytes: &[u8]| {
    let _ = run(bytes);
});
