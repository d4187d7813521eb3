//! This module generates the code that copies the outputs of a stage to the inputs of the next.
//!
//! Lowering has turned outputs and inputs into `Private` variables. Each scalar or vector is copied
//! separately, so that types may differ as the specification allows: a `vec4` output matches a
//! `vec3` input, and a member of a block matches a variable. An input without a matching output
//! becomes 0.

use rustc_hash::FxHashMap;
use spirv::{BuiltIn, Decoration, Op, StorageClass};

use crate::lower::LowerError;
use crate::lower::interface::built_in;
use crate::lower::stages::leaves::{Leaf, Slot, leaves};
use crate::spirv::Id;
use crate::spirv::declarations::{Declarations, Type, Variable};
use crate::spirv::emit::{Builder, Code};
use crate::spirv::entry_point::EntryPoint;

/// The most vertices of which each element is stored to by a constant index, where the number of vertices is not known
/// when the shader is lowered, and the most such stores. Compilers then keep the elements in registers. Otherwise the
/// arrays are memory, and llvmpipe compiles each component of a store to a branch for each lane, which for triangles
/// takes it half of its time. Arrays of large vertices stay in memory: no GPU has registers for them.
const MOST_BY_ELEMENT: u32 = 4;
const MOST_STORES_BY_ELEMENT: u32 = 64;

/// The number of stores of one vertex: vectors of 64-bit components are stored one component at a time.
fn stores_of(inputs: &[Input]) -> u32 {
    inputs.iter().map(|Input { leaf, .. }| if leaf.bits == 64 { leaf.count } else { 1 }).sum()
}

/// The outputs of a stage, or the inputs of a stage, that are copied together.
#[derive(Debug)]
pub(super) struct Interface<'d> {
    variables: Vec<&'d Variable>,
    /// Whether each variable is an array with one element per vertex.
    is_per_vertex: bool,
}

impl<'d> Interface<'d> {
    /// Lists the variables of a stage, each of which has one value per run, such as the outputs of
    /// a vertex shader.
    pub(super) fn per_run(
        declarations: &'d Declarations,
        entry: &EntryPoint,
        storage: StorageClass,
    ) -> Self {
        Self::of(declarations, entry, storage, false, |_| true)
    }

    /// Lists the variables of a stage that have one element per vertex or control point.
    pub(super) fn per_vertex(
        declarations: &'d Declarations,
        entry: &EntryPoint,
        storage: StorageClass,
    ) -> Self {
        let is_passed = |v: &Variable| is_array(declarations, v) && !is_per_patch(declarations, v);
        Self::of(declarations, entry, storage, true, is_passed)
    }

    /// Lists the variables of a tessellation shader that have one value per patch.
    pub(super) fn per_patch(
        declarations: &'d Declarations,
        entry: &EntryPoint,
        storage: StorageClass,
    ) -> Self {
        Self::of(declarations, entry, storage, false, |v| is_per_patch(declarations, v))
    }

    fn of(
        declarations: &'d Declarations,
        entry: &EntryPoint,
        storage: StorageClass,
        is_per_vertex: bool,
        is_passed: impl Fn(&Variable) -> bool,
    ) -> Self {
        let variables = declarations.variables(storage);
        let variables = variables.filter(|v| entry.interface.contains(&v.id) && is_passed(v));
        Self { variables: variables.collect(), is_per_vertex }
    }

    /// Returns the smallest array length of these variables. `None` if none of them is an array.
    pub(super) fn least_elements(&self, declarations: &Declarations) -> Option<u32> {
        let length = |v: &&Variable| match declarations.ty(v.pointee) {
            Some(Type::Array { length, .. }) => declarations.constant(*length),
            _ => None,
        };
        self.variables.iter().filter_map(length).min()
    }
}

pub(super) fn is_array(declarations: &Declarations, variable: &Variable) -> bool {
    matches!(declarations.ty(variable.pointee), Some(Type::Array { .. }))
}

