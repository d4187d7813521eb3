//! Outputs that are added for what cannot be captured where it is, and the locations that they take.

use spirv::{Decoration, Op, StorageClass};

use super::Options;
use crate::capture::{Layout, built_in_components, locations_used};
use crate::lower::LowerError;
use crate::lower::store::{Group, Outputs};
use crate::spirv::declarations::Declarations;
use crate::spirv::emit::{Builder, Code};
use crate::spirv::entry_point::EntryPoint;
use crate::spirv::{Id, Module, Section};

/// What was added for explicit emission.
#[derive(Default)]
pub(super) struct Added {
    pub(super) variables: Vec<Id>,
    /// In ascending order.
    pub(super) locations: Vec<u32>,
}

/// `void xfb_main() { shader(); xfb_0 = ...; ... }`, and the outputs that it writes.
pub(super) fn add_outputs(
    module: &mut Module,
    declarations: &Declarations,
    entry: &EntryPoint,
    rest: &Layout,
    options: &Options<'_>,
) -> Result<(Id, Added), LowerError> {
    let builder = &mut Builder::new(module);
    let void = builder.void();
    let procedure = builder.procedure();
    let mut code = Code::default();
    let wrapper = code.value(builder, Op::Function, void, &[0, procedure.0]);
    let label = builder.module.fresh_id();
    code.label(label);
    code.call(builder, void, entry.function, &[]);
    let outputs = Outputs { layout: rest, declarations, storage: StorageClass::Output };
    let groups = outputs.groups(builder, &mut code);
    let (places, locations) = place(&groups, declarations, entry, options)?;
    let mut added = Added { variables: Vec::new(), locations };
    for (group, (location, component)) in groups.iter().zip(places) {
        let ty = builder.uvec(group.components);
        let variable = builder.variable(StorageClass::Output, ty);
        builder.name(variable, &format!("xfb_{}_{}", group.buffer, group.offset));
        builder.decorate(variable, Decoration::Location, &[location]);
        if component > 0 {
            builder.decorate(variable, Decoration::Component, &[component]);
        }
        builder.decorate(variable, Decoration::XfbBuffer, &[group.buffer]);
        builder.decorate(variable, Decoration::XfbStride, &[group.stride]);
        builder.decorate(variable, Decoration::Offset, &[group.offset]);
        code.push(Op::Store, &[variable.0, group.value.0]);
        added.variables.push(variable);
    }
    code.push(Op::Return, &[]);
    code.push(Op::FunctionEnd, &[]);
    builder.module.push_code(Section::Functions, &code);
    builder.name(wrapper, "xfb_main");
    Ok((wrapper, added))
}

/// Location and component of each group, and the locations that these take.
type Places = (Vec<(u32, u32)>, Vec<u32>);

/// Finds each group a place. All are of one type and without interpolation, so that they may share
/// locations; the widest first, which wastes nothing that could be had.
fn place(
    groups: &[Group],
    declarations: &Declarations,
    entry: &EntryPoint,
    options: &Options<'_>,
) -> Result<Places, LowerError> {
    let mut order: Vec<usize> = (0..groups.len()).collect();
    order.sort_by_key(|index| std::cmp::Reverse(groups[*index].components));
    // Components taken of each added location, and the place of each group in those terms.
    let mut taken: Vec<u32> = Vec::new();
    let mut places = vec![(0, 0); groups.len()];
    for index in order {
        let components = groups[index].components;
        let at = taken.iter().position(|t| t + components <= 4).unwrap_or(taken.len());
        if at == taken.len() {
            taken.push(0);
        }
        places[index] = (at, taken[at]);
        taken[at] += components;
    }
    let max_output_components = options.max_output_components;
    let built_ins = built_in_components(declarations, entry);
    let limit = max_output_components.saturating_sub(built_ins) / 4;
    let used = locations_used(declarations, entry);
    let free = (0..limit).filter(|location| !used.contains(location));
    let locations: Vec<u32> = free.take(taken.len()).collect();
    if locations.len() < taken.len() {
        let (needed, left) = (taken.len() as u32, locations.len() as u32);
        return Err(LowerError::LocationBudget { needed, left, max_output_components });
    }
    let places = places.into_iter().map(|(at, component)| (locations[at], component)).collect();
    Ok((places, locations))
}
