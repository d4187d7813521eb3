//! Plans as values, with a device that exists in name only.

use std::ffi::{CStr, c_char};

use ash::vk::{self, Handle};

use super::capture::Capture;
use super::plan::{CaptureStep, Draws, Step};
use super::{CaptureDesc, Recorder};
use crate::lower::compute::{self, Options};
use crate::lower::{Backend, Shader};
use crate::runtime::capabilities::tests::full;
use crate::runtime::{
    CaptureBuffer, Context, CounterBuffer, Draw, DrawIndexed, IndexBuffer, IndexType, IndirectDraw,
    Kernels, Pipeline, PipelineDesc, RuntimeError, required_features,
};
use crate::spirv::words_from_bytes;
use crate::topology::PrimitiveTopology;
use crate::vertex_input::VertexInput;

const LIST: PrimitiveTopology = PrimitiveTopology::TriangleList;
const STRIP: PrimitiveTopology = PrimitiveTopology::TriangleStrip;

extern "system" fn create_pipeline_layout(
    _: vk::Device,
    _: *const vk::PipelineLayoutCreateInfo<'_>,
    _: *const vk::AllocationCallbacks<'_>,
    layout: *mut vk::PipelineLayout,
) -> vk::Result {
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe { *layout = vk::PipelineLayout::from_raw(1) };
    vk::Result::SUCCESS
}

extern "system" fn buffer_address(
    _: vk::Device,
    info: *const vk::BufferDeviceAddressInfo<'_>,
) -> vk::DeviceAddress {
    // SAFETY: as above.
    unsafe { (*info).buffer.as_raw() << 32 }
}

extern "system" fn device_command(_: vk::Device, name: *const c_char) -> vk::PFN_vkVoidFunction {
    // SAFETY: the name is a string; the pointers are of the commands that they are taken for.
    unsafe {
        match CStr::from_ptr(name).to_bytes() {
            b"vkCreatePipelineLayout" => std::mem::transmute::<*const (), vk::PFN_vkVoidFunction>(
                create_pipeline_layout as *const (),
            ),
            b"vkGetBufferDeviceAddress" => {
                std::mem::transmute::<*const (), vk::PFN_vkVoidFunction>(
                    buffer_address as *const (),
                )
            }
            _ => None,
        }
    }
}

extern "system" fn instance_command(
    _: vk::Instance,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    // SAFETY: as above.
    unsafe {
        match CStr::from_ptr(name).to_bytes() {
            b"vkGetDeviceProcAddr" => std::mem::transmute::<*const (), vk::PFN_vkVoidFunction>(
                device_command as *const (),
            ),
            _ => None,
        }
    }
}

