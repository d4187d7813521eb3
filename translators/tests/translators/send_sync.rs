//! Checks that public types can be sent to other threads and shared between threads.

use std::path::Path;

#[macro_use]
#[path = "../../../tests/common/thread_safety.rs"]
mod thread_safety;

send_and_sync! {
    vkxfb_translators::broadcast { AddedOutput, Broadcast, BroadcastError, BroadcastOptions<'static> }
    vkxfb_translators::slots { Packed, Packing, SlotError }
    vkxfb_translators::split_blocks { Member, Split, SplitError, SplitOptions<'static> }
    vkxfb_translators::stream_output {
        CaptureListError, SlotLocations, StreamOutput, StreamOutputError, StreamOutputField, StreamOutputInfo,
        StreamOutputProblem,
    }
}

#[test]
fn no_public_type_is_forgotten() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    assert_eq!(thread_safety::forgotten(&source, NAMES), [""; 0]);
}
