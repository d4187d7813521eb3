// Generated from the registry of Vulkan 1.4.360 by tests/registry. Changes belong there.

use super::vk;

/// The sizes in bytes of the structures that may be in chains that the layer copies. They are sorted
/// by the value of `sType`, which comes first.
pub(crate) const SIZES: &[(i32, usize)] = &[
    (16, size_of::<vk::ShaderModuleCreateInfo<'_>>()),
    (49, words(12)),        // VkPhysicalDeviceVulkan11Features
    (51, words(47)),        // VkPhysicalDeviceVulkan12Features
    (53, words(15)),        // VkPhysicalDeviceVulkan13Features
    (55, words(21)),        // VkPhysicalDeviceVulkan14Features
    (1000018000, words(1)), // VkPipelineRasterizationStateRasterizationOrderAMD
    (1000023013, size_of::<vk::VideoProfileListInfoKHR<'_>>()),
    (1000026001, words(1)), // VkDedicatedAllocationBufferCreateInfoNV
    (1000026002, size_of::<vk::DedicatedAllocationMemoryAllocateInfoNV<'_>>()),
    (1000028000, words(2)), // VkPhysicalDeviceTransformFeedbackFeaturesEXT
    (1000028002, words(2)), // VkPipelineRasterizationStateStreamCreateInfoEXT
    (1000044002, size_of::<vk::PipelineRenderingCreateInfo<'_>>()),
    (1000044003, words(1)), // VkPhysicalDeviceDynamicRenderingFeatures
    (1000044008, size_of::<vk::AttachmentSampleCountInfoAMD<'_>>()),
    (1000044009, words(2)), // VkMultiviewPerViewAttributesInfoNVX
    (1000050000, words(1)), // VkPhysicalDeviceCornerSampledImageFeaturesNV
    (1000053001, words(3)), // VkPhysicalDeviceMultiviewFeatures
    (1000056001, words(1)), // VkExportMemoryAllocateInfoNV
    (1000057000, size_of::<vk::ImportMemoryWin32HandleInfoNV<'_>>()),
    (1000057001, size_of::<vk::ExportMemoryWin32HandleInfoNV<'_>>()),
    (1000059000, size_of::<vk::PhysicalDeviceFeatures2<'_>>()),
    (1000060000, words(2)), // VkMemoryAllocateFlagsInfo
    (1000063000, words(1)), // VkPhysicalDeviceShaderDrawParametersFeatures
    (1000066000, words(1)), // VkPhysicalDeviceTextureCompressionASTCHDRFeatures
    (1000067001, words(1)), // VkPhysicalDeviceASTCDecodeFeaturesEXT
    (1000068000, words(4)), // VkPipelineRobustnessCreateInfo
    (1000068001, words(1)), // VkPhysicalDevicePipelineRobustnessFeatures
    (1000070001, size_of::<vk::DeviceGroupDeviceCreateInfo<'_>>()),
    (1000072000, words(1)), // VkExternalMemoryBufferCreateInfo
    (1000072002, words(1)), // VkExportMemoryAllocateInfo
    (1000073000, size_of::<vk::ImportMemoryWin32HandleInfoKHR<'_>>()),
    (1000073001, size_of::<vk::ExportMemoryWin32HandleInfoKHR<'_>>()),
    (1000074000, size_of::<vk::ImportMemoryFdInfoKHR<'_>>()),
    (1000081001, words(2)), // VkPhysicalDeviceConditionalRenderingFeaturesEXT
    (1000082000, words(2)), // VkPhysicalDeviceShaderFloat16Int8Features
    (1000083000, words(4)), // VkPhysicalDevice16BitStorageFeatures
    (1000099001, size_of::<vk::PipelineDiscardRectangleStateCreateInfoEXT<'_>>()),
    (1000101001, size_of::<vk::PipelineRasterizationConservativeStateCreateInfoEXT<'_>>()),
    (1000102000, words(1)), // VkPhysicalDeviceDepthClipEnableFeaturesEXT
    (1000102001, words(2)), // VkPipelineRasterizationDepthClipStateCreateInfoEXT
    (1000108000, words(1)), // VkPhysicalDeviceImagelessFramebufferFeatures
    (1000110000, words(1)), // VkPhysicalDeviceRelaxedLineRasterizationFeaturesIMG
    (1000116000, words(2)), // VkPhysicalDevicePerformanceQueryFeaturesKHR
    (1000120000, words(2)), // VkPhysicalDeviceVariablePointersFeatures
    (1000127001, size_of::<vk::MemoryDedicatedAllocateInfo<'_>>()),
    (1000128000, size_of::<vk::DebugUtilsObjectNameInfoEXT<'_>>()),
    (1000129003, size_of::<vk::ImportAndroidHardwareBufferInfoANDROID<'_>>()),
    (1000129005, size_of::<vk::ExternalFormatANDROID<'_>>()),
    (1000130001, words(1)), // VkSamplerReductionModeCreateInfo
    (1000133000, words(4)), // VkPhysicalDeviceGpaFeaturesAMD
    (1000134000, words(2)), // VkPhysicalDeviceShaderEnqueueFeaturesAMDX
    (1000135006, size_of::<vk::ShaderDescriptorSetAndBindingMappingInfoEXT>()),
    (1000135009, words(2)), // VkPhysicalDeviceDescriptorHeapFeaturesEXT
    (1000135011, words(1)), // VkSamplerCustomBorderColorIndexCreateInfoEXT
    (1000138000, words(2)), // VkPhysicalDeviceInlineUniformBlockFeatures
    (1000141000, words(3)), // VkPhysicalDeviceShaderBfloat16FeaturesKHR
    (1000145001, words(1)), // VkPhysicalDeviceProtectedMemoryFeatures
    (1000148000, words(1)), // VkPhysicalDeviceBlendOperationAdvancedFeaturesEXT
    (1000150013, words(5)), // VkPhysicalDeviceAccelerationStructureFeaturesKHR
    (1000154000, words(1)), // VkPhysicalDeviceShaderSMBuiltinsFeaturesNV
    (1000156001, size_of::<vk::SamplerYcbcrConversionInfo<'_>>()),
    (1000156004, words(1)), // VkPhysicalDeviceSamplerYcbcrConversionFeatures
    (1000160001, size_of::<vk::ShaderModuleValidationCacheCreateInfoEXT<'_>>()),
    (1000161001, words(20)), // VkPhysicalDeviceDescriptorIndexingFeatures
    (1000163000, words(15)), // VkPhysicalDevicePortabilitySubsetFeaturesKHR
    (1000164001, words(2)),  // VkPhysicalDeviceShadingRateImageFeaturesNV
    (1000166000, words(1)),  // VkPhysicalDeviceRepresentativeFragmentTestFeaturesNV
    (1000166001, words(1)),  // VkPipelineRepresentativeFragmentTestStateCreateInfoNV
    (1000172000, words(1)),  // VkPhysicalDeviceCooperativeMatrixConversionFeaturesQCOM
    (1000173000, words(1)),  // VkPhysicalDeviceElapsedTimerQueryFeaturesQCOM
    (1000175000, words(1)),  // VkPhysicalDeviceShaderSubgroupExtendedTypesFeatures
    (1000177000, words(3)),  // VkPhysicalDevice8BitStorageFeatures
    (1000178000, size_of::<vk::ImportMemoryHostPointerInfoEXT<'_>>()),
    (1000180000, words(2)), // VkPhysicalDeviceShaderAtomicInt64Features
    (1000181000, words(2)), // VkPhysicalDeviceShaderClockFeaturesKHR
    (1000183000, words(1)), // VkPipelineCompilerControlCreateInfoAMD
    (1000189000, words(1)), // VkDeviceMemoryOverallocationCreateInfoAMD
    (1000190002, words(2)), // VkPhysicalDeviceVertexAttributeDivisorFeatures
    (1000192000, size_of::<vk::PipelineCreationFeedbackCreateInfo<'_>>()),
    (1000201000, words(2)), // VkPhysicalDeviceComputeShaderDerivativesFeaturesKHR
    (1000202000, words(2)), // VkPhysicalDeviceMeshShaderFeaturesNV
    (1000203000, words(1)), // VkPhysicalDeviceFragmentShaderBarycentricFeaturesKHR
    (1000204000, words(1)), // VkPhysicalDeviceShaderImageFootprintFeaturesNV
    (1000205002, words(1)), // VkPhysicalDeviceExclusiveScissorFeaturesNV
    (1000207000, words(1)), // VkPhysicalDeviceTimelineSemaphoreFeatures
    (1000208000, words(3)), // VkPhysicalDevicePresentTimingFeaturesEXT
    (1000209000, words(1)), // VkPhysicalDeviceShaderIntegerFunctions2FeaturesINTEL
    (1000211000, words(3)), // VkPhysicalDeviceVulkanMemoryModelFeatures
    (1000215000, words(1)), // VkPhysicalDeviceShaderTerminateInvocationFeatures
    (1000218000, words(3)), // VkPhysicalDeviceFragmentDensityMapFeaturesEXT
    (1000221000, words(1)), // VkPhysicalDeviceScalarBlockLayoutFeatures
    (1000225001, words(1)), // VkPipelineShaderStageRequiredSubgroupSizeCreateInfo
    (1000225002, words(2)), // VkPhysicalDeviceSubgroupSizeControlFeatures
    (1000226001, size_of::<vk::PipelineFragmentShadingRateStateCreateInfoKHR<'_>>()),
    (1000226003, words(3)), // VkPhysicalDeviceFragmentShadingRateFeaturesKHR
    (1000229000, words(1)), // VkPhysicalDeviceCoherentMemoryFeaturesAMD
    (1000231000, words(1)), // VkPhysicalDeviceShaderConstantDataFeaturesKHR
    (1000232000, words(1)), // VkPhysicalDeviceDynamicRenderingLocalReadFeatures
    (1000232001, size_of::<vk::RenderingAttachmentLocationInfoKHR<'_>>()),
    (1000232002, size_of::<vk::RenderingInputAttachmentIndexInfoKHR<'_>>()),
    (1000233000, words(1)), // VkPhysicalDeviceShaderAbortFeaturesKHR
    (1000234000, words(2)), // VkPhysicalDeviceShaderImageAtomicInt64FeaturesEXT
    (1000235000, words(1)), // VkPhysicalDeviceShaderQuadControlFeaturesKHR
    (1000238000, words(1)), // VkPhysicalDeviceMemoryPriorityFeaturesEXT
    (1000238001, size_of::<vk::MemoryPriorityAllocateInfoEXT<'_>>()),
    (1000240000, words(1)), // VkPhysicalDeviceDedicatedAllocationImageAliasingFeaturesNV
    (1000241000, words(1)), // VkPhysicalDeviceSeparateDepthStencilLayoutsFeatures
    (1000244000, words(3)), // VkPhysicalDeviceBufferDeviceAddressFeaturesEXT
    (1000244002, size_of::<vk::BufferDeviceAddressCreateInfoEXT<'_>>()),
    (1000247000, size_of::<vk::ValidationFeaturesEXT<'_>>()),
    (1000248000, words(1)), // VkPhysicalDevicePresentWaitFeaturesKHR
    (1000249000, words(2)), // VkPhysicalDeviceCooperativeMatrixFeaturesNV
    (1000250000, words(1)), // VkPhysicalDeviceCoverageReductionModeFeaturesNV
    (1000251000, words(3)), // VkPhysicalDeviceFragmentShaderInterlockFeaturesEXT
    (1000252000, words(1)), // VkPhysicalDeviceYcbcrImageArraysFeaturesEXT
    (1000253000, words(1)), // VkPhysicalDeviceUniformBufferStandardLayoutFeatures
    (1000254000, words(2)), // VkPhysicalDeviceProvokingVertexFeaturesEXT
    (1000254001, words(1)), // VkPipelineRasterizationProvokingVertexStateCreateInfoEXT
    (1000257000, words(3)), // VkPhysicalDeviceBufferDeviceAddressFeatures
    (1000257002, size_of::<vk::BufferOpaqueCaptureAddressCreateInfo<'_>>()),
    (1000257003, size_of::<vk::MemoryOpaqueCaptureAddressAllocateInfo<'_>>()),
    (1000259000, words(6)), // VkPhysicalDeviceLineRasterizationFeatures
    (1000259001, size_of::<vk::PipelineRasterizationLineStateCreateInfoKHR<'_>>()),
    (1000260000, words(12)), // VkPhysicalDeviceShaderAtomicFloatFeaturesEXT
    (1000261000, words(1)),  // VkPhysicalDeviceHostQueryResetFeatures
    (1000265000, words(1)),  // VkPhysicalDeviceIndexTypeUint8Features
    (1000267000, words(1)),  // VkPhysicalDeviceExtendedDynamicStateFeaturesEXT
    (1000269000, words(1)),  // VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR
    (1000270000, words(1)),  // VkPhysicalDeviceHostImageCopyFeatures
    (1000272000, words(3)),  // VkPhysicalDeviceMapMemoryPlacedFeaturesEXT
    (1000273000, words(12)), // VkPhysicalDeviceShaderAtomicFloat2FeaturesEXT
    (1000275000, words(1)),  // VkPhysicalDeviceSwapchainMaintenance1FeaturesKHR
    (1000276000, words(1)),  // VkPhysicalDeviceShaderDemoteToHelperInvocationFeatures
    (1000277007, words(1)),  // VkPhysicalDeviceDeviceGeneratedCommandsFeaturesNV
    (1000278000, words(1)),  // VkPhysicalDeviceInheritedViewportScissorFeaturesNV
    (1000280000, words(1)),  // VkPhysicalDeviceShaderIntegerDotProductFeatures
    (1000281000, words(1)),  // VkPhysicalDeviceTexelBufferAlignmentFeaturesEXT
    (1000283000, words(4)),  // VkPhysicalDeviceDepthBiasControlFeaturesEXT
    (1000283002, words(2)),  // VkDepthBiasRepresentationInfoEXT
    (1000284000, words(1)),  // VkPhysicalDeviceDeviceMemoryReportFeaturesEXT
    (1000284001, size_of::<vk::DeviceDeviceMemoryReportCreateInfoEXT<'_>>()),
    (1000286000, words(3)), // VkPhysicalDeviceRobustness2FeaturesKHR
    (1000287000, size_of::<vk::SamplerCustomBorderColorCreateInfoEXT<'_>>()),
    (1000287002, words(2)), // VkPhysicalDeviceCustomBorderColorFeaturesEXT
    (1000288000, words(1)), // VkPhysicalDeviceTextureCompressionASTC3DFeaturesEXT
    (1000290000, size_of::<vk::PipelineLibraryCreateInfoKHR<'_>>()),
    (1000292000, words(1)),  // VkPhysicalDevicePresentBarrierFeaturesNV
    (1000294001, words(1)),  // VkPhysicalDevicePresentIdFeaturesKHR
    (1000295000, words(1)),  // VkPhysicalDevicePrivateDataFeatures
    (1000295001, words(1)),  // VkDevicePrivateDataCreateInfo
    (1000297000, words(1)),  // VkPhysicalDevicePipelineCreationCacheControlFeatures
    (1000300000, words(1)),  // VkPhysicalDeviceDiagnosticsConfigFeaturesNV
    (1000300001, words(1)),  // VkDeviceDiagnosticsConfigCreateInfoNV
    (1000302001, words(1)),  // VkPhysicalDeviceQueuePerfHintFeaturesQCOM
    (1000303000, words(3)),  // VkPhysicalDeviceImageProcessing3FeaturesQCOM
    (1000304000, words(1)),  // VkPhysicalDeviceShaderMultipleWaitQueuesFeaturesQCOM
    (1000305000, words(1)),  // VkPhysicalDeviceShaderSplitBarrierFeaturesEXT
    (1000307003, words(1)),  // VkPhysicalDeviceCudaKernelLaunchFeaturesNV
    (1000309000, words(14)), // VkPhysicalDeviceTileShadingFeaturesQCOM
    (1000311000, words(1)),  // VkExportMetalObjectCreateInfoEXT
    (1000311005, size_of::<vk::ImportMetalBufferInfoEXT<'_>>()),
    (1000314000, size_of::<vk::MemoryBarrier2<'_>>()),
    (1000314007, words(1)), // VkPhysicalDeviceSynchronization2Features
    (1000316002, words(4)), // VkPhysicalDeviceDescriptorBufferFeaturesEXT
    (1000316010, size_of::<vk::OpaqueCaptureDescriptorDataCreateInfoEXT<'_>>()),
    (1000318006, words(1)), // VkPhysicalDeviceDeviceAddressCommandsFeaturesKHR
    (1000320000, words(1)), // VkPhysicalDeviceGraphicsPipelineLibraryFeaturesEXT
    (1000320002, words(1)), // VkGraphicsPipelineLibraryCreateInfoEXT
    (1000321000, words(1)), // VkPhysicalDeviceShaderEarlyAndLateFragmentTestsFeaturesAMD
    (1000323000, words(1)), // VkPhysicalDeviceShaderSubgroupUniformControlFlowFeaturesKHR
    (1000325000, words(1)), // VkPhysicalDeviceZeroInitializeWorkgroupMemoryFeatures
    (1000326001, words(3)), // VkPhysicalDeviceFragmentShadingRateEnumsFeaturesNV
    (1000326002, size_of::<vk::PipelineFragmentShadingRateEnumStateCreateInfoNV<'_>>()),
    (1000327001, words(2)), // VkPhysicalDeviceRayTracingMotionBlurFeaturesNV
    (1000328000, words(5)), // VkPhysicalDeviceMeshShaderFeaturesEXT
    (1000330000, words(1)), // VkPhysicalDeviceYcbcr2Plane444FormatsFeaturesEXT
    (1000332000, words(1)), // VkPhysicalDeviceFragmentDensityMap2FeaturesEXT
    (1000335000, words(1)), // VkPhysicalDeviceImageRobustnessFeatures
    (1000336000, words(4)), // VkPhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR
    (1000338000, words(1)), // VkPhysicalDeviceImageCompressionControlFeaturesEXT
    (1000339000, words(1)), // VkPhysicalDeviceAttachmentFeedbackLoopLayoutFeaturesEXT
    (1000340000, words(2)), // VkPhysicalDevice4444FormatsFeaturesEXT
    (1000341000, words(2)), // VkPhysicalDeviceFaultFeaturesEXT
    (1000342000, words(3)), // VkPhysicalDeviceRasterizationOrderAttachmentAccessFeaturesEXT
    (1000344000, words(1)), // VkPhysicalDeviceRGBA10X6FormatsFeaturesEXT
    (1000347000, words(5)), // VkPhysicalDeviceRayTracingPipelineFeaturesKHR
    (1000348013, words(1)), // VkPhysicalDeviceRayQueryFeaturesKHR
    (1000351000, words(1)), // VkPhysicalDeviceMutableDescriptorTypeFeaturesEXT
    (1000352000, words(1)), // VkPhysicalDeviceVertexInputDynamicStateFeaturesEXT
    (1000354000, words(1)), // VkPhysicalDeviceAddressBindingReportFeaturesEXT
    (1000355000, words(1)), // VkPhysicalDeviceDepthClipControlFeaturesEXT
    (1000356000, words(2)), // VkPhysicalDevicePrimitiveTopologyListRestartFeaturesEXT
    (1000361000, words(1)), // VkPhysicalDevicePresentModeFifoLatestReadyFeaturesKHR
    (1000364000, size_of::<vk::ImportMemoryZirconHandleInfoFUCHSIA<'_>>()),
    (1000366001, size_of::<vk::ImportMemoryBufferCollectionFUCHSIA<'_>>()),
    (1000366005, size_of::<vk::BufferCollectionBufferCreateInfoFUCHSIA<'_>>()),
    (1000369001, words(1)), // VkPhysicalDeviceSubpassShadingFeaturesHUAWEI
    (1000370000, words(1)), // VkPhysicalDeviceInvocationMaskFeaturesHUAWEI
    (1000371001, words(1)), // VkPhysicalDeviceExternalMemoryRDMAFeaturesNV
    (1000372001, words(1)), // VkPhysicalDevicePipelinePropertiesFeaturesEXT
    (1000375000, words(1)), // VkPhysicalDeviceFrameBoundaryFeaturesEXT
    (1000376000, words(1)), // VkPhysicalDeviceMultisampledRenderToSingleSampledFeaturesEXT
    (1000377000, words(3)), // VkPhysicalDeviceExtendedDynamicState2FeaturesEXT
    (1000381000, words(1)), // VkPhysicalDeviceColorWriteEnableFeaturesEXT
    (1000382000, words(3)), // VkPhysicalDevicePrimitivesGeneratedQueryFeaturesEXT
    (1000386000, words(2)), // VkPhysicalDeviceRayTracingMaintenance1FeaturesKHR
    (1000387000, words(1)), // VkPhysicalDeviceShaderUntypedPointersFeaturesKHR
    (1000388000, words(1)), // VkPhysicalDeviceGlobalPriorityQueryFeatures
    (1000390000, words(1)), // VkPhysicalDeviceVideoEncodeRgbConversionFeaturesVALVE
    (1000391000, words(1)), // VkPhysicalDeviceImageViewMinLodFeaturesEXT
    (1000392000, words(1)), // VkPhysicalDeviceMultiDrawFeaturesEXT
    (1000393000, words(2)), // VkPhysicalDeviceImage2DViewOf3DFeaturesEXT
    (1000395000, words(3)), // VkPhysicalDeviceShaderTileImageFeaturesEXT
    (1000396005, words(3)), // VkPhysicalDeviceOpacityMicromapFeaturesEXT
    (1000397000, words(1)), // VkPhysicalDeviceDisplacementMicromapFeaturesNV
    (1000404000, words(2)), // VkPhysicalDeviceClusterCullingShaderFeaturesHUAWEI
    (1000411000, words(2)), // VkPhysicalDeviceBorderColorSwizzleFeaturesEXT
    (1000411001, size_of::<vk::SamplerBorderColorComponentMappingCreateInfoEXT<'_>>()),
    (1000412000, words(1)), // VkPhysicalDevicePageableDeviceLocalMemoryFeaturesEXT
    (1000413000, words(1)), // VkPhysicalDeviceMaintenance4Features
    (1000416000, words(2)), // VkPhysicalDeviceShaderSubgroupRotateFeatures
    (1000417000, words(1)), // VkDeviceQueueShaderCoreControlCreateInfoARM
    (1000417001, words(1)), // VkPhysicalDeviceSchedulingControlsFeaturesARM
    (1000418000, words(1)), // VkPhysicalDeviceImageSlicedViewOf3DFeaturesEXT
    (1000420000, words(1)), // VkPhysicalDeviceDescriptorSetHostMappingFeaturesVALVE
    (1000421000, words(1)), // VkPhysicalDeviceDepthClampZeroOneFeaturesKHR
    (1000422000, words(1)), // VkPhysicalDeviceNonSeamlessCubeMapFeaturesEXT
    (1000424000, words(1)), // VkPhysicalDeviceRenderPassStripedFeaturesARM
    (1000425000, words(1)), // VkPhysicalDeviceFragmentDensityMapOffsetFeaturesEXT
    (1000426000, words(1)), // VkPhysicalDeviceCopyMemoryIndirectFeaturesNV
    (1000427000, words(1)), // VkPhysicalDeviceMemoryDecompressionFeaturesEXT
    (1000428000, words(3)), // VkPhysicalDeviceDeviceGeneratedCommandsComputeFeaturesNV
    (1000429008, words(2)), // VkPhysicalDeviceRayTracingLinearSweptSpheresFeaturesNV
    (1000430000, words(1)), // VkPhysicalDeviceLinearColorAttachmentFeaturesNV
    (1000434000, words(1)), // VkPhysicalDeviceShaderMaximalReconvergenceFeaturesKHR
    (1000437000, words(1)), // VkPhysicalDeviceImageCompressionControlSwapchainFeaturesEXT
    (1000440000, words(3)), // VkPhysicalDeviceImageProcessingFeaturesQCOM
    (1000451000, words(3)), // VkPhysicalDeviceNestedCommandBufferFeaturesEXT
    (1000452003, size_of::<vk::ImportNativeBufferInfoOHOS>()),
    (1000452005, size_of::<vk::ExternalFormatOHOS>()),
    (1000455000, words(31)), // VkPhysicalDeviceExtendedDynamicState3FeaturesEXT
    (1000458000, words(1)),  // VkPhysicalDeviceSubpassMergeFeedbackFeaturesEXT
    (1000460009, words(6)),  // VkPhysicalDeviceTensorFeaturesARM
    (1000460018, words(1)),  // VkPhysicalDeviceDescriptorBufferTensorFeaturesARM
    (1000462000, words(1)),  // VkPhysicalDeviceShaderModuleIdentifierFeaturesEXT
    (1000462002, size_of::<vk::PipelineShaderStageModuleIdentifierCreateInfoEXT<'_>>()),
    (1000464000, words(1)), // VkPhysicalDeviceOpticalFlowFeaturesNV
    (1000465000, words(1)), // VkPhysicalDeviceLegacyDitheringFeaturesEXT
    (1000466000, words(1)), // VkPhysicalDevicePipelineProtectedAccessFeatures
    (1000468000, words(1)), // VkPhysicalDeviceExternalFormatResolveFeaturesANDROID
    (1000470000, words(1)), // VkPhysicalDeviceMaintenance5Features
    (1000470005, size_of::<vk::PipelineCreateFlags2CreateInfoKHR<'_>>()),
    (1000470006, size_of::<vk::BufferUsageFlags2CreateInfoKHR<'_>>()),
    (1000476000, words(1)), // VkPhysicalDeviceAntiLagFeaturesAMD
    (1000478000, words(1)), // VkPhysicalDeviceDenseGeometryFormatFeaturesAMDX
    (1000479002, words(1)), // VkPhysicalDevicePresentId2FeaturesKHR
    (1000480001, words(1)), // VkPhysicalDevicePresentWait2FeaturesKHR
    (1000481000, words(1)), // VkPhysicalDeviceRayTracingPositionFetchFeaturesKHR
    (1000482000, words(1)), // VkPhysicalDeviceShaderObjectFeaturesEXT
    (1000483000, words(1)), // VkPhysicalDevicePipelineBinaryFeaturesKHR
    (1000483008, words(1)), // VkDevicePipelineBinaryInternalCacheControlKHR
    (1000484000, words(1)), // VkPhysicalDeviceTilePropertiesFeaturesQCOM
    (1000485000, words(1)), // VkPhysicalDeviceAmigoProfilingFeaturesSEC
    (1000488000, words(1)), // VkPhysicalDeviceMultiviewPerViewViewportsFeaturesQCOM
    (1000490000, words(1)), // VkPhysicalDeviceRayTracingInvocationReorderFeaturesNV
    (1000491000, words(2)), // VkPhysicalDeviceCooperativeVectorFeaturesNV
    (1000492000, words(1)), // VkPhysicalDeviceExtendedSparseAddressSpaceFeaturesNV
    (1000495000, words(1)), // VkPhysicalDeviceLegacyVertexAttributesFeaturesEXT
    (1000497000, words(1)), // VkPhysicalDeviceShaderCoreBuiltinsFeaturesARM
    (1000498000, words(1)), // VkPhysicalDevicePipelineLibraryGroupHandlesFeaturesEXT
    (1000499000, words(1)), // VkPhysicalDeviceDynamicRenderingUnusedAttachmentsFeaturesEXT
    (1000504000, words(1)), // VkPhysicalDeviceInternallySynchronizedQueuesFeaturesKHR
    (1000506000, words(2)), // VkPhysicalDeviceCooperativeMatrixFeaturesKHR
    (1000507006, words(5)), // VkPhysicalDeviceDataGraphFeaturesARM
    (1000510000, words(1)), // VkPhysicalDeviceMultiviewPerViewRenderAreasFeaturesQCOM
    (1000513004, words(1)), // VkPhysicalDeviceVideoEncodeAV1FeaturesKHR
    (1000514000, words(1)), // VkPhysicalDeviceVideoDecodeVP9FeaturesKHR
    (1000515000, words(1)), // VkPhysicalDeviceVideoMaintenance1FeaturesKHR
    (1000516000, words(2)), // VkPhysicalDevicePerStageDescriptorSetFeaturesNV
    (1000518000, words(1)), // VkPhysicalDeviceImageProcessing2FeaturesQCOM
    (1000518002, size_of::<vk::SamplerBlockMatchWindowCreateInfoQCOM<'_>>()),
    (1000519000, words(1)), // VkSamplerCubicWeightsCreateInfoQCOM
    (1000519001, words(1)), // VkPhysicalDeviceCubicWeightsFeaturesQCOM
    (1000520000, words(1)), // VkPhysicalDeviceYcbcrDegammaFeaturesQCOM
    (1000521000, words(1)), // VkPhysicalDeviceCubicClampFeaturesQCOM
    (1000524000, words(1)), // VkPhysicalDeviceAttachmentFeedbackLoopDynamicStateFeaturesEXT
    (1000527000, words(2)), // VkPhysicalDeviceUnifiedImageLayoutsFeaturesKHR
    (1000528000, words(1)), // VkPhysicalDeviceShaderFloatControls2Features
    (1000529002, size_of::<vk::ImportScreenBufferInfoQNX<'_>>()),
    (1000529004, words(1)), // VkPhysicalDeviceExternalMemoryScreenBufferFeaturesQNX
    (1000544000, words(1)), // VkPhysicalDeviceShaderExpectAssumeFeatures
    (1000545000, words(1)), // VkPhysicalDeviceMaintenance6Features
    (1000546000, words(1)), // VkPhysicalDeviceDescriptorPoolOverallocationFeaturesNV
    (1000547000, words(1)), // VkPhysicalDeviceTileMemoryHeapFeaturesQCOM
    (1000549000, words(2)), // VkPhysicalDeviceCopyMemoryIndirectFeaturesKHR
    (1000552004, words(1)), // VkPhysicalDeviceVideoEncodeIntraRefreshFeaturesKHR
    (1000553009, words(1)), // VkPhysicalDeviceVideoEncodeQuantizationMapFeaturesKHR
    (1000555000, words(1)), // VkPhysicalDeviceRawAccessChainsFeaturesNV
    (1000556000, words(1)), // VkExternalComputeQueueDeviceCreateInfoNV
    (1000558000, words(1)), // VkPhysicalDeviceShaderRelaxedExtendedInstructionFeaturesKHR
    (1000559000, words(1)), // VkPhysicalDeviceCommandBufferInheritanceFeaturesNV
    (1000562000, words(1)), // VkPhysicalDeviceMaintenance7FeaturesKHR
    (1000563000, words(1)), // VkPhysicalDeviceShaderAtomicFloat16VectorFeaturesNV
    (1000564000, words(1)), // VkPhysicalDeviceShaderReplicatedCompositesFeaturesEXT
    (1000567000, words(2)), // VkPhysicalDeviceShaderFloat8FeaturesEXT
    (1000568000, words(1)), // VkPhysicalDeviceRayTracingValidationFeaturesNV
    (1000569000, words(1)), // VkPhysicalDeviceClusterAccelerationStructureFeaturesNV
    (1000570000, words(1)), // VkPhysicalDevicePartitionedAccelerationStructureFeaturesNV
    (1000572000, words(2)), // VkPhysicalDeviceDeviceGeneratedCommandsFeaturesEXT
    (1000573000, words(4)), // VkPhysicalDeviceFaultFeaturesKHR
    (1000574000, words(1)), // VkPhysicalDeviceMaintenance8FeaturesKHR
    (1000574002, size_of::<vk::MemoryBarrierAccessFlags3KHR>()),
    (1000575000, words(1)), // VkPhysicalDeviceImageAlignmentControlFeaturesMESA
    (1000579000, words(3)), // VkPhysicalDeviceShaderFmaFeaturesKHR
    (1000580001, words(1)), // VkPhysicalDevicePushConstantBankFeaturesNV
    (1000581000, words(1)), // VkPhysicalDeviceRayTracingInvocationReorderFeaturesEXT
    (1000582000, words(1)), // VkPhysicalDeviceDepthClampControlFeaturesEXT
    (1000584000, words(1)), // VkPhysicalDeviceMaintenance9FeaturesKHR
    (1000586000, words(1)), // VkPhysicalDeviceVideoMaintenance2FeaturesKHR
    (1000590000, words(1)), // VkPhysicalDeviceHdrVividFeaturesHUAWEI
    (1000593000, words(7)), // VkPhysicalDeviceCooperativeMatrix2FeaturesNV
    (1000596000, words(1)), // VkPhysicalDevicePipelineOpacityMicromapFeaturesARM
    (1000598000, words(1)), // VkPhysicalDeviceVideoEncodeFeedback2FeaturesKHR
    (1000602000, size_of::<vk::ImportMemoryMetalHandleInfoEXT>()),
    (1000605000, words(1)), // VkPhysicalDevicePerformanceCountersByRegionFeaturesARM
    (1000607000, words(1)), // VkPhysicalDeviceShaderInstrumentationFeaturesARM
    (1000608000, words(1)), // VkPhysicalDeviceVertexAttributeRobustnessFeaturesEXT
    (1000609000, words(1)), // VkPhysicalDeviceFormatPackFeaturesARM
    (1000611000, words(1)), // VkPhysicalDeviceFragmentDensityMapLayeredFeaturesVALVE
    (1000611002, words(1)), // VkPipelineFragmentDensityMapLayeredCreateInfoVALVE
    (1000613001, words(1)), // VkPhysicalDevicePresentMeteringFeaturesNV
    (1000616000, words(1)), // VkPhysicalDeviceMultisampledRenderToSwapchainFeaturesEXT
    (1000620000, words(1)), // VkPhysicalDeviceZeroInitializeDeviceMemoryFeaturesEXT
    (1000623000, words(1)), // VkPhysicalDeviceOpacityMicromapFeaturesKHR
    (1000627000, words(1)), // VkPhysicalDeviceShader64BitIndexingFeaturesEXT
    (1000628000, words(1)), // VkPhysicalDeviceCustomResolveFeaturesEXT
    (1000628002, size_of::<vk::CustomResolveCreateInfoEXT>()),
    (1000629000, words(1)), // VkPhysicalDeviceDataGraphModelFeaturesQCOM
    (1000630000, words(1)), // VkPhysicalDeviceMaintenance10FeaturesKHR
    (1000631000, words(1)), // VkPhysicalDeviceDataGraphOpticalFlowFeaturesARM
    (1000635000, words(1)), // VkPhysicalDeviceShaderLongVectorFeaturesEXT
    (1000637000, words(1)), // VkPhysicalDevicePipelineCacheIncrementalModeFeaturesSEC
    (1000642000, words(1)), // VkPhysicalDeviceShaderUniformBufferUnsizedArrayFeaturesEXT
    (1000645001, words(1)), // VkPhysicalDeviceComputeOccupancyPriorityFeaturesNV
    (1000657000, words(1)), // VkPhysicalDeviceMaintenance11FeaturesKHR
    (1000659000, words(5)), // VkPhysicalDeviceCooperativeMatrixMaintenance1FeaturesEXT
    (1000662000, words(1)), // VkPhysicalDeviceShaderSubgroupPartitionedFeaturesEXT
    (1000668004, words(1)), // VkPhysicalDeviceExtendedFlagsFeaturesKHR
    (1000672000, words(4)), // VkPhysicalDeviceShaderOCPMicroscalingTypesFeaturesEXT
    (1000673000, words(4)), // VkPhysicalDeviceShaderMixedFloatDotProductFeaturesVALVE
    (1000674000, words(1)), // VkPhysicalDeviceThrottleHintFeaturesSEC
    (1000676002, words(1)), // VkPhysicalDeviceDataGraphNeuralAcceleratorStatisticsFeaturesARM
    (1000678000, words(1)), // VkPhysicalDevicePrimitiveRestartIndexFeaturesEXT
    (1000687000, words(1)), // VkPhysicalDeviceImageTilingControlFeaturesEXT
    (1000689000, words(1)), // VkPhysicalDeviceCooperativeMatrixDecodeVectorFeaturesNV
];

/// Returns the size in bytes of a structure with `count` words of 4 bytes after `pNext`.
const fn words(count: usize) -> usize {
    (size_of::<vk::BaseInStructure<'_>>() + 4 * count)
        .next_multiple_of(align_of::<vk::BaseInStructure<'_>>())
}
