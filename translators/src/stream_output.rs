//! Makes a [`CaptureList`] from Gallium's stream outputs
//! ([`pipe_stream_output_info`](https://gitlab.freedesktop.org/mesa/mesa/-/blob/main/src/gallium/include/pipe/p_state.h)).
//!
//! A stream output names an output by a register: the index of the output among those that the
//! shader writes, in the order of `gl_varying_slot` ([`VaryingSlot`]). A stream output has at most
//! four dwords, so a `dvec3` consists of two stream outputs, and a matrix of more. Stream outputs
//! that are contiguous both in the shader's outputs and in the buffer are merged first. One reason
//! is that a single stream output may end inside a 64-bit component. The other is that the list
//! then has one entry for a value that is captured as a whole.

mod error;

pub use error::{CaptureListError, StreamOutputError, StreamOutputField, StreamOutputProblem};

use vkxfb_rewriter::capture::{
    CaptureEntry, CaptureList, MAX_XFB_BUFFERS, MAX_XFB_STRIDE, Selector,
};
use vkxfb_rewriter::capture::{Outputs, Space, Written, place_of, stream_of};
use vkxfb_rewriter::lower::LowerError;
use vkxfb_rewriter::lower::Shader;
use vkxfb_rewriter::spirv::Module;
use vkxfb_rewriter::spirv::declarations::Declarations;
use vkxfb_rewriter::spirv::entry_point::EntryPoint;

use crate::slots::{Packed, Packing, VaryingSlot};

/// The number of registers that the six bits of `pipe_stream_output::register_index` can name.
const MAX_REGISTERS: u32 = 64;

/// A `pipe_stream_output`: components of an output that are captured to a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StreamOutput {
    /// The index of the register among those of the written outputs, 0 to 63. An output with
    /// several locations has a register for each of them.
    pub register_index: u32,
    /// The first component in the register, 0 to 3. A 64-bit component counts as two.
    pub start_component: u32,
    /// The number of components, 1 to 4. All of them must be in the register.
    pub num_components: u32,
    /// The number of the capture buffer, 0 to 3.
    pub output_buffer: u32,
    /// The offset in dwords from the start of the vertex's record.
    pub dst_offset: u32,
    /// The vertex stream of the output. It is 0, except for geometry shaders.
    pub stream: u32,
}

/// The locations that slots have in a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SlotLocations {
    /// The locations that [`Packing`] assigns: 0 to 10 for `COL0` to `VIEWPORT_MASK`, and 11 + n for `VARn`.
    #[default]
    Packed,
    /// `VARn` has location n, as in a shader that was written for Vulkan.
    Unpacked,
}

/// A `pipe_stream_output_info`: the outputs to capture, and the strides of the buffers.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct StreamOutputInfo {
    /// The stream outputs, in any order.
    pub outputs: Vec<StreamOutput>,
    /// The stride of each buffer in dwords, at most 512. 0 for a buffer that is not used.
    pub strides: [u32; MAX_XFB_BUFFERS],
    /// The locations that slots have in the module.
    pub locations: SlotLocations,
    /// `shader_info::outputs_written`, one bit per slot, if the translator knows it. If it is
    /// `None`, [`written_slots`](Self::written_slots) computes it.
    pub outputs_written: Option<u64>,
}

impl StreamOutputInfo {
    /// Returns the slots of the written outputs, in the order of registers.
    ///
    /// If `outputs_written` is `None`, an output counts as written if it has an initialiser, or if
    /// `entry` or a function that it calls stores to it. A store with an index that is not constant
    /// counts as a write to all elements of the array. A pointer that is passed to a function
    /// counts as a write to everything that it points to. An output at a location that is not a
    /// slot (32 or higher) has no register.
    pub fn written_slots(
        &self,
        module: &Module,
        declarations: &Declarations,
        entry: &EntryPoint,
    ) -> Vec<VaryingSlot> {
        let written = self.outputs_written.unwrap_or_else(|| {
            let outputs = Outputs::of(declarations, entry);
            self.slots(&outputs, &Written::of(module, declarations, entry))
        });
        VaryingSlot::ALL.into_iter().filter(|slot| written >> slot.index() & 1 == 1).collect()
    }

    /// Returns the written outputs as bits, one for each slot.
    fn slots(&self, outputs: &Outputs<'_>, written: &Written) -> u64 {
        let mut slots = 0u64;
        let mut add = |slot: Option<VaryingSlot>| {
            slots |= slot.map_or(0, |slot| 1 << slot.index());
        };
        let built_ins =
            VaryingSlot::ALL.into_iter().filter_map(|slot| self.place(slot)?.built_in());
        for space in built_ins.chain([Space::Locations]) {
            for (first, output) in outputs.places(space) {
                let last = first + u64::from(output.dwords().max(1)) - 1;
                for register in (first / 4..=last / 4).filter(|_| written.covers(output)) {
                    let register = u32::try_from(register).unwrap_or(u32::MAX);
                    add(match space {
                        Space::BuiltIn(which) => {
                            VaryingSlot::of_built_in(which, register.saturating_mul(4))
                        }
                        Space::Locations => self.slot_at(register),
                    });
                }
            }
        }
        slots
    }

