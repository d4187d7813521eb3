//! Geometry shaders that are lowered, together with the vertex shader before them, to one compute
//! shader.

use spirv::{BuiltIn, Capability, Decoration, ExecutionMode, ExecutionModel, Op, StorageClass};
use vkxfb_rewriter::capture::{CaptureEntry, CaptureList, Selector};
use vkxfb_rewriter::lower::GeometryInput;
use vkxfb_rewriter::lower::{LowerError, Lowered, ResourcePlan, Shader, compute};
use vkxfb_rewriter::spirv::declarations::Declarations;
use vkxfb_rewriter::spirv::{Id, Module, Section, string_words};
use vkxfb_rewriter::vertex_input::{
    InputRate, VertexAttribute, VertexBinding, VertexFormat, VertexInput,
};

use crate::common;

const VERTEX: &str = "#version 450
    layout(location = 0) in vec4 at;
    layout(location = 0) out vec4 colour;
    layout(location = 1) flat out uvec3 ids[2];
    layout(location = 3) out Block { vec2 inner; float last; } block;
    layout(push_constant) uniform Push { vec4 shift; } push;
    layout(set = 0, binding = 0) uniform Scale { vec4 scale; } by;
    uint calls = 7u;
    void main() {
        calls++;
        gl_Position = at * by.scale + push.shift;
        gl_PointSize = 2.0;
        colour = at;
        ids[0] = uvec3(gl_VertexIndex, gl_InstanceIndex, calls);
        ids[1] = uvec3(1, 2, 3);
        block.inner = at.xy;
        block.last = at.z;
    }";

const GEOMETRY: &str = "#version 450
    layout(triangles, invocations = 3) in;
    layout(triangle_strip, max_vertices = 8) out;
    layout(location = 0) in vec3 colour[];
    layout(location = 1) flat in uvec2 ids[][2];
    layout(location = 3) in Block { vec2 inner; float last; } block[];
    layout(location = 9) in float nobody[];
    layout(push_constant) uniform Push { layout(offset = 16) uint most; } push;
    layout(set = 0, binding = 0) uniform Scale { vec4 scale; } by;
    layout(location = 0, xfb_buffer = 0, xfb_offset = 0, xfb_stride = 48) out vec3 to;
    layout(location = 1, xfb_buffer = 0, xfb_offset = 16) flat out uvec2 id;
    layout(xfb_buffer = 0, xfb_offset = 32) out gl_PerVertex { vec4 gl_Position; };
    float sum = 1.0;
    void vertex(uint n) {
        sum += block[n].inner.x + block[n].last;
        to = colour[n] * sum;
        id = ids[n][1] + uvec2(gl_PrimitiveIDIn, gl_InvocationID);
        gl_Position = gl_in[n].gl_Position + nobody[n];
        EmitVertex();
    }
    void main() {
        for (uint i = 0u; i < push.most; i++) {
            vertex(i % 3u);
            if (i % 4u == 3u) EndPrimitive();
        }
        if (by.scale.x > 1.0) return;
        vertex(0u);
    }";

fn vertex_input() -> VertexInput {
    let format = VertexFormat::R32G32B32A32Sfloat;
    VertexInput {
        bindings: vec![VertexBinding { binding: 0, stride: 16, input_rate: InputRate::Vertex }],
        attributes: vec![VertexAttribute { location: 0, binding: 0, format, offset: 0 }],
    }
}

fn lower(vertex: &[u32], geometry: &[u32], target: compute::Target) -> Result<Lowered, LowerError> {
    lower_shader(vertex, &Shader::new(geometry), target)
}

fn lower_shader(
    vertex: &[u32],
    geometry: &Shader<'_>,
    target: compute::Target,
) -> Result<Lowered, LowerError> {
    let vertex = Shader::new(vertex);
    let vertex_input = vertex_input();
    let options = compute::Options::new(&vertex_input).vertex_shader(&vertex).target(target);
    compute::lower(geometry, &options)
}

/// Lowers with the default options, and validates the result before and after it is specialized.
fn lower_valid(vertex: &[u32], geometry: &[u32], environment: &str) -> Lowered {
    let lowered = lower(vertex, geometry, compute::Target::default()).unwrap();
    common::validate(&lowered.words, environment);
    common::validate(&lowered.specialized(&[]).unwrap(), environment);
    lowered
}

