//! Captures by shader objects (`VK_EXT_shader_object`), natively and on the Vulkan layer: linked and
//! unlinked shaders, those of binary code, and a compute shader that is bound before a capture; and draws of them that
//! queries count.

use std::ffi::{CStr, c_void};

use ash::{ext, vk};

use super::program::Program;
use super::{generated_queries, pipeline_batches};
use crate::common::bare::HOST_READS;
use crate::common::commands::query_pool;
use crate::common::native::WRITES;
use crate::common::{self, attachment, layer};

const VERTEX: &str = "#version 450
    layout(constant_id = 3) const uint PLUS = 1;
    layout(location = 0) in uint given;
    layout(set = 0, binding = 0) uniform Values { uint value; };
    layout(location = 0, xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0) out flat uint captured;
    void main() {
        captured = given + value + PLUS;
        gl_Position = vec4(0.0);
        gl_PointSize = 1.0;
    }";

/// Tessellation shaders after the vertex shader, whose outputs are then not captured. A patch has one control point, and is
/// one triangle, in whose corners 0, 1000 and 2000 are added.
const CONTROL: &str = "#version 450
    layout(vertices = 1) out;
    layout(location = 0) in flat uint number[];
    layout(location = 0) out uint passed[];
    void main() {
        passed[gl_InvocationID] = number[gl_InvocationID];
        gl_TessLevelOuter[0] = 1.0;
        gl_TessLevelOuter[1] = 1.0;
        gl_TessLevelOuter[2] = 1.0;
        gl_TessLevelInner[0] = 1.0;
    }";

const EVALUATION: &str = "#version 450
    layout(triangles, ccw) in;
    layout(location = 0) in uint passed[];
    layout(location = 0, xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0) out flat uint captured;
    void main() {
        captured = uint(round(1000.0 * gl_TessCoord.x + 2000.0 * gl_TessCoord.y)) + passed[0];
        gl_Position = vec4(0.0);
    }";

/// A geometry shader after the vertex shader, whose outputs are then not captured.
const GEOMETRY: &str = "#version 450
    layout(points) in;
    layout(points, max_vertices = 2) out;
    layout(location = 0) in flat uint number[];
    layout(location = 0, xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0) out flat uint captured;
    void main() {
        for (uint i = 0; i < 2; i++) {
            captured = 1000 * i + number[0];
            gl_Position = vec4(0.0);
            gl_PointSize = 1.0;
            EmitVertex();
            EndPrimitive();
        }
    }";

const DISPATCHES: &str = "#version 450
    layout(set = 0, binding = 0) uniform Values { uint value; };
    layout(set = 0, binding = 1) buffer Found { uint found; };
    void main() {
        found = value;
    }";

const VALUE: u32 = 500;
/// The value of the specialization constant.
const PLUS: u32 = 7;
const POINTS: u32 = 3;
/// The number of records that there is room for.
const RECORDS: usize = 12;

/// Which shaders capture, and how they are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Case {
    Vertex,
    Unlinked,
    Linked,
    /// With the origin of the domain in the upper left corner, or in the lower left one.
    Tessellated {
        lower_left: bool,
    },
    /// The vertex shader, of the binary code of another.
    Binary,
    /// Both, of binary code.
    BinaryGeometry,
}

/// The stage of a shader, the one behind it, and its code.
type Code<'a> = (vk::ShaderStageFlags, vk::ShaderStageFlags, vk::ShaderCodeTypeEXT, &'a [u8]);

struct Shaders<'a> {
    functions: &'a ext::shader_object::Device,
    set_layouts: &'a [vk::DescriptorSetLayout],
}

