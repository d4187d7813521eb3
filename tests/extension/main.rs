//! Programs that use the commands of `VK_EXT_transform_feedback` directly, with the driver and
//! again with the Vulkan layer. Tests whose names end in `on_the_layer` start this binary again,
//! with the layer in its environment.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(missing_docs, reason = "no API")]

mod barriers;
mod byte_counts_in_passes;
#[path = "../common/mod.rs"]
mod common;
mod deferred_captures;
mod descriptor_buffers;
mod descriptor_heaps;
mod drawn_stages;
mod empty_captures;
mod generated_commands;
mod generated_queries;
mod host_memory;
mod identifiers;
mod indexed_queries;
mod lost_captures;
mod maintenance;
mod pipeline_batches;
mod program;
mod push_descriptors;
mod restart_index;
mod resubmitted;
mod shader_objects;
mod statistics;
mod suspended_rendering;
mod tessellation;
mod unaligned_attributes;
mod unbound_buffers;
mod unended_queries;
