//! What a user can do about an error, in terms of the command line: the library does not know its
//! options.

use vkxfb::capture::CaptureError;
use vkxfb::lower::LowerError;

use super::Command;

/// Returns a line to be shown below an error.
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
        Command::Probe(_) => {
            return captures_nothing.then_some(
                "decorate the shader first, for example with \
                 vkxfb lower FILE --backend native --varyings @Position -o OUT",
            );
        }
        _ => false,
    };
    (captures_nothing && takes_list).then_some(
        "say what to capture with --varyings, for example --varyings @Position,@0; \
         vkxfb inspect FILE lists the outputs",
    )
}
