//! Captures of each stage with mappings of its own, by pipelines and by shader objects, in secondary command buffers that
//! inherit heaps.

use ash::{ext, vk};

use super::mappings_of;
use super::{Device, compute_pipeline, constant_mapping, graphics_pipeline, heaps, mapping};
use crate::common::{self, attachment, layer};

const VERTEX: &str = "#version 450
    layout(set = 0, binding = 0) uniform Values { uint value; };
    layout(push_constant) uniform Block { layout(offset = 16) uint pushed; };
    layout(location = 0, xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0) out flat uint captured;
    void main() {
        captured = value + pushed + gl_VertexIndex;
        gl_Position = vec4(0.0);
        gl_PointSize = 1.0;
    }";

/// The shaders after it have another buffer in the same binding.
const GEOMETRY: &str = "#version 450
    layout(points) in;
    layout(points, max_vertices = 2) out;
    layout(set = 0, binding = 0) uniform Values { uint value; };
    layout(set = 0, binding = 1) readonly buffer More { uint more; };
    layout(location = 0) in flat uint number[];
    layout(location = 0, xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0) out flat uint captured;
    void main() {
        for (uint i = 0; i < 2; i++) {
            captured = 1000 * i + number[0] + value + more;
            gl_Position = vec4(0.0);
            EmitVertex();
            EndPrimitive();
        }
    }";

const CONTROL: &str = "#version 450
    layout(vertices = 1) out;
    layout(set = 0, binding = 0) uniform Values { uint value; };
    layout(location = 0) in flat uint number[];
    layout(location = 0) out uint passed[];
    void main() {
        passed[gl_InvocationID] = number[gl_InvocationID] + value;
        gl_TessLevelOuter[0] = 1.0;
        gl_TessLevelOuter[1] = 1.0;
        gl_TessLevelOuter[2] = 1.0;
        gl_TessLevelInner[0] = 1.0;
    }";

const EVALUATION: &str = "#version 450
    layout(triangles, ccw) in;
    layout(set = 0, binding = 0) readonly buffer Values { uint value; };
    layout(location = 0) in uint passed[];
    layout(location = 0, xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0) out flat uint captured;
    void main() {
        captured = uint(round(1000.0 * gl_TessCoord.x + 2000.0 * gl_TessCoord.y)) + passed[0] + value;
        gl_Position = vec4(0.0);
    }";

const DISPATCHES: &str = "#version 450
    layout(set = 0, binding = 0) uniform Values { uint value; };
    layout(set = 0, binding = 1) buffer Found { uint found; };
    layout(push_constant) uniform Block { layout(offset = 16) uint pushed; };
    void main() {
        found = value + pushed;
    }";

/// What is pushed, and where.
const PUSHED: u32 = 5;
const PUSHED_AT: usize = 16;
/// Where mappings find an index in push data: at the beginning, where captures have their parameters.
const INDEX_AT: u32 = 0;
/// Value `slot` of the heap, which has uniform buffers and storage buffers of all values.
const fn value(slot: u32) -> u32 {
    10 * slot
}
const SLOTS: u32 = 8;
const POINTS: u32 = 3;
const RECORDS: usize = 12;
const APART: u32 = 256;

/// The stages that capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stages {
    Vertex,
    Geometry,
    Tessellation,
}

/// What the shaders are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Pipeline,
    Objects,
    LinkedObjects,
    /// Of the binary code of other shader objects.
    Binaries,
}

/// Where the capture is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Primary,
    /// In a secondary command buffer that is executed inside of a pass.
    InsideOfPass,
    /// In a secondary command buffer with the pass.
    WithPass,
}

type Case = (Stages, Kind, Place);

/// The mapping of a binding to the storage buffer or uniform buffer with a value.
fn to_slot(device: &Device, binding: u32, slot: u32, is_storage: bool) -> heaps::Mapping {
    let first = if is_storage { SLOTS } else { 0 };
    constant_mapping(0, binding, (first + slot) * device.descriptor())
}

