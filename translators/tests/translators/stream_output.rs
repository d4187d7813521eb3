//! Tests Gallium's stream outputs: registers, merging, an example of a translator, and errors.

use spirv::ExecutionModel;
use vkxfb_rewriter::capture::{CaptureList, Layout};
use vkxfb_rewriter::lower::native::{self, Emitted};
use vkxfb_rewriter::lower::{LowerError, Shader, vertex};
use vkxfb_rewriter::spirv::Module;
use vkxfb_rewriter::spirv::declarations::Declarations;
use vkxfb_rewriter::spirv::entry_point::find_entry_point;
use vkxfb_translators::slots::VaryingSlot;
use vkxfb_translators::split_blocks::{self, split_blocks};
use vkxfb_translators::stream_output::{
    SlotLocations, StreamOutput, StreamOutputError, StreamOutputField, StreamOutputInfo,
    StreamOutputProblem,
};

use crate::common;

const VERTEX: ExecutionModel = ExecutionModel::Vertex;
const EVALUATION: ExecutionModel = ExecutionModel::TessellationEvaluation;

fn list(
    words: &[u32],
    stage: ExecutionModel,
    info: &StreamOutputInfo,
) -> Result<CaptureList, StreamOutputError> {
    let module = Module::parse(words).unwrap();
    let entry = find_entry_point(&module, stage, None).unwrap();
    info.list_of(&module, &Declarations::of(&module), &entry)
}

fn layout(words: &[u32], stage: ExecutionModel, info: &StreamOutputInfo) -> Layout {
    let module = Module::parse(words).unwrap();
    let entry = find_entry_point(&module, stage, None).unwrap();
    let list = list(words, stage, info).unwrap();
    Layout::from_list(&Declarations::of(&module), &entry, &list).unwrap()
}

fn slots(words: &[u32], locations: SlotLocations) -> Vec<&'static str> {
    let module = Module::parse(words).unwrap();
    let entry = find_entry_point(&module, VERTEX, None).unwrap();
    let info = StreamOutputInfo { locations, ..StreamOutputInfo::default() };
    let slots = info.written_slots(&module, &Declarations::of(&module), &entry);
    slots.into_iter().map(VaryingSlot::name).collect()
}

/// The arguments are: register, first component, number of components, buffer, offset in dwords.
fn stream_output(
    [register_index, start_component, num_components, output_buffer, dst_offset]: [u32; 5],
) -> StreamOutput {
    let stream = 0;
    StreamOutput {
        register_index,
        start_component,
        num_components,
        output_buffer,
        dst_offset,
        stream,
    }
}

fn info(outputs: &[[u32; 5]], strides: [u32; 4]) -> StreamOutputInfo {
    let outputs = outputs.iter().map(|r| stream_output(*r)).collect();
    StreamOutputInfo { outputs, strides, ..StreamOutputInfo::default() }
}

/// An example from a translator: 62 captured components in 18 locations.
const GOKU: &str = "
    struct TestStruct { dmat3x4 a; double b; float c; dvec2 d; };
    struct OuterStruct { TestStruct inner_struct_a, inner_struct_b; };
    layout(location = 0) flat out OuterStruct goku;
    out gl_PerVertex { float gl_PointSize; };
    void main() {
        gl_PointSize = 1.0;
        goku.inner_struct_a.a = dmat3x4(2.0);
        goku.inner_struct_a.b = 3.0LF;
        goku.inner_struct_a.c = 4.0;
        goku.inner_struct_a.d = dvec2(5.0LF, 6.0LF);
        goku.inner_struct_b = goku.inner_struct_a;
        goku.inner_struct_b.a[1].yz = dvec2(11.0LF, 12.0LF);
    }";

/// Returns the stream outputs of [`GOKU`], each of at most four dwords.
fn goku_outputs(first: [u32; 18], locations: SlotLocations) -> StreamOutputInfo {
    // For each location: the number of components, and the offset in dwords in the record.
    let of_struct = [(4, 0), (4, 4), (4, 8), (4, 12), (4, 16), (4, 20), (2, 24), (1, 26), (4, 28)];
    let of_both = of_struct.into_iter().chain(of_struct.map(|(n, dword)| (n, dword + 32)));
    let outputs: Vec<[u32; 5]> = first
        .into_iter()
        .zip(of_both)
        .map(|(register, (n, dword))| [register, 0, n, 0, dword])
        .collect();
    StreamOutputInfo { locations, ..info(&outputs, [64, 0, 0, 0]) }
}

