//! Captures that read descriptors from heaps (`VK_EXT_descriptor_heap`), natively and on the Vulkan layer.

mod random;
mod samplers;
mod stages;
mod untyped;

use ash::{ext, vk};

use super::program::Program;
use crate::common::{self, attachment, discard};

/// The structures of the extension, which ash does not have.
mod heaps {
    use std::ffi::c_void;

    use ash::vk;

    pub const fn s_type(offset: i32) -> vk::StructureType {
        vk::StructureType::from_raw(1_000_135_000 + offset)
    }

    /// `VK_BUFFER_USAGE_2_DESCRIPTOR_HEAP_BIT_EXT`
    pub const USAGE: vk::BufferUsageFlags2KHR = vk::BufferUsageFlags2KHR::from_raw(1 << 28);
    /// `VK_PIPELINE_CREATE_2_DESCRIPTOR_HEAP_BIT_EXT`
    pub const PIPELINE: vk::PipelineCreateFlags2KHR =
        vk::PipelineCreateFlags2KHR::from_raw(1 << 36);
    /// `VK_SHADER_CREATE_DESCRIPTOR_HEAP_BIT_EXT`
    pub const SHADER: vk::ShaderCreateFlagsEXT = vk::ShaderCreateFlagsEXT::from_raw(1 << 10);

    #[repr(C)]
    pub struct Features {
        pub s_type: vk::StructureType,
        pub p_next: *mut c_void,
        pub enabled: [vk::Bool32; 2],
    }

    /// `VkPhysicalDeviceShaderUntypedPointersFeaturesKHR`, which has one member, and padding.
    pub type Untyped = Features;

    #[repr(C)]
    pub struct Limits {
        pub s_type: vk::StructureType,
        pub p_next: *mut c_void,
        pub heap_alignments: [u64; 2],
        pub max_heap_sizes: [u64; 2],
        pub reserved_samplers: u64,
        pub reserved_samplers_with_embedded: u64,
        pub reserved_resources: u64,
        pub sampler_size: u64,
        pub image_size: u64,
        pub buffer_size: u64,
        pub alignments: [u64; 3],
        pub max_push_data: u64,
        pub opaque_data_size: usize,
        pub rest: [u32; 4],
    }

    #[repr(C)]
    #[derive(Clone, Copy)]
    pub struct Range {
        pub address: vk::DeviceAddress,
        pub size: u64,
    }

    #[repr(C)]
    pub struct HostRange {
        pub address: *mut c_void,
        pub size: usize,
    }

    #[repr(C)]
    pub struct Resource {
        pub s_type: vk::StructureType,
        pub p_next: *const c_void,
        pub ty: vk::DescriptorType,
        pub data: *const c_void,
    }

    #[repr(C)]
    pub struct Image<'a> {
        pub s_type: vk::StructureType,
        pub p_next: *const c_void,
        pub view: *const vk::ImageViewCreateInfo<'a>,
        pub layout: vk::ImageLayout,
    }

    #[repr(C)]
    #[derive(Clone, Copy)]
    pub struct Bind {
        pub s_type: vk::StructureType,
        pub p_next: *const c_void,
        pub range: Range,
        pub reserved_offset: u64,
        pub reserved_size: u64,
    }

    #[repr(C)]
    pub struct PushData {
        pub s_type: vk::StructureType,
        pub p_next: *const c_void,
        pub offset: u32,
        pub data: HostRange,
    }

    #[repr(C)]
    #[derive(Clone, Copy)]
    pub struct Mapping {
        pub s_type: vk::StructureType,
        pub p_next: *const c_void,
        pub set: u32,
        pub first_binding: u32,
        pub binding_count: u32,
        pub resource_mask: u32,
        pub source: i32,
        pub data: Data,
    }

    #[repr(C)]
    #[derive(Clone, Copy)]
    pub union Data {
        pub constant: Constant,
        pub push: PushIndex,
        pub indirect: IndirectIndex,
        pub array: IndirectIndexArray,
        pub words: [u32; 2],
    }

    #[repr(C)]
    #[derive(Clone, Copy)]
    pub struct Constant {
        pub offset: u32,
        pub array_stride: u32,
        pub embedded: *const c_void,
        pub sampler: [u32; 2],
    }

    #[repr(C)]
    #[derive(Clone, Copy)]
    pub struct PushIndex {
        pub offset: u32,
        pub push_offset: u32,
        pub index_stride: u32,
        pub array_stride: u32,
        pub embedded: *const c_void,
        pub is_combined: vk::Bool32,
        pub sampler: [u32; 4],
    }

    #[repr(C)]
    #[derive(Clone, Copy)]
    pub struct IndirectIndex {
        pub offset: u32,
        pub push_offset: u32,
        pub address_offset: u32,
        pub index_stride: u32,
        pub array_stride: u32,
        pub embedded: *const c_void,
        pub is_combined: vk::Bool32,
        pub sampler: [u32; 5],
    }

    #[repr(C)]
    #[derive(Clone, Copy)]
    pub struct IndirectIndexArray {
        pub offset: u32,
        pub push_offset: u32,
        pub address_offset: u32,
        pub index_stride: u32,
        pub embedded: *const c_void,
        pub is_combined: vk::Bool32,
        pub sampler: [u32; 4],
    }

    #[repr(C)]
    pub struct Mappings {
        pub s_type: vk::StructureType,
        pub p_next: *const c_void,
        pub count: u32,
        pub all: *const Mapping,
    }

    #[repr(C)]
    pub struct Inherited {
        pub s_type: vk::StructureType,
        pub p_next: *const c_void,
        pub samplers: *const Bind,
        pub resources: *const Bind,
    }

    pub type WriteResources =
        unsafe extern "system" fn(vk::Device, u32, *const Resource, *const HostRange) -> vk::Result;
    pub type WriteSamplers = unsafe extern "system" fn(
        vk::Device,
        u32,
        *const vk::SamplerCreateInfo<'_>,
        *const HostRange,
    ) -> vk::Result;
    pub type BindHeap = unsafe extern "system" fn(vk::CommandBuffer, *const Bind);
    pub type Push = unsafe extern "system" fn(vk::CommandBuffer, *const PushData);
}

