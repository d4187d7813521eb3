//! Corrects the inputs and outputs in naga's module.
//!
//! naga makes variables from `in` and `out`, and an entry point that copies its arguments to the
//! `in` variables, calls `main`, and returns the `out` variables in a structure. [`mend`] rebuilds
//! that structure: with a position, with the interpolation that integers require, with one member
//! per column of a matrix, with names that distinguish the elements of an array, and with sizes for
//! `gl_ClipDistance` and `gl_CullDistance`.

use naga::{
    AddressSpace, Arena, ArraySize, Binding, Block, BuiltIn, Expression, Function,
    FunctionArgument, FunctionResult, GlobalVariable, Handle, Interpolation, Literal, Module,
    ScalarKind, Span, Statement, StructMember, Type, TypeInner, UniqueArena, VectorSize,
};

use super::rewrite::MemberOffset;

/// Finds the first member whose offset in the source differs from its offset in naga's module.
pub(super) fn misplaced<'a>(
    module: &Module,
    offsets: &'a [MemberOffset],
) -> Option<&'a MemberOffset> {
    let is_placed = |wanted: &&MemberOffset| {
        module.types.iter().any(|(_, ty)| match &ty.inner {
            TypeInner::Struct { members, .. } if ty.name.as_ref() == Some(&wanted.block) => {
                let mut members = members.iter();
                members
                    .any(|m| m.name.as_ref() == Some(&wanted.member) && m.offset == wanted.offset)
            }
            _ => false,
        })
    };
    offsets.iter().find(|wanted| !is_placed(wanted))
}

/// Whether there is an array of arrays whose two lengths differ. naga swaps the two dimensions.
pub(super) fn has_arrays_of_arrays(module: &Module) -> bool {
    let length = |ty: Handle<Type>| match module.types[ty].inner {
        TypeInner::Array { base, size, .. } => Some((base, size)),
        _ => None,
    };
    let mut arrays = module.types.iter().filter_map(|(ty, _)| length(ty));
    arrays.any(|(base, size)| length(base).is_some_and(|(_, inner)| inner != size))
}

/// Finds the first array of blocks, and its name. naga compiles such an array into a single block that contains an
/// array, and would read all elements from one descriptor.
pub(super) fn block_array(module: &Module) -> Option<(Span, &str)> {
    module.global_variables.iter().find_map(|(handle, variable)| {
        let is_block =
            matches!(variable.space, AddressSpace::Uniform | AddressSpace::Storage { .. });
        let is_array = matches!(module.types[variable.ty].inner, TypeInner::Array { .. });
        let name = variable.name.as_deref().unwrap_or_default();
        (is_block && is_array).then(|| (module.global_variables.get_span(handle), name))
    })
}

/// Corrects the entry point. A module that does not have the expected structure is left to naga's validator, which
/// reports the errors.
pub(super) fn mend(module: &mut Module, array_sizes: &[(String, u32)]) {
    size_arrays(module, array_sizes);
    let Module { types, global_variables, entry_points, .. } = module;
    if let Some(entry) = entry_points.first_mut() {
        mend_inputs(&mut entry.function, types);
        mend_outputs(&mut entry.function, types, global_variables);
    }
}

/// Sets the sizes of `gl_ClipDistance` and `gl_CullDistance`, which naga leaves open. As in GLSL,
/// the size is the declared one, or the smallest for which all indices are in range.
fn size_arrays(module: &mut Module, array_sizes: &[(String, u32)]) {
    let Module { types, global_variables, functions, .. } = module;
    for (handle, variable) in global_variables.iter_mut() {
        let Some(name) = &variable.name else { continue };
        let TypeInner::Array { base, size: ArraySize::Dynamic, stride } = types[variable.ty].inner
        else {
            continue;
        };
        if name != "gl_ClipDistance" && name != "gl_CullDistance" {
            continue;
        }
        let indices = functions.iter().flat_map(|(_, function)| {
            let expressions = &function.expressions;
            expressions.iter().filter_map(move |(_, expression)| {
                let (base, index) = constant_index(expressions, expression)?;
                let is_it =
                    matches!(expressions[base], Expression::GlobalVariable(of) if of == handle);
                is_it.then_some(index.saturating_add(1))
            })
        });
        let declared = array_sizes.iter().filter(|(of, _)| of == name).map(|(_, size)| *size);
        if let Some(size) = declared.chain(indices).max().and_then(std::num::NonZeroU32::new) {
            let inner = TypeInner::Array { base, size: ArraySize::Constant(size), stride };
            variable.ty = types.insert(Type { name: None, inner }, Span::UNDEFINED);
        }
    }
}