/// A device that has everything, and a pipeline of it that captures 16 bytes for each vertex.
fn device(describe: fn(PipelineDesc<'_>) -> PipelineDesc<'_>) -> (Context, Pipeline) {
    let commands = ash::StaticFn { get_instance_proc_addr: instance_command };
    let capabilities = full();
    let required = required_features(&capabilities, &[Backend::Compute]).unwrap();
    let words = words_from_bytes(include_bytes!("../../../shaders/probe/identify.spv")).unwrap();
    let input = VertexInput::default();
    // SAFETY: no command is called but those above.
    unsafe {
        let instance = ash::Instance::load(&commands, vk::Instance::null());
        let device = ash::Device::load(instance.fp_v1_0(), vk::Device::null());
        let ctx = Context::new(&instance, &device, capabilities, required).unwrap();
        let options = Options::new(&input).target(ctx.compute_target().unwrap());
        let lowered = compute::lower(&Shader::new(&words), &options).unwrap();
        let pipeline = Pipeline::new(&ctx, &describe(PipelineDesc::new(&lowered))).unwrap();
        (ctx, pipeline)
    }
}

/// The steps of a capture, each in words. It begins with counters and ends with them, or does neither.
fn plan(
    describe: fn(PipelineDesc<'_>) -> PipelineDesc<'_>,
    is_counted: bool,
    draw: impl FnOnce(&mut Recorder<'_>) -> Result<(), RuntimeError>,
) -> Vec<String> {
    let (ctx, pipeline) = device(describe);
    // SAFETY: none of them is created.
    let kernels = unsafe { Kernels::new(&ctx) }.unwrap();
    let mut capture = Capture::new(&ctx, &kernels);
    let buffer = vk::Buffer::from_raw;
    let counters = [Some(CounterBuffer { buffer: buffer(2), offset: 0 })];
    let counters = if is_counted { &counters[..] } else { &[] };
    let buffers = [Some(CaptureBuffer::new(buffer(1), 1 << 30))];
    let desc = CaptureDesc::new(&pipeline).buffers(&buffers).counters(counters);
    // SAFETY: nothing is recorded.
    unsafe {
        capture.begin(&desc).unwrap();
        let mut recorder = capture.recorder();
        recorder
            .bind_index_buffer(&IndexBuffer::new(buffer(3), 1 << 20, IndexType::Uint32))
            .unwrap();
        draw(&mut recorder).unwrap();
        recorder.end(counters).unwrap();
    }
    capture.make_plan(&capture.end_counters.clone(), true).unwrap();
    let steps = capture.plan.steps.iter().filter(|step| **step != Step::EndQueries);
    steps.map(described).collect()
}

/// Collects so many draws without indices.
fn draws(
    recorder: &mut Recorder<'_>,
    topology: PrimitiveTopology,
    count: u32,
    vertices: u32,
) -> Result<(), RuntimeError> {
    // SAFETY: nothing is recorded.
    (0..count).try_for_each(|_| unsafe { recorder.draw(topology, &Draw::new(vertices)) })
}

fn described(step: &Step) -> String {
    match step {
        Step::Barrier { which, when, then } => format!("barrier {which:?} {when:?} {then:?}"),
        Step::Kernel { kernel, workgroups: [x, y] } => format!("{kernel:?} {x} x {y}"),
        Step::Capture(CaptureStep { key, state, draws, size }) => {
            let draws = match draws {
                Draws::Restarted(_) => "Restarted".to_owned(),
                draws => format!("{draws:?}"),
            };
            let key = key.to_string().replace("vkxfb compute, ", "");
            format!("capture {draws} {size:?}, state {state}: {key}")
        }
        step => format!("{step:?}"),
    }
}

#[test]
fn draws_that_the_cpu_knows_need_nothing_else() {
    let before = "barrier BetweenCaptures InOrder Captured";
    assert_eq!(
        plan(|desc| desc, false, |recorder| draws(recorder, LIST, 1, 1 << 20)),
        [before, "capture Pushed(0) Direct(16384), state 0: Pushed, checked, List"]
    );
    // Few enough workgroups for a pipeline that checks nothing, because it stages nothing.
    assert_eq!(
        plan(|desc| desc, false, |recorder| draws(recorder, LIST, 1, 600)),
        [before, "capture Pushed(0) Direct(10), state 0: Pushed, List"]
    );
    assert_eq!(
        plan(|desc| desc, false, |recorder| draws(recorder, LIST, 1000, 300)),
        [before, "capture Listed(0) Direct(5000), state 0: Listed, indexed, checked, List"]
    );
}

#[test]
fn counters_take_a_kernel_or_none() {
    assert_eq!(
        plan(|desc| desc, true, |recorder| draws(recorder, STRIP, 1, 300)),
        [
            "barrier BeforeFused Touched CapturedAndCounted",
            "capture Fused Direct(5), state 0: Fused, indexed, checked, TriStrip"
        ]
    );
    assert_eq!(
        plan(|desc| desc, true, |recorder| draws(recorder, LIST, 3, 300)),
        [
            "barrier BeforeSetup Always Unknown",
            "Resume 1 x 1",
            "barrier SetupToCapture Always Captured",
            "capture Resumed(0) Direct(15), state 0: Listed, indexed, checked"
        ]
    );
}

#[test]
fn restarts_are_found_before_what_they_cut() {
    // SAFETY: nothing is recorded.
    let one = |recorder: &mut Recorder<'_>| unsafe {
        recorder.draw_indexed(STRIP, &DrawIndexed::new(100_000))
    };
    let found = plan(
        |desc| desc.primitive_restart(true),
        false,
        |recorder| {
            recorder.set_primitive_restart(true)?;
            one(recorder)
        },
    );
    assert_eq!(
        found,
        [
            "barrier BeforeSetup Always Unknown",
            "Restart 13 x 1",
            "barrier RestartToScan Always Unknown",
            "RestartScan 1 x 1",
            "barrier RestartToSetup Always CapturedAndCounted",
            "RestartedSetup 1 x 1",
            "capture Restarted DirectUpTo(1563), state 0: Pushed, indexed, restart, checked, TriStrip"
        ]
    );
}

#[test]
fn what_is_indirect_is_placed_by_the_gpu() {
    let indirect = |draw_count| IndirectDraw {
        buffer: vk::Buffer::from_raw(4),
        offset: 0,
        draw_count,
        stride: 20,
        count: None,
    };
    let found = plan(
        |desc| desc.primitive_restart(true),
        false,
        // SAFETY: nothing is recorded.
        |recorder| unsafe {
            recorder.draw_indirect(LIST, &indirect(7))?;
            recorder.set_primitive_restart(true)?;
            recorder.draw_indexed_indirect(STRIP, &indirect(1))?;
            recorder.set_primitive_restart(false)?;
            recorder.draw_indexed(STRIP, &DrawIndexed::new(50))
        },
    );
    assert_eq!(
        found,
        [
            "barrier BeforeSetup Always Unknown",
            "Restart 33 x 1",
            "barrier RestartToScan Always Unknown",
            "RestartScan 1 x 1",
            "barrier RestartToSetup Always Unknown",
            "RestartedSetup 1 x 1",
            "barrier SetupToCapture Always Captured",
            "capture Batch(0) Indirect(0), state 0: Placed, indexed, checked, List",
            "capture Batch(1) Indirect(1), state 0: Placed, indexed, restart, checked, TriStrip",
            "capture Batch(2) DirectUpTo(1), state 0: Placed, indexed, checked"
        ]
    );
}