/// The mapping of binding 0 to the uniform buffer whose number is in push data.
fn to_pushed_slot(device: &Device) -> heaps::Mapping {
    let embedded = std::ptr::null();
    let push = heaps::PushIndex {
        offset: 0,
        push_offset: INDEX_AT,
        index_stride: device.descriptor(),
        array_stride: 0,
        embedded,
        is_combined: 0,
        sampler: [0; 4],
    };
    mapping(0, 0, 1, heaps::Data { push })
}

/// The slot whose number is in push data.
const PUSHED_SLOT: u32 = 3;

fn run((stages, kind, place): Case) {
    let Some(mut device) = Device::open() else { return };
    use vk::BufferUsageFlags2KHR as Usage2;
    let program = &mut device.program;
    let usage = vk::BufferUsageFlags::TRANSFORM_FEEDBACK_BUFFER_EXT;
    let (target, captured) = program.buffer(RECORDS, usage);
    let usage = Usage2::UNIFORM_BUFFER | Usage2::STORAGE_BUFFER;
    let (_, values, values_at) = program.buffer_with_address((SLOTS * APART / 4) as usize, usage);
    let (_, found, found_at) = program.buffer_with_address(4, usage);
    let (_, heap, heap_at) = program.buffer_with_address(4096, heaps::USAGE);
    let raw = &device.program.raw;
    // SAFETY: every handle is of the device, and in use only until the submission is done.
    unsafe {
        captured.write_bytes(0xff, RECORDS);
        let descriptor = device.descriptor();
        for slot in 0..SLOTS {
            values.byte_add((slot * APART) as usize).write(value(slot));
            let address = values_at + u64::from(slot * APART);
            for (first, ty) in [
                (0, vk::DescriptorType::UNIFORM_BUFFER),
                (SLOTS, vk::DescriptorType::STORAGE_BUFFER),
            ] {
                let at = (first + slot) * descriptor;
                device.put(heap.byte_add(at as usize).cast(), ty, address, 16);
            }
        }
        let at = (2 * SLOTS * descriptor) as usize;
        let ty = vk::DescriptorType::STORAGE_BUFFER;
        device.put(heap.byte_add(at).cast(), ty, found_at, 16);

        use vk::ShaderStageFlags as Stage;
        let of_vertex = [to_pushed_slot(&device)];
        let of_geometry = [to_slot(&device, 0, 4, false), to_slot(&device, 1, 5, true)];
        let of_control = [to_slot(&device, 0, 6, false)];
        let of_evaluation = [to_slot(&device, 0, 7, true)];
        let of_compute = [to_pushed_slot(&device), constant_mapping(0, 1, at as u32)];
        let [of_vertex, of_geometry, of_control, of_evaluation, of_compute] =
            [&of_vertex[..], &of_geometry, &of_control, &of_evaluation, &of_compute]
                .map(mappings_of);
        let words = |stage, source: &str| common::compile_stage(stage, source, &[]);
        // Of a vertex shader before others nothing is captured.
        let first = VERTEX.replace(", xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0", "");
        let shaders: Vec<(Stage, Vec<u32>, &heaps::Mappings)> = match stages {
            Stages::Vertex => vec![(Stage::VERTEX, words("vert", VERTEX), &of_vertex)],
            Stages::Geometry => vec![
                (Stage::VERTEX, words("vert", &first), &of_vertex),
                (Stage::GEOMETRY, words("geom", GEOMETRY), &of_geometry),
            ],
            Stages::Tessellation => vec![
                (Stage::VERTEX, words("vert", &first), &of_vertex),
                (Stage::TESSELLATION_CONTROL, words("tesc", CONTROL), &of_control),
                (Stage::TESSELLATION_EVALUATION, words("tese", EVALUATION), &of_evaluation),
            ],
        };
        let topology = match stages {
            Stages::Tessellation => vk::PrimitiveTopology::PATCH_LIST,
            _ => vk::PrimitiveTopology::POINT_LIST,
        };
        let functions = ext::shader_object::Device::new(device.program.instance(), raw);
        let (mut pipeline, mut objects) = (vk::Pipeline::null(), Vec::new());
        if kind == Kind::Pipeline {
            let shaders: Vec<_> = shaders
                .iter()
                .map(|(stage, words, mappings)| (*stage, &words[..], *mappings))
                .collect();
            pipeline = graphics_pipeline(raw, &shaders, topology);
        } else {
            objects = create_objects(&functions, &shaders, kind);
        }
        let dispatches = compute_pipeline(raw, DISPATCHES, &of_compute);

        let writes = (
            vk::PipelineStageFlags::TRANSFORM_FEEDBACK_EXT | vk::PipelineStageFlags::COMPUTE_SHADER,
            vk::AccessFlags::TRANSFORM_FEEDBACK_WRITE_EXT | vk::AccessFlags::SHADER_WRITE,
        );
        let bound = device.resources_at(heap_at, 4 * 4096);
        let xfb = device.program.xfb();
        use vk::PipelineBindPoint as Point;
        let push = |cmd| {
            device.push_data(cmd, INDEX_AT as usize, &PUSHED_SLOT.to_le_bytes());
            device.push_data(cmd, PUSHED_AT, &PUSHED.to_le_bytes());
        };
        let capture = |cmd| {
            if kind == Kind::Pipeline {
                raw.cmd_bind_pipeline(cmd, Point::GRAPHICS, pipeline);
            } else {
                bind_objects(&device, &functions, cmd, &shaders, &objects, topology);
            }
            xfb.bind_target(cmd, target, 0, 4 * RECORDS as u64);
            xfb.begin(cmd);
            raw.cmd_draw(cmd, POINTS, 1, 0, 0);
            xfb.end(cmd);
        };
        let rendering =
            vk::RenderingInfo::default().render_area(attachment::area(1)).layer_count(1);
        let bind_dispatches = |cmd| raw.cmd_bind_pipeline(cmd, Point::COMPUTE, dispatches);
        let with_pass = |cmd| {
            push(cmd);
            bind_dispatches(cmd);
            raw.cmd_begin_rendering(cmd, &rendering);
            capture(cmd);
            raw.cmd_end_rendering(cmd);
            raw.cmd_dispatch(cmd, 1, 1, 1);
        };
        let inherited = heaps::Inherited {
            s_type: heaps::s_type(10),
            p_next: std::ptr::null(),
            samplers: std::ptr::null(),
            resources: &raw const bound,
        };
        let secondary = Secondary::new(&device, &inherited);
        device.program.submit(writes, |cmd| {
            (device.bind_resources)(cmd, &raw const bound);
            match place {
                Place::Primary => with_pass(cmd),
                Place::WithPass => {
                    secondary.record(false, with_pass);
                    raw.cmd_execute_commands(cmd, &[secondary.cmd]);
                }
                Place::InsideOfPass => {
                    secondary.record(true, |cmd| {
                        push(cmd);
                        capture(cmd);
                    });
                    let flags = vk::RenderingFlags::CONTENTS_SECONDARY_COMMAND_BUFFERS;
                    raw.cmd_begin_rendering(cmd, &rendering.flags(flags));
                    raw.cmd_execute_commands(cmd, &[secondary.cmd]);
                    raw.cmd_end_rendering(cmd);
                    // The heap is still bound.
                    push(cmd);
                    bind_dispatches(cmd);
                    raw.cmd_dispatch(cmd, 1, 1, 1);
                }
            }
        });
        secondary.destroy();

        let of_vertex = (0..POINTS).map(|vertex| value(PUSHED_SLOT) + PUSHED + vertex);
        let mut expected: Vec<u32> = match stages {
            Stages::Vertex => of_vertex.collect(),
            Stages::Geometry => of_vertex
                .flat_map(|number| [0, 1000].map(|more| more + number + value(4) + value(5)))
                .collect(),
            Stages::Tessellation => of_vertex
                .flat_map(|number| [0, 1000, 2000].map(|more| more + number + value(6) + value(7)))
                .collect(),
        };
        expected.resize(RECORDS, u32::MAX);
        let captured = std::slice::from_raw_parts_mut(captured, RECORDS);
        if stages == Stages::Tessellation {
            // Which corner of a triangle comes first is not what this is about.
            captured.sort_unstable();
            expected.sort_unstable();
        }
        assert_eq!(captured, expected, "{stages:?} {kind:?} {place:?}");
        assert_eq!(found.read(), value(PUSHED_SLOT) + PUSHED, "{stages:?} {kind:?} {place:?}");
        raw.destroy_pipeline(pipeline, None);
        raw.destroy_pipeline(dispatches, None);
        objects.into_iter().for_each(|object| functions.destroy_shader(object, None));
    }
}