/// Returns the expression that `expression` indexes, and the index; `None` if `expression` does not
/// index anything, or the index is not constant.
fn constant_index(
    expressions: &Arena<Expression>,
    expression: &Expression,
) -> Option<(Handle<Expression>, u32)> {
    match *expression {
        Expression::AccessIndex { base, index } => Some((base, index)),
        Expression::Access { base, index } => match expressions[index] {
            Expression::Literal(Literal::U32(index)) => Some((base, index)),
            Expression::Literal(Literal::I32(index)) => Some((base, index.try_into().ok()?)),
            _ => None,
        },
        _ => None,
    }
}

/// Declares that integers are not interpolated (`flat`), as naga requires.
fn flatten(binding: &mut Binding, inner: &TypeInner) {
    let is_integer = matches!(inner.scalar_kind(), Some(ScalarKind::Sint | ScalarKind::Uint));
    if let (Binding::Location { interpolation, sampling, .. }, true) = (binding, is_integer) {
        (*interpolation, *sampling) = (Some(Interpolation::Flat), None);
    }
}

/// Returns the binding of column `column` of a matrix whose binding is `binding`.
fn column_binding(binding: &Binding, column: u32) -> Binding {
    let mut binding = binding.clone();
    if let Binding::Location { location, .. } = &mut binding {
        *location = location.saturating_add(column);
    }
    binding
}

/// The number and the type of the columns, if the type is a matrix.
fn columns(types: &mut UniqueArena<Type>, ty: Handle<Type>) -> Option<(VectorSize, Handle<Type>)> {
    let TypeInner::Matrix { columns, rows, scalar } = types[ty].inner else { return None };
    let inner = TypeInner::Vector { size: rows, scalar };
    Some((columns, types.insert(Type { name: None, inner }, Span::UNDEFINED)))
}

/// Replaces each matrix input by one input per column. Where naga's code stores the matrix argument in a variable, a
/// matrix that is composed of the columns is stored instead.
fn mend_inputs(function: &mut Function, types: &mut UniqueArena<Type>) {
    for index in 0..function.arguments.len() {
        let FunctionArgument { name, ty, binding } = function.arguments[index].clone();
        if let Some(binding) = &mut function.arguments[index].binding {
            flatten(binding, &types[ty].inner);
        }
        let (Some((columns, column)), Some(binding)) = (columns(types, ty), binding) else {
            continue;
        };
        let is_argument = |value: Handle<Expression>| matches!(function.expressions[value], Expression::FunctionArgument(of) if of as usize == index);
        let store = function.body.iter().position(
            |statement| matches!(statement, Statement::Store { value, .. } if is_argument(*value)),
        );
        let Some((store, &Statement::Store { pointer, value })) =
            store.and_then(|store| Some((store, function.body.get(store)?)))
        else {
            continue;
        };
        let part = |column_index: u32| FunctionArgument {
            name: name.as_ref().map(|name| format!("{name}[{column_index}]")),
            ty: column,
            binding: Some(column_binding(&binding, column_index)),
        };
        let mut components = vec![value];
        for column_index in 1..columns as u32 {
            let argument = Expression::FunctionArgument(function.arguments.len() as u32);
            components.push(function.expressions.append(argument, Span::UNDEFINED));
            function.arguments.push(part(column_index));
        }
        function.arguments[index] = part(0);
        let before = function.expressions.len();
        let compose = Expression::Compose { ty, components };
        let value = function.expressions.append(compose, Span::UNDEFINED);
        let emit = Statement::Emit(function.expressions.range_from(before));
        let statements = vec![emit, Statement::Store { pointer, value }];
        function.body.splice(store..=store, Block::from_vec(statements));
    }
}

/// A member of the structure that the entry point returns, and its value.
struct OutputMember {
    member: StructMember,
    value: Handle<Expression>,
}