impl Shaders<'_> {
    /// # Safety
    /// The device is live.
    unsafe fn create(
        &self,
        codes: &[Code<'_>],
        flags: vk::ShaderCreateFlagsEXT,
    ) -> Result<Vec<vk::ShaderEXT>, vk::Result> {
        let entries = [vk::SpecializationMapEntry::default().constant_id(3).offset(0).size(4)];
        let data = PLUS.to_ne_bytes();
        let constants = vk::SpecializationInfo::default().map_entries(&entries).data(&data);
        let name: &CStr = c"main";
        let infos: Vec<_> = codes
            .iter()
            .map(|(stage, next, ty, code)| {
                vk::ShaderCreateInfoEXT::default()
                    .flags(flags)
                    .stage(*stage)
                    .next_stage(*next)
                    .code_type(*ty)
                    .code(code)
                    .set_layouts(self.set_layouts)
                    .name(name)
                    .specialization_info(&constants)
            })
            .collect();
        let mut shaders = vec![vk::ShaderEXT::null(); infos.len()];
        let create = self.functions.fp().create_shaders_ext;
        let (count, made) = (infos.len() as u32, shaders.as_mut_ptr());
        unsafe {
            create(self.functions.device(), count, infos.as_ptr(), std::ptr::null(), made)
                .result_with_success(shaders)
        }
    }

    /// # Safety
    /// The shader is of the device.
    unsafe fn binary(&self, shader: vk::ShaderEXT) -> Aligned {
        let binary = unsafe { self.functions.get_shader_binary_data(shader) }.unwrap();
        Aligned::new(&binary)
    }
}

/// Bytes that are aligned as binary code has to be.
struct Aligned(Vec<u128>, usize);

impl Aligned {
    fn new(bytes: &[u8]) -> Self {
        let mut words = vec![0_u128; bytes.len().div_ceil(16)];
        bytemuck::cast_slice_mut::<u128, u8>(&mut words)[..bytes.len()].copy_from_slice(bytes);
        Self(words, bytes.len())
    }

    fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.0)[..self.1]
    }
}

