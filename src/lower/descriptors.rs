//! Memory through an array of storage buffers.
//!
//! An address is a byte offset and, above it, the number of a buffer counted from 1, so that the address 0 is
//! no buffer's. Accesses are of single dwords: what is loaded and stored begins at any multiple of 4, which
//! an array of vectors could not hold.

use spirv::{Capability, Decoration, Op, StorageClass};

use super::resources::Access;
use crate::spirv::emit::{Builder, Code};
use crate::spirv::{Id, Module, Section};

/// Declares what accesses through storage buffers need.
pub(super) fn declare(module: &mut Module) {
    module.add_capability(Capability::StorageBufferArrayDynamicIndexing);
    if module.version() < (1, 3) {
        module.add_extension("SPV_KHR_storage_buffer_storage_class");
    }
}

/// The bodies of the memory stubs.
#[derive(Debug)]
pub(super) struct Descriptors {
    set: u32,
    count: u32,
    /// The array, once it is needed.
    buffers: Option<Id>,
}

/// A value of a function body, and where the blocks of a selection go on.
struct Case {
    label: Id,
    value: Id,
}

impl Descriptors {
    pub(super) const fn new(set: u32, count: u32) -> Self {
        Self { set, count, buffers: None }
    }

    /// The body of a stub.
    pub(super) fn define(&mut self, builder: &mut Builder<'_>, access: Access) -> Code {
        let mut code = Code::default();
        let buffers =
            *self.buffers.get_or_insert_with(|| declare_buffers(builder, self.set, self.count));
        match access {
            Access::Load { address, components, any: false } => {
                let buffer = buffer_index(builder, &mut code, address);
                let dword = dword_index(builder, &mut code, address);
                let value = load(builder, &mut code, buffers, buffer, dword, components);
                code.push(Op::ReturnValue, &[value.0]);
            }
            Access::Load { address, components, any: true } => {
                self.load_from_any(builder, &mut code, buffers, address, components);
            }
            Access::Store { address, index, value, components } => {
                let uint = builder.uint();
                let buffer = buffer_index(builder, &mut code, address);
                let dword = dword_index(builder, &mut code, address);
                let first = code.value(builder, Op::IAdd, uint, &[dword.0, index.0]);
                for component in 0..components {
                    let part = match components {
                        1 => value,
                        _ => {
                            let operands = [value.0, component];
                            code.value(builder, Op::CompositeExtract, uint, &operands)
                        }
                    };
                    let pointer = element(builder, &mut code, buffers, buffer, first, component);
                    code.push(Op::Store, &[pointer.0, part.0]);
                }
                code.push(Op::Return, &[]);
            }
            Access::MultiplyAdd { address, a, b } => {
                let (uint, uvec2) = (builder.uint(), builder.uvec(2));
                let product = code.value(builder, Op::IMul, uint, &[a.0, b.0]);
                let offset = extract(builder, &mut code, address, 0);
                let sum = code.value(builder, Op::IAdd, uint, &[offset.0, product.0]);
                let operands = [sum.0, address.0, 0];
                let result = code.value(builder, Op::CompositeInsert, uvec2, &operands);
                code.push(Op::ReturnValue, &[result.0]);
            }
        }
        code
    }

    /// Invocations that load from different buffers may not index the array by what differs: each buffer has
    /// a branch of its own.
    fn load_from_any(
        &self,
        builder: &mut Builder<'_>,
        code: &mut Code,
        buffers: Id,
        address: Id,
        components: u32,
    ) {
        let ty = builder.uvec(components);
        let number = extract(builder, code, address, 1);
        let dword = dword_index(builder, code, address);
        let [merge, none] = [builder.module.fresh_id(), builder.module.fresh_id()];
        let labels: Vec<Id> = (0..self.count).map(|_| builder.module.fresh_id()).collect();
        code.push(Op::SelectionMerge, &[merge.0, 0]);
        let targets = (1..).zip(&labels).flat_map(|(number, label)| [number, label.0]);
        let operands: Vec<u32> = [number.0, none.0].into_iter().chain(targets).collect();
        code.push(Op::Switch, &operands);
        let mut cases = Vec::new();
        for (index, &label) in (0..).zip(&labels) {
            code.label(label);
            let buffer = builder.constant(index);
            let value = load(builder, code, buffers, buffer, dword, components);
            code.push(Op::Branch, &[merge.0]);
            cases.push(Case { label, value });
        }
        code.label(none);
        code.push(Op::Branch, &[merge.0]);
        cases.push(Case { label: none, value: builder.declare(Op::ConstantNull, &[ty.0]) });
        code.label(merge);
        let operands: Vec<u32> =
            cases.iter().flat_map(|case| [case.value.0, case.label.0]).collect();
        let value = code.value(builder, Op::Phi, ty, &operands);
        code.push(Op::ReturnValue, &[value.0]);
    }
}

