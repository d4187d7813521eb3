//! Kernels, which prepare captures.

use vkxfb::internal::kernel::Kernel;
use vkxfb::lower::{LowerError, ResourcePlan};

use super::shaders::DESCRIPTORS;
use crate::common;

/// The kernels that prepare captures are complete, valid modules.
#[test]
fn kernels_are_valid() {
    use vkxfb::internal::kernel::{MIN_WORKGROUP_SIZE, Target, lower};
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
            }
        }
        let resources = ResourcePlan::Descriptors { reads: 0, writes: 0 };
        let error = lower(kernel, &Target::default().resources(resources)).unwrap_err();
        assert!(matches!(error, LowerError::StorageBuffers { .. }), "{error}");
    }
}
