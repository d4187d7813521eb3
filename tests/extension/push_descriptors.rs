//! Captured draws that read push descriptors, with the driver's own captures and with those of the
//! Vulkan layer.

use std::ffi::c_void;

use ash::{ext, khr, vk};
use vk::PipelineBindPoint as Point;

use super::program::CaptureCommands;
use crate::common;
use crate::common::bare::{BareDevice, BareInstance, HOST_READS, HostBuffer};
use crate::common::{attachment, discard, layer};
use crate::program;

const UNIFORM: vk::DescriptorType = vk::DescriptorType::UNIFORM_BUFFER;
const STORAGE: vk::DescriptorType = vk::DescriptorType::STORAGE_BUFFER;
const TEXEL: vk::DescriptorType = vk::DescriptorType::UNIFORM_TEXEL_BUFFER;
const SAMPLER: vk::DescriptorType = vk::DescriptorType::SAMPLER;

/// The number of objects that descriptors read. `SPACING` is the number of bytes from one object to
/// the next: the largest alignment that Vulkan allows.
const OBJECTS: u32 = 64;
const SPACING: u64 = 256;
/// The number of vertices of a draw, and the size of a record in bytes.
const VERTICES: u32 = 3;
const STRIDE: u64 = 28;
/// The number of captured draws, and the size in bytes of their records and those of one more draw.
const DRAWS: usize = 9;
const SIZE: u64 = (DRAWS as u64 + 1) * VERTICES as u64 * STRIDE;
const BEFORE: u32 = 0xa5a5_a5a5;

const VERTEX: &str = "#version 450
    layout(set = 0, binding = 0) uniform Frame { uint frame; };
    layout(set = 0, binding = 1) readonly buffer Pair { uint object; } pair[2];
    layout(set = 0, binding = 2) readonly buffer Third { uint third; };
    layout(set = 0, binding = 4) uniform usamplerBuffer texel;
    layout(set = 1, binding = 0) uniform Bound { uint bound; };
    layout(location = 0, xfb_buffer = 0, xfb_stride = 28, xfb_offset = 0) out flat uvec4 captured;
    layout(location = 1, xfb_buffer = 0, xfb_offset = 16) out flat uvec3 rest;
    void main() {
        captured = uvec4(frame, pair[0].object, pair[1].object, third);
        rest = uvec3(texelFetch(texel, 0).x, bound, gl_VertexIndex);
        gl_Position = vec4(0.0);
        gl_PointSize = 1.0;
    }";

const COMPUTE: &str = "#version 450
    layout(local_size_x = 1) in;
    layout(set = 0, binding = 0) uniform Frame { uint frame; };
    layout(set = 0, binding = 2) buffer Seen { uint seen[3]; };
    layout(set = 1, binding = 0) uniform Bound { uint bound; };
    layout(push_constant) uniform Constants { uint constant; };
    void main() {
        seen[0] = frame;
        seen[1] = bound;
        seen[2] = constant;
    }";

/// The objects that a draw reads: those of the descriptors of set 0, and that of set 1.
type Objects = [u32; 6];

/// Returns the records that a draw captures.
fn records(objects: Objects) -> impl Iterator<Item = u32> {
    (0..VERTICES).flat_map(move |vertex| {
        objects.into_iter().map(|object| 1000 + object).chain(std::iter::once(vertex))
    })
}

fn binding(
    number: u32,
    ty: vk::DescriptorType,
    count: u32,
) -> vk::DescriptorSetLayoutBinding<'static> {
    vk::DescriptorSetLayoutBinding::default()
        .binding(number)
        .descriptor_type(ty)
        .descriptor_count(count)
        .stage_flags(vk::ShaderStageFlags::VERTEX | vk::ShaderStageFlags::COMPUTE)
}

/// The data that a descriptor update template reads.
#[repr(C)]
struct TemplateData {
    frame: vk::DescriptorBufferInfo,
    view: vk::BufferView,
    pair: [(vk::DescriptorBufferInfo, u64); 2],
}

struct Scene {
    device: BareDevice,
    push: khr::push_descriptor::Device,
    capture: CaptureCommands,
    objects: HostBuffer,
    views: Vec<vk::BufferView>,
    target: HostBuffer,
    seen: HostBuffer,
    /// The layouts of set 0 if it is pushed, of set 0 if it is bound, and of set 1.
    set_layouts: [vk::DescriptorSetLayout; 3],
    /// The pipeline layouts with set 0 pushed, and with set 0 bound.
    layouts: [vk::PipelineLayout; 2],
    pipelines: [vk::Pipeline; 2],
    compute: vk::Pipeline,
    /// Set 0 for binding, and two sets for set number 1.
    sets: [vk::DescriptorSet; 3],
    pool: vk::DescriptorPool,
    sampler: vk::Sampler,
}