/// A secondary command buffer that inherits a heap.
struct Secondary<'a> {
    device: &'a Device,
    inherited: &'a heaps::Inherited,
    pool: vk::CommandPool,
    cmd: vk::CommandBuffer,
}

impl<'a> Secondary<'a> {
    /// # Safety
    /// The device is live.
    unsafe fn new(device: &'a Device, inherited: &'a heaps::Inherited) -> Self {
        let raw = &device.program.raw;
        unsafe {
            let info =
                vk::CommandPoolCreateInfo::default().queue_family_index(device.program.family);
            let pool = raw.create_command_pool(&info, None).unwrap();
            let info = vk::CommandBufferAllocateInfo::default()
                .command_pool(pool)
                .level(vk::CommandBufferLevel::SECONDARY)
                .command_buffer_count(1);
            let cmd = raw.allocate_command_buffers(&info).unwrap()[0];
            Self { device, inherited, pool, cmd }
        }
    }

    /// # Safety
    /// What is recorded is valid, and the command buffer is not pending.
    unsafe fn record(&self, continues: bool, record: impl FnOnce(vk::CommandBuffer)) {
        let raw = &self.device.program.raw;
        let mut rendering = vk::CommandBufferInheritanceRenderingInfo::default()
            .rasterization_samples(vk::SampleCountFlags::TYPE_1);
        rendering.p_next = (&raw const *self.inherited).cast();
        let inheritance = vk::CommandBufferInheritanceInfo::default().push_next(&mut rendering);
        let flags = if continues {
            vk::CommandBufferUsageFlags::RENDER_PASS_CONTINUE
        } else {
            vk::CommandBufferUsageFlags::empty()
        };
        let info =
            vk::CommandBufferBeginInfo::default().flags(flags).inheritance_info(&inheritance);
        unsafe {
            raw.begin_command_buffer(self.cmd, &info).unwrap();
            record(self.cmd);
            raw.end_command_buffer(self.cmd).unwrap();
        }
    }

