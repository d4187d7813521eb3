//! Random mappings of descriptors, push data and heaps that change between captured draws, and what captures disturb,
//! which is there for a dispatch after them.

use std::fmt::Write as _;

use ash::vk;

use super::{
    Device, PUSH_DATA, compute_pipeline, constant_mapping, graphics_pipeline, heaps, mapping,
    mappings_of,
};
use crate::common::rng::Rng;
use crate::common::{self, attachment, discard, layer};
use crate::program::Program;

/// Bytes from one value to the next, in memory and in heaps.
const APART: u32 = 256;
/// The number of values in each heap.
const VALUES: u32 = 8;
/// The descriptors of a heap come first, and behind them are values in the heap itself.
const HEAP_DATA: u32 = 4096;
const HEAP_SIZE: u32 = 2 * HEAP_DATA;
/// The number of vertices of a draw.
const POINTS: u32 = 2;

/// Value `number` that heap `heap` leads to.
const fn value(heap: u32, number: u32) -> u32 {
    1000 * (heap + 1) + 10 * number
}

/// How a descriptor is mapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    ConstantOffset,
    PushIndex,
    IndirectIndex,
    IndirectIndexArray,
    HeapData,
    PushData,
    PushAddress,
    IndirectAddress,
}

impl Source {
    const ALL: [Self; 8] = [
        Self::ConstantOffset,
        Self::PushIndex,
        Self::IndirectIndex,
        Self::IndirectIndexArray,
        Self::HeapData,
        Self::PushData,
        Self::PushAddress,
        Self::IndirectAddress,
    ];

    /// The number of bytes of push data that it reads.
    const fn size(self) -> u32 {
        match self {
            Self::ConstantOffset => 0,
            Self::PushIndex | Self::HeapData | Self::PushData => 4,
            _ => 8,
        }
    }

    /// Whether a storage buffer can be mapped like this.
    const fn takes_storage(self) -> bool {
        !matches!(self, Self::HeapData | Self::PushData)
    }
}

/// A uniform buffer or storage buffer that a shader reads.
#[derive(Debug, Clone, Copy)]
struct Resource {
    set: u32,
    binding: u32,
    is_storage: bool,
    source: Source,
    /// The offset in push data.
    at: u32,
    /// The number of the value, if push data does not say it.
    number: u32,
}

/// Shaders and what they read.
#[derive(Debug, Clone)]
struct Shaders {
    resources: Vec<Resource>,
    /// The offset in push data of the push constant.
    constant_at: u32,
}

impl Shaders {
    /// Makes up resources, which read at most `most` bytes of push data.
    fn random(rng: &mut Rng, count: u32, most: u32, sources: &[Source]) -> Self {
        // Places of 8 bytes, in any order. A value of 4 bytes may be in the second half.
        let mut places: Vec<u32> = (0..PUSH_DATA as u32 / 8).collect();
        for last in (1..places.len()).rev() {
            places.swap(last, rng.below(last as u32 + 1) as usize);
        }
        let constant_at = places.pop().unwrap() * 8 + 4 * rng.below(2);
        let mut resources = Vec::new();
        let mut taken = 4;
        for binding in 0..count {
            let source = rng.pick(sources);
            if taken + source.size() > most {
                continue;
            }
            taken += source.size();
            let Some(place) = (if source.size() > 0 { places.pop() } else { Some(0) }) else {
                break;
            };
            let half = if source.size() == 4 { 4 * rng.below(2) } else { 0 };
            resources.push(Resource {
                set: rng.below(3) * 5,
                binding,
                is_storage: source.takes_storage() && rng.percent(50),
                source,
                at: 8 * place + half,
                number: rng.below(VALUES),
            });
        }
        Self { resources, constant_at }
    }

    /// The declarations of the resources, and an expression for the value of each. The push constant is the last one.
    fn declared(&self) -> (String, Vec<String>) {
        let mut declared = format!(
            "layout(push_constant) uniform Block {{ layout(offset = {}) uint pushed; }};\n",
            self.constant_at
        );
        let mut values = Vec::new();
        for (number, resource) in self.resources.iter().enumerate() {
            let Resource { set, binding, is_storage, .. } = resource;
            let kind = if *is_storage { "readonly buffer" } else { "uniform" };
            writeln!(
                declared,
                "layout(set = {set}, binding = {binding}) {kind} B{number} {{ uint value{number}; }};"
            )
            .unwrap();
            values.push(format!("value{number}"));
        }
        values.push("pushed".to_owned());
        (declared, values)
    }

