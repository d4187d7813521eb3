//! Random vertex shaders with captured outputs, each with a model of what it captures.
//!
//! A seed gives an [`interface`] (outputs of random [`types`] with locations and places in capture
//! buffers), a [`program`](program::Program) that writes some of them ([`body`]), and the SPIR-V of
//! both ([`emit`]). The same program runs here on the CPU, so that every captured byte is known
//! without a device. The generator uses nothing of the crate under test, except for the types of
//! vertex input.

pub mod body;
pub mod emit;
pub mod emit_body;
mod emit_pushed;
pub mod interface;
pub mod module;
pub mod program;
pub mod pushed;
pub mod types;
mod values;

use crate::common::rng::Rng;
use interface::{BuiltIn, Interface};
use program::{Cell, Inputs, Program};
use pushed::Block;
use types::{Length, Palette, Scalar};
use vkxfb::vertex_input::{
    InputRate, NumericClass, VertexAttribute, VertexBinding, VertexFormat, VertexInput,
};

/// The features and limits of the generated shaders.
#[derive(Debug, Clone)]
pub struct Space {
    pub float64: bool,
    pub int64: bool,
    /// Whether there are matrices, arrays, structures and arrays of blocks.
    pub aggregates: bool,
    /// Whether specialisation constants may be lengths of arrays.
    pub spec_constants: bool,
    pub clip: bool,
    pub cull: bool,
    /// Whether `Layer` and `ViewportIndex` are written.
    pub layer: bool,
    /// Whether blocks may have an `Offset` on the variable.
    pub whole_blocks: bool,
    pub initializers: bool,
    pub push_constants: bool,
    /// The percentage of floats that are computed by a free operation.
    pub free_percent: u32,
    /// The largest number of locations of all outputs, without the built-ins.
    pub max_locations: u32,
    /// The largest number of bytes of a record in one buffer.
    pub max_stride: u32,
    /// The largest number of bytes of a vertex in all buffers.
    pub max_bytes: u32,
    /// The versions of SPIR-V.
    pub versions: Vec<(u32, u32)>,
}

impl Space {
    /// Returns everything, within limits that every device with transform feedback supports, except
    /// for locations: 24 locations and the built-ins are well below the 128 components of lavapipe.
    pub fn whole() -> Self {
        Self {
            float64: true,
            int64: true,
            aggregates: true,
            spec_constants: true,
            clip: true,
            cull: true,
            layer: true,
            whole_blocks: true,
            initializers: true,
            push_constants: true,
            free_percent: 3,
            max_locations: 24,
            max_stride: 512,
            max_bytes: 512,
            versions: vec![(1, 0), (1, 0), (1, 3), (1, 4), (1, 5)],
        }
    }

    pub fn scalars(&self) -> Vec<Scalar> {
        let mut scalars = vec![Scalar::F32, Scalar::F32, Scalar::I32, Scalar::U32];
        if self.float64 {
            scalars.push(Scalar::F64);
        }
        if self.int64 {
            scalars.push(if self.float64 { Scalar::I64 } else { Scalar::U64 });
            scalars.push(Scalar::U64);
        }
        scalars
    }
}

/// An attribute as the shader reads it.
#[derive(Debug, Clone, Copy)]
pub struct Attribute {
    pub scalar: Scalar,
    pub components: u32,
    /// The attribute's description, from which the bytes of its elements are derived.
    pub layout: VertexAttribute,
    pub rate: InputRate,
}

/// A specialisation constant.
#[derive(Debug, Clone, Copy)]
pub struct SpecConstant {
    pub id: u32,
    pub value: u32,
    pub is_signed: bool,
}

/// A captured scalar: where it is captured, and which scalar of which output it is.
#[derive(Debug, Clone, Copy)]
pub struct CapturedScalar {
    pub buffer: usize,
    pub offset: u32,
    pub scalar: Scalar,
    pub output: usize,
    pub index: u32,
}

/// A shader and its model.
#[derive(Debug, Clone)]
pub struct Generated {
    pub words: Vec<u32>,
    pub version: (u32, u32),
    /// Whether `Layer` and `ViewportIndex` are declared with the capabilities of SPIR-V 1.5 instead
    /// of that of the extension.
    pub core_layer: bool,
    pub interface: Interface,
    pub program: Program,
    pub attributes: Vec<Attribute>,
    /// The push constants, if there are any.
    pub pushed: Option<Block>,
    pub spec_constants: Vec<SpecConstant>,
    pub vertex_input: VertexInput,
    pub captured: Vec<CapturedScalar>,
}

