//! The tables of workarounds and of tunings: tests where each entry applies, and that it is used.

use std::ffi::CStr;
use std::sync::atomic::{AtomicU32, Ordering};

use ash::vk;
use ash::vk::{DriverId, PhysicalDeviceType};
use vkxfb::lower::Backend;
use vkxfb::runtime::DeviceIdentity;
use vkxfb::runtime::{
    ArenaDesc, Capture, CaptureBuffer, CaptureDesc, CaptureNeeds, Context, IndirectDraw, Recorder,
    required_features,
};
use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb_probe::gpu::Profile;
use vkxfb_probe::shaders::ProbeShader;

use crate::common::device;
use crate::common::skip::{Why, skip};

const fn mesa(major: u32, minor: u32, patch: u32) -> u32 {
    vk::make_api_version(0, major, minor, patch)
}

const DISPATCH: &str = "panvk-direct-dispatch";
const DRAWS: &str = "panvk-no-indirect-draws";
const SPECULATIVE: &str = "panvk-speculative-vertices";
const MALI: [&str; 2] = ["mali-narrow-accesses", "mali-no-staging"];

fn panvk(driver_version: u32, device_id: u32) -> DeviceIdentity {
    DeviceIdentity {
        driver_id: DriverId::MESA_PANVK,
        driver_version,
        vendor_id: 0x13b5,
        device_id,
        device_type: PhysicalDeviceType::INTEGRATED_GPU,
    }
}

fn active(device: DeviceIdentity) -> Vec<&'static str> {
    let workarounds = device.workarounds().map(|workaround| workaround.name);
    workarounds.chain(device.tunings().map(|tuning| tuning.name)).collect()
}

#[test]
fn panvk_has_indirect_dispatches_from_mesa_25_2_on_and_draws_from_26_0() {
    let fixed = [SPECULATIVE, MALI[0], MALI[1]];
    let with = [&[DISPATCH, DRAWS][..], &fixed].concat();
    let behind = [&[DRAWS][..], &fixed].concat();
    // G71 and G72 (v6), G31, G52 r1 and G76 (v7), G57 (v9).
    for device_id in [0x6000_0000, 0x6221_0000, 0x7093_0000, 0x7402_0000, 0x7211_0000, 0x9001_0000]
    {
        // The last is 25.2.0-devel.
        for version in [mesa(24, 3, 4), mesa(25, 0, 7), mesa(25, 1, 9), mesa(25, 1, 99)] {
            assert_eq!(active(panvk(version, device_id)), with, "{device_id:#x} {version:#x}");
        }
        for version in [mesa(25, 2, 0), mesa(25, 2, 8), mesa(25, 3, 99)] {
            assert_eq!(active(panvk(version, device_id)), behind, "{device_id:#x} {version:#x}");
        }
        let version = mesa(26, 0, 0);
        assert_eq!(active(panvk(version, device_id)), fixed, "{device_id:#x} {version:#x}");
    }
    // G610 and G310 (v10), G720 (v12): another way of submitting, which had them before.
    for device_id in [0xa867_0000, 0xac74_0000, 0xc870_0000] {
        assert_eq!(active(panvk(mesa(25, 0, 7), device_id)), fixed, "{device_id:#x}");
    }
    // A version that did not report the identity of the device yet.
    let old = DeviceIdentity { vendor_id: 0, ..panvk(mesa(23, 1, 0), 0) };
    assert_eq!(active(old), with);
}

