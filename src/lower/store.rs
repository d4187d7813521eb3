//! The body of `store_record`: the captured outputs, in as few and as wide stores as they allow.

use spirv::{Op, StorageClass};

use crate::capture::{Layout, Output};
use crate::spirv::Id;
use crate::spirv::declarations::Declarations;
use crate::spirv::emit::{Builder, Code};
use crate::spirv::link::{LinkError, Linker};
use crate::vertex_input::NumericClass;

/// Components of outputs that lie side by side in a record: one store.
#[derive(Debug, PartialEq, Eq)]
struct Chunk {
    /// Dword in the record.
    dword: u32,
    /// Index of the output in the layout, and the component of it; 1 to 4 of them.
    components: Vec<(usize, u32)>,
}

/// Merges a buffer's outputs into stores of up to four dwords.
fn chunks(layout: &Layout, buffer: usize) -> Vec<Chunk> {
    let mut chunks: Vec<Chunk> = Vec::new();
    for (index, output) in layout.outputs.iter().enumerate() {
        if output.buffer as usize != buffer {
            continue;
        }
        for component in 0..output.components {
            let dword = output.offset / 4 + component;
            match chunks.last_mut() {
                Some(last)
                    if last.dword + last.components.len() as u32 == dword
                        && last.components.len() < 4 =>
                {
                    last.components.push((index, component));
                }
                _ => chunks.push(Chunk { dword, components: vec![(index, component)] }),
            }
        }
    }
    chunks
}

/// What the stores read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outputs<'a> {
    /// What goes where.
    pub(super) layout: &'a Layout,
    /// The types of the output variables.
    pub(super) declarations: &'a Declarations,
    /// Where the outputs are: `Output`, or `Private` once the shader is a compute shader.
    pub(super) storage: StorageClass,
}

impl Outputs<'_> {
    /// The body of `store_record(record)`.
    pub(super) fn store_record(
        &self,
        linker: &mut Linker<'_, '_>,
        record: Id,
    ) -> Result<Code, LinkError> {
        let mut code = Code::default();
        let values: Vec<Loaded> = self
            .layout
            .outputs
            .iter()
            .map(|o| self.load(&mut linker.builder, &mut code, o))
            .collect();
        // A single buffer that is not bound stops the draw on the CPU.
        let may_be_unbound = self.layout.buffers().count() > 1;
        for (buffer, stride) in self.layout.buffers() {
            let buffer_index = linker.builder.constant(buffer as u32);
            let merge = linker.builder.module.fresh_id();
            if may_be_unbound {
                let is_bound = linker.function("xfb_is_bound")?;
                let bool_type = linker.builder.bool();
                let bound = code.call(&mut linker.builder, bool_type, is_bound, &[buffer_index]);
                let then = linker.builder.module.fresh_id();
                code.push(Op::SelectionMerge, &[merge.0, 0]);
                code.push(Op::BranchConditional, &[bound.0, then.0, merge.0]);
                code.label(then);
            }
            let xfb_address = linker.function("xfb_address")?;
            let uvec2 = linker.builder.uvec(2);
            let address = code.call(&mut linker.builder, uvec2, xfb_address, &[buffer_index]);
            let uint = linker.builder.uint();
            let dwords = linker.builder.constant(stride / 4);
            let base = code.value(&mut linker.builder, Op::IMul, uint, &[record.0, dwords.0]);
            for chunk in chunks(self.layout, buffer) {
                let width = chunk.components.len() as u32;
                let store = linker.function(&format!("store{width}"))?;
                let value = gather(&mut linker.builder, &mut code, &values, &chunk);
                let offset = linker.builder.constant(chunk.dword);
                let builder = &mut linker.builder;
                let index = match chunk.dword {
                    0 => base,
                    _ => code.value(builder, Op::IAdd, uint, &[base.0, offset.0]),
                };
                let void = builder.void();
                code.call(builder, void, store, &[address, index, value]);
            }
            if may_be_unbound {
                code.push(Op::Branch, &[merge.0]);
                code.label(merge);
            }
        }
        code.push(Op::Return, &[]);
        Ok(code)
    }

    /// An output's value, as a `u32` or a vector of them.
    fn load(&self, builder: &mut Builder<'_>, code: &mut Code, output: &Output) -> Loaded {
        let variable = self.declarations.variable(output.variable);
        let ty = variable.and_then(|v| self.declarations.type_at(v.pointee, &output.path));
        // The layout was made from these declarations.
        debug_assert!(ty.is_some());
        let ty = ty.unwrap_or(Id(0));
        let mut pointer = output.variable;
        if !output.path.is_empty() {
            let pointer_type = builder.pointer(self.storage, ty);
            let mut operands = vec![pointer.0];
            operands.extend(output.path.iter().map(|index| builder.constant(*index).0));
            pointer = code.value(builder, Op::AccessChain, pointer_type, &operands);
        }
        let mut value = code.value(builder, Op::Load, ty, &[pointer.0]);
        if output.class != NumericClass::Uint {
            let bits = builder.uvec(output.components);
            value = code.value(builder, Op::Bitcast, bits, &[value.0]);
        }
        Loaded { value, components: output.components }
    }
}

/// An output's bits.
#[derive(Debug, Clone, Copy)]
struct Loaded {
    value: Id,
    components: u32,
}

/// The value of one store.
fn gather(builder: &mut Builder<'_>, code: &mut Code, values: &[Loaded], chunk: &Chunk) -> Id {
    let (first, _) = chunk.components[0];
    let is_whole_output = chunk.components.iter().all(|(output, _)| *output == first)
        && values[first].components as usize == chunk.components.len();
    if is_whole_output {
        return values[first].value;
    }
    let uint = builder.uint();
    let scalars: Vec<u32> = chunk
        .components
        .iter()
        .map(|(output, component)| {
            let loaded = values[*output];
            match loaded.components {
                1 => loaded.value.0,
                _ => {
                    let operands = [loaded.value.0, *component];
                    code.value(builder, Op::CompositeExtract, uint, &operands).0
                }
            }
        })
        .collect();
    match scalars.as_slice() {
        [scalar] => Id(*scalar),
        _ => {
            let vector = builder.uvec(scalars.len() as u32);
            code.value(builder, Op::CompositeConstruct, vector, &scalars)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(outputs: &[(u32, u32)]) -> Layout {
        Layout {
            strides: [Some(64), None, None, None],
            outputs: outputs
                .iter()
                .map(|(offset, components)| Output {
                    buffer: 0,
                    offset: *offset,
                    components: *components,
                    class: NumericClass::Uint,
                    variable: Id(1),
                    path: vec![],
                    name: None,
                })
                .collect(),
        }
    }

    #[test]
    fn neighbours_share_a_store_and_gaps_part_them() {
        let widths = |outputs: &[(u32, u32)]| -> Vec<(u32, usize)> {
            chunks(&layout(outputs), 0).iter().map(|c| (c.dword, c.components.len())).collect()
        };
        assert_eq!(widths(&[(0, 3), (12, 1), (16, 4)]), [(0, 4), (4, 4)]);
        assert_eq!(widths(&[(0, 1), (4, 1), (12, 1)]), [(0, 2), (3, 1)]);
        assert_eq!(widths(&[(4, 3), (16, 3)]), [(1, 4), (5, 2)]);
    }
}
