//! This module generates the bodies of the stubs with which `shaders/staged.wgsl` and `shaders/emitted.wgsl` collect
//! vertices in shared memory, and `shaders/patches.wgsl` slices of patches.
//!
//! Shared memory contains only the captured dwords of a vertex, in the order of the buffer. The
//! *gaps* of a record, which are not captured, are left out, because their contents in the buffer
//! must not change. Invocations copy records in *units* of 1, 2 or 4 dwords.

use spirv::{MemoryModel, Op, StorageClass};

use crate::capture::{Layout, MAX_XFB_BUFFERS};
use crate::lower::functions::{Function, StagingStub};
use crate::lower::options::Target;
use crate::lower::resources::ResourcePlan;
use crate::lower::stages::SharedPatch;
use crate::lower::stages::modes::LoweredGeometry;
use crate::lower::store::{Store, StoredOutputs, store_tested};
use crate::spirv::emit::{Builder, Code};
use crate::spirv::link::{LinkError, Linker, Stub};
use crate::spirv::{Id, Section};

/// The largest number of records that the vertex of an invocation is captured to: a vertex of a strip is in up to
/// three primitives.
const RECORDS_PER_ITEM: u32 = 3;

/// The largest size in bytes of the shared memory for vertices, unless [`VERTICES`] vertices need
/// more. With more shared memory, fewer workgroups run concurrently; with less, a workgroup needs more rounds, in each
/// of which it collects and stores some of its vertices. On an NVIDIA H200, captures of triangle strips with shared
/// memory for 16 to 64 vertices of 64 bytes differ by at most 4 % in speed, and so do those with shared memory for 4
/// to 32 vertices of 256 bytes.
const BYTES: u32 = 2560;
const VERTICES: u32 = 16;

/// The size in bytes of the shared memory for what a geometry shader emits that is preferred to letting more invocations
/// stage at the same time. GPUs that have their shared memory in the cache of a multiprocessor need the rest of it for
/// vertices: a triangle of a list has its vertices in a cache line, but loads them one after the other. An NVIDIA H200
/// captures what a shader that culls every second triangle emits at 0.41 of the speed of a copy with 2 to 4 KiB, and at
/// 0.32 with 8 or 16 KiB.
const EMITTED_BYTES: u32 = 2560;

/// The number of dwords of a slice of a patch in the list of `shaders/patches.wgsl`: `SLICE_SIZE` there.
const SLICE_SIZE: u32 = 11;

/// The most padding in bytes that a variable in shared memory may need, because the next one may begin at a multiple of
/// 16 bytes. It counts for the limit of the device
/// ([VUID-RuntimeSpirv-Workgroup-06530](https://docs.vulkan.org/spec/latest/appendices/spirvenv.html#VUID-RuntimeSpirv-Workgroup-06530)).
const PADDING: u32 = 12;

/// The largest number of gaps (runs of dwords that are not captured) in a record. With each gap, copying a unit takes
/// one more comparison.
const MAX_GAPS: usize = 4;

/// In shared memory, records of at least this many units (of 1, 2 or 4 dwords) are padded to an odd number of units,
/// so that neighbouring invocations write to different memory banks. Captures of 64 bytes per record then reach 1.00
/// of the roofline (`bench/README.md`) instead of 0.72.
const PADDED_UNITS: u32 = 4;

/// The shared memory of a workgroup.
#[derive(Debug)]
pub(super) struct Staging {
    /// The number of vertices that fit into the shared memory.
    vertices: u32,
    bytes: u32,
    /// The list of the numbers of the records to copy, `shared uint listed[workgroup size * RECORDS_PER_ITEM]`; with a
    /// geometry shader the list of `shaders/emitted.wgsl`.
    listed: Id,
    staged: Staged,
    buffers: [Option<StagedBuffer>; MAX_XFB_BUFFERS],
}