/// Returns what is captured, and what a dispatch finds whose shader was bound before.
fn run(case: Case) -> Option<(Vec<u32>, u32)> {
    let mut feature = vk::PhysicalDeviceShaderObjectFeaturesEXT::default().shader_object(true);
    let mut dynamic = vk::PhysicalDeviceVertexInputDynamicStateFeaturesEXT::default()
        .vertex_input_dynamic_state(true);
    feature.p_next = (&raw mut dynamic).cast();
    let extensions = [ext::shader_object::NAME, ext::vertex_input_dynamic_state::NAME];
    let mut device = Program::newer(&extensions, (&raw mut feature).cast())?;
    use vk::BufferUsageFlags as Usage;
    let (target, captured) = device.buffer(RECORDS, Usage::TRANSFORM_FEEDBACK_BUFFER_EXT);
    let (vertices, given) = device.buffer(2 * POINTS as usize, Usage::VERTEX_BUFFER);
    let (uniform, value) = device.buffer(4, Usage::UNIFORM_BUFFER);
    let (storage, found) = device.buffer(4, Usage::STORAGE_BUFFER);
    let (raw, xfb) = (&device.raw, device.xfb());
    let functions = ext::shader_object::Device::new(device.instance(), raw);
    let input = ext::vertex_input_dynamic_state::Device::new(device.instance(), raw);
    // SAFETY: every handle is of the device, and in use only until the submission is done.
    unsafe {
        for point in 0..2 * POINTS {
            given.add(point as usize).write(10 * point);
        }
        value.write(VALUE);
        captured.write_bytes(0xff, RECORDS);
        use vk::ShaderStageFlags as Stage;
        let stages = Stage::VERTEX | Stage::COMPUTE;
        let types = [vk::DescriptorType::UNIFORM_BUFFER, vk::DescriptorType::STORAGE_BUFFER];
        let set_layouts = [device.set_layout(&[(0, types[0], stages), (1, types[1], stages)])];
        let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&set_layouts);
        let layout = raw.create_pipeline_layout(&info, None).unwrap();
        let (pool, [set]) = device.descriptor_sets(set_layouts, &types.map(|ty| (ty, 1)));
        device.write_set((set, 0, types[0]), (uniform, 0, vk::WHOLE_SIZE));
        device.write_set((set, 1, types[1]), (storage, 0, vk::WHOLE_SIZE));

        let shaders = Shaders { functions: &functions, set_layouts: &set_layouts };
        let words = |stage, source| {
            let words = common::compile_stage(stage, source, &[]);
            bytemuck::cast_slice::<u32, u8>(&words).to_vec()
        };
        let (vertex, geometry) = (words("vert", VERTEX), words("geom", GEOMETRY));
        let (spirv, binary) = (vk::ShaderCodeTypeEXT::SPIRV, vk::ShaderCodeTypeEXT::BINARY);
        let (none, both) = (vk::ShaderCreateFlagsEXT::empty(), Stage::GEOMETRY);
        let alone: Code<'_> = (Stage::VERTEX, Stage::empty(), spirv, &vertex);
        let pair: [Code<'_>; 2] = [
            (Stage::VERTEX, both, spirv, &vertex),
            (Stage::GEOMETRY, Stage::empty(), spirv, &geometry),
        ];
        let (control, evaluation) = (words("tesc", CONTROL), words("tese", EVALUATION));
        let (control_stage, evaluation_stage) =
            (Stage::TESSELLATION_CONTROL, Stage::TESSELLATION_EVALUATION);
        let patches: [Code<'_>; 3] = [
            (Stage::VERTEX, control_stage, spirv, &vertex),
            (control_stage, evaluation_stage, spirv, &control),
            (evaluation_stage, Stage::empty(), spirv, &evaluation),
        ];
        let created = match case {
            Case::Vertex => shaders.create(&[alone], none),
            Case::Unlinked => shaders.create(&pair, none),
            Case::Linked => shaders.create(&pair, vk::ShaderCreateFlagsEXT::LINK_STAGE),
            Case::Tessellated { .. } => shaders.create(&patches, none),
            Case::Binary | Case::BinaryGeometry => {
                let codes = if case == Case::Binary { &[alone][..] } else { &pair };
                let originals = shaders.create(codes, none).unwrap();
                let binaries: Vec<_> = originals.iter().map(|s| shaders.binary(*s)).collect();
                originals.into_iter().for_each(|s| functions.destroy_shader(s, None));
                let codes: Vec<Code<'_>> = codes
                    .iter()
                    .zip(&binaries)
                    .map(|((stage, next, ..), code)| (*stage, *next, binary, code.bytes()))
                    .collect();
                let created = shaders.create(&codes, none);
                // Code that is of nobody.
                let mut wrong = binaries[0].bytes().to_vec();
                wrong.iter_mut().take(64).for_each(|byte| *byte = !*byte);
                let wrong = Aligned::new(&wrong);
                let code = (alone.0, alone.1, binary, wrong.bytes());
                let made = shaders.create(&[code], none);
                assert_eq!(made, Err(vk::Result::INCOMPATIBLE_SHADER_BINARY_EXT));
                created
            }
        };
        let created = created.unwrap_or_else(|error| panic!("{case:?}: {error}"));
        let dispatches = words("comp", DISPATCHES);
        let code = (Stage::COMPUTE, Stage::empty(), spirv, &dispatches[..]);
        let compute = shaders.create(&[code], none).unwrap()[0];

        let writes = (
            vk::PipelineStageFlags::TRANSFORM_FEEDBACK_EXT | vk::PipelineStageFlags::COMPUTE_SHADER,
            vk::AccessFlags::TRANSFORM_FEEDBACK_WRITE_EXT | vk::AccessFlags::SHADER_WRITE,
        );
        device.submit(writes, |cmd| {
            use vk::PipelineBindPoint as Point;
            functions.cmd_bind_shaders(cmd, &[Stage::COMPUTE], &[compute]);
            for point in [Point::GRAPHICS, Point::COMPUTE] {
                raw.cmd_bind_descriptor_sets(cmd, point, layout, 0, &[set], &[]);
            }
            let stages = [
                Stage::VERTEX,
                Stage::TESSELLATION_CONTROL,
                Stage::TESSELLATION_EVALUATION,
                Stage::GEOMETRY,
                Stage::FRAGMENT,
            ];
            let mut bound = [vk::ShaderEXT::null(); 5];
            bound[0] = created[0];
            let is_tessellated = matches!(case, Case::Tessellated { .. });
            if is_tessellated {
                bound[1..3].copy_from_slice(&created[1..])
            } else {
                bound[3] = created.get(1).copied().unwrap_or_default()
            }
            functions.cmd_bind_shaders(cmd, &stages, &bound);
            raw.cmd_set_rasterizer_discard_enable(cmd, true);
            let topology = if is_tessellated {
                vk::PrimitiveTopology::PATCH_LIST
            } else {
                vk::PrimitiveTopology::POINT_LIST
            };
            raw.cmd_set_primitive_topology(cmd, topology);
            if is_tessellated {
                let functions = ext::extended_dynamic_state2::Device::new(device.instance(), raw);
                functions.cmd_set_patch_control_points(cmd, 1);
                let functions = ext::extended_dynamic_state3::Device::new(device.instance(), raw);
                let origin = match case {
                    Case::Tessellated { lower_left: true } => {
                        vk::TessellationDomainOrigin::LOWER_LEFT
                    }
                    _ => vk::TessellationDomainOrigin::UPPER_LEFT,
                };
                functions.cmd_set_tessellation_domain_origin(cmd, origin);
            }
            raw.cmd_set_primitive_restart_enable(cmd, false);
            let bindings = [vk::VertexInputBindingDescription2EXT::default()
                .stride(4)
                .input_rate(vk::VertexInputRate::VERTEX)
                .divisor(1)];
            let attributes =
                [vk::VertexInputAttributeDescription2EXT::default().format(vk::Format::R32_UINT)];
            input.cmd_set_vertex_input(cmd, &bindings, &attributes);
            raw.cmd_bind_vertex_buffers(cmd, 0, &[vertices], &[0]);
            xfb.bind_target(cmd, target, 0, 4 * RECORDS as u64);
            attachment::begin_rendering(raw, cmd);
            xfb.begin(cmd);
            raw.cmd_draw(cmd, POINTS, 1, 0, 0);
            xfb.end(cmd);
            // Two more captures: one with a stride that is bound with the buffer, and one for which the vertex input
            // sets the former stride again.
            for number in 1..if case == Case::Vertex { 3 } else { 1 } {
                match number {
                    1 => {
                        let (buffers, strides) = ([vertices], [8]);
                        raw.cmd_bind_vertex_buffers2(cmd, 0, &buffers, &[0], None, Some(&strides));
                    }
                    _ => input.cmd_set_vertex_input(cmd, &bindings, &attributes),
                }
                let offset = u64::from(4 * POINTS * number);
                xfb.bind_target(cmd, target, offset, u64::from(4 * POINTS));
                xfb.begin(cmd);
                raw.cmd_draw(cmd, POINTS, 1, 0, 0);
                xfb.end(cmd);
            }
            raw.cmd_end_rendering(cmd);
            raw.cmd_dispatch(cmd, 1, 1, 1);
        });
        let captured = std::slice::from_raw_parts(captured, RECORDS).to_vec();
        let found = found.read();
        created.into_iter().chain([compute]).for_each(|s| functions.destroy_shader(s, None));
        raw.destroy_descriptor_pool(pool, None);
        raw.destroy_pipeline_layout(layout, None);
        raw.destroy_descriptor_set_layout(set_layouts[0], None);
        Some((captured, found))
    }
}