/// Whether a variable of a tessellation shader has one value per patch that the control shader writes: it has the
/// decoration `Patch`, or contains the tessellation levels. DXC gives that decoration also to other built-ins, such as
/// `TessCoord`, which each run of the evaluation shader gets anew.
pub(super) fn is_per_patch(declarations: &Declarations, variable: &Variable) -> bool {
    if let Some(which) = built_in(declarations, variable.id) {
        let levels = [BuiltIn::TessLevelOuter as u32, BuiltIn::TessLevelInner as u32];
        return levels.contains(&which);
    }
    let of_members = || match declarations.ty(variable.pointee) {
        Some(Type::Struct { members }) => (0..members.len() as u32).any(|member| {
            let ty = variable.pointee;
            declarations.member_decoration(ty, member, Decoration::Patch).is_some()
        }),
        _ => false,
    };
    declarations.decoration(variable.id, Decoration::Patch).is_some() || of_members()
}

/// How the outputs of one stage are copied to the inputs of the next.
#[derive(Debug, Default)]
pub(crate) struct Passing {
    outputs: Vec<Leaf>,
    /// The inputs. Those with elements of fewer vertices come last.
    inputs: Vec<Input>,
    /// Whether the variables are arrays with one element per vertex: first of the outputs, then of the inputs.
    are_per_vertex: [bool; 2],
}

/// An input, or a part of one.
#[derive(Debug)]
struct Input {
    leaf: Leaf,
    /// The output components to copy to its components; `None` for a component that becomes 0.
    sources: Vec<Option<PassedComponent>>,
    /// The number of vertices of which it has elements, if there may be more. The shader reads no others
    /// ([`lengths`](super::lengths)), or declares no others.
    vertices: Option<u32>,
}

/// A component of an output, which is copied to a component of an input.
#[derive(Debug, Clone, Copy)]
struct PassedComponent {
    /// The index of the output in [`Passing::outputs`].
    output: usize,
    component: u32,
}

impl Passing {
    /// Matches the outputs of one stage with the inputs of the next.
    ///
    /// # Errors
    /// [`LowerError::PassedType`], [`LowerError::NoLocation`].
    pub(super) fn new(
        declarations: &Declarations,
        from: &Interface<'_>,
        to: &Interface<'_>,
    ) -> Result<Self, LowerError> {
        let mut outputs = Vec::new();
        for variable in &from.variables {
            outputs.extend(leaves(declarations, variable, from.is_per_vertex)?);
        }
        let mut sources: FxHashMap<Slot, (PassedComponent, u32)> = FxHashMap::default();
        for (number, output) in outputs.iter().enumerate() {
            for component in 0..output.count {
                let source = PassedComponent { output: number, component };
                sources.insert(output.slot(component), (source, output.bits));
            }
        }
        let mut passed = Vec::new();
        for variable in &to.variables {
            for leaf in leaves(declarations, variable, to.is_per_vertex)? {
                let source = |component| {
                    let (source, bits) = sources.get(&leaf.slot(component))?;
                    (*bits == leaf.bits).then_some(*source)
                };
                let sources = (0..leaf.count).map(source).collect();
                passed.push(Input { leaf, sources, vertices: None });
            }
        }
        let are_per_vertex = [from.is_per_vertex, to.is_per_vertex];
        Ok(Self { outputs, inputs: passed, are_per_vertex })
    }

    /// Says that there may be `most` vertices. Inputs with fewer elements get the values of the first vertices only.
    pub(super) fn for_slots(mut self, declarations: &Declarations, most: u32) -> Self {
        for input in &mut self.inputs {
            let variable = declarations.variable(input.leaf.variable);
            let length = match variable.and_then(|variable| declarations.ty(variable.pointee)) {
                Some(Type::Array { length, .. }) => declarations.constant(*length),
                _ => None,
            };
            input.vertices = length.filter(|length| *length < most);
        }
        self.inputs.sort_by_key(|input| std::cmp::Reverse(input.vertices.unwrap_or(u32::MAX)));
        self
    }

