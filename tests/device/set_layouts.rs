//! Set layouts live as long as pipelines are created with them. Vulkan does not require it, but the validation layer
//! (1.4) reports it.

use std::collections::{HashMap, HashSet};
use std::sync::{LazyLock, Mutex, OnceLock};

use ash::vk;
use vkxfb::runtime::ExpectedDraws;
use vkxfb::{Kernels, Pipeline, PipelineDesc, PrimitiveTopology, Shader, VertexInput};
use vkxfb_rewriter::lower::compute;
use vkxfb_rewriter::lower::kernel::Kernel;

use super::application::Application;
use crate::common;

const SHADER: &str = "#version 450
    layout(location = 0, xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0) out flat uint captured;
    void main() { captured = gl_VertexIndex; }";

static DRIVER: OnceLock<ash::DeviceFnV1_0> = OnceLock::new();
static LIVE: LazyLock<Mutex<HashSet<vk::DescriptorSetLayout>>> = LazyLock::new(Mutex::default);
/// The set layouts of each pipeline layout.
static OF: LazyLock<Mutex<HashMap<vk::PipelineLayout, Vec<vk::DescriptorSetLayout>>>> =
    LazyLock::new(Mutex::default);
/// For each pipeline that was created, the number of its set layouts.
static CREATED: Mutex<Vec<usize>> = Mutex::new(Vec::new());

unsafe extern "system" fn create_descriptor_set_layout(
    device: vk::Device,
    info: *const vk::DescriptorSetLayoutCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    layout: *mut vk::DescriptorSetLayout,
) -> vk::Result {
    let driver = DRIVER.get().unwrap().create_descriptor_set_layout;
    unsafe {
        let result = driver(device, info, allocator, layout);
        LIVE.lock().unwrap().insert(*layout);
        result
    }
}

unsafe extern "system" fn destroy_descriptor_set_layout(
    device: vk::Device,
    layout: vk::DescriptorSetLayout,
    allocator: *const vk::AllocationCallbacks<'_>,
) {
    LIVE.lock().unwrap().remove(&layout);
    let driver = DRIVER.get().unwrap().destroy_descriptor_set_layout;
    unsafe { driver(device, layout, allocator) };
}

unsafe extern "system" fn create_pipeline_layout(
    device: vk::Device,
    info: *const vk::PipelineLayoutCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    layout: *mut vk::PipelineLayout,
) -> vk::Result {
    let driver = DRIVER.get().unwrap().create_pipeline_layout;
    unsafe {
        let result = driver(device, info, allocator, layout);
        let count = (*info).set_layout_count as usize;
        let sets =
            if count == 0 { &[] } else { std::slice::from_raw_parts((*info).p_set_layouts, count) };
        OF.lock().unwrap().insert(*layout, sets.to_vec());
        result
    }
}

unsafe extern "system" fn create_compute_pipelines(
    device: vk::Device,
    cache: vk::PipelineCache,
    count: u32,
    infos: *const vk::ComputePipelineCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    pipelines: *mut vk::Pipeline,
) -> vk::Result {
    assert_eq!(count, 1);
    let layout = unsafe { (*infos).layout };
    let sets = OF.lock().unwrap()[&layout].clone();
    let live = LIVE.lock().unwrap();
    assert!(sets.iter().all(|set| live.contains(set)), "a set layout was destroyed");
    CREATED.lock().unwrap().push(sets.len());
    let driver = DRIVER.get().unwrap().create_compute_pipelines;
    unsafe { driver(device, cache, count, infos, allocator, pipelines) }
}

#[test]
fn set_layouts_live_as_long_as_pipelines_need_them() {
    let watched = |real: ash::Device| {
        let known = real.fp_v1_0().clone();
        DRIVER.set(known.clone()).ok().unwrap();
        ash::Device::from_parts_1_3(
            real.handle(),
            ash::DeviceFnV1_0 {
                create_descriptor_set_layout,
                destroy_descriptor_set_layout,
                create_pipeline_layout,
                create_compute_pipelines,
                ..known
            },
            real.fp_v1_1().clone(),
            real.fp_v1_2().clone(),
            real.fp_v1_3().clone(),
        )
    };
    // Without addresses captures use descriptors.
    let change = |caps: &mut vkxfb::Capabilities| caps.buffer_device_address = None;
    let app = Application::open_as(change, watched, |_, _| ());
    // SAFETY: the handles are of one live device, and nothing is submitted.
    unsafe {
        let ctx = &app.ctx;
        let words = common::compile(SHADER, &[]);
        let vertex_input = VertexInput::default();
        let options = compute::Options::new(&vertex_input).target(ctx.compute_target().unwrap());
        let lowered = compute::lower(&Shader::new(&words), &options).unwrap();
        let kernels = Kernels::new(ctx).unwrap();
        let pipeline = Pipeline::new(ctx, &PipelineDesc::new(&lowered)).unwrap();
        let draws = [ExpectedDraws::new(PrimitiveTopology::PointList)];
        pipeline.prepare(ctx, &draws, vk::PipelineCache::null()).unwrap();
        kernels.prepare_each(ctx, &[Kernel::Results], vk::PipelineCache::null()).unwrap();
        assert_eq!(*CREATED.lock().unwrap(), [1, 1]);
        ctx.destroy((pipeline, kernels), &mut ());
    }
    assert!(LIVE.lock().unwrap().is_empty(), "one was not destroyed");
    app.close();
}