fn mend_outputs(
    function: &mut Function,
    types: &mut UniqueArena<Type>,
    variables: &Arena<GlobalVariable>,
) {
    let Some(outputs) = take_outputs(function, types, variables) else { return };
    let before = function.expressions.len();
    let mut mended: Vec<OutputMember> = Vec::new();
    for OutputMember { mut member, value } in outputs {
        if let Some(binding) = &mut member.binding {
            flatten(binding, &types[member.ty].inner);
        }
        let (Some((columns, column)), Some(binding)) = (columns(types, member.ty), &member.binding)
        else {
            mended.push(OutputMember { member, value });
            continue;
        };
        for index in 0..columns as u32 {
            let access = Expression::AccessIndex { base: value, index };
            let binding = column_binding(binding, index);
            let member = StructMember { ty: column, binding: Some(binding), ..member.clone() };
            mended.push(OutputMember {
                member,
                value: function.expressions.append(access, Span::UNDEFINED),
            });
        }
    }
    number_elements(&mut mended);
    let is_position = |output: &OutputMember| {
        matches!(output.member.binding, Some(Binding::BuiltIn(BuiltIn::Position { .. })))
    };
    // The range of expressions for the `Emit` statement ends here, because it must not include the `ZeroValue` that
    // `zero_position` adds.
    let emitted = function.expressions.range_from(before);
    if !mended.iter().any(is_position) {
        mended.push(zero_position(function, types));
    }
    let mut offset = 0u32;
    for OutputMember { member, .. } in &mut mended {
        member.offset = offset;
        offset = offset.saturating_add(room(&types[member.ty].inner));
    }
    let (members, components): (_, Vec<_>) =
        mended.into_iter().map(|output| (output.member, output.value)).unzip();
    let inner = TypeInner::Struct { members, span: offset };
    let ty = types.insert(Type { name: None, inner }, Span::UNDEFINED);
    let before = function.expressions.len();
    let compose = Expression::Compose { ty, components };
    let value = function.expressions.append(compose, Span::UNDEFINED);
    for range in [emitted, function.expressions.range_from(before)] {
        function.body.push(Statement::Emit(range), Span::UNDEFINED);
    }
    function.body.push(Statement::Return { value: Some(value) }, Span::UNDEFINED);
    function.result = Some(FunctionResult { ty, binding: None });
}

/// The number of bytes to reserve for a member of the structure, so that the next member is
/// aligned. No memory has this layout, but naga requires that the offsets do not overlap.
fn room(inner: &TypeInner) -> u32 {
    const LARGEST_VECTOR: u32 = 32;
    match inner {
        TypeInner::Array { size: ArraySize::Constant(size), stride, .. } => {
            size.get().saturating_mul(*stride).saturating_add(LARGEST_VECTOR) / LARGEST_VECTOR
                * LARGEST_VECTOR
        }
        _ => LARGEST_VECTOR,
    }
}

/// Removes the code that returns the outputs from the end of the entry point, and returns the
/// outputs. `None` if the end of the code does not have the form in which naga writes it.
fn take_outputs(
    function: &mut Function,
    types: &UniqueArena<Type>,
    variables: &Arena<GlobalVariable>,
) -> Option<Vec<OutputMember>> {
    let length = function.body.len();
    let Some(result) = &function.result else {
        function.body.cull(length.checked_sub(1)?..);
        return Some(Vec::new());
    };
    let TypeInner::Struct { members, .. } = &types[result.ty].inner else { return None };
    let Some(&Statement::Return { value: Some(returned) }) = function.body.last() else {
        return None;
    };
    let Expression::Compose { components, .. } = &function.expressions[returned] else {
        return None;
    };
    let outputs = members.iter().cloned().zip(components.iter().copied());
    let mut outputs: Vec<_> =
        outputs.map(|(member, value)| OutputMember { member, value }).collect();
    for OutputMember { member, value } in &mut outputs {
        // The type of the variable may be an array whose size `size_arrays` has set after naga made the structure.
        if let Expression::Load { pointer } = function.expressions[*value]
            && let Expression::GlobalVariable(variable) = function.expressions[pointer]
        {
            member.ty = variables[variable].ty;
        }
    }
    // Nothing uses the expression of the old structure any more. It may be invalid, so it is
    // replaced.
    *function.expressions.get_mut(returned) = Expression::Literal(Literal::U32(0));
    function.body.cull(length.checked_sub(2)?..);
    Some(outputs)
}

/// Gives the elements of an array distinct names: `a[0]`, `a[1]`.
fn number_elements(outputs: &mut [OutputMember]) {
    let same = |a: &OutputMember, b: &OutputMember| a.member.name == b.member.name;
    for elements in outputs.chunk_by_mut(same).filter(|elements| elements.len() > 1) {
        for (index, OutputMember { member, .. }) in elements.iter_mut().enumerate() {
            member.name = member.name.as_ref().map(|name| format!("{name}[{index}]"));
        }
    }
}

/// Makes an output that is the built-in position with the value 0, because naga requires a position in every vertex
/// shader.
fn zero_position(function: &mut Function, types: &mut UniqueArena<Type>) -> OutputMember {
    let inner = TypeInner::Vector { size: VectorSize::Quad, scalar: naga::Scalar::F32 };
    let ty = types.insert(Type { name: None, inner }, Span::UNDEFINED);
    let value = function.expressions.append(Expression::ZeroValue(ty), Span::UNDEFINED);
    let binding = Some(Binding::BuiltIn(BuiltIn::Position { invariant: false }));
    OutputMember {
        member: StructMember { name: Some("gl_Position".to_owned()), ty, binding, offset: 0 },
        value,
    }
}