    /// A vertex shader that captures all values, plus the vertex index.
    fn captures(&self) -> String {
        let (declared, values) = self.declared();
        let (mut outputs, mut body) = (String::new(), String::new());
        let stride = 4 * values.len();
        for (number, value) in values.iter().enumerate() {
            let offset = 4 * number;
            writeln!(
                outputs,
                "layout(location = {number}, xfb_buffer = 0, xfb_stride = {stride}, xfb_offset = {offset}) \
                 out flat uint captured{number};"
            )
            .unwrap();
            writeln!(body, "captured{number} = {value} + gl_VertexIndex;").unwrap();
        }
        format!(
            "#version 450\n{declared}{outputs}void main() {{\n{body}\
             gl_Position = vec4(0.0); gl_PointSize = 1.0; }}"
        )
    }

    /// A compute shader that writes all values to set 60, binding 0.
    fn dispatches(&self) -> String {
        let (declared, values) = self.declared();
        let body: String =
            (0..).zip(&values).map(|(n, v)| format!("found[{n}] = {v};\n")).collect();
        format!(
            "#version 450\n{declared}layout(set = 60, binding = 0) buffer F {{ uint found[]; }};\n\
             void main() {{\n{body}}}"
        )
    }

    /// The mappings of the resources. `indirect` is where in memory each resource has an index or an address, relative to
    /// the address in push data. The buffer of [`dispatches`](Self::dispatches) is at a constant offset.
    fn mappings(&self, descriptor: u32) -> Vec<heaps::Mapping> {
        let none = std::ptr::null();
        let mut all = vec![constant_mapping(60, 0, 2 * VALUES * descriptor)];
        for resource in &self.resources {
            let Resource { set, binding, is_storage, source, at, number } = *resource;
            // The descriptors of uniform buffers come first.
            let first = if is_storage { VALUES } else { 0 };
            let data = match source {
                Source::ConstantOffset => {
                    all.push(constant_mapping(set, binding, (first + number) * descriptor));
                    continue;
                }
                Source::PushIndex => heaps::Data {
                    push: heaps::PushIndex {
                        offset: first * descriptor,
                        push_offset: at,
                        index_stride: descriptor,
                        array_stride: 0,
                        embedded: none,
                        is_combined: 0,
                        sampler: [u32::MAX; 4],
                    },
                },
                Source::IndirectIndex => heaps::Data {
                    indirect: heaps::IndirectIndex {
                        offset: first * descriptor,
                        push_offset: at,
                        address_offset: INDIRECT,
                        index_stride: descriptor,
                        array_stride: 0,
                        embedded: none,
                        is_combined: 0,
                        sampler: [u32::MAX; 5],
                    },
                },
                Source::IndirectIndexArray => heaps::Data {
                    array: heaps::IndirectIndexArray {
                        offset: first * descriptor,
                        push_offset: at,
                        address_offset: INDIRECT,
                        index_stride: descriptor,
                        embedded: none,
                        is_combined: 0,
                        sampler: [u32::MAX; 4],
                    },
                },
                Source::HeapData => heaps::Data { words: [HEAP_DATA, at] },
                Source::PushData | Source::PushAddress => heaps::Data { words: [at, 0] },
                Source::IndirectAddress => heaps::Data { words: [at, INDIRECT] },
            };
            all.push(mapping(set, binding, source as i32, data));
        }
        all
    }
}

/// The offset from an address in push data to what mappings read there.
const INDIRECT: u32 = 16;

/// Where the values are in memory.
#[derive(Debug, Clone, Copy)]
struct Addresses {
    /// The values that heap 0 leads to, and behind them those of heap 1.
    values: u64,
    /// For each number an index, at [`INDIRECT`], and [`APART`] bytes apart.
    indices: u64,
    /// The same with the addresses of values.
    addresses: u64,
}

/// Push data, and what shaders find with it.
#[derive(Debug, Clone)]
struct Pushed {
    data: [u8; PUSH_DATA],
    /// The value of each resource, and the push constant.
    expected: Vec<u32>,
}