#[test]
fn the_worked_case_is_inlined_after_splitting_and_explicit_before() {
    // In the order of slots, PSIZ is before all VARn, but between FOGC and BFC0.
    let unpacked = std::array::from_fn(|location| location as u32 + 1);
    let packed = std::array::from_fn(|location| location as u32 + u32::from(location > 2));
    for (stage, head) in [(VERTEX, ""), (EVALUATION, "layout(isolines, point_mode) in;")] {
        let name = if stage == VERTEX { "vert" } else { "tese" };
        let words = common::compile_stage(name, &format!("#version 450\n{head}\n{GOKU}"), &[]);
        for (registers, locations) in
            [(unpacked, SlotLocations::Unpacked), (packed, SlotLocations::Packed)]
        {
            let mut info = goku_outputs(registers, locations);
            let split = split_blocks(&words, &split_blocks::SplitOptions::default().stage(stage));
            let split = split.unwrap().words;
            let emit = |words: &[u32], info: &StreamOutputInfo, max_output_components| {
                let list = list(words, stage, info).unwrap();
                let options = native::EmitOptions::new(&list)
                    .stage(stage)
                    .max_output_components(max_output_components);
                native::emit(words, &options)
            };
            for _ in 0..3 {
                // Of 32 locations, one is for the point size and 18 are for the structure. 16 more
                // are needed.
                let error = emit(&words, &info, 128).unwrap_err();
                let max_output_components = 128;
                let budget =
                    LowerError::LocationBudget { needed: 16, left: 13, max_output_components };
                assert_eq!(error, budget);
                let counts = |emitted: &Emitted| (emitted.inlined, emitted.explicit);
                let whole = emit(&words, &info, 256).unwrap();
                common::validate(&whole.lowered.words, "vulkan1.0");
                assert_eq!(counts(&whole), (0, 16));
                let after = emit(&split, &info, 128).unwrap();
                common::validate(&after.lowered.words, "vulkan1.0");
                assert_eq!(counts(&after), (8, 0));
                assert_eq!(after.output_components, 18 * 4 + 1);
                // The order of stream outputs does not matter, and neither does whether each has
                // only one dword.
                info.outputs.reverse();
                let singles = info.outputs.iter().flat_map(|r| {
                    (0..r.num_components).map(|i| StreamOutput {
                        start_component: r.start_component + i,
                        num_components: 1,
                        dst_offset: r.dst_offset + i,
                        ..*r
                    })
                });
                info.outputs = singles.collect();
            }
        }
    }
}

#[test]
fn adjacent_stream_outputs_merge() {
    let words = common::compile(&format!("#version 450\n{GOKU}"), &[]);
    let unpacked = std::array::from_fn(|location| location as u32 + 1);
    let found = list(&words, VERTEX, &goku_outputs(unpacked, SlotLocations::Unpacked)).unwrap();
    // a and b; c; d with the following a and b; c; d.
    let selectors: Vec<String> = found.captures.iter().map(|c| c.selector.to_string()).collect();
    assert_eq!(
        selectors,
        [
            "location 0, 26 components from 0 on",
            "location 7, 1 components from 0 on",
            "location 8, 30 components from 0 on",
            "location 16, 1 components from 0 on",
            "location 17, 4 components from 0 on",
        ]
    );
    assert_eq!(found.strides, [Some(256), None, None, None]);
}