    /// # Safety
    /// The command buffer is not pending.
    unsafe fn destroy(self) {
        unsafe { self.device.program.raw.destroy_command_pool(self.pool, None) };
    }
}

/// Creates shader objects of stages with their mappings.
///
/// # Safety
/// The device is live, and the mappings are those of the shaders.
unsafe fn create_objects(
    functions: &ext::shader_object::Device,
    shaders: &[(vk::ShaderStageFlags, Vec<u32>, &heaps::Mappings)],
    kind: Kind,
) -> Vec<vk::ShaderEXT> {
    let flags = match kind {
        Kind::LinkedObjects if shaders.len() > 1 => {
            heaps::SHADER | vk::ShaderCreateFlagsEXT::LINK_STAGE
        }
        _ => heaps::SHADER,
    };
    let create = |codes: &[(vk::ShaderCodeTypeEXT, &[u8])]| {
        let next = shaders.iter().skip(1).map(|(stage, ..)| *stage);
        let next = next.chain([vk::ShaderStageFlags::empty()]);
        let infos: Vec<_> = shaders
            .iter()
            .zip(next)
            .zip(codes)
            .map(|(((stage, _, mappings), next), (ty, code))| {
                let mut info = vk::ShaderCreateInfoEXT::default()
                    .flags(flags)
                    .stage(*stage)
                    .next_stage(next)
                    .code_type(*ty)
                    .code(code)
                    .name(c"main");
                if *ty == vk::ShaderCodeTypeEXT::SPIRV {
                    info.p_next = (&raw const **mappings).cast();
                }
                info
            })
            .collect();
        unsafe { functions.create_shaders(&infos, None) }.unwrap()
    };
    let spirv = |(_, words, _): &(_, Vec<u32>, _)| bytemuck::cast_slice(words).to_vec();
    let codes: Vec<Vec<u8>> = shaders.iter().map(spirv).collect();
    let codes: Vec<_> =
        codes.iter().map(|code| (vk::ShaderCodeTypeEXT::SPIRV, &code[..])).collect();
    let made = create(&codes);
    if kind != Kind::Binaries {
        return made;
    }
    unsafe {
        let aligned = |object: &vk::ShaderEXT| {
            let binary = functions.get_shader_binary_data(*object).unwrap();
            let mut words = vec![0_u128; binary.len().div_ceil(16)];
            bytemuck::cast_slice_mut(&mut words)[..binary.len()].copy_from_slice(&binary);
            (words, binary.len())
        };
        let binaries: Vec<(Vec<u128>, usize)> = made.iter().map(aligned).collect();
        made.into_iter().for_each(|object| functions.destroy_shader(object, None));
        let binary = vk::ShaderCodeTypeEXT::BINARY;
        let codes: Vec<(_, &[u8])> = binaries
            .iter()
            .map(|(words, size)| (binary, &bytemuck::cast_slice(words)[..*size]))
            .collect();
        create(&codes)
    }
}

