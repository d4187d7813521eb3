//! Vertex shaders that draw what geometry shaders emit: the device's own transform feedback captures what they draw, and
//! has to find what the geometry shaders would emit.

use ash::vk;
use vkxfb::lower::drawn::{self, Unindexed};
use vkxfb::lower::{Backend, LowerError, Shader, native};
use vkxfb::runtime::IndexType;
use vkxfb::topology::PrimitiveTopology;
use vkxfb::vertex_input::{InputRate, VertexAttribute, VertexBinding, VertexFormat, VertexInput};
use vkxfb_rewriter::capture::{BuiltIn, CaptureEntry, CaptureList, CapturedOutput, Selector};
use vkxfb_rewriter::spirv::Module;
use vkxfb_rewriter::spirv::declarations::Declarations;
use vkxfb_rewriter::spirv::headers::Decoration;
use vkxfb_rewriter::sysval::{AttributeDescriptor, DrawSysvals, Sysvals, draw_flags, split};

use crate::case::{Call, Case, Section};
use crate::common::batches::{Report, Worker};
use crate::common::native::NativeDevice;
use crate::compile::{Modules, compile};
use crate::generate::draws::case;
use crate::generate::{Draws, Space, Streams};
use crate::known;
use crate::model;
use crate::native::Native;

/// How a list is drawn.
#[derive(Debug, Clone, Copy)]
enum Listing {
    /// Without indices, which the strips would have if `leaves_out`.
    Plain { leaves_out: bool },
    /// By an index list for all input primitives, each of which has this number of indices.
    Whole(u32),
    /// By an index list for this number of input primitives, in parts: of each instance, and with a vertex offset each.
    Parts { items: u32, each: u32 },
}

impl Listing {
    const fn name(self) -> &'static str {
        match self {
            Self::Plain { leaves_out: false } => "lists without indices",
            Self::Plain { leaves_out: true } => "lists of which the indices are left out",
            Self::Whole(_) => "lists with indices",
            Self::Parts { .. } => "lists with indices, in parts",
        }
    }
}

/// The draws of a case by a vertex shader, and where in memory their parameters and indices are.
pub struct DrawnCase {
    pub words: Vec<u32>,
    pub vertex_input: VertexInput,
    /// The list of primitives that is drawn.
    pub topology: PrimitiveTopology,
    /// Whether each vertex in the list is one that the geometry shader emits.
    is_fixed: bool,
    /// The topology of the case.
    primitives: PrimitiveTopology,
    /// The number of vertices in the list for an input primitive.
    vertices: u32,
    listing: Listing,
    /// The index list, and its position in memory.
    indices: Vec<u8>,
    indices_at: u64,
    /// The locations of the attributes that the shader reads, in the order of their descriptors.
    attributes: Vec<u32>,
    /// The position of the parameters of the first draw. Those of each draw are `size` bytes: its sysvals, the table of
    /// attributes, and the address of the sysvals.
    first: u64,
    size: u64,
    /// The draws of each section.
    draws: Vec<Vec<Call>>,
}