/// Blocks, arrays and built-ins, outputs that are written in several places, and outputs that are
/// not written.
const REGISTERS: &str = "#version 450
    layout(location = 0) out vec4 col0;
    layout(location = 3) out vec4 bfc0;
    layout(location = 11) out vec2 list[4];
    layout(location = 15) out Block { vec4 a; dvec3 wide; vec4 unused; } block;
    layout(location = 19, component = 1) out vec2 part;
    layout(location = 20) out vec4 other;
    out gl_PerVertex {
        vec4 gl_Position; float gl_PointSize; float gl_ClipDistance[6]; float gl_CullDistance[1];
    };
    void set(out vec2 x) { x = vec2(3.0); }
    void never() { other = vec4(1.0); }
    void main() {
        gl_Position = vec4(1.0);
        gl_ClipDistance[5] = 2.0;
        bfc0.w = 1.0;
        list[1] = vec2(5.0);
        set(part);
        block.wide.y = 7.0LF;
        col0.x = block.a.x;
    }";

#[test]
fn registers_count_what_is_written_in_the_order_of_slots() {
    let words = common::compile(REGISTERS, &[]);
    let packed = ["POS", "COL0", "BFC0", "CLIP_DIST1", "VAR1", "VAR5", "VAR6", "VAR8"];
    assert_eq!(slots(&words, SlotLocations::Packed), packed);
    let unpacked = ["POS", "CLIP_DIST1", "VAR0", "VAR3", "VAR12", "VAR16", "VAR17", "VAR19"];
    assert_eq!(slots(&words, SlotLocations::Unpacked), unpacked);
    // Debug info names every variable, and must not change the result.
    let words = common::compile(REGISTERS, &["-gVS"]);
    assert_eq!(slots(&words, SlotLocations::Packed), packed);

    // An index that is not constant may be any index.
    let any = REGISTERS.replace("list[1]", "list[gl_VertexIndex & 3]");
    let slots = slots(&common::compile(&any, &[]), SlotLocations::Packed);
    assert_eq!(slots[4..8], ["VAR0", "VAR1", "VAR2", "VAR3"]);

    let outputs = [
        [0, 0, 4, 0, 1],
        [2, 3, 1, 1, 0],
        [3, 1, 1, 0, 0],
        [5, 2, 2, 2, 0],
        [6, 0, 2, 2, 2],
        [7, 1, 2, 3, 4],
    ];
    let layout = layout(&words, VERTEX, &info(&outputs, [5, 1, 4, 6]));
    let found: Vec<_> = layout
        .outputs
        .iter()
        .map(|o| (o.buffer, o.offset, o.dwords(), o.name.as_deref().unwrap_or_default().to_owned()))
        .collect();
    let row = |buffer, offset, dwords, name: &str| (buffer, offset, dwords, name.to_owned());
    assert_eq!(
        found,
        [
            row(0, 0, 1, "gl_ClipDistance[5]"),
            row(0, 4, 4, "gl_Position"),
            row(1, 0, 1, "bfc0[3]"),
            row(2, 0, 2, "block.wide[1]"),
            row(2, 8, 2, "block.wide[2]"),
            row(3, 16, 2, "part"),
        ]
    );

    // If there is a mask, it determines the registers: register 0 is COL1, which the shader does not
    // have, and register 1 is TEX0, which has the location of VAR0.
    let written = |slots: &[VaryingSlot]| slots.iter().map(|s| 1u64 << s.index()).sum();
    let mut masked = info(&[[1, 0, 2, 0, 0]], [4, 0, 0, 0]);
    masked.outputs_written = Some(written(&[VaryingSlot::Col1, VaryingSlot::Tex0]));
    let list = list(&words, VERTEX, &masked).unwrap();
    assert_eq!(list.captures[0].selector.to_string(), "location 11, 2 components from 0 on");
}