    fn slot_at(&self, location: u32) -> Option<VaryingSlot> {
        match self.locations {
            SlotLocations::Packed => VaryingSlot::at_location(location),
            SlotLocations::Unpacked => VaryingSlot::var(location),
        }
    }

    /// Returns the first dword of a slot's built-in or location. `None` if the slot has neither in
    /// the module.
    fn place(&self, slot: VaryingSlot) -> Option<OutputDword> {
        match (Packing::default().pack(slot).ok(), self.locations) {
            (Some(Packed::BuiltIn { built_in, first_element }), _) => {
                let space = Space::BuiltIn(built_in);
                Some(OutputDword { space, first: first_element.into() })
            }
            (Some(Packed::Location(location)), SlotLocations::Packed) => {
                Some(OutputDword::at(location))
            }
            (_, SlotLocations::Unpacked) => slot.generic().map(OutputDword::at),
            _ => None,
        }
    }
}

/// A dword of the shader's outputs, at which a register or a [`Run`] begins.
#[derive(Debug, Clone, Copy)]
struct OutputDword {
    space: Space,
    first: u64,
}

impl OutputDword {
    fn at(location: u32) -> Self {
        Self { space: Space::Locations, first: u64::from(location) * 4 }
    }

    fn built_in(self) -> Option<Space> {
        matches!(self.space, Space::BuiltIn(_)).then_some(self.space)
    }
}

/// Dwords of outputs that follow each other in a buffer: one stream output, or several merged ones.
#[derive(Debug, Clone, Copy)]
struct Run {
    /// The indices of the first and the last stream output.
    indices: (usize, usize),
    start: OutputDword,
    slots: (VaryingSlot, VaryingSlot),
    dwords: u32,
    buffer: u32,
    /// The offset in dwords from the start of the vertex's record.
    offset: u32,
}

impl Run {
    /// Appends `next` if it follows this run both in the outputs and in the buffer. Returns whether
    /// it does.
    fn absorb(&mut self, next: &Self) -> bool {
        let goes_on = self.start.space == next.start.space
            && self.start.first + u64::from(self.dwords) == next.start.first
            && self.buffer == next.buffer
            && self.offset + self.dwords == next.offset;
        if goes_on {
            self.indices.1 = next.indices.1;
            self.slots.1 = next.slots.1;
            self.dwords += next.dwords;
        }
        goes_on
    }

    fn selector(&self) -> Selector {
        let OutputDword { space, first } = self.start;
        let (first, components) = (first as u32, self.dwords);
        match space {
            Space::Locations => {
                Selector::Location { location: first / 4, component: first % 4, components }
            }
            Space::BuiltIn(built_in) => {
                Selector::BuiltIn { built_in, component: first, components }
            }
        }
    }
}

impl StreamOutputInfo {
    /// Returns the capture list that captures the same as these stream outputs.
    ///
    /// # Errors
    /// [`CaptureListError::Output`] with the index and the field of a stream output that does not
    /// match the shader. [`CaptureListError::Shader`] in the cases in which [`Shader::varyings`]
    /// fails.
    pub fn capture_list(&self, shader: &Shader<'_>) -> Result<CaptureList, CaptureListError> {
        let module = shader.module()?;
        let entry = shader.find(&module).map_err(LowerError::from)?;
        Ok(self.list_of(&module, &Declarations::of(&module), &entry)?)
    }

    /// Like [`capture_list`](Self::capture_list), for a module that is already parsed.
    pub fn list_of(
        &self,
        module: &Module,
        declarations: &Declarations,
        entry: &EntryPoint,
    ) -> Result<CaptureList, StreamOutputError> {
        let outputs = Outputs::of(declarations, entry);
        let registers = self.written_slots(module, declarations, entry);
        let each: Result<Vec<Run>, StreamOutputError> = (0..)
            .zip(&self.outputs)
            .map(|(index, output)| self.resolve(&outputs, &registers, index, output))
            .collect();
        let mut each = each?;
        each.sort_by_key(|run| (run.buffer, run.offset));
        let mut runs: Vec<Run> = Vec::new();
        for run in &each {
            if let Some(last) = runs.last_mut() {
                if last.buffer == run.buffer && last.offset + last.dwords > run.offset {
                    let other = last.indices.1;
                    let problem = StreamOutputProblem::Overlap { other };
                    let (field, value) = (StreamOutputField::DstOffset, run.offset);
                    return Err(StreamOutputError { index: run.indices.0, field, value, problem });
                }
                if last.absorb(run) {
                    continue;
                }
            }
            runs.push(*run);
        }
        let mut list = CaptureList::default();
        for run in &runs {
            self.check_wide(&outputs, run)?;
            let (selector, buffer, offset) = (run.selector(), run.buffer, run.offset * 4);
            list.captures.push(CaptureEntry::new(selector, buffer, offset));
            list.strides[buffer as usize] = Some(self.strides[buffer as usize] * 4);
        }
        Ok(list)
    }

