//! Translates arguments that an application gives for `VK_EXT_transform_feedback` for a driver that
//! does not have it, where captures are compute dispatches.
//!
//! * `masks`: stages and accesses. `barriers`, `passes` and `submits` have the structures and
//!   commands that contain masks. `passes` also has the barriers that have to be recorded outside
//!   of a render pass for its captures.
//! * `usages`: buffers, memory and descriptor set layouts.
//! * `memory` has the memory for translated structures, and `sizes` the sizes of structures in
//!   chains. The layer never writes to the application's structures.
//! * `hooks` has the hooks for commands, `recorded` those for commands that are recorded.

mod barriers;
pub(crate) mod external;
mod hooks;
mod masks;
mod memory;
mod passes;
mod recorded;
mod sizes;
mod submits;
mod usages;

use std::ffi::CStr;
use std::sync::LazyLock;

use ash::vk;

pub(crate) use self::hooks::{create_buffer, create_set_layout, hook};
pub(crate) use self::passes::Around;
use self::passes::RenderPasses;
pub(crate) use self::usages::{Usages, usage_of_buffer};

/// Where stages and accesses of captures are added: in arguments of the application, or in barriers
/// of the layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `vkCmdPipelineBarrier*`
    PipelineBarrier,
    /// `vkCmdSetEvent*`, `vkCmdResetEvent*` and `vkCmdWaitEvents*`
    Event,
    /// `vkCreateRenderPass*`
    RenderPass,
    /// `vkQueueSubmit*`
    Submit,
    /// Before the captures of a pass, for the dependencies of its render pass: [`Around::before`].
    BeforeCaptures,
    /// Between captures.
    BetweenCaptures,
    /// After the captures of a pass, before what waits for them: [`Around::after_captures`].
    AfterCaptures,
    /// After the pass and its captures: [`Around::after_pass`].
    AfterPass,
}

impl Kind {
    const ALL: [(&'static str, Self); 8] = [
        ("pipeline-barrier", Self::PipelineBarrier),
        ("event", Self::Event),
        ("render-pass", Self::RenderPass),
        ("submit", Self::Submit),
        ("before-captures", Self::BeforeCaptures),
        ("between-captures", Self::BetweenCaptures),
        ("after-captures", Self::AfterCaptures),
        ("after-pass", Self::AfterPass),
    ];

    /// Whether the stages and accesses of captures are added. Tests leave out one kind at a time
    /// (`VKXFB_OMIT_TRANSLATION`), to check that this is noticed. The extension's own bits are
    /// removed in any case.
    pub(crate) fn is_translated(self) -> bool {
        static OMITTED: LazyLock<Option<Kind>> = LazyLock::new(|| {
            let name = std::env::var("VKXFB_OMIT_TRANSLATION").ok()?;
            let found = Kind::ALL.into_iter().find(|(of, _)| *of == name).map(|(_, kind)| kind);
            tracing::warn!(?found, "VKXFB_OMIT_TRANSLATION is for tests");
            found
        });
        *OMITTED != Some(self)
    }
}

/// The state of a device that translation uses.
pub(crate) struct Translation {
    next: Next,
    usages: Usages,
    /// The barriers around captures that render passes ask for.
    pub(crate) render_passes: RenderPasses,
}

macro_rules! next {
    ($($name:ident $pfn:ident $first:literal $(, $alias:literal)?;)*) => {
        /// Commands of the next in the chain that are not in `withheld`. Those of Vulkan 1.0 are
        /// always present.
        #[derive(Debug)]
        struct Next {
            $($name: Option<vk::$pfn>,)*
        }

        impl Next {
            /// # Safety
            /// `find` returns the command of the name.
            unsafe fn load(mut find: impl FnMut(&CStr) -> vk::PFN_vkVoidFunction) -> Self {
                Self {
                    $($name: {
                        let found = find($first)$(.or_else(|| find($alias)))?;
                        // SAFETY: the caller's contract; all function pointers have the same size.
                        unsafe {
                            std::mem::transmute::<vk::PFN_vkVoidFunction, Option<vk::$pfn>>(found)
                        }
                    },)*
                }
            }
        }
    };
}

next! {
    allocate_memory PFN_vkAllocateMemory c"vkAllocateMemory";
    buffer_requirements PFN_vkGetDeviceBufferMemoryRequirements
        c"vkGetDeviceBufferMemoryRequirements", c"vkGetDeviceBufferMemoryRequirementsKHR";
    create_buffer PFN_vkCreateBuffer c"vkCreateBuffer";
    create_render_pass PFN_vkCreateRenderPass c"vkCreateRenderPass";
    create_render_pass2 PFN_vkCreateRenderPass2 c"vkCreateRenderPass2", c"vkCreateRenderPass2KHR";
    create_set_layout PFN_vkCreateDescriptorSetLayout c"vkCreateDescriptorSetLayout";
    destroy_render_pass PFN_vkDestroyRenderPass c"vkDestroyRenderPass";
    queue_submit PFN_vkQueueSubmit c"vkQueueSubmit";
    queue_submit2 PFN_vkQueueSubmit2 c"vkQueueSubmit2", c"vkQueueSubmit2KHR";
    reset_event PFN_vkCmdResetEvent c"vkCmdResetEvent";
    reset_event2 PFN_vkCmdResetEvent2 c"vkCmdResetEvent2", c"vkCmdResetEvent2KHR";
    set_event PFN_vkCmdSetEvent c"vkCmdSetEvent";
    set_event2 PFN_vkCmdSetEvent2 c"vkCmdSetEvent2", c"vkCmdSetEvent2KHR";
    set_layout_support PFN_vkGetDescriptorSetLayoutSupport
        c"vkGetDescriptorSetLayoutSupport", c"vkGetDescriptorSetLayoutSupportKHR";
}

impl Translation {
    /// Fetches everything from the next in the chain.
    ///
    /// # Safety
    /// The device is live, and the function belongs to the next in the chain.
    pub(crate) unsafe fn load(
        device: vk::Device,
        get: vk::PFN_vkGetDeviceProcAddr,
        usages: Usages,
    ) -> Self {
        // SAFETY: the caller's contract; each function is of the type that its name says.
        let next = unsafe { Next::load(|name| get(device, name.as_ptr())) };
        Self { next, usages, render_passes: RenderPasses::default() }
    }
}

#[cfg(test)]
mod tests;