/// A device with shader objects, and a buffer for what is captured.
struct Objects {
    program: Program,
    functions: ext::shader_object::Device,
    target: vk::Buffer,
    captured: *mut u32,
}

/// Stages before rasterization, and the fragment shader.
const STAGES: [vk::ShaderStageFlags; 5] = [
    vk::ShaderStageFlags::VERTEX,
    vk::ShaderStageFlags::TESSELLATION_CONTROL,
    vk::ShaderStageFlags::TESSELLATION_EVALUATION,
    vk::ShaderStageFlags::GEOMETRY,
    vk::ShaderStageFlags::FRAGMENT,
];

impl Objects {
    fn open() -> Option<Self> {
        Self::open_with(&[], std::ptr::null_mut())
    }

    /// With more extensions, and a chain with their features.
    fn open_with(more: &[&CStr], chain: *mut c_void) -> Option<Self> {
        let mut feature = vk::PhysicalDeviceShaderObjectFeaturesEXT::default().shader_object(true);
        let mut dynamic = vk::PhysicalDeviceVertexInputDynamicStateFeaturesEXT::default()
            .vertex_input_dynamic_state(true);
        dynamic.p_next = chain;
        feature.p_next = (&raw mut dynamic).cast();
        let extensions = [ext::shader_object::NAME, ext::vertex_input_dynamic_state::NAME];
        let extensions = [&extensions, more].concat();
        let mut program = Program::newer(&extensions, (&raw mut feature).cast())?;
        let usage = vk::BufferUsageFlags::TRANSFORM_FEEDBACK_BUFFER_EXT;
        let (target, captured) = program.buffer(RECORDS, usage);
        let functions = ext::shader_object::Device::new(program.instance(), &program.raw);
        Some(Self { program, functions, target, captured })
    }

