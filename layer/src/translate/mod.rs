//! What an application says for `VK_EXT_transform_feedback`, as it is said to a driver that does not have it, while
//! captures are compute dispatches.
//!
//! * `masks`: stages and accesses. `barriers`, `passes` and `submits` have the structures and commands that they stand
//!   in, `passes` also what of a render pass has to be said outside of it.
//! * `usages`: buffers, memory and descriptor set layouts.
//! * `memory` is where translated structures lie, `sizes` how large those of chains are. What the application gave is
//!   never written to.
//! * `hooks` has what takes the place of the commands, `recorded` of those that are recorded.

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

/// What is said for captures, by where it stands: in what the application gives, or in barriers of the layer's own.
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
    /// Before the captures of a pass, of what its render pass says: [`Around::before`].
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

    /// Whether it gets what captures do. Tests leave out one kind at a time (`VKXFB_OMIT_TRANSLATION`), to see whether
    /// it is missed; the extension's own bits go in any case.
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

/// What translation takes of a device.
pub(crate) struct Translation {
    next: Next,
    usages: Usages,
    /// What render passes ask of captures.
    pub(crate) render_passes: RenderPasses,
}

macro_rules! next {
    ($($name:ident $pfn:ident $first:literal $(, $alias:literal)?;)*) => {
        /// The next in the chain's commands that are not in `withheld`. Those of Vulkan 1.0 are always there.
        #[derive(Debug)]
        struct Next {
            $($name: Option<vk::$pfn>,)*
        }

        impl Next {
            /// # Safety
            /// What is found is the command of that name.
            unsafe fn load(mut find: impl FnMut(&CStr) -> vk::PFN_vkVoidFunction) -> Self {
                Self {
                    $($name: {
                        let found = find($first)$(.or_else(|| find($alias)))?;
                        // SAFETY: the caller's contract; pointers to functions are of one size.
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
    /// The device is live, and the function is the next in the chain's.
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
