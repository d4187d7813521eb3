//! Public types can be sent to other threads and shared between threads.

use std::path::Path;

#[macro_use]
#[path = "../common/thread_safety.rs"]
mod thread_safety;

send_and_sync! {
    vkxfb_rewriter::capture { InterfaceVariable, Outputs<'static>, Space, Written }
    vkxfb_rewriter::capture {
        BufferMode, CaptureEntry, CaptureError, CaptureList, GlType, Layout, LengthError, CapturedOutput,
        Selector, Varying,
    }
    vkxfb_rewriter::counts { BoundBuffer, DrawCounts }
    vkxfb::runtime { Barrier, BufferSet, BufferUsages, DeviceIdentity, Settings }
    vkxfb::runtime { Tuning, TuningEffect }
    vkxfb::runtime { BoundForDraw<'static>, DirectDraw, DrawnList, DrawnShader }
    vkxfb::runtime { Workaround, WorkaroundEffect }
    vkxfb_rewriter::lower::drawn {
        Drawn, StripIndices, Unindexed,
    }
    vkxfb_rewriter::lower::drawn::fragment {
        DrawnFragment, PrimitiveIdInput,
    }
    vkxfb_rewriter::lower {
        Backend, Captures<'static>, Effects, LowerError, Lowered, ResourcePlan, Shader<'static>,
    }
    vkxfb_rewriter::lower {
        GeometryInput, LoweredAttribute, LoweredCompute, LoweredGeometry, LoweredKind, LoweredNative, LoweredStage,
        LoweredTessellation, LoweredVertex, SpecIds, SysvalsPlace, WideAccesses,
    }
    vkxfb_rewriter::lower::interface { InterfaceLimit }
    vkxfb_rewriter::lower::compute { DomainOrigin, Options<'static>, Target, WorkgroupSizes }
    vkxfb_rewriter::tessellator { Domain, Patch, Spacing, Tessellator }
    vkxfb_rewriter::lower::kernel { Kernel, Setup, SetupDraws, Target }
    vkxfb_rewriter::lower::native { EmitOptions<'static>, Emitted, Options<'static> }
    vkxfb_rewriter::lower::reflect {
        AttributeUse, DescriptorCount, DescriptorUse, PushConstant, ResourceInterface, ResourceType, VertexReads,
    }
    vkxfb { Device }
    vkxfb::runtime {
        AddressSource, Allocation, AllocationRequest<'static>, Arena, ArenaAccess<'static>, ArenaDesc<'static>, ArenaRing, ArenaSize,
        Buffer, BufferDesc<'static>, ByteCountDraw, Capabilities, Capture, CaptureBuffer, Captured,
        CaptureDesc<'static>, CaptureNeeds, CaptureOrder, ConditionalRendering, ConsumerScope, Context, CounterBuffer, CreateInfoAdditions,
        Draw, DrawCommands, DrawIndexed, ExpectedDraws, IndexBuffer, IndexType, IndirectDraw, LateDraws,
        Kernels, Limits, MemoryLocation, Pipeline, PipelineDesc<'static>, PipelineSpecialization, PipelineUse<'static>,
        PortabilitySupport, Profile, ProvokingVertexSupport, RawDevice, QueryKind, QueryPool, QueryResult, Recorded, Recorder<'static>,
        RequiredFeatures, ResultTarget, RuntimeError, ErrorKind, SimpleAllocator, TransformFeedbackSupport, Unavailable,
        Stages<'static>, StagesError, Variants, VertexBuffer, VertexDivisorSupport,
    }
    vkxfb::runtime::vulkan {
        PipelineLayoutDesc<'static>, PipelineLayoutError, SetLayoutInfo<'static>, UnsupportedIndexType,
    }
    vkxfb_rewriter::spirv { Id, NumericClass, ParseError, ParseErrorKind }
    vkxfb::runtime::descriptor_heaps {
        BoundHeaps, CopyAddress, DescriptorPlace, DescriptorState, HeapInterface, HeapRange, MovedData,
        ParameterTransport,
    }
    vkxfb_rewriter::spirv { DeclaredConstant, IdSet, Instruction<'static>, Module, Section }
    vkxfb_rewriter::spirv::declarations { Declarations, Type, Variable }
    vkxfb_rewriter::spirv::emit { Builder<'static>, Code }
    vkxfb_rewriter::spirv::entry_point { EntryPoint, EntryPointError }
    vkxfb_rewriter::spirv::merge { MergeError }
    vkxfb_rewriter::spirv::link { Library, LinkError, Linker<'static, 'static>, Stub }
    vkxfb_rewriter::spirv::specialization { SpecializationConstant<'static>, SpecializationError }
    vkxfb_rewriter::spirv::static_use { StaticUse }
    vkxfb_rewriter::spirv::types { Block<'static> }
    vkxfb_rewriter::sysval { AttributeDescriptor, Batch, DrawSysvals, Sysvals }
    vkxfb_rewriter::sysval::entries { Entries, EntryJob, EntrySums, EntryTables, PlaceEntries }
    vkxfb_rewriter::sysval::draw_arguments { CountedDraw, DrawArguments }
    vkxfb_rewriter::sysval::results { Query, Results }
    vkxfb_rewriter::sysval::setup {
        Finish, Fused, GroupBatch, DrawCommand, Operation, Progress, Reduction, RestartRange, Resume, DrawRestarts, RestartedDraw,
        Setup,
    }
    vkxfb_rewriter::topology {
        Contribution, PrimitiveTopology, ProvokingVertex, Shape, TopologyError, XfbTopology,
    }
    vkxfb_rewriter::vertex_input {
        InputRate, NumericFormat, UnknownFormat, UnsupportedFormat, VertexAttribute, VertexBinding,
        VertexFormat, VertexInput,
    }
}

const _: () = {
    thread_safety::is_send_and_sync::<vkxfb_rewriter::frontend::FrontendError>();
    thread_safety::is_send_and_sync::<vkxfb_rewriter::frontend::SourceLocation>();
};
/// Types that are asserted separately.
const OTHERS: &[&str] = &["FrontendError", "SourceLocation"];

#[test]
fn no_public_type_is_forgotten() {
    let known = [NAMES, OTHERS].concat();
    for source in ["src", "shaders/src"] {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(source);
        assert_eq!(thread_safety::forgotten(&source, &known), [""; 0]);
    }
}