/// What a workgroup stages.
#[derive(Debug, Clone, Copy)]
enum Staged {
    /// The vertices of a vertex shader (`shaders/staged.wgsl`).
    Vertices,
    /// What a geometry shader emits (`shaders/emitted.wgsl`). `stagers` invocations stage at the same time, each of them
    /// at most `records` records of an item.
    Emitted { stagers: u32, records: u32 },
    /// Slices of patches (`shaders/patches.wgsl`), of `stagers` invocations at the same time.
    Slices { stagers: u32 },
}

/// The part of the shared memory for one capture buffer.
#[derive(Debug)]
struct StagedBuffer {
    /// The shared variable with the staged records, an array of units (`uint`, `uvec2` or `uvec4`).
    variable: Id,
    /// The numbers of units from a vertex to the next one, and from a unit of a vertex to its next one.
    pitches: [u32; 2],
    shape: Shape,
}

/// The layout of a record in shared memory.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Shape {
    /// The size in dwords of a unit (what one invocation copies at once): 1, 2 or 4.
    unit: u32,
    /// The number of captured units in a record.
    units: u32,
    /// The number of units from one record to the next in shared memory.
    pitch: u32,
    /// The number of dwords from one record to the next in the capture buffer.
    stride: u32,
    /// For each gap (a run of dwords that are not captured): the number of captured units before the gap, and the size
    /// of the gap in dwords.
    gaps: Vec<(u32, u32)>,
}

impl Staging {
    /// Declares the shared memory for the records of vertex shaders. `workgroup_size` is the
    /// specialisation constant with the number of invocations. Returns `None` if the records cannot
    /// be staged.
    pub(super) fn declare(
        builder: &mut Builder<'_>,
        layout: &Layout,
        target: &Target,
        workgroup_size: Id,
    ) -> Option<Self> {
        let (shapes, record) = shapes(builder, layout, target)?;
        let sizes = target.workgroup_sizes;
        let largest = sizes.staged().into_iter().fold(0, u32::max);
        let listed_bytes = largest.saturating_mul(RECORDS_PER_ITEM).checked_mul(4)?;
        let most_bytes = target.staging.checked_sub(listed_bytes)?;
        let bytes = most_bytes.min(BYTES.max(record.saturating_mul(VERTICES)));
        // The number of vertices per round is even, because in captures of triangle fans two consecutive invocations
        // belong together: one runs the shader for a vertex of the rim, the other for the first vertex of the fan.
        let room = sizes.others.min(bytes.checked_div(record)?) & !1;
        if room == 0 || !sizes.staged().iter().all(|size| size.is_multiple_of(2)) {
            return None;
        }
        // A workgroup takes as few rounds as possible, with about the same number of vertices in
        // each.
        let rounds = sizes.others.div_ceil(room);
        let vertices = sizes.others.div_ceil(rounds).next_multiple_of(2);
        let listed = {
            let uint = builder.uint();
            let per_item = builder.constant(RECORDS_PER_ITEM);
            let length = builder.module.fresh_id();
            let product = [uint.0, length.0, Op::IMul as u32, workgroup_size.0, per_item.0];
            builder.module.push(Section::Declarations, Op::SpecConstantOp, &product);
            let array = builder.declare_new(Op::TypeArray, &[uint.0, length.0]);
            builder.variable(StorageClass::Workgroup, array)
        };
        builder.name(listed, "xfb_listed");
        let buffers = shapes.map(|shape| Some(StagedBuffer::of_records(builder, shape?, vertices)));
        let bytes = vertices * record + listed_bytes;
        Some(Self { vertices, bytes, listed, staged: Staged::Vertices, buffers })
    }