#[test]
fn bad_stream_outputs_are_named() {
    use StreamOutputField::{
        DstOffset, NumComponents, OutputBuffer, RegisterIndex, StartComponent,
    };
    let words = common::compile(REGISTERS, &[]);
    let range = |min, max| StreamOutputProblem::Range { min, max };
    let (var5, var6, var8) = (VaryingSlot::Var5, VaryingSlot::Var6, VaryingSlot::Var8);
    for (bad, field, value, problem) in [
        ([64, 0, 1, 0, 0], RegisterIndex, 64, range(0, 63)),
        ([8, 0, 1, 0, 0], RegisterIndex, 8, StreamOutputProblem::NotWritten { written: 8 }),
        ([0, 4, 1, 0, 0], StartComponent, 4, range(0, 3)),
        ([0, 0, 0, 0, 0], NumComponents, 0, range(1, 4)),
        ([0, 0, 5, 0, 0], NumComponents, 5, range(1, 4)),
        ([0, 2, 3, 0, 0], NumComponents, 3, range(1, 2)),
        ([0, 0, u32::MAX, 0, 0], NumComponents, u32::MAX, range(1, 4)),
        (
            [7, 0, 1, 0, 0],
            StartComponent,
            0,
            StreamOutputProblem::NoComponent { slot: var8, component: 0 },
        ),
        (
            [7, 1, 3, 0, 0],
            NumComponents,
            3,
            StreamOutputProblem::NoComponent { slot: var8, component: 3 },
        ),
        ([5, 1, 1, 0, 0], StartComponent, 1, StreamOutputProblem::SplitComponent { slot: var5 }),
        ([5, 0, 3, 0, 0], NumComponents, 3, StreamOutputProblem::SplitComponent { slot: var5 }),
        ([6, 0, 1, 0, 0], NumComponents, 1, StreamOutputProblem::SplitComponent { slot: var6 }),
        ([0, 0, 1, 4, 0], OutputBuffer, 4, range(0, 3)),
        ([0, 0, 1, 1, 0], OutputBuffer, 1, StreamOutputProblem::Stride { stride: 0 }),
        ([0, 0, 1, 2, 0], OutputBuffer, 2, StreamOutputProblem::Stride { stride: 513 }),
        ([0, 0, 4, 0, 5], DstOffset, 5, StreamOutputProblem::BeyondStride { stride: 8 }),
        (
            [0, 0, 4, 0, u32::MAX],
            DstOffset,
            u32::MAX,
            StreamOutputProblem::BeyondStride { stride: 8 },
        ),
        ([0, 0, 1, 3, 2], DstOffset, 2, StreamOutputProblem::Overlap { other: 0 }),
    ] {
        let outputs = info(&[[2, 0, 4, 3, 0], bad], [8, 0, 513, 4]);
        let error = list(&words, VERTEX, &outputs).unwrap_err();
        let expected = StreamOutputError { index: 1, field, value, problem };
        assert_eq!(error, expected, "{bad:?}");
        let said = format!("stream output 1: {field} is {value}; ");
        assert!(error.to_string().contains(&said), "{error}");
    }
    let mut streams = info(&[[0, 0, 1, 0, 0]], [8, 0, 0, 0]);
    streams.outputs[0].stream = 1;
    let error = list(&words, VERTEX, &streams).unwrap_err();
    let (field, problem) = (StreamOutputField::Stream, StreamOutputProblem::Stream { actual: 0 });
    assert_eq!(error, StreamOutputError { index: 0, field, value: 1, problem });
    // The mask names a slot that the shader does not write.
    streams.outputs[0].stream = 0;
    streams.outputs_written = Some(1 << VaryingSlot::Fogc.index());
    let slot = VaryingSlot::Fogc;
    let (field, problem) = (RegisterIndex, StreamOutputProblem::NoOutput { slot });
    for locations in [SlotLocations::Packed, SlotLocations::Unpacked] {
        streams.locations = locations;
        let error = list(&words, VERTEX, &streams).unwrap_err();
        assert_eq!(error, StreamOutputError { index: 0, field, value: 0, problem });
    }
}

/// A stream output may end inside a 64-bit component if the next one continues there.
#[test]
fn halves_of_components_that_meet_are_whole() {
    let words = common::compile(REGISTERS, &[]);
    // wide.y is in VAR5.zw: register 5, and wide.z in VAR6.xy.
    let halves = [[5, 2, 1, 0, 1], [5, 3, 1, 0, 2], [6, 0, 1, 0, 3], [6, 1, 1, 0, 4]];
    let list = list(&words, VERTEX, &info(&halves, [6, 0, 0, 0])).unwrap();
    assert_eq!(list.captures.len(), 1);
    let shader = Shader::new(&words).captures(&list);
    common::validate(&vertex::lower(&shader).unwrap().words, "vulkan1.0");
}
