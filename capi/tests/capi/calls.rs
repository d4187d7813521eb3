//! Tests which arguments the functions refuse, and with which messages.

use std::ffi::{CStr, c_char};
use std::ptr::{NonNull, null, null_mut};

use ash::vk;
use ash::vk::Handle;
use vkxfb_capi::*;

use crate::create_info::Physical;
use crate::example::stream;
use crate::words;

/// Returns the message of this thread.
pub fn last_error() -> String {
    // SAFETY: no other function is called before the string is copied.
    unsafe { CStr::from_ptr(vkxfb_last_error()) }.to_string_lossy().into_owned()
}

/// Panics unless the result is `expected` and the message contains `part`.
#[track_caller]
pub fn refused(result: VkxfbResult, expected: VkxfbResult, part: &str) {
    let message = last_error();
    assert_eq!(result, expected, "{message}");
    assert!(message.contains(part), "{message}");
    assert!(!message.contains("::"), "this names an item of Rust: {message}");
}

pub const INVALID: VkxfbResult = VkxfbResult::VkxfbErrorInvalidArgument;
pub const SHADER: VkxfbResult = VkxfbResult::VkxfbErrorShader;
const STRIP: vk::PrimitiveTopology = vk::PrimitiveTopology::TRIANGLE_STRIP;

/// A device with a context, a capture and a pipeline.
pub struct Objects {
    pub device: ash::Device,
    pub context: *mut VkxfbContext,
    pub capture: *mut VkxfbCapture,
    pub pipeline: *mut VkxfbPipeline,
    /// Dropped last, because the other objects need its instance.
    physical: Physical,
}

impl Objects {
    pub fn new(api_version: u32) -> Self {
        Self::on(Physical::new(api_version))
    }

