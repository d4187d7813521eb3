//! What `tests/commands.c` captures, on devices of its own and of others, with addresses and with descriptors;
//! and which devices of others are refused.

use std::ptr::{null, null_mut};

use ash::vk;
use ash::vk::Handle;
use vkxfb_capi::*;

use crate::calls::{INVALID, Objects, last_error, refused, succeeds};
use crate::compiled;
use crate::create_info::Physical;
use crate::example::{compile, flags, libraries, printed};

/// The shader of `tests/commands.c`.
const SHADER: &str = "#version 460
    layout(location = 0) in uint pulled;
    layout(location = 0) flat out uvec4 captured;
    void main() {
        captured = uvec4(pulled, gl_InstanceIndex, gl_DrawID, gl_VertexIndex);
        gl_Position = vec4(0.0);
    }";

#[test]
fn what_is_not_drawing_works_on_every_kind_of_device() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let shader = compiled(path, "commands.vert", SHADER, "main");
    let program = compile(path, "tests/commands.c", flags("libvkxfb_capi.a"));
    for way in
        ["addresses", "unoptimized addresses", "descriptors", "adopted", "adopted descriptors"]
    {
        let arguments = [way.into(), shader.clone()];
        assert_eq!(printed(path, &program, &arguments, &libraries()), "captured\n", "{way}");
    }
}

/// Names and labels have no other effect, and a program that knows better than the driver is believed.
#[test]
fn what_does_not_work_on_a_device_is_not_used() {
    let flags = VKXFB_DEVICE_NO_INDIRECT_DRAWS | VKXFB_DEVICE_DEBUG_NAMES;
    let objects = Objects::on(Physical::with_flags(vk::API_VERSION_1_2, flags));
    let Objects { context, capture, .. } = objects;
    // SAFETY: nothing is recorded; the structure may be all zero.
    unsafe {
        let mut properties: VkxfbContextProperties = std::mem::zeroed();
        properties.struct_size = size_of_val(&properties);
        succeeds(vkxfb_context_get_properties(context, &mut properties));
        assert_eq!((properties.has_indirect_draws, properties.uses_descriptors), (0, 0));
        let (commands, buffer) = (vk::CommandBuffer::from_raw(1), vk::Buffer::from_raw(1));
        let refusal =
            vkxfb_capture_record_draw_commands(capture, commands, 0, null_mut(), buffer, 0, 16);
        refused(refusal, VkxfbResult::VkxfbErrorUnavailable, "indirect draws");
        let refusal = vkxfb_late_draws_create(capture, commands, &mut null_mut());
        refused(refusal, VkxfbResult::VkxfbErrorUnavailable, "indirect draws");
    }
}

/// All buffers have to be known then.
#[test]
fn draws_are_not_added_later_with_descriptors() {
    let physical = Physical::with_flags(vk::API_VERSION_1_2, VKXFB_DEVICE_DESCRIPTORS);
    let objects = Objects::on(physical);
    let commands = vk::CommandBuffer::from_raw(1);
    // SAFETY: nothing is recorded.
    let refusal = unsafe { vkxfb_late_draws_create(objects.capture, commands, &mut null_mut()) };
    let part = "(VKXFB_DEVICE_DESCRIPTORS, or no bufferDeviceAddress): draws cannot be added later";
    refused(refusal, VkxfbResult::VkxfbErrorUnavailable, part);
}

