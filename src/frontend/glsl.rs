//! Vertex shaders in GLSL, as far as naga reads it: versions 440 to 460, without extensions that
//! matter here and without `xfb_*` layouts.

use naga::ShaderStage;
use naga::front::glsl::{Frontend, Options};

use super::{FrontendError, SourceLocation, compile};

/// Compiles a vertex shader, whose entry point is `main`.
///
/// # Errors
/// [`FrontendError`] with naga's first message, and where in the source it is;
/// [`FrontendError::CaptureLayout`] for a source that says itself what is captured.
pub fn vertex_shader(source: &str) -> Result<Vec<u32>, FrontendError> {
    if let Some((location, qualifier)) = capture_qualifier(source) {
        return Err(FrontendError::CaptureLayout { location, qualifier });
    }
    let options = Options::from(ShaderStage::Vertex);
    let module = Frontend::default().parse(&options, source).map_err(|errors| {
        let first = errors.errors.first();
        FrontendError::Source {
            location: first
                .filter(|error| error.meta.is_defined())
                .map(|error| error.meta.location(source).into()),
            message: first.map_or_else(|| errors.to_string(), |error| error.kind.to_string()),
        }
    })?;
    compile(&module, source, None)
}

/// The first of `xfb_buffer`, `xfb_offset` and `xfb_stride` outside comments.
fn capture_qualifier(source: &str) -> Option<(SourceLocation, String)> {
    let bytes = source.as_bytes();
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let until = |end: &[u8]| rest.windows(end.len()).position(|window| window == end);
        if rest.starts_with(b"//") {
            at += until(b"\n").unwrap_or(rest.len());
        } else if rest.starts_with(b"/*") {
            at += until(b"*/").map_or(rest.len(), |end| end + 2);
        } else if is_word(&bytes[at]) {
            let length = rest.iter().take_while(|byte| is_word(byte)).count();
            let word = &rest[..length];
            if [&b"xfb_buffer"[..], b"xfb_offset", b"xfb_stride"].contains(&word) {
                let before = &bytes[..at];
                let line = before.iter().filter(|byte| **byte == b'\n').count() as u32 + 1;
                let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |i| i + 1);
                let location = SourceLocation { line, column: (at - start) as u32 + 1 };
                return Some((location, String::from_utf8_lossy(word).into_owned()));
            }
            at += length;
        } else {
            at += 1;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qualifiers_are_found_outside_comments() {
        let found = |source| capture_qualifier(source).map(|(at, word)| (at.line, at.column, word));
        assert_eq!(found("// xfb_offset\n/* xfb_buffer\n*/ int my_xfb_offset, xfb_offset2;"), None);
        assert_eq!(found("/* xfb_offset"), None);
        let word = "xfb_stride".to_owned();
        assert_eq!(found("/*/ */\nlayout(xfb_stride = 4) out;"), Some((2, 8, word)));
    }
}
