//! The Vulkan layer between a target, which is its loader and its program, and the machine's driver. That driver compiles no
//! pipeline here: the layer gets made-up handles of pipelines.

use std::ffi::{CStr, c_char};
use std::fs;
use std::mem::transmute;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use ash::{Entry, Instance, StaticFn, ext, khr, vk};
use tempfile::TempDir;
use vkxfb_layer::interface::{
    LayerDeviceCreateInfo, LayerDeviceLink, LayerFunction, LayerInstanceCreateInfo,
    LayerInstanceLink,
};
use vkxfb_rewriter::lower::strip::strip_xfb;

use crate::chain::{slice, structures};

/// A function of any type.
type Function = unsafe extern "system" fn();

/// Converts a function to one of any type. Must be in an `unsafe` block: who calls it has to convert it back.
macro_rules! untyped {
    ($function:path as $ty:ty) => {
        Some(transmute::<$ty, Function>($function))
    };
}

/// The loader of the machine, which calls its driver.
static DRIVER: LazyLock<Entry> = LazyLock::new(|| {
    // SAFETY: the library is a Vulkan loader.
    unsafe { Entry::load() }.unwrap_or_else(|error| panic!("no Vulkan loader: {error}"))
});

/// The driver's instance.
static INSTANCE: AtomicU64 = AtomicU64::new(0);

/// The number of pipelines that the driver made.
static MADE: AtomicU64 = AtomicU64::new(0);

/// Whether the driver makes no graphics pipelines.
static FAILS: AtomicBool = AtomicBool::new(false);

/// Lets the creation of graphics pipelines by the driver fail, or succeed.
pub fn fail(fails: bool) {
    FAILS.store(fails, Relaxed);
}

/// Formats what the layer logs, and writes it nowhere. Must be called before the layer's first instance is created.
///
/// # Panics
/// If there is already a log.
fn log_to_nowhere() {
    let log = tracing_subscriber::fmt().with_writer(std::io::sink).finish();
    tracing::subscriber::set_global_default(log).unwrap_or_else(|error| panic!("{error}"));
}

/// The layer's entry points.
fn entry() -> Entry {
    let get_instance_proc_addr = vkxfb_layer::vkGetInstanceProcAddr;
    // SAFETY: the function is a `vkGetInstanceProcAddr`.
    unsafe { Entry::from_static_fn(StaticFn { get_instance_proc_addr }) }
}

/// Creates an instance of the layer, above the functions that `below` returns.
fn create_instance(below: vk::PFN_vkGetInstanceProcAddr) -> Result<Instance, vk::Result> {
    let mut link = LayerInstanceLink {
        p_next: std::ptr::null_mut(),
        next_get_instance_proc_addr: below,
        next_get_physical_device_proc_addr: None,
    };
    let info = LayerInstanceCreateInfo {
        s_type: vk::StructureType::LOADER_INSTANCE_CREATE_INFO,
        p_next: std::ptr::null(),
        function: LayerFunction::LINK_INFO,
        layer_info: &raw mut link,
    };
    let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
    let mut create = vk::InstanceCreateInfo::default().application_info(&application);
    create.p_next = (&raw const info).cast();
    // SAFETY: the chain is valid until the call returns.
    unsafe { entry().create_instance(&create, None) }
}

/// The settings file that the layer reads when an instance is created.
pub struct SettingsFile(TempDir);

impl SettingsFile {
    /// Makes the layer read a file. Must be called before all else of the layer, once.
    ///
    /// # Panics
    /// If no temporary directory can be made.
    pub fn new() -> Self {
        log_to_nowhere();
        // In memory, where Linux has a place for that: a disk would take most of the time.
        let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let directory = directory.unwrap_or_else(|error| panic!("{error}"));
        // SAFETY: no other thread runs.
        unsafe { std::env::set_var("VK_LAYER_SETTINGS_PATH", directory.path()) };
        Self(directory)
    }

    /// Lets the layer read these bytes. The driver then fails.
    ///
    /// # Panics
    /// If the file cannot be written, or an instance is created.
    pub fn read(&self, bytes: &[u8]) {
        unsafe extern "system" fn fails(
            _: *const vk::InstanceCreateInfo<'_>,
            _: *const vk::AllocationCallbacks<'_>,
            _: *mut vk::Instance,
        ) -> vk::Result {
            vk::Result::ERROR_INCOMPATIBLE_DRIVER
        }
        unsafe extern "system" fn find(_: vk::Instance, _: *const c_char) -> Option<Function> {
            // SAFETY: the layer converts it back.
            unsafe { untyped!(fails as vk::PFN_vkCreateInstance) }
        }
        let file = self.0.path().join("vk_layer_settings.txt");
        fs::write(file, bytes).unwrap_or_else(|error| panic!("{error}"));
        let result = create_instance(find).map(|_| ());
        assert_eq!(result, Err(vk::Result::ERROR_INCOMPATIBLE_DRIVER));
    }
}

impl Default for SettingsFile {
    fn default() -> Self {
        Self::new()
    }
}