/// What is missing is named.
#[test]
fn a_device_of_others_without_what_captures_need_is_refused() {
    let physical = Physical::new(vk::API_VERSION_1_2);
    let mut info = physical.info(vk::API_VERSION_1_2);
    let priorities = [1.0];
    let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&priorities)];
    let created_with = vk::DeviceCreateInfo::default().queue_create_infos(&queues);
    let mut context = null_mut();
    let cache = vk::PipelineCache::null();
    // SAFETY: the arguments are valid, or are refused; nothing uses the device afterwards.
    unsafe {
        let device =
            physical.instance.create_device(info.physical_device, &created_with, None).unwrap();
        let handle = device.handle();
        let mut create = |info: &VkxfbPhysicalDeviceInfo, with, handle| {
            vkxfb_context_create_for_device(info, handle, with, cache, &mut context)
        };
        let unavailable = VkxfbResult::VkxfbErrorUnavailable;
        refused(create(&info, &created_with, handle), unavailable, "bufferDeviceAddress");
        let mut model = vk::PhysicalDeviceVulkan12Features::default()
            .buffer_device_address(true)
            .vulkan_memory_model(true);
        let with_model = vk::DeviceCreateInfo::default().push_next(&mut model);
        let missing = "vulkanMemoryModel is enabled without vulkanMemoryModelDeviceScope";
        refused(create(&info, &with_model, handle), unavailable, missing);
        let untyped =
            vk::PhysicalDeviceVulkan12Features { s_type: Default::default(), ..Default::default() };
        let mut untyped = vk::DeviceCreateInfo {
            p_next: (&raw const untyped).cast(),
            ..vk::DeviceCreateInfo::default()
        };
        let missing_type = "a structure in the pNext chain of pCreateInfo has sType 0";
        refused(create(&info, &untyped, handle), INVALID, missing_type);
        // Addresses are not what is missing where they are not asked for.
        info.flags = VKXFB_DEVICE_DESCRIPTORS;
        let missing = "as it was created: no feature shaderStorageBufferArrayDynamicIndexing";
        refused(create(&info, &created_with, handle), unavailable, missing);
        refused(create(&info, &created_with, handle), unavailable, "VKXFB_DEVICE_DESCRIPTORS");
        assert!(!last_error().contains("bufferDeviceAddress"), "{}", last_error());
        for (version, name) in [(0, "0"), (12, "12"), (vk::API_VERSION_1_0, "that of Vulkan 1.0")] {
            let info = VkxfbPhysicalDeviceInfo { api_version: version, ..info };
            let part = format!("apiVersion is {name}: it has to be that of the VkApplicationInfo");
            refused(create(&info, &created_with, handle), INVALID, &part);
        }
        refused(create(&info, null_mut(), handle), INVALID, "pCreateInfo is NULL");
        let none = vk::Device::null();
        refused(create(&info, &created_with, none), INVALID, "device is NULL");
        let mut nameless = vk::DeviceCreateInfo { enabled_extension_count: 1, ..created_with };
        refused(create(&info, &nameless, handle), INVALID, "ppEnabledExtensionNames is NULL");
        let names = [null()];
        nameless.pp_enabled_extension_names = names.as_ptr();
        let element = "an element of ppEnabledExtensionNames is NULL";
        refused(create(&info, &nameless, handle), INVALID, element);
        let refusal = vkxfb_required_features_add_to(physical.required, &mut nameless);
        refused(refusal, INVALID, element);
        assert_eq!(nameless.enabled_extension_count, 1, "nothing is added");
        let refusal = vkxfb_required_features_add_to(physical.required, &mut untyped);
        refused(refusal, INVALID, missing_type);
        info.flags = VKXFB_DEVICE_DEBUG_NAMES;
        refused(create(&info, &created_with, handle), INVALID, "without VK_EXT_debug_utils");
        info.flags = 1 << 20;
        refused(create(&info, &created_with, handle), INVALID, "flags has unknown bits: 0x100000");
        (info.flags, info.max_storage_buffers) = (VKXFB_DEVICE_DESCRIPTORS, 3);
        refused(create(&info, &created_with, handle), INVALID, "maxStorageBuffers is 3");
        device.destroy_device(None);
    }
    assert!(context.is_null());
}