/// Generates the shader of a seed.
pub fn generate(seed: u64, space: &Space) -> Generated {
    let rng = &mut Rng::new(seed);
    let space = &some_of(rng, space);
    let spec_constants = spec_constants(rng, space);
    let palette = Palette {
        scalars: space.scalars(),
        aggregates: space.aggregates,
        spec_lengths: spec_lengths(&spec_constants),
    };
    let interface = Interface::random(rng, space, &palette);
    let (attributes, vertex_input) = attributes(rng);
    // With a separate random generator, so that shaders without push constants do not change.
    let pushed = pushed(&mut Rng::new(seed.rotate_left(32)), space, &palette);
    let mut body = body::Body::new(rng, &attributes, pushed.as_ref(), space);
    let program = body.program(&interface.variables);
    let version = rng.pick(&space.versions);
    let captured = captured(&interface);
    let mut generated = Generated {
        words: Vec::new(),
        version,
        core_layer: version >= (1, 5) && rng.percent(30),
        interface,
        program,
        attributes,
        pushed,
        spec_constants,
        vertex_input,
        captured,
    };
    generated.words = emit::emit(&generated, rng.percent(50));
    generated
}

/// Chooses features. Most shaders do not use most features, so that a failure also shows without
/// other features.
fn some_of(rng: &mut Rng, space: &Space) -> Space {
    let mut space = space.clone();
    space.float64 &= rng.percent(35);
    space.int64 &= rng.percent(25);
    space.aggregates &= rng.percent(85);
    space.spec_constants &= rng.percent(30);
    space.initializers &= rng.percent(20);
    if rng.percent(70) {
        space.free_percent = 0;
    }
    space
}

fn spec_constants(rng: &mut Rng, space: &Space) -> Vec<SpecConstant> {
    if !space.spec_constants {
        return Vec::new();
    }
    let mut id = rng.below(4);
    let mut constants = Vec::new();
    for _ in 0..rng.range(1, 3) {
        constants.push(SpecConstant { id, value: rng.range(1, 3), is_signed: rng.percent(30) });
        id += rng.range(1, 5);
    }
    constants
}

fn spec_lengths(constants: &[SpecConstant]) -> Vec<Length> {
    let both = |(place, constant): (usize, &SpecConstant)| {
        [Length::Spec(place, constant.value), Length::SpecSum(place, 1, constant.value + 1)]
    };
    constants.iter().enumerate().flat_map(both).collect()
}

fn pushed(rng: &mut Rng, space: &Space, palette: &Palette) -> Option<Block> {
    let Palette { scalars, aggregates, spec_lengths } = palette;
    let is_wanted = space.push_constants && rng.percent(40);
    is_wanted.then(|| Block::random(rng, scalars, *aggregates, spec_lengths))
}

/// Returns up to four attributes of up to two bindings.
fn attributes(rng: &mut Rng) -> (Vec<Attribute>, VertexInput) {
    let mut vertex_input = VertexInput::default();
    let mut attributes = Vec::new();
    if rng.percent(40) {
        return (attributes, vertex_input);
    }
    let mut location = 0;
    for binding in 0..rng.range(1, 2) {
        let input_rate = rng.pick(&[InputRate::Vertex, InputRate::Vertex, InputRate::INSTANCE]);
        let mut offset = 4 * rng.below(3);
        for _ in 0..rng.range(1, 2) {
            location += rng.below(2);
            let scalar = rng.pick(&[Scalar::F32, Scalar::I32, Scalar::U32]);
            let class = match scalar {
                Scalar::F32 => NumericClass::Float,
                Scalar::I32 => NumericClass::Sint,
                _ => NumericClass::Uint,
            };
            let components = rng.range(1, 4);
            let format = VertexFormat::of(class, 32, components).unwrap();
            let layout = VertexAttribute { location, binding, format, offset };
            attributes.push(Attribute { scalar, components, layout, rate: input_rate });
            vertex_input.attributes.push(layout);
            location += 1;
            offset += format.size() + 4 * rng.below(2);
        }
        vertex_input.bindings.push(VertexBinding { binding, stride: offset, input_rate });
    }
    (attributes, vertex_input)
}