    pub fn on(physical: Physical) -> Self {
        let priorities = [1.0];
        let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&priorities)];
        let mut info = vk::DeviceCreateInfo::default().queue_create_infos(&queues);
        // SAFETY: what is created is destroyed in the reverse order.
        unsafe {
            succeeds(vkxfb_required_features_add_to(physical.required, &mut info));
            let physical_device = physical.info(0).physical_device;
            let device = physical.instance.create_device(physical_device, &info, None).unwrap();
            let mut this = Self {
                device,
                context: null_mut(),
                capture: null_mut(),
                pipeline: null_mut(),
                physical,
            };
            let (required, handle) = (this.physical.required, this.device.handle());
            let cache = vk::PipelineCache::null();
            succeeds(vkxfb_context_create(required, handle, cache, &mut this.context));
            succeeds(vkxfb_capture_create(this.context, &mut this.capture));
            succeeds(this.make_pipeline(|_| {}));
            this
        }
    }

    /// Makes the pipeline once more, from a changed description.
    pub fn make_pipeline(
        &mut self,
        change: impl FnOnce(&mut VkxfbPipelineCreateInfo<'_>),
    ) -> VkxfbResult {
        let words = words(&stream());
        let bindings = [vk::VertexInputBindingDescription::default().stride(16)];
        let attributes =
            [vk::VertexInputAttributeDescription::default()
                .format(vk::Format::R32G32B32A32_SFLOAT)];
        let vertex_input = vk::PipelineVertexInputStateCreateInfo::default()
            .vertex_binding_descriptions(&bindings)
            .vertex_attribute_descriptions(&attributes);
        let assembly = vk::PipelineInputAssemblyStateCreateInfo::default().topology(STRIP);
        let mut info = VkxfbPipelineCreateInfo {
            struct_size: size_of::<VkxfbPipelineCreateInfo<'_>>(),
            code_size: size_of_val(&words[..]),
            p_code: words.as_ptr(),
            p_name: null_mut(),
            p_specialization_info: null_mut(),
            varying_count: 0,
            pp_varyings: null_mut(),
            p_vertex_input_state: &vertex_input,
            p_input_assembly_state: &assembly,
            dynamic_topology: vk::FALSE,
            provoking_vertex_mode: vk::ProvokingVertexModeEXT::FIRST_VERTEX,
            set_layout_count: 0,
            p_set_layouts: null_mut(),
            pipeline_cache: vk::PipelineCache::null(),
            p_geometry_shader: null_mut(),
            p_tessellation_control_shader: null_mut(),
            p_tessellation_evaluation_shader: null_mut(),
            p_tessellation_state: null_mut(),
            flags: 0,
        };
        change(&mut info);
        let mut made = null_mut();
        // SAFETY: the arguments are valid, or are refused.
        let result = unsafe { vkxfb_pipeline_create(self.context, &info, &mut made) };
        if result == VkxfbResult::VkxfbSuccess {
            // SAFETY: nothing was recorded with the previous pipeline.
            unsafe { vkxfb_pipeline_destroy(std::mem::replace(&mut self.pipeline, made)) };
        }
        result
    }

    /// A command buffer that is being recorded, with its pool.
    pub fn begin_commands(&self) -> (vk::CommandPool, vk::CommandBuffer) {
        // SAFETY: the device is live.
        unsafe {
            let pool = self.device.create_command_pool(&Default::default(), None).unwrap();
            let info =
                vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
            let commands = self.device.allocate_command_buffers(&info).unwrap()[0];
            self.device.begin_command_buffer(commands, &Default::default()).unwrap();
            (pool, commands)
        }
    }

    pub fn destroy_commands(&self, pool: vk::CommandPool) {
        // SAFETY: nothing is submitted.
        unsafe { self.device.destroy_command_pool(pool, None) };
    }

    /// A buffer without memory, and how much memory it would take.
    pub fn make_buffer(&self, size: u64, usage: vk::BufferUsageFlags) -> (vk::Buffer, u64) {
        let info = vk::BufferCreateInfo::default().size(size).usage(usage);
        // SAFETY: the device is live.
        unsafe {
            let buffer = self.device.create_buffer(&info, None).unwrap();
            (buffer, self.device.get_buffer_memory_requirements(buffer).size)
        }
    }

    pub fn destroy_buffer(&self, buffer: vk::Buffer) {
        // SAFETY: nothing is submitted.
        unsafe { self.device.destroy_buffer(buffer, None) };
    }

    /// Parameters of a capture that writes nothing, because no buffer is bound.
    pub fn begin_info(&self) -> VkxfbCaptureBeginInfo {
        const NO_BUFFER: &VkxfbBufferRange =
            &VkxfbBufferRange { buffer: vk::Buffer::null(), offset: 0, size: 0 };
        VkxfbCaptureBeginInfo {
            struct_size: size_of::<VkxfbCaptureBeginInfo>(),
            pipeline: self.pipeline,
            buffer_count: 1,
            p_buffers: NO_BUFFER,
            vertex_buffer_count: 1,
            p_vertex_buffers: NO_BUFFER,
            counter_buffer_count: 0,
            p_counter_buffers: null_mut(),
        }
    }
}

impl Drop for Objects {
    fn drop(&mut self) {
        // SAFETY: nothing was submitted. The context may be destroyed before objects that were made
        // with it.
        unsafe {
            vkxfb_context_destroy(self.context);
            vkxfb_pipeline_destroy(self.pipeline);
            vkxfb_capture_destroy(self.capture);
            self.device.destroy_device(None);
        }
    }
}

#[track_caller]
pub fn succeeds(result: VkxfbResult) {
    assert_eq!(result, VkxfbResult::VkxfbSuccess, "{}", last_error());
}

#[test]
fn the_version_is_the_packages() {
    let [major, minor, patch] =
        [vk::api_version_major, vk::api_version_minor, vk::api_version_patch]
            .map(|part| part(vkxfb_version()));
    assert_eq!(format!("{major}.{minor}.{patch}"), env!("CARGO_PKG_VERSION"));
}

