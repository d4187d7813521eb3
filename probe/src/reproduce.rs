//! Writes a C program that captures one case of the probe by `VK_EXT_transform_feedback`, without vkxfb, and compares
//! what the driver wrote with the records that the case should have. It is for bug reports: a maintainer needs nothing
//! but a C compiler and the Vulkan headers and loader to see a fault.
//!
//! The program is always the same (`reproduce/main.c`). What differs is in headers beside it: the draw, the state of
//! the pipeline, and the expected records, which come from the model with which the probe compares captures; and the
//! comparison, which is another one after tessellation, because a device chooses the order within a patch.

#![forbid(unsafe_code)]

use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Write};

use spirv::ExecutionModel;
use vkxfb_rewriter::counts::BoundBuffer;
use vkxfb_rewriter::lower::{Backend, LoweredKind, compute};
use vkxfb_rewriter::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb_rewriter::vertex_input::{InputRate, VertexAttribute, VertexBinding, VertexInput};

use crate::diagnose::Sequence;
use crate::row::CapturedStage;
use crate::shaders::{FIRST_INSTANCE, FIRST_VERTEX, PATCH_CONTROL_POINTS};
use crate::subject::{Subject, SubjectError, range_size};

/// The byte with which the program fills buffers before the draw: `FILLED` of `compare.h`.
const FILLED: u8 = 0xcd;

/// The maximum size in bytes of all expected records of a program, which its compiler has to read.
const MAX_RECORD_BYTES: u64 = 1 << 20;

/// The shell command that compiles a [program] in its directory, and runs it.
pub const COMPILE: &str = "cc main.c -o reproduce -lvulkan && ./reproduce";

/// A draw of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReproducedDraw {
    /// The topology of the pipeline.
    pub topology: PrimitiveTopology,
    /// The provoking vertex of the pipeline.
    pub provoking: ProvokingVertex,
    /// The number of vertices of an instance.
    pub vertices: u32,
    /// The number of instances.
    pub instances: u32,
}

/// A file of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramFile {
    /// The name of the file.
    pub name: String,
    /// The bytes of the file.
    pub contents: Vec<u8>,
}

impl ProgramFile {
    fn text(name: &str, contents: impl Into<String>) -> Self {
        Self { name: name.to_owned(), contents: contents.into().into_bytes() }
    }
}

/// The reason why there is no program for a case.
#[derive(Debug, thiserror::Error)]
pub enum ReproduceError {
    /// The shaders are the user's, whose records are only known from a device.
    #[error(
        "{name} is no shader of the probe, so what it should write is not known without a device"
    )]
    NoFormulas {
        /// The name of the captured shader.
        name: String,
    },
    /// The geometry shader takes other primitives.
    #[error("{name} takes no primitives of {topology}")]
    NotTaken {
        /// The name of the captured shader.
        name: String,
        /// The topology of the draw.
        topology: PrimitiveTopology,
    },
    /// The program would be too long for a compiler.
    #[error(
        "the records of {vertices} vertices x {instances} instances take {bytes} bytes: the limit of a program is \
         {MAX_RECORD_BYTES}"
    )]
    TooLarge {
        /// The number of vertices of an instance.
        vertices: u32,
        /// The number of instances.
        instances: u32,
        /// The size in bytes of the records.
        bytes: u64,
    },
    /// A shader cannot be lowered, which would be a defect of this crate.
    #[error(transparent)]
    Subject(#[from] SubjectError),
}