/// `maxPushDataSize`, as each device has it.
const PUSH_DATA: usize = 256;

/// A device with the extension, and its commands.
struct Device {
    program: Program,
    write: heaps::WriteResources,
    write_samplers: heaps::WriteSamplers,
    bind_resources: heaps::BindHeap,
    bind_samplers: heaps::BindHeap,
    push: heaps::Push,
    limits: heaps::Limits,
}

impl Device {
    /// `None` where the driver lacks the extension.
    fn open() -> Option<Self> {
        let mut five = vk::PhysicalDeviceMaintenance5FeaturesKHR::default().maintenance5(true);
        let mut objects = vk::PhysicalDeviceShaderObjectFeaturesEXT::default().shader_object(true);
        let mut untyped = heaps::Untyped {
            s_type: vk::StructureType::from_raw(1_000_387_000),
            p_next: (&raw mut five).cast(),
            enabled: [1, 0],
        };
        objects.p_next = (&raw mut untyped).cast();
        let mut feature = heaps::Features {
            s_type: heaps::s_type(9),
            p_next: (&raw mut objects).cast(),
            enabled: [1, 0],
        };
        let extensions = [
            c"VK_EXT_descriptor_heap",
            // Each device with heaps has it.
            c"VK_KHR_shader_untyped_pointers",
            c"VK_KHR_maintenance5",
            ext::shader_object::NAME,
        ];
        let program = Program::newer(&extensions, (&raw mut feature).cast())?;
        // SAFETY: the types are those of the commands; all members of the limits may be zero.
        unsafe {
            let mut limits: heaps::Limits = std::mem::zeroed();
            limits.s_type = heaps::s_type(8);
            let p_next = (&raw mut limits).cast();
            let mut properties = vk::PhysicalDeviceProperties2 { p_next, ..Default::default() };
            let physical = program.instance().enumerate_physical_devices().unwrap()[0];
            program.instance().get_physical_device_properties2(physical, &mut properties);
            assert!(limits.max_push_data >= PUSH_DATA as u64);
            Some(Self {
                write: program.command(c"vkWriteResourceDescriptorsEXT"),
                write_samplers: program.command(c"vkWriteSamplerDescriptorsEXT"),
                bind_resources: program.command(c"vkCmdBindResourceHeapEXT"),
                bind_samplers: program.command(c"vkCmdBindSamplerHeapEXT"),
                push: program.command(c"vkCmdPushDataEXT"),
                limits,
                program,
            })
        }
    }

    /// The size of a descriptor of a buffer.
    const fn descriptor(&self) -> u32 {
        self.limits.buffer_size as u32
    }

    /// Writes the descriptor of 16 bytes at `address`.
    ///
    /// # Safety
    /// There is room for the descriptor.
    unsafe fn put(&self, place: *mut u8, ty: vk::DescriptorType, address: u64, size: u64) {
        let range = heaps::Range { address, size };
        let data = (&raw const range).cast();
        let resource =
            heaps::Resource { s_type: heaps::s_type(2), p_next: std::ptr::null(), ty, data };
        let place =
            heaps::HostRange { address: place.cast(), size: self.limits.buffer_size as usize };
        let result = unsafe {
            (self.write)(self.program.raw.handle(), 1, &raw const resource, &raw const place)
        };
        assert_eq!(result, vk::Result::SUCCESS);
    }

    /// The bind info of a resource heap that ends in the reserved range.
    const fn resources_at(&self, address: vk::DeviceAddress, size: u64) -> heaps::Bind {
        bind_info(address, size, self.limits.reserved_resources)
    }

    /// The same of a sampler heap.
    const fn samplers_at(&self, address: vk::DeviceAddress, size: u64) -> heaps::Bind {
        bind_info(address, size, self.limits.reserved_samplers_with_embedded)
    }