    /// Records a command buffer, and submits it if `vkEndCommandBuffer` succeeds. Returns that result, and what is
    /// captured.
    ///
    /// # Safety
    /// What is recorded is valid.
    unsafe fn submit(
        &self,
        record: impl FnOnce(vk::CommandBuffer),
    ) -> (vk::Result, [u32; RECORDS]) {
        let raw = &self.program.raw;
        // SAFETY: the caller's contract; the submission is waited for.
        unsafe {
            self.captured.write_bytes(0xff, RECORDS);
            let pool = self.program.command_pool();
            let cmd = self.program.command_buffers(pool, vk::CommandBufferLevel::PRIMARY, 1);
            raw.begin_command_buffer(cmd[0], &Default::default()).unwrap();
            raw.cmd_set_rasterizer_discard_enable(cmd[0], true);
            raw.cmd_set_primitive_topology(cmd[0], vk::PrimitiveTopology::POINT_LIST);
            raw.cmd_set_primitive_restart_enable(cmd[0], false);
            let input = ext::vertex_input_dynamic_state::Device::new(self.program.instance(), raw);
            input.cmd_set_vertex_input(cmd[0], &[], &[]);
            let state = ext::extended_dynamic_state2::Device::new(self.program.instance(), raw);
            state.cmd_set_patch_control_points(cmd[0], 1);
            let state = ext::extended_dynamic_state3::Device::new(self.program.instance(), raw);
            let origin = vk::TessellationDomainOrigin::UPPER_LEFT;
            state.cmd_set_tessellation_domain_origin(cmd[0], origin);
            self.program.xfb().bind_target(cmd[0], self.target, 0, 4 * RECORDS as u64);
            attachment::begin_rendering(raw, cmd[0]);
            record(cmd[0]);
            raw.cmd_end_rendering(cmd[0]);
            self.program.barrier(cmd[0], WRITES, HOST_READS);
            let ended = raw.end_command_buffer(cmd[0]);
            if ended.is_ok() {
                self.program.execute(&cmd);
            }
            raw.destroy_command_pool(pool, None);
            let captured = self.captured.cast::<[u32; RECORDS]>().read();
            (ended.err().unwrap_or(vk::Result::SUCCESS), captured)
        }
    }

    /// Binds shaders of these stages, and none of the others.
    ///
    /// # Safety
    /// The command buffer is being recorded.
    unsafe fn bind(
        &self,
        cmd: vk::CommandBuffer,
        shaders: &[(vk::ShaderStageFlags, vk::ShaderEXT)],
    ) {
        let bound = STAGES.map(|stage| {
            let found = shaders.iter().find(|(of, _)| *of == stage);
            found.map(|(_, shader)| *shader).unwrap_or_default()
        });
        unsafe {
            self.functions.cmd_bind_shaders(cmd, &STAGES, &bound);
            let is_tessellated = bound[1] != vk::ShaderEXT::null();
            let topology = if is_tessellated {
                vk::PrimitiveTopology::PATCH_LIST
            } else {
                vk::PrimitiveTopology::POINT_LIST
            };
            self.program.raw.cmd_set_primitive_topology(cmd, topology);
        }
    }

    /// # Safety
    /// As [`bind`](Self::bind), in rendering.
    unsafe fn begin(&self, cmd: vk::CommandBuffer) {
        unsafe { self.program.xfb().begin(cmd) };
    }

    /// # Safety
    /// As [`begin`](Self::begin).
    unsafe fn end(&self, cmd: vk::CommandBuffer) {
        unsafe { self.program.xfb().end(cmd) };
    }
}

/// SPIR-V as bytes.
fn bytes(words: &[u32]) -> Vec<u8> {
    bytemuck::cast_slice(words).to_vec()
}

