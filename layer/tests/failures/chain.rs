//! Puts the layer between this test, which acts as the loader, and a driver. The test can let one
//! call of the driver fail.

use std::ffi::{CStr, c_char, c_void};
use std::mem::transmute;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex};

use ash::{Entry, StaticFn, vk};
use vkxfb_layer::interface::{
    INTERFACE_VERSION, LayerDeviceCreateInfo, LayerDeviceLink, LayerFunction,
    LayerInstanceCreateInfo, LayerInstanceLink, NEGOTIATE_INTERFACE_STRUCT,
    NegotiateLayerInterface,
};

use crate::portability;

/// The driver below the layer. It is the Vulkan loader of the machine, which calls a driver.
static DRIVER: LazyLock<Entry> = LazyLock::new(|| {
    // SAFETY: the library is a Vulkan loader.
    unsafe { Entry::load() }.unwrap()
});

/// The number of calls so far of those commands of the driver that can fail.
static CALLS: AtomicU64 = AtomicU64::new(0);
/// The value of [`CALLS`] at which a call fails.
static FAILING: AtomicU64 = AtomicU64::new(u64::MAX);
/// The result of the call that fails.
static RESULT: AtomicI32 = AtomicI32::new(0);
/// The command that failed. `None` if none has failed since [`fail`].
static FAILED: Mutex<Option<&'static str>> = Mutex::new(None);

/// Whether the test pretends that the device is lost.
static LOST: AtomicBool = AtomicBool::new(false);
/// The commands that have returned `VK_ERROR_DEVICE_LOST` since [`lose`].
static ASKED: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());

/// Pretends that the device is lost: commands that can report that return `VK_ERROR_DEVICE_LOST`.
pub fn lose() {
    LOST.store(true, Ordering::Relaxed);
}

/// Ends the pretence of [`lose`]. Returns the commands that have reported that the device is lost.
pub fn find() -> Vec<&'static str> {
    LOST.store(false, Ordering::Relaxed);
    std::mem::take(&mut *ASKED.lock().unwrap())
}

/// Lets one call of the driver fail with `result`. `call` is its number, counted from 0 from now
/// on.
pub fn fail(call: u64, result: vk::Result) {
    *FAILED.lock().unwrap() = None;
    RESULT.store(result.as_raw(), Ordering::Relaxed);
    FAILING.store(call, Ordering::Relaxed);
    CALLS.store(0, Ordering::Relaxed);
}

/// Returns the number of calls since [`fail`], of those commands that can fail.
pub fn calls() -> u64 {
    CALLS.load(Ordering::Relaxed)
}

/// Returns the command that failed. `None` if none has failed since [`fail`].
pub fn failed() -> Option<&'static str> {
    *FAILED.lock().unwrap()
}

/// Sets all pipelines to null, as the specification requires if their creation
/// [fails](https://docs.vulkan.org/spec/latest/chapters/pipelines.html#pipelines-multiple).
///
/// # Safety
/// There is room for `count` pipelines.
unsafe fn no_pipelines(count: u32, pipelines: Out) {
    unsafe {
        std::slice::from_raw_parts_mut(pipelines.cast::<vk::Pipeline>(), count as usize)
            .fill(vk::Pipeline::null());
    }
}

/// The size in bytes of the shaders that the driver got since [`take_code`].
static CODE: AtomicUsize = AtomicUsize::new(0);

/// Returns the size in bytes of the shaders that the driver got since the last call.
pub fn take_code() -> usize {
    CODE.swap(0, Ordering::Relaxed)
}

