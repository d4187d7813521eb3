//! This module generates memory accesses under the descriptor plan: through arrays of storage
//! buffers.
//!
//! An address consists of a byte offset and, in the upper 32 bits, the number of a buffer. Buffers
//! are numbered from 1, so that address 0 is in no buffer. Most accesses may begin at any multiple
//! of 4 bytes, which arrays of vectors do not support, so they are split into single dwords.
//! Captures also have aligned accesses of two or four dwords. For these, further variables (views)
//! declare the same buffers as arrays of vectors or of 64-bit integers. Another view declares them
//! as arrays of bytes, to load the last bytes of index buffers.
//!
//! Captures and kernels access these bindings:
//!
//! | | loads | stores |
//! |---|---|---|
//! | captures | binding 0, binding 1 for buffers that they also write | binding 1 |
//! | kernels | binding 0; for what they may have written, binding 1 for the buffers in it | binding 1 |
//!
//! Binding 0 is `NonWritable`.

use std::ops::Range;

use spirv::{Capability, Decoration, Op, StorageClass};

use crate::lower::access::{Access, LoadSource, User, byte, ulongs, widen_byte};
use crate::spirv::emit::{Builder, Code};
use crate::spirv::{Id, Module, Section};

pub(super) fn declare(module: &mut Module) {
    module.add_capability(Capability::StorageBufferArrayDynamicIndexing);
    if module.version() < (1, 3) {
        module.add_extension("SPV_KHR_storage_buffer_storage_class");
    }
}

/// Generates the accesses in the bodies of the memory stubs (`shaders/stubs.wgsl`).
#[derive(Debug)]
pub(super) struct Descriptors {
    user: User,
    /// Whether aligned accesses move pairs of dwords as 64-bit integers.
    int64: bool,
    set: u32,
    reads: Array,
    writes: Array,
}

/// An array of storage buffers: binding 0, whose buffers are only read, or binding 1, whose buffers
/// are also written.
#[derive(Debug)]
struct Array {
    binding: u32,
    count: u32,
    is_read_only: bool,
    /// The views that are declared so far, indexed by the binary logarithm of the element size in
    /// bytes.
    views: [Option<View>; VECTOR.ilog2() as usize + 1],
}

/// A variable that declares the buffers of an [`Array`] as arrays of elements of one size.
#[derive(Debug, Clone, Copy)]
struct View {
    variable: Id,
    /// The size of an element in bytes.
    size: u32,
    element: Id,
    /// Whether each access needs an `OpBitcast` to or from `u32`s, because elements consist of
    /// 64-bit integers.
    is_converted: bool,
}

/// The sizes of elements in bytes: a pair is two dwords, a vector is four.
const BYTE: u32 = 1;
const DWORD: u32 = 4;
const PAIR: u32 = 8;
const VECTOR: u32 = 16;

impl Descriptors {
    pub(super) fn new(user: User, set: u32, [reads, writes]: [u32; 2], int64: bool) -> Self {
        Self {
            user,
            int64,
            set,
            reads: Array {
                binding: 0,
                count: reads,
                is_read_only: true,
                views: Default::default(),
            },
            writes: Array {
                binding: 1,
                count: writes,
                is_read_only: false,
                views: Default::default(),
            },
        }
    }

    /// Returns the size in bytes of the elements of the view through which `components` dwords are
    /// accessed. An aligned access to four dwords, or to two dwords if `int64` is true, is an access to one
    /// element. Any other access is split into dwords.
    const fn element_size(&self, components: u32, is_aligned: bool) -> u32 {
        match (components * DWORD, self.int64) {
            (VECTOR, _) if is_aligned => VECTOR,
            (PAIR, true) if is_aligned => PAIR,
            _ => DWORD,
        }
    }