#[test]
fn shaders_are_judged_where_they_are_drawn_with() {
    let Some(objects) = Objects::open() else { return };
    let raw = &objects.program.raw;
    let shaders = Shaders { functions: &objects.functions, set_layouts: &[] };
    let (spirv, none) = (vk::ShaderCodeTypeEXT::SPIRV, vk::ShaderCreateFlagsEXT::empty());
    use vk::ShaderStageFlags as Stage;
    let (control, evaluation) = (Stage::TESSELLATION_CONTROL, Stage::TESSELLATION_EVALUATION);
    // SAFETY: every handle is of the device, and in use only until a submission is done.
    unsafe {
        let compiled = [
            ("vert", pipeline_batches::VERTEX),
            ("tesc", pipeline_batches::CONTROL),
            ("tese", pipeline_batches::EVALUATION),
            ("vert", common::CAPTURES),
        ];
        let compiled = compiled.map(|(stage, source)| {
            let words = common::compile_stage(stage, source, &[]);
            bytes(&pipeline_batches::with_equal_barriers(&words))
        });
        let created = shaders.create(
            &[
                (Stage::VERTEX, control, spirv, &compiled[0]),
                (control, evaluation, spirv, &compiled[1]),
                (evaluation, Stage::empty(), spirv, &compiled[2]),
                (Stage::VERTEX, Stage::empty(), spirv, &compiled[3]),
            ],
            none,
        );
        let created = created.unwrap();
        // The layer cannot capture these.
        let refused =
            [(Stage::VERTEX, created[0]), (control, created[1]), (evaluation, created[2])];
        let good = [(Stage::VERTEX, created[3])];
        let mut numbers = [u32::MAX; RECORDS];
        (numbers[0], numbers[1]) = (0, 1);
        let untouched = [u32::MAX; RECORDS];
        let found = objects.submit(|cmd| {
            objects.bind(cmd, &refused);
            raw.cmd_draw(cmd, 1, 1, 0, 0);
            objects.begin(cmd);
            objects.end(cmd);
        });
        assert_eq!(found, (vk::Result::SUCCESS, untouched), "no draw is captured with them");
        let found = objects.submit(|cmd| {
            objects.bind(cmd, &refused);
            objects.begin(cmd);
            objects.bind(cmd, &good);
            raw.cmd_draw(cmd, 2, 1, 0, 0);
            objects.bind(cmd, &refused);
            objects.end(cmd);
        });
        assert_eq!(found, (vk::Result::SUCCESS, numbers), "others are drawn with");
        let (result, captured) = objects.submit(|cmd| {
            objects.bind(cmd, &refused);
            objects.begin(cmd);
            raw.cmd_draw(cmd, 1, 1, 0, 0);
            objects.end(cmd);
        });
        assert_eq!(result, vk::Result::SUCCESS);
        assert_eq!(
            captured == untouched,
            layer::is_there(),
            "the layer loses the capture: {captured:?}"
        );
        created.into_iter().for_each(|shader| objects.functions.destroy_shader(shader, None));
    }
}

#[test]
fn shaders_are_judged_where_they_are_drawn_with_on_the_layer() {
    layer::run_on_it(shaders_are_judged_where_they_are_drawn_with, &[]);
}

/// Shaders before one that cannot be created are there, and that one is not. A driver may create those after it.
#[test]
fn shaders_before_one_that_fails_are_created() {
    let Some(objects) = Objects::open() else { return };
    let words = bytes(&common::compile(common::CAPTURES, &[]));
    let wrong = Aligned::new(&[0x5a; 64]);
    let info = |ty, code| {
        vk::ShaderCreateInfoEXT::default()
            .stage(vk::ShaderStageFlags::VERTEX)
            .code_type(ty)
            .code(code)
            .name(c"main")
    };
    let good = info(vk::ShaderCodeTypeEXT::SPIRV, &words);
    let bad = info(vk::ShaderCodeTypeEXT::BINARY, wrong.bytes());
    let create = objects.functions.fp().create_shaders_ext;
    let device = objects.functions.device();
    for (infos, made) in [([good, bad, good], 1), ([bad, good, good], 0), ([good, good, bad], 2)] {
        let mut shaders = [vk::ShaderEXT::null(); 3];
        // SAFETY: every handle is of the device, and in use only until a submission is done.
        unsafe {
            let result = create(device, 3, infos.as_ptr(), std::ptr::null(), shaders.as_mut_ptr());
            assert_eq!(result, vk::Result::INCOMPATIBLE_SHADER_BINARY_EXT);
            let first_null = shaders.iter().position(|shader| *shader == vk::ShaderEXT::null());
            assert_eq!(first_null, Some(made));
            for shader in shaders.iter().filter(|shader| **shader != vk::ShaderEXT::null()) {
                let (result, captured) = objects.submit(|cmd| {
                    objects.bind(cmd, &[(vk::ShaderStageFlags::VERTEX, *shader)]);
                    objects.begin(cmd);
                    objects.program.raw.cmd_draw(cmd, 1, 1, 5, 0);
                    objects.end(cmd);
                });
                assert_eq!(
                    (result, captured[..2].to_vec()),
                    (vk::Result::SUCCESS, vec![5, u32::MAX])
                );
                objects.functions.destroy_shader(*shader, None);
            }
        }
    }
}