fn compiled() -> (Vec<u32>, Vec<u32>) {
    let vertex = common::compile(VERTEX, &["--target-env", "vulkan1.0"]);
    let geometry = common::compile_stage("geom", GEOMETRY, &["--target-env", "vulkan1.0"]);
    (vertex, geometry)
}

/// A geometry shader that takes points and emits points.
fn compile_points(source: &str) -> Vec<u32> {
    let modes = "layout(points) in; layout(points, max_vertices = 1) out;";
    common::compile_stage("geom", &format!("#version 450\n{modes}\n{source}"), &[])
}

#[test]
fn two_stages_become_one_valid_shader() {
    let (vertex, geometry) = compiled();
    for resources in
        [ResourcePlan::DeviceAddress, ResourcePlan::Descriptors { reads: 6, writes: 4 }]
    {
        let target = compute::Target::default().resources(resources);
        let lowered = lower(&vertex, &geometry, target).unwrap();
        common::validate(&lowered.words, "vulkan1.0");
        common::validate(&lowered.specialized(&[]).unwrap(), "vulkan1.0");
        assert_eq!(lowered.stage, ExecutionModel::Geometry);
        assert_eq!(lowered.descriptor_sets, [0]);
        assert_eq!(lowered.push_constants, 0..32);
        let compute = lowered.compute().unwrap();
        assert_eq!(compute.attributes.len(), 1);
        let modes = compute.geometry.unwrap();
        assert_eq!(
            (modes.input, modes.output_vertices, modes.invocations, modes.max_vertices),
            (GeometryInput::Triangles, 3, 3, 8)
        );
    }
}

/// A vertex shader with its own transform feedback. Its captured outputs have the names of outputs
/// of [`LISTED`].
const CAPTURING_VERTEX: &str = "#version 450
    layout(location = 0) in vec4 at;
    layout(xfb_buffer = 1, xfb_stride = 32) out;
    layout(location = 0, xfb_buffer = 1, xfb_offset = 0) out vec4 colour;
    layout(xfb_buffer = 1, xfb_offset = 16) out gl_PerVertex { vec4 gl_Position; };
    void main() { colour = at; gl_Position = at; }";

const LISTED: &str = "#version 450
    layout(points) in;
    layout(points, max_vertices = 1) out;
    layout(location = 0) in vec4 of_vertex[];
    layout(location = 0) out vec3 colour;
    void main() { colour = of_vertex[0].xyz; gl_Position = gl_in[0].gl_Position; EmitVertex(); }";

#[test]
fn only_the_geometry_shader_captures() {
    let vertex = common::compile(CAPTURING_VERTEX, &[]);
    let geometry = common::compile_stage("geom", GEOMETRY, &[]);
    let lowered = lower_valid(&vertex, &geometry, "vulkan1.0");
    assert_eq!(lowered.layout.strides, [Some(48), None, None, None]);
    let names: Vec<_> = lowered.layout.outputs.iter().map(|o| o.name.as_deref()).collect();
    assert_eq!(names, [Some("to"), Some("id"), Some("gl_Position")]);

    let geometry = common::compile_stage("geom", LISTED, &[]);
    let location = Selector::Location { location: 0, component: 0, components: 3 };
    let built_in = BuiltIn::Position;
    let position = Selector::BuiltIn { built_in, component: 0, components: 4 };
    let list = CaptureList::new(64).output("colour", 32).output("@Position", 48);
    let list = list
        .captures
        .into_iter()
        .chain([CaptureEntry::new(location, 0, 0), CaptureEntry::new(position, 0, 12)]);
    let list = CaptureList::new(64).captures(list.collect());
    let shader = Shader::new(&geometry).captures(&list);
    let lowered = lower_shader(&vertex, &shader, compute::Target::default()).unwrap();
    common::validate(&lowered.words, "vulkan1.0");
    // The vertex shader's colour has four components.
    let found: Vec<_> =
        lowered.layout.outputs.iter().map(|o| (o.offset, o.components, o.variable)).collect();
    let [(0, 3, colour), (12, 4, at), (32, 3, named), (48, 4, named_at)] = found[..] else {
        panic!("{found:?}")
    };
    assert_eq!((colour, at), (named, named_at));
}