    /// Declares the shared memory for the vertices that a geometry shader emits. Returns `None` if they are not staged.
    /// Behind tessellation shaders they never are, because a patch mostly has too many vertices.
    ///
    /// If the vertices of all invocations need more than [`EMITTED_BYTES`], a half or a quarter of the invocations stage
    /// at the same time. If even a quarter exceeds the limit of the device, nothing is staged.
    pub(super) fn of_emitted(
        builder: &mut Builder<'_>,
        layout: &Layout,
        target: &Target,
        geometry: &LoweredGeometry,
    ) -> Option<Self> {
        if geometry.tessellation.is_some() {
            return None;
        }
        let (shapes, _) = shapes(builder, layout, target)?;
        let most = geometry.max_vertices.checked_mul(geometry.invocations)?;
        let records = geometry.most_records();
        let invocations = target.workgroup_sizes.others;
        let of_turns = |turns: u32, limit: u32| {
            let stagers = invocations / turns;
            // The stride of the places of vertices is `stage_stride` in the shader.
            let vertices = most.checked_mul(stagers + 1)?;
            let units = shapes.iter().flatten().map(|shape| {
                (shape.units.checked_mul(shape.plane(vertices))?).checked_mul(4 * shape.unit)
            });
            let list = records.checked_add(1)?.checked_mul(stagers)?.checked_mul(4)?;
            let bytes = units
                .chain([Some(list)])
                .try_fold(0u32, |sum, bytes| sum.checked_add(PADDING)?.checked_add(bytes?))?;
            (invocations.is_multiple_of(turns) && bytes <= limit)
                .then_some((stagers, vertices, bytes))
        };
        let small = EMITTED_BYTES.min(target.staging);
        let tried = [(1, small), (2, small), (4, small), (4, target.staging)];
        let (stagers, vertices, bytes) =
            tried.into_iter().find_map(|(turns, limit)| of_turns(turns, limit))?;
        let uint = builder.uint();
        let length = builder.constant((records + 1) * stagers);
        let array = builder.declare_new(Op::TypeArray, &[uint.0, length.0]);
        let listed = builder.variable(StorageClass::Workgroup, array);
        builder.name(listed, "xfb_listed");
        let buffers = shapes.map(|shape| Some(StagedBuffer::of_planes(builder, shape?, vertices)));
        let staged = Staged::Emitted { stagers, records };
        Some(Self { vertices, bytes, listed, staged, buffers })
    }

    /// Declares the shared memory for slices of patches (`shaders/patches.wgsl`), beside that of the `patch` of each.
    /// Returns `None` if there is not enough for a sixteenth of the invocations at the same time.
    pub(super) fn of_patches(
        builder: &mut Builder<'_>,
        target: &Target,
        patch: SharedPatch,
    ) -> Option<Self> {
        if !builder.module.has_memory_model(MemoryModel::GLSL450) {
            return None;
        }
        let invocations = target.workgroup_sizes.others;
        let bytes_of_each = patch.bytes.checked_add(4 * SLICE_SIZE)?;
        let padding = PADDING.checked_mul(patch.variables + 1)?;
        let bytes_of = |stagers: u32| bytes_of_each.checked_mul(stagers)?.checked_add(padding);
        let mut tried = [1, 2, 4, 8, 16].into_iter().map(|turns| invocations / turns);
        let fits = |stagers: &u32| {
            *stagers > 0 && bytes_of(*stagers).is_some_and(|bytes| bytes <= target.staging)
        };
        let stagers = tried.find(fits)?;
        let bytes = bytes_of(stagers)?;
        let uint = builder.uint();
        let length = builder.constant(SLICE_SIZE * stagers);
        let array = builder.declare_new(Op::TypeArray, &[uint.0, length.0]);
        let listed = builder.variable(StorageClass::Workgroup, array);
        builder.name(listed, "xfb_listed");
        let buffers = [const { None }; MAX_XFB_BUFFERS];
        let staged = Staged::Slices { stagers };
        Some(Self { vertices: 0, bytes, listed, staged, buffers })
    }

    /// The number of invocations whose patches are in shared memory at the same time; 0 without tessellation shaders.
    pub(super) fn shared_patches(&self) -> u32 {
        match self.staged {
            Staged::Slices { stagers } => stagers,
            Staged::Vertices | Staged::Emitted { .. } => 0,
        }
    }