impl DrawnCase {
    pub fn new(case: &Case, modules: &Modules) -> Result<Self, LowerError> {
        let (geometry, vertex) = (Shader::new(&modules.geometry), Shader::new(&modules.vertex));
        let vertex_input = case.vertex_input();
        let options = drawn::Options::new(&vertex, &vertex_input);
        let mut lowered = drawn::lower(&geometry, &options)?;
        let leaves_out = lowered.indices.is_ok() && case.seed.is_multiple_of(4);
        if leaves_out {
            lowered = drawn::lower(&geometry, &options.unindexed(true))?;
            assert_eq!(lowered.indices, Err(Unindexed::Requested));
        }
        crate::common::validate(&lowered.words, "vulkan1.2");
        let list = captures(&modules.geometry)?;
        let shader = Shader::new(&lowered.words).entry_point(&lowered.entry_point);
        let captured = native::lower(&shader.captures(&list))?;
        let topology = [
            PrimitiveTopology::PointList,
            PrimitiveTopology::LineList,
            PrimitiveTopology::TriangleList,
        ][lowered.geometry.output_vertices as usize - 1];
        let draws: Vec<Vec<Call>> = case.sections.iter().map(calls).collect();
        let (listing, indices) = match &lowered.indices {
            Err(_) => (Listing::Plain { leaves_out }, Vec::new()),
            Ok(indices) if case.seed % 4 == 1 => {
                let (items, each) = (1 + (case.seed / 4 % 3) as u32, indices.count());
                let list = indices.list(items, case.provoking);
                assert_eq!(list.len() as u32, items * each);
                (Listing::Parts { items, each }, bytemuck::cast_slice(&list).to_vec())
            }
            Ok(indices) => {
                let items = |call: &Call| case.topology.primitive_count(call.count) as u32;
                let items = 0..draws.iter().flatten().map(items).max().unwrap_or(0);
                let pattern = indices.pattern(case.provoking);
                let of = |item| pattern.iter().map(move |index| item * lowered.vertices + index);
                let list: Vec<u32> = items.flat_map(of).collect();
                (Listing::Whole(pattern.len() as u32), bytemuck::cast_slice(&list).to_vec())
            }
        };
        let first = (case.image.len() as u64).next_multiple_of(16);
        let size = 128 + 16 * case.program.attributes.len() as u64 + 16;
        let indices_at = first + size * draws.iter().flatten().count() as u64;
        let input_rate = InputRate::INSTANCE;
        let format = VertexFormat::R32G32Uint;
        let location = drawn::PARAMETERS_LOCATION;
        Ok(Self {
            words: captured.words,
            vertex_input: VertexInput {
                bindings: vec![VertexBinding { binding: 0, stride: 0, input_rate }],
                attributes: vec![VertexAttribute { location, binding: 0, format, offset: 0 }],
            },
            topology,
            is_fixed: lowered.is_fixed,
            primitives: case.topology,
            vertices: lowered.vertices,
            attributes: lowered.attributes.iter().map(|attribute| attribute.location).collect(),
            listing,
            indices,
            indices_at,
            first,
            size,
            draws,
        })
    }

    /// Adds room for the parameters to the memory of the case, and the indices.
    pub fn extend(&self, memory: &mut Vec<u8>) {
        memory.resize(self.indices_at as usize, 0);
        memory.extend_from_slice(&self.indices);
    }

    /// The position of the parameters of a draw, by the numbers of its section and of the draw there.
    fn position(&self, [section, draw]: [usize; 2]) -> u64 {
        let before: usize = self.draws[..section].iter().map(Vec::len).sum();
        self.first + self.size * (before + draw) as u64
    }

    /// Records writes of the parameters.
    ///
    /// # Safety
    /// The command buffer is being recorded, outside of a pass.
    pub unsafe fn upload(
        &self,
        device: &NativeDevice,
        cmd: vk::CommandBuffer,
        case: &Case,
        buffer: vk::Buffer,
    ) {
        let info = vk::BufferDeviceAddressInfo::default().buffer(buffer);
        let address = unsafe { device.raw.get_buffer_device_address(&info) };
        for (section, draws) in self.draws.iter().enumerate() {
            for draw in 0..draws.len() {
                let at = self.position([section, draw]);
                let bytes = self.parameters(case, [section, draw], address);
                unsafe { device.raw.cmd_update_buffer(cmd, buffer, at, &bytes) };
            }
        }
        let writes = (vk::PipelineStageFlags::TRANSFER, vk::AccessFlags::TRANSFER_WRITE);
        let reads = (
            vk::PipelineStageFlags::VERTEX_INPUT | vk::PipelineStageFlags::VERTEX_SHADER,
            vk::AccessFlags::VERTEX_ATTRIBUTE_READ | vk::AccessFlags::SHADER_READ,
        );
        unsafe { device.barrier(cmd, writes, reads) };
    }

