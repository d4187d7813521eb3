//! GLSL to SPIR-V, by glslang in its form of many files a process: shaderc's glslc.

use spirv::{BuiltIn as SpirvBuiltIn, Decoration, Op, StorageClass};

use crate::common::run_tool;
use crate::glsl;
use crate::program::{BuiltIn, Place, Program};

/// A vertex and a geometry shader.
pub struct Modules {
    pub vertex: Vec<u32>,
    pub geometry: Vec<u32>,
}

/// Compiles the shaders of some programs, in one process: most of the time of one for each would be its start.
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
        geometry: captured_built_ins(&words(number, "geom"), program),
    };
    programs.iter().enumerate().map(modules).collect()
}

/// Decorates built-in variables that are captured, which GLSL cannot declare again.
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

fn is(instruction: &[u32], op: Op) -> bool {
    instruction[0] & 0xffff == op as u32
}

/// The instructions of a module behind its header.
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