/// The vertex stage of Mali before v13 may run for vertices that are not in the draw. If a driver
/// setting enables stores in it nevertheless, shaders with side effects are captured by compute.
#[test]
fn side_effects_are_not_left_to_a_vertex_stage_that_speculates() {
    let gpu = device::open(Profile::Full);
    let mut capabilities = gpu.capabilities().clone();
    capabilities.transform_feedback = None;
    if capabilities.availability(Backend::Vertex).is_err() {
        return skip(Why::Expected("the device has no stores from vertex shaders"));
    }
    let backends = [Backend::Vertex, Backend::Compute];
    let needs = CaptureNeeds { side_effects: true, ..CaptureNeeds::default() };
    // G52 (v7), G720 (v12), G725 (v13).
    for (device_id, chosen) in [
        (0x7402_0000, Backend::Compute),
        (0xc870_0000, Backend::Compute),
        (0xd830_0000, Backend::Vertex),
    ] {
        let DeviceIdentity { driver_id, driver_version, vendor_id, device_id, .. } =
            panvk(mesa(25, 3, 0), device_id);
        capabilities.driver_id = driver_id;
        capabilities.driver_version = driver_version;
        capabilities.vendor_id = vendor_id;
        capabilities.device_id = device_id;
        let choose = |backends: &[Backend], needs: &CaptureNeeds| {
            required_features(&capabilities, backends).unwrap().choose(needs)
        };
        assert_eq!(choose(&backends, &needs), Some(chosen), "{device_id:#x}");
        assert_eq!(choose(&backends, &CaptureNeeds::default()), Some(Backend::Compute));
        // It is a preference.
        assert_eq!(choose(&backends[..1], &needs), Some(Backend::Vertex));
    }
}

#[test]
fn other_drivers_have_what_they_report() {
    let nvidia = DeviceIdentity {
        driver_id: DriverId::NVIDIA_PROPRIETARY,
        driver_version: 0x910a_c100,
        vendor_id: 0x10de,
        device_id: 0x2335,
        device_type: PhysicalDeviceType::DISCRETE_GPU,
    };
    assert_eq!(active(nvidia), ["nvidia-large-workgroups", "nvidia-selected-elements"]);
    // Arm's own driver of a G52, whose indirect dispatches work.
    let arm = DeviceIdentity {
        driver_id: DriverId::ARM_PROPRIETARY,
        driver_version: 0x0680_0000,
        device_id: 0x7402_1000,
        ..panvk(0, 0)
    };
    assert_eq!(active(arm), MALI);
    let lavapipe = DeviceIdentity {
        driver_id: DriverId::MESA_LLVMPIPE,
        driver_version: 1,
        vendor_id: 0x1_0005,
        device_id: 0,
        device_type: PhysicalDeviceType::CPU,
    };
    let of_llvmpipe =
        ["llvmpipe-short-loops", "llvmpipe-narrow-accesses", "llvmpipe-int64-accesses"];
    let of_old = ["llvmpipe-shared-draws"];
    let of_processors = ["processor-no-staging", "processor-serial-kernels"];
    assert_eq!(active(lavapipe), [&of_llvmpipe[..], &of_old, &of_processors].concat());
    let newer = DeviceIdentity { driver_version: 25 << 22, ..lavapipe };
    assert_eq!(active(newer), [&of_llvmpipe[..], &of_processors].concat());
    let swiftshader = DeviceIdentity {
        driver_id: DriverId::GOOGLE_SWIFTSHADER,
        vendor_id: 0x1ae0,
        device_id: 0xc0de,
        ..lavapipe
    };
    assert_eq!(active(swiftshader), of_processors);
}

static INDIRECT: AtomicU32 = AtomicU32::new(0);

/// Counts its calls, and does nothing, like panvk on Bifrost.
unsafe extern "system" fn dispatch_indirect(
    _: vk::CommandBuffer,
    _: vk::Buffer,
    _: vk::DeviceSize,
) {
    INDIRECT.fetch_add(1, Ordering::Relaxed);
}

