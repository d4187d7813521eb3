//! Captures that are *lost*: something cannot be captured, so that buffers are not written, and queries count nothing of
//! it. Counters keep their values, or become 0 if only End has them. The command buffer and what it draws go on, because
//! many programs wait forever if `vkEndCommandBuffer` fails.

use std::mem::{Discriminant, discriminant};
use std::sync::{Mutex, PoisonError};

use ash::vk;
use rustc_hash::FxHashSet;
use vkxfb::runtime::{RuntimeError, StagesError};
use vkxfb_rewriter::lower::LowerError;

use crate::emulation::pipelines::PipelineError;
use crate::emulation::shader_objects::BoundShaders;

/// What the log calls a capture that is lost.
pub(super) const A_CAPTURE: &str = "a capture";

/// What the log calls a draw whose arguments cannot be computed.
pub(super) const A_BYTE_COUNT: &str = "a vkCmdDrawIndirectByteCountEXT";

/// What the log calls ends of queries that are lost.
pub(super) const ENDS: &str = "the end of a query";

/// What a draw is drawn with: a graphics pipeline, or shader objects if it is null.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Drawn {
    pub(super) pipeline: vk::Pipeline,
    pub(super) shaders: BoundShaders,
}

/// The kind of an error, without the values in its message, which may be others in each frame.
type Reason = (
    Discriminant<PipelineError>,
    Option<&'static str>,
    Option<Discriminant<RuntimeError>>,
    Option<Discriminant<LowerError>>,
);

fn reason_of(error: &PipelineError) -> Reason {
    let root = error.root();
    let lowering = match root {
        PipelineError::Variant(StagesError::Lower { error, .. }) => Some(discriminant(error)),
        _ => None,
    };
    let what = match root {
        #[cfg(feature = "drawn")]
        PipelineError::NotDrawn(what) => Some(*what),
        _ => None,
    };
    (discriminant(root), what, root.runtime().map(discriminant), lowering)
}

/// The captures of a device that are lost.
pub(super) struct Losses {
    /// Whether nothing may be lost (the setting `strict`): commands fail instead.
    is_strict: bool,
    /// What the log has said already.
    told: Mutex<FxHashSet<(Drawn, Reason)>>,
}

impl Losses {
    pub(super) fn new(is_strict: bool) -> Self {
        Self { is_strict, told: Mutex::default() }
    }

    /// Whether a capture may be lost because of this error. Otherwise a command must fail.
    pub(super) fn allows(&self, error: &PipelineError) -> bool {
        !self.is_strict && !error.is_of_device()
    }

    /// Whether nothing was said yet of an error of this kind that occurs with `drawn`. It counts as said from now on.
    pub(super) fn is_new(&self, drawn: Drawn, error: &PipelineError) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.insert((drawn, reason_of(error)))
    }

    /// Forgets what was said of a pipeline that is destroyed, whose handle may be used again.
    pub(crate) fn pipeline_destroyed(&self, pipeline: vk::Pipeline) {
        if pipeline != vk::Pipeline::null() {
            self.forget(|drawn| drawn.pipeline == pipeline);
        }
    }

    /// Forgets what was said of a shader object that is destroyed.
    pub(crate) fn shader_destroyed(&self, shader: vk::ShaderEXT) {
        if shader != vk::ShaderEXT::null() {
            self.forget(|drawn| drawn.shaders.has(shader));
        }
    }

    fn forget(&self, is_forgotten: impl Fn(&Drawn) -> bool) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.retain(|(drawn, _)| !is_forgotten(drawn));
    }
}

#[cfg(test)]
mod tests {
    use ash::vk::Handle;

    use super::*;

    fn vulkan(result: vk::Result) -> PipelineError {
        PipelineError::Runtime(RuntimeError::Vulkan { call: "vkCreate", result })
    }

    #[test]
    fn each_kind_of_error_is_new_once_for_each_pipeline() {
        let losses = Losses::new(false);
        let drawn = |number| Drawn { pipeline: vk::Pipeline::from_raw(number), ..Drawn::default() };
        let too_large = |primitives| {
            let what = "patches";
            PipelineError::Runtime(RuntimeError::TooManyPrimitives { what, primitives, max: 1 })
        };
        assert!(losses.is_new(drawn(1), &too_large(2)));
        assert!(!losses.is_new(drawn(1), &too_large(3)), "another value is no other reason");
        assert!(losses.is_new(drawn(2), &too_large(2)));
        assert!(losses.is_new(drawn(1), &PipelineError::Runtime(RuntimeError::NoIndexBuffer)));
        assert!(losses.is_new(drawn(1), &PipelineError::NoSet(0)));
        losses.pipeline_destroyed(drawn(1).pipeline);
        assert!(losses.is_new(drawn(1), &too_large(2)) && !losses.is_new(drawn(2), &too_large(2)));
    }

    #[test]
    fn what_the_device_lacks_is_never_only_lost() {
        let (lenient, strict) = (Losses::new(false), Losses::new(true));
        for result in [
            vk::Result::ERROR_OUT_OF_HOST_MEMORY,
            vk::Result::ERROR_OUT_OF_DEVICE_MEMORY,
            vk::Result::ERROR_DEVICE_LOST,
        ] {
            assert!(!lenient.allows(&vulkan(result)) && !strict.allows(&vulkan(result)));
        }
        for error in [PipelineError::NoSet(0), vulkan(vk::Result::ERROR_UNKNOWN)] {
            assert!(lenient.allows(&error) && !strict.allows(&error));
        }
    }
}
