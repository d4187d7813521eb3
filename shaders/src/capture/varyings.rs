//! Makes a [`CaptureList`] from the arguments of OpenGL's `glTransformFeedbackVaryings` ([OpenGL
//! 4.6 section 11.1.2.1](https://registry.khronos.org/OpenGL/specs/gl/glspec46.core.pdf) "Output
//! Variables", transform feedback).

use super::outputs::Outputs;
use super::{CaptureEntry, CaptureError, CaptureList, MAX_XFB_BUFFERS};
use crate::spirv::declarations::Declarations;
use crate::spirv::entry_point::EntryPoint;

/// The ways to assign varyings to buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BufferMode {
    /// `GL_INTERLEAVED_ATTRIBS`: the varyings are contiguous in one buffer. `gl_NextBuffer` begins the next buffer,
    /// `gl_SkipComponents1` to `gl_SkipComponents4` leave components of the record unwritten.
    Interleaved,
    /// `GL_SEPARATE_ATTRIBS`: each varying has its own buffer.
    Separate,
}

impl CaptureList {
    /// Makes the capture list that [`Shader::varyings`](crate::lower::Shader::varyings) returns, from the
    /// names of the varyings.
    pub fn from_varyings(
        declarations: &Declarations,
        entry: &EntryPoint,
        names: &[impl AsRef<str>],
        mode: BufferMode,
    ) -> Result<Self, CaptureError> {
        let outputs = Outputs::of(declarations, entry);
        let mut list = Self::default();
        let (mut buffer, mut offset) = (0usize, 0u32);
        for name in names.iter().map(AsRef::as_ref) {
            let skipped = name
                .strip_prefix("gl_SkipComponents")
                .and_then(|n| n.parse::<u32>().ok())
                .filter(|n| (1..=4).contains(n));
            if (skipped.is_some() || name == "gl_NextBuffer") && mode == BufferMode::Separate {
                return Err(CaptureError::SpecialName { name: name.to_owned() });
            }
            if name == "gl_NextBuffer" {
                (buffer, offset) = (buffer + 1, 0);
                continue;
            }
            let size = match skipped {
                Some(components) => components * 4,
                None => {
                    let (selector, size, wide) = outputs.select(name)?;
                    if wide && !offset.is_multiple_of(8) {
                        let output = format!("'{name}'");
                        return Err(CaptureError::Misaligned { output, offset, alignment: 8 });
                    }
                    list.captures.push(CaptureEntry { selector, buffer: buffer as u32, offset });
                    size
                }
            };
            offset += size;
            let Some(stride) = list.strides.get_mut(buffer) else {
                let (output, buffer) = (format!("'{name}'"), buffer as u32);
                return Err(CaptureError::BufferLimit { output, buffer });
            };
            *stride = Some(offset);
            if mode == BufferMode::Separate {
                (buffer, offset) = (buffer + 1, 0);
            }
        }
        // A buffer for which only `gl_SkipComponents` are listed is not captured to.
        for buffer in 0..MAX_XFB_BUFFERS {
            if list.captures.iter().all(|c| c.buffer as usize != buffer) {
                list.strides[buffer] = None;
            }
        }
        Ok(list)
    }
}