/// The objects that [`Scene::sets`] refer to.
const BOUND: Objects = [50, 51, 52, 53, 54, 0];
const BOUND_1: [u32; 2] = [55, 56];

fn range(buffer: &HostBuffer, object: u32) -> vk::DescriptorBufferInfo {
    vk::DescriptorBufferInfo { buffer: buffer.raw, offset: u64::from(object) * SPACING, range: 16 }
}

impl Scene {
    /// `more` are usages that one of the buffers also has.
    fn new(more: vk::BufferUsageFlags) -> Self {
        let mut captures =
            vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default().transform_feedback(true);
        let mut rendering = vk::PhysicalDeviceVulkan13Features::default().dynamic_rendering(true);
        let mut features = vk::PhysicalDeviceFeatures2::default()
            .push_next(&mut captures)
            .push_next(&mut rendering);
        let extensions =
            [ext::transform_feedback::NAME.as_ptr(), khr::push_descriptor::NAME.as_ptr()];
        let device = BareInstance::open().into_device(&mut features, &extensions);
        let push = khr::push_descriptor::Device::new(device.instance(), &device.raw);
        let capture = CaptureCommands::new(&device);
        use vk::BufferUsageFlags as Usage;
        let usage = Usage::UNIFORM_BUFFER | Usage::STORAGE_BUFFER | Usage::UNIFORM_TEXEL_BUFFER;
        let objects = device.host_buffer(u64::from(OBJECTS) * SPACING, usage);
        let target = device.host_buffer(SIZE, Usage::TRANSFORM_FEEDBACK_BUFFER_EXT | more);
        let seen = device.host_buffer(16, Usage::STORAGE_BUFFER);
        let raw = &device.raw;
        let values: Vec<u32> =
            (0..OBJECTS).flat_map(|object| [1000 + object; SPACING as usize / 4]).collect();
        write(&objects, &values);
        // SAFETY: all of it is of the device, and destroyed with the scene.
        unsafe {
            let sampler = raw.create_sampler(&Default::default(), None).unwrap();
            let samplers = [sampler];
            let bindings = [
                binding(0, UNIFORM, 1),
                binding(1, STORAGE, 2),
                binding(2, STORAGE, 1),
                binding(4, TEXEL, 1),
                binding(5, SAMPLER, 1).immutable_samplers(&samplers),
            ];
            let set_layout = |bindings: &[vk::DescriptorSetLayoutBinding<'_>], flags| {
                let info =
                    vk::DescriptorSetLayoutCreateInfo::default().bindings(bindings).flags(flags);
                raw.create_descriptor_set_layout(&info, None).unwrap()
            };
            let (none, pushed) = (
                vk::DescriptorSetLayoutCreateFlags::empty(),
                vk::DescriptorSetLayoutCreateFlags::PUSH_DESCRIPTOR_KHR,
            );
            let set_layouts = [
                set_layout(&bindings, pushed),
                set_layout(&bindings, none),
                set_layout(&[binding(0, UNIFORM, 1)], none),
            ];
            let constants = [vk::PushConstantRange::default()
                .stage_flags(vk::ShaderStageFlags::COMPUTE)
                .size(4)];
            let layouts = [0, 1].map(|first| {
                let sets = [set_layouts[first], set_layouts[2]];
                let info = vk::PipelineLayoutCreateInfo::default()
                    .set_layouts(&sets)
                    .push_constant_ranges(&constants);
                raw.create_pipeline_layout(&info, None).unwrap()
            });
            let words = common::compile(VERTEX, &[]);
            let pipelines = layouts.map(|layout| discard::pipeline(raw, layout, &words));
            let compute = {
                let info = vk::ComputePipelineCreateInfo::default().layout(layouts[0]);
                discard::compute(raw, &common::compile_stage("comp", COMPUTE, &[]), info)
            };

            let of = [set_layouts[1], set_layouts[2], set_layouts[2]];
            let sizes = [(UNIFORM, 3), (STORAGE, 3), (TEXEL, 1), (SAMPLER, 1)];
            let (pool, sets) = device.descriptor_sets(of, &sizes);
            let view = |object| {
                let info = vk::BufferViewCreateInfo::default()
                    .buffer(objects.raw)
                    .format(vk::Format::R32_UINT)
                    .offset(u64::from(object) * SPACING)
                    .range(16);
                raw.create_buffer_view(&info, None).unwrap()
            };
            let views = (0..OBJECTS).map(view).collect();

            let scene = Self {
                push,
                capture,
                objects,
                views,
                target,
                seen,
                set_layouts,
                layouts,
                pipelines,
                compute,
                sets,
                pool,
                sampler,
                device,
            };
            scene.write_sets();
            scene
        }
    }