/// Adds an `OpExecutionModeId` instruction with `FPFastMathDefault` for `float`.
fn add_fast_math(words: &[u32], mask: u32) -> Vec<u32> {
    let mut module = Module::parse(words).unwrap();
    module.add_capability(Capability::FloatControls2);
    module.add_extension("SPV_KHR_float_controls2");
    let declarations = || module.section(Section::Declarations);
    let entry = module.section(Section::EntryPoints).next().unwrap().id(1);
    let float = declarations().find(|i| i.is(Op::TypeFloat)).unwrap().id(0);
    let uint =
        declarations().find(|i| i.is(Op::TypeInt) && i.operands()[1..] == [32, 0]).unwrap().id(0);
    let constant = module.fresh_id();
    module.push(Section::Declarations, Op::Constant, &[uint.0, constant.0, mask]);
    let mode = ExecutionMode::FPFastMathDefault as u32;
    let operands = [entry.0, mode, float.0, constant.0];
    module.push(Section::ExecutionModes, Op::ExecutionModeId, &operands);
    module.words()
}

#[test]
fn execution_modes_with_ids_are_merged() {
    let vertex = common::compile(VERTEX, &["--target-env", "vulkan1.2"]);
    let geometry = common::compile_stage("geom", GEOMETRY, &["--target-env", "vulkan1.2"]);
    let fast = add_fast_math(&geometry, 0);
    for (vertex, geometry) in [
        (vertex.clone(), fast.clone()),
        (add_fast_math(&vertex, 0), geometry),
        (add_fast_math(&vertex, 0), fast.clone()),
    ] {
        let lowered = lower(&vertex, &geometry, compute::Target::default()).unwrap();
        for words in [&lowered.words, &lowered.specialized(&[]).unwrap()] {
            common::validate(words, "vulkan1.2");
        }
        let module = Module::parse(&lowered.words).unwrap();
        let modes = module.section(Section::ExecutionModes);
        assert_eq!(modes.filter(|i| i.is(Op::ExecutionModeId)).count(), 1);
    }
    let error = lower(&add_fast_math(&vertex, 1), &fast, compute::Target::default()).unwrap_err();
    assert_eq!(error, LowerError::FloatControls { mode: ExecutionMode::FPFastMathDefault });
}

/// Also those of the stages between the vertex shader and the captured one.
#[test]
fn execution_modes_of_tessellation_shaders_are_merged() {
    let vertex = "#version 450
        void main() { gl_Position = vec4(gl_VertexIndex); }";
    let control = "#version 450
        layout(vertices = 1) out;
        void main() { gl_TessLevelOuter[0] = gl_TessLevelOuter[1] = 2.0; }";
    let evaluation = "#version 450
        layout(isolines, point_mode) in;
        layout(location = 0, xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0) out float found;
        void main() { found = gl_TessCoord.x; gl_Position = vec4(found); }";
    let geometry = "#version 450
        layout(points) in;
        layout(points, max_vertices = 1) out;
        layout(location = 0, xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0) out float found;
        void main() { found = gl_in[0].gl_Position.x; EmitVertex(); }";
    let stages = [("vert", vertex), ("tesc", control), ("tese", evaluation), ("geom", geometry)];
    let plain = stages.map(|(stage, source)| {
        common::compile_stage(stage, source, &["--target-env", "vulkan1.2"])
    });
    for (with_mode, count) in [(0, 3), (1, 3), (2, 3), (0, 4), (1, 4), (2, 4), (3, 4)] {
        let mut stages = plain.clone();
        stages[with_mode] = preserve_zero_inf_nan(&stages[with_mode]);
        let [vertex, control, evaluation, geometry] = [0, 1, 2, 3].map(|n| Shader::new(&stages[n]));
        let input = VertexInput::default();
        let options = compute::Options::new(&input).vertex_shader(&vertex).control_shader(&control);
        let lowered = match count {
            3 => compute::lower(&evaluation, &options),
            _ => compute::lower(&geometry, &options.evaluation_shader(&evaluation)),
        };
        let lowered = lowered.unwrap();
        for words in [&lowered.words, &lowered.specialized(&[]).unwrap()] {
            common::validate(words, "vulkan1.2");
        }
        let module = Module::parse(&lowered.words).unwrap();
        let mode = ExecutionMode::SignedZeroInfNanPreserve as u32;
        let modes = module.section(Section::ExecutionModes);
        assert_eq!(modes.filter(|i| i.operand(1) == mode).count(), 1);
    }
}