/// The header says which objects several threads may use.
#[test]
fn what_threads_share_can_be_shared() {
    fn is_shared<T: Send + Sync>() {}
    fn is_sent<T: Send>() {}
    is_shared::<VkxfbContext>();
    is_shared::<VkxfbPipeline>();
    is_shared::<VkxfbQueryPool>();
    is_sent::<VkxfbCapture>();
    is_sent::<VkxfbCaptureOrder>();
    is_sent::<VkxfbLateDraws>();
}

/// There, device addresses come from an extension.
#[test]
fn a_device_below_vulkan_1_2_has_addresses() {
    let objects = Objects::new(vk::API_VERSION_1_1);
    // SAFETY: the context is live.
    let usage = unsafe { vkxfb_context_buffer_usage(objects.context) };
    let other = usage & !vk::BufferUsageFlags::STORAGE_BUFFER;
    assert_eq!(other, vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS);
}

#[test]
fn null_pointers_are_named() {
    let mut info = VkxfbPhysicalDeviceInfo {
        struct_size: size_of::<VkxfbPhysicalDeviceInfo>(),
        get_instance_proc_addr: None,
        instance: vk::Instance::null(),
        api_version: 0,
        physical_device: vk::PhysicalDevice::null(),
        flags: 0,
        max_storage_buffers: 0,
    };
    let mut created = null_mut();
    let commands = vk::CommandBuffer::from_raw(1);
    let stages = vk::PipelineStageFlags::HOST;
    // SAFETY: the functions only use arguments that are valid or null.
    unsafe {
        refused(vkxfb_required_features_create(null_mut(), &mut created), INVALID, "pInfo is NULL");
        refused(
            vkxfb_required_features_create(&info, null_mut()),
            INVALID,
            "pRequiredFeatures is NULL",
        );
        let refusal = vkxfb_required_features_create(&info, &mut created);
        refused(refusal, INVALID, "getInstanceProcAddr is NULL");
        info.get_instance_proc_addr =
            Some(ash::Entry::load().unwrap().static_fn().get_instance_proc_addr);
        refused(vkxfb_required_features_create(&info, &mut created), INVALID, "instance is NULL");
        assert!(created.is_null());

        let refusal = vkxfb_required_features_add_to(null_mut(), null_mut());
        refused(refusal, INVALID, "requiredFeatures is NULL");
        let refusal = vkxfb_context_create(
            null_mut(),
            vk::Device::null(),
            vk::PipelineCache::null(),
            null_mut(),
        );
        refused(refusal, INVALID, "pContext is NULL");
        let access = vk::AccessFlags::HOST_READ;
        let refusal = vkxfb_context_record_barrier(null_mut(), commands, stages, access);
        refused(refusal, INVALID, "context is NULL");
        assert!(vkxfb_context_buffer_usage(null_mut()).is_empty());
        refused(
            vkxfb_pipeline_create(null_mut(), null_mut(), null_mut()),
            INVALID,
            "pPipeline is NULL",
        );
        refused(vkxfb_capture_create(null_mut(), null_mut()), INVALID, "pCapture is NULL");
        refused(vkxfb_capture_reset(null_mut()), INVALID, "capture is NULL");
        refused(vkxfb_capture_begin(null_mut(), null_mut()), INVALID, "capture is NULL");
        refused(vkxfb_capture_draw(null_mut(), STRIP, null_mut()), INVALID, "capture is NULL");
        let refusal = vkxfb_capture_end(null_mut(), commands, 0, null_mut(), null_mut());
        refused(refusal, INVALID, "capture is NULL");

        vkxfb_capture_destroy(null_mut());
        vkxfb_context_destroy(null_mut());
        vkxfb_pipeline_destroy(null_mut());
        vkxfb_required_features_destroy(null_mut());
    }
}

