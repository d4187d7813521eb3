//! Every pNext chain and every extension function table of the runtime, in one place: how `ash`
//! spells them changes between its releases.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString};

use ash::{ext, khr, vk};

use super::RuntimeError;
use crate::topology::ProvokingVertex;

/// Where `bufferDeviceAddress` comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AddressSource {
    /// Vulkan 1.2.
    Core,
    /// [`VK_KHR_buffer_device_address`](https://docs.vulkan.org/refpages/latest/refpages/source/VK_KHR_buffer_device_address.html).
    Extension,
}

/// [`VkPhysicalDeviceTransformFeedbackPropertiesEXT`](https://docs.vulkan.org/refpages/latest/refpages/source/VkPhysicalDeviceTransformFeedbackPropertiesEXT.html)
/// of a device that has the feature `transformFeedback`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransformFeedbackSupport {
    /// Feature `geometryStreams`.
    pub geometry_streams: bool,
    /// `maxTransformFeedbackStreams`.
    pub max_streams: u32,
    /// `maxTransformFeedbackBuffers`.
    pub max_buffers: u32,
    /// `maxTransformFeedbackBufferSize` in bytes.
    pub max_buffer_size: u64,
    /// `maxTransformFeedbackStreamDataSize` in bytes.
    pub max_stream_data_size: u32,
    /// `maxTransformFeedbackBufferDataSize` in bytes.
    pub max_buffer_data_size: u32,
    /// `maxTransformFeedbackBufferDataStride` in bytes.
    pub max_buffer_data_stride: u32,
    /// `transformFeedbackQueries`.
    pub queries: bool,
    /// `transformFeedbackStreamsLinesTriangles`.
    pub streams_lines_triangles: bool,
    /// `transformFeedbackRasterizationStreamSelect`.
    pub rasterization_stream_select: bool,
    /// `transformFeedbackDraw`.
    pub draw: bool,
}

/// Features and properties of
/// [`VK_EXT_provoking_vertex`](https://docs.vulkan.org/refpages/latest/refpages/source/VK_EXT_provoking_vertex.html).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProvokingVertexSupport {
    /// Feature `provokingVertexLast`.
    pub last: bool,
    /// Feature `transformFeedbackPreservesProvokingVertex`.
    pub preserved: bool,
    /// Property `provokingVertexModePerPipeline`.
    pub mode_per_pipeline: bool,
    /// Property `transformFeedbackPreservesTriangleFanProvokingVertex`.
    pub triangle_fan_preserved: bool,
}

/// What the chains of a query return.
#[derive(Debug, Clone)]
pub(super) struct Queried {
    pub(super) api_version: u32,
    pub(super) properties: vk::PhysicalDeviceProperties,
    pub(super) features: vk::PhysicalDeviceFeatures,
    pub(super) extensions: BTreeSet<CString>,
    pub(super) driver_name: String,
    pub(super) driver_info: String,
    pub(super) transform_feedback: Option<TransformFeedbackSupport>,
    pub(super) provoking_vertex: Option<ProvokingVertexSupport>,
    pub(super) buffer_device_address: Option<AddressSource>,
    pub(super) shader_draw_parameters: bool,
    pub(super) dynamic_rendering: bool,
    pub(super) synchronization2: bool,
}

