//! Public types can be sent to other threads and shared between threads.

use std::path::Path;

#[macro_use]
#[path = "../common/thread_safety.rs"]
mod thread_safety;

send_and_sync! {
    vkxfb::internal::capture { InterfaceVariable, Outputs<'static>, Space, Written }
    vkxfb::capture {
        BufferMode, CaptureEntry, CaptureError, CaptureList, GlType, Layout, LengthError, CapturedOutput,
        Selector, Varying,
    }
    vkxfb::counts { BoundBuffer, DrawCounts }
    vkxfb::internal { Barrier, ContextId, DeviceIdentity, Tuning, TuningEffect, Workaround, WorkaroundEffect }
    vkxfb::lower {
        Backend, Captures<'static>, Effects, LowerError, Lowered, ResourcePlan, Shader<'static>,
    }
    vkxfb::internal::lower {
        GeometryInput, LoweredAttribute, LoweredCompute, LoweredGeometry, LoweredKind, LoweredNative, LoweredStage,
        LoweredTessellation, LoweredVertex, SpecIds, SysvalsPlace, WideAccesses,
    }
    vkxfb::internal::lower::interface { InterfaceLimit }
    vkxfb::lower::compute { DomainOrigin, Options<'static>, Target, WorkgroupSizes }
    vkxfb::internal::tessellator { Domain, Patch, Spacing, Tessellator }
    vkxfb::internal::kernel { Kernel, Setup, SetupDraws, Target }
    vkxfb::lower::native { EmitOptions<'static>, Emitted, Options<'static> }
    vkxfb::internal::reflect {
        AttributeUse, DescriptorCount, DescriptorUse, PushConstant, ResourceInterface, ResourceType, VertexReads,
    }
    vkxfb::runtime {
        AddressSource, Allocation, AllocationRequest<'static>, Arena, ArenaAccess<'static>, ArenaDesc, ArenaRing,
        Buffer, BufferDesc<'static>, ByteCountDraw, Capabilities, Capture, CaptureBuffer, Captured,
        CaptureDesc<'static>, CaptureNeeds, CaptureOrder, ConditionalRendering, ConsumerScope, Context, CounterBuffer, CreateInfoAdditions,
        Draw, DrawCommands, DrawIndexed, ExpectedDraws, IndexBuffer, IndexType, IndirectDraw, LateDraws,
        Kernels, Limits, MemoryLocation, Pipeline, PipelineDesc<'static>, PipelineSpecialization,
        PortabilitySupport, ProvokingVertexSupport, RawDevice, QueryKind, QueryPool, QueryResult, Recorded, Recorder<'static>,
        RequiredFeatures, ResultTarget, RuntimeError, ErrorKind, SimpleAllocator, TransformFeedbackSupport, Unavailable,
        VariantDesc<'static>, VariantError, Variants, VertexBuffer, VertexDivisorSupport,
    }
    vkxfb::runtime::vulkan {
        PipelineLayoutDesc<'static>, PipelineLayoutError, SetLayoutInfo<'static>, UnsupportedIndexType,
    }
    vkxfb::spirv { Id, NumericClass, ParseError, ParseErrorKind }
    vkxfb::internal {
        BoundHeaps, BufferSet, CopyAddress, DescriptorPlace, DescriptorState, HeapInterface, HeapRange, MovedData,
        ParameterTransport,
    }
    vkxfb::internal::spirv { DeclaredConstant, IdSet, Instruction<'static>, Module, Section }
    vkxfb::internal::spirv::declarations { Declarations, Type, Variable }
    vkxfb::internal::spirv::emit { Builder<'static>, Code }
    vkxfb::internal::spirv::entry_point { EntryPoint, EntryPointError }
    vkxfb::internal::spirv::merge { MergeError }
    vkxfb::internal::spirv::link { Library, LinkError, Linker<'static, 'static>, Stub }
    vkxfb::spirv::specialization { SpecializationConstant<'static>, SpecializationError }
    vkxfb::internal::spirv::static_use { StaticUse }
    vkxfb::internal::spirv::types { Block<'static> }
    vkxfb::internal::sysval { AttributeDescriptor, Batch, DrawSysvals, Sysvals }
    vkxfb::internal::sysval::entries { Entries, EntryJob, EntrySums, EntryTables, PlaceEntries }
    vkxfb::internal::sysval::draw_arguments { CountedDraw, DrawArguments }
    vkxfb::internal::sysval::results { Query, Results }
    vkxfb::internal::sysval::setup {
        Finish, Fused, GroupBatch, Input, Operation, Progress, Reduction, RestartRange, Resume, DrawRestarts, RestartedDraw,
        Setup,
    }
    vkxfb::topology {
        Contribution, PrimitiveTopology, ProvokingVertex, Shape, TopologyError, XfbTopology,
    }
    vkxfb::vertex_input {
        InputRate, NumericFormat, UnknownFormat, UnsupportedFormat, VertexAttribute, VertexBinding,
        VertexFormat, VertexInput,
    }
}

const _: () = {
    thread_safety::is_send_and_sync::<vkxfb::frontend::FrontendError>();
    thread_safety::is_send_and_sync::<vkxfb::frontend::SourceLocation>();
};
/// Types that are asserted separately.
const OTHERS: &[&str] = &["FrontendError", "SourceLocation"];

#[test]
fn no_public_type_is_forgotten() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let known = [NAMES, OTHERS].concat();
    assert_eq!(thread_safety::forgotten(&source, &known), [""; 0]);
}