    /// # Safety
    /// The command buffer is being recorded.
    unsafe fn push_data(&self, cmd: vk::CommandBuffer, offset: usize, data: &[u8]) {
        let info = heaps::PushData {
            s_type: heaps::s_type(4),
            p_next: std::ptr::null(),
            offset: offset as u32,
            data: heaps::HostRange { address: data.as_ptr().cast_mut().cast(), size: data.len() },
        };
        unsafe { (self.push)(cmd, &raw const info) };
    }

    /// Pushes those dwords that differ from what was pushed before.
    ///
    /// # Safety
    /// The command buffer is being recorded.
    unsafe fn push_changed(
        &self,
        cmd: vk::CommandBuffer,
        before: &[u8; PUSH_DATA],
        now: &[u8; PUSH_DATA],
    ) {
        for (number, (old, new)) in before.chunks(4).zip(now.chunks(4)).enumerate() {
            if old != new {
                unsafe { self.push_data(cmd, 4 * number, new) };
            }
        }
    }
}

const fn bind_info(address: vk::DeviceAddress, size: u64, reserved: u64) -> heaps::Bind {
    heaps::Bind {
        s_type: heaps::s_type(3),
        p_next: std::ptr::null(),
        range: heaps::Range { address, size },
        reserved_offset: size - reserved,
        reserved_size: reserved,
    }
}

/// The mapping of a binding by a source (`VkDescriptorMappingSourceEXT`).
const fn mapping(set: u32, binding: u32, source: i32, data: heaps::Data) -> heaps::Mapping {
    heaps::Mapping {
        s_type: heaps::s_type(5),
        p_next: std::ptr::null(),
        set,
        first_binding: binding,
        binding_count: 1,
        resource_mask: 0x7fff_ffff,
        source,
        data,
    }
}

/// The mapping of a binding to a constant offset in the heap.
const fn constant_mapping(set: u32, binding: u32, offset: u32) -> heaps::Mapping {
    let embedded = std::ptr::null();
    let constant = heaps::Constant { offset, array_stride: 0, embedded, sampler: [0; 2] };
    mapping(set, binding, 0, heaps::Data { constant })
}

fn mappings_of(all: &[heaps::Mapping]) -> heaps::Mappings {
    heaps::Mappings {
        s_type: heaps::s_type(6),
        p_next: std::ptr::null(),
        count: all.len() as u32,
        all: all.as_ptr(),
    }
}

/// Creates a compute pipeline for heaps.
///
/// # Safety
/// The device is live, and the mappings are of the shader.
unsafe fn compute_pipeline(
    device: &ash::Device,
    source: &str,
    mappings: &heaps::Mappings,
) -> vk::Pipeline {
    let words = common::compile_stage("comp", source, &[]);
    unsafe {
        let module = attachment::shader_module(device, &words);
        let mut stage = vk::PipelineShaderStageCreateInfo::default()
            .stage(vk::ShaderStageFlags::COMPUTE)
            .module(module)
            .name(c"main");
        stage.p_next = (&raw const *mappings).cast();
        let mut flags = vk::PipelineCreateFlags2CreateInfoKHR::default().flags(heaps::PIPELINE);
        let info = vk::ComputePipelineCreateInfo::default().stage(stage).push_next(&mut flags);
        let made = device.create_compute_pipelines(vk::PipelineCache::null(), &[info], None);
        device.destroy_shader_module(module, None);
        made.unwrap()[0]
    }
}

/// Creates a pipeline for heaps that captures, of stages with their mappings.
///
/// # Safety
/// The device is live, and the mappings are those of the shaders.
unsafe fn graphics_pipeline(
    device: &ash::Device,
    shaders: &[(vk::ShaderStageFlags, &[u32], &heaps::Mappings)],
    topology: vk::PrimitiveTopology,
) -> vk::Pipeline {
    unsafe {
        let stage = |&(stage, words, mappings): &(_, &[u32], &heaps::Mappings)| {
            let module = attachment::shader_module(device, words);
            let mut stage = vk::PipelineShaderStageCreateInfo::default()
                .stage(stage)
                .module(module)
                .name(c"main");
            stage.p_next = (&raw const *mappings).cast();
            stage
        };
        let stages: Vec<_> = shaders.iter().map(stage).collect();
        let mut flags = vk::PipelineCreateFlags2CreateInfoKHR::default().flags(heaps::PIPELINE);
        let assembly = vk::PipelineInputAssemblyStateCreateInfo::default().topology(topology);
        let tessellation =
            vk::PipelineTessellationStateCreateInfo::default().patch_control_points(1);
        let info = vk::GraphicsPipelineCreateInfo::default()
            .stages(&stages)
            .input_assembly_state(&assembly)
            .tessellation_state(&tessellation)
            .push_next(&mut flags);
        let made = discard::create(device, vk::PipelineCache::null(), info);
        stages.iter().for_each(|stage| device.destroy_shader_module(stage.module, None));
        made.unwrap()
    }
}