    pub(super) const fn bytes(&self) -> u32 {
        self.bytes
    }

    pub(super) fn define(
        &self,
        linker: &mut Linker<'_, '_>,
        outputs: &StoredOutputs<'_>,
        name: StagingStub,
        stub: &Stub,
    ) -> Result<Option<Code>, LinkError> {
        Ok(Some(match name {
            StagingStub::StagedVertices => Code::returning(linker.builder.constant(self.vertices)),
            StagingStub::StagedUnits => Code::returning(linker.builder.constant(self.most_units())),
            StagingStub::EmitsTogether => {
                let is_staged = !matches!(self.staged, Staged::Vertices);
                Code::returning(linker.builder.constant_bool(is_staged))
            }
            StagingStub::Stagers => match self.staged {
                Staged::Emitted { stagers, .. } | Staged::Slices { stagers } => {
                    Code::returning(linker.builder.constant(stagers))
                }
                Staged::Vertices => return Ok(None),
            },
            StagingStub::MostRecords => match self.staged {
                Staged::Emitted { records, .. } => {
                    Code::returning(linker.builder.constant(records))
                }
                Staged::Slices { .. } | Staged::Vertices => return Ok(None),
            },
            StagingStub::StageItem => {
                let function = match self.staged {
                    Staged::Emitted { .. } => Function::StageEmittedItem,
                    Staged::Slices { .. } => Function::StageSlice,
                    Staged::Vertices => return Ok(None),
                };
                let arguments: [Id; 3] = stub.parameters()?;
                function.called(linker, &arguments)?
            }
            StagingStub::StoreItems => {
                let function = match self.staged {
                    Staged::Emitted { .. } => Function::StoreEmittedItems,
                    Staged::Slices { .. } => Function::EvaluateSlices,
                    Staged::Vertices => return Ok(None),
                };
                let arguments: [Id; 2] = stub.parameters()?;
                function.called(linker, &arguments)?
            }
            StagingStub::StageRecord => {
                let [slot] = stub.parameters()?;
                self.stage_record(&mut linker.builder, outputs, slot)
            }
            StagingStub::StoreStaged => self.store_staged(linker, outputs, stub.parameters()?)?,
            StagingStub::ListOutput => {
                let [number, output] = stub.parameters()?;
                let mut code = Code::default();
                let pointer = self.listed(&mut linker.builder, &mut code, number);
                code.push(Op::Store, &[pointer.0, output.0]);
                code.push(Op::Return, &[]);
                code
            }
            StagingStub::ListedOutput => {
                let [number] = stub.parameters()?;
                let mut code = Code::default();
                let builder = &mut linker.builder;
                let pointer = self.listed(builder, &mut code, number);
                let uint = builder.uint();
                let output = code.value(builder, Op::Load, uint, &[pointer.0]);
                code.push(Op::ReturnValue, &[output.0]);
                code
            }
        }))
    }

    fn stage_record(
        &self,
        builder: &mut Builder<'_>,
        outputs: &StoredOutputs<'_>,
        slot: Id,
    ) -> Code {
        let mut code = Code::default();
        let values = outputs.load_all(builder, &mut code);
        let uint = builder.uint();
        for (buffer, staged) in self.buffers() {
            let pitches = staged.pitches;
            let pitch = builder.constant(pitches[0]);
            let first = code.value(builder, Op::IMul, uint, &[slot.0, pitch.0]);
            let units = outputs.units(builder, &mut code, &values, buffer, staged.shape.unit);
            for (number, value) in (0..).zip(units) {
                let number = builder.constant(number * pitches[1]);
                let index = code.value(builder, Op::IAdd, uint, &[first.0, number.0]);
                let pointer = staged.element(builder, &mut code, index);
                code.push(Op::Store, &[pointer.0, value.0]);
            }
        }
        code.push(Op::Return, &[]);
        code
    }