/// A fixed array of C characters, as far as it is text.
fn text(chars: Result<&CStr, impl std::fmt::Debug>) -> String {
    chars.map(|c| c.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The two ways to the `2` queries.
enum Query2<'a> {
    Core(&'a ash::Instance),
    Khr(khr::get_physical_device_properties2::Instance),
}

impl<'a> Query2<'a> {
    fn new(
        entry: &ash::Entry,
        instance: &'a ash::Instance,
        api_version: u32,
    ) -> Result<Self, RuntimeError> {
        if api_version >= vk::API_VERSION_1_1 {
            return Ok(Self::Core(instance));
        }
        // ash puts a function that panics where a command is missing, so ask for one first.
        // SAFETY: `instance` is live, the name is a C string.
        let found = unsafe {
            entry.get_instance_proc_addr(
                instance.handle(),
                c"vkGetPhysicalDeviceProperties2KHR".as_ptr(),
            )
        };
        if found.is_none() {
            return Err(RuntimeError::MissingInstanceExtension {
                name: "VK_KHR_get_physical_device_properties2",
                api_version,
            });
        }
        Ok(Self::Khr(khr::get_physical_device_properties2::Instance::new(entry, instance)))
    }

    /// # Safety
    /// `pd` belongs to the instance; every structure of the chain is one that the device knows.
    unsafe fn features(&self, pd: vk::PhysicalDevice, out: &mut vk::PhysicalDeviceFeatures2<'_>) {
        // SAFETY: the caller's contract.
        unsafe {
            match self {
                Self::Core(instance) => instance.get_physical_device_features2(pd, out),
                Self::Khr(khr) => khr.get_physical_device_features2(pd, out),
            }
        }
    }

    /// # Safety
    /// As [`features`](Self::features).
    unsafe fn properties(
        &self,
        pd: vk::PhysicalDevice,
        out: &mut vk::PhysicalDeviceProperties2<'_>,
    ) {
        // SAFETY: the caller's contract.
        unsafe {
            match self {
                Self::Core(instance) => instance.get_physical_device_properties2(pd, out),
                Self::Khr(khr) => khr.get_physical_device_properties2(pd, out),
            }
        }
    }
}

/// Asks a device for everything that the runtime uses.
///
/// # Errors
/// A failed enumeration, or [`RuntimeError::MissingInstanceExtension`].
///
/// # Safety
/// `pd` belongs to `instance`, which was made through `entry` with `instance_api_version` as its
/// `apiVersion`.
pub(super) unsafe fn query(
    entry: &ash::Entry,
    instance: &ash::Instance,
    instance_api_version: u32,
    pd: vk::PhysicalDevice,
) -> Result<Queried, RuntimeError> {
    // SAFETY: `pd` belongs to `instance`.
    let properties = unsafe { instance.get_physical_device_properties(pd) };
    let api_version = properties.api_version.min(instance_api_version);
    // SAFETY: `pd` belongs to `instance`.
    let extensions: BTreeSet<CString> =
        unsafe { instance.enumerate_device_extension_properties(pd) }
            .map_err(RuntimeError::vulkan("vkEnumerateDeviceExtensionProperties"))?
            .iter()
            .filter_map(|e| e.extension_name_as_c_str().ok().map(CStr::to_owned))
            .collect();
    let query2 = Query2::new(entry, instance, api_version)?;
    let has = |name: &CStr| extensions.contains(name);

    let has_xfb = has(ext::transform_feedback::NAME);
    let has_provoking = has(ext::provoking_vertex::NAME);
    let bda_core = api_version >= vk::API_VERSION_1_2;
    let has_bda = bda_core || has(khr::buffer_device_address::NAME);
    let has_rendering = api_version >= vk::API_VERSION_1_3 || has(khr::dynamic_rendering::NAME);
    let has_sync2 = api_version >= vk::API_VERSION_1_3 || has(khr::synchronization2::NAME);
    let has_driver = bda_core || has(khr::driver_properties::NAME);

    let mut xfb = vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default();
    let mut provoking = vk::PhysicalDeviceProvokingVertexFeaturesEXT::default();
    let mut bda = vk::PhysicalDeviceBufferDeviceAddressFeatures::default();
    let mut draw_parameters = vk::PhysicalDeviceShaderDrawParametersFeatures::default();
    let mut rendering = vk::PhysicalDeviceDynamicRenderingFeatures::default();
    let mut sync2 = vk::PhysicalDeviceSynchronization2Features::default();
    let mut features = vk::PhysicalDeviceFeatures2::default();
    if has_xfb {
        features = features.push_next(&mut xfb);
    }
    if has_provoking {
        features = features.push_next(&mut provoking);
    }
    if has_bda {
        features = features.push_next(&mut bda);
    }
    if api_version >= vk::API_VERSION_1_1 {
        features = features.push_next(&mut draw_parameters);
    }
    if has_rendering {
        features = features.push_next(&mut rendering);
    }
    if has_sync2 {
        features = features.push_next(&mut sync2);
    }
    // SAFETY: only structures of extensions and versions that the device has are chained.
    unsafe { query2.features(pd, &mut features) };
    let features = features.features;

    let mut xfb_limits = vk::PhysicalDeviceTransformFeedbackPropertiesEXT::default();
    let mut provoking_limits = vk::PhysicalDeviceProvokingVertexPropertiesEXT::default();
    let mut driver = vk::PhysicalDeviceDriverProperties::default();
    let mut properties2 = vk::PhysicalDeviceProperties2::default();
    if has_xfb {
        properties2 = properties2.push_next(&mut xfb_limits);
    }
    if has_provoking {
        properties2 = properties2.push_next(&mut provoking_limits);
    }
    if has_driver {
        properties2 = properties2.push_next(&mut driver);
    }
    // SAFETY: as above.
    unsafe { query2.properties(pd, &mut properties2) };

    Ok(Queried {
        api_version,
        properties,
        features,
        driver_name: text(driver.driver_name_as_c_str()),
        driver_info: text(driver.driver_info_as_c_str()),
        transform_feedback: (xfb.transform_feedback == vk::TRUE).then(|| {
            TransformFeedbackSupport {
                geometry_streams: xfb.geometry_streams == vk::TRUE,
                max_streams: xfb_limits.max_transform_feedback_streams,
                max_buffers: xfb_limits.max_transform_feedback_buffers,
                max_buffer_size: xfb_limits.max_transform_feedback_buffer_size,
                max_stream_data_size: xfb_limits.max_transform_feedback_stream_data_size,
                max_buffer_data_size: xfb_limits.max_transform_feedback_buffer_data_size,
                max_buffer_data_stride: xfb_limits.max_transform_feedback_buffer_data_stride,
                queries: xfb_limits.transform_feedback_queries == vk::TRUE,
                streams_lines_triangles: xfb_limits.transform_feedback_streams_lines_triangles
                    == vk::TRUE,
                rasterization_stream_select: xfb_limits
                    .transform_feedback_rasterization_stream_select
                    == vk::TRUE,
                draw: xfb_limits.transform_feedback_draw == vk::TRUE,
            }
        }),
        provoking_vertex: has_provoking.then_some(ProvokingVertexSupport {
            last: provoking.provoking_vertex_last == vk::TRUE,
            preserved: provoking.transform_feedback_preserves_provoking_vertex == vk::TRUE,
            mode_per_pipeline: provoking_limits.provoking_vertex_mode_per_pipeline == vk::TRUE,
            triangle_fan_preserved: provoking_limits
                .transform_feedback_preserves_triangle_fan_provoking_vertex
                == vk::TRUE,
        }),
        buffer_device_address: (bda.buffer_device_address == vk::TRUE).then_some(if bda_core {
            AddressSource::Core
        } else {
            AddressSource::Extension
        }),
        shader_draw_parameters: if api_version >= vk::API_VERSION_1_1 {
            draw_parameters.shader_draw_parameters == vk::TRUE
        } else {
            has(khr::shader_draw_parameters::NAME)
        },
        dynamic_rendering: rendering.dynamic_rendering == vk::TRUE,
        synchronization2: sync2.synchronization2 == vk::TRUE,
        extensions,
    })
}

/// Feature structures for [`with_device_create_info`]; a false one is not chained.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ChainedFeatures {
    pub(super) transform_feedback: bool,
    pub(super) buffer_device_address: bool,
    pub(super) provoking_vertex_last: bool,
    pub(super) preserve_provoking_vertex: bool,
    pub(super) shader_draw_parameters: bool,
}

/// Calls `f` with `info`, the extensions and features added.
pub(super) fn with_device_create_info<R>(
    info: vk::DeviceCreateInfo<'_>,
    extensions: &[&CStr],
    core: &vk::PhysicalDeviceFeatures,
    chained: ChainedFeatures,
    f: impl FnOnce(&vk::DeviceCreateInfo<'_>) -> R,
) -> R {
    let names: Vec<_> = extensions.iter().map(|name| name.as_ptr()).collect();
    let mut xfb =
        vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default().transform_feedback(true);
    let mut bda =
        vk::PhysicalDeviceBufferDeviceAddressFeatures::default().buffer_device_address(true);
    let mut provoking = vk::PhysicalDeviceProvokingVertexFeaturesEXT::default()
        .provoking_vertex_last(chained.provoking_vertex_last)
        .transform_feedback_preserves_provoking_vertex(chained.preserve_provoking_vertex);
    let mut draw_parameters =
        vk::PhysicalDeviceShaderDrawParametersFeatures::default().shader_draw_parameters(true);
    let mut info = info.enabled_extension_names(&names).enabled_features(core);
    if chained.transform_feedback {
        info = info.push_next(&mut xfb);
    }
    if chained.buffer_device_address {
        info = info.push_next(&mut bda);
    }
    if chained.provoking_vertex_last || chained.preserve_provoking_vertex {
        info = info.push_next(&mut provoking);
    }
    if chained.shader_draw_parameters {
        info = info.push_next(&mut draw_parameters);
    }
    f(&info)
}

/// Calls `f` with rasterization state that discards everything and has that provoking vertex.
pub(super) fn with_discard_state<R>(
    provoking: ProvokingVertex,
    f: impl FnOnce(&vk::PipelineRasterizationStateCreateInfo<'_>) -> R,
) -> R {
    let mut mode = vk::PipelineRasterizationProvokingVertexStateCreateInfoEXT::default()
        .provoking_vertex_mode(vk::ProvokingVertexModeEXT::LAST_VERTEX);
    let mut state = vk::PipelineRasterizationStateCreateInfo::default()
        .rasterizer_discard_enable(true)
        .polygon_mode(vk::PolygonMode::FILL)
        .line_width(1.0);
    // First is Vulkan's default and needs no extension.
    if provoking == ProvokingVertex::Last {
        state = state.push_next(&mut mode);
    }
    f(&state)
}

/// `vkGetBufferDeviceAddress`, by whichever name the device has it.
#[derive(Clone)]
pub(super) enum AddressFn {
    Core(ash::Device),
    Khr(khr::buffer_device_address::Device),
}

impl AddressFn {
    pub(super) fn load(
        instance: &ash::Instance,
        device: &ash::Device,
        source: AddressSource,
    ) -> Result<Self, RuntimeError> {
        match source {
            AddressSource::Core => {
                check_loaded(instance, device, c"vkGetBufferDeviceAddress", "bufferDeviceAddress")?;
                Ok(Self::Core(device.clone()))
            }
            AddressSource::Extension => {
                check_loaded(
                    instance,
                    device,
                    c"vkGetBufferDeviceAddressKHR",
                    "VK_KHR_buffer_device_address",
                )?;
                Ok(Self::Khr(khr::buffer_device_address::Device::new(instance, device)))
            }
        }
    }

    /// # Safety
    /// `buffer` is a live buffer of the device with the usage `SHADER_DEVICE_ADDRESS`, bound to
    /// memory that was allocated for addresses.
    pub(super) unsafe fn get(&self, buffer: vk::Buffer) -> u64 {
        let info = vk::BufferDeviceAddressInfo::default().buffer(buffer);
        // SAFETY: the caller's contract.
        unsafe {
            match self {
                Self::Core(device) => device.get_buffer_device_address(&info),
                Self::Khr(khr) => khr.get_buffer_device_address(&info),
            }
        }
    }
}

/// The commands of `VK_EXT_transform_feedback`; ash has only the raw table.
#[derive(Clone)]
pub(super) struct TransformFeedbackFn(ext::transform_feedback::Device);

impl TransformFeedbackFn {
    pub(super) fn load(
        instance: &ash::Instance,
        device: &ash::Device,
    ) -> Result<Self, RuntimeError> {
        check_loaded(
            instance,
            device,
            c"vkCmdBeginTransformFeedbackEXT",
            "VK_EXT_transform_feedback",
        )?;
        Ok(Self(ext::transform_feedback::Device::new(instance, device)))
    }

    /// [`vkCmdBindTransformFeedbackBuffersEXT`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdBindTransformFeedbackBuffersEXT.html)
    /// of one buffer.
    ///
    /// # Safety
    /// That command's valid usage.
    pub(super) unsafe fn bind(
        &self,
        cmd: vk::CommandBuffer,
        index: u32,
        buffer: vk::Buffer,
        offset: u64,
        size: u64,
    ) {
        // SAFETY: the caller's contract; the pointers are to single live values.
        unsafe {
            (self.0.fp().cmd_bind_transform_feedback_buffers_ext)(
                cmd, index, 1, &buffer, &offset, &size,
            );
        }
    }

    /// [`vkCmdBeginTransformFeedbackEXT`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdBeginTransformFeedbackEXT.html)
    /// without counters.
    ///
    /// # Safety
    /// That command's valid usage.
    pub(super) unsafe fn begin(&self, cmd: vk::CommandBuffer) {
        // SAFETY: the caller's contract; no counter buffer is named.
        unsafe {
            (self.0.fp().cmd_begin_transform_feedback_ext)(
                cmd,
                0,
                0,
                std::ptr::null(),
                std::ptr::null(),
            );
        }
    }

    /// [`vkCmdEndTransformFeedbackEXT`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdEndTransformFeedbackEXT.html)
    /// without counters.
    ///
    /// # Safety
    /// That command's valid usage.
    pub(super) unsafe fn end(&self, cmd: vk::CommandBuffer) {
        // SAFETY: the caller's contract; no counter buffer is named.
        unsafe {
            (self.0.fp().cmd_end_transform_feedback_ext)(
                cmd,
                0,
                0,
                std::ptr::null(),
                std::ptr::null(),
            );
        }
    }
}

/// ash puts a function that panics where a command is missing: refuse before it is called.
fn check_loaded(
    instance: &ash::Instance,
    device: &ash::Device,
    function: &'static CStr,
    needs: &'static str,
) -> Result<(), RuntimeError> {
    // SAFETY: both handles are live, the name is a C string.
    match unsafe { instance.get_device_proc_addr(device.handle(), function.as_ptr()) } {
        Some(_) => Ok(()),
        None => Err(RuntimeError::MissingFunction {
            function: function.to_str().unwrap_or_default(),
            needs,
        }),
    }
}
