//! Captures that sample images by descriptors in heaps and by embedded samplers, with a query and a draw of what was
//! captured, whose kernels are recorded while heaps are bound.

use ash::vk;

use super::{Device, graphics_pipeline, heaps, mapping, mappings_of};
use crate::common::commands::query_pool;
use crate::common::{self, attachment, layer};

const SHADER: &str = "#version 450
    layout(set = 0, binding = 0) uniform sampler2D separate;
    layout(set = 0, binding = 1) uniform sampler2D combined;
    layout(set = 0, binding = 2) uniform sampler2D embedded;
    layout(location = 0, xfb_buffer = 0, xfb_stride = 12, xfb_offset = 0) out vec3 captured;
    void main() {
        vec2 outside = vec2(2.0);
        captured.x = textureLod(separate, outside, 0.0).x;
        captured.y = textureLod(combined, outside, 0.0).x;
        captured.z = textureLod(embedded, outside, 0.0).x;
        gl_Position = vec4(0.0);
        gl_PointSize = 1.0;
    }";

const POINTS: u32 = 3;
/// The images have one texel.
const TEXELS: [f32; 2] = [0.25, 0.75];

/// Where in push data the indices are.
const IMAGE_AT: u32 = 0;
const SAMPLER_AT: u32 = 8;
const COMBINED_AT: u32 = 12;

const fn sampler(address: vk::SamplerAddressMode) -> vk::SamplerCreateInfo<'static> {
    vk::SamplerCreateInfo {
        address_mode_u: address,
        address_mode_v: address,
        address_mode_w: address,
        border_color: vk::BorderColor::FLOAT_OPAQUE_WHITE,
        s_type: vk::StructureType::SAMPLER_CREATE_INFO,
        p_next: std::ptr::null(),
        flags: vk::SamplerCreateFlags::empty(),
        mag_filter: vk::Filter::NEAREST,
        min_filter: vk::Filter::NEAREST,
        mipmap_mode: vk::SamplerMipmapMode::NEAREST,
        mip_lod_bias: 0.0,
        anisotropy_enable: 0,
        max_anisotropy: 1.0,
        compare_enable: 0,
        compare_op: vk::CompareOp::NEVER,
        min_lod: 0.0,
        max_lod: 0.0,
        unnormalized_coordinates: 0,
        _marker: std::marker::PhantomData,
    }
}