    fn store_staged(
        &self,
        linker: &mut Linker<'_, '_>,
        outputs: &StoredOutputs<'_>,
        [first, count, unit, listing]: [Id; 4],
    ) -> Result<Code, LinkError> {
        let mut code = Code::default();
        for (buffer, staged) in self.buffers() {
            let shape = &staged.shape;
            let builder = &mut linker.builder;
            let (uint, bool_type) = (builder.uint(), builder.bool());
            let units = builder.constant(shape.units);
            // The caller numbers the units (of 1, 2 or 4 dwords) of the buffer whose records have the most
            // units. In the other buffers, the highest numbers are beyond the last unit, so the copy of a
            // unit is conditional.
            let merge = (shape.units < self.most_units()).then(|| {
                let end = code.value(builder, Op::IMul, uint, &[count.0, units.0]);
                let exists = code.value(builder, Op::ULessThan, bool_type, &[unit.0, end.0]);
                code.begin_if(builder, exists)
            });
            outputs.if_bound(linker, &mut code, buffer, |linker, code| {
                let builder = &mut linker.builder;
                let record = code.value(builder, Op::UDiv, uint, &[unit.0, units.0]);
                let nth = code.value(builder, Op::UMod, uint, &[unit.0, units.0]);
                let number = code.value(builder, Op::IAdd, uint, &[first.0, record.0]);
                let listed_record = Function::ListedRecord.id(linker)?;
                let vertex_of_listed = Function::VertexOfListed.id(linker)?;
                let builder = &mut linker.builder;
                let output = code.call(builder, uint, listed_record, &[number, listing]);
                let none = builder.constant(u32::MAX);
                let is_captured =
                    code.value(builder, Op::INotEqual, bool_type, &[output.0, none.0]);
                let merge = code.begin_if(builder, is_captured);
                let vertex = code.call(builder, uint, vertex_of_listed, &[record, listing]);
                let [pitch, next] = staged.pitches.map(|pitch| builder.constant(pitch));
                let place = code.value(builder, Op::IMul, uint, &[vertex.0, pitch.0]);
                let in_vertex = code.value(builder, Op::IMul, uint, &[nth.0, next.0]);
                let place = code.value(builder, Op::IAdd, uint, &[place.0, in_vertex.0]);
                let pointer = staged.element(builder, code, place);
                let vector = builder.uvec(shape.unit);
                let value = code.value(builder, Op::Load, vector, &[pointer.0]);
                let dword = shape.dword(builder, code, nth);
                let zero = builder.constant(0);
                // All records have the same alignment as record 0. The address of record 0 is the same
                // in each iteration of the loop that calls this stub (`shaders/staged.wgsl`), so
                // compilers can move the test of the alignment out of the loop.
                let tested = outputs.record_address(linker, code, buffer, zero)?;
                let address = outputs.record_address(linker, code, buffer, output)?;
                // Units begin at multiples of their size in a record, and the stride is a multiple
                // of this size.
                let store = Store { index: dword, value, dwords: shape.unit, may_be_aligned: true };
                store_tested(linker, code, tested, address, &[store])?;
                code.end_if(merge);
                Ok(())
            })?;
            merge.into_iter().for_each(|merge| code.end_if(merge));
        }
        code.push(Op::Return, &[]);
        Ok(code)
    }

    /// Generates a pointer to element `number` of the list.
    fn listed(&self, builder: &mut Builder<'_>, code: &mut Code, number: Id) -> Id {
        let uint = builder.uint();
        let pointer = builder.pointer(StorageClass::Workgroup, uint);
        code.value(builder, Op::AccessChain, pointer, &[self.listed.0, number.0])
    }

    /// The number of units (of 1, 2 or 4 dwords) of a record, in the buffer whose records have the most units.
    fn most_units(&self) -> u32 {
        self.buffers().map(|(_, buffer)| buffer.shape.units).max().unwrap_or(0)
    }

