//! Records commands with a test driver that logs the arguments that it gets. The log must be the same whether or not
//! the layer stores the commands until the pass ends.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::cell::RefCell;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ash::vk::Handle;
use proptest::prelude::*;

use super::*;
use crate::command_buffers::{allocated, device_destroyed, failure, freed, pool_destroyed, reset};
use crate::withheld::{Copied, Functions, Memory, OutOfMemory, Templates};

thread_local! {
    /// The calls that reached the test driver on this thread, with their arguments.
    static LOG: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

fn log(text: String) {
    LOG.with_borrow_mut(|log| log.push(text));
}

/// # Safety
/// The pointer is null, or to `count` values.
unsafe fn slice<'a, T>(start: *const T, count: u32) -> &'a [T] {
    if start.is_null() {
        return &[];
    }
    unsafe { std::slice::from_raw_parts(start, count as usize) }
}

/// # Safety
/// The chain is valid.
unsafe fn chain(mut next: *const c_void) -> String {
    let mut text = String::new();
    while let Some(structure) = unsafe { next.cast::<vk::BaseInStructure<'_>>().as_ref() } {
        text += &format!("{:?} ", structure.s_type);
        if structure.s_type == vk::StructureType::SAMPLE_LOCATIONS_INFO_EXT {
            let locations = unsafe { &*next.cast::<vk::SampleLocationsInfoEXT<'_>>() };
            let count = locations.sample_locations_count;
            text += &format!("{:?} ", unsafe { slice(locations.p_sample_locations, count) });
        }
        next = structure.p_next.cast();
    }
    text
}

/// The functions of the test driver, in the order of the list in [`find`](driver::find).
mod driver {
    use super::*;

    pub unsafe extern "system" fn draw(_: vk::CommandBuffer, a: u32, b: u32, c: u32, d: u32) {
        log(format!("draw {a} {b} {c} {d}"));
    }

    pub unsafe extern "system" fn bind_vertex_buffers(
        _: vk::CommandBuffer,
        first: u32,
        count: u32,
        buffers: *const vk::Buffer,
        offsets: *const vk::DeviceSize,
    ) {
        let (buffers, offsets) = unsafe { (slice(buffers, count), slice(offsets, count)) };
        log(format!("bind vertex buffers {first} {buffers:?} {offsets:?}"));
    }

    pub unsafe extern "system" fn push_constants(
        _: vk::CommandBuffer,
        _: vk::PipelineLayout,
        stages: vk::ShaderStageFlags,
        offset: u32,
        size: u32,
        values: *const c_void,
    ) {
        let values = unsafe { slice(values.cast::<u8>(), size) };
        log(format!("push constants {stages:?} {offset} {values:?}"));
    }

    pub unsafe extern "system" fn set_blend_constants(_: vk::CommandBuffer, all: *const [f32; 4]) {
        log(format!("blend constants {:?}", unsafe { *all }));
    }

    pub unsafe extern "system" fn pipeline_barrier(
        _: vk::CommandBuffer,
        from: vk::PipelineStageFlags,
        to: vk::PipelineStageFlags,
        flags: vk::DependencyFlags,
        memory_count: u32,
        memory: *const vk::MemoryBarrier<'_>,
        buffer_count: u32,
        buffers: *const vk::BufferMemoryBarrier<'_>,
        image_count: u32,
        images: *const vk::ImageMemoryBarrier<'_>,
    ) {
        let memory = unsafe { slice(memory, memory_count) }.iter().map(|b| b.src_access_mask);
        let buffers = unsafe { slice(buffers, buffer_count) }.iter().map(|b| b.offset);
        let images = unsafe { slice(images, image_count) }.iter();
        let images = images.map(|b| (b.new_layout, unsafe { chain(b.p_next) }));
        let barriers = listed((memory, buffers, images));
        log(format!("barrier {from:?} {to:?} {flags:?} {barriers}"));
    }

    fn listed<A: Debug, B: Debug, C: Debug>(
        (a, b, c): (impl Iterator<Item = A>, impl Iterator<Item = B>, impl Iterator<Item = C>),
    ) -> String {
        let (a, b, c): (Vec<_>, Vec<_>, Vec<_>) = (a.collect(), b.collect(), c.collect());
        format!("{a:?} {b:?} {c:?}")
    }

    pub unsafe extern "system" fn wait_events2(
        _: vk::CommandBuffer,
        count: u32,
        events: *const vk::Event,
        infos: *const vk::DependencyInfo<'_>,
    ) {
        let (events, infos) = unsafe { (slice(events, count), slice(infos, count)) };
        let infos: Vec<_> = infos
            .iter()
            .map(|i| unsafe { slice(i.p_memory_barriers, i.memory_barrier_count) })
            .map(|barriers| barriers.iter().map(|b| b.dst_stage_mask).collect::<Vec<_>>())
            .collect();
        log(format!("wait events {events:?} {infos:?}"));
    }

    pub unsafe extern "system" fn begin_label(
        _: vk::CommandBuffer,
        info: *const vk::DebugUtilsLabelEXT<'_>,
    ) {
        log(format!("label {:?}", unsafe { CStr::from_ptr((*info).p_label_name) }));
    }

    pub unsafe extern "system" fn draw_multi(
        _: vk::CommandBuffer,
        count: u32,
        draws: *const vk::MultiDrawInfoEXT,
        instances: u32,
        first: u32,
        stride: u32,
    ) {
        let draws: Vec<_> = (0..count as usize)
            .map(|number| unsafe { *draws.byte_add(number * stride as usize) })
            .map(|draw| (draw.first_vertex, draw.vertex_count))
            .collect();
        log(format!("multi-draw {draws:?} {instances} {first}"));
    }

    pub unsafe extern "system" fn push_descriptors(
        _: vk::CommandBuffer,
        point: vk::PipelineBindPoint,
        _: vk::PipelineLayout,
        set: u32,
        count: u32,
        writes: *const vk::WriteDescriptorSet<'_>,
    ) {
        let writes =
            unsafe { slice(writes, count) }.iter().map(|write| match write.descriptor_type {
                vk::DescriptorType::UNIFORM_BUFFER => {
                    let infos = unsafe { slice(write.p_buffer_info, write.descriptor_count) };
                    format!("{:?}", infos.iter().map(|info| info.offset).collect::<Vec<_>>())
                }
                vk::DescriptorType::UNIFORM_TEXEL_BUFFER => {
                    format!("{:?}", unsafe {
                        slice(write.p_texel_buffer_view, write.descriptor_count)
                    })
                }
                _ => {
                    let infos = unsafe { slice(write.p_image_info, write.descriptor_count) };
                    format!("{:?}", infos.iter().map(|info| info.image_layout).collect::<Vec<_>>())
                }
            });
        log(format!("push {point:?} {set} {:?}", writes.collect::<Vec<_>>()));
    }

    pub unsafe extern "system" fn push_by_template(
        _: vk::CommandBuffer,
        template: vk::DescriptorUpdateTemplate,
        _: vk::PipelineLayout,
        set: u32,
        data: *const c_void,
    ) {
        let size = if template.as_raw() == 1 { TEMPLATE_SIZE } else { 0 };
        log(format!("push {set} {:?}", unsafe { slice(data.cast::<u8>(), size as u32) }));
    }

    pub unsafe extern "system" fn begin_render_pass(
        _: vk::CommandBuffer,
        begin: *const vk::RenderPassBeginInfo<'_>,
        contents: vk::SubpassContents,
    ) {
        let begin = unsafe { &*begin };
        let clears = unsafe { slice(begin.p_clear_values, begin.clear_value_count) };
        let clears: Vec<_> = clears.iter().map(|clear| unsafe { clear.color.uint32 }).collect();
        let area = begin.render_area.extent.width;
        let locations =
            unsafe { &*begin.p_next.cast::<vk::RenderPassSampleLocationsBeginInfoEXT<'_>>() };
        let count = locations.post_subpass_sample_locations_count;
        let subpasses = unsafe { slice(locations.p_post_subpass_sample_locations, count) };
        let locations: Vec<_> = subpasses
            .iter()
            .map(|subpass| &subpass.sample_locations_info)
            .map(|info| unsafe { slice(info.p_sample_locations, info.sample_locations_count) })
            .collect();
        log(format!("pass {contents:?} {area} {clears:?} {locations:?}"));
    }

    pub unsafe extern "system" fn begin_rendering(
        _: vk::CommandBuffer,
        info: *const vk::RenderingInfo<'_>,
    ) {
        let info = unsafe { &*info };
        let colors = unsafe { slice(info.p_color_attachments, info.color_attachment_count) };
        let colors: Vec<_> = colors.iter().map(|color| color.image_layout).collect();
        let depth = unsafe { info.p_depth_attachment.as_ref() }.map(|depth| depth.load_op);
        log(format!("rendering {:?} {colors:?} {depth:?}", info.flags));
    }

    pub unsafe extern "system" fn end_render_pass(_: vk::CommandBuffer) {
        log("end".to_owned());
    }

    pub fn find(name: &CStr) -> vk::PFN_vkVoidFunction {
        let function: *const () = match name.to_bytes() {
            b"vkCmdDraw" => draw as _,
            b"vkCmdBindVertexBuffers" => bind_vertex_buffers as _,
            b"vkCmdPushConstants" => push_constants as _,
            b"vkCmdSetBlendConstants" => set_blend_constants as _,
            b"vkCmdPipelineBarrier" => pipeline_barrier as _,
            b"vkCmdWaitEvents2KHR" => wait_events2 as _,
            b"vkCmdBeginDebugUtilsLabelEXT" => begin_label as _,
            b"vkCmdDrawMultiEXT" => draw_multi as _,
            b"vkCmdPushDescriptorSetKHR" => push_descriptors as _,
            b"vkCmdPushDescriptorSetWithTemplateKHR" => push_by_template as _,
            b"vkCmdBeginRenderPass" => begin_render_pass as _,
            b"vkCmdBeginRenderingKHR" => begin_rendering as _,
            b"vkCmdEndRenderPass" | b"vkCmdEndRenderingKHR" => end_render_pass as _,
            _ => return None,
        };
        // SAFETY: all function pointers have the same size.
        unsafe { std::mem::transmute::<*const (), vk::PFN_vkVoidFunction>(function) }
    }
}

const TEMPLATE_SIZE: usize = 8 + 2 * 24 + size_of::<vk::DescriptorBufferInfo>();

/// Overwrites memory that an argument pointed to, to check that the layer does not read the memory
/// after the command has returned.
fn overwrite<T: Copy>(values: &mut [T], value: T) {
    values.fill(value);
    std::hint::black_box(values);
}

/// Returns the layer's hook for a command, cast to the type of the command.
macro_rules! hook {
    ($name:literal: $pfn:ident) => {
        std::mem::transmute::<vk::PFN_vkVoidFunction, Option<vk::$pfn>>(hook($name)).unwrap()
    };
}

/// Records the command that `number` selects, with arguments that depend on `seed`. Then overwrites
/// the memory that the arguments point to.
fn issue(cmd: vk::CommandBuffer, number: u32, seed: u32) {
    let from = |more: u32| seed.wrapping_mul(0x9e37_79b9).wrapping_add(more) % 1000;
    let count = seed % 4;
    unsafe {
        match number {
            0 => hook!(c"vkCmdDraw": PFN_vkCmdDraw)(cmd, from(0), from(1), from(2), from(3)),
            1 => {
                let mut buffers: Vec<_> =
                    (0..count).map(|i| vk::Buffer::from_raw(from(i).into())).collect();
                let mut offsets: Vec<_> = (0..count).map(|i| u64::from(from(i + 9))).collect();
                let bind = hook!(c"vkCmdBindVertexBuffers": PFN_vkCmdBindVertexBuffers);
                bind(cmd, from(0), count, buffers.as_ptr(), offsets.as_ptr());
                overwrite(&mut buffers, vk::Buffer::null());
                overwrite(&mut offsets, 0);
            }
            2 => {
                let mut values: Vec<u8> = (0..4 * count + 4).map(|i| from(i) as u8).collect();
                let push = hook!(c"vkCmdPushConstants": PFN_vkCmdPushConstants);
                let (layout, stages) = (vk::PipelineLayout::null(), vk::ShaderStageFlags::VERTEX);
                push(cmd, layout, stages, 4, values.len() as u32, values.as_ptr().cast());
                overwrite(&mut values, 0xcc);
            }
            3 => {
                let mut all = [from(0) as f32, 1.0, 0.5, from(1) as f32];
                hook!(c"vkCmdSetBlendConstants": PFN_vkCmdSetBlendConstants)(cmd, &all);
                overwrite(&mut all, -1.0);
            }
            4 => {
                let mut places = [vk::SampleLocationEXT { x: from(0) as f32, y: 0.5 }; 3];
                let mut samples = vk::SampleLocationsInfoEXT::default();
                (samples.p_sample_locations, samples.sample_locations_count) = (places.as_ptr(), 3);
                // The chain contains a structure of a type that the layer does not know.
                let unknown = vk::BaseInStructure {
                    s_type: vk::StructureType::from_raw(77_777),
                    p_next: (&raw const samples).cast(),
                    ..Default::default()
                };
                let mut image = vk::ImageMemoryBarrier::default()
                    .new_layout(vk::ImageLayout::from_raw(from(2) as i32));
                image.p_next = (&raw const unknown).cast();
                let mut memory = [vk::MemoryBarrier::default()
                    .src_access_mask(vk::AccessFlags::from_raw(from(3)))];
                let mut buffers =
                    vec![vk::BufferMemoryBarrier::default().offset(from(4).into()); count as usize];
                let (from, to) =
                    (vk::PipelineStageFlags::VERTEX_SHADER, vk::PipelineStageFlags::TRANSFER);
                hook!(c"vkCmdPipelineBarrier": PFN_vkCmdPipelineBarrier)(
                    cmd,
                    from,
                    to,
                    vk::DependencyFlags::BY_REGION,
                    1,
                    memory.as_ptr(),
                    count,
                    buffers.as_ptr(),
                    1,
                    &image,
                );
                overwrite(&mut places, vk::SampleLocationEXT::default());
                overwrite(&mut memory, vk::MemoryBarrier::default());
                overwrite(&mut buffers, vk::BufferMemoryBarrier::default());
                image = vk::ImageMemoryBarrier::default();
                std::hint::black_box((&image, &samples));
            }
            5 => {
                let mut barriers = vec![
                    vk::MemoryBarrier2::default().dst_stage_mask(
                        vk::PipelineStageFlags2::from_raw(from(0).into())
                    );
                    count as usize
                ];
                let info = |number: u32| vk::DependencyInfo {
                    memory_barrier_count: count - number.min(count),
                    p_memory_barriers: barriers.as_ptr(),
                    ..Default::default()
                };
                let mut infos: Vec<_> = (0..2).map(info).collect();
                let events = [vk::Event::from_raw(7), vk::Event::from_raw(from(1).into())];
                let wait = hook!(c"vkCmdWaitEvents2": PFN_vkCmdWaitEvents2);
                wait(cmd, 2, events.as_ptr(), infos.as_ptr());
                overwrite(&mut barriers, vk::MemoryBarrier2::default());
                overwrite(&mut infos, vk::DependencyInfo::default());
            }
            6 => {
                let mut name = format!("label {}\0", from(0)).into_bytes();
                let p_label_name = name.as_ptr().cast();
                let mut info = vk::DebugUtilsLabelEXT { p_label_name, ..Default::default() };
                hook!(c"vkCmdBeginDebugUtilsLabelEXT": PFN_vkCmdBeginDebugUtilsLabelEXT)(
                    cmd, &info,
                );
                overwrite(&mut name, b'x');
                info = vk::DebugUtilsLabelEXT::default();
                std::hint::black_box(&info);
            }
            7 => {
                // Each element has 12 bytes, of which the draw reads the first 8.
                let mut words: Vec<u32> = (0..3 * count).map(from).collect();
                let draw = hook!(c"vkCmdDrawMultiEXT": PFN_vkCmdDrawMultiEXT);
                draw(cmd, count, words.as_ptr().cast(), from(1), from(2), 12);
                overwrite(&mut words, 0);
            }
            8 => {
                let mut buffers = [vk::DescriptorBufferInfo::default().offset(from(0).into()); 2];
                let mut images = [vk::DescriptorImageInfo::default()
                    .image_layout(vk::ImageLayout::from_raw(from(1) as i32));
                    3];
                let mut views = [vk::BufferView::from_raw(from(2).into())];
                let dangling = std::ptr::without_provenance(8);
                let write = |ty, count| vk::WriteDescriptorSet {
                    descriptor_type: ty,
                    descriptor_count: count,
                    // Pointers that the descriptor type does not use may have any value.
                    p_image_info: std::ptr::without_provenance(8),
                    p_buffer_info: dangling,
                    p_texel_buffer_view: std::ptr::without_provenance(8),
                    ..Default::default()
                };
                let mut writes = [
                    write(vk::DescriptorType::UNIFORM_BUFFER, 2),
                    write(vk::DescriptorType::COMBINED_IMAGE_SAMPLER, 3),
                    write(vk::DescriptorType::UNIFORM_TEXEL_BUFFER, 1),
                ];
                writes[0].p_buffer_info = buffers.as_ptr();
                writes[1].p_image_info = images.as_ptr();
                writes[2].p_texel_buffer_view = views.as_ptr();
                let push = hook!(c"vkCmdPushDescriptorSetKHR": PFN_vkCmdPushDescriptorSetKHR);
                let point = vk::PipelineBindPoint::GRAPHICS;
                push(cmd, point, vk::PipelineLayout::null(), count, 3, writes.as_ptr());
                overwrite(&mut buffers, vk::DescriptorBufferInfo::default());
                overwrite(&mut images, vk::DescriptorImageInfo::default());
                overwrite(&mut views, vk::BufferView::null());
                overwrite(&mut writes, vk::WriteDescriptorSet::default());
            }
            9 => {
                let mut data: Vec<u8> = (0..TEMPLATE_SIZE as u32).map(|i| from(i) as u8).collect();
                let push = hook!(
                    c"vkCmdPushDescriptorSetWithTemplateKHR":
                        PFN_vkCmdPushDescriptorSetWithTemplateKHR
                );
                let template = vk::DescriptorUpdateTemplate::from_raw(1);
                push(cmd, template, vk::PipelineLayout::null(), from(0), data.as_ptr().cast());
                overwrite(&mut data, 0xcc);
            }
            other => panic!("there is no command {other}"),
        }
    }
}

/// Begins a pass, with a render pass object or by dynamic rendering. Then overwrites the memory
/// that the arguments point to.
fn begin_pass(cmd: vk::CommandBuffer, seed: u32) {
    unsafe {
        if seed.is_multiple_of(2) {
            let mut clears =
                [vk::ClearValue { color: vk::ClearColorValue { uint32: [seed, 1, 2, 3] } }; 2];
            let mut begin = vk::RenderPassBeginInfo::default();
            begin.render_area.extent.width = seed;
            (begin.p_clear_values, begin.clear_value_count) = (clears.as_ptr(), 2);
            // A structure that contains another structure with pointers.
            let mut places = [vk::SampleLocationEXT { x: seed as f32, y: 0.25 }; 2];
            let mut subpasses = [vk::SubpassSampleLocationsEXT::default(); 2];
            for subpass in &mut subpasses {
                let info = &mut subpass.sample_locations_info;
                (info.p_sample_locations, info.sample_locations_count) = (places.as_ptr(), 2);
            }
            let locations = vk::RenderPassSampleLocationsBeginInfoEXT {
                post_subpass_sample_locations_count: 2,
                p_post_subpass_sample_locations: subpasses.as_ptr(),
                ..Default::default()
            };
            begin.p_next = (&raw const locations).cast();
            let inline = vk::SubpassContents::INLINE;
            hook!(c"vkCmdBeginRenderPass": PFN_vkCmdBeginRenderPass)(cmd, &begin, inline);
            overwrite(&mut clears, vk::ClearValue::default());
            overwrite(&mut places, vk::SampleLocationEXT::default());
            overwrite(&mut subpasses, vk::SubpassSampleLocationsEXT::default());
        } else {
            let layout = vk::ImageLayout::from_raw(seed as i32);
            let mut colors = [vk::RenderingAttachmentInfo::default().image_layout(layout); 2];
            let mut depth =
                vk::RenderingAttachmentInfo::default().load_op(vk::AttachmentLoadOp::CLEAR);
            let info = vk::RenderingInfo {
                color_attachment_count: 2,
                p_color_attachments: colors.as_ptr(),
                p_depth_attachment: &raw const depth,
                ..Default::default()
            };
            hook!(c"vkCmdBeginRendering": PFN_vkCmdBeginRendering)(cmd, &info);
            overwrite(&mut colors, vk::RenderingAttachmentInfo::default());
            depth.load_op = vk::AttachmentLoadOp::LOAD;
            std::hint::black_box(&depth);
        }
    }
}

fn end_pass(cmd: vk::CommandBuffer, seed: u32) {
    unsafe {
        if seed.is_multiple_of(2) {
            hook!(c"vkCmdEndRenderPass": PFN_vkCmdEndRenderPass)(cmd)
        } else {
            hook!(c"vkCmdEndRendering": PFN_vkCmdEndRendering)(cmd)
        }
    }
}

/// Returns the functions of a device of the test driver, and its update templates. Only template 1
/// exists.
fn device() -> (Arc<Functions>, Arc<Templates>) {
    let templates = Arc::new(Templates::default());
    let entry = |count, offset, stride| vk::DescriptorUpdateTemplateEntry {
        descriptor_count: count,
        descriptor_type: vk::DescriptorType::UNIFORM_BUFFER,
        offset,
        stride,
        ..Default::default()
    };
    let entries = [entry(0, 1000, 24), entry(3, 8, 24), entry(1, 0, 0)];
    let info =
        vk::DescriptorUpdateTemplateCreateInfo::default().descriptor_update_entries(&entries);
    unsafe {
        templates.created(vk::DescriptorUpdateTemplate::from_raw(1), &info);
        (Arc::new(Functions::load(driver::find)), templates)
    }
}

fn logged() -> Vec<String> {
    LOG.take()
}

/// Returns a command buffer handle that no other test uses.
fn handle() -> vk::CommandBuffer {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    vk::CommandBuffer::from_raw(NEXT.fetch_add(1, Ordering::Relaxed))
}

proptest! {
    /// The test driver gets the same arguments whether or not the layer stores the commands, even if the program
    /// overwrites the memory after the call.
    #[test]
    fn what_is_withheld_is_what_was_recorded(
        commands in proptest::collection::vec((0..10u32, any::<u32>()), 0..40),
        seeds in proptest::collection::vec(0..1000u32, 1..4),
    ) {
        let (functions, templates) = device();
        let cmd = handle();
        allocated((&functions, &templates, None), vk::CommandPool::null(), false, &[cmd]);
        for seed in seeds {
            logged();
            commands.iter().for_each(|(number, seed)| issue(cmd, *number, *seed));
            let direct = logged();
            begin_pass(cmd, seed);
            commands.iter().for_each(|(number, seed)| issue(cmd, *number, *seed));
            prop_assert_eq!(logged(), Vec::<String>::new());
            end_pass(cmd, seed);
            let mut withheld = logged();
            let begin = withheld.remove(0);
            let expected = match seed % 2 {
                0 => {
                    let place = vk::SampleLocationEXT { x: seed as f32, y: 0.25 };
                    let (clear, subpass) = ([seed, 1, 2, 3], [place; 2]);
                    format!("pass INLINE {seed} {:?} {:?}", [clear; 2], [subpass; 2])
                }
                _ => {
                    let layout = vk::ImageLayout::from_raw(seed as i32);
                    format!("rendering  [{layout:?}, {layout:?}] Some(CLEAR)")
                }
            };
            prop_assert_eq!(begin, expected);
            let end = withheld.pop();
            prop_assert_eq!(end.as_deref(), Some("end"));
            // The layer does not copy structures of unknown types.
            let known: Vec<String> = direct.iter().map(|text| text.replace("77777 ", "")).collect();
            prop_assert_eq!(withheld, known);
        }
        freed(&[cmd]);
    }
}

/// A program may destroy a descriptor update template as soon as it has recorded a push with it. The driver's template
/// is destroyed only when the stored push was replayed, or when its command buffer was freed.
#[test]
fn templates_outlive_the_commands_that_push_with_them() {
    unsafe extern "system" fn destroy(
        _: vk::Device,
        template: vk::DescriptorUpdateTemplate,
        _: *const vk::AllocationCallbacks<'_>,
    ) {
        log(format!("destroy {}", template.as_raw()));
    }
    let (functions, _) = device();
    let templates = Arc::new(Templates::new(vk::Device::null(), Some(destroy)));
    let handles = [1, 2].map(vk::DescriptorUpdateTemplate::from_raw);
    let cmd = handle();
    allocated((&functions, &templates, None), vk::CommandPool::null(), false, &[cmd]);
    for round in 0..2 {
        handles.iter().for_each(|handle| unsafe {
            templates.created(*handle, &vk::DescriptorUpdateTemplateCreateInfo::default());
        });
        begin_pass(cmd, 2);
        issue(cmd, 9, 0);
        handles.iter().for_each(|handle| templates.destroyed(*handle));
        assert_eq!(logged(), ["destroy 2"], "nothing needs it");
        match round {
            0 => {
                end_pass(cmd, 2);
                let replayed = logged();
                let places = ["push 0", "end", "destroy 1"]
                    .map(|start| replayed.iter().position(|text| text.starts_with(start)).unwrap());
                assert!(places.is_sorted(), "{replayed:?}");
            }
            _ => {
                freed(&[cmd]);
                assert_eq!(logged(), ["destroy 1"]);
            }
        }
    }
}

#[test]
fn commands_go_to_their_own_command_buffer() {
    let (functions, templates) = device();
    let (pool, other_pool) = (vk::CommandPool::from_raw(91), vk::CommandPool::from_raw(92));
    let (a, b, c) = (handle(), handle(), handle());
    allocated((&functions, &templates, None), pool, false, &[a, b]);
    allocated((&functions, &templates, None), other_pool, false, &[c]);
    begin_pass(a, 2);
    issue(a, 0, 1);
    issue(b, 0, 2);
    assert_eq!(logged().len(), 1, "commands of another command buffer are not withheld");
    unsafe { reset(a, &Default::default(), None) };
    issue(a, 0, 3);
    assert_eq!(logged().len(), 1, "the pass was forgotten");

    pool_destroyed(&functions, pool);
    issue(a, 0, 1);
    issue(c, 0, 1);
    assert_eq!(logged().len(), 1, "of the other pool");
    // The driver may use the handle of a freed command buffer again.
    allocated((&functions, &templates, None), pool, false, &[a]);
    issue(a, 0, 1);
    assert_eq!(logged().len(), 1);
    freed(&[a, c]);
}

/// Commands reach the command buffer that they were recorded into, even if several threads record into their own
/// command buffers while other threads allocate and free theirs.
#[test]
fn threads_record_at_once() {
    let (functions, templates) = device();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (functions, templates) = (&functions, &templates);
            scope.spawn(move || {
                let pool = vk::CommandPool::from_raw(1000 + thread);
                for round in 0..200 {
                    let (a, b) = (handle(), handle());
                    allocated((functions, templates, None), pool, false, &[a, b]);
                    logged();
                    begin_pass(a, 2);
                    for number in 0..10 {
                        issue(a, number, round);
                        issue(b, number, round);
                    }
                    let direct = logged();
                    end_pass(a, 2);
                    let withheld = logged();
                    // The layer does not copy structures of unknown types.
                    let direct = direct.iter().map(|text| text.replace("77777 ", ""));
                    assert_eq!(withheld[1..11], direct.collect::<Vec<_>>());
                    match round % 2 {
                        0 => pool_destroyed(functions, pool),
                        _ => freed(&[a, b]),
                    }
                }
            });
        }
    });
}