/// Adds `SignedZeroInfNanPreserve` for numbers of 32 bits.
fn preserve_zero_inf_nan(words: &[u32]) -> Vec<u32> {
    let mut module = Module::parse(words).unwrap();
    module.add_capability(Capability::SignedZeroInfNanPreserve);
    let entry = module.section(Section::EntryPoints).next().unwrap().id(1);
    let operands = [entry.0, ExecutionMode::SignedZeroInfNanPreserve as u32, 32];
    module.push(Section::ExecutionModes, Op::ExecutionMode, &operands);
    module.words()
}

#[test]
fn decorations_with_ids_are_merged() {
    let vertex = compiled().0;
    let geometry = compile_points(
        "layout(set = 0, binding = 1) buffer A { float data[]; } first;
        layout(set = 0, binding = 2) buffer B { float data[]; } second;
        layout(location = 0, xfb_buffer = 0, xfb_offset = 0, xfb_stride = 16) out vec3 to;
        void main() { to = vec3(first.data[0], second.data[0], 0.0); EmitVertex(); }",
    );
    let mut module = Module::parse(&geometry).unwrap();
    module.add_extension("SPV_GOOGLE_hlsl_functionality1");
    let declarations = Declarations::of(&module);
    let named = |declarations: &Declarations, module: &Module, name: &str| -> Id {
        let variables = module.section(Section::Declarations).filter(|i| i.is(Op::Variable));
        let mut ids = variables.map(|i| i.id(1));
        ids.find(|id| declarations.name(*id) == Some(name)).unwrap()
    };
    let [a, b] = ["first", "second"].map(|name| named(&declarations, &module, name));
    // What a decoration names is declared before what it decorates.
    let operands = [b.0, Decoration::CounterBuffer as u32, a.0];
    module.push(Section::Annotations, Op::DecorateId, &operands);
    let lowered = lower_valid(&vertex, &module.words(), "vulkan1.0");
    let module = Module::parse(&lowered.words).unwrap();
    let declarations = Declarations::of(&module);
    let [a, b] = ["first", "second"].map(|name| named(&declarations, &module, name));
    let decoration = module.section(Section::Annotations).find(|i| i.is(Op::DecorateId)).unwrap();
    assert_eq!(decoration.operands(), [b.0, Decoration::CounterBuffer as u32, a.0]);
}

#[test]
fn labels_behind_wide_literals_are_renumbered() {
    let vertex = compiled().0;
    let geometry = compile_points(
        "layout(push_constant) uniform Push { layout(offset = 16) uint which; } push;
        layout(location = 0, xfb_buffer = 0, xfb_offset = 0, xfb_stride = 4) flat out uint to;
        void main() {
            switch (push.which) {
                case 3u: to = 1u; break;
                case 5u: to = 2u; break;
                case 9u: to = 3u; break;
                default: to = 4u;
            }
            EmitVertex();
        }",
    );
    let mut module = Module::parse(&geometry).unwrap();
    module.add_capability(Capability::Int64);
    let (ulong, wide) = (module.fresh_id(), module.fresh_id());
    module.push(Section::Declarations, Op::TypeInt, &[ulong.0, 64, 0]);
    let of_functions = module.section(Section::Functions);
    let functions: Vec<_> =
        of_functions.map(|i| (i.op().unwrap(), i.operands().to_vec())).collect();
    module.retain(Section::Functions, |_| false);
    for (op, mut operands) in functions {
        match op {
            Op::SelectionMerge => {
                // The selector was loaded before; a merge instruction is the last but one of its block.
                let load = module.section(Section::Functions).rev().find(|i| i.is(Op::Load));
                let narrow = load.unwrap().operand(1);
                module.push(Section::Functions, Op::UConvert, &[ulong.0, wide.0, narrow]);
            }
            Op::Switch => {
                let (cases, _) = operands[2..].as_chunks::<2>();
                // The upper word is one that could be taken for an id.
                let cases = cases.iter().flat_map(|[literal, label]| [*literal, 1, *label]);
                operands = [wide.0, operands[1]].into_iter().chain(cases).collect();
            }
            _ => {}
        }
        module.push(Section::Functions, op, &operands);
    }
    let words = module.words();
    common::validate(&words, "vulkan1.0");
    let lowered = lower_valid(&vertex, &words, "vulkan1.0");
    let module = Module::parse(&lowered.words).unwrap();
    let is_wide =
        |i: &vkxfb_rewriter::spirv::Instruction<'_>| i.is(Op::Switch) && i.operands().len() == 11;
    let switch = module.section(Section::Functions).find(is_wide).unwrap();
    let literals: Vec<_> =
        switch.operands()[2..].chunks(3).map(|case| (case[0], case[1])).collect();
    assert_eq!(literals, [(3, 1), (5, 1), (9, 1)]);
}

