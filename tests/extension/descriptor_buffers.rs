//! Captures that read descriptors from buffers (`VK_EXT_descriptor_buffer`), natively and on the Vulkan
//! layer: offsets and buffers change between captured draws, and what captures disturb is there for a
//! dispatch after them.

use ash::{ext, vk};

use super::program::Program;
use crate::common::{self, attachment, discard, layer};

const CAPTURES: &str = "#version 450
    layout(set = 0, binding = 0) uniform Values { uint value; };
    layout(location = 0, xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0) out flat uint captured;
    void main() {
        captured = value + gl_VertexIndex;
        gl_Position = vec4(0.0);
        gl_PointSize = 1.0;
    }";

const DISPATCHES: &str = "#version 450
    layout(set = 0, binding = 0) uniform Values { uint value; };
    layout(set = 1, binding = 0) buffer Found { uint found; };
    void main() {
        found = value;
    }";

/// Bytes from one value to the next.
const APART: u64 = 256;
/// The values in the uniform buffer: two for each descriptor buffer.
const VALUES: [u32; 4] = [100, 200, 300, 400];
/// The number of points of a draw.
const POINTS: u32 = 2;

/// The offsets of the sets in a descriptor buffer.
#[derive(Clone, Copy)]
struct Sets {
    uniforms: [u64; 2],
    storage: [u64; 1],
}

/// A case.
#[derive(Debug, Clone, Copy)]
struct Case {
    /// Whether other descriptor buffers are bound in the pass.
    rebinds: bool,
    /// Whether captures may have to come before their pass.
    is_withheld: bool,
}