/// Returns the files of the program for a draw of the probe's own shaders: `main.c`, `case.h`, `compare.h` and a SPIR-V
/// module for each stage.
///
/// # Errors
/// [`ReproduceError`]
pub fn program(
    subject: &Subject,
    draw: ReproducedDraw,
) -> Result<Vec<ProgramFile>, ReproduceError> {
    let name = subject.captured_name().to_owned();
    let ReproducedDraw { topology, vertices, instances, .. } = draw;
    if !subject.has_formulas() {
        return Err(ReproduceError::NoFormulas { name });
    }
    if !subject.takes(topology) {
        return Err(ReproduceError::NotTaken { name, topology });
    }
    // The primitives that are emitted are at most a few for each vertex.
    let bytes = subject.layout.buffers().map(|(_, stride)| u64::from(stride)).sum::<u64>()
        * (subject.most_primitives(topology, vertices).saturating_mul(3)).max(vertices.into());
    let bytes = bytes.saturating_mul(instances.into());
    if bytes > MAX_RECORD_BYTES {
        return Err(ReproduceError::TooLarge { vertices, instances, bytes });
    }
    let stages = stages(subject)?;
    let mut files = vec![
        ProgramFile::text("main.c", include_str!("reproduce/main.c")),
        ProgramFile::text("case.h", header(subject, draw, &stages)),
        ProgramFile::text("compare.h", comparison(subject)),
    ];
    files.extend(stages.into_iter().map(|stage| ProgramFile {
        name: stage.file.to_owned(),
        contents: stage.words.iter().flat_map(|word| word.to_le_bytes()).collect(),
    }));
    Ok(files)
}

/// Returns `compare.h`.
fn comparison(subject: &Subject) -> String {
    let demanded = match subject.captured_stage() {
        CapturedStage::Tessellation => include_str!("reproduce/patches.h"),
        CapturedStage::Vertex | CapturedStage::Geometry | CapturedStage::GeometryStreams => {
            include_str!("reproduce/order.h")
        }
    };
    format!("{demanded}\n{}", include_str!("reproduce/compare.h"))
}

/// A stage of the program's pipeline.
struct Stage {
    /// The name of its bit in `VkShaderStageFlagBits`.
    bit: &'static str,
    file: &'static str,
    words: Vec<u32>,
}

/// Returns the shaders as a driver gets them in a probe: decorated, and with the values of specialization constants.
fn stages(subject: &Subject) -> Result<Vec<Stage>, ReproduceError> {
    let lowered = subject.lower(Backend::Native, &compute::Target::default())?;
    let stage = |model: ExecutionModel, words| {
        let (bit, file) = match model {
            ExecutionModel::Geometry => ("VK_SHADER_STAGE_GEOMETRY_BIT", "shader.geom.spv"),
            ExecutionModel::TessellationControl => {
                ("VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT", "shader.tesc.spv")
            }
            ExecutionModel::TessellationEvaluation => {
                ("VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT", "shader.tese.spv")
            }
            _ => ("VK_SHADER_STAGE_VERTEX_BIT", "shader.vert.spv"),
        };
        Stage { bit, file, words }
    };
    let mut stages = Vec::new();
    if let LoweredKind::Native(native) = lowered.kind {
        stages.extend(native.before.into_iter().map(|before| stage(before.stage, before.words)));
    }
    let captured = match subject.captured_stage() {
        CapturedStage::Vertex => ExecutionModel::Vertex,
        CapturedStage::Geometry | CapturedStage::GeometryStreams => ExecutionModel::Geometry,
        CapturedStage::Tessellation => ExecutionModel::TessellationEvaluation,
    };
    stages.push(stage(captured, lowered.words));
    Ok(stages)
}

/// The records of a capture buffer, and their order.
struct CaptureBuffer {
    number: usize,
    stride: u32,
    /// The size of the bound range in bytes.
    size: u64,
    vertices_per_primitive: u32,
    /// The number of vertices of an instance.
    vertices: u32,
    /// The records of all vertices of all instances.
    records: Vec<u8>,
    /// The numbers of the records that should be written, in order.
    expected: Vec<u32>,
}