/// The extensions of the device, as far as the driver has them.
const EXTENSIONS: [&CStr; 9] = [
    ext::transform_feedback::NAME,
    khr::pipeline_library::NAME,
    ext::graphics_pipeline_library::NAME,
    ext::shader_module_identifier::NAME,
    ext::provoking_vertex::NAME,
    ext::vertex_input_dynamic_state::NAME,
    ext::extended_dynamic_state3::NAME,
    ext::vertex_attribute_divisor::NAME,
    khr::maintenance5::NAME,
];

/// A device of the layer, which captures.
pub struct Device {
    /// The device with the layer's functions.
    pub raw: ash::Device,
    /// `vkGetShaderModuleIdentifierEXT`, if the device has it.
    pub identifier: Option<vk::PFN_vkGetShaderModuleIdentifierEXT>,
}

impl Device {
    /// Creates a device. Must be called before all else of the layer, once.
    ///
    /// # Panics
    /// If there is no driver, or the layer does not capture on it.
    pub fn new() -> Self {
        log_to_nowhere();
        // SAFETY: no other thread runs.
        unsafe { std::env::set_var("VKXFB_FORCE_ENABLE", "1") };
        let created = create_instance(get_instance_proc_addr);
        let instance = created.unwrap_or_else(|error| panic!("vkCreateInstance: {error}"));
        // SAFETY: the instance is live, and all chains are valid.
        unsafe {
            let devices = instance.enumerate_physical_devices().unwrap_or_default();
            let physical_device = *devices.first().unwrap_or_else(|| panic!("no driver"));
            let found = instance.enumerate_device_extension_properties(physical_device);
            let found = found.unwrap_or_default();
            let has =
                |name: &CStr| found.iter().any(|found| found.extension_name_as_c_str() == Ok(name));
            assert!(has(ext::transform_feedback::NAME), "the layer does not capture");
            let extensions = EXTENSIONS.map(|name| has(name).then_some(name.as_ptr()));
            let extensions: Vec<*const c_char> = extensions.into_iter().flatten().collect();
            let features = instance.get_physical_device_features(physical_device);
            let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&[1.0])];
            let mut link = LayerDeviceLink {
                p_next: std::ptr::null_mut(),
                next_get_instance_proc_addr: get_instance_proc_addr,
                next_get_device_proc_addr: get_device_proc_addr,
            };
            let first = LayerDeviceCreateInfo {
                s_type: vk::StructureType::LOADER_DEVICE_CREATE_INFO,
                p_next: std::ptr::null(),
                function: LayerFunction::LINK_INFO,
                layer_info: &raw mut link,
            };
            let mut info = vk::DeviceCreateInfo::default()
                .queue_create_infos(&queues)
                .enabled_extension_names(&extensions)
                .enabled_features(&features);
            info.p_next = (&raw const first).cast();
            let raw = instance.create_device(physical_device, &info, None);
            let raw = raw.unwrap_or_else(|error| panic!("vkCreateDevice: {error}"));
            let find = |name: &CStr| vkxfb_layer::vkGetDeviceProcAddr(raw.handle(), name.as_ptr());
            let identifier = find(c"vkGetShaderModuleIdentifierEXT").map(|function| {
                transmute::<Function, vk::PFN_vkGetShaderModuleIdentifierEXT>(function)
            });
            Self { raw, identifier }
        }
    }
}

impl Default for Device {
    fn default() -> Self {
        Self::new()
    }
}

/// The `vkGetInstanceProcAddr` below the layer.
unsafe extern "system" fn get_instance_proc_addr(
    instance: vk::Instance,
    name: *const c_char,
) -> Option<Function> {
    // SAFETY: Vulkan's contract, which is the caller's; the caller converts functions to the types of their commands.
    unsafe {
        match CStr::from_ptr(name).to_bytes() {
            b"vkCreateInstance" => untyped!(create_instance_below as vk::PFN_vkCreateInstance),
            b"vkCreateDevice" => untyped!(create_device_below as vk::PFN_vkCreateDevice),
            b"vkGetDeviceProcAddr" => untyped!(get_device_proc_addr as vk::PFN_vkGetDeviceProcAddr),
            _ => (DRIVER.static_fn().get_instance_proc_addr)(instance, name),
        }
    }
}

/// The `vkGetDeviceProcAddr` below the layer.
unsafe extern "system" fn get_device_proc_addr(
    device: vk::Device,
    name: *const c_char,
) -> Option<Function> {
    // SAFETY: Vulkan's contract, which is the caller's; the caller converts functions to the types of their commands.
    unsafe {
        match CStr::from_ptr(name).to_bytes() {
            b"vkCreateGraphicsPipelines" => {
                untyped!(create_graphics_pipelines as vk::PFN_vkCreateGraphicsPipelines)
            }
            b"vkCreateComputePipelines" => {
                untyped!(create_compute_pipelines as vk::PFN_vkCreateComputePipelines)
            }
            b"vkDestroyPipeline" => untyped!(destroy_pipeline as vk::PFN_vkDestroyPipeline),
            _ => {
                let find = driver_command(c"vkGetDeviceProcAddr")?;
                transmute::<Function, vk::PFN_vkGetDeviceProcAddr>(find)(device, name)
            }
        }
    }
}