/// Whatever the pointer was before.
#[test]
fn what_is_not_created_is_null() {
    macro_rules! not_created {
        ($part:literal, |$created:ident| $call:expr) => {
            let mut $created = NonNull::dangling().as_ptr();
            refused($call, INVALID, $part);
            assert!($created.is_null(), $part);
        };
    }
    let (device, cache) = (vk::Device::null(), vk::PipelineCache::null());
    let commands = vk::CommandBuffer::null();
    // SAFETY: the functions only use arguments that are valid or null.
    unsafe {
        not_created!("pInfo", |made| vkxfb_required_features_create(null(), &mut made));
        not_created!("requiredFeatures", |made| vkxfb_context_create(
            null(),
            device,
            cache,
            &mut made
        ));
        not_created!("pInfo", |made| vkxfb_context_create_for_device(
            null(),
            device,
            null(),
            cache,
            &mut made
        ));
        not_created!("context", |made| vkxfb_pipeline_create(null(), null(), &mut made));
        not_created!("context", |made| vkxfb_capture_create(null(), &mut made));
        not_created!("context", |made| vkxfb_query_pool_create(null(), null(), &mut made));
        not_created!("capture", |made| vkxfb_late_draws_create(null_mut(), commands, &mut made));
    }
}

#[test]
fn pipelines_are_refused_with_a_reason() {
    let mut objects = Objects::new(vk::API_VERSION_1_2);
    let mut made =
        |change: &dyn Fn(&mut VkxfbPipelineCreateInfo<'_>)| objects.make_pipeline(change);
    refused(made(&|info| info.p_code = null_mut()), INVALID, "pCode is NULL");
    refused(made(&|info| info.code_size -= 1), INVALID, "codeSize is");
    refused(made(&|info| info.code_size = 0), SHADER, "cannot be captured");
    // The size in words.
    let quarter = |info: &mut VkxfbPipelineCreateInfo<'_>| info.code_size = info.code_size / 16 * 4;
    refused(made(&quarter), SHADER, "(codeSize is 292: it counts bytes): invalid SPIR-V");
    refused(made(&|info| info.p_name = c"other".as_ptr()), SHADER, "other");
    refused(made(&|info| info.p_name = c"\xff".as_ptr()), INVALID, "pName");
    refused(made(&|info| info.p_vertex_input_state = null_mut()), SHADER, "location 0");
    let bindings = [vk::VertexInputBindingDescription::default().stride(16)];
    let attributes =
        [vk::VertexInputAttributeDescription::default().format(vk::Format::R8G8B8_SRGB)];
    let vertex_input = vk::PipelineVertexInputStateCreateInfo::default()
        .vertex_binding_descriptions(&bindings)
        .vertex_attribute_descriptions(&attributes);
    let refusal = made(&|info| info.p_vertex_input_state = (&raw const vertex_input).cast());
    refused(refusal, INVALID, "location 0 cannot be read: VkFormat R8G8B8_SRGB is not supported");
    assert_eq!(last_error().matches("R8G8B8_SRGB").count(), 1, "it is said once");
    let assembly = null_mut();
    let refusal = made(&|info| info.p_input_assembly_state = assembly);
    refused(refusal, INVALID, "pInputAssemblyState is NULL");
    let patches = vk::PipelineInputAssemblyStateCreateInfo::default()
        .topology(vk::PrimitiveTopology::PATCH_LIST);
    refused(made(&|info| info.p_input_assembly_state = &patches), INVALID, "patch");
    let mode = vk::ProvokingVertexModeEXT::from_raw(7);
    let refusal = made(&|info| info.provoking_vertex_mode = mode);
    refused(refusal, INVALID, "provokingVertexMode is 7");
    refused(made(&|info| info.set_layout_count = 1), INVALID, "pSetLayouts is NULL");
    refused(made(&|info| info.flags = 6), INVALID, "flags has unknown bits: 0x6");
    let varyings = |info: &mut VkxfbPipelineCreateInfo<'_>, names: &[*const c_char]| {
        (info.varying_count, info.pp_varyings) = (names.len() as u32, names.as_ptr());
    };
    refused(made(&|info| info.varying_count = 1), INVALID, "ppVaryings is NULL");
    let refusal = made(&|info| varyings(info, const { &[c"@0".as_ptr(), null()] }));
    refused(refusal, INVALID, "an element of ppVaryings is NULL");
    refused(made(&|info| varyings(info, const { &[c"tint".as_ptr()] })), SHADER, "'tint'");
    succeeds(made(&|info| varyings(info, const { &[c"gl_Position".as_ptr()] })));
    succeeds(made(&|info| info.p_name = c"main".as_ptr()));
}