/// Returns what a draw should write to each buffer.
fn captured(subject: &Subject, draw: ReproducedDraw) -> Vec<CaptureBuffer> {
    let ReproducedDraw { topology, provoking, vertices, instances } = draw;
    let layout = &subject.layout;
    let emissions = subject.emission(topology, provoking, vertices, instances);
    let overflowing = subject.overflowing_stream(vertices, instances);
    // The primitives that fit are those that fit into each buffer of the stream.
    let mut fitting = BTreeMap::new();
    let mut buffers = Vec::new();
    for (number, stride) in layout.buffers() {
        let stream = layout.streams[number];
        let emission = emissions.as_ref().and_then(|emissions| emissions.get(&stream));
        let assembled = Sequence::Assembled { topology, provoking, vertex_count: vertices };
        let sequence = emission.map_or(assembled, |emission| emission.sequence());
        let instances = emission.map_or(instances, |emission| emission.instance_count);
        let m = sequence.vertices_per_primitive();
        let of_vertex = || subject.records(number, vertices, instances).unwrap_or_default();
        let mut records = emission.map_or_else(of_vertex, |e| e.records[number].clone());
        let is_gap = |at: u32| {
            let mut outputs = layout.outputs_of(number);
            !outputs.any(|output| (output.offset..output.offset + output.size()).contains(&at))
        };
        for gap in (0..stride).filter(|at| is_gap(*at)) {
            records
                .iter_mut()
                .skip(gap as usize)
                .step_by(stride as usize)
                .for_each(|b| *b = FILLED);
        }
        let needed = sequence.primitive_count() * u64::from(instances);
        let size = range_size(needed, m * stride, overflowing == Some(stream));
        let fits = BoundBuffer { size, position: 0, stride }.primitives_left(m);
        let fit = fitting.entry(stream).or_insert(needed);
        *fit = fits.min(*fit);
        let vertex_count = sequence.vertex_count();
        let of_instance = |i| (0..sequence.output_count()).map(move |at| (i, at));
        let expected = (0..instances).flat_map(of_instance);
        let expected = expected.map(|(i, at)| i * vertex_count + sequence.gather(at));
        // The program knows a vertex by its record: of vertices of an instance with the same record it finds the first.
        let records_of: Vec<&[u8]> = records.chunks_exact(stride.max(1) as usize).collect();
        let key = |number: u32| (number / vertex_count.max(1), records_of.get(number as usize));
        let mut first_of = HashMap::new();
        for number in 0..records_of.len() as u32 {
            first_of.entry(key(number)).or_insert(number);
        }
        let first = |number: u32| first_of.get(&key(number)).copied().unwrap_or(number);
        let expected = expected.map(first).collect();
        let vertices_per_primitive = m;
        buffers.push(CaptureBuffer {
            number,
            stride,
            size,
            vertices_per_primitive,
            vertices: vertex_count,
            records,
            expected,
        });
    }
    for buffer in &mut buffers {
        let fit = fitting.get(&layout.streams[buffer.number]).copied().unwrap_or(0);
        let records = fit * u64::from(buffer.vertices_per_primitive);
        buffer.expected.truncate(usize::try_from(records).unwrap_or(usize::MAX));
    }
    buffers
}

/// The types of what is in `case.h`.
const TYPES: &str = "\
typedef struct {
    VkShaderStageFlagBits stage;
    const char *file; /* a SPIR-V module, whose entry point is main */
} Stage;

typedef struct {
    uint32_t binding, size; /* in bytes */
    const uint32_t *contents;
} VertexBuffer;

typedef struct {
    uint32_t binding, stride, size; /* in bytes; the size is that of the bound range */
    uint32_t per_primitive;         /* the vertices of each captured primitive */
    uint32_t vertices, all;         /* the vertices of each instance, and of all */
    const uint32_t *records;        /* the record of each of these vertices */
    uint32_t expected_count;
    const uint32_t *expected; /* which of these records have to be written, in this order */
} Captured;
";