    /// Appends the code of an access. Returns the value that it loads or computes; `None` for a
    /// store.
    pub(super) fn access(
        &mut self,
        builder: &mut Builder<'_>,
        code: &mut Code,
        access: Access,
    ) -> Option<Id> {
        let (set, int64) = (self.set, self.int64);
        match access {
            Access::Load { address, index, components, source } => {
                let size = self.element_size(components, source.is_aligned());
                let array = match source {
                    LoadSource::Any | LoadSource::AlignedAny => None,
                    LoadSource::Written => Some(&mut self.writes),
                    LoadSource::Uniform | LoadSource::Aligned => Some(&mut self.reads),
                };
                Some(match array {
                    Some(array) => {
                        let array = array.view(builder, set, size, int64);
                        let buffer = buffer_index(builder, code, address);
                        let mut first = element_index(builder, code, address, size);
                        if let Some(index) = index {
                            first = add_dwords(builder, code, first, index, size);
                        }
                        load(builder, code, array, buffer, first, components)
                    }
                    None if self.user == (User::Kernel { is_serial: true }) => {
                        self.load_from_either(builder, code, address, components, size)
                    }
                    None => self.load_from_any(builder, code, address, components, size),
                })
            }
            // Single bytes are only loaded from buffers that no shader of the dispatch writes. For
            // captures and for kernels, these are in binding 0.
            Access::LoadByte { address } => {
                let array = self.reads.view(builder, set, BYTE, int64);
                let buffer = buffer_index(builder, code, address);
                let at = element_index(builder, code, address, BYTE);
                let pointer = element(builder, code, array, buffer, at, 0);
                let loaded = code.value(builder, Op::Load, array.element, &[pointer.0]);
                Some(widen_byte(builder, code, loaded))
            }
            Access::Store { address, index, value, components, any, aligned } => {
                let size = self.element_size(components, aligned);
                let writes = self.writes.view(builder, set, size, int64);
                let is_uniform = !any || self.user == (User::Kernel { is_serial: true });
                let buffer = is_uniform.then(|| buffer_index(builder, code, address));
                let element = element_index(builder, code, address, size);
                let first = add_dwords(builder, code, element, index, size);
                match buffer {
                    Some(buffer) => {
                        store(builder, code, writes, buffer, [first, value], components);
                    }
                    None => {
                        let buffers = (writes, self.writes.count);
                        let operands = [address, first, value];
                        store_to_any(builder, code, buffers, operands, components);
                    }
                }
                None
            }
            Access::AddBytes { address, bytes } => Some(add_bytes(builder, code, address, bytes)),
            Access::MultiplyAdd { address, a, b } => {
                let uint = builder.uint();
                let product = code.value(builder, Op::IMul, uint, &[a.0, b.0]);
                Some(add_bytes(builder, code, address, product))
            }
        }
    }

    /// Returns the views of binding 1 and of binding 0 whose elements have `size` bytes.
    fn both_views(&mut self, builder: &mut Builder<'_>, size: u32) -> [View; 2] {
        let (set, int64) = (self.set, self.int64);
        [&mut self.writes, &mut self.reads].map(|array| array.view(builder, set, size, int64))
    }

    /// Generates a load of a kernel with one invocation: through binding 1 if the kernel may also write the buffer,
    /// otherwise through binding 0. `size` is the size of an element.
    fn load_from_either(
        &mut self,
        builder: &mut Builder<'_>,
        code: &mut Code,
        address: Id,
        components: u32,
        size: u32,
    ) -> Id {
        let arrays = self.both_views(builder, size);
        let bool_type = builder.bool();
        let buffer = buffer_index(builder, code, address);
        let first = element_index(builder, code, address, size);
        let count = builder.constant(self.writes.count);
        let is_written = code.value(builder, Op::ULessThan, bool_type, &[buffer.0, count.0]);
        let (values, _) = select(builder, code, is_written, arrays, |builder, code, array| {
            (load(builder, code, array, buffer, first, components), None)
        });
        join(builder, code, components, values)
    }

    /// Generates a load for which invocations of a workgroup may use different buffers. Invocations must not index the
    /// array of buffers by a value that is not uniform, so each buffer is loaded from in a separate branch, with a
    /// constant index. `size` is the size of an element.
    fn load_from_any(
        &mut self,
        builder: &mut Builder<'_>,
        code: &mut Code,
        address: Id,
        components: u32,
        size: u32,
    ) -> Id {
        let [writes, reads] = self.both_views(builder, size);
        let written = match self.user {
            User::Kernel { .. } => self.writes.count,
            User::Capture => 0,
        };
        let number = code.extract(builder, address, 1);
        let first = element_index(builder, code, address, size);
        let buffers = 0..self.reads.count;
        let value = |builder: &mut Builder<'_>, code: &mut Code, index| {
            let array = if index < written { writes } else { reads };
            let buffer = builder.constant(index);
            load(builder, code, array, buffer, first, components)
        };
        let join = |builder: &mut Builder<'_>, code: &mut Code, values| {
            join(builder, code, components, values)
        };
        for_each_buffer(builder, code, number, buffers, &value, &join).0
    }
}

/// Generates the index of the element that is `dwords` dwords behind element `first`, of elements of `size` bytes.
fn add_dwords(builder: &mut Builder<'_>, code: &mut Code, first: Id, dwords: Id, size: u32) -> Id {
    let (uint, per_element) = (builder.uint(), builder.constant(size / DWORD));
    let elements = code.value(builder, Op::UDiv, uint, &[dwords.0, per_element.0]);
    code.value(builder, Op::IAdd, uint, &[first.0, elements.0])
}