#[test]
fn debug_info_with_forward_references_is_left_out() {
    let (vertex, geometry) = compiled();
    let mut module = Module::parse(&geometry).unwrap();
    module.add_extension("SPV_KHR_non_semantic_info");
    module.add_extension("SPV_KHR_relaxed_extended_instruction");
    let (set, info) = (module.fresh_id(), module.fresh_id());
    let name = string_words("NonSemantic.Shader.DebugInfo.100");
    let import = [&[set.0], name.as_slice()].concat();
    module.push(Section::Imports, Op::ExtInstImport, &import);
    let void = module.section(Section::Declarations).find(|i| i.is(Op::TypeVoid)).unwrap().id(0);
    // DebugInfoNone, and DebugNoScope before each return.
    let operands = [void.0, info.0, set.0, 0];
    module.push(Section::Declarations, Op::ExtInstWithForwardRefsKHR, &operands);
    let of_functions = module.section(Section::Functions);
    let functions: Vec<_> =
        of_functions.map(|i| (i.op().unwrap(), i.operands().to_vec())).collect();
    module.retain(Section::Functions, |_| false);
    for (op, operands) in functions {
        if op == Op::Return {
            let operands = [void.0, module.fresh_id().0, set.0, 24];
            module.push(Section::Functions, Op::ExtInstWithForwardRefsKHR, &operands);
        }
        module.push(Section::Functions, op, &operands);
    }
    let lowered = lower_valid(&vertex, &module.words(), "vulkan1.1");
    let module = Module::parse(&lowered.words).unwrap();
    for section in [Section::Declarations, Section::Functions] {
        assert!(!module.section(section).any(|i| i.is(Op::ExtInstWithForwardRefsKHR)));
    }
}

/// Everything that a later version of SPIR-V declares differently: uniform and storage buffers
/// whose members have one type, push constants, module variables, and texel buffers.
const RESOURCES: &str = "
    layout(set = 0, binding = 0) uniform U { vec4 value; vec4 more[2]; } u;
    layout(set = 0, binding = 1) buffer S { vec4 value; vec4 more[2]; uint count; } s[2];
    layout(set = 0, binding = 3) uniform samplerBuffer texels;
    layout(push_constant) uniform Push { vec4 shift; } push;
    vec4 sum = vec4(1.0);
    vec4 all(int n) {
        sum += u.value + u.more[n] + s[1].value + s[0].more[n] + push.shift;
        atomicAdd(s[0].count, s[1].more.length());
        s[0].value = u.value;
        return sum + texelFetch(texels, n);
    }";

#[test]
fn stages_of_any_two_versions_are_merged() {
    let vertex = format!(
        "#version 450
        layout(location = 0) in vec4 at;
        layout(location = 0) out vec4 colour;
        {RESOURCES}
        void main() {{ colour = all(gl_VertexIndex & 1); gl_Position = at; }}"
    );
    let geometry = format!(
        "#version 450
        layout(points) in;
        layout(points, max_vertices = 1) out;
        layout(location = 0) in vec4 colour[];
        layout(location = 0, xfb_buffer = 0, xfb_offset = 0, xfb_stride = 16) out vec4 to;
        {RESOURCES}
        void main() {{ to = colour[0] + all(gl_InvocationID); EmitVertex(); }}"
    );
    let compiled = |stage, source: &str| {
        common::VERSIONS.map(|(version, _)| {
            let arguments = ["--target-env", version];
            common::compile_stage(stage, source, &arguments)
        })
    };
    let (vertices, geometries) = (compiled("vert", &vertex), compiled("geom", &geometry));
    for (v, vertex) in vertices.iter().enumerate() {
        for (g, geometry) in geometries.iter().enumerate() {
            let (_, environment) = common::VERSIONS[v.max(g)];
            let lowered = lower_valid(vertex, geometry, environment);
            assert_eq!(lowered.words[1], vertex[1].max(geometry[1]));
        }
    }
}