/// Begins a pass, and there is no memory for its arguments.
#[derive(Clone, Copy)]
struct LargePass;

impl Copied for LargePass {
    unsafe fn copied(&self, _: &Memory) -> Result<Self, OutOfMemory> {
        Err(OutOfMemory)
    }
}

impl Command for LargePass {
    const TYPE: CommandType = CommandType::BeginPass;

    unsafe fn call(&self, _: &Functions, _: vk::CommandBuffer) {}
}

/// A command that panics.
#[derive(Clone, Copy)]
struct Panics;

impl Copied for Panics {
    unsafe fn copied(&self, _: &Memory) -> Result<Self, OutOfMemory> {
        Ok(*self)
    }
}

impl Command for Panics {
    const TYPE: CommandType = CommandType::Action;

    unsafe fn call(&self, _: &Functions, _: vk::CommandBuffer) {
        panic!("told by the test");
    }
}

#[test]
fn what_fails_is_told_at_the_end() {
    let (functions, templates) = device();
    let cmd = handle();
    allocated((&functions, &templates, None), vk::CommandPool::null(), false, &[cmd]);
    unsafe {
        assert_eq!(failure(cmd), None);
        with(cmd, |found| found.record(cmd, &LargePass));
        issue(cmd, 0, 1);
        end_pass(cmd, 2);
        assert_eq!(failure(cmd), Some(vk::Result::ERROR_OUT_OF_HOST_MEMORY));
        assert_eq!(logged(), Vec::<String>::new(), "no part of the pass is recorded");
        reset(cmd, &Default::default(), None);
        with(cmd, |found| found.record(cmd, &Panics));
        assert_eq!(failure(cmd), Some(vk::Result::ERROR_UNKNOWN));

        // The template was never created, so the layer does not know how many bytes to copy, and
        // recording fails.
        reset(cmd, &Default::default(), None);
        begin_pass(cmd, 2);
        let push = hook!(
            c"vkCmdPushDescriptorSetWithTemplateKHR": PFN_vkCmdPushDescriptorSetWithTemplateKHR
        );
        let (template, data) = (vk::DescriptorUpdateTemplate::from_raw(2), 0_u64);
        push(cmd, template, vk::PipelineLayout::null(), 0, (&raw const data).cast());
        end_pass(cmd, 2);
        assert_eq!(failure(cmd), Some(vk::Result::ERROR_OUT_OF_HOST_MEMORY));
        assert_eq!(logged(), Vec::<String>::new());
    }
    device_destroyed(&functions);
    issue(cmd, 0, 1);
    assert_eq!(logged(), Vec::<String>::new(), "it went with its device");
}

#[test]
fn commands_have_hooks_by_all_their_names() {
    for name in [
        c"vkCmdDraw",
        c"vkCmdBeginRenderingKHR",
        c"vkCmdBindVertexBuffers2",
        c"vkCmdBindVertexBuffers2EXT",
        c"vkCmdPushConstants2",
        c"vkCmdPushConstants2KHR",
    ] {
        assert!(hook(name).is_some(), "{name:?}");
    }
    // Deferred captures need not be recorded before a copy.
    assert!(hook(c"vkCmdCopyBuffer").is_none());
}
