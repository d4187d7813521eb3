//! This module adds outputs for captures that cannot be inlined (made by decorating the shader's
//! own outputs), and assigns locations to the added outputs.

use std::collections::{BTreeMap, BTreeSet};

use spirv::{Decoration, ExecutionModel, Op, StorageClass};

use crate::capture::{CapturedOutput, Layout, built_in_components, locations_used};
use crate::lower::LowerError;
use crate::lower::store::{StoredOutputs, StoredVector};
use crate::spirv::call_tree::reachable_functions;
use crate::spirv::declarations::Declarations;
use crate::spirv::emit::{Builder, Code};
use crate::spirv::entry_point::EntryPoint;
use crate::spirv::{Id, Instruction, Module, Section};

#[derive(Default)]
pub(super) struct Added {
    pub(super) variables: Vec<Id>,
    /// The added locations, in ascending order.
    pub(super) locations: Vec<u32>,
}

/// A shader, and the layout of the captures that need added outputs.
pub(super) struct ExplicitShader<'a> {
    pub(super) declarations: &'a Declarations,
    pub(super) entry: &'a EntryPoint,
    pub(super) rest: &'a Layout,
}

/// The function that writes the added outputs of a vertex stream, while it is generated.
struct Writer {
    stream: u32,
    function: Id,
    code: Code,
    groups: Vec<StoredVector>,
}

