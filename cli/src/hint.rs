//! Advises the user which option of the command avoids an error. Messages of the library do not mention
//! options, because the library does not know them.

use vkxfb_rewriter::capture::CaptureError;
use vkxfb_rewriter::lower::LowerError;

use crate::command::Command;

/// Returns a line to be shown below an error message. `None` if there is no advice for the error.
pub(super) fn hint(error: &anyhow::Error, command: &Command) -> Option<&'static str> {
    let captures_nothing = error.chain().any(|cause| {
        let capture = cause.downcast_ref::<CaptureError>();
        let capture = capture.or_else(|| match cause.downcast_ref::<LowerError>() {
            Some(LowerError::Capture(capture)) => Some(capture),
            _ => None,
        });
        let nothing = |e: &CaptureError| {
            matches!(e, CaptureError::NoXfbMode { .. } | CaptureError::NothingCaptured)
        };
        capture.is_some_and(nothing)
    });
    let takes_list = match command {
        Command::Lower(arguments) => !arguments.has_list(),
        Command::Probe(arguments) => arguments.captures_decorations(),
        _ => false,
    };
    (captures_nothing && takes_list).then_some(
        "say what to capture with --varyings, for example --varyings @Position,@0; \
         vkxfb inspect FILE lists the outputs",
    )
}