fn extract(builder: &mut Builder<'_>, code: &mut Code, composite: Id, index: u32) -> Id {
    let uint = builder.uint();
    code.value(builder, Op::CompositeExtract, uint, &[composite.0, index])
}

/// The index in the array.
fn buffer_index(builder: &mut Builder<'_>, code: &mut Code, address: Id) -> Id {
    let (uint, one) = (builder.uint(), builder.constant(1));
    let number = extract(builder, code, address, 1);
    code.value(builder, Op::ISub, uint, &[number.0, one.0])
}

/// The index in the buffer.
fn dword_index(builder: &mut Builder<'_>, code: &mut Code, address: Id) -> Id {
    let (uint, two) = (builder.uint(), builder.constant(2));
    let offset = extract(builder, code, address, 0);
    code.value(builder, Op::ShiftRightLogical, uint, &[offset.0, two.0])
}

/// A pointer to the dword `component` behind `first`.
fn element(
    builder: &mut Builder<'_>,
    code: &mut Code,
    buffers: Id,
    buffer: Id,
    first: Id,
    component: u32,
) -> Id {
    let uint = builder.uint();
    let dword = match component {
        0 => first,
        _ => {
            let component = builder.constant(component);
            code.value(builder, Op::IAdd, uint, &[first.0, component.0])
        }
    };
    let pointer = builder.pointer(StorageClass::StorageBuffer, uint);
    let member = builder.constant(0);
    code.value(builder, Op::AccessChain, pointer, &[buffers.0, buffer.0, member.0, dword.0])
}

fn load(
    builder: &mut Builder<'_>,
    code: &mut Code,
    buffers: Id,
    buffer: Id,
    first: Id,
    components: u32,
) -> Id {
    let uint = builder.uint();
    let dwords: Vec<u32> = (0..components)
        .map(|component| {
            let pointer = element(builder, code, buffers, buffer, first, component);
            code.value(builder, Op::Load, uint, &[pointer.0]).0
        })
        .collect();
    match dwords.as_slice() {
        [dword] => Id(*dword),
        _ => {
            let vector = builder.uvec(components);
            code.value(builder, Op::CompositeConstruct, vector, &dwords)
        }
    }
}

/// `layout(set = set, binding = 0) buffer { uint dwords[]; } xfb_buffers[count];`
fn declare_buffers(builder: &mut Builder<'_>, set: u32, count: u32) -> Id {
    let uint = builder.uint();
    let dwords = builder.declare_new(Op::TypeRuntimeArray, &[uint.0]);
    builder.decorate(dwords, Decoration::ArrayStride, &[4]);
    let block = builder.declare_new(Op::TypeStruct, &[dwords.0]);
    builder.decorate(block, Decoration::Block, &[]);
    let offset = [block.0, 0, Decoration::Offset as u32, 0];
    builder.module.push(Section::Annotations, Op::MemberDecorate, &offset);
    builder.name(block, "xfb_dwords");
    let count = builder.constant(count);
    let array = builder.declare_new(Op::TypeArray, &[block.0, count.0]);
    let buffers = builder.variable(StorageClass::StorageBuffer, array);
    builder.decorate(buffers, Decoration::DescriptorSet, &[set]);
    builder.decorate(buffers, Decoration::Binding, &[0]);
    builder.name(buffers, "xfb_buffers");
    buffers
}