impl ExplicitShader<'_> {
    /// Adds the outputs, and the code that writes them. Returns the new function of the entry
    /// point, and what was added.
    ///
    /// A geometry shader calls `xfb_vertex` before each vertex that it emits. In other stages the
    /// new entry point is `void xfb_main() { shader(); xfb_0 = ...; ... }`.
    pub(super) fn add_outputs(
        &self,
        module: &mut Module,
        max_output_components: u32,
    ) -> Result<(Id, Added), LowerError> {
        let is_geometry = self.entry.model == ExecutionModel::Geometry;
        let builder = &mut Builder::new(module);
        let outputs = self.rest.outputs.iter();
        let streams: BTreeSet<u32> = outputs.map(|output| self.stream(output)).collect();
        let writers: Vec<Writer> =
            streams.iter().map(|stream| self.writer(builder, *stream, !is_geometry)).collect();
        let (places, locations) = self.place(&writers, max_output_components)?;
        let mut added = Added { variables: Vec::new(), locations };
        let mut places = places.into_iter();
        let mut functions = BTreeMap::new();
        for Writer { stream, function, mut code, groups } in writers {
            for (group, place) in groups.iter().zip(&mut places) {
                let variable = declare(builder, group, stream, place);
                code.push(Op::Store, &[variable.0, group.value.0]);
                added.variables.push(variable);
            }
            code.end_procedure(
                builder,
                function,
                if is_geometry { "xfb_vertex" } else { "xfb_main" },
            );
            functions.insert(stream, function);
        }
        if is_geometry {
            self.call_before_vertices(module, &functions);
            return Ok((self.entry.function, added));
        }
        let main = functions.into_values().next();
        Ok((main.unwrap_or(self.entry.function), added))
    }

    fn stream(&self, output: &CapturedOutput) -> u32 {
        self.rest.streams.get(output.buffer as usize).copied().unwrap_or(0)
    }

    /// Begins the function that writes the added outputs of a stream. The returned code calls the
    /// shader, if `calls_shader` is true, and loads the captured values.
    fn writer(&self, builder: &mut Builder<'_>, stream: u32, calls_shader: bool) -> Writer {
        let mut code = Code::default();
        let function = code.begin_procedure(builder);
        if calls_shader {
            let void = builder.void();
            code.call(builder, void, self.entry.function, &[]);
        }
        let mut layout = self.rest.clone();
        layout.outputs.retain(|output| self.stream(output) == stream);
        let declarations = self.declarations;
        let outputs =
            StoredOutputs { layout: &layout, declarations, storage: StorageClass::Output };
        let groups = outputs.groups(builder, &mut code);
        Writer { stream, function, code, groups }
    }

    /// Assigns a location and a first component to each added output. All of them have the same
    /// component type and no interpolation decorations, so outputs of one stream may share a location. The outputs
    /// with the most components get their locations first, which takes the fewest locations.
    ///
    /// # Errors
    /// [`LowerError::LocationBudget`]
    fn place(&self, writers: &[Writer], max_output_components: u32) -> Result<Places, LowerError> {
        let groups = writers.iter().flat_map(|w| w.groups.iter().map(|group| (w.stream, group)));
        let groups: Vec<(u32, &StoredVector)> = groups.collect();
        let mut order: Vec<usize> = (0..groups.len()).collect();
        order.sort_by_key(|index| std::cmp::Reverse(groups[*index].1.components));
        // `taken` has for each added location the stream, and the number of components in use.
        // `places` has for each added output the index in `taken` of its location, and its first
        // component.
        let mut taken: Vec<(u32, u32)> = Vec::new();
        let mut places = vec![(0, 0); groups.len()];
        for index in order {
            let (stream, StoredVector { components, .. }) = groups[index];
            let has_room = |(of, taken): &(u32, u32)| *of == stream && taken + components <= 4;
            let at = taken.iter().position(has_room).unwrap_or(taken.len());
            if at == taken.len() {
                taken.push((stream, 0));
            }
            places[index] = (at, taken[at].1);
            taken[at].1 += components;
        }
        let built_ins = built_in_components(self.declarations, self.entry);
        let limit = max_output_components.saturating_sub(built_ins) / 4;
        let used = locations_used(self.declarations, self.entry);
        let free = (0..limit).filter(|location| !used.contains(location));
        let locations: Vec<u32> = free.take(taken.len()).collect();
        if locations.len() < taken.len() {
            let (needed, left) = (taken.len() as u32, locations.len() as u32);
            return Err(LowerError::LocationBudget { needed, left, max_output_components });
        }
        let places = places.into_iter().map(|(at, component)| (locations[at], component)).collect();
        Ok((places, locations))
    }

    /// Inserts, before each instruction of the shader that emits a vertex, a call of the function
    /// in `functions` that writes the added outputs of the vertex's stream.
    fn call_before_vertices(&self, module: &mut Module, functions: &BTreeMap<u32, Id>) {
        let void = Builder::new(module).void();
        let reachable = reachable_functions(module, self.entry.function);
        let stream = |i: Instruction<'_>| match i.op() {
            Some(Op::EmitVertex) => Some(0),
            Some(Op::EmitStreamVertex) => self.declarations.constant(i.id(0)),
            _ => None,
        };
        let mut is_reached = false;
        let mut calls = Vec::new();
        for (index, i) in module.section(Section::Functions).enumerate() {
            if i.is(Op::Function) {
                is_reached = reachable.contains(&i.id(1));
            }
            if is_reached && let Some(function) = stream(i).and_then(|s| functions.get(&s)) {
                calls.push((index, *function));
            }
        }
        let ids: Vec<Id> = calls.iter().map(|_| module.fresh_id()).collect();
        let mut calls = calls.into_iter().zip(ids).peekable();
        let mut code = Code::default();
        for (index, i) in module.section(Section::Functions).enumerate() {
            if let Some(((_, function), id)) = calls.next_if(|((at, _), _)| *at == index) {
                code.push(Op::FunctionCall, &[void.0, id.0, function.0]);
            }
            code.copy(i.words());
        }
        module.retain(Section::Functions, |_| false);
        module.push_code(Section::Functions, &code);
    }
}

/// For each added output ([`StoredVector`]), in the order of the writers: its location and first
/// component. Then all added locations, in ascending order.
type Places = (Vec<(u32, u32)>, Vec<u32>);

/// Declares the output for a vector of captured dwords.
fn declare(
    builder: &mut Builder<'_>,
    group: &StoredVector,
    stream: u32,
    (location, component): (u32, u32),
) -> Id {
    let ty = builder.uvec(group.components);
    let variable = builder.variable(StorageClass::Output, ty);
    builder.name(variable, &format!("xfb_{}_{}", group.buffer, group.offset));
    builder.decorate(variable, Decoration::Location, &[location]);
    if component > 0 {
        builder.decorate(variable, Decoration::Component, &[component]);
    }
    if stream > 0 {
        builder.decorate(variable, Decoration::Stream, &[stream]);
    }
    builder.decorate(variable, Decoration::XfbBuffer, &[group.buffer]);
    builder.decorate(variable, Decoration::XfbStride, &[group.stride]);
    builder.decorate(variable, Decoration::Offset, &[group.offset]);
    variable
}
