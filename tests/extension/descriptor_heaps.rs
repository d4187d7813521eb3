//! Captures that read descriptors from heaps (`VK_EXT_descriptor_heap`), natively and on the Vulkan layer: random
//! mappings of descriptors, push data and heaps that change between captured draws, and what captures disturb, which is
//! there for a dispatch after them.

use std::ffi::c_void;
use std::fmt::Write as _;

use ash::{ext, vk};

use super::program::Program;
use crate::common::rng::Rng;
use crate::common::{self, attachment, discard, layer};

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

/// Bytes from one value to the next, in memory and in heaps.
const APART: u32 = 256;
/// The number of values in each heap.
const VALUES: u32 = 8;
/// The descriptors of a heap come first, and behind them are values in the heap itself.
const HEAP_DATA: u32 = 4096;
const HEAP_SIZE: u32 = 2 * HEAP_DATA;
/// `maxPushDataSize`, as each device has it.
const PUSH_DATA: usize = 256;
/// The number of vertices of a draw.
const POINTS: u32 = 2;

/// Value `number` that heap `heap` leads to.
const fn value(heap: u32, number: u32) -> u32 {
    1000 * (heap + 1) + 10 * number
}

/// How a descriptor is mapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    ConstantOffset,
    PushIndex,
    IndirectIndex,
    IndirectIndexArray,
    HeapData,
    PushData,
    PushAddress,
    IndirectAddress,
}

impl Source {
    const ALL: [Self; 8] = [
        Self::ConstantOffset,
        Self::PushIndex,
        Self::IndirectIndex,
        Self::IndirectIndexArray,
        Self::HeapData,
        Self::PushData,
        Self::PushAddress,
        Self::IndirectAddress,
    ];

    /// The number of bytes of push data that it reads.
    const fn size(self) -> u32 {
        match self {
            Self::ConstantOffset => 0,
            Self::PushIndex | Self::HeapData | Self::PushData => 4,
            _ => 8,
        }
    }

    /// Whether a storage buffer can be mapped like this.
    const fn takes_storage(self) -> bool {
        !matches!(self, Self::HeapData | Self::PushData)
    }
}

/// A uniform buffer or storage buffer that a shader reads.
#[derive(Debug, Clone, Copy)]
struct Resource {
    set: u32,
    binding: u32,
    is_storage: bool,
    source: Source,
    /// The offset in push data.
    at: u32,
    /// The number of the value, if push data does not say it.
    number: u32,
}

/// Shaders and what they read.
#[derive(Debug, Clone)]
struct Shaders {
    resources: Vec<Resource>,
    /// The offset in push data of the push constant.
    constant_at: u32,
}

impl Shaders {
    /// Makes up resources, which read at most `most` bytes of push data.
    fn random(rng: &mut Rng, count: u32, most: u32, sources: &[Source]) -> Self {
        // Places of 8 bytes, in any order. A value of 4 bytes may be in the second half.
        let mut places: Vec<u32> = (0..PUSH_DATA as u32 / 8).collect();
        for last in (1..places.len()).rev() {
            places.swap(last, rng.below(last as u32 + 1) as usize);
        }
        let constant_at = places.pop().unwrap() * 8 + 4 * rng.below(2);
        let mut resources = Vec::new();
        let mut taken = 4;
        for binding in 0..count {
            let source = rng.pick(sources);
            if taken + source.size() > most {
                continue;
            }
            taken += source.size();
            let Some(place) = (if source.size() > 0 { places.pop() } else { Some(0) }) else {
                break;
            };
            let half = if source.size() == 4 { 4 * rng.below(2) } else { 0 };
            resources.push(Resource {
                set: rng.below(3) * 5,
                binding,
                is_storage: source.takes_storage() && rng.percent(50),
                source,
                at: 8 * place + half,
                number: rng.below(VALUES),
            });
        }
        Self { resources, constant_at }
    }

    /// The declarations of the resources, and an expression for the value of each. The push constant is the last one.
    fn declared(&self) -> (String, Vec<String>) {
        let mut declared = format!(
            "layout(push_constant) uniform Block {{ layout(offset = {}) uint pushed; }};\n",
            self.constant_at
        );
        let mut values = Vec::new();
        for (number, resource) in self.resources.iter().enumerate() {
            let Resource { set, binding, is_storage, .. } = resource;
            let kind = if *is_storage { "readonly buffer" } else { "uniform" };
            writeln!(
                declared,
                "layout(set = {set}, binding = {binding}) {kind} B{number} {{ uint value{number}; }};"
            )
            .unwrap();
            values.push(format!("value{number}"));
        }
        values.push("pushed".to_owned());
        (declared, values)
    }