    /// Creates a template for what [`TemplateData`] has.
    ///
    /// # Safety
    /// The caller destroys it.
    unsafe fn template(&self) -> vk::DescriptorUpdateTemplate {
        let entry = |dst_binding, descriptor_count, descriptor_type, offset, stride| {
            vk::DescriptorUpdateTemplateEntry {
                dst_binding,
                dst_array_element: 0,
                descriptor_count,
                descriptor_type,
                offset,
                stride,
            }
        };
        let stride = size_of::<(vk::DescriptorBufferInfo, u64)>();
        let entries = [
            entry(0, 1, UNIFORM, std::mem::offset_of!(TemplateData, frame), 0),
            entry(1, 2, STORAGE, std::mem::offset_of!(TemplateData, pair), stride),
            entry(4, 1, TEXEL, std::mem::offset_of!(TemplateData, view), 0),
        ];
        let info = vk::DescriptorUpdateTemplateCreateInfo::default()
            .descriptor_update_entries(&entries)
            .template_type(vk::DescriptorUpdateTemplateType::PUSH_DESCRIPTORS_KHR)
            .pipeline_bind_point(vk::PipelineBindPoint::GRAPHICS)
            .pipeline_layout(self.layouts[0]);
        // SAFETY: the device is live.
        unsafe { self.device.raw.create_descriptor_update_template(&info, None) }.unwrap()
    }

    /// # Safety
    /// Nothing was submitted.
    unsafe fn write_sets(&self) {
        let raw = &self.device.raw;
        unsafe {
            self.with_writes(self.sets[0], BOUND, |writes| raw.update_descriptor_sets(writes, &[]));
            for (set, object) in self.sets[1..].iter().zip(BOUND_1) {
                let infos = [range(&self.objects, object)];
                let write = vk::WriteDescriptorSet::default().dst_set(*set);
                let write = write.descriptor_type(UNIFORM).buffer_info(&infos);
                raw.update_descriptor_sets(&[write], &[]);
            }
        }
    }