/// # Safety
/// The command buffer is being recorded.
unsafe fn bind_objects(
    device: &Device,
    functions: &ext::shader_object::Device,
    cmd: vk::CommandBuffer,
    shaders: &[(vk::ShaderStageFlags, Vec<u32>, &heaps::Mappings)],
    objects: &[vk::ShaderEXT],
    topology: vk::PrimitiveTopology,
) {
    use vk::ShaderStageFlags as Stage;
    let (instance, raw) = (device.program.instance(), &device.program.raw);
    unsafe {
        let all = [
            Stage::VERTEX,
            Stage::TESSELLATION_CONTROL,
            Stage::TESSELLATION_EVALUATION,
            Stage::GEOMETRY,
            Stage::FRAGMENT,
        ];
        let bound = all.map(|stage| {
            let number = shaders.iter().position(|(of, ..)| *of == stage);
            number.map_or(vk::ShaderEXT::null(), |number| objects[number])
        });
        functions.cmd_bind_shaders(cmd, &all, &bound);
        raw.cmd_set_rasterizer_discard_enable(cmd, true);
        let area = attachment::area(1);
        let viewport =
            vk::Viewport { width: 1.0, height: 1.0, max_depth: 1.0, ..Default::default() };
        raw.cmd_set_viewport_with_count(cmd, &[viewport]);
        raw.cmd_set_scissor_with_count(cmd, &[area]);
        raw.cmd_set_primitive_topology(cmd, topology);
        raw.cmd_set_primitive_restart_enable(cmd, false);
        let set_input: vk::PFN_vkCmdSetVertexInputEXT =
            device.program.command(c"vkCmdSetVertexInputEXT");
        set_input(cmd, 0, std::ptr::null(), 0, std::ptr::null());
        if topology == vk::PrimitiveTopology::PATCH_LIST {
            let functions = ext::extended_dynamic_state2::Device::new(instance, raw);
            functions.cmd_set_patch_control_points(cmd, 1);
            let functions = ext::extended_dynamic_state3::Device::new(instance, raw);
            let origin = vk::TessellationDomainOrigin::UPPER_LEFT;
            functions.cmd_set_tessellation_domain_origin(cmd, origin);
        }
    }
}

#[test]
fn stages_have_mappings_of_their_own() {
    use {Kind::*, Place::*};
    for stages in [Stages::Vertex, Stages::Geometry, Stages::Tessellation] {
        for kind in [Pipeline, Objects, LinkedObjects, Binaries] {
            run((stages, kind, Primary));
        }
        for place in [InsideOfPass, WithPass] {
            run((stages, Pipeline, place));
        }
    }
}

#[test]
fn stages_have_mappings_of_their_own_on_the_layer() {
    layer::run_on_it(stages_have_mappings_of_their_own, &[]);
}