#[test]
fn a_branch_whose_labels_are_equal_is_none_in_later_versions() {
    // What is left of a selection whose sides are empty.
    let mut module = Module::parse(&compiled().0).unwrap();
    let of_functions = module.section(Section::Functions);
    let functions: Vec<_> =
        of_functions.map(|i| (i.op().unwrap(), i.operands().to_vec())).collect();
    let declarations = || module.section(Section::Declarations);
    let boolean = declarations().find(|i| i.is(Op::TypeBool)).map(|i| i.id(0));
    let boolean = boolean.unwrap_or_else(|| {
        let boolean = module.fresh_id();
        module.push(Section::Declarations, Op::TypeBool, &[boolean.0]);
        boolean
    });
    let (condition, label) = (module.fresh_id(), module.fresh_id());
    module.push(Section::Declarations, Op::ConstantTrue, &[boolean.0, condition.0]);
    module.retain(Section::Functions, |_| false);
    let mut is_first = true;
    for (op, operands) in functions {
        if op == Op::Return && std::mem::take(&mut is_first) {
            module.push(Section::Functions, Op::SelectionMerge, &[label.0, 0]);
            let operands = [condition.0, label.0, label.0];
            module.push(Section::Functions, Op::BranchConditional, &operands);
            module.push(Section::Functions, Op::Label, &[label.0]);
        }
        module.push(Section::Functions, op, &operands);
    }
    let vertex = module.words();
    common::validate(&vertex, "vulkan1.0");
    let geometry = common::compile_stage("geom", GEOMETRY, &["--target-env", "vulkan1.3"]);
    lower_valid(&vertex, &geometry, "vulkan1.3");
}

/// Returns whether each variable of a binding is decorated with `Restrict` and with `Aliased`.
fn aliasing(lowered: &Lowered, binding: u32) -> Vec<(bool, bool)> {
    let module = Module::parse(&lowered.words).unwrap();
    let declarations = Declarations::of(&module);
    let variables = module.section(Section::Declarations).filter(|i| i.is(Op::Variable));
    let ids = variables.map(|i| i.id(1));
    ids.filter(|id| declarations.decoration_value(*id, Decoration::Binding) == Some(binding))
        .map(|id| {
            // glslang decorates the members of buffers.
            let ty = declarations.variable(id).unwrap().pointee;
            let has = |decoration| {
                declarations.decoration(id, decoration).is_some()
                    || declarations.member_decoration(ty, 0, decoration).is_some()
            };
            (has(Decoration::Restrict), has(Decoration::Aliased))
        })
        .collect()
}

#[test]
fn bindings_that_both_stages_access_are_aliased() {
    const BUFFERS: &str = "
        layout(set = 0, binding = 1) restrict buffer Written { uint n; } written;
        layout(set = 0, binding = 2) restrict readonly buffer Constant { uint n; } constant;
        layout(set = 0, binding = 3, r32ui) uniform restrict uimage2D image;
        layout(set = 0, binding = 4) uniform usampler2D texels;";
    let vertex = format!(
        "#version 450
        {BUFFERS}
        layout(set = 0, binding = 5) restrict buffer Own {{ uint n; }} own;
        layout(location = 0) flat out uint n;
        void main() {{
            written.n = own.n + constant.n;
            n = texelFetch(texels, ivec2(0), 0).x + imageLoad(image, ivec2(0)).x;
        }}"
    );
    let geometry = format!(
        "#version 450
        {BUFFERS}
        layout(points) in;
        layout(points, max_vertices = 1) out;
        layout(location = 0) flat in uint n[];
        layout(location = 0, xfb_buffer = 0, xfb_offset = 0, xfb_stride = 4) flat out uint to;
        void main() {{
            to = n[0] + written.n + constant.n + texelFetch(texels, ivec2(0), 0).x;
            imageStore(image, ivec2(0), uvec4(to));
            EmitVertex();
        }}"
    );
    for environment in ["vulkan1.0", "vulkan1.3"] {
        let vertex = common::compile(&vertex, &["--target-env", environment]);
        let geometry = common::compile_stage("geom", &geometry, &["--target-env", environment]);
        let lowered = lower_valid(&vertex, &geometry, environment);
        let found = [1, 2, 3, 4, 5].map(|binding| aliasing(&lowered, binding));
        let shared = vec![(false, true); 2];
        let restrict = vec![(true, false); 2];
        let none = vec![(false, false); 2];
        assert_eq!(found, [shared.clone(), restrict, shared, none, vec![(true, false)]]);
    }
}