    /// Calls a function with the writes of all descriptors of set 0.
    fn with_writes(
        &self,
        set: vk::DescriptorSet,
        objects: Objects,
        call: impl FnOnce(&[vk::WriteDescriptorSet<'_>]),
    ) {
        let infos: Vec<_> = objects.map(|object| range(&self.objects, object)).into();
        let views = [self.views[objects[4] as usize]];
        let write = |binding, ty| {
            vk::WriteDescriptorSet::default().dst_set(set).dst_binding(binding).descriptor_type(ty)
        };
        // A push of an immutable sampler has an ignored value; an allocated set contains the
        // sampler.
        let none = [vk::DescriptorImageInfo::default()];
        let sampler = [write(5, SAMPLER).image_info(&none)];
        let samplers = &sampler[..usize::from(set == vk::DescriptorSet::null())];
        let others = [
            write(4, TEXEL).texel_buffer_view(&views),
            write(0, UNIFORM).buffer_info(&infos[..1]),
            // Two of one binding, and one of the next.
            write(1, STORAGE).buffer_info(&infos[1..4]),
        ];
        call(&[&others, samplers].concat());
    }

    /// Pushes all descriptors of set 0.
    ///
    /// # Safety
    /// The command buffer is being recorded.
    unsafe fn push_all(&self, cmd: vk::CommandBuffer, objects: Objects) {
        let layout = self.layouts[0];
        self.with_writes(vk::DescriptorSet::null(), objects, |writes| unsafe {
            self.push.cmd_push_descriptor_set(cmd, Point::GRAPHICS, layout, 0, writes);
        });
    }

    /// Pushes one buffer descriptor.
    ///
    /// # Safety
    /// The command buffer is being recorded.
    unsafe fn push_one(
        &self,
        cmd: vk::CommandBuffer,
        point: Point,
        (binding, element, ty): (u32, u32, vk::DescriptorType),
        info: vk::DescriptorBufferInfo,
    ) {
        let infos = [info];
        let write = vk::WriteDescriptorSet::default()
            .dst_binding(binding)
            .dst_array_element(element)
            .descriptor_type(ty)
            .buffer_info(&infos);
        unsafe { self.push.cmd_push_descriptor_set(cmd, point, self.layouts[0], 0, &[write]) };
    }

    /// Records all draws and a dispatch. Returns the objects of the expected captures, and those
    /// that the dispatch reads. `one` is the number of the first object.
    ///
    /// # Safety
    /// The command buffer is being recorded.
    unsafe fn record(&self, cmd: vk::CommandBuffer, one: u32) -> (Vec<Objects>, [u32; 3]) {
        let (raw, capture) = (&self.device.raw, &self.capture);
        let [pushed, bound] = self.layouts;
        let (graphics, compute) = (Point::GRAPHICS, Point::COMPUTE);
        let mut drawn = Vec::new();
        let mut draw = |objects| {
            drawn.push(objects);
            unsafe { raw.cmd_draw(cmd, VERTICES, 1, 0, 0) };
        };
        let begin = |draws: u64| {
            let offset = draws * u64::from(VERTICES) * STRIDE;
            unsafe {
                capture.bind_target(cmd, self.target.raw, offset, SIZE - offset);
                capture.begin(cmd);
            }
        };
        unsafe {
            let end = || capture.end(cmd);
            raw.cmd_bind_pipeline(cmd, compute, self.compute);
            // If descriptors are pushed several times, the last value counts. Set 1 is bound in
            // between.
            self.push_one(cmd, compute, (0, 0, UNIFORM), range(&self.objects, one + 40));
            let seen = vk::DescriptorBufferInfo {
                buffer: self.seen.raw,
                offset: 0,
                range: vk::WHOLE_SIZE,
            };
            self.push_one(cmd, compute, (2, 0, STORAGE), seen);
            raw.cmd_bind_descriptor_sets(cmd, compute, pushed, 1, &self.sets[2..], &[]);
            self.push_one(cmd, compute, (0, 0, UNIFORM), range(&self.objects, one + 41));
            let stage = vk::ShaderStageFlags::COMPUTE;
            raw.cmd_push_constants(cmd, pushed, stage, 0, &77_u32.to_le_bytes());

            raw.cmd_bind_pipeline(cmd, graphics, self.pipelines[0]);
            // Pushed before the pass, in place of a bound set.
            let mut now = [one, one + 1, one + 2, one + 3, one + 4, BOUND_1[0]];
            self.push_all(cmd, now);
            raw.cmd_bind_descriptor_sets(cmd, graphics, pushed, 1, &self.sets[1..2], &[]);
            attachment::begin_rendering(raw, cmd);
            begin(0);
            draw(now);
            now[2] = one + 5;
            if !layer::is_there() {
                // Where it is pushed to element 1, lavapipe 22.3 itself has it in element 0.
                self.push_all(cmd, now);
            } else {
                self.push_one(cmd, graphics, (1, 1, STORAGE), range(&self.objects, now[2]));
            }
            draw(now);
            // Nothing is pushed between them.
            draw(now);
            now[0] = one + 6;
            self.push_one(cmd, graphics, (0, 0, UNIFORM), range(&self.objects, now[0]));
            now[3] = one + 7;
            self.push_one(cmd, graphics, (2, 0, STORAGE), range(&self.objects, now[3]));
            raw.cmd_bind_descriptor_sets(cmd, graphics, pushed, 1, &self.sets[2..], &[]);
            now[5] = BOUND_1[1];
            draw(now);
            end();

            // Between captures, and drawn with before the next one begins.
            now = [one + 8, one + 9, one + 10, now[3], one + 11, now[5]];
            let info = |object| range(&self.objects, object);
            let data = TemplateData {
                frame: info(now[0]),
                view: self.views[now[4] as usize],
                pair: [(info(now[1]), u64::MAX), (info(now[2]), u64::MAX)],
            };
            // The template is needed only until the command has been recorded.
            let template = self.template();
            let data = (&raw const data).cast::<c_void>();
            self.push.cmd_push_descriptor_set_with_template(cmd, template, pushed, 0, data);
            raw.destroy_descriptor_update_template(template, None);
            raw.cmd_draw(cmd, VERTICES, 1, 0, 0);
            begin(4);
            draw(now);
            end();
            // A bound set replaces the pushed one.
            raw.cmd_bind_pipeline(cmd, graphics, self.pipelines[1]);
            raw.cmd_bind_descriptor_sets(cmd, graphics, bound, 0, &self.sets[..2], &[]);
            begin(5);
            draw([BOUND[0], BOUND[1], BOUND[2], BOUND[3], BOUND[4], BOUND_1[0]]);
            end();
            raw.cmd_bind_pipeline(cmd, graphics, self.pipelines[0]);
            now = [one + 12, one + 13, one + 14, one + 15, one + 16, BOUND_1[0]];
            self.push_all(cmd, now);
            raw.cmd_bind_descriptor_sets(cmd, graphics, pushed, 1, &self.sets[1..2], &[]);
            begin(6);
            for _ in 0..3 {
                now[1] += 1;
                self.push_one(cmd, graphics, (1, 0, STORAGE), info(now[1]));
                draw(now);
            }
            end();
            // For the dispatch after the pass.
            self.push_one(cmd, compute, (0, 0, UNIFORM), info(one + 42));
            raw.cmd_end_rendering(cmd);
            raw.cmd_dispatch(cmd, 1, 1, 1);
        }
        (drawn, [1000 + one + 42, 1000 + BOUND_1[1], 77])
    }

    /// Records a command buffer, submits it twice, and checks the captures.
    fn run(&self) {
        let raw = &self.device.raw;
        // SAFETY: every handle is of the device, and in use only until the submission is done.
        unsafe {
            let info = vk::CommandPoolCreateInfo::default()
                .flags(vk::CommandPoolCreateFlags::RESET_COMMAND_BUFFER)
                .queue_family_index(self.device.family);
            let pool = raw.create_command_pool(&info, None).unwrap();
            let cmd = self.device.command_buffers(pool, vk::CommandBufferLevel::PRIMARY, 1)[0];
            for one in [0, 3] {
                write(&self.target, &[BEFORE; SIZE as usize / 4]);
                write(&self.seen, &[BEFORE; 4]);
                raw.begin_command_buffer(cmd, &vk::CommandBufferBeginInfo::default()).unwrap();
                let (drawn, seen) = self.record(cmd, one);
                assert_eq!(drawn.len(), DRAWS);
                use vk::{AccessFlags as Access, PipelineStageFlags as Stage};
                let writes = (
                    Stage::TRANSFORM_FEEDBACK_EXT | Stage::COMPUTE_SHADER,
                    Access::TRANSFORM_FEEDBACK_WRITE_EXT | Access::SHADER_WRITE,
                );
                self.device.barrier(cmd, writes, HOST_READS);
                raw.end_command_buffer(cmd).unwrap();
                self.device.execute(&[cmd]);

                let mut expected: Vec<u32> = drawn.into_iter().flat_map(records).collect();
                expected.resize(SIZE as usize / 4, BEFORE);
                let captured = read(&self.target, SIZE as usize / 4);
                for (number, (found, expected)) in
                    captured.chunks(7).zip(expected.chunks(7)).enumerate()
                {
                    assert_eq!(found, expected, "record {number}, objects from {one} on");
                }
                assert_eq!(read(&self.seen, 3), seen, "objects from {one} on");
            }
            raw.destroy_command_pool(pool, None);
        }
    }

    fn close(self) {
        let raw = &self.device.raw;
        // SAFETY: every submission was waited for.
        unsafe {
            raw.destroy_descriptor_pool(self.pool, None);
            self.views.iter().for_each(|view| raw.destroy_buffer_view(*view, None));
            self.pipelines.iter().for_each(|pipeline| raw.destroy_pipeline(*pipeline, None));
            raw.destroy_pipeline(self.compute, None);
            self.layouts.iter().for_each(|layout| raw.destroy_pipeline_layout(*layout, None));
            for layout in self.set_layouts {
                raw.destroy_descriptor_set_layout(layout, None);
            }
            raw.destroy_sampler(self.sampler, None);
            for buffer in [self.objects, self.target, self.seen] {
                self.device.destroy_buffer(buffer);
            }
        }
    }
}

fn write(buffer: &HostBuffer, words: &[u32]) {
    // SAFETY: there is room, and nothing is in flight.
    unsafe { buffer.pointer::<u32>().copy_from_nonoverlapping(words.as_ptr(), words.len()) };
}

fn read(buffer: &HostBuffer, count: usize) -> Vec<u32> {
    // SAFETY: so many are mapped, and nothing is in flight.
    unsafe { std::slice::from_raw_parts(buffer.pointer(), count) }.to_vec()
}

#[test]
fn captures_read_what_was_pushed() {
    if !program::has(&[khr::push_descriptor::NAME]) {
        return;
    }
    // On the layer, captures are recorded after the pass, or before it if there is a buffer with indirect usage.
    for more in [vk::BufferUsageFlags::empty(), vk::BufferUsageFlags::INDIRECT_BUFFER] {
        let scene = Scene::new(more);
        scene.run();
        scene.close();
    }
}

#[test]
fn captures_of_the_layer_read_what_was_pushed() {
    let test = captures_read_what_was_pushed;
    layer::run_on_it(test, &[]);
    layer::run_below_validation(test, &[]);
}