impl Pushed {
    /// Data with which the shaders find random values, in a command buffer with this heap.
    fn random(rng: &mut Rng, shaders: &Shaders, heap: u32, addresses: Addresses) -> Self {
        let mut data = [0xee; PUSH_DATA];
        let mut put = |at: u32, bytes: &[u8]| {
            data[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
        };
        let mut expected = Vec::new();
        for resource in &shaders.resources {
            let Resource { source, at, .. } = *resource;
            let number = rng.below(VALUES);
            // Addresses lead to the values of heap 0, or behind them to those of heap 1.
            let other = rng.below(2);
            let apart = u64::from(number * APART);
            match source {
                Source::ConstantOffset => {}
                Source::PushIndex => put(at, &number.to_le_bytes()),
                Source::IndirectIndex | Source::IndirectIndexArray => {
                    put(at, &(addresses.indices + apart).to_le_bytes());
                }
                Source::HeapData => put(at, &(number * APART).to_le_bytes()),
                Source::PushData => put(at, &(77 * number).to_le_bytes()),
                Source::PushAddress => {
                    let value = addresses.values + u64::from((other * VALUES + number) * APART);
                    put(at, &value.to_le_bytes());
                }
                Source::IndirectAddress => {
                    put(at, &(addresses.addresses + apart).to_le_bytes());
                }
            }
            expected.push(match source {
                Source::ConstantOffset => value(heap, resource.number),
                Source::PushData => 77 * number,
                Source::PushAddress => value(other, number),
                Source::IndirectAddress => value(0, number),
                _ => value(heap, number),
            });
        }
        let constant = rng.below(1 << 20);
        put(shaders.constant_at, &constant.to_le_bytes());
        expected.push(constant);
        Self { data, expected }
    }
}

/// How a random program differs from others.
#[derive(Debug, Clone, Copy)]
struct Case {
    seed: u64,
    /// Whether captures may have to come before their pass.
    is_withheld: bool,
    /// Whether the shaders read more push data than is left beside the parameters of captures.
    is_full: bool,
    /// Whether another heap is bound in the pass.
    rebinds: bool,
    /// Whether a pipeline with descriptor sets captures in the pass, too, and when.
    sets: Option<When>,
}

/// When a pipeline with descriptor sets captures.
#[derive(Debug, Clone, Copy, PartialEq)]
enum When {
    /// Before heaps are bound. The sets are bound before the pass.
    First,
    /// After all captures with heaps.
    Last,
}

/// With descriptor sets in place of heaps.
const WITH_SETS: &str = "#version 450
    layout(push_constant) uniform Block { uint pushed; };
    layout(set = 0, binding = 0) uniform Values { uint value; };
    layout(location = 0, xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0) out flat uint captured;
    void main() {
        captured = value + pushed + gl_VertexIndex;
        gl_Position = vec4(0.0);
        gl_PointSize = 1.0;
    }";

/// Runs a case on a device of its own.
fn run(case: Case, mut device: Device) {
    let rng = &mut Rng::new(case.seed);
    let (count, most, sources) = if case.is_full {
        (24, PUSH_DATA as u32, &[Source::PushIndex, Source::PushAddress, Source::PushData][..])
    } else {
        (rng.range(1, 9), 100, &Source::ALL[..])
    };
    let shaders = Shaders::random(rng, count, most, sources);
    let columns = shaders.resources.len() + 1;
    use vk::BufferUsageFlags as Usage;
    use vk::BufferUsageFlags2KHR as Usage2;
    let dwords = (APART / 4) as usize;
    let draws = 4;
    let program = &mut device.program;
    let records = draws * POINTS as usize;
    let (target, captured) =
        program.buffer(records * columns, Usage::TRANSFORM_FEEDBACK_BUFFER_EXT);
    let (set_target, set_captured) =
        program.buffer(POINTS as usize, Usage::TRANSFORM_FEEDBACK_BUFFER_EXT);
    if case.is_withheld {
        _ = program.buffer(4, Usage::INDIRECT_BUFFER);
    }
    let usage = Usage2::UNIFORM_BUFFER | Usage2::STORAGE_BUFFER;
    let (uniforms, values, values_at) =
        program.buffer_with_address(2 * VALUES as usize * dwords, usage);
    let (_, indices, indices_at) = program.buffer_with_address(VALUES as usize * dwords, usage);
    let (_, pointers, pointers_at) = program.buffer_with_address(VALUES as usize * dwords, usage);
    let (_, found, found_at) = program.buffer_with_address(columns, usage);
    let memory = [0, 1].map(|_| {
        program.buffer_with_address((HEAP_SIZE / 4) as usize, heaps::USAGE | Usage2::UNIFORM_BUFFER)
    });
    let addresses = Addresses { values: values_at, indices: indices_at, addresses: pointers_at };
    let descriptor = device.descriptor();
    let raw = &device.program.raw;
    // SAFETY: every handle is of the device, and in use only until the submission is done.
    unsafe {
        for number in 0..VALUES {
            let at = number as usize * dwords;
            indices.add(at + INDIRECT as usize / 4).write(number);
            let address = values_at + u64::from(number * APART);
            pointers.add(at + INDIRECT as usize / 4).cast::<u64>().write(address);
            for heap in 0..2 {
                let at = (heap * VALUES + number) * APART;
                values.byte_add(at as usize).write(value(heap, number));
                let (_, start, _) = memory[heap as usize];
                let address = values_at + u64::from(at);
                let start = start.cast::<u8>();
                for (first, ty) in [
                    (0, vk::DescriptorType::UNIFORM_BUFFER),
                    (VALUES, vk::DescriptorType::STORAGE_BUFFER),
                ] {
                    let place = start.add(((first + number) * descriptor) as usize);
                    device.put(place, ty, address, 16);
                }
                let data = HEAP_DATA + number * APART;
                start.add(data as usize).cast::<u32>().write(value(heap, number));
            }
        }
        for (_, start, _) in memory {
            let place = start.cast::<u8>().add((2 * VALUES * descriptor) as usize);
            device.put(place, vk::DescriptorType::STORAGE_BUFFER, found_at, 4 * columns as u64);
        }
        let bind = |cmd, heap: usize| {
            let info = device.resources_at(memory[heap].2, HEAP_SIZE.into());
            (device.bind_resources)(cmd, &raw const info);
        };
        let all = shaders.mappings(descriptor);
        let mappings = mappings_of(&all);
        let vertex = common::compile(&shaders.captures(), &[]);
        let captures = graphics_pipeline(
            raw,
            &[(vk::ShaderStageFlags::VERTEX, &vertex, &mappings)],
            vk::PrimitiveTopology::POINT_LIST,
        );
        let dispatches = compute_pipeline(raw, &shaders.dispatches(), &mappings);
        let sets = Sets::new(&device.program, uniforms);

        // What is pushed for each draw, and the heap that is bound then.
        let heap_of = |draw: usize| u32::from(case.rebinds && draw >= draws / 2);
        let pushed: Vec<Pushed> = (0..draws)
            .map(|draw| Pushed::random(rng, &shaders, heap_of(draw), addresses))
            .collect();
        let writes = (
            vk::PipelineStageFlags::TRANSFORM_FEEDBACK_EXT | vk::PipelineStageFlags::COMPUTE_SHADER,
            vk::AccessFlags::TRANSFORM_FEEDBACK_WRITE_EXT | vk::AccessFlags::SHADER_WRITE,
        );
        let xfb = device.program.xfb();
        device.program.submit(writes, |cmd| {
            use vk::PipelineBindPoint as Point;
            let begin = |target: &vk::Buffer, size: u64| {
                xfb.bind_target(cmd, *target, 0, size);
                xfb.begin(cmd);
            };
            let end = || xfb.end(cmd);
            let draw_with_sets = || {
                begin(&set_target, 4 * u64::from(POINTS));
                raw.cmd_draw(cmd, POINTS, 1, 0, 0);
                end();
            };
            let set_heaps = |draw: usize| {
                bind(cmd, heap_of(draw) as usize);
                device.push_data(cmd, 0, &pushed[draw].data);
            };
            // What is bound before the pass is there for what comes in it and after it, too.
            raw.cmd_bind_pipeline(cmd, Point::COMPUTE, dispatches);
            if case.sets == Some(When::First) {
                raw.cmd_bind_pipeline(cmd, Point::GRAPHICS, sets.pipeline);
                sets.bind(raw, cmd);
            } else {
                raw.cmd_bind_pipeline(cmd, Point::GRAPHICS, captures);
                set_heaps(0);
            }
            attachment::begin_rendering(raw, cmd);
            if case.sets == Some(When::First) {
                draw_with_sets();
                raw.cmd_bind_pipeline(cmd, Point::GRAPHICS, captures);
                set_heaps(0);
            }
            begin(&target, 4 * (records * columns) as u64);
            for draw in 0..draws {
                if draw > 0 {
                    if heap_of(draw) != heap_of(draw - 1) {
                        bind(cmd, 1);
                    }
                    device.push_changed(cmd, &pushed[draw - 1].data, &pushed[draw].data);
                }
                raw.cmd_draw(cmd, POINTS, 1, 0, 0);
            }
            end();
            if case.sets == Some(When::Last) {
                raw.cmd_bind_pipeline(cmd, Point::GRAPHICS, sets.pipeline);
                sets.bind(raw, cmd);
                draw_with_sets();
            }
            raw.cmd_end_rendering(cmd);
            if case.sets == Some(When::Last) {
                set_heaps(draws - 1);
            }
            raw.cmd_dispatch(cmd, 1, 1, 1);
        });
        let mut expected = Vec::new();
        for pushed in &pushed {
            for vertex in 0..POINTS {
                expected.extend(pushed.expected.iter().map(|value| value + vertex));
            }
        }
        let captured = std::slice::from_raw_parts(captured, records * columns);
        assert_eq!(captured, expected, "{case:?} {shaders:?}");
        let found = std::slice::from_raw_parts(found, columns);
        assert_eq!(found, pushed[draws - 1].expected, "after captures: {case:?} {shaders:?}");
        if case.sets.is_some() {
            let first = value(0, 1) + Sets::CONSTANT;
            let captured = std::slice::from_raw_parts(set_captured, POINTS as usize);
            assert_eq!(captured, [first, first + 1], "with sets: {case:?}");
        }
        [captures, dispatches].iter().for_each(|pipeline| raw.destroy_pipeline(*pipeline, None));
        sets.destroy(raw);
    }
}

/// A pipeline with descriptor sets and push constants.
struct Sets {
    pipeline: vk::Pipeline,
    layout: vk::PipelineLayout,
    set_layout: vk::DescriptorSetLayout,
    pool: vk::DescriptorPool,
    set: vk::DescriptorSet,
}

impl Sets {
    const CONSTANT: u32 = 7;