    /// Generates the body of a stub that copies outputs to inputs. In variables with one element per vertex, the
    /// stub accesses only the element with the index `slot`.
    pub(crate) fn pass(
        &self,
        builder: &mut Builder<'_>,
        declarations: &Declarations,
        slot: Option<Id>,
    ) -> Code {
        let slots = self.are_per_vertex.map(|is_per_vertex| slot.filter(|_| is_per_vertex));
        let mut copy = Copy { builder, code: Code::default(), declarations, passing: self, slots };
        let mut loaded = FxHashMap::default();
        // Nested, so that what is loaded for the inputs before can be stored to the others, too.
        let mut merges = Vec::new();
        for inputs in self.inputs.chunk_by(|one, other| one.vertices == other.vertices) {
            let vertices = inputs.first().and_then(|input| input.vertices);
            match vertices.zip(slot) {
                Some((vertices, slot))
                    if vertices <= MOST_BY_ELEMENT
                        && stores_of(inputs) * vertices <= MOST_STORES_BY_ELEMENT =>
                {
                    copy.store_by_element(inputs, vertices, slot, &mut loaded);
                    continue;
                }
                Some((vertices, slot)) => {
                    merges.push(copy.begin_if(Op::ULessThan, slot, vertices));
                }
                None => {}
            }
            for input in inputs {
                let value = copy.value(input, &mut loaded);
                copy.store(&input.leaf, copy.slots[1], value);
            }
        }
        while let Some(merge) = merges.pop() {
            copy.code.end_if(merge);
        }
        copy.code.push(Op::Return, &[]);
        copy.code
    }

    /// The size in bytes of the inputs (of one vertex) in shared memory. `None` if an input has other components than
    /// those of 32 bits.
    pub(super) fn shared_bytes(&self) -> Option<u32> {
        let bytes = |Input { leaf, .. }: &Input| match (leaf.bits, leaf.count) {
            (32, 3) => Some(16),
            (32, count) => Some(4 * count),
            _ => None,
        };
        self.inputs.iter().map(bytes).sum()
    }

    /// The number of variables that [`declare_shared`](Self::declare_shared) declares.
    pub(super) fn shared_variables(&self) -> u32 {
        self.inputs.len() as u32
    }

    /// Declares the shared memory for `length` elements of each input.
    pub(super) fn declare_shared(&self, builder: &mut Builder<'_>, length: u32) -> Vec<Id> {
        let length = builder.constant(length);
        let inputs = self.inputs.iter();
        let shared = inputs.map(|Input { leaf, .. }| {
            let array = builder.declare_new(Op::TypeArray, &[leaf.ty.0, length.0]);
            let variable = builder.variable(StorageClass::Workgroup, array);
            builder.name(variable, "xfb_shared_input");
            variable
        });
        shared.collect()
    }

    /// Generates the body of a stub that copies outputs to the elements `index` of the `shared` memory of the inputs, or
    /// if `is_taken` from there to the inputs. In variables with one element per vertex, the stub accesses only the
    /// element with the index `slot`.
    pub(super) fn by_shared(
        &self,
        builder: &mut Builder<'_>,
        declarations: &Declarations,
        slot: Option<Id>,
        (shared, index): (&[Id], Id),
        is_taken: bool,
    ) -> Code {
        let slots = self.are_per_vertex.map(|is_per_vertex| slot.filter(|_| is_per_vertex));
        let mut copy = Copy { builder, code: Code::default(), declarations, passing: self, slots };
        let mut loaded = FxHashMap::default();
        for (input, shared) in self.inputs.iter().zip(shared) {
            let ty = copy.builder.pointer(StorageClass::Workgroup, input.leaf.ty);
            let operands = [shared.0, index.0];
            let element = copy.code.value(copy.builder, Op::AccessChain, ty, &operands);
            if is_taken {
                let value = copy.code.value(copy.builder, Op::Load, input.leaf.ty, &[element.0]);
                copy.store(&input.leaf, copy.slots[1], value);
            } else {
                let value = copy.value(input, &mut loaded);
                copy.code.push(Op::Store, &[element.0, value.0]);
            }
        }
        copy.code.push(Op::Return, &[]);
        copy.code
    }
}

/// The state of [`Passing::pass`] while it generates code.
struct Copy<'c, 'm> {
    builder: &'c mut Builder<'m>,
    code: Code,
    declarations: &'c Declarations,
    passing: &'c Passing,
    /// The index of the vertex whose outputs are copied, and the index of the vertex whose inputs are set. `None` for
    /// outputs or inputs that do not have one element per vertex.
    slots: [Option<Id>; 2],
}

impl Copy<'_, '_> {
    /// Generates a pointer to a leaf (a scalar or a vector in a variable). `slot` is the index of the vertex, if the
    /// variable has one element per vertex.
    fn pointer(&mut self, leaf: &Leaf, slot: Option<Id>) -> Id {
        let constants = leaf.path.iter().map(|index| self.builder.constant(*index).0);
        let indices: Vec<u32> = slot.map(|slot| slot.0).into_iter().chain(constants).collect();
        if indices.is_empty() {
            return leaf.variable;
        }
        let ty = self.builder.pointer(StorageClass::Private, leaf.ty);
        self.code.value(
            self.builder,
            Op::AccessChain,
            ty,
            &[&[leaf.variable.0], &indices[..]].concat(),
        )
    }