/// Returns a command of the driver's instance.
fn driver_command(name: &CStr) -> Option<Function> {
    let instance: vk::Instance = vk::Handle::from_raw(INSTANCE.load(Relaxed));
    // SAFETY: the instance is live.
    unsafe { (DRIVER.static_fn().get_instance_proc_addr)(instance, name.as_ptr()) }
}

unsafe extern "system" fn create_instance_below(
    info: *const vk::InstanceCreateInfo<'_>,
    callbacks: *const vk::AllocationCallbacks<'_>,
    instance: *mut vk::Instance,
) -> vk::Result {
    unsafe {
        // The loader's structure is all that is in the chain.
        let info = vk::InstanceCreateInfo { p_next: std::ptr::null(), ..*info };
        let result = (DRIVER.fp_v1_0().create_instance)(&raw const info, callbacks, instance);
        if result == vk::Result::SUCCESS {
            INSTANCE.store(vk::Handle::as_raw(*instance), Relaxed);
        }
        result
    }
}

unsafe extern "system" fn create_device_below(
    physical_device: vk::PhysicalDevice,
    info: *const vk::DeviceCreateInfo<'_>,
    callbacks: *const vk::AllocationCallbacks<'_>,
    device: *mut vk::Device,
) -> vk::Result {
    let Some(create) = driver_command(c"vkCreateDevice") else { return vk::Result::ERROR_UNKNOWN };
    // SAFETY: Vulkan's contract, which is the caller's; the function is of that type.
    unsafe {
        let mut info = *info;
        // The layer's own structures come before the loader's, which is the last.
        let loaders = vk::StructureType::LOADER_DEVICE_CREATE_INFO;
        let mut chain: *mut vk::BaseOutStructure<'_> = info.p_next.cast_mut().cast();
        let mut before: Option<*mut vk::BaseOutStructure<'_>> = None;
        while !chain.is_null() && (*chain).s_type != loaders {
            before = Some(chain);
            chain = (*chain).p_next;
        }
        match before {
            Some(before) => (*before).p_next = std::ptr::null_mut(),
            None => info.p_next = std::ptr::null(),
        }
        let create = transmute::<Function, vk::PFN_vkCreateDevice>(create);
        create(physical_device, &raw const info, callbacks, device)
    }
}

/// Makes up handles of pipelines.
///
/// # Safety
/// There is room for `count` handles.
unsafe fn make_up(count: u32, pipelines: *mut vk::Pipeline) {
    for number in 0..count as usize {
        let handle = vk::Handle::from_raw(1 + MADE.fetch_add(1, Relaxed));
        unsafe { pipelines.add(number).write(handle) };
    }
}

unsafe extern "system" fn create_graphics_pipelines(
    _device: vk::Device,
    _cache: vk::PipelineCache,
    count: u32,
    infos: *const vk::GraphicsPipelineCreateInfo<'_>,
    _callbacks: *const vk::AllocationCallbacks<'_>,
    pipelines: *mut vk::Pipeline,
) -> vk::Result {
    unsafe {
        for info in slice(infos, count) {
            check_below(info);
        }
        if FAILS.load(Relaxed) {
            return vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
        }
        make_up(count, pipelines);
    }
    vk::Result::SUCCESS
}

unsafe extern "system" fn create_compute_pipelines(
    _device: vk::Device,
    _cache: vk::PipelineCache,
    count: u32,
    _infos: *const vk::ComputePipelineCreateInfo<'_>,
    _callbacks: *const vk::AllocationCallbacks<'_>,
    pipelines: *mut vk::Pipeline,
) -> vk::Result {
    unsafe { make_up(count, pipelines) };
    vk::Result::SUCCESS
}

unsafe extern "system" fn destroy_pipeline(
    _device: vk::Device,
    _pipeline: vk::Pipeline,
    _callbacks: *const vk::AllocationCallbacks<'_>,
) {
}

/// Reads what the layer passes to the driver: all of it can be read, and no shader in it captures.
///
/// # Safety
/// The structure is valid.
unsafe fn check_below(info: &vk::GraphicsPipelineCreateInfo<'_>) {
    unsafe {
        _ = structures(info.p_next).count();
        for stage in slice(info.p_stages, info.stage_count) {
            _ = structures(stage.p_next).count();
            // A driver takes the first of several structures of a type, and none if there is a handle.
            let is_module = |s: &*const vk::BaseInStructure<'_>| {
                (**s).s_type == vk::StructureType::SHADER_MODULE_CREATE_INFO
            };
            let Some(found) = structures(stage.p_next).find(is_module) else { continue };
            if stage.module == vk::ShaderModule::null() {
                let module = &*found.cast::<vk::ShaderModuleCreateInfo<'_>>();
                let words = slice(module.p_code, (module.code_size / 4) as u32);
                let is_plain = strip_xfb(words).is_ok_and(|plain| *plain == *words);
                assert!(is_plain || strip_xfb(words).is_err(), "the driver gets a capture");
            }
        }
        if let Some(state) = info.p_rasterization_state.as_ref() {
            _ = structures(state.p_next).count();
        }
    }
}
