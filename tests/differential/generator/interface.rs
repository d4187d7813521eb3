//! The declarations of a shader: its outputs with their locations, and where which of them are
//! captured.

use super::Space;
use super::types::{Length, Palette, Scalar, Type};
use crate::common::rng::Rng;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuiltIn {
    Position,
    PointSize,
    ClipDistance,
    CullDistance,
    Layer,
    ViewportIndex,
}

/// Where an item is captured: the buffer, and the bytes from the start of its record. Element k of
/// an array of blocks is captured to the k-th buffer after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Captured {
    pub buffer: u32,
    pub offset: u32,
}

/// A variable, or a member of a block, and where it is captured.
#[derive(Debug, Clone)]
pub struct Item {
    pub ty: Type,
    pub built_in: Option<BuiltIn>,
    pub location: Option<u32>,
    pub component: Option<u32>,
    pub captured: Option<Captured>,
}

/// Where the transform feedback decorations of a block are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// `XfbBuffer` and `XfbStride` are on the variable, `Offset` is on members.
    Variable,
    /// All three decorations are on members.
    Members,
    /// All three decorations are on the variable: every member is captured, one after the other.
    Whole,
}

#[derive(Debug, Clone)]
pub enum Shape {
    Alone(Item),
    Block { members: Vec<Item>, array: Option<u32>, location: Option<u32>, carrier: Carrier },
}

#[derive(Debug, Clone)]
pub struct Variable {
    pub shape: Shape,
}

impl Variable {
    /// Returns the type. A block is a structure.
    pub fn ty(&self) -> Type {
        match &self.shape {
            Shape::Alone(item) => item.ty.clone(),
            Shape::Block { members, array, .. } => {
                let block = Type::Struct(members.iter().map(|m| m.ty.clone()).collect());
                match array {
                    Some(length) => Type::Array(Box::new(block), Length::Literal(*length)),
                    None => block,
                }
            }
        }
    }

    pub fn items(&self) -> &[Item] {
        match &self.shape {
            Shape::Alone(item) => std::slice::from_ref(item),
            Shape::Block { members, .. } => members,
        }
    }

    fn items_mut(&mut self) -> &mut [Item] {
        match &mut self.shape {
            Shape::Alone(item) => std::slice::from_mut(item),
            Shape::Block { members, .. } => members,
        }
    }

    /// The number of consecutive buffers that the variable is captured to: more than one only for
    /// arrays of blocks.
    pub fn buffer_count(&self) -> u32 {
        self.elements().unwrap_or(1)
    }

    pub const fn is_block(&self) -> bool {
        matches!(self.shape, Shape::Block { .. })
    }

    /// The number of elements of an array of blocks.
    pub const fn elements(&self) -> Option<u32> {
        match self.shape {
            Shape::Block { array, .. } => array,
            Shape::Alone(_) => None,
        }
    }

    pub fn is_whole_block(&self) -> bool {
        matches!(self.shape, Shape::Block { carrier: Carrier::Whole, .. })
    }
}

#[derive(Debug, Clone)]
pub struct Interface {
    pub variables: Vec<Variable>,
    /// The stride of each buffer in bytes. `None` if nothing is captured to it.
    pub strides: [Option<u32>; 4],
}

fn item(ty: Type) -> Item {
    Item { ty, built_in: None, location: None, component: None, captured: None }
}

impl Interface {
    pub fn random(rng: &mut Rng, space: &Space, palette: &Palette) -> Self {
        let mut next = 0;
        let budget = if rng.percent(88) { rng.range(2, 10) } else { space.max_locations };
        let mut variables = Vec::new();
        if rng.percent(85) {
            built_ins(rng, space, &mut variables);
        }
        while next < budget && variables.len() < 12 {
            let left = budget - next;
            match rng.below(100) {
                0..50 => {
                    let mut one = item(palette.any(rng, left, 3));
                    one.location = Some(next);
                    next += one.ty.locations();
                    variables.push(Variable { shape: Shape::Alone(one) });
                }
                50..70 => next += components(rng, space, next, &mut variables),
                _ => next += block(rng, space, palette, next, left, &mut variables),
            }
            // Holes between locations.
            next += u32::from(rng.percent(15));
        }
        let mut interface = Self { variables, strides: [None; 4] };
        while interface.strides.iter().all(Option::is_none) {
            interface.place(rng, space);
        }
        interface
    }