#[test]
fn shaders_before_one_that_fails_are_created_on_the_layer() {
    layer::run_on_it(shaders_before_one_that_fails_are_created, &[]);
}

const STORES: &str = "#version 450
    layout(set = 0, binding = 0) buffer Stored { uint stored; };
    layout(location = 0) out flat uint number;
    void main() {
        stored = 1;
        number = gl_VertexIndex;
        gl_Position = vec4(0.0);
    }";

/// A geometry shader that captures, or not.
fn geometry(captures: bool) -> String {
    let xfb = if captures { "xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0, " } else { "" };
    format!(
        "#version 450
        layout(points) in;
        layout(points, max_vertices = 1) out;
        layout(location = 0) in flat uint number[];
        layout({xfb}location = 0) out flat uint captured;
        void main() {{
            captured = number[0];
            gl_Position = vec4(0.0);
            gl_PointSize = 1.0;
            EmitVertex();
        }}"
    )
}

/// The variable that tells [`a_vertex_shader_stores_before_a_geometry_shader`] how its shaders are made.
const PAIR: &str = "VKXFB_TEST_PAIR";

#[test]
fn a_vertex_shader_stores_before_a_geometry_shader() {
    let Some(objects) = Objects::open() else { return };
    let pair = std::env::var(PAIR).unwrap_or_default();
    let raw = &objects.program.raw;
    use vk::ShaderStageFlags as Stage;
    // SAFETY: every handle is of the device.
    unsafe {
        let binding = vk::DescriptorSetLayoutBinding::default()
            .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
            .descriptor_count(1)
            .stage_flags(Stage::VERTEX);
        let bindings = [binding];
        let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
        let set_layouts = [raw.create_descriptor_set_layout(&info, None).unwrap()];
        let shaders = Shaders { functions: &objects.functions, set_layouts: &set_layouts };
        let vertex = bytes(&common::compile_stage("vert", STORES, &[]));
        let geometry = geometry(pair.contains("captures"));
        let geometry = bytes(&common::compile_stage("geom", &geometry, &[]));
        let flags = if pair.contains("linked") {
            vk::ShaderCreateFlagsEXT::LINK_STAGE
        } else {
            vk::ShaderCreateFlagsEXT::empty()
        };
        let spirv = vk::ShaderCodeTypeEXT::SPIRV;
        let codes: [Code<'_>; 2] = [
            (Stage::VERTEX, Stage::GEOMETRY, spirv, &vertex),
            (Stage::GEOMETRY, Stage::empty(), spirv, &geometry),
        ];
        let created = shaders.create(&codes, flags).unwrap();
        created.into_iter().for_each(|shader| objects.functions.destroy_shader(shader, None));
        raw.destroy_descriptor_set_layout(set_layouts[0], None);
    }
}

/// A vertex shader may run for each primitive that a geometry shader captures. Of linked ones it is known whether that
/// captures.
#[test]
fn effects_before_a_geometry_shader_are_told_on_the_layer() {
    for (pair, is_told) in
        [("alone", true), ("captures", true), ("linked", false), ("linked captures", true)]
    {
        let test = a_vertex_shader_stores_before_a_geometry_shader;
        let Some(said) = layer::run_on_it(test, &[(PAIR, pair)]) else { return };
        assert_eq!(said.contains("stores to memory"), is_told, "{pair}: {said}");
    }
}

#[test]
fn shader_objects_capture() {
    let numbers = || (0..POINTS).map(|point| 10 * point + VALUE + PLUS);
    for case in [
        Case::Vertex,
        Case::Unlinked,
        Case::Linked,
        Case::Tessellated { lower_left: true },
        Case::Tessellated { lower_left: false },
        Case::Binary,
        Case::BinaryGeometry,
    ] {
        let Some((mut captured, found)) = run(case) else { return };
        let mut expected: Vec<u32> = match case {
            Case::Vertex => {
                let all = [1, 2, 1].map(|step| (0..POINTS).map(move |point| point * step));
                all.into_iter().flatten().map(|element| 10 * element + VALUE + PLUS).collect()
            }
            Case::Binary => numbers().collect(),
            Case::Unlinked | Case::Linked | Case::BinaryGeometry => {
                numbers().flat_map(|number| [number, 1000 + number]).collect()
            }
            // With the origin in the lower left corner u points to the right and v up, so counterclockwise is from the
            // corner of u to that of v. Any corner may come first.
            Case::Tessellated { lower_left } => {
                captured.chunks_mut(3).for_each(|triangle| {
                    let first = (0..3).min_by_key(|corner| triangle[*corner]);
                    triangle.rotate_left(first.unwrap());
                });
                let corners = if lower_left { [0, 1000, 2000] } else { [0, 2000, 1000] };
                numbers().flat_map(|number| corners.map(|corner| corner + number)).collect()
            }
        };
        expected.resize(RECORDS, u32::MAX);
        assert_eq!(captured, expected, "{case:?}");
        assert_eq!(found, VALUE, "{case:?}");
    }
}