fn run() {
    let Some(mut device) = Device::open() else { return };
    let program = &mut device.program;
    use vk::BufferUsageFlags as Usage;
    let (target, captured) =
        program.buffer(3 * POINTS as usize, Usage::TRANSFORM_FEEDBACK_BUFFER_EXT);
    let (again, captured_again) =
        program.buffer(3 * POINTS as usize, Usage::TRANSFORM_FEEDBACK_BUFFER_EXT);
    let counter_usage = Usage::TRANSFORM_FEEDBACK_COUNTER_BUFFER_EXT | Usage::INDIRECT_BUFFER;
    let (counter, _) = program.buffer(1, counter_usage);
    let (results, counted) = program.buffer(2, Usage::TRANSFER_DST);
    let (_, heap, heap_at) = program.buffer_with_address(4096, heaps::USAGE);
    let (_, samplers, samplers_at) = program.buffer_with_address(1 << 16, heaps::USAGE);
    let raw = &device.program.raw;
    let (image_size, sampler_size) =
        (device.limits.image_size as u32, device.limits.sampler_size as u32);
    // SAFETY: every handle is of the device, and in use only until the submission is done.
    unsafe {
        let images = TEXELS.map(|_| {
            let info = vk::ImageCreateInfo::default()
                .image_type(vk::ImageType::TYPE_2D)
                .format(vk::Format::R32_SFLOAT)
                .extent(vk::Extent3D { width: 1, height: 1, depth: 1 })
                .mip_levels(1)
                .array_layers(1)
                .samples(vk::SampleCountFlags::TYPE_1)
                .usage(vk::ImageUsageFlags::SAMPLED | vk::ImageUsageFlags::TRANSFER_DST);
            let image = raw.create_image(&info, None).unwrap();
            let needs = raw.get_image_memory_requirements(image);
            let memory = device.program.allocate(needs, vk::MemoryPropertyFlags::empty());
            raw.bind_image_memory(image, memory, 0).unwrap();
            (image, memory)
        });
        let range = vk::ImageSubresourceRange::default()
            .aspect_mask(vk::ImageAspectFlags::COLOR)
            .level_count(1)
            .layer_count(1);
        for (number, (image, _)) in images.iter().enumerate() {
            let view = vk::ImageViewCreateInfo::default()
                .image(*image)
                .view_type(vk::ImageViewType::TYPE_2D)
                .format(vk::Format::R32_SFLOAT)
                .subresource_range(range);
            let info = heaps::Image {
                s_type: heaps::s_type(1),
                p_next: std::ptr::null(),
                view: &raw const view,
                layout: vk::ImageLayout::GENERAL,
            };
            let resource = heaps::Resource {
                s_type: heaps::s_type(2),
                p_next: std::ptr::null(),
                ty: vk::DescriptorType::SAMPLED_IMAGE,
                data: (&raw const info).cast(),
            };
            let address = heap.byte_add(number * image_size as usize).cast();
            let place = heaps::HostRange { address, size: image_size as usize };
            let written = (device.write)(raw.handle(), 1, &raw const resource, &raw const place);
            assert_eq!(written, vk::Result::SUCCESS);
        }
        let modes =
            [vk::SamplerAddressMode::CLAMP_TO_EDGE, vk::SamplerAddressMode::CLAMP_TO_BORDER];
        let infos = modes.map(sampler);
        for (number, info) in infos.iter().enumerate() {
            let address = samplers.byte_add(number * sampler_size as usize).cast();
            let place = heaps::HostRange { address, size: sampler_size as usize };
            let written =
                (device.write_samplers)(raw.handle(), 1, &raw const *info, &raw const place);
            assert_eq!(written, vk::Result::SUCCESS);
        }

        let push = |push_offset, is_combined, embedded, sampler_at| heaps::Data {
            push: heaps::PushIndex {
                offset: 0,
                push_offset,
                index_stride: image_size,
                array_stride: 0,
                embedded,
                is_combined,
                sampler: [0, sampler_at, sampler_size, 0],
            },
        };
        let (none, border) = (std::ptr::null(), (&raw const infos[1]).cast());
        let all = [
            mapping(0, 0, 1, push(IMAGE_AT, 0, none, SAMPLER_AT)),
            mapping(0, 1, 1, push(COMBINED_AT, 1, none, u32::MAX)),
            mapping(0, 2, 1, push(IMAGE_AT, 0, border, u32::MAX)),
        ];
        let words = common::compile(SHADER, &[]);
        let shaders = [(vk::ShaderStageFlags::VERTEX, &words[..], &mappings_of(&all))];
        let pipeline = graphics_pipeline(raw, &shaders, vk::PrimitiveTopology::POINT_LIST);
        let queries = query_pool(raw, vk::QueryType::TRANSFORM_FEEDBACK_STREAM_EXT, 1);

        let writes = (
            vk::PipelineStageFlags::TRANSFORM_FEEDBACK_EXT | vk::PipelineStageFlags::TRANSFER,
            vk::AccessFlags::TRANSFORM_FEEDBACK_WRITE_EXT | vk::AccessFlags::TRANSFER_WRITE,
        );
        let xfb = device.program.xfb();
        let resources = device.resources_at(heap_at, 4 * 4096);
        let bound_samplers = device.samplers_at(samplers_at, 4 << 16);
        device.program.submit(writes, |cmd| {
            use vk::{AccessFlags as Access, PipelineStageFlags as Stage};
            let barrier = |(from, by): (_, _), (to, with): (_, _), images: &[_]| {
                let memory = vk::MemoryBarrier::default().src_access_mask(by).dst_access_mask(with);
                let flags = vk::DependencyFlags::empty();
                raw.cmd_pipeline_barrier(cmd, from, to, flags, &[memory], &[], images);
            };
            let to_general: Vec<_> = images
                .iter()
                .map(|(image, _)| {
                    vk::ImageMemoryBarrier::default()
                        .dst_access_mask(Access::TRANSFER_WRITE)
                        .new_layout(vk::ImageLayout::GENERAL)
                        .image(*image)
                        .subresource_range(range)
                })
                .collect();
            let start = (Stage::TOP_OF_PIPE, Access::empty());
            let clear = (Stage::TRANSFER, Access::TRANSFER_WRITE);
            barrier(start, clear, &to_general);
            for ((image, _), texel) in images.iter().zip(TEXELS) {
                let color = vk::ClearColorValue { float32: [texel; 4] };
                let layout = vk::ImageLayout::GENERAL;
                raw.cmd_clear_color_image(cmd, *image, layout, &color, &[range]);
            }
            barrier(clear, (Stage::VERTEX_SHADER, Access::SHADER_READ), &[]);
            (device.bind_resources)(cmd, &raw const resources);
            (device.bind_samplers)(cmd, &raw const bound_samplers);
            // The second image with the sampler of the border, and the first one with that of the edge.
            device.push_data(cmd, IMAGE_AT as usize, &1_u32.to_le_bytes());
            device.push_data(cmd, SAMPLER_AT as usize, &1_u32.to_le_bytes());
            device.push_data(cmd, COMBINED_AT as usize, &0_u32.to_le_bytes());
            raw.cmd_bind_pipeline(cmd, vk::PipelineBindPoint::GRAPHICS, pipeline);
            raw.cmd_reset_query_pool(cmd, queries, 0, 1);
            let info = vk::RenderingInfo::default().render_area(attachment::area(1)).layer_count(1);
            let capture = |target: &vk::Buffer, draw: &dyn Fn()| {
                raw.cmd_begin_rendering(cmd, &info);
                let bind = xfb.cmd_bind_transform_feedback_buffers_ext;
                let size = u64::from(12 * POINTS);
                bind(cmd, 0, 1, &raw const *target, [0].as_ptr(), [size].as_ptr());
                xfb.begin(cmd);
                draw();
                let offset = 0;
                (xfb.cmd_end_transform_feedback_ext)(
                    cmd,
                    0,
                    1,
                    &raw const counter,
                    &raw const offset,
                );
                raw.cmd_end_rendering(cmd);
            };
            capture(&target, &|| {
                raw.cmd_begin_query(cmd, queries, 0, vk::QueryControlFlags::empty());
                raw.cmd_draw(cmd, POINTS, 1, 0, 0);
                raw.cmd_end_query(cmd, queries, 0);
            });
            let flags = vk::QueryResultFlags::WAIT;
            raw.cmd_copy_query_pool_results(cmd, queries, 0, 1, results, 0, 8, flags);
            barrier(
                (Stage::TRANSFORM_FEEDBACK_EXT, Access::TRANSFORM_FEEDBACK_COUNTER_WRITE_EXT),
                (
                    Stage::DRAW_INDIRECT | Stage::TRANSFORM_FEEDBACK_EXT,
                    Access::TRANSFORM_FEEDBACK_COUNTER_READ_EXT | Access::INDIRECT_COMMAND_READ,
                ),
                &[],
            );
            // As many vertices as were captured.
            capture(&again, &|| {
                (xfb.cmd_draw_indirect_byte_count_ext)(cmd, 1, 0, counter, 0, 0, 12);
            });
        });
        let expected = [1.0, TEXELS[0], 1.0].repeat(POINTS as usize);
        for captured in [captured, captured_again] {
            let captured = std::slice::from_raw_parts(captured.cast::<f32>(), 3 * POINTS as usize);
            assert_eq!(captured, expected);
        }
        assert_eq!([counted.read(), counted.add(1).read()], [POINTS; 2], "what the query counts");
        raw.destroy_query_pool(queries, None);
        raw.destroy_pipeline(pipeline, None);
        for (image, memory) in images {
            raw.destroy_image(image, None);
            raw.free_memory(memory, None);
        }
    }
}

#[test]
fn captures_sample_images_in_heaps() {
    run();
}

#[test]
fn captures_of_the_layer_sample_images_in_heaps() {
    layer::run_on_it(captures_sample_images_in_heaps, &[]);
}