    /// Places the captured items in random order, with gaps.
    fn place(&mut self, rng: &mut Rng, space: &Space) {
        let buffers = rng.range(1, 4);
        let mut ends = [0u32; 4];
        // Buffers of an array of blocks share its stride.
        let mut group = [0usize, 1, 2, 3];
        let mut wide = [false; 4];
        let first_buffers: Vec<u32> = self.variables.iter().map(|_| rng.below(buffers)).collect();
        let mut order: Vec<(usize, usize)> = (0..self.variables.len())
            .flat_map(|v| (0..self.variables[v].items().len()).map(move |i| (v, i)))
            .collect();
        rng.shuffle(&mut order);
        let total = |ends: &[u32; 4]| -> u32 { ends.iter().sum() };
        for (v, i) in order {
            let variable = &self.variables[v];
            let span = variable.buffer_count();
            let buffer = first_buffers[v].min(4 - span);
            let (first, last) = (buffer as usize, (buffer + span) as usize);
            let whole = variable.is_whole_block();
            // The members of a block with an offset of its own go together.
            if whole && i > 0 || !whole && rng.percent(20) {
                continue;
            }
            let ty = if whole {
                Type::Struct(variable.items().iter().map(|m| m.ty.clone()).collect())
            } else {
                variable.items()[i].ty.clone()
            };
            let gap = if rng.percent(30) { 4 * rng.range(1, 5) } else { 0 };
            let end = ends[first..last].iter().max().copied().unwrap_or(0);
            let offset = (end + gap).next_multiple_of(ty.alignment());
            let after = offset + ty.bytes();
            let mut grown = ends;
            grown[first..last].fill(after);
            if after > space.max_stride - 32 || total(&grown) > space.max_bytes - 128 {
                continue;
            }
            ends = grown;
            let key = group[first];
            for b in first..last {
                let old = group[b];
                group.iter_mut().filter(|g| **g == old).for_each(|g| *g = key);
            }
            let is_wide = ty.alignment() == 8;
            wide[first..last].iter_mut().for_each(|w| *w |= is_wide);
            self.capture(v, i, whole, Captured { buffer, offset });
        }
        for g in 0..4 {
            let members: Vec<usize> = (0..4).filter(|b| group[*b] == g && ends[*b] > 0).collect();
            let Some(end) = members.iter().map(|b| ends[*b]).max() else { continue };
            let alignment = if members.iter().any(|b| wide[*b]) { 8 } else { 4 };
            let gap = if rng.percent(40) { 4 * rng.range(1, 6) } else { 0 };
            let stride = (end + gap).next_multiple_of(alignment);
            members.iter().for_each(|b| self.strides[*b] = Some(stride));
        }
    }

    fn capture(&mut self, variable: usize, item: usize, whole: bool, at: Captured) {
        let items = self.variables[variable].items_mut();
        if !whole {
            items[item].captured = Some(at);
            return;
        }
        let mut offset = at.offset;
        for item in items {
            offset = offset.next_multiple_of(item.ty.alignment());
            item.captured = Some(Captured { offset, ..at });
            offset += item.ty.bytes();
        }
    }
}