#[test]
fn what_is_not_drawing_is_refused_with_a_reason() {
    let objects = Objects::new(vk::API_VERSION_1_2);
    let Objects { context, capture, pipeline, .. } = objects;
    let (none, no_commands) = (vk::Buffer::null(), vk::CommandBuffer::null());
    let draw = VkxfbByteCountDraw {
        instance_count: 1,
        first_instance: 0,
        counter_buffer: VkxfbCounterBuffer { buffer: none, offset: 0 },
        counter_offset: 0,
        vertex_stride: 16,
    };
    let unknown = VkxfbExpectedDraws { topology: vk::PrimitiveTopology::POINT_LIST, flags: 256 };
    let null = vk::PipelineCache::null();
    // SAFETY: the arguments are valid, or are refused.
    unsafe {
        let refusal =
            vkxfb_capture_record_draw_commands(capture, no_commands, 1, &draw, none, 0, 16);
        refused(refusal, INVALID, "counterBuffer is NULL");
        let refusal =
            vkxfb_capture_record_draw_commands(capture, no_commands, 0, null_mut(), none, 0, 16);
        refused(refusal, INVALID, "buffer is NULL");
        let refusal = vkxfb_late_draws_create(capture, no_commands, &mut null_mut());
        refused(refusal, INVALID, "commandBuffer is NULL");
        let refusal = vkxfb_late_draws_add(null_mut(), capture, &draw, none, 0);
        refused(refusal, INVALID, "lateDraws is NULL");
        let (pool, commands) = objects.begin_commands();
        let (mut late, mut other) = (null_mut(), null_mut());
        succeeds(vkxfb_late_draws_create(capture, commands, &mut late));
        succeeds(vkxfb_capture_create(context, &mut other));
        let counter = VkxfbCounterBuffer { buffer: vk::Buffer::from_raw(1), offset: 0 };
        let counted = VkxfbByteCountDraw { counter_buffer: counter, ..draw };
        // The counter's buffer is none: nothing may use it before the call is refused.
        let refusal = vkxfb_late_draws_add(late, other, &counted, none, 0);
        refused(refusal, INVALID, "another capture");
        refused(vkxfb_late_draws_add(late, capture, &counted, none, 0), INVALID, "buffer is NULL");
        objects.destroy_commands(pool);
        succeeds(vkxfb_capture_reset(capture));
        let refusal = vkxfb_late_draws_add(late, capture, &counted, none, 0);
        refused(refusal, INVALID, "was reset");
        vkxfb_capture_destroy(other);
        vkxfb_late_draws_destroy(late);
        refused(vkxfb_pipeline_prepare(pipeline, 1, &unknown, null), INVALID, "bits: 0x100");
        refused(vkxfb_pipeline_prepare(pipeline, 1, null_mut(), null), INVALID, "pDraws is NULL");
        let refusal = vkxfb_context_get_properties(context, null_mut());
        refused(refusal, INVALID, "pProperties is NULL");
        let refusal = vkxfb_capture_play(capture, no_commands, null_mut(), null_mut());
        refused(refusal, INVALID, "was not ended by vkxfb_capture_finish");

        succeeds(vkxfb_capture_begin(capture, &objects.begin_info()));
        let condition = vk::ConditionalRenderingBeginInfoEXT::default();
        let refusal = vkxfb_capture_begin_conditional_rendering(capture, &condition);
        refused(refusal, INVALID, "buffer is NULL");
        succeeds(vkxfb_capture_begin(capture, &objects.begin_info()));
        let (range, stride) =
            (VkxfbBufferRange { buffer: none, offset: 0, size: 0 }, u64::from(u32::MAX) + 1);
        succeeds(vkxfb_capture_bind_vertex_buffers2(capture, 0, 1, &range, null_mut()));
        let refusal = vkxfb_capture_bind_vertex_buffers2(capture, 0, 1, &range, &stride);
        refused(refusal, INVALID, "pStrides is 4294967296");
        succeeds(vkxfb_capture_begin(capture, &objects.begin_info()));
        let mode = vk::ProvokingVertexModeEXT::from_raw(7);
        let refusal = vkxfb_capture_set_provoking_vertex_mode(capture, mode);
        refused(refusal, INVALID, "provokingVertexMode is 7");
        succeeds(vkxfb_capture_begin(capture, &objects.begin_info()));
        let refusal = vkxfb_capture_set_primitive_restart_enable(capture, vk::TRUE);
        refused(refusal, INVALID, "restart");
        succeeds(vkxfb_capture_begin(capture, &objects.begin_info()));
        succeeds(vkxfb_capture_finish(capture, 0, null_mut()));
        let refusal = vkxfb_capture_play(capture, no_commands, null_mut(), null_mut());
        refused(refusal, INVALID, "commandBuffer is NULL");
        refused(vkxfb_capture_finish(capture, 0, null_mut()), INVALID, "begin it again");
        succeeds(vkxfb_capture_begin(capture, &objects.begin_info()));
        let set = vk::DescriptorSet::null();
        let refusal = vkxfb_capture_bind_descriptor_sets(capture, 0, 1, &set, 0, null_mut());
        refused(refusal, INVALID, "an element of pDescriptorSets is NULL");
        succeeds(vkxfb_capture_begin(capture, &objects.begin_info()));
        let pushed = [0_u8; 4];
        let refusal = vkxfb_capture_push_constants(capture, 1 << 16, 4, pushed.as_ptr().cast());
        refused(refusal, INVALID, "from byte 65536 on: maxPushConstantsSize is");
        succeeds(vkxfb_capture_begin(capture, &objects.begin_info()));
    }
}