    /// Finds the dwords of a stream output. It is an error if one of them does not exist.
    fn resolve(
        &self,
        outputs: &Outputs<'_>,
        registers: &[VaryingSlot],
        index: usize,
        output: &StreamOutput,
    ) -> Result<Run, StreamOutputError> {
        use StreamOutputField::{
            DstOffset, NumComponents, OutputBuffer, RegisterIndex, StartComponent, Stream,
        };
        let StreamOutput { register_index, start_component, num_components, .. } = *output;
        let StreamOutput { output_buffer, dst_offset, stream, .. } = *output;
        let fail = |field, value, problem| Err(StreamOutputError { index, field, value, problem });
        let range = |min, max| StreamOutputProblem::Range { min, max };
        for (field, value, min, max) in [
            (RegisterIndex, register_index, 0, MAX_REGISTERS - 1),
            (StartComponent, start_component, 0, 3),
            (NumComponents, num_components, 1, 4),
            (OutputBuffer, output_buffer, 0, MAX_XFB_BUFFERS as u32 - 1),
        ] {
            if !(min..=max).contains(&value) {
                return fail(field, value, range(min, max));
            }
        }
        if start_component + num_components > 4 {
            return fail(NumComponents, num_components, range(1, 4 - start_component));
        }
        let Some(slot) = registers.get(register_index as usize).copied() else {
            let problem = StreamOutputProblem::NotWritten { written: registers.len() };
            return fail(RegisterIndex, register_index, problem);
        };
        let Some(OutputDword { space, first }) = self.place(slot) else {
            return fail(RegisterIndex, register_index, StreamOutputProblem::NoOutput { slot });
        };
        let places = outputs.places(space);
        if (first..first + 4).all(|dword| place_of(&places, dword).is_none()) {
            return fail(RegisterIndex, register_index, StreamOutputProblem::NoOutput { slot });
        }
        for component in start_component..start_component + num_components {
            let Some((_, output)) = place_of(&places, first + u64::from(component)) else {
                let problem = StreamOutputProblem::NoComponent { slot, component };
                return if component == start_component {
                    fail(StartComponent, start_component, problem)
                } else {
                    fail(NumComponents, num_components, problem)
                };
            };
            let actual = stream_of(outputs.declarations, output);
            if stream != actual {
                return fail(Stream, stream, StreamOutputProblem::Stream { actual });
            }
        }
        let stride = self.strides[output_buffer as usize];
        if !(1..=MAX_XFB_STRIDE / 4).contains(&stride) {
            return fail(OutputBuffer, output_buffer, StreamOutputProblem::Stride { stride });
        }
        if u64::from(dst_offset) + u64::from(num_components) > u64::from(stride) {
            return fail(DstOffset, dst_offset, StreamOutputProblem::BeyondStride { stride });
        }
        Ok(Run {
            indices: (index, index),
            start: OutputDword { space, first: first + u64::from(start_component) },
            slots: (slot, slot),
            dwords: num_components,
            buffer: output_buffer,
            offset: dst_offset,
        })
    }

    /// Checks that a run neither begins nor ends inside a 64-bit component.
    fn check_wide(&self, outputs: &Outputs<'_>, run: &Run) -> Result<(), StreamOutputError> {
        let places = outputs.places(run.start.space);
        let is_half = |before: u64| {
            place_of(&places, before).is_some_and(|(first, output)| {
                !(before - first).is_multiple_of(u64::from(output.bits / 32))
            })
        };
        let first = run.start.first;
        let last = first + u64::from(run.dwords) - 1;
        let of = |index: usize| self.outputs.get(index);
        if is_half(first) {
            let index = run.indices.0;
            let value = of(index).map_or(0, |output| output.start_component);
            let problem = StreamOutputProblem::SplitComponent { slot: run.slots.0 };
            return Err(StreamOutputError {
                index,
                field: StreamOutputField::StartComponent,
                value,
                problem,
            });
        }
        let ends_wide = place_of(&places, last).is_some_and(|(_, output)| output.bits == 64);
        if ends_wide && !is_half(last) {
            let index = run.indices.1;
            let value = of(index).map_or(0, |output| output.num_components);
            let problem = StreamOutputProblem::SplitComponent { slot: run.slots.1 };
            return Err(StreamOutputError {
                index,
                field: StreamOutputField::NumComponents,
                value,
                problem,
            });
        }
        Ok(())
    }
}