/// Generates a binary tree of selections that branches to the code of one buffer. `one` generates
/// this code for each index in `buffers`; `number` is the number of the buffer, counted from 1;
/// `join` merges the values of two branches. With an `OpSwitch` instead, Mesa would evaluate the
/// conditions of all cases one after the other. Returns the merged value, and the last merge block;
/// `None` for the block if `buffers` has a single index, so that there is no selection.
fn for_each_buffer<T>(
    builder: &mut Builder<'_>,
    code: &mut Code,
    number: Id,
    buffers: Range<u32>,
    one: &impl Fn(&mut Builder<'_>, &mut Code, u32) -> T,
    join: &impl Fn(&mut Builder<'_>, &mut Code, [(T, Id); 2]) -> T,
) -> (T, Option<Id>) {
    if buffers.len() < 2 {
        return (one(builder, code, buffers.start), None);
    }
    let middle = buffers.start.midpoint(buffers.end);
    // `number` is counted from 1: indices below `middle` have numbers up to `middle`.
    let (bool_type, bound) = (builder.bool(), builder.constant(middle));
    let is_low = code.value(builder, Op::ULessThanEqual, bool_type, &[number.0, bound.0]);
    let arms = [buffers.start..middle, middle..buffers.end];
    let (values, merge) = select(builder, code, is_low, arms, |builder, code, buffers| {
        for_each_buffer(builder, code, number, buffers, one, join)
    });
    (join(builder, code, values), Some(merge))
}

/// Generates a selection between two arms, and begins its merge block. `value` generates the code
/// of an arm, and returns the arm's value with the block in which the arm ends, or `None` if that
/// is the arm's first block. Returns both values, each with the block in which its arm ends, and
/// the merge block.
fn select<A, T>(
    builder: &mut Builder<'_>,
    code: &mut Code,
    condition: Id,
    arms: [A; 2],
    mut value: impl FnMut(&mut Builder<'_>, &mut Code, A) -> (T, Option<Id>),
) -> ([(T, Id); 2], Id) {
    let labels @ [yes, no] = [(); 2].map(|()| builder.module.fresh_id());
    let merge = builder.module.fresh_id();
    code.push(Op::SelectionMerge, &[merge.0, 0]);
    code.push(Op::BranchConditional, &[condition.0, yes.0, no.0]);
    let mut labels = labels.into_iter();
    let values = arms.map(|arm| {
        let label = labels.next().unwrap_or(merge);
        code.label(label);
        let (value, block) = value(builder, code, arm);
        code.push(Op::Branch, &[merge.0]);
        (value, block.unwrap_or(label))
    });
    code.label(merge);
    (values, merge)
}

impl Array {
    /// Returns the view with elements of `size` bytes, and declares it at the first call. For 4
    /// bytes, the declaration is
    /// `layout(set = set, binding = binding) buffer { uint dwords[]; } variable[count];`.
    fn view(&mut self, builder: &mut Builder<'_>, set: u32, size: u32, int64: bool) -> View {
        let number = size.ilog2() as usize;
        if let Some(view) = self.views[number] {
            return view;
        }
        let is_converted = int64 && size > DWORD;
        let element = match size {
            BYTE => byte(builder),
            _ if is_converted => ulongs(builder, size / PAIR),
            _ => builder.uvec(size / DWORD),
        };
        let contents = builder.declare_new(Op::TypeRuntimeArray, &[element.0]);
        builder.decorate(contents, Decoration::ArrayStride, &[size]);
        let block = builder.declare_new(Op::TypeStruct, &[contents.0]);
        builder.decorate(block, Decoration::Block, &[]);
        let offset = [block.0, 0, Decoration::Offset as u32, 0];
        builder.module.push(Section::Annotations, Op::MemberDecorate, &offset);
        let name = if self.binding == 0 { "xfb_reads" } else { "xfb_writes" };
        if self.is_read_only {
            let decoration = [block.0, 0, Decoration::NonWritable as u32];
            builder.module.push(Section::Annotations, Op::MemberDecorate, &decoration);
        }
        let elements = match size {
            BYTE => "bytes",
            DWORD => "dwords",
            PAIR => "pairs",
            _ => "vectors",
        };
        let name = format!("{name}_{elements}");
        builder.name(block, &name);
        let count = builder.constant(self.count);
        let array = builder.declare_new(Op::TypeArray, &[block.0, count.0]);
        let variable = builder.variable(StorageClass::StorageBuffer, array);
        builder.decorate(variable, Decoration::DescriptorSet, &[set]);
        builder.decorate(variable, Decoration::Binding, &[self.binding]);
        // Several views may access the same buffer, which compilers must know.
        builder.decorate(variable, Decoration::Aliased, &[]);
        builder.name(variable, &name);
        let view = View { variable, size, element, is_converted };
        self.views[number] = Some(view);
        view
    }
}

/// Generates the `OpPhi` that joins the values of two arms in their merge block.
fn join(builder: &mut Builder<'_>, code: &mut Code, components: u32, values: [(Id, Id); 2]) -> Id {
    let ty = builder.uvec(components);
    let operands = values.map(|(value, block)| [value.0, block.0]);
    code.value(builder, Op::Phi, ty, operands.as_flattened())
}

/// Generates `address` + `bytes`, which is in the same buffer: only the offset in the low dword
/// changes.
fn add_bytes(builder: &mut Builder<'_>, code: &mut Code, address: Id, bytes: Id) -> Id {
    let (uint, uvec2) = (builder.uint(), builder.uvec(2));
    let offset = code.extract(builder, address, 0);
    let sum = code.value(builder, Op::IAdd, uint, &[offset.0, bytes.0]);
    code.value(builder, Op::CompositeInsert, uvec2, &[sum.0, address.0, 0])
}

/// Generates the index in the descriptor array of the buffer that `address` points into: the buffer's number minus 1.
fn buffer_index(builder: &mut Builder<'_>, code: &mut Code, address: Id) -> Id {
    let (uint, one) = (builder.uint(), builder.constant(1));
    let number = code.extract(builder, address, 1);
    code.value(builder, Op::ISub, uint, &[number.0, one.0])
}

/// Generates the index of the element of `size` bytes at `address`, counted from the start of the buffer.
fn element_index(builder: &mut Builder<'_>, code: &mut Code, address: Id, size: u32) -> Id {
    let (uint, bits) = (builder.uint(), builder.constant(size.ilog2()));
    let offset = code.extract(builder, address, 0);
    code.value(builder, Op::ShiftRightLogical, uint, &[offset.0, bits.0])
}

/// Generates a pointer to the element with the index `first` + `number` in the buffer with the
/// index `buffer`.
fn element(
    builder: &mut Builder<'_>,
    code: &mut Code,
    buffers: View,
    buffer: Id,
    first: Id,
    number: u32,
) -> Id {
    let uint = builder.uint();
    let index = match number {
        0 => first,
        _ => {
            let number = builder.constant(number);
            code.value(builder, Op::IAdd, uint, &[first.0, number.0])
        }
    };
    let pointer = builder.pointer(StorageClass::StorageBuffer, buffers.element);
    let member = builder.constant(0);
    // Each access has its own access chain from the variable, although Mesa loads the descriptor
    // for each of them. If the base of a chain were another chain, the validation layer in Debian
    // would mistake the store for a load.
    let chain = [buffers.variable.0, buffer.0, member.0, index.0];
    code.value(builder, Op::AccessChain, pointer, &chain)
}

fn load(
    builder: &mut Builder<'_>,
    code: &mut Code,
    buffers: View,
    buffer: Id,
    first: Id,
    components: u32,
) -> Id {
    let elements: Vec<u32> = (0..components * DWORD / buffers.size)
        .map(|number| {
            let pointer = element(builder, code, buffers, buffer, first, number);
            code.value(builder, Op::Load, buffers.element, &[pointer.0]).0
        })
        .collect();
    let vector = builder.uvec(components);
    match elements.as_slice() {
        [element] if !buffers.is_converted => Id(*element),
        [element] => code.value(builder, Op::Bitcast, vector, &[*element]),
        _ => code.value(builder, Op::CompositeConstruct, vector, &elements),
    }
}

fn store(
    builder: &mut Builder<'_>,
    code: &mut Code,
    buffers: View,
    buffer: Id,
    [first, value]: [Id; 2],
    components: u32,
) {
    let size = components * DWORD;
    for number in 0..size / buffers.size {
        let part = if size != buffers.size {
            code.extract(builder, value, number)
        } else if buffers.is_converted {
            code.value(builder, Op::Bitcast, buffers.element, &[value.0])
        } else {
            value
        };
        let pointer = element(builder, code, buffers, buffer, first, number);
        code.push(Op::Store, &[pointer.0, part.0]);
    }
}

/// Generates a store for which invocations of a workgroup may use different buffers, with a separate branch, and a
/// constant index in the array of buffers, for each buffer. `count` is the number of buffers in the array.
fn store_to_any(
    builder: &mut Builder<'_>,
    code: &mut Code,
    (buffers, count): (View, u32),
    [address, first, value]: [Id; 3],
    components: u32,
) {
    let number = code.extract(builder, address, 1);
    let store = |builder: &mut Builder<'_>, code: &mut Code, index| {
        let buffer = builder.constant(index);
        store(builder, code, buffers, buffer, [first, value], components);
    };
    for_each_buffer(builder, code, number, 0..count, &store, &|_, _, _| ());
}
