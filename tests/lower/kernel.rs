//! Kernels, which prepare captures.

use vkxfb_rewriter::lower::kernel::{Kernel, MAX_WORKGROUP_SIZE, Target, lower};
use vkxfb_rewriter::lower::{LowerError, ResourcePlan};
use vkxfb_rewriter::spirv::headers::Op;
use vkxfb_rewriter::spirv::{Module, Section};

use super::shaders::DESCRIPTORS;
use crate::common;

/// The kernels that prepare captures are complete, valid modules.
#[test]
fn kernels_are_valid() {
    use vkxfb_rewriter::lower::kernel::{MIN_WORKGROUP_SIZE, Target, lower};
    for kernel in Kernel::ALL {
        for resources in [ResourcePlan::DeviceAddress, DESCRIPTORS] {
            for max_invocations in [MIN_WORKGROUP_SIZE, 255, 1024] {
                let target =
                    Target::default().resources(resources).max_invocations(max_invocations);
                for byte_loads in [false, true] {
                    let words = lower(kernel, &target.byte_loads(byte_loads)).unwrap();
                    common::validate(&words, "vulkan1.0");
                    let loads = common::disassemble(&words).contains("OpUConvert");
                    let reads_indices = [Kernel::Restart, Kernel::PatchRestart].contains(&kernel);
                    assert_eq!(loads, byte_loads && reads_indices, "{kernel:?}");
                }
                let words = lower(kernel, &target.byte_loads(true).int64_accesses(true)).unwrap();
                common::validate(&words, "vulkan1.0");
            }
        }
        let resources = ResourcePlan::Descriptors { reads: 0, writes: 0 };
        let error = lower(kernel, &Target::default().resources(resources)).unwrap_err();
        assert!(matches!(error, LowerError::StorageBuffers { .. }), "{error}");
    }
}

/// Kernels stay small, because drivers for processors take long to compile them: at worst the square of their size.
#[test]
fn kernels_are_small() {
    for kernel in Kernel::ALL {
        for resources in [ResourcePlan::DeviceAddress, DESCRIPTORS] {
            let target = Target::default().resources(resources).max_invocations(MAX_WORKGROUP_SIZE);
            let words = lower(kernel, &target).unwrap();
            let int64 = lower(kernel, &target.int64_accesses(true)).unwrap().len();
            let module = Module::parse(&words).unwrap();
            let count = |op| module.section(Section::Functions).filter(|i| i.is(op)).count();
            let (most_barriers, most) = match (kernel, resources) {
                _ if kernel.is_serial() == Some(true) => (0, 24),
                (Kernel::EntrySums, _) => (2, 12),
                // Only for GPUs, and for many draws: three prefix sums, one of which places draws.
                (Kernel::Setup(_), ResourcePlan::DeviceAddress) => (27, 61),
                (Kernel::Setup(_), ResourcePlan::Descriptors { .. }) => (27, 91),
                (_, ResourcePlan::DeviceAddress) => (8, 23),
                (_, ResourcePlan::Descriptors { .. }) => (8, 38),
            };
            let barriers = count(Op::ControlBarrier);
            assert!(barriers <= most_barriers, "{kernel:?}, {resources}: {barriers} barriers");
            let kilobytes = words.len().max(int64).div_ceil(256);
            assert!(kilobytes <= most, "{kernel:?}, {resources}: {kilobytes} KiB");
        }
    }
}