    /// A vertex shader that captures all values, plus the vertex index.
    fn captures(&self) -> String {
        let (declared, values) = self.declared();
        let (mut outputs, mut body) = (String::new(), String::new());
        let stride = 4 * values.len();
        for (number, value) in values.iter().enumerate() {
            let offset = 4 * number;
            writeln!(
                outputs,
                "layout(location = {number}, xfb_buffer = 0, xfb_stride = {stride}, xfb_offset = {offset}) \
                 out flat uint captured{number};"
            )
            .unwrap();
            writeln!(body, "captured{number} = {value} + gl_VertexIndex;").unwrap();
        }
        format!(
            "#version 450\n{declared}{outputs}void main() {{\n{body}\
             gl_Position = vec4(0.0); gl_PointSize = 1.0; }}"
        )
    }

    /// A compute shader that writes all values to set 60, binding 0.
    fn dispatches(&self) -> String {
        let (declared, values) = self.declared();
        let body: String =
            (0..).zip(&values).map(|(n, v)| format!("found[{n}] = {v};\n")).collect();
        format!(
            "#version 450\n{declared}layout(set = 60, binding = 0) buffer F {{ uint found[]; }};\n\
             void main() {{\n{body}}}"
        )
    }

    /// The mappings of the resources. `indirect` is where in memory each resource has an index or an address, relative to
    /// the address in push data. The buffer of [`dispatches`](Self::dispatches) is at a constant offset.
    fn mappings(&self, descriptor: u32) -> Vec<heaps::Mapping> {
        let none = std::ptr::null();
        let of = |set, binding, source: Source, data| heaps::Mapping {
            s_type: heaps::s_type(5),
            p_next: none,
            set,
            first_binding: binding,
            binding_count: 1,
            resource_mask: 0x7fff_ffff,
            source: source as i32,
            data,
        };
        let constant = |number: u32| heaps::Data {
            constant: heaps::Constant {
                offset: number * descriptor,
                array_stride: 0,
                embedded: none,
                sampler: [0; 2],
            },
        };
        let mut all = vec![of(60, 0, Source::ConstantOffset, constant(2 * VALUES))];
        for resource in &self.resources {
            let Resource { set, binding, is_storage, source, at, number } = *resource;
            // The descriptors of uniform buffers come first.
            let first = if is_storage { VALUES } else { 0 };
            let data = match source {
                Source::ConstantOffset => constant(first + number),
                Source::PushIndex => heaps::Data {
                    push: heaps::PushIndex {
                        offset: first * descriptor,
                        push_offset: at,
                        index_stride: descriptor,
                        array_stride: 0,
                        embedded: none,
                        is_combined: 0,
                        sampler: [u32::MAX; 4],
                    },
                },
                Source::IndirectIndex => heaps::Data {
                    indirect: heaps::IndirectIndex {
                        offset: first * descriptor,
                        push_offset: at,
                        address_offset: INDIRECT,
                        index_stride: descriptor,
                        array_stride: 0,
                        embedded: none,
                        is_combined: 0,
                        sampler: [u32::MAX; 5],
                    },
                },
                Source::IndirectIndexArray => heaps::Data {
                    array: heaps::IndirectIndexArray {
                        offset: first * descriptor,
                        push_offset: at,
                        address_offset: INDIRECT,
                        index_stride: descriptor,
                        embedded: none,
                        is_combined: 0,
                        sampler: [u32::MAX; 4],
                    },
                },
                Source::HeapData => heaps::Data { words: [HEAP_DATA, at] },
                Source::PushData | Source::PushAddress => heaps::Data { words: [at, 0] },
                Source::IndirectAddress => heaps::Data { words: [at, INDIRECT] },
            };
            all.push(of(set, binding, source, data));
        }
        all
    }
}

/// The offset from an address in push data to what mappings read there.
const INDIRECT: u32 = 16;

/// Where the values are in memory.
#[derive(Debug, Clone, Copy)]
struct Addresses {
    /// The values that heap 0 leads to, and behind them those of heap 1.
    values: u64,
    /// For each number an index, at [`INDIRECT`], and [`APART`] bytes apart.
    indices: u64,
    /// The same with the addresses of values.
    addresses: u64,
}