    fn buffers(&self) -> impl Iterator<Item = (usize, &StagedBuffer)> {
        self.buffers.iter().enumerate().filter_map(|(n, buffer)| Some((n, buffer.as_ref()?)))
    }
}

/// Computes the layout of records in shared memory for each capture buffer, and the size in bytes
/// of a vertex, which has a record for each buffer. Returns `None` if the records cannot be staged.
fn shapes(
    builder: &Builder<'_>,
    layout: &Layout,
    target: &Target,
) -> Option<([Option<Shape>; MAX_XFB_BUFFERS], u32)> {
    // The memory model Vulkan would need availability and visibility operations for shared memory.
    if !builder.module.has_memory_model(MemoryModel::GLSL450) {
        return None;
    }
    let mut shapes = [const { None }; MAX_XFB_BUFFERS];
    for (buffer, stride) in layout.buffers() {
        shapes[buffer] = Some(Shape::new(layout, buffer, stride / 4, target.resources)?);
    }
    let record = shapes.iter().flatten().map(Shape::bytes).sum();
    Some((shapes, record))
}

impl Shape {
    /// Computes the layout in shared memory of the records for a buffer, whose stride is `stride` dwords. Returns
    /// `None` if a record has more than [`MAX_GAPS`] gaps (runs of dwords that are not captured), or no captured dwords.
    fn new(layout: &Layout, buffer: usize, stride: u32, resources: ResourcePlan) -> Option<Self> {
        // The unit has to divide the stride, the number of captured dwords, and the dwords at which gaps
        // begin and end. `divided` combines all these numbers by "or": a power of two that divides it
        // divides each of them.
        let mut captured = 0;
        let mut gaps = Vec::new();
        let mut end = 0;
        let mut divided = stride;
        for output in layout.outputs_of(buffer) {
            let first = output.offset / 4;
            if first > end {
                gaps.push((captured, first - end));
                divided |= first | end;
            }
            captured += output.dwords();
            end = first + output.dwords();
        }
        divided |= captured;
        // Under the descriptor plan, accesses that are not aligned are split into single dwords. So units are single
        // dwords, too.
        let widest = match resources {
            ResourcePlan::DeviceAddress => 4,
            ResourcePlan::Descriptors { .. } => 1,
        };
        let unit = widest.min(1 << divided.trailing_zeros().min(2));
        let units = captured / unit;
        let pitch = if units < PADDED_UNITS { units } else { units | 1 };
        gaps.iter_mut().for_each(|(before, _)| *before /= unit);
        (gaps.len() <= MAX_GAPS && units > 0).then_some(Self { unit, units, pitch, stride, gaps })
    }

    /// The size in bytes of a record in shared memory, with padding.
    const fn bytes(&self) -> u32 {
        4 * self.unit * self.pitch
    }

    /// The number of units from the first units of all of `vertices` vertices to their second units, where the first units
    /// of all vertices are consecutive. So much that the units of a few consecutive vertices are in different memory
    /// banks: NVIDIA's and AMD's GPUs have 32, each for a dword.
    const fn plane(&self, vertices: u32) -> u32 {
        let banks = 32 / self.unit;
        let apart = if self.units < banks { banks / self.units } else { 1 };
        vertices.saturating_add((apart + banks - vertices % banks) % banks)
    }

    /// Generates the number of the dword in a record of the capture buffer to which unit `nth` (of
    /// 1, 2 or 4 dwords) of the record is copied.
    fn dword(&self, builder: &mut Builder<'_>, code: &mut Code, nth: Id) -> Id {
        let (uint, bool_type) = (builder.uint(), builder.bool());
        let (width, none) = (builder.constant(self.unit), builder.constant(0));
        let mut dword = code.value(builder, Op::IMul, uint, &[nth.0, width.0]);
        for &(before, dwords) in &self.gaps {
            let [before, dwords] = [before, dwords].map(|value| builder.constant(value));
            let is_behind =
                code.value(builder, Op::UGreaterThanEqual, bool_type, &[nth.0, before.0]);
            let skipped = code.value(builder, Op::Select, uint, &[is_behind.0, dwords.0, none.0]);
            dword = code.value(builder, Op::IAdd, uint, &[dword.0, skipped.0]);
        }
        dword
    }
}