/// Adds `gl_PerVertex`, or some of its members as separate variables, as compilers other than
/// glslang emit them.
fn built_ins(rng: &mut Rng, space: &Space, variables: &mut Vec<Variable>) {
    let floats = |length| Type::Array(Box::new(Type::Scalar(Scalar::F32)), Length::Literal(length));
    let clip = if space.clip && rng.percent(35) { rng.range(1, 8) } else { 0 };
    let cull = if space.cull && rng.percent(25) { rng.below(9 - clip) } else { 0 };
    let mut members = vec![(BuiltIn::Position, Type::Vector(Scalar::F32, 4))];
    if rng.percent(60) {
        members.push((BuiltIn::PointSize, Type::Scalar(Scalar::F32)));
    }
    if clip > 0 {
        members.push((BuiltIn::ClipDistance, floats(clip)));
    }
    if cull > 0 {
        members.push((BuiltIn::CullDistance, floats(cull)));
    }
    let built_in = |(which, ty): (BuiltIn, Type)| Item { built_in: Some(which), ..item(ty) };
    let members: Vec<Item> = members.into_iter().map(built_in).collect();
    if rng.percent(60) {
        let carrier = rng.pick(&[Carrier::Variable, Carrier::Members]);
        let shape = Shape::Block { members, array: None, location: None, carrier };
        variables.push(Variable { shape });
    } else {
        variables.extend(members.into_iter().map(|m| Variable { shape: Shape::Alone(m) }));
    }
    for which in [BuiltIn::Layer, BuiltIn::ViewportIndex] {
        if space.layer && rng.percent(5) {
            let int = Type::Scalar(rng.pick(&[Scalar::I32, Scalar::U32]));
            variables.push(Variable { shape: Shape::Alone(built_in((which, int))) });
        }
    }
}

/// Adds outputs, or arrays of outputs, that share locations. Returns the number of locations.
fn components(rng: &mut Rng, space: &Space, location: u32, variables: &mut Vec<Variable>) -> u32 {
    // One type per location, because rules differ on whether different types may share it.
    let scalar = rng.pick(&space.scalars());
    let width = scalar.bytes() / 4;
    let length = if space.aggregates && rng.percent(25) { Some(rng.range(1, 2)) } else { None };
    let mut component = if rng.percent(25) { width } else { 0 };
    while component < 4 {
        let count = rng.range(1, (4 - component) / width);
        let part = match count {
            1 => Type::Scalar(scalar),
            _ => Type::Vector(scalar, count),
        };
        let ty = match length {
            Some(length) => Type::Array(Box::new(part), Length::Literal(length)),
            None => part,
        };
        let component_decoration = (component > 0 || rng.percent(50)).then_some(component);
        let one = Item { location: Some(location), component: component_decoration, ..item(ty) };
        variables.push(Variable { shape: Shape::Alone(one) });
        component += count * width + width * u32::from(rng.percent(20));
    }
    length.unwrap_or(1)
}

/// Adds a block or an array of blocks. Returns the number of locations.
fn block(
    rng: &mut Rng,
    space: &Space,
    palette: &Palette,
    first: u32,
    left: u32,
    variables: &mut Vec<Variable>,
) -> u32 {
    let array = (space.aggregates && rng.percent(30)).then(|| rng.range(1, 3));
    let mut room = left / array.unwrap_or(1);
    let mut members = Vec::new();
    let on_members = array.is_none() && rng.percent(50);
    let mut location = first;
    for _ in 0..rng.range(1, 4) {
        if room == 0 {
            break;
        }
        let mut member = item(palette.any(rng, room, 2));
        // If members have their own locations, they may skip some.
        let skip = on_members && room > member.ty.locations() && rng.percent(20);
        location += u32::from(skip);
        if on_members {
            member.location = Some(location);
        }
        let taken = member.ty.locations();
        location += taken;
        room = room.saturating_sub(taken + u32::from(skip));
        members.push(member);
    }
    if members.is_empty() {
        return 1;
    }
    let carrier = match rng.below(10) {
        0 if space.whole_blocks => Carrier::Whole,
        0..6 => Carrier::Variable,
        _ if array.is_some() => Carrier::Variable,
        _ => Carrier::Members,
    };
    let location_of_block = (!on_members).then_some(first);
    let shape = Shape::Block { members, array, location: location_of_block, carrier };
    variables.push(Variable { shape });
    (location - first) * array.unwrap_or(1)
}