/// Attributes of dwords are bound at any byte if the pipeline was made so.
#[test]
fn unaligned_attributes_are_a_matter_of_the_pipeline() {
    let mut objects = Objects::new(vk::API_VERSION_1_2);
    let bound = VkxfbBufferRange { buffer: vk::Buffer::null(), offset: 2, size: 0 };
    for (flags, is_refused) in [(0, true), (VKXFB_PIPELINE_UNALIGNED_ATTRIBUTES, false)] {
        succeeds(objects.make_pipeline(|info| info.flags = flags));
        let begin = VkxfbCaptureBeginInfo { p_vertex_buffers: &bound, ..objects.begin_info() };
        // SAFETY: the arguments are valid, or are refused; nothing is recorded.
        unsafe {
            match vkxfb_capture_begin(objects.capture, &begin) {
                result if is_refused => {
                    refused(result, INVALID, "location 0 in its buffer is 2 bytes");
                }
                result => succeeds(result),
            }
            succeeds(vkxfb_capture_reset(objects.capture));
        }
    }
}

/// A structure as a later version of the header may declare it.
#[repr(C)]
struct Newer<T>(T, u64);

#[test]
fn sizes_of_structures_are_checked() {
    let mut objects = Objects::new(vk::API_VERSION_1_2);
    refused(
        objects.make_pipeline(|info| info.struct_size = 0),
        INVALID,
        "structSize of VkxfbPipelineCreateInfo is 0: it must be sizeof(VkxfbPipelineCreateInfo)",
    );
    let capture = objects.capture;
    let mut physical = objects.physical.info(0);
    let mut begin = objects.begin_info();
    let mut newer = Newer(objects.begin_info(), 0);
    newer.0.struct_size = size_of_val(&newer);
    let mut draw = VkxfbIndirectDraw {
        struct_size: size_of::<VkxfbIndirectDraw>(),
        buffer: vk::Buffer::null(),
        offset: 0,
        draw_count: 0,
        stride: 0,
        count_buffer: vk::Buffer::null(),
        count_buffer_offset: 0,
    };
    let mut created = null_mut();
    // SAFETY: the arguments are valid, or are refused; nothing is recorded.
    unsafe {
        physical.struct_size -= 1;
        let refusal = vkxfb_required_features_create(&physical, &mut created);
        refused(refusal, INVALID, "structSize of VkxfbPhysicalDeviceInfo is ");
        begin.struct_size = usize::MAX;
        let refusal = vkxfb_capture_begin(capture, &begin);
        refused(refusal, INVALID, "structSize of VkxfbCaptureBeginInfo is 1844");

        succeeds(vkxfb_capture_begin(capture, (&raw const newer).cast()));
        succeeds(vkxfb_capture_draw_indirect(capture, STRIP, &draw));
        draw.struct_size = 8;
        let refusal = vkxfb_capture_draw_indirect(capture, STRIP, &draw);
        refused(refusal, INVALID, "structSize of VkxfbIndirectDraw is 8");
        succeeds(vkxfb_capture_reset(capture));

        newer.1 = 1;
        let refusal = vkxfb_capture_begin(capture, (&raw const newer).cast());
        refused(
            refusal,
            INVALID,
            "VkxfbCaptureBeginInfo has 72 bytes, of which this library knows 64",
        );

        let mut captured = VkxfbCaptured { primitives_needed: 7, ..Default::default() };
        succeeds(vkxfb_capture_begin(capture, &objects.begin_info()));
        let commands = vk::CommandBuffer::from_raw(1);
        let refusal = vkxfb_capture_end(capture, commands, 0, null_mut(), &mut captured);
        refused(refusal, INVALID, "structSize of VkxfbCaptured is 0");
        assert_eq!(captured.primitives_needed, 7, "it is not written");
    }
    assert!(created.is_null());
}