/// Returns every captured scalar.
fn captured(interface: &Interface) -> Vec<CapturedScalar> {
    let mut all = Vec::new();
    for (output, variable) in interface.variables.iter().enumerate() {
        let mut first = 0;
        for element in 0..variable.elements().unwrap_or(1) {
            for item in variable.items() {
                let (places, _) = item.ty.places();
                if let Some(at) = item.captured {
                    all.extend((first..).zip(&places).map(|(index, place)| CapturedScalar {
                        buffer: (at.buffer + element) as usize,
                        offset: at.offset + place.offset,
                        scalar: place.scalar,
                        output,
                        index,
                    }));
                }
                first += places.len() as u32;
            }
        }
    }
    all
}

struct VertexOf<'a> {
    shader: &'a Generated,
    draw: u32,
    instance: u32,
    vertex: u32,
}

impl Inputs for VertexOf<'_> {
    fn vertex(&self) -> u32 {
        self.vertex
    }

    fn instance(&self) -> u32 {
        self.instance
    }

    fn attribute(&self, attribute: usize, component: u32) -> u32 {
        let Attribute { layout, rate, .. } = &self.shader.attributes[attribute];
        let element = match rate {
            InputRate::Vertex => self.vertex,
            InputRate::Instance { .. } => self.instance,
        };
        made_up(layout.format.class(), layout.binding, element, layout.offset / 4 + component)
    }

    fn pushed(&self, path: &[u32]) -> u64 {
        self.shader.pushed.as_ref().unwrap().bits(self.draw, path)
    }
}

/// Returns a dword of a vertex buffer: any integer, or a float from 1 to 256 in steps of a quarter.
fn made_up(class: NumericClass, binding: u32, element: u32, dword: u32) -> u32 {
    let mut hash = (element ^ dword.rotate_left(12) ^ binding.rotate_left(24))
        .wrapping_add(1)
        .wrapping_mul(0x9e37_79b1);
    hash = (hash ^ (hash >> 15)).wrapping_mul(0x85eb_ca6b);
    match class {
        NumericClass::Float => (((hash >> 22) + 4) as f32 / 4.0).to_bits(),
        NumericClass::Sint | NumericClass::Uint => hash ^ (hash >> 13),
    }
}

impl Generated {
    /// Returns what a vertex of a draw writes to all buffers, in the order of `captured`.
    pub fn cells(&self, draw: u32, instance: u32, vertex: u32) -> Vec<Cell> {
        let outputs = self.program.run(&VertexOf { shader: self, draw, instance, vertex });
        self.captured.iter().map(|c| outputs[c.output][c.index as usize]).collect()
    }

    /// Returns the contents of vertex buffers for this number of vertices and instances.
    pub fn vertex_buffers(&self, vertices: u32, instances: u32) -> Vec<(u32, Vec<u8>)> {
        let buffer = |binding: &VertexBinding| {
            let elements = match binding.input_rate {
                InputRate::Vertex => vertices,
                InputRate::Instance { .. } => instances,
            };
            let mut bytes = vec![0xcd; (elements * binding.stride) as usize];
            for a in self.vertex_input.attributes.iter().filter(|a| a.binding == binding.binding) {
                for element in 0..elements {
                    for component in 0..a.format.components() {
                        let dword = a.offset / 4 + component;
                        let word = made_up(a.format.class(), a.binding, element, dword);
                        let at = (element * binding.stride + dword * 4) as usize;
                        bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
                    }
                }
            }
            (binding.binding, bytes)
        };
        self.vertex_input.bindings.iter().map(buffer).collect()
    }

    pub fn built_in(&self, which: BuiltIn) -> Option<&interface::Item> {
        self.items().find(|item| item.built_in == Some(which))
    }

    pub fn items(&self) -> impl Iterator<Item = &interface::Item> {
        self.interface.variables.iter().flat_map(|v| v.items())
    }

    /// Returns the `--target-env` of spirv-val.
    pub const fn target(&self) -> &'static str {
        match self.version {
            (1, 0) => "vulkan1.0",
            (1, 3) => "vulkan1.1",
            (1, 4) => "vulkan1.1spv1.4",
            _ => "vulkan1.2",
        }
    }
}
