//! Captures by shader objects (`VK_EXT_shader_object`), natively and on the Vulkan layer: linked and
//! unlinked shaders, those of binary code, and a compute shader that is bound before a capture.

use std::ffi::CStr;

use ash::{ext, vk};

use super::program::Program;
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
/// divided into the two points of an isoline.
const CONTROL: &str = "#version 450
    layout(vertices = 1) out;
    layout(location = 0) in flat uint number[];
    layout(location = 0) out uint passed[];
    void main() {
        passed[gl_InvocationID] = number[gl_InvocationID];
        gl_TessLevelOuter[0] = 1.0;
        gl_TessLevelOuter[1] = 1.0;
    }";

const EVALUATION: &str = "#version 450
    layout(isolines, point_mode) in;
    layout(location = 0) in uint passed[];
    layout(location = 0, xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0) out flat uint captured;
    void main() {
        captured = 1000 * uint(gl_TessCoord.x) + passed[0];
        gl_Position = vec4(0.0);
        gl_PointSize = 1.0;
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

/// Which shaders capture, and how they are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Case {
    Vertex,
    Unlinked,
    Linked,
    Tessellated,
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
                let info = vk::ShaderCreateInfoEXT::default()
                    .flags(flags)
                    .stage(*stage)
                    .next_stage(*next)
                    .code_type(*ty)
                    .code(code)
                    .set_layouts(self.set_layouts);
                match *ty {
                    vk::ShaderCodeTypeEXT::SPIRV => info.name(name).specialization_info(&constants),
                    _ => info.name(name),
                }
            })
            .collect();
        let mut shaders = vec![vk::ShaderEXT::null(); infos.len()];
        let create = self.functions.fp().create_shaders_ext;
        let (count, made) = (infos.len() as u32, shaders.as_mut_ptr());
        // SAFETY: the caller's contract.
        unsafe {
            create(self.functions.device(), count, infos.as_ptr(), std::ptr::null(), made)
                .result_with_success(shaders)
        }
    }

    /// # Safety
    /// The shader is of the device.
    unsafe fn binary(&self, shader: vk::ShaderEXT) -> Aligned {
        // SAFETY: the caller's contract.
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
    let (target, captured) = device.buffer(8, Usage::TRANSFORM_FEEDBACK_BUFFER_EXT);
    let (vertices, given) = device.buffer(POINTS as usize, Usage::VERTEX_BUFFER);
    let (uniform, value) = device.buffer(4, Usage::UNIFORM_BUFFER);
    let (storage, found) = device.buffer(4, Usage::STORAGE_BUFFER);
    let (raw, xfb) = (&device.raw, device.xfb());
    let functions = ext::shader_object::Device::new(device.instance(), raw);
    let input = ext::vertex_input_dynamic_state::Device::new(device.instance(), raw);
    // SAFETY: every handle is of the device, and in use only until the submission is done.
    unsafe {
        for point in 0..POINTS {
            given.add(point as usize).write(10 * point);
        }
        value.write(VALUE);
        captured.write_bytes(0xff, 8);
        use vk::ShaderStageFlags as Stage;
        let binding = |number, ty| {
            vk::DescriptorSetLayoutBinding::default()
                .binding(number)
                .descriptor_type(ty)
                .descriptor_count(1)
                .stage_flags(Stage::VERTEX | Stage::COMPUTE)
        };
        let bindings = [
            binding(0, vk::DescriptorType::UNIFORM_BUFFER),
            binding(1, vk::DescriptorType::STORAGE_BUFFER),
        ];
        let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
        let set_layouts = [raw.create_descriptor_set_layout(&info, None).unwrap()];
        let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&set_layouts);
        let layout = raw.create_pipeline_layout(&info, None).unwrap();
        let size = |ty| vk::DescriptorPoolSize::default().ty(ty).descriptor_count(1);
        let sizes =
            [vk::DescriptorType::UNIFORM_BUFFER, vk::DescriptorType::STORAGE_BUFFER].map(size);
        let info = vk::DescriptorPoolCreateInfo::default().max_sets(1).pool_sizes(&sizes);
        let pool = raw.create_descriptor_pool(&info, None).unwrap();
        let info = vk::DescriptorSetAllocateInfo::default()
            .descriptor_pool(pool)
            .set_layouts(&set_layouts);
        let set = raw.allocate_descriptor_sets(&info).unwrap()[0];
        for (number, ty, buffer) in [
            (0, vk::DescriptorType::UNIFORM_BUFFER, uniform),
            (1, vk::DescriptorType::STORAGE_BUFFER, storage),
        ] {
            let infos = [vk::DescriptorBufferInfo::default().buffer(buffer).range(vk::WHOLE_SIZE)];
            let write = vk::WriteDescriptorSet::default()
                .dst_set(set)
                .dst_binding(number)
                .descriptor_type(ty)
                .buffer_info(&infos);
            raw.update_descriptor_sets(&[write], &[]);
        }

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
            Case::Tessellated => shaders.create(&patches, none),
            Case::Binary | Case::BinaryGeometry => {
                let codes = if case == Case::Binary { &[alone][..] } else { &pair };
                let originals = shaders.create(codes, none).unwrap();
                let binaries: Vec<_> = originals.iter().map(|s| shaders.binary(*s)).collect();
                originals.into_iter().for_each(|s| functions.destroy_shader(s, None));
                // Code that is of nobody.
                let mut wrong = binaries[0].bytes().to_vec();
                wrong.iter_mut().take(64).for_each(|byte| *byte = !*byte);
                let wrong = Aligned::new(&wrong);
                let code = (alone.0, alone.1, binary, wrong.bytes());
                let made = shaders.create(&[code], none);
                assert_eq!(made, Err(vk::Result::INCOMPATIBLE_SHADER_BINARY_EXT));
                let codes: Vec<Code<'_>> = codes
                    .iter()
                    .zip(&binaries)
                    .map(|((stage, next, ..), code)| (*stage, *next, binary, code.bytes()))
                    .collect();
                shaders.create(&codes, none)
            }
        };
        let created = created.unwrap();
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
            let is_tessellated = case == Case::Tessellated;
            match is_tessellated {
                true => bound[1..3].copy_from_slice(&created[1..]),
                false => bound[3] = created.get(1).copied().unwrap_or_default(),
            }
            functions.cmd_bind_shaders(cmd, &stages, &bound);
            raw.cmd_set_rasterizer_discard_enable(cmd, true);
            let topology = match is_tessellated {
                true => vk::PrimitiveTopology::PATCH_LIST,
                false => vk::PrimitiveTopology::POINT_LIST,
            };
            raw.cmd_set_primitive_topology(cmd, topology);
            if is_tessellated {
                let functions = ext::extended_dynamic_state2::Device::new(device.instance(), raw);
                functions.cmd_set_patch_control_points(cmd, 1);
                let functions = ext::extended_dynamic_state3::Device::new(device.instance(), raw);
                let origin = vk::TessellationDomainOrigin::LOWER_LEFT;
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
            let bind = xfb.cmd_bind_transform_feedback_buffers_ext;
            bind(cmd, 0, 1, &raw const target, [0].as_ptr(), [32].as_ptr());
            let info = vk::RenderingInfo::default().render_area(attachment::area(1)).layer_count(1);
            raw.cmd_begin_rendering(cmd, &info);
            let (none, nowhere) = (std::ptr::null(), std::ptr::null());
            (xfb.cmd_begin_transform_feedback_ext)(cmd, 0, 0, none, nowhere);
            raw.cmd_draw(cmd, POINTS, 1, 0, 0);
            (xfb.cmd_end_transform_feedback_ext)(cmd, 0, 0, none, nowhere);
            raw.cmd_end_rendering(cmd);
            raw.cmd_dispatch(cmd, 1, 1, 1);
        });
        let captured = std::slice::from_raw_parts(captured, 8).to_vec();
        let found = found.read();
        created.into_iter().chain([compute]).for_each(|s| functions.destroy_shader(s, None));
        raw.destroy_descriptor_pool(pool, None);
        raw.destroy_pipeline_layout(layout, None);
        raw.destroy_descriptor_set_layout(set_layouts[0], None);
        Some((captured, found))
    }
}

#[test]
fn shader_objects_capture() {
    let numbers = || (0..POINTS).map(|point| 10 * point + VALUE + PLUS);
    for case in [
        Case::Vertex,
        Case::Unlinked,
        Case::Linked,
        Case::Tessellated,
        Case::Binary,
        Case::BinaryGeometry,
    ] {
        let Some((captured, found)) = run(case) else { return };
        let mut expected: Vec<u32> = match case {
            Case::Vertex | Case::Binary => numbers().collect(),
            _ => numbers().flat_map(|number| [number, 1000 + number]).collect(),
        };
        expected.resize(8, u32::MAX);
        assert_eq!(captured, expected, "{case:?}");
        assert_eq!(found, VALUE, "{case:?}");
    }
}

#[test]
fn shader_objects_capture_on_the_layer() {
    layer::run_on_it(shader_objects_capture, &[]);
}
