//! Hooks for commands that push constants or bind descriptors for shader stages, and that set topologies. The captures
//! see the commands of the program, as on other devices. The driver gets them with other [stages](crate::drawn::shader_stages), or not at all.

use crate::command_buffers::{FastPath, observe};
use crate::drawn::shader_stages::{chained_layout, of_constants, of_descriptors};
use crate::drawn::without_adjacency;
use crate::hooks::commands::{Observer, observer_hooks};
use crate::hooks::observed::Observe;
use crate::registry::vk;
use crate::translate::Arena;
use crate::withheld::arguments::{
    BindDescriptorBufferEmbeddedSamplers2Ext, BindDescriptorSets2Khr, PushConstants,
    PushConstants2Khr, PushDescriptorSet2Khr, PushDescriptorSetWithTemplate2Khr,
    SetDescriptorBufferOffsets2Ext, SetPrimitiveTopology,
};

observer_hooks! { Merged:
    set_primitive_topology
    push_constants push_constants2_khr
    bind_descriptor_sets2_khr push_descriptor_set2_khr push_descriptor_set_with_template2_khr
    set_descriptor_buffer_offsets2_ext bind_descriptor_buffer_embedded_samplers2_ext
}

/// A command of which the driver gets other stages than the captures.
trait Merge: Observe {
    /// Returns the command for the driver. `None` if the driver does not get it.
    ///
    /// # Safety
    /// The command is valid, and outlives the result.
    unsafe fn merged(&self, arena: &Arena) -> Option<Self>;
}

/// The captures see the command, and the driver gets one with the stages that it has.
struct Merged;

impl<C: Merge> Observer<C> for Merged {
    unsafe fn fast_path<'a>(_: vk::CommandBuffer, _: &C) -> Option<FastPath<'a>> {
        None
    }

    unsafe fn record(cmd: vk::CommandBuffer, command: &C) {
        unsafe {
            observe(
                cmd,
                // The driver gets each of these commands whatever the captures make of it.
                |captures| _ = command.observe(captures, cmd),
                |state, _| {
                    Arena::with(|arena| {
                        if let Some(merged) = command.merged(arena) {
                            state.record(cmd, &merged);
                        }
                    });
                },
            );
        }
    }
}

impl Merge for PushConstants {
    unsafe fn merged(&self, _arena: &Arena) -> Option<Self> {
        Some(Self { stage_flags: of_constants(self.stage_flags)?, ..*self })
    }
}

/// Only geometry shaders take topologies with adjacency.
impl Merge for SetPrimitiveTopology {
    unsafe fn merged(&self, _arena: &Arena) -> Option<Self> {
        Some(Self { primitive_topology: without_adjacency(self.primitive_topology) })
    }
}

/// This command names no stages, but its chain may have a pipeline layout.
impl Merge for PushDescriptorSetWithTemplate2Khr {
    unsafe fn merged(&self, arena: &Arena) -> Option<Self> {
        let mut info = *unsafe { self.p_push_descriptor_set_with_template_info.as_ref() }?;
        info.p_next = unsafe { chained_layout(info.p_next, arena) };
        Some(Self { p_push_descriptor_set_with_template_info: arena.keep(info) })
    }
}

/// Implements [`Merge`] for commands with a structure that has the stages and maybe, in its chain, a pipeline layout.
macro_rules! merge {
    ($($type:ident $info:ident: |$stages:ident| $translated:expr;)*) => {$(
        impl Merge for $type {
            unsafe fn merged(&self, arena: &Arena) -> Option<Self> {
                let mut info = *unsafe { self.$info.as_ref() }?;
                let $stages = info.stage_flags;
                info.stage_flags = $translated;
                info.p_next = unsafe { chained_layout(info.p_next, arena) };
                Some(Self { $info: arena.keep(info) })
            }
        }
    )*};
}

merge! {
    PushConstants2Khr p_push_constants_info: |stages| of_constants(stages)?;
    BindDescriptorSets2Khr p_bind_descriptor_sets_info: |stages| of_descriptors(stages);
    PushDescriptorSet2Khr p_push_descriptor_set_info: |stages| of_descriptors(stages);
    SetDescriptorBufferOffsets2Ext p_set_descriptor_buffer_offsets_info: |stages| of_descriptors(stages);
    BindDescriptorBufferEmbeddedSamplers2Ext p_bind_descriptor_buffer_embedded_samplers_info:
        |stages| of_descriptors(stages);
}