impl StagedBuffer {
    /// Declares an array in which the units of a vertex are consecutive.
    fn of_records(builder: &mut Builder<'_>, shape: Shape, vertices: u32) -> Self {
        let pitch = shape.pitch;
        Self::declare(builder, shape, vertices * pitch, [pitch, 1])
    }

    /// Declares an array in which the first units of all vertices are consecutive, and then their second units.
    fn of_planes(builder: &mut Builder<'_>, shape: Shape, vertices: u32) -> Self {
        let plane = shape.plane(vertices);
        let length = shape.units * plane;
        Self::declare(builder, shape, length, [1, plane])
    }

    fn declare(builder: &mut Builder<'_>, shape: Shape, length: u32, pitches: [u32; 2]) -> Self {
        let length = builder.constant(length);
        let element = builder.uvec(shape.unit);
        let array = builder.declare_new(Op::TypeArray, &[element.0, length.0]);
        let variable = builder.variable(StorageClass::Workgroup, array);
        builder.name(variable, "xfb_staged");
        Self { variable, pitches, shape }
    }

    fn element(&self, builder: &mut Builder<'_>, code: &mut Code, index: Id) -> Id {
        let vector = builder.uvec(self.shape.unit);
        let pointer = builder.pointer(StorageClass::Workgroup, vector);
        code.value(builder, Op::AccessChain, pointer, &[self.variable.0, index.0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::store::tests::layout;

    fn shape(stride: u32, outputs: &[(u32, u32)], resources: ResourcePlan) -> Option<Shape> {
        Shape::new(&layout(stride, outputs), 0, stride / 4, resources)
    }

    #[test]
    fn slices_have_the_size_that_the_shader_gives_them() {
        let declared = format!("const SLICE_SIZE: u32 = {SLICE_SIZE}u;");
        assert!(include_str!("../../patches.wgsl").contains(&declared));
    }

    #[test]
    fn units_are_as_wide_as_all_offsets_allow() {
        let widths = |stride, outputs: &[(u32, u32)]| {
            let shape = shape(stride, outputs, ResourcePlan::DeviceAddress).unwrap();
            (shape.unit, shape.units, shape.pitch, shape.gaps)
        };
        assert_eq!(widths(32, &[(0, 4), (16, 4)]), (4, 2, 2, vec![]));
        assert_eq!(widths(64, &[(0, 4), (16, 12)]), (4, 4, 5, vec![]));
        assert_eq!(widths(24, &[(0, 2), (8, 4)]), (2, 3, 3, vec![]));
        assert_eq!(widths(20, &[(0, 4), (16, 1)]), (1, 5, 5, vec![]));
        // The record has a gap at the front, one in the middle and one at the end. No unit comes after the last gap, so
        // `gaps` does not contain it.
        assert_eq!(widths(64, &[(16, 4), (48, 2)]), (2, 3, 3, vec![(0, 4), (2, 4)]));
        assert_eq!(widths(64, &[(4, 4)]), (1, 4, 5, vec![(0, 1)]));
        let by_descriptors = ResourcePlan::Descriptors { reads: 3, writes: 1 };
        assert_eq!(shape(32, &[(0, 4), (16, 4)], by_descriptors).unwrap().unit, 1);
    }

    #[test]
    fn many_gaps_are_too_many() {
        let outputs: Vec<(u32, u32)> = (0..6).map(|i| (8 * i, 1)).collect();
        let by_address = ResourcePlan::DeviceAddress;
        assert!(shape(64, &outputs[..5], by_address).is_some());
        assert_eq!(shape(64, &outputs, by_address), None);
    }
}