/// Returns the names of the outputs among `a`, `b` and `c` that a geometry shader may not have
/// written when it emits a vertex.
fn unwritten(functions: &str) -> Vec<String> {
    let source = format!(
        "#version 450
        layout(points) in;
        layout(points, max_vertices = 4) out;
        layout(location = 0, xfb_buffer = 0, xfb_offset = 0, xfb_stride = 16) out float a;
        layout(location = 1, xfb_buffer = 0, xfb_offset = 4) out float b;
        layout(location = 2, xfb_buffer = 0, xfb_offset = 8) out float c;
        {functions}"
    );
    let vertex = compiled().0;
    let geometry = common::compile_stage("geom", &source, &[]);
    let lowered = lower_valid(&vertex, &geometry, "vulkan1.0");
    let names = lowered.unwritten.iter().map(|at| lowered.layout.outputs[*at].name.clone());
    names.map(Option::unwrap).collect()
}

#[test]
fn an_emission_reads_what_is_captured() {
    let found = unwritten("void main() { a = b = 1.0; EmitVertex(); c = 1.0; EmitVertex(); }");
    assert_eq!(found, ["c"]);
    // A shader that ends without a vertex has captured nothing.
    let found = unwritten(
        "void main() {
            if (gl_PrimitiveIDIn > 3) return;
            a = b = c = 1.0;
            EmitVertex();
            EmitVertex();
        }",
    );
    assert_eq!(found, [""; 0]);
    let found = unwritten(
        "void vertex() { b = 1.0; EmitVertex(); }
        void twice() { vertex(); vertex(); }
        void main() {
            a = 1.0;
            if (gl_PrimitiveIDIn > 3) c = 2.0;
            twice();
            c = 2.0;
            twice();
        }",
    );
    assert_eq!(found, ["c"]);
    let found = unwritten(
        "void main() {
            for (int i = 0; i < gl_PrimitiveIDIn; i++) { a = 1.0; c += a; b = c; EmitVertex(); }
        }",
    );
    assert_eq!(found, ["c"]);
    let found = unwritten(
        "void more() { b += a; EmitVertex(); }
        void main() { a = c = 1.0; if (gl_PrimitiveIDIn > 3) b = 1.0; more(); }",
    );
    assert_eq!(found, ["b"]);
}

