//! Objects have names and captures are labelled if an application has enabled `VK_EXT_debug_utils`,
//! and only then.

use std::ffi::{CStr, c_char};
use std::sync::Mutex;

use ash::vk;
use vkxfb::{
    Arena, ArenaDesc, Backend, Capture, CaptureBuffer, CaptureDesc, Draw, Kernels, Pipeline,
    PipelineDesc, PrimitiveTopology, Recorder, Shader, VertexInput,
};
use vkxfb_rewriter::lower::compute;
use vkxfb_rewriter::lower::kernel::Kernel;

use super::application::Application;
use crate::common;

/// The names of objects, and the begins and ends of labels, in the order in which they were passed
/// to Vulkan.
static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn told(text: impl Into<String>) {
    TOLD.lock().unwrap().push(text.into());
}

unsafe extern "system" fn name(
    _device: vk::Device,
    info: *const vk::DebugUtilsObjectNameInfoEXT<'_>,
) -> vk::Result {
    let (ty, name) = unsafe { ((*info).object_type, CStr::from_ptr((*info).p_object_name)) };
    told(format!("{ty:?} {}", name.to_str().unwrap()));
    vk::Result::SUCCESS
}

unsafe extern "system" fn begin(_cmd: vk::CommandBuffer, label: *const vk::DebugUtilsLabelEXT<'_>) {
    told(format!("begin {}", unsafe { CStr::from_ptr((*label).p_label_name) }.to_str().unwrap()));
}

unsafe extern "system" fn end(_cmd: vk::CommandBuffer) {
    told("end");
}

/// Returns functions for the commands of `VK_EXT_debug_utils` that record their arguments in
/// [`TOLD`].
unsafe extern "system" fn get_device_proc_addr(
    _device: vk::Device,
    command: *const c_char,
) -> vk::PFN_vkVoidFunction {
    let function: *const () = match unsafe { CStr::from_ptr(command) }.to_bytes() {
        b"vkSetDebugUtilsObjectNameEXT" => name as _,
        b"vkCmdBeginDebugUtilsLabelEXT" => begin as _,
        b"vkCmdEndDebugUtilsLabelEXT" => end as _,
        _ => return None,
    };
    // SAFETY: whoever calls it by the command's name gives it its type again.
    unsafe { std::mem::transmute::<*const (), vk::PFN_vkVoidFunction>(function) }
}

/// Records a capture on a separate device, and returns the names and labels.
fn record(names: bool) -> Vec<String> {
    let mut app = Application::open(
        |device| device,
        |ctx, instance| {
            if names {
                let known = instance.fp_v1_0().clone();
                let functions = ash::InstanceFnV1_0 { get_device_proc_addr, ..known };
                // SAFETY: the commands are of the live instance.
                unsafe {
                    ctx.set_debug_utils(&ash::Instance::from_parts_1_3(
                        instance.handle(),
                        functions,
                        instance.fp_v1_1().clone(),
                        instance.fp_v1_3().clone(),
                    ));
                }
            }
        },
    );
    let Application { device, ctx, allocator, .. } = &mut app;
    let ctx = &*ctx;
    // SAFETY: the handles are of one live device, and nothing is submitted.
    unsafe {
        let words = common::compile(common::CAPTURES, &[]);
        let vertex_input = VertexInput::default();
        let target = ctx.compute_target().unwrap();
        let options = compute::Options::new(&vertex_input).target(target);
        let lowered = compute::lower(&Shader::new(&words), &options).unwrap();
        let pipeline = Pipeline::new(ctx, &PipelineDesc::new(&lowered)).unwrap();
        let kernels = Kernels::new(ctx).unwrap();
        kernels.prepare_each(ctx, &[Kernel::Resume], vk::PipelineCache::null()).unwrap();
        let mut arena = Arena::new(ctx, allocator, ArenaDesc::new(1, 1)).unwrap();
        let desc = vkxfb::BufferDesc {
            name: "captured",
            size: 64,
            usage: ctx.buffer_usages(Backend::Compute).capture,
            location: vkxfb::MemoryLocation::Device,
        };
        let captured = vkxfb::Buffer::new(ctx, allocator, &desc).unwrap();
        let pool = device.create_command_pool(&Default::default(), None).unwrap();
        let info =
            vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
        let cmd = device.allocate_command_buffers(&info).unwrap()[0];
        device.begin_command_buffer(cmd, &Default::default()).unwrap();
        let bound = [Some(CaptureBuffer::new(captured.raw(), captured.size()))];
        let desc = CaptureDesc { buffers: &bound, ..CaptureDesc::new(&pipeline) };
        let mut capture = Capture::new(ctx, &kernels);
        let mut recorder = Recorder::begin(&mut capture, &mut arena, cmd, &desc).unwrap();
        recorder.draw(PrimitiveTopology::PointList, &Draw::new(3)).unwrap();
        recorder.end(&[]).unwrap();
        device.end_command_buffer(cmd).unwrap();

        device.destroy_command_pool(pool, None);
        ctx.destroy((captured, arena, kernels, pipeline), allocator);
    }
    app.close();
    std::mem::take(&mut *TOLD.lock().unwrap())
}

#[test]
fn objects_have_names_and_captures_labels_where_they_are_wanted() {
    assert_eq!(record(false), [""; 0]);
    let told = record(true);
    for expected in [
        "PIPELINE vkxfb compute, Pushed, List",
        "PIPELINE_LAYOUT vkxfb compute",
        "PIPELINE vkxfb kernel Resume",
        "BUFFER vkxfb upload",
        "BUFFER vkxfb scratch",
        "BUFFER captured",
    ] {
        assert!(told.iter().any(|told| told == expected), "no {expected} in {told:#?}");
    }
    assert_eq!(told[told.len() - 2..], ["begin vkxfb capture", "end"]);
}