    /// # Safety
    /// The buffer has the values of heap 0.
    unsafe fn new(program: &Program, values: vk::Buffer) -> Self {
        let device = &program.raw;
        let ty = vk::DescriptorType::UNIFORM_BUFFER;
        unsafe {
            let set_layout = program.set_layout(&[(0, ty, vk::ShaderStageFlags::VERTEX)]);
            let ranges = [vk::PushConstantRange {
                stage_flags: vk::ShaderStageFlags::VERTEX,
                offset: 0,
                size: 4,
            }];
            let layouts = [set_layout];
            let info = vk::PipelineLayoutCreateInfo::default()
                .set_layouts(&layouts)
                .push_constant_ranges(&ranges);
            let layout = device.create_pipeline_layout(&info, None).unwrap();
            let (pool, [set]) = program.descriptor_sets(layouts, &[(ty, 1)]);
            program.write_set((set, 0, ty), (values, APART.into(), 16));
            let words = common::compile(WITH_SETS, &[]);
            let pipeline = discard::pipeline(device, layout, &words);
            Self { pipeline, layout, set_layout, pool, set }
        }
    }

    /// # Safety
    /// The command buffer is being recorded.
    unsafe fn bind(&self, device: &ash::Device, cmd: vk::CommandBuffer) {
        let point = vk::PipelineBindPoint::GRAPHICS;
        unsafe {
            device.cmd_bind_descriptor_sets(cmd, point, self.layout, 0, &[self.set], &[]);
            let stages = vk::ShaderStageFlags::VERTEX;
            device.cmd_push_constants(cmd, self.layout, stages, 0, &Self::CONSTANT.to_le_bytes());
        }
    }

    /// # Safety
    /// Nothing that uses the objects is in flight.
    unsafe fn destroy(self, device: &ash::Device) {
        unsafe {
            device.destroy_pipeline(self.pipeline, None);
            device.destroy_pipeline_layout(self.layout, None);
            device.destroy_descriptor_set_layout(self.set_layout, None);
            device.destroy_descriptor_pool(self.pool, None);
        }
    }
}

/// The seed of the first program, and the number of programs.
fn seeds() -> std::ops::Range<u64> {
    let first = std::env::var("VKXFB_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    first..first + 32
}

#[test]
fn captures_read_heaps() {
    for seed in seeds() {
        let bit = |bit: u32| seed >> bit & 1 == 1;
        let when = if bit(4) { When::First } else { When::Last };
        let sets = bit(2).then_some(when);
        let case = Case { seed, is_withheld: bit(0), rebinds: bit(1), sets, is_full: bit(3) };
        // Where one device has no heaps the next has none either, and some drivers allow only few instances.
        let Some(device) = Device::open() else { return };
        run(case, device);
    }
}

#[test]
fn captures_of_the_layer_read_heaps() {
    layer::run_on_it(captures_read_heaps, &[]);
}
