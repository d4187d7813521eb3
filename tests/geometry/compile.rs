//! Compiles GLSL to SPIR-V with shaderc's glslc, a form of glslang that compiles many files in one
//! process.

use spirv::{BuiltIn as SpirvBuiltIn, Decoration, ExecutionMode, Op, StorageClass};

use crate::common::run_tool;
use crate::glsl;
use crate::program::{BuiltIn, Emitted, Place, Program};

/// The modules of a vertex and a geometry shader.
pub struct Modules {
    pub vertex: Vec<u32>,
    pub geometry: Vec<u32>,
}

/// Compiles the shaders of several programs in one process, because most of the time of a process
/// would be its start.
pub fn compile(programs: &[&Program]) -> Vec<Modules> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let mut arguments = vec!["-c".to_owned()];
    for (number, program) in programs.iter().enumerate() {
        for (stage, source) in [("vert", glsl::vertex(program)), ("geom", glsl::geometry(program))]
        {
            let file = format!("{number}.{stage}");
            std::fs::write(path.join(&file), source).unwrap();
            arguments.push(file);
        }
    }
    run_tool("glslc", &arguments.iter().map(String::as_str).collect::<Vec<_>>(), path);
    let words = |number, stage| {
        let bytes = std::fs::read(path.join(format!("{number}.{stage}.spv"))).unwrap();
        vkxfb::spirv::words_from_bytes(&bytes).unwrap()
    };
    let modules = |(number, program): (usize, &&Program)| Modules {
        vertex: words(number, "vert"),
        geometry: of_streams(&captured_built_ins(&words(number, "geom"), program), program),
    };
    programs.iter().enumerate().map(modules).collect()
}

/// Adds decorations to captured built-in variables, which GLSL cannot redeclare.
fn captured_built_ins(words: &[u32], program: &Program) -> Vec<u32> {
    let instructions = || Instructions(&words[5..]);
    let outputs: Vec<u32> = instructions()
        .filter(|i| is(i, Op::Variable) && i[3] == StorageClass::Output as u32)
        .map(|i| i[2])
        .collect();
    let mut found: Vec<(u32, usize, u32)> = Vec::new();
    for item in &program.outputs.items {
        let (Place::BuiltIn(which), Some((buffer, offset))) = (item.place, item.captured) else {
            continue;
        };
        let which = match which {
            BuiltIn::PrimitiveId => SpirvBuiltIn::PrimitiveId,
            BuiltIn::Layer => SpirvBuiltIn::Layer,
            BuiltIn::ViewportIndex => SpirvBuiltIn::ViewportIndex,
            _ => continue,
        };
        let is_it = |i: &&[u32]| {
            is(i, Op::Decorate)
                && i[2..] == [Decoration::BuiltIn as u32, which as u32]
                && outputs.contains(&i[1])
        };
        // A variable that no code writes is not in the module.
        found.extend(instructions().find(is_it).map(|i| (i[1], buffer, offset)));
    }
    let mut result = words[..5].to_vec();
    let mut is_added = false;
    for instruction in instructions() {
        if is(instruction, Op::Decorate) && !is_added {
            is_added = true;
            for (id, buffer, offset) in &found {
                let stride = program.strides[*buffer].unwrap();
                for (decoration, value) in [
                    (Decoration::XfbBuffer, *buffer as u32),
                    (Decoration::XfbStride, stride),
                    (Decoration::Offset, *offset),
                ] {
                    result.extend([4 << 16 | Op::Decorate as u32, *id, decoration as u32, value]);
                }
            }
        }
        // Of those that glslang adds.
        let replaced = is(instruction, Op::Decorate)
            && found.iter().any(|(id, ..)| *id == instruction[1])
            && [Decoration::XfbBuffer as u32, Decoration::XfbStride as u32]
                .contains(&instruction[2]);
        if !replaced {
            result.extend(instruction);
        }
    }
    result
}

/// Lets several streams emit the primitives of the program, which GLSL does not support. glslang
/// decorates every output with a buffer: outputs to another stream than the one that the buffer
/// captures lose that decoration.
fn of_streams(words: &[u32], program: &Program) -> Vec<u32> {
    if program.streams == 1 {
        return words.to_vec();
    }
    let instructions = || Instructions(&words[5..]);
    let decoration = |i: &[u32], of: Decoration| is(i, Op::Decorate) && i[2] == of as u32;
    let value = |id, of| instructions().find(|i| decoration(i, of) && i[1] == id).map(|i| i[3]);
    let mode = match program.emitted {
        Emitted::Points => ExecutionMode::OutputPoints,
        Emitted::LineStrip => ExecutionMode::OutputLineStrip,
        Emitted::TriangleStrip => ExecutionMode::OutputTriangleStrip,
    };
    let mut result = words[..5].to_vec();
    for i in instructions() {
        if is(i, Op::ExecutionMode) && i[2] == ExecutionMode::OutputPoints as u32 {
            result.extend([i[0], i[1], mode as u32]);
            continue;
        }
        let is_of_other_stream = || {
            let buffer = value(i[1], Decoration::XfbBuffer);
            let stream = value(i[1], Decoration::Stream).unwrap_or(0);
            buffer.is_some_and(|buffer| program.buffer_streams[buffer as usize] != stream)
        };
        let is_of_buffer =
            decoration(i, Decoration::XfbBuffer) || decoration(i, Decoration::XfbStride);
        if !(is_of_buffer && is_of_other_stream()) {
            result.extend(i);
        }
    }
    result
}

fn is(instruction: &[u32], op: Op) -> bool {
    instruction[0] & 0xffff == op as u32
}

/// The instructions of a module after its header.
struct Instructions<'a>(&'a [u32]);

impl<'a> Iterator for Instructions<'a> {
    type Item = &'a [u32];

    fn next(&mut self) -> Option<&'a [u32]> {
        let length = (*self.0.first()? >> 16) as usize;
        let (instruction, rest) = self.0.split_at(length);
        self.0 = rest;
        Some(instruction)
    }
}