    /// The bytes of the parameters of a draw. `memory` is the address of the memory of the case.
    fn parameters(&self, case: &Case, place: [usize; 2], memory: u64) -> Vec<u8> {
        let draw = &case.sections[place[0]].draws[place[1]];
        let Call { first, count, vertex_offset, first_instance, instance_count } = draw.calls[0];
        let mut draw_sysvals = DrawSysvals {
            flags: draw_flags(case.topology, 0, case.provoking),
            item_count: case.topology.primitive_count(count) as u32,
            instance_count,
            base_vertex: first,
            xfb_topology: case.topology.xfb_topology() as u32,
            first_instance,
            ..DrawSysvals::default()
        };
        if draw.indexed {
            let size = match case.index_type {
                IndexType::Uint16 => 2,
                _ => 4,
            };
            let at = case.indices.offset + u64::from(first) * size;
            draw_sysvals.flags |= size as u32;
            draw_sysvals.base_vertex = vertex_offset.cast_unsigned();
            draw_sysvals.index_address = split(memory + at);
            let left = (case.indices.offset + case.indices.size).saturating_sub(at) / size;
            draw_sysvals.index_limit = left as u32;
        }
        let descriptor = |location: &u32| {
            let bound = &case.vertices[*location as usize];
            let size = 4 * case.program.attributes[*location as usize].components;
            AttributeDescriptor::new(memory + bound.offset, bound.size, 0, size, size)
        };
        let descriptors: Vec<AttributeDescriptor> =
            self.attributes.iter().map(descriptor).collect();
        let at = memory + self.position(place);
        let sysvals = Sysvals {
            draw: draw_sysvals,
            attributes: [descriptors.first().copied().unwrap_or_default()],
            table: split(at + 128),
            source: split(at),
            ..Sysvals::default()
        };
        let mut bytes = bytemuck::bytes_of(&sysvals).to_vec();
        bytes.extend_from_slice(bytemuck::cast_slice(descriptors.get(1..).unwrap_or_default()));
        bytes.resize(self.size as usize - 16, 0);
        bytes.extend_from_slice(bytemuck::cast_slice(&split(at)));
        bytes.resize(self.size as usize, 0);
        bytes
    }

    /// Records a draw.
    ///
    /// # Safety
    /// The command buffer is being recorded, and the pipeline is bound.
    pub unsafe fn record(
        &self,
        device: &ash::Device,
        cmd: vk::CommandBuffer,
        buffer: vk::Buffer,
        place: [usize; 2],
    ) {
        let address = self.position(place) + self.size - 16;
        let [section, draw] = place;
        let Call { count, instance_count, .. } = self.draws[section][draw];
        let items = self.primitives.primitive_count(count) as u32;
        unsafe {
            device.cmd_bind_vertex_buffers(cmd, 0, &[buffer], &[address]);
            match self.listing {
                Listing::Plain { .. } => {
                    device.cmd_draw(cmd, items * self.vertices, instance_count, 0, 0);
                }
                Listing::Whole(each) => {
                    let index_type = vk::IndexType::UINT32;
                    device.cmd_bind_index_buffer(cmd, buffer, self.indices_at, index_type);
                    device.cmd_draw_indexed(cmd, items * each, instance_count, 0, 0, 0);
                }
                Listing::Parts { items: most, each } => {
                    let index_type = vk::IndexType::UINT16;
                    device.cmd_bind_index_buffer(cmd, buffer, self.indices_at, index_type);
                    for instance in 0..instance_count {
                        for first in (0..items).step_by(most as usize) {
                            let indices = most.min(items - first) * each;
                            let offset = (first * self.vertices).cast_signed();
                            device.cmd_draw_indexed(cmd, indices, 1, 0, offset, instance);
                        }
                    }
                }
            }
        }
    }
}

fn calls(section: &Section) -> Vec<Call> {
    section.draws.iter().map(|draw| draw.calls[0].clone()).collect()
}