/// An indirect draw on a device that ignores `vkCmdDispatchIndirect`: its context does not record
/// that command, and everything is captured.
#[test]
fn a_context_of_panvk_on_bifrost_records_no_indirect_command() {
    let mut gpu = device::open(Profile::Full);
    let shader = ProbeShader::identify();
    let options = device::PipelineOptions {
        topology: PrimitiveTopology::TriangleStrip,
        provoking: ProvokingVertex::First,
        specialize: false,
    };
    let lowered = device::lower(&gpu, &shader, Backend::Compute);
    let stride = u64::from(lowered.layout.strides[0].unwrap());
    let ctx = gpu.context();
    let usages =
        (ctx.buffer_usages(Backend::Compute).capture, ctx.buffer_usages(Backend::Compute).indirect);
    let target = gpu.buffer(100 * stride, usages.0);
    let arguments = gpu.buffer(16, usages.1);
    let command: [u32; 4] = [7, 2, 3, 1];
    gpu.write(&arguments, 0, bytemuck::cast_slice(&command)).unwrap();

    let instance = gpu.instance().clone();
    let load = |name: &CStr| {
        if name == c"vkCmdDispatchIndirect" {
            dispatch_indirect as *const std::ffi::c_void
        } else {
            // SAFETY: the device is live, and of that instance.
            unsafe {
                let device = gpu.context().device().handle();
                let found = instance.get_device_proc_addr(device, name.as_ptr());
                found.map_or(std::ptr::null(), |f| f as *const std::ffi::c_void)
            }
        }
    };
    // SAFETY: the functions are the device's, but for one of the same signature.
    let raw = unsafe { ash::Device::load_with(load, gpu.context().device().handle()) };
    let enabled = gpu.context().enabled().clone();
    for (device_id, indirect) in [(0x7402_0000, 0), (0xa867_0000, 1)] {
        let mut capabilities = gpu.context().capabilities().clone();
        let DeviceIdentity { driver_id, driver_version, vendor_id, device_id, .. } =
            panvk(mesa(25, 0, 7), device_id);
        capabilities.driver_id = driver_id;
        capabilities.driver_version = driver_version;
        capabilities.vendor_id = vendor_id;
        capabilities.device_id = device_id;
        // SAFETY: the device was created with that.
        let ctx = unsafe { Context::new(&instance, &raw, capabilities, enabled.clone()) }.unwrap();
        assert_eq!(ctx.settings().indirect_dispatch, indirect == 1);
        assert_eq!(ctx.settings().indirect_draws, indirect == 1);
        let pass = gpu.render_pass();
        let pipeline = device::pipeline_of(&ctx, pass, &shader, &lowered, options);

        gpu.write(&target, 0, &vec![0xa5; target.size() as usize]).unwrap();
        let mut arena = gpu.arena(ArenaDesc::new(1, 4));
        let kernels = gpu.kernels();
        INDIRECT.store(0, Ordering::Relaxed);
        gpu.submit(|_, cmd| {
            let buffers = [Some(CaptureBuffer::new(target.raw(), target.size()))];
            let desc = CaptureDesc { buffers: &buffers, ..CaptureDesc::new(&pipeline) };
            let draw = IndirectDraw {
                buffer: arguments.raw(),
                offset: 0,
                draw_count: 1,
                stride: 16,
                count: None,
            };
            // SAFETY: everything outlives the submission, which is waited for.
            unsafe {
                let mut capture = Capture::new(&ctx, &kernels);
                let mut recorder = Recorder::begin(&mut capture, &mut *arena, cmd, &desc)?;
                recorder.draw_indirect(PrimitiveTopology::TriangleStrip, &draw)?;
                recorder.end(&[])?;
            }
            Ok(())
        })
        .unwrap();
        // SAFETY: the submission was waited for.
        unsafe { ctx.destroy(pipeline, &mut ()) };
        assert_eq!(INDIRECT.load(Ordering::Relaxed), indirect, "{device_id:#x}");
        // Five triangles in each of two instances, unless the dispatch is ignored.
        let records = 30 * stride;
        let bytes = gpu.read(&target, 0..target.size()).unwrap();
        let written =
            bytes.iter().rposition(|byte| *byte != 0xa5).map_or(0, |last| last as u64 + 1);
        let expected = if indirect == 0 { records } else { 0 };
        assert_eq!(written.next_multiple_of(stride), expected, "{device_id:#x}");
    }
}