/// It is enough to check the result of the end.
#[test]
fn the_end_tells_what_failed_first() {
    let objects = Objects::new(vk::API_VERSION_1_2);
    let Objects { capture, .. } = objects;
    let draw = vk::DrawIndirectCommand { vertex_count: 5, instance_count: 1, ..Default::default() };
    let begin = objects.begin_info();
    let list = vk::PrimitiveTopology::TRIANGLE_LIST;
    let (pool, commands) = objects.begin_commands();
    let mut captured =
        VkxfbCaptured { struct_size: size_of::<VkxfbCaptured>(), ..Default::default() };
    // SAFETY: the arguments are valid, or are refused; nothing is submitted.
    unsafe {
        let mut end = || vkxfb_capture_end(capture, commands, 0, null_mut(), &mut captured);

        refused(vkxfb_capture_draw(capture, STRIP, &draw), INVALID, "not begun");
        refused(end(), INVALID, "not begun");
        refused(end(), INVALID, "not begun");

        succeeds(vkxfb_capture_begin(capture, &begin));
        succeeds(vkxfb_capture_draw(capture, STRIP, &draw));
        refused(vkxfb_capture_draw(capture, list, &draw), INVALID, "triangle-list");
        refused(
            vkxfb_capture_bind_index_buffer(capture, null_mut(), vk::IndexType::UINT16),
            INVALID,
            "triangle-list",
        );
        refused(vkxfb_capture_draw(capture, STRIP, &draw), INVALID, "triangle-list");
        let _ = vkxfb_capture_create(null_mut(), null_mut());
        refused(end(), INVALID, "triangle-list");
        assert!(last_error().starts_with("in vkxfb_capture_draw: a draw"), "{}", last_error());

        // The failed capture is over. Numbers of vertices and instances wrap.
        let wrapping = vk::DrawIndirectCommand {
            vertex_count: 4,
            instance_count: 2,
            first_vertex: u32::MAX - 1,
            first_instance: u32::MAX,
        };
        succeeds(vkxfb_capture_begin(capture, &begin));
        succeeds(vkxfb_capture_draw(capture, STRIP, &wrapping));
        succeeds(end());

        // What was drawn before a second beginning is dropped.
        succeeds(vkxfb_capture_begin(capture, &begin));
        succeeds(vkxfb_capture_draw(capture, STRIP, &draw));
        succeeds(vkxfb_capture_begin(capture, &begin));
        succeeds(vkxfb_capture_draw(capture, STRIP, &draw));
        succeeds(end());
        refused(end(), INVALID, "not begun");

        refused(vkxfb_capture_begin(capture, null_mut()), INVALID, "pBeginInfo is NULL");
        refused(vkxfb_capture_draw(capture, STRIP, &draw), INVALID, "pBeginInfo is NULL");
        succeeds(vkxfb_capture_begin(capture, &begin));
        let no_commands = vk::CommandBuffer::null();
        let refusal = vkxfb_capture_end(capture, no_commands, 0, null_mut(), null_mut());
        refused(refusal, INVALID, "commandBuffer is NULL");
        succeeds(vkxfb_capture_begin(capture, &begin));
        let index_type = vk::IndexType::NONE_KHR;
        let range = VkxfbBufferRange { buffer: vk::Buffer::null(), offset: 0, size: 0 };
        refused(
            vkxfb_capture_bind_index_buffer(capture, &range, index_type),
            INVALID,
            "indexType is 1000165000",
        );
        succeeds(vkxfb_capture_reset(capture));
    }
    objects.destroy_commands(pool);
    assert_eq!((captured.is_known, captured.primitives_needed), (vk::TRUE, 3));
}