/// Returns the captures of a geometry shader as a list, because those of a drawn shader have no decorations.
fn captures(geometry: &[u32]) -> Result<CaptureList, LowerError> {
    let layout = native::lower(&Shader::new(geometry))?.layout;
    let declarations = Declarations::of(&Module::parse(geometry)?);
    let captures = layout.outputs.iter().map(|output| {
        let (component, components) = (output.component, output.dwords());
        let selector = match output.location {
            Some(location) => Selector::Location { location, component, components },
            None => built_in(&declarations, output),
        };
        CaptureEntry::new(selector, output.buffer, output.offset)
    });
    Ok(CaptureList::default().captures(captures.collect()).strides(layout.strides))
}

fn built_in(declarations: &Declarations, output: &CapturedOutput) -> Selector {
    let CapturedOutput { variable, ref path, .. } = *output;
    let member = || {
        let ty = declarations.variable(variable)?.pointee;
        declarations.member_decoration_value(ty, *path.first()?, Decoration::BuiltIn)
    };
    let own = declarations.decoration_value(variable, Decoration::BuiltIn);
    let which = own.or_else(member).and_then(BuiltIn::from_u32).unwrap();
    // The index of an element of ClipDistance or CullDistance.
    let component = path.get(usize::from(own.is_none())).copied().unwrap_or(0);
    Selector::BuiltIn { built_in: which, component, components: output.dwords() }
}

/// Draws cases with the device's own transform feedback, and compares what it captures with the model.
pub struct DrawnWorker {
    native: Result<Native, &'static str>,
    space: Space,
    report: Report,
}

impl DrawnWorker {
    pub fn new() -> Self {
        let native = Native::open();
        let mut space = Space::whole(Draws::Direct);
        // A driver without geometry shaders draws stream 0 alone.
        space.streams = Streams::One;
        let has = |of: fn(&Native) -> bool| native.as_ref().is_ok_and(of);
        (space.float64, space.int64) = (has(|n| n.float64), has(|n| n.int64));
        Self { native, space, report: Report::default() }
    }

    fn case(&mut self, case: &Case, modules: &Modules) -> Result<(), &'static str> {
        let native = self.native.as_ref().map_err(|reason| *reason)?;
        native.takes(case)?;
        if !native.addresses {
            return Err("the device has no addresses of buffers");
        }
        let drawn = match DrawnCase::new(case, modules) {
            Ok(drawn) => drawn,
            Err(LowerError::NotDrawn(reason)) => return Err(reason),
            Err(LowerError::Capture(_)) => return Err("outputs that vertex shaders do not have"),
            Err(error) => panic!("seed {}: {error}\n{}", case.seed, case.describe()),
        };
        if !drawn.is_fixed {
            return Err("the list has vertices that are not emitted");
        }
        let expected = model::expected(case);
        if let Some(reason) = known::excluded(&native.driver, &expected) {
            return Err(reason);
        }
        let found = native.run_drawn(case, &drawn);
        let compared = expected.compare(&found.image, &found.queries);
        if let Some(fault) = known::fault(&native.driver, case, &expected) {
            self.report.fault(fault.reason, compared.is_err());
            return Ok(());
        }
        *self.report.compared.entry(Backend::Native).or_default() += 1;
        self.report.count(drawn.listing.name(), 1);
        let messages = native.take_messages().into_iter();
        for error in messages.chain(compared.err()) {
            let failure = format!("seed {}, drawn: {error}\n{}", case.seed, case.describe());
            self.report.failures.push(failure);
        }
        Ok(())
    }
}

impl Worker for DrawnWorker {
    fn batch(&mut self, seeds: &[u64]) {
        let cases: Vec<Case> = seeds.iter().map(|seed| case(*seed, &self.space)).collect();
        let programs: Vec<_> = cases.iter().map(|case| &case.program).collect();
        let modules = compile(&programs);
        for (case, modules) in cases.iter().zip(&modules) {
            if let Err(reason) = self.case(case, modules) {
                self.report.exclude(Backend::Native, reason);
            }
        }
    }

    fn report(&mut self) -> &mut Report {
        &mut self.report
    }

    fn finish(self) -> Report {
        self.report
    }
}