/// An entry point has one variable for a built-in, whose types the stages may disagree about.
#[test]
fn stages_share_the_inputs_that_the_compute_shader_has_too() {
    let common = "#extension GL_KHR_shader_subgroup_ballot : require
        #extension GL_EXT_device_group : require";
    let read = "uint(gl_SubgroupSize) + uint(gl_DeviceIndex) + gl_SubgroupEqMask.x";
    let vertex = format!(
        "#version 450
        {common}
        void main() {{ gl_Position = vec4({read}); }}"
    );
    let geometry = format!(
        "#version 450
        {common}
        layout(points) in;
        layout(points, max_vertices = 1) out;
        layout(location = 0, xfb_buffer = 0, xfb_offset = 0, xfb_stride = 16) out vec4 to;
        void main() {{ to = gl_in[0].gl_Position + {read}; EmitVertex(); }}"
    );
    for target in ["vulkan1.1", "vulkan1.2", "vulkan1.3"] {
        let compile =
            |stage, source| common::compile_stage(stage, source, &["--target-env", target]);
        let (vertex, geometry) = (compile("vert", &vertex), compile("geom", &geometry));
        let (vertex, input) = (Shader::new(&vertex), VertexInput::default());
        let options = compute::Options::new(&input).vertex_shader(&vertex);
        let lowered = compute::lower(&Shader::new(&geometry), &options).unwrap();
        common::validate(&lowered.words, target);
        let module = Module::parse(&lowered.words).unwrap();
        let mut built_ins: Vec<u32> = module
            .section(Section::Annotations)
            .filter(|i| i.is(Op::Decorate) && i.operand(1) == Decoration::BuiltIn as u32)
            .map(|i| i.operand(2))
            .collect();
        for built_in in [BuiltIn::SubgroupSize, BuiltIn::DeviceIndex, BuiltIn::SubgroupEqMask] {
            assert!(built_ins.contains(&(built_in as u32)), "{built_in:?}");
        }
        let all = built_ins.len();
        built_ins.sort_unstable();
        built_ins.dedup();
        assert_eq!(built_ins.len(), all, "{target}");
    }
}

/// The number of access chains into variables in registers that have an index which is not constant.
fn indexed_chains(words: &[u32]) -> usize {
    let module = Module::parse(words).unwrap();
    let declared = || module.section(Section::Declarations);
    let is_constant = |id: &u32| declared().any(|i| i.is(Op::Constant) && i.id(1) == Id(*id));
    let variables = [Section::Declarations, Section::Functions].map(|section| {
        let in_registers = [StorageClass::Private, StorageClass::Function].map(|s| s as u32);
        let variables = module.section(section).filter(|i| i.is(Op::Variable));
        let variables = variables.filter(|i| in_registers.contains(&i.operand(2)));
        variables.map(|i| i.id(1)).collect::<Vec<_>>()
    });
    let chains = module.section(Section::Functions).filter(|i| {
        (i.is(Op::AccessChain) || i.is(Op::InBoundsAccessChain))
            && variables.iter().flatten().any(|variable| *variable == i.id(2))
            && !i.operands()[3..].iter().all(is_constant)
    });
    chains.count()
}

/// Inputs that a geometry shader reads by an unknown index are read by constant ones, so that they can stay in registers;
/// but not if it also writes by such an index.
#[test]
fn elements_with_unknown_indices_are_selected() {
    let vertex = "#version 450
        layout(location = 0) in vec4 at;
        layout(location = 0) out vec4 colour;
        void main() { gl_Position = at; colour = at * 2.0; }";
    let geometry = |written: &str| {
        format!(
            "#version 450
            layout(triangles) in;
            layout(points, max_vertices = 3) out;
            layout(location = 0) in vec4 colour[];
            layout(location = 0) out vec4 to[2];
            layout(xfb_buffer = 0, xfb_stride = 16) out gl_PerVertex {{
                layout(xfb_offset = 0) vec4 gl_Position;
            }};
            void main() {{
                for (uint i = 0u; i < 3u; i++) {{
                    gl_Position = gl_in[(i + 1u) % 3u].gl_Position + colour[i % 3u].xxyy;
                    to[{written}] = vec4(i);
                    EmitVertex();
                }}
            }}"
        )
    };
    let chains = |written: &str, selects: bool| {
        let vertex = common::compile_stage("vert", vertex, &[]);
        let geometry = common::compile_stage("geom", &geometry(written), &[]);
        let vertex = Shader::new(&vertex);
        let input =
            vkxfb_rewriter::lower::reflect::vertex_reads(&vertex).unwrap().packed_vertex_input();
        let target = compute::Target::default().selects_elements(selects);
        let options = compute::Options::new(&input).vertex_shader(&vertex).target(target);
        let lowered = compute::lower(&Shader::new(&geometry), &options).unwrap();
        indexed_chains(&lowered.for_pipeline(&[], None, true).unwrap())
    };
    let [all, selected] = [false, true].map(|selects| chains("0", selects));
    assert_eq!(selected, all - 2, "the two inputs are selected");
    let [all, selected] = [false, true].map(|selects| chains("i % 2u", selects));
    assert_eq!(selected, all);
}