/// Push data, and what shaders find with it.
#[derive(Debug, Clone)]
struct Pushed {
    data: [u8; PUSH_DATA],
    /// The value of each resource, and the push constant.
    expected: Vec<u32>,
}

impl Pushed {
    /// Data with which the shaders find random values, in a command buffer with this heap.
    fn random(rng: &mut Rng, shaders: &Shaders, heap: u32, addresses: Addresses) -> Self {
        let mut data = [0xee; PUSH_DATA];
        let mut put = |at: u32, bytes: &[u8]| {
            data[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
        };
        let mut expected = Vec::new();
        for resource in &shaders.resources {
            let Resource { source, at, .. } = *resource;
            let number = rng.below(VALUES);
            // Addresses lead to the values of heap 0, or behind them to those of heap 1.
            let other = rng.below(2);
            let apart = u64::from(number * APART);
            match source {
                Source::ConstantOffset => {}
                Source::PushIndex => put(at, &number.to_le_bytes()),
                Source::IndirectIndex | Source::IndirectIndexArray => {
                    put(at, &(addresses.indices + apart).to_le_bytes());
                }
                Source::HeapData => put(at, &(number * APART).to_le_bytes()),
                Source::PushData => put(at, &(77 * number).to_le_bytes()),
                Source::PushAddress => {
                    let value = addresses.values + u64::from((other * VALUES + number) * APART);
                    put(at, &value.to_le_bytes());
                }
                Source::IndirectAddress => {
                    put(at, &(addresses.addresses + apart).to_le_bytes());
                }
            }
            expected.push(match source {
                Source::ConstantOffset => value(heap, resource.number),
                Source::PushData => 77 * number,
                Source::PushAddress => value(other, number),
                Source::IndirectAddress => value(0, number),
                _ => value(heap, number),
            });
        }
        let constant = rng.below(1 << 20);
        put(shaders.constant_at, &constant.to_le_bytes());
        expected.push(constant);
        Self { data, expected }
    }
}

/// A device with the extension, and its commands.
struct Device {
    program: Program,
    write: heaps::WriteResources,
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
        objects.p_next = (&raw mut five).cast();
        let mut feature = heaps::Features {
            s_type: heaps::s_type(9),
            p_next: (&raw mut objects).cast(),
            enabled: [1, 0],
        };
        let extensions =
            [c"VK_EXT_descriptor_heap", c"VK_KHR_maintenance5", ext::shader_object::NAME];
        let program = Program::newer(&extensions, (&raw mut feature).cast())?;
        // SAFETY: the types are those of the commands; all members of the limits may be zero.
        unsafe {
            let mut limits: heaps::Limits = std::mem::zeroed();
            limits.s_type = heaps::s_type(8);
            let mut properties = vk::PhysicalDeviceProperties2::default();
            properties.p_next = (&raw mut limits).cast();
            let physical = program.instance().enumerate_physical_devices().unwrap()[0];
            program.instance().get_physical_device_properties2(physical, &mut properties);
            assert!(limits.max_push_data >= PUSH_DATA as u64);
            Some(Self {
                write: program.command(c"vkWriteResourceDescriptorsEXT"),
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
    unsafe fn put(&self, place: *mut u8, ty: vk::DescriptorType, address: u64, size: u64) {
        let range = heaps::Range { address, size };
        let data = (&raw const range).cast();
        let resource =
            heaps::Resource { s_type: heaps::s_type(2), p_next: std::ptr::null(), ty, data };
        let place =
            heaps::HostRange { address: place.cast(), size: self.limits.buffer_size as usize };
        // SAFETY: the caller's contract.
        let result = unsafe {
            (self.write)(self.program.raw.handle(), 1, &raw const resource, &raw const place)
        };
        assert_eq!(result, vk::Result::SUCCESS);
    }

    unsafe fn push_data(&self, cmd: vk::CommandBuffer, offset: usize, data: &[u8]) {
        let info = heaps::PushData {
            s_type: heaps::s_type(4),
            p_next: std::ptr::null(),
            offset: offset as u32,
            data: heaps::HostRange { address: data.as_ptr().cast_mut().cast(), size: data.len() },
        };
        // SAFETY: the caller's contract.
        unsafe { (self.push)(cmd, &raw const info) };
    }

    /// Pushes those dwords that differ from what was pushed before.
    unsafe fn push_changed(
        &self,
        cmd: vk::CommandBuffer,
        before: &[u8; PUSH_DATA],
        now: &[u8; PUSH_DATA],
    ) {
        for (number, (old, new)) in before.chunks(4).zip(now.chunks(4)).enumerate() {
            if old != new {
                // SAFETY: the caller's contract.
                unsafe { self.push_data(cmd, 4 * number, new) };
            }
        }
    }
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
unsafe fn compute_pipeline(
    device: &ash::Device,
    source: &str,
    mappings: &heaps::Mappings,
) -> vk::Pipeline {
    let words = common::compile_stage("comp", source, &[]);
    // SAFETY: the caller's contract.
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
unsafe fn graphics_pipeline(
    device: &ash::Device,
    shaders: &[(vk::ShaderStageFlags, &[u32], &heaps::Mappings)],
    topology: vk::PrimitiveTopology,
) -> vk::Pipeline {
    // SAFETY: the caller's contract.
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

/// How a random program differs from others.
#[derive(Debug, Clone, Copy)]
struct Case {
    seed: u64,
    /// Whether captures may have to come before their pass.
    is_withheld: bool,
    /// Whether the shaders read more push data than is left beside the parameters of captures.
    is_full: bool,
    /// Whether another heap is bound in the pass.
    rebinds: bool,
    /// Whether a pipeline with descriptor sets captures in the pass, too.
    is_mixed: bool,
}

/// With descriptor sets in place of heaps.
const WITH_SETS: &str = "#version 450
    layout(push_constant) uniform Block { uint pushed; };
    layout(set = 0, binding = 0) uniform Values { uint value; };
    layout(location = 0, xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0) out flat uint captured;
    void main() {
        captured = value + pushed + gl_VertexIndex;
        gl_Position = vec4(0.0);
        gl_PointSize = 1.0;
    }";

fn run(case: Case) {
    let Some(mut device) = Device::open() else { return };
    let rng = &mut Rng::new(case.seed);
    let (count, most, sources) = match case.is_full {
        true => {
            (24, PUSH_DATA as u32, &[Source::PushIndex, Source::PushAddress, Source::PushData][..])
        }
        false => (rng.range(1, 9), 100, &Source::ALL[..]),
    };
    let shaders = Shaders::random(rng, count, most, sources);
    let columns = shaders.resources.len() + 1;
    use vk::BufferUsageFlags as Usage;
    use vk::BufferUsageFlags2KHR as Usage2;
    let dwords = (APART / 4) as usize;
    let draws = 4;
    let program = &mut device.program;
    let records = draws * POINTS as usize;
    let (target, captured) =
        program.buffer(records * columns, Usage::TRANSFORM_FEEDBACK_BUFFER_EXT);
    let (set_target, set_captured) =
        program.buffer(POINTS as usize, Usage::TRANSFORM_FEEDBACK_BUFFER_EXT);
    if case.is_withheld {
        _ = program.buffer(4, Usage::INDIRECT_BUFFER);
    }
    let usage = Usage2::UNIFORM_BUFFER | Usage2::STORAGE_BUFFER;
    let (uniforms, values, values_at) =
        program.buffer_with_address(2 * VALUES as usize * dwords, usage);
    let (_, indices, indices_at) = program.buffer_with_address(VALUES as usize * dwords, usage);
    let (_, pointers, pointers_at) = program.buffer_with_address(VALUES as usize * dwords, usage);
    let (_, found, found_at) = program.buffer_with_address(columns, usage);
    let memory = [0, 1].map(|_| {
        program.buffer_with_address((HEAP_SIZE / 4) as usize, heaps::USAGE | Usage2::UNIFORM_BUFFER)
    });
    let addresses = Addresses { values: values_at, indices: indices_at, addresses: pointers_at };
    let descriptor = device.descriptor();
    let raw = &device.program.raw;
    // SAFETY: every handle is of the device, and in use only until the submission is done.
    unsafe {
        for number in 0..VALUES {
            let at = number as usize * dwords;
            indices.add(at + INDIRECT as usize / 4).write(number);
            let address = values_at + u64::from(number * APART);
            pointers.add(at + INDIRECT as usize / 4).cast::<u64>().write(address);
            for heap in 0..2 {
                let at = (heap * VALUES + number) * APART;
                values.byte_add(at as usize).write(value(heap, number));
                let (_, start, _) = memory[heap as usize];
                let address = values_at + u64::from(at);
                let start = start.cast::<u8>();
                for (first, ty) in [
                    (0, vk::DescriptorType::UNIFORM_BUFFER),
                    (VALUES, vk::DescriptorType::STORAGE_BUFFER),
                ] {
                    let place = start.add(((first + number) * descriptor) as usize);
                    device.put(place, ty, address, 16);
                }
                let data = HEAP_DATA + number * APART;
                start.add(data as usize).cast::<u32>().write(value(heap, number));
            }
        }
        for (_, start, _) in memory {
            let place = start.cast::<u8>().add((2 * VALUES * descriptor) as usize);
            device.put(place, vk::DescriptorType::STORAGE_BUFFER, found_at, 4 * columns as u64);
        }
        let bind = |cmd, heap: usize| {
            let reserved = device.limits.reserved_resources;
            let info = heaps::Bind {
                s_type: heaps::s_type(3),
                p_next: std::ptr::null(),
                range: heaps::Range { address: memory[heap].2, size: HEAP_SIZE.into() },
                reserved_offset: u64::from(HEAP_SIZE) - reserved,
                reserved_size: reserved,
            };
            (device.bind_resources)(cmd, &raw const info);
        };
        let all = shaders.mappings(descriptor);
        let mappings = mappings_of(&all);
        let vertex = common::compile(&shaders.captures(), &[]);
        let captures = graphics_pipeline(
            raw,
            &[(vk::ShaderStageFlags::VERTEX, &vertex, &mappings)],
            vk::PrimitiveTopology::POINT_LIST,
        );
        let dispatches = compute_pipeline(raw, &shaders.dispatches(), &mappings);
        let sets = Sets::new(&device.program, uniforms);

        // What is pushed for each draw, and the heap that is bound then.
        let heap_of = |draw: usize| u32::from(case.rebinds && draw >= draws / 2);
        let pushed: Vec<Pushed> = (0..draws)
            .map(|draw| Pushed::random(rng, &shaders, heap_of(draw), addresses))
            .collect();
        let writes = (
            vk::PipelineStageFlags::TRANSFORM_FEEDBACK_EXT | vk::PipelineStageFlags::COMPUTE_SHADER,
            vk::AccessFlags::TRANSFORM_FEEDBACK_WRITE_EXT | vk::AccessFlags::SHADER_WRITE,
        );
        let xfb = device.program.xfb();
        device.program.submit(writes, |cmd| {
            use vk::PipelineBindPoint as Point;
            let (none, nowhere) = (std::ptr::null(), std::ptr::null());
            let begin = |target: &vk::Buffer, size: u64| {
                let bind = xfb.cmd_bind_transform_feedback_buffers_ext;
                bind(cmd, 0, 1, &raw const *target, [0].as_ptr(), [size].as_ptr());
                (xfb.cmd_begin_transform_feedback_ext)(cmd, 0, 0, none, nowhere);
            };
            let end = || (xfb.cmd_end_transform_feedback_ext)(cmd, 0, 0, none, nowhere);
            // What is bound before the pass is there for what comes after it, too.
            bind(cmd, 0);
            device.push_data(cmd, 0, &pushed[0].data);
            raw.cmd_bind_pipeline(cmd, Point::COMPUTE, dispatches);
            raw.cmd_bind_pipeline(cmd, Point::GRAPHICS, captures);
            let info = vk::RenderingInfo::default().render_area(attachment::area(1)).layer_count(1);
            raw.cmd_begin_rendering(cmd, &info);
            begin(&target, 4 * (records * columns) as u64);
            for draw in 0..draws {
                if draw > 0 {
                    if heap_of(draw) != heap_of(draw - 1) {
                        bind(cmd, 1);
                    }
                    device.push_changed(cmd, &pushed[draw - 1].data, &pushed[draw].data);
                }
                raw.cmd_draw(cmd, POINTS, 1, 0, 0);
            }
            end();
            if case.is_mixed {
                raw.cmd_bind_pipeline(cmd, Point::GRAPHICS, sets.pipeline);
                sets.bind(raw, cmd);
                begin(&set_target, 4 * u64::from(POINTS));
                raw.cmd_draw(cmd, POINTS, 1, 0, 0);
                end();
            }
            raw.cmd_end_rendering(cmd);
            if case.is_mixed {
                bind(cmd, heap_of(draws - 1) as usize);
                device.push_data(cmd, 0, &pushed[draws - 1].data);
            }
            raw.cmd_dispatch(cmd, 1, 1, 1);
        });
        let mut expected = Vec::new();
        for pushed in &pushed {
            for vertex in 0..POINTS {
                expected.extend(pushed.expected.iter().map(|value| value + vertex));
            }
        }
        let captured = std::slice::from_raw_parts(captured, records * columns);
        assert_eq!(captured, expected, "{case:?} {shaders:?}");
        let found = std::slice::from_raw_parts(found, columns);
        assert_eq!(found, pushed[draws - 1].expected, "after captures: {case:?} {shaders:?}");
        if case.is_mixed {
            let first = value(0, 1) + Sets::CONSTANT;
            let captured = std::slice::from_raw_parts(set_captured, POINTS as usize);
            assert_eq!(captured, [first, first + 1], "with sets: {case:?}");
        }
        [captures, dispatches].iter().for_each(|pipeline| raw.destroy_pipeline(*pipeline, None));
        sets.destroy(raw);
    }
}

/// A pipeline with descriptor sets and push constants.
struct Sets {
    pipeline: vk::Pipeline,
    layout: vk::PipelineLayout,
    set_layout: vk::DescriptorSetLayout,
    pool: vk::DescriptorPool,
    set: vk::DescriptorSet,
}

impl Sets {
    const CONSTANT: u32 = 7;

    /// # Safety
    /// The buffer has the values of heap 0.
    unsafe fn new(program: &Program, values: vk::Buffer) -> Self {
        let device = &program.raw;
        let ty = vk::DescriptorType::UNIFORM_BUFFER;
        // SAFETY: the caller's contract.
        unsafe {
            let bindings = [vk::DescriptorSetLayoutBinding::default()
                .descriptor_type(ty)
                .descriptor_count(1)
                .stage_flags(vk::ShaderStageFlags::VERTEX)];
            let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
            let set_layout = device.create_descriptor_set_layout(&info, None).unwrap();
            let ranges = [vk::PushConstantRange {
                stage_flags: vk::ShaderStageFlags::VERTEX,
                offset: 0,
                size: 4,
            }];
            let layouts = [set_layout];
            let info = vk::PipelineLayoutCreateInfo::default()
                .set_layouts(&layouts)
                .push_constant_ranges(&ranges);
            let layout = device.create_pipeline_layout(&info, None).unwrap();
            let sizes = [vk::DescriptorPoolSize { ty, descriptor_count: 1 }];
            let info = vk::DescriptorPoolCreateInfo::default().max_sets(1).pool_sizes(&sizes);
            let pool = device.create_descriptor_pool(&info, None).unwrap();
            let info = vk::DescriptorSetAllocateInfo::default()
                .descriptor_pool(pool)
                .set_layouts(&layouts);
            let set = device.allocate_descriptor_sets(&info).unwrap()[0];
            let buffers =
                [vk::DescriptorBufferInfo { buffer: values, offset: APART.into(), range: 16 }];
            let write = vk::WriteDescriptorSet::default()
                .dst_set(set)
                .descriptor_type(ty)
                .buffer_info(&buffers);
            device.update_descriptor_sets(&[write], &[]);
            let words = common::compile(WITH_SETS, &[]);
            let pipeline = discard::pipeline(device, layout, &words);
            Self { pipeline, layout, set_layout, pool, set }
        }
    }

    unsafe fn bind(&self, device: &ash::Device, cmd: vk::CommandBuffer) {
        let point = vk::PipelineBindPoint::GRAPHICS;
        // SAFETY: the caller's contract.
        unsafe {
            device.cmd_bind_descriptor_sets(cmd, point, self.layout, 0, &[self.set], &[]);
            let stages = vk::ShaderStageFlags::VERTEX;
            device.cmd_push_constants(cmd, self.layout, stages, 0, &Self::CONSTANT.to_le_bytes());
        }
    }

    unsafe fn destroy(self, device: &ash::Device) {
        // SAFETY: the caller's contract.
        unsafe {
            device.destroy_pipeline(self.pipeline, None);
            device.destroy_pipeline_layout(self.layout, None);
            device.destroy_descriptor_set_layout(self.set_layout, None);
            device.destroy_descriptor_pool(self.pool, None);
        }
    }
}

/// The seed of the first program, and the number of programs.
fn seeds() -> std::ops::Range<u64> {
    let first = std::env::var("VKXFB_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    first..first + 32
}

#[test]
fn captures_read_heaps() {
    for seed in seeds() {
        let bit = |bit: u32| seed >> bit & 1 == 1;
        run(Case { seed, is_withheld: bit(0), rebinds: bit(1), is_mixed: bit(2), is_full: bit(3) });
    }
}

#[test]
fn captures_of_the_layer_read_heaps() {
    layer::run_on_it(captures_read_heaps, &[]);
}