/// Returns what the draw needs of a device: the expressions by which `main.c` knows that the device has it, and the
/// features of `VkPhysicalDeviceFeatures` that it enables.
fn needs(subject: &Subject, draw: ReproducedDraw) -> (Vec<&'static str>, Vec<&'static str>) {
    let ReproducedDraw { topology, provoking, .. } = draw;
    let stage = subject.captured_stage();
    let mut needs = vec!["xfb.transformFeedback"];
    let mut features = Vec::new();
    if provoking == ProvokingVertex::Last {
        needs.push("mode.provokingVertexLast");
    }
    let has_geometry = matches!(stage, CapturedStage::Geometry | CapturedStage::GeometryStreams);
    if has_geometry || topology.has_adjacency() {
        features.push("geometryShader");
    }
    if stage == CapturedStage::Tessellation {
        features.push("tessellationShader");
    }
    if subject.geometry.as_ref().is_some_and(|geometry| geometry.has_point_size) {
        features.push("shaderTessellationAndGeometryPointSize");
    }
    if stage == CapturedStage::GeometryStreams {
        needs.push("xfb.geometryStreams");
        let is_of_points =
            |geometry: &crate::subject::SubjectGeometry| geometry.declared.output_vertices == 1;
        if !subject.geometry.as_ref().is_some_and(is_of_points) {
            needs.push("limits.transformFeedbackStreamsLinesTriangles");
        }
    }
    (needs, features)
}

/// Returns `case.h`.
fn header(subject: &Subject, draw: ReproducedDraw, stages: &[Stage]) -> String {
    let mut header = String::new();
    // Writing to a string does not fail.
    let _ = write_header(&mut header, subject, draw, stages);
    header
}

fn write_header(
    out: &mut String,
    subject: &Subject,
    draw: ReproducedDraw,
    stages: &[Stage],
) -> fmt::Result {
    let ReproducedDraw { topology, provoking, vertices, instances } = draw;
    let name = subject.captured_name();
    let vk_topology = topology.name().to_uppercase().replace('-', "_");
    let vk_provoking = match provoking {
        ProvokingVertex::First => "FIRST",
        ProvokingVertex::Last => "LAST",
    };
    let is_tessellated = subject.captured_stage() == CapturedStage::Tessellation;
    let order = if is_tessellated { "; the order within each patch is free" } else { "" };
    let of_draw = format!(
        "{topology}, shader {name}, {vertices} vertices, {instances} instances, the {provoking} vertex provokes{order}"
    );
    let is_fan = subject.geometry.is_none() && topology == PrimitiveTopology::TriangleFan;
    let (needs, features) = needs(subject, draw);
    writeln!(out, "/* A draw, and what it has to write: see main.c. */\n\n{TYPES}")?;
    writeln!(out, "#define DESCRIPTION \\\n    \"{of_draw}\"")?;
    writeln!(out, "#define TOPOLOGY VK_PRIMITIVE_TOPOLOGY_{vk_topology}")?;
    writeln!(out, "#define PROVOKING VK_PROVOKING_VERTEX_MODE_{vk_provoking}_VERTEX_EXT")?;
    writeln!(out, "#define IS_FAN {}", u8::from(is_fan))?;
    let supported = needs.iter().map(|need| (*need).to_owned());
    let supported =
        supported.chain(features.iter().map(|name| format!("features.features.{name}")));
    let supported: String = supported.map(|need| format!(" need({need})")).collect();
    writeln!(out, "#define NEEDS(need){supported}")?;
    let enabled = features.iter().map(|name| format!(".{name} = VK_TRUE")).collect::<Vec<_>>();
    let enabled = if enabled.is_empty() { "0".to_owned() } else { enabled.join(", ") };
    writeln!(out, "#define FEATURES {{{enabled}}}")?;
    for (name, value) in [
        ("VERTICES", vertices),
        ("INSTANCES", instances),
        ("FIRST_VERTEX", FIRST_VERTEX),
        ("FIRST_INSTANCE", FIRST_INSTANCE),
        ("PATCH", PATCH_CONTROL_POINTS),
    ] {
        writeln!(out, "#define {name} {value}u")?;
    }
    let of_stage = |Stage { bit, file, .. }: &Stage| format!("{{{bit}, \"{file}\"}}");
    write_array(out, "Stage stages", stages.iter().map(of_stage))?;
    write_vertex_input(out, subject, draw)?;
    if is_tessellated {
        let emissions = subject.emission(topology, provoking, vertices, instances);
        let emission = emissions.as_ref().and_then(|emissions| emissions.values().next());
        let patches = emission.map_or(&[][..], |emission| &emission.patches);
        let primitives = patches.iter().map(|patch| patch.primitives.to_string());
        write_array(out, "uint32_t patches", primitives)?;
    }
    let buffers = captured(subject, draw);
    for CaptureBuffer { number, stride, records, expected, .. } in &buffers {
        let (words, _) = records.as_chunks();
        let words: Vec<String> =
            words.iter().map(|word| format!("{:#x}", u32::from_le_bytes(*word))).collect();
        let each = words.chunks((stride / 4) as usize).map(|record| record.join(", "));
        write_array(out, &format!("uint32_t records_{number}"), each)?;
        let expected = expected.iter().map(u32::to_string).collect::<Vec<_>>();
        let lines = expected.chunks(18).map(|line| line.join(", "));
        write_array(out, &format!("uint32_t expected_{number}"), lines)?;
    }
    let of_buffer = |buffer: &CaptureBuffer| {
        let CaptureBuffer { number, stride, size, vertices_per_primitive, .. } = buffer;
        let (vertices, count) = (buffer.vertices, buffer.expected.len());
        let all = buffer.records.len() / (*stride).max(1) as usize;
        format!(
            "{{{number}, {stride}, {size}, {vertices_per_primitive}, {vertices}, {all}, records_{number}, {count}, \
             expected_{number}}}"
        )
    };
    write_array(out, "Captured captured", buffers.iter().map(of_buffer))
}