#[test]
fn shader_objects_capture_on_the_layer() {
    layer::run_on_it(shader_objects_capture, &[]);
}

/// A query of generated primitives counts draws of shader objects while transform feedback is not active, with and without a
/// geometry shader, whether or not they have outputs that are captured.
#[test]
fn shader_objects_are_counted() {
    let mut generated = vk::PhysicalDevicePrimitivesGeneratedQueryFeaturesEXT::default()
        .primitives_generated_query(true)
        .primitives_generated_query_with_rasterizer_discard(true);
    let chain = (&raw mut generated).cast();
    let extensions = [ext::primitives_generated_query::NAME];
    let Some(objects) = Objects::open_with(&extensions, chain) else { return };
    let raw = &objects.program.raw;
    let shaders = Shaders { functions: &objects.functions, set_layouts: &[] };
    let (spirv, none) = (vk::ShaderCodeTypeEXT::SPIRV, vk::ShaderCreateFlagsEXT::empty());
    use vk::ShaderStageFlags as Stage;
    let compiled = [
        ("vert", common::CAPTURES.to_owned()),
        ("geom", geometry(false)),
        ("geom", geometry(true)),
    ];
    let compiled =
        compiled.map(|(stage, source)| bytes(&common::compile_stage(stage, &source, &[])));
    // SAFETY: every handle is of the device, and in use only until a submission is done.
    unsafe {
        let instance = objects.program.instance();
        let physical = instance.enumerate_physical_devices().unwrap()[0];
        let core = instance.get_physical_device_features(physical);
        let has_geometry = core.geometry_shader == vk::TRUE;
        let next = if has_geometry { Stage::GEOMETRY } else { Stage::empty() };
        let mut codes: Vec<Code<'_>> = vec![(Stage::VERTEX, next, spirv, &compiled[0])];
        if has_geometry {
            let geometry = compiled[1..].iter();
            codes.extend(geometry.map(|code| (Stage::GEOMETRY, Stage::empty(), spirv, &code[..])));
        }
        let created = shaders.create(&codes, none).unwrap();
        let count = codes.len() as u32;
        let pool = query_pool(raw, vk::QueryType::PRIMITIVES_GENERATED_EXT, count);
        let writes = (vk::PipelineStageFlags::TRANSFER, vk::AccessFlags::TRANSFER_WRITE);
        objects.program.submit(writes, |cmd| raw.cmd_reset_query_pool(cmd, pool, 0, count));
        let (result, _) = objects.submit(|cmd| {
            for query in 0..count {
                let mut bound = vec![(Stage::VERTEX, created[0])];
                if query > 0 {
                    bound.push((Stage::GEOMETRY, created[query as usize]));
                }
                objects.bind(cmd, &bound);
                raw.cmd_begin_query(cmd, pool, query, Default::default());
                raw.cmd_draw(cmd, 4, 2 + query, 0, 0);
                raw.cmd_end_query(cmd, pool, query);
            }
        });
        assert_eq!(result, vk::Result::SUCCESS);
        let mut found = vec![0_u64; count as usize];
        let flags = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WAIT;
        raw.get_query_pool_results(pool, 0, &mut found, flags).unwrap();
        assert_eq!(found, [8, 12, 16][..count as usize]);
        raw.destroy_query_pool(pool, None);
        created.into_iter().for_each(|shader| objects.functions.destroy_shader(shader, None));
    }
}

#[test]
fn shader_objects_are_counted_on_the_layer() {
    generated_queries::run_where_the_layer_counts(shader_objects_are_counted);
}
