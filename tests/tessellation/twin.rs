//! `shaders/tessellate.wgsl` against `shaders/src/tessellator.rs`, bit for bit.

use ash::vk;
use naga::back::spv;
use naga::valid::{Capabilities, ValidationFlags, Validator};
use vkxfb_rewriter::tessellator::Tessellator;

use crate::common::bare::{BareDevice, BareInstance};
use crate::common::discard;
use crate::levels::{Levels, count, sets, tessellators};

/// A workgroup for each patch.
const MAIN: &str = "
struct Job { outer: vec4<u32>, inner: vec2<u32>, bits: u32, first: u32, vertices: u32 }
@group(0) @binding(0) var<storage, read> jobs: array<Job>;
@group(0) @binding(1) var<storage, read_write> found: array<u32>;
var<private> bits: u32;
fn tessellator_bits() -> u32 { return bits; }
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let job = jobs[id.x];
    bits = job.bits;
    divide_patch(job.outer, job.inner);
    found[job.first] = divided.count;
    for (var i = local; i < job.vertices * divided.count; i += 64u) {
        let vertex = bitcast<vec3<u32>>(tessellated_coordinates(i / job.vertices, i % job.vertices));
        found[job.first + 1u + 3u * i] = vertex.x;
        found[job.first + 2u + 3u * i] = vertex.y;
        found[job.first + 3u + 3u * i] = vertex.z;
    }
}";

#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct Job {
    outer: [f32; 4],
    inner: [f32; 2],
    bits: u32,
    first: u32,
    /// Of a primitive.
    vertices: u32,
    /// Structures of vec4 are multiples of its size.
    reserved: [u32; 3],
}

fn kernel() -> Vec<u32> {
    let source = concat!(include_str!("../../shaders/tessellate.wgsl"), "\n").to_owned() + MAIN;
    let module = naga::front::wgsl::parse_str(&source)
        .unwrap_or_else(|error| panic!("{}", error.emit_to_string(&source)));
    let info = Validator::new(ValidationFlags::all(), Capabilities::empty()).validate(&module);
    let options = spv::Options { lang_version: (1, 3), ..Default::default() };
    spv::write_vec(&module, &info.unwrap(), &options, None).unwrap()
}

#[test]
fn shaders_divide_as_the_cpu_does() {
    let instance = BareInstance::open();
    let device = instance.into_device(&mut vk::PhysicalDeviceFeatures2::default(), &[]);
    let words = kernel();
    // Few are enough: what differs would differ often.
    let sets_each = (count() / 8).max(12);
    for (which, tessellator) in tessellators().into_iter().enumerate() {
        for flipped in [false, true] {
            let tessellator = Tessellator { flipped, ..tessellator };
            let sets = sets(which, sets_each);
            let mut expected = Vec::new();
            let jobs: Vec<Job> = (sets.iter())
                .map(|Levels { outer, inner }| {
                    let first = expected.len() as u32;
                    let patch = tessellator.divide(*outer, *inner);
                    expected.push(patch.primitive_count());
                    let vertices = tessellator.primitive_vertices();
                    for vertex in 0..vertices * patch.primitive_count() {
                        let coordinates = patch.coordinates(vertex / vertices, vertex % vertices);
                        expected.extend(coordinates.map(f32::to_bits));
                    }
                    let bits = tessellator.bits();
                    Job { outer: *outer, inner: *inner, bits, first, vertices, reserved: [0; 3] }
                })
                .collect();
            // SAFETY: every job has room for its vertices.
            let found = unsafe { run(&device, &words, &jobs, expected.len()) };
            if let Some(at) = (0..expected.len()).find(|i| expected[*i] != found[*i]) {
                let job = jobs.iter().rposition(|job| job.first as usize <= at).unwrap();
                let within = at - jobs[job].first as usize;
                let (a, b) = (expected[at], found[at]);
                panic!(
                    "{tessellator:?} {:?}, dword {within}: {a} ({}) on the CPU, {b} ({})",
                    sets[job],
                    f32::from_bits(a),
                    f32::from_bits(b)
                );
            }
        }
    }
}

/// # Safety
/// The kernel writes no more than `size` dwords.
unsafe fn run(device: &BareDevice, words: &[u32], jobs: &[Job], size: usize) -> Vec<u32> {
    let raw = &device.raw;
    let usage = vk::BufferUsageFlags::STORAGE_BUFFER;
    let sizes = [size_of_val(jobs) as u64, 4 * size as u64];
    let mut buffers = sizes.map(|size| device.host_buffer(size, usage));
    // SAFETY: every handle is of the device, and lives until the submission is done; the caller's contract.
    unsafe {
        buffers[0].bytes_mut().copy_from_slice(bytemuck::cast_slice(jobs));
        let storage = vk::DescriptorType::STORAGE_BUFFER;
        let bindings = [0, 1].map(|binding| (binding, storage, vk::ShaderStageFlags::COMPUTE));
        let set_layouts = [device.set_layout(&bindings)];
        let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&set_layouts);
        let layout = raw.create_pipeline_layout(&info, None).unwrap();
        let info = vk::ComputePipelineCreateInfo::default().layout(layout);
        let pipeline = discard::compute(raw, words, info);
        let (pool, sets) = device.descriptor_sets(set_layouts, &[(storage, 2)]);
        for (binding, buffer) in (0..).zip(&buffers) {
            device.write_set((sets[0], binding, storage), (buffer.raw, 0, vk::WHOLE_SIZE));
        }
        let writes = (vk::PipelineStageFlags::COMPUTE_SHADER, vk::AccessFlags::SHADER_WRITE);
        device.submit(writes, |cmd| {
            let point = vk::PipelineBindPoint::COMPUTE;
            raw.cmd_bind_pipeline(cmd, point, pipeline);
            raw.cmd_bind_descriptor_sets(cmd, point, layout, 0, &sets, &[]);
            raw.cmd_dispatch(cmd, jobs.len() as u32, 1, 1);
        });
        let found = bytemuck::cast_slice(buffers[1].bytes()).to_vec();
        raw.destroy_descriptor_pool(pool, None);
        raw.destroy_pipeline(pipeline, None);
        raw.destroy_pipeline_layout(layout, None);
        raw.destroy_descriptor_set_layout(set_layouts[0], None);
        buffers.into_iter().for_each(|buffer| device.destroy_buffer(buffer));
        found
    }
}