    /// Begins code that runs if `slot` is to `number` as the comparison `op` says. Returns the label for
    /// [`Code::end_if`].
    fn begin_if(&mut self, op: Op, slot: Id, number: u32) -> Id {
        let bool = self.builder.bool();
        let operands = [slot.0, self.builder.constant(number).0];
        let condition = self.code.value(self.builder, op, bool, &operands);
        self.code.begin_if(self.builder, condition)
    }

    /// Generates the stores to inputs with elements of `vertices` vertices: to each element by a constant index.
    fn store_by_element(
        &mut self,
        inputs: &[Input],
        vertices: u32,
        slot: Id,
        loaded: &mut FxHashMap<usize, Id>,
    ) {
        let values: Vec<Id> = inputs.iter().map(|input| self.value(input, loaded)).collect();
        for number in 0..vertices {
            let element = self.builder.constant(number);
            let merge = self.begin_if(Op::IEqual, slot, number);
            for (input, value) in inputs.iter().zip(&values) {
                self.store(&input.leaf, Some(element), *value);
            }
            self.code.end_if(merge);
        }
    }

    /// Generates the store of a value to an input. `slot` is the index of the vertex, if the variable has one element
    /// per vertex.
    fn store(&mut self, input: &Leaf, slot: Option<Id>, value: Id) {
        if input.bits != 64 || input.count == 1 {
            let pointer = self.pointer(input, slot);
            return self.code.push(Op::Store, &[pointer.0, value.0]);
        }
        // NVIDIA's driver 580.159.04 mixes up the components of a 64-bit vector that is stored as a whole
        // to an element of an array.
        let ty = self.component_type(input);
        for index in 0..input.count {
            let pointer = self.pointer(&input.component(index, ty), slot);
            let operands = [value.0, index];
            let value = self.code.value(self.builder, Op::CompositeExtract, ty, &operands);
            self.code.push(Op::Store, &[pointer.0, value.0]);
        }
    }

    /// Generates the value of an input. `loaded` has the outputs that the code has loaded before, so that none is
    /// loaded twice.
    fn value(
        &mut self,
        Input { leaf: input, sources, .. }: &Input,
        loaded: &mut FxHashMap<usize, Id>,
    ) -> Id {
        let passing = self.passing;
        let mut load = |this: &mut Self, number: usize, output: &Leaf| {
            *loaded.entry(number).or_insert_with(|| {
                let pointer = this.pointer(output, this.slots[0]);
                this.code.value(this.builder, Op::Load, output.ty, &[pointer.0])
            })
        };
        // In the common case, input and output have the same type, and the value is copied as a
        // whole.
        if let [Some(first), ..] = sources[..]
            && let Some(output) = passing.outputs.get(first.output)
            && output.ty == input.ty
            && (0..).zip(sources).all(|(component, source)| {
                source.is_some_and(|s| s.output == first.output && s.component == component)
            })
        {
            return load(self, first.output, output);
        }
        let ty = self.component_type(input);
        let scalars = sources.iter().map(|source| {
            let from = source.and_then(|s| Some((s, passing.outputs.get(s.output)?)));
            let Some((PassedComponent { output: number, component }, output)) = from else {
                return self.builder.declare(Op::ConstantNull, &[ty.0]).0;
            };
            let value = load(self, number, output);
            let scalar = self.component_type(output);
            let value = match output.count {
                1 => value,
                _ => self.code.value(
                    self.builder,
                    Op::CompositeExtract,
                    scalar,
                    &[value.0, component],
                ),
            };
            if scalar == ty {
                value.0
            } else {
                self.code.value(self.builder, Op::Bitcast, ty, &[value.0]).0
            }
        });
        let scalars: Vec<u32> = scalars.collect();
        self.code.construct(self.builder, input.ty, &scalars)
    }

    fn component_type(&self, leaf: &Leaf) -> Id {
        self.declarations.vector(leaf.ty).map_or(leaf.ty, |(component, _)| component)
    }
}