/// Writes the vertex buffers, and how attributes are read from them.
fn write_vertex_input(out: &mut String, subject: &Subject, draw: ReproducedDraw) -> fmt::Result {
    let VertexInput { bindings, attributes } = &subject.vertex_input;
    let mut vertex_buffers = Vec::new();
    for binding in bindings {
        let bytes = subject.vertex_buffer(binding, draw.vertices, draw.instances);
        let (words, _) = bytes.as_chunks();
        let words: Vec<String> =
            words.iter().map(|word| format!("{:#x}", u32::from_le_bytes(*word))).collect();
        let (number, size) = (binding.binding, bytes.len());
        let lines = words.chunks(8).map(|line| line.join(", "));
        write_array(out, &format!("uint32_t vertices_{number}"), lines)?;
        vertex_buffers.push(format!("{{{number}, {size}, vertices_{number}}}"));
    }
    for (name, count) in
        [("vertex_buffer_count", bindings.len()), ("attribute_count", attributes.len())]
    {
        writeln!(out, "\nstatic const uint32_t {name} = {count};")?;
    }
    write_array(out, "VertexBuffer vertex_buffers", vertex_buffers.into_iter())?;
    let bindings = bindings.iter().map(|VertexBinding { binding, stride, input_rate }| {
        let rate = match input_rate {
            InputRate::Vertex => "VERTEX",
            InputRate::Instance { .. } => "INSTANCE",
        };
        format!("{{{binding}, {stride}, VK_VERTEX_INPUT_RATE_{rate}}}")
    });
    write_array(out, "VkVertexInputBindingDescription bindings", bindings)?;
    let attributes = attributes.iter().map(|attribute| {
        let VertexAttribute { location, binding, format, offset } = attribute;
        format!(
            "{{{location}, {binding}, (VkFormat){} /* {format:?} */, {offset}}}",
            format.as_raw()
        )
    });
    write_array(out, "VkVertexInputAttributeDescription attributes", attributes)
}

/// Writes an array with an element, or several, in each line. C has no empty arrays, so one without elements has a
/// single one that nothing reads.
fn write_array(
    out: &mut String,
    declared: &str,
    lines: impl Iterator<Item = String>,
) -> fmt::Result {
    writeln!(out, "\nstatic const {declared}[] = {{")?;
    let mut lines = lines.peekable();
    if lines.peek().is_none() {
        let nothing = if declared.starts_with("uint32_t ") { "0" } else { "{0}" };
        writeln!(out, "    {nothing},")?;
    }
    for line in lines {
        writeln!(out, "    {line},")?;
    }
    writeln!(out, "}};")
}