fn run(case: Case) {
    let mut feature =
        vk::PhysicalDeviceDescriptorBufferFeaturesEXT::default().descriptor_buffer(true);
    let extensions = [ext::descriptor_buffer::NAME, c"VK_KHR_maintenance5"];
    let mut five = vk::PhysicalDeviceMaintenance5FeaturesKHR::default().maintenance5(true);
    feature.p_next = (&raw mut five).cast();
    let chain = (&raw mut feature).cast();
    let Some(mut device) = Program::newer(&extensions, chain) else { return };
    use vk::BufferUsageFlags as Usage;
    let (first, captured) = device.buffer(4, Usage::TRANSFORM_FEEDBACK_BUFFER_EXT);
    let (second, captured_second) = device.buffer(2, Usage::TRANSFORM_FEEDBACK_BUFFER_EXT);
    let (third, captured_third) = device.buffer(2, Usage::TRANSFORM_FEEDBACK_BUFFER_EXT);
    if case.is_withheld {
        _ = device.buffer(4, Usage::INDIRECT_BUFFER);
    }
    use vk::BufferUsageFlags2KHR as Usage2;
    let dwords = (APART / 4) as usize;
    let (_, values, values_at) =
        device.buffer_with_address(VALUES.len() * dwords, Usage2::UNIFORM_BUFFER);
    let (_, found, found_at) = device.buffer_with_address(4, Usage2::STORAGE_BUFFER);
    let usage = Usage2::RESOURCE_DESCRIPTOR_BUFFER_EXT;
    let buffers = [0, 1].map(|_| device.buffer_with_address(4096, usage));
    let functions = ext::descriptor_buffer::Device::new(device.instance(), &device.raw);
    // SAFETY: every handle is of the device, and in use only until the submission is done.
    unsafe {
        let raw = &device.raw;
        for (number, value) in VALUES.into_iter().enumerate() {
            values.add(number * dwords).write(value);
        }
        let set_layout = |ty, stages| {
            let bindings = [vk::DescriptorSetLayoutBinding::default()
                .descriptor_type(ty)
                .descriptor_count(1)
                .stage_flags(stages)];
            let info = vk::DescriptorSetLayoutCreateInfo::default()
                .flags(vk::DescriptorSetLayoutCreateFlags::DESCRIPTOR_BUFFER_EXT)
                .bindings(&bindings);
            raw.create_descriptor_set_layout(&info, None).unwrap()
        };
        use vk::ShaderStageFlags as Stage;
        let set_layouts = [
            set_layout(vk::DescriptorType::UNIFORM_BUFFER, Stage::VERTEX | Stage::COMPUTE),
            set_layout(vk::DescriptorType::STORAGE_BUFFER, Stage::COMPUTE),
        ];
        let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&set_layouts);
        let layout = raw.create_pipeline_layout(&info, None).unwrap();

        let mut limits = vk::PhysicalDeviceDescriptorBufferPropertiesEXT::default();
        let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut limits);
        let physical = device.instance().enumerate_physical_devices().unwrap()[0];
        device.instance().get_physical_device_properties2(physical, &mut properties);
        let size_of = |layout| {
            let size = functions.get_descriptor_set_layout_size(layout);
            size.next_multiple_of(limits.descriptor_buffer_offset_alignment)
        };
        let [uniform, storage] = set_layouts.map(size_of);
        let sets = Sets { uniforms: [0, uniform], storage: [2 * uniform] };
        assert!(2 * uniform + storage <= 4 * 4096);
        let put = |start: *mut u32, at: u64, layout, ty, address| {
            let at = at + functions.get_descriptor_set_layout_binding_offset(layout, 0);
            let range = vk::DescriptorAddressInfoEXT::default().address(address).range(16);
            let (size, data) = match ty {
                vk::DescriptorType::UNIFORM_BUFFER => (
                    limits.uniform_buffer_descriptor_size,
                    vk::DescriptorDataEXT { p_uniform_buffer: &raw const range },
                ),
                _ => (
                    limits.storage_buffer_descriptor_size,
                    vk::DescriptorDataEXT { p_storage_buffer: &raw const range },
                ),
            };
            let info = vk::DescriptorGetInfoEXT { ty, data, ..Default::default() };
            let place = start.cast::<u8>().add(at as usize);
            functions.get_descriptor(&info, std::slice::from_raw_parts_mut(place, size));
        };
        for (number, (_, start, _)) in (0..).zip(buffers) {
            for (place, at) in (0..).zip(sets.uniforms) {
                let value = values_at + APART * (2 * number + place);
                put(start, at, set_layouts[0], vk::DescriptorType::UNIFORM_BUFFER, value);
            }
            let at = sets.storage[0];
            put(start, at, set_layouts[1], vk::DescriptorType::STORAGE_BUFFER, found_at);
        }
        let info = vk::GraphicsPipelineCreateInfo::default()
            .flags(vk::PipelineCreateFlags::DESCRIPTOR_BUFFER_EXT)
            .layout(layout);
        let shaders = [(vk::ShaderStageFlags::VERTEX, &*common::compile(CAPTURES, &[]))];
        let captures = discard::of_shaders(raw, &shaders, info);
        let info = vk::ComputePipelineCreateInfo::default()
            .flags(vk::PipelineCreateFlags::DESCRIPTOR_BUFFER_EXT)
            .layout(layout);
        let dispatches =
            discard::compute(raw, &common::compile_stage("comp", DISPATCHES, &[]), info);

        let writes = (
            vk::PipelineStageFlags::TRANSFORM_FEEDBACK_EXT | vk::PipelineStageFlags::COMPUTE_SHADER,
            vk::AccessFlags::TRANSFORM_FEEDBACK_WRITE_EXT | vk::AccessFlags::SHADER_WRITE,
        );
        let xfb = device.xfb();
        device.submit(writes, |cmd| {
            use vk::PipelineBindPoint as Point;
            let bind_buffers = |number: usize| {
                let info = vk::DescriptorBufferBindingInfoEXT::default()
                    .address(buffers[number].2)
                    .usage(Usage::RESOURCE_DESCRIPTOR_BUFFER_EXT | Usage::SHADER_DEVICE_ADDRESS);
                functions.cmd_bind_descriptor_buffers(cmd, &[info]);
            };
            let set = |point, number, offset| {
                let (buffers, offsets) = ([0], [offset]);
                let set = |buffers: &[u32], offsets: &[u64]| {
                    functions.cmd_set_descriptor_buffer_offsets(
                        cmd, point, layout, number, buffers, offsets,
                    );
                };
                set(&buffers, &offsets);
            };
            let set_compute = || {
                set(Point::COMPUTE, 0, sets.uniforms[0]);
                set(Point::COMPUTE, 1, sets.storage[0]);
            };
            // In the order of the draws; without an offset, the one of before stays.
            let capture = |target: &vk::Buffer, size: u64, draws: &[Option<u64>]| {
                xfb.bind_target(cmd, *target, 0, size);
                xfb.begin(cmd);
                for offset in draws {
                    if let Some(offset) = offset {
                        set(Point::GRAPHICS, 0, *offset);
                    }
                    raw.cmd_draw(cmd, POINTS, 1, 0, 0);
                }
                xfb.end(cmd);
            };
            bind_buffers(0);
            raw.cmd_bind_pipeline(cmd, Point::GRAPHICS, captures);
            attachment::begin_rendering(raw, cmd);
            capture(&first, 16, &sets.uniforms.map(Some));
            if case.rebinds {
                bind_buffers(1);
            }
            capture(&second, 8, &[Some(sets.uniforms[1])]);
            raw.cmd_end_rendering(cmd);
            // What is bound before a pass, for it and for what comes after it.
            raw.cmd_bind_pipeline(cmd, Point::COMPUTE, dispatches);
            set(Point::GRAPHICS, 0, sets.uniforms[1]);
            set_compute();
            attachment::begin_rendering(raw, cmd);
            capture(&third, 8, &[None]);
            raw.cmd_end_rendering(cmd);
            raw.cmd_dispatch(cmd, 1, 1, 1);
        });
        let expected = [VALUES[0], VALUES[0] + 1, VALUES[1], VALUES[1] + 1];
        assert_eq!(captured.cast::<[u32; 4]>().read(), expected, "{case:?}");
        let value = VALUES[if case.rebinds { 3 } else { 1 }];
        assert_eq!(captured_second.cast::<[u32; 2]>().read(), [value, value + 1], "{case:?}");
        // On lavapipe 26.2 both bind points read at the offsets that were set last. The layer sets those of its
        // dispatches itself.
        let properties = device.instance().get_physical_device_properties(physical);
        let name = properties.device_name_as_c_str().unwrap().to_string_lossy();
        if layer::is_there() || !name.contains("llvmpipe") {
            let third = captured_third.cast::<[u32; 2]>().read();
            assert_eq!(third, [value, value + 1], "{case:?}");
            assert_eq!(found.read(), VALUES[if case.rebinds { 2 } else { 0 }], "{case:?}");
        }

        [captures, dispatches]
            .into_iter()
            .for_each(|pipeline| raw.destroy_pipeline(pipeline, None));
        raw.destroy_pipeline_layout(layout, None);
        set_layouts.into_iter().for_each(|set| raw.destroy_descriptor_set_layout(set, None));
    }
}

#[test]
fn captures_read_descriptor_buffers() {
    for rebinds in [false, true] {
        for is_withheld in [false, true] {
            run(Case { rebinds, is_withheld });
        }
    }
}

#[test]
fn captures_of_the_layer_read_descriptor_buffers() {
    layer::run_on_it(captures_read_descriptor_buffers, &[]);
}