/// # Safety
/// The pointer is to a `VkShaderModuleCreateInfo`.
unsafe fn code(info: In) {
    let size = unsafe { (*info.cast::<vk::ShaderModuleCreateInfo<'_>>()).code_size };
    CODE.fetch_add(size, Ordering::Relaxed);
}

/// Counts a call of the driver. Returns the error if the call must fail, and `None` otherwise.
fn count(name: &'static str) -> Option<vk::Result> {
    let reports_loss = ["vkGetFenceStatus", "vkGetQueryPoolResults", "vkWaitForFences"];
    if LOST.load(Ordering::Relaxed) && reports_loss.contains(&name) {
        ASKED.lock().unwrap().push(name);
        return Some(vk::Result::ERROR_DEVICE_LOST);
    }
    if CALLS.fetch_add(1, Ordering::Relaxed) != FAILING.load(Ordering::Relaxed) {
        return None;
    }
    *FAILED.lock().unwrap() = Some(name);
    Some(vk::Result::from_raw(RESULT.load(Ordering::Relaxed)))
}

/// Generates [`in_front`] from the commands that can fail. For each, a function counts the call,
/// and calls the driver's function only if the call must not fail. `else` names a function to call
/// if it fails, and `seen` one to call if it does not.
macro_rules! failing {
    ($($name:ident($($parameter:ident: $of:ty),*)
        $(else $otherwise:ident($($argument:ident),*))? $(seen $see:ident($seen:ident))?;)*) => {
        /// Returns the function that programs get in place of the driver's `function`. It is
        /// `function` itself if the command cannot fail.
        fn in_front(name: &CStr, function: vk::PFN_vkVoidFunction) -> vk::PFN_vkVoidFunction {
            let driver = function?;
            match name.to_str().unwrap() {
                $(stringify!($name) => {
                    // A driver has the same function for all of its devices.
                    static FUNCTION: AtomicUsize = AtomicUsize::new(0);
                    FUNCTION.store(driver as usize, Ordering::Relaxed);
                    unsafe extern "system" fn command($($parameter: $of),*) -> vk::Result {
                        if let Some(failed) = count(stringify!($name)) {
                            $(
                                unsafe { $otherwise($($argument),*) };
                            )?
                            return failed;
                        }
                        $(
                            unsafe { $see($seen) };
                        )?
                        type Function = unsafe extern "system" fn($($of),*) -> vk::Result;
                        // SAFETY: the function is the command of that name.
                        unsafe {
                            let function = FUNCTION.load(Ordering::Relaxed);
                            transmute::<usize, Function>(function)($($parameter),*)
                        }
                    }
                    let command = command as unsafe extern "system" fn($($of),*) -> vk::Result;
                    // SAFETY: the caller casts the pointer back to the type of the command.
                    Some(unsafe { transmute::<*const (), unsafe extern "system" fn()>(command as *const ()) })
                })*
                _ => function,
            }
        }
    };
}

/// The type of allocation callbacks, which are always null here.
type Callbacks = *const c_void;
type In = *const c_void;
type Out = *mut c_void;

failing! {
    vkAllocateCommandBuffers(device: vk::Device, info: In, buffers: Out);
    vkAllocateDescriptorSets(device: vk::Device, info: In, sets: Out);
    vkAllocateMemory(device: vk::Device, info: In, callbacks: Callbacks, memory: Out);
    vkBeginCommandBuffer(cmd: vk::CommandBuffer, info: In);
    vkBindBufferMemory(
        device: vk::Device, buffer: vk::Buffer, memory: vk::DeviceMemory, offset: vk::DeviceSize
    );
    vkCreateBuffer(device: vk::Device, info: In, callbacks: Callbacks, buffer: Out);
    vkCreateCommandPool(device: vk::Device, info: In, callbacks: Callbacks, pool: Out);
    vkCreateComputePipelines(
        device: vk::Device, cache: vk::PipelineCache, count: u32, infos: In, callbacks: Callbacks, pipelines: Out
    ) else no_pipelines(count, pipelines);
    vkCreateDescriptorPool(device: vk::Device, info: In, callbacks: Callbacks, pool: Out);
    vkCreateDescriptorSetLayout(device: vk::Device, info: In, callbacks: Callbacks, layout: Out);
    vkCreateDescriptorUpdateTemplate(device: vk::Device, info: In, callbacks: Callbacks, template: Out);
    vkCreateFence(device: vk::Device, info: In, callbacks: Callbacks, fence: Out);
    vkCreateGraphicsPipelines(
        device: vk::Device, cache: vk::PipelineCache, count: u32, infos: In, callbacks: Callbacks, pipelines: Out
    ) else no_pipelines(count, pipelines);
    vkCreatePipelineCache(device: vk::Device, info: In, callbacks: Callbacks, cache: Out);
    vkCreatePipelineLayout(device: vk::Device, info: In, callbacks: Callbacks, layout: Out);
    vkCreateQueryPool(device: vk::Device, info: In, callbacks: Callbacks, pool: Out);
    vkCreateRenderPass(device: vk::Device, info: In, callbacks: Callbacks, pass: Out);
    vkCreateFramebuffer(device: vk::Device, info: In, callbacks: Callbacks, framebuffer: Out);
    vkCreateShaderModule(device: vk::Device, info: In, callbacks: Callbacks, module: Out) seen code(info);
    vkEndCommandBuffer(cmd: vk::CommandBuffer);
    vkEnumerateDeviceExtensionProperties(
        device: vk::PhysicalDevice, layer: *const c_char, count: *mut u32, properties: Out
    );
    vkEnumeratePhysicalDevices(instance: vk::Instance, count: *mut u32, devices: Out);
    vkGetFenceStatus(device: vk::Device, fence: vk::Fence);
    vkFlushMappedMemoryRanges(device: vk::Device, count: u32, ranges: In);
    vkGetQueryPoolResults(
        device: vk::Device, pool: vk::QueryPool, first: u32, count: u32, size: usize, data: Out,
        stride: vk::DeviceSize, flags: vk::QueryResultFlags
    );
    vkInvalidateMappedMemoryRanges(device: vk::Device, count: u32, ranges: In);
    vkMapMemory(
        device: vk::Device, memory: vk::DeviceMemory, offset: vk::DeviceSize, size: vk::DeviceSize,
        flags: vk::MemoryMapFlags, data: Out
    );
    vkQueueSubmit(queue: vk::Queue, count: u32, submits: In, fence: vk::Fence);
    vkResetCommandBuffer(cmd: vk::CommandBuffer, flags: vk::CommandBufferResetFlags);
    vkResetDescriptorPool(
        device: vk::Device, pool: vk::DescriptorPool, flags: vk::DescriptorPoolResetFlags
    );
    vkWaitForFences(
        device: vk::Device, count: u32, fences: In, all: vk::Bool32, timeout: u64
    );
}

/// The driver's `vkGetInstanceProcAddr`.
unsafe extern "system" fn get_instance_proc_addr(
    instance: vk::Instance,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    // SAFETY: Vulkan's contract, which is the caller's; the caller casts the pointer back to the
    // type of the command.
    unsafe {
        let name = CStr::from_ptr(name);
        let command: *const () = match name.to_bytes() {
            b"vkGetInstanceProcAddr" => get_instance_proc_addr as _,
            b"vkGetDeviceProcAddr" => get_device_proc_addr as _,
            b"vkCreateInstance" => create_instance as _,
            b"vkCreateDevice" => create_device as _,
            b"vkGetPhysicalDeviceProperties2" => get_properties2 as _,
            _ => {
                let function = DRIVER.static_fn().get_instance_proc_addr;
                return in_front(name, function(instance, name.as_ptr()));
            }
        };
        Some(transmute::<*const (), unsafe extern "system" fn()>(command))
    }
}

/// The driver's `vkGetDeviceProcAddr`.
unsafe extern "system" fn get_device_proc_addr(
    device: vk::Device,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    let null = vk::Instance::null();
    // SAFETY: Vulkan's contract, which is the caller's; the function has the type of the command.
    unsafe {
        let function =
            (DRIVER.static_fn().get_instance_proc_addr)(null, c"vkGetDeviceProcAddr".as_ptr())
                .or_else(|| {
                    let instance = *INSTANCE.lock().unwrap();
                    let find = DRIVER.static_fn().get_instance_proc_addr;
                    find(vk::Handle::from_raw(instance), c"vkGetDeviceProcAddr".as_ptr())
                });
        let function: vk::PFN_vkGetDeviceProcAddr = transmute(function.unwrap());
        in_front(CStr::from_ptr(name), function(device, name))
    }
}

/// The current instance.
static INSTANCE: Mutex<u64> = Mutex::new(0);

/// Whether the driver's transform feedback lacks queries and draws by byte count.
static PARTIAL: AtomicBool = AtomicBool::new(false);

/// Makes the driver's transform feedback partial, or complete.
pub fn be_partial(is_partial: bool) {
    PARTIAL.store(is_partial, Ordering::Relaxed);
}

/// The version of Vulkan of which the driver creates no instances.
static REFUSED: AtomicU32 = AtomicU32::new(0);

/// Makes the driver create no instances of a version of Vulkan. 0 for none.
pub fn refuse(version: u32) {
    REFUSED.store(version, Ordering::Relaxed);
}

/// The driver's `vkGetPhysicalDeviceProperties2`.
unsafe extern "system" fn get_properties2(
    physical_device: vk::PhysicalDevice,
    properties: *mut vk::PhysicalDeviceProperties2<'_>,
) {
    // SAFETY: Vulkan's contract, which is the caller's; the function has the type of the command,
    // and a structure is of the type that its sType says.
    unsafe {
        let instance = vk::Handle::from_raw(*INSTANCE.lock().unwrap());
        let find = DRIVER.static_fn().get_instance_proc_addr;
        let function = find(instance, c"vkGetPhysicalDeviceProperties2".as_ptr());
        let function: vk::PFN_vkGetPhysicalDeviceProperties2 = transmute(function.unwrap());
        function(physical_device, properties);
        let mut next = (*properties).p_next.cast::<vk::BaseOutStructure<'_>>();
        while let Some(structure) = next.as_mut() {
            type Limits<'a> = vk::PhysicalDeviceTransformFeedbackPropertiesEXT<'a>;
            let ty = vk::StructureType::PHYSICAL_DEVICE_TRANSFORM_FEEDBACK_PROPERTIES_EXT;
            if structure.s_type == ty && PARTIAL.load(Ordering::Relaxed) {
                let limits = &mut *next.cast::<Limits<'_>>();
                limits.transform_feedback_queries = vk::FALSE;
                limits.transform_feedback_draw = vk::FALSE;
            }
            next = (*next).p_next;
        }
    }
}

/// Returns a chain without the structures at its beginning that are for layers: the validation
/// layer does not know all of them.
///
/// # Safety
/// The chain is valid, and these structures come first.
unsafe fn for_driver(mut chain: *const c_void) -> *const c_void {
    use vk::StructureType as Type;
    let for_layers = [
        Type::LOADER_INSTANCE_CREATE_INFO,
        Type::LOADER_DEVICE_CREATE_INFO,
        Type::LAYER_SETTINGS_CREATE_INFO_EXT,
        // This structure is not for layers. It is removed because the driver may lack the feature
        // that a test enables.
        Type::PHYSICAL_DEVICE_CONDITIONAL_RENDERING_FEATURES_EXT,
    ];
    unsafe {
        while let Some(first) = chain.cast::<vk::BaseInStructure<'_>>().as_ref()
            && for_layers.contains(&first.s_type)
        {
            chain = first.p_next.cast();
        }
    }
    chain
}

/// The driver's `vkCreateInstance`, which may fail.
unsafe extern "system" fn create_instance(
    info: *const vk::InstanceCreateInfo<'_>,
    callbacks: *const vk::AllocationCallbacks<'_>,
    instance: *mut vk::Instance,
) -> vk::Result {
    if let Some(failed) = count("vkCreateInstance") {
        return failed;
    }
    unsafe {
        let mut info = *info;
        let refused = REFUSED.load(Ordering::Relaxed);
        let version = info.p_application_info.as_ref().map(|application| application.api_version);
        if refused != 0 && version == Some(refused) {
            return vk::Result::ERROR_INCOMPATIBLE_DRIVER;
        }
        info.p_next = for_driver(info.p_next);
        let result = (DRIVER.fp_v1_0().create_instance)(&raw const info, callbacks, instance);
        if result == vk::Result::SUCCESS {
            *INSTANCE.lock().unwrap() = vk::Handle::as_raw(*instance);
        }
        result
    }
}

/// The driver's `vkCreateDevice`, which may fail.
unsafe extern "system" fn create_device(
    physical_device: vk::PhysicalDevice,
    info: *const vk::DeviceCreateInfo<'_>,
    callbacks: *const vk::AllocationCallbacks<'_>,
    device: *mut vk::Device,
) -> vk::Result {
    if let Some(failed) = count("vkCreateDevice") {
        return failed;
    }
    // SAFETY: Vulkan's contract, which is the caller's; the function has the type of the command.
    unsafe {
        let mut info = *info;
        info.p_next = for_driver(info.p_next);
        let instance = vk::Handle::from_raw(*INSTANCE.lock().unwrap());
        let find = DRIVER.static_fn().get_instance_proc_addr;
        let create = find(instance, c"vkCreateDevice".as_ptr());
        let create: vk::PFN_vkCreateDevice = transmute(create.unwrap());
        create(physical_device, &raw const info, callbacks, device)
    }
}

/// Returns the layer's functions, which the program calls.
pub fn entry() -> Entry {
    let mut version = NegotiateLayerInterface {
        s_type: NEGOTIATE_INTERFACE_STRUCT,
        p_next: std::ptr::null_mut(),
        loader_layer_interface_version: INTERFACE_VERSION,
        get_instance_proc_addr: None,
        get_device_proc_addr: None,
        get_physical_device_proc_addr: None,
    };
    // SAFETY: the structure is valid, and it gets functions of the layer.
    unsafe {
        let result = vkxfb_layer::vkNegotiateLoaderLayerInterfaceVersion(&raw mut version);
        assert_eq!(result, vk::Result::SUCCESS);
        let get_instance_proc_addr = version.get_instance_proc_addr.unwrap();
        Entry::from_static_fn(StaticFn { get_instance_proc_addr })
    }
}

/// Returns the flags and extensions with which the driver shows all its devices.
pub fn portability() -> (vk::InstanceCreateFlags, Vec<*const c_char>) {
    // SAFETY: the driver is loaded.
    unsafe { portability::enumeration(&DRIVER) }.unwrap()
}

/// Calls `create` with a chain for `vkCreateInstance`, which begins with the layer's link to the
/// driver.
pub fn with_instance_link<R>(chain: *const c_void, create: impl FnOnce(*const c_void) -> R) -> R {
    let mut link = LayerInstanceLink {
        p_next: std::ptr::null_mut(),
        next_get_instance_proc_addr: get_instance_proc_addr,
        next_get_physical_device_proc_addr: None,
    };
    let info = LayerInstanceCreateInfo {
        s_type: vk::StructureType::LOADER_INSTANCE_CREATE_INFO,
        p_next: chain,
        function: LayerFunction::LINK_INFO,
        layer_info: &raw mut link,
    };
    create((&raw const info).cast())
}

/// Like [`with_instance_link`], for `vkCreateDevice`.
pub fn with_device_link<R>(chain: *const c_void, create: impl FnOnce(*const c_void) -> R) -> R {
    let mut link = LayerDeviceLink {
        p_next: std::ptr::null_mut(),
        next_get_instance_proc_addr: get_instance_proc_addr,
        next_get_device_proc_addr: get_device_proc_addr,
    };
    let info = LayerDeviceCreateInfo {
        s_type: vk::StructureType::LOADER_DEVICE_CREATE_INFO,
        p_next: chain,
        function: LayerFunction::LINK_INFO,
        layer_info: &raw mut link,
    };
    create((&raw const info).cast())
}
