//! What is public may go to any thread and be shared between threads.

#![cfg(feature = "probe")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;

const fn is_send_and_sync<T: Send + Sync>() {}

/// Asserts it of types, and collects their names.
macro_rules! send_and_sync {
    ($($module:path { $($name:ident $(<$($lifetime:lifetime),+>)?),+ $(,)? })+) => {
        const _: () = {
            $({
                use $module as module;
                $(is_send_and_sync::<module::$name $(<$($lifetime),+>)?>();)+
            })+
        };
        const NAMES: &[&str] = &[$($(stringify!($name)),+),+];
    };
}

send_and_sync! {
    vkxfb::bench { Contestant }
    vkxfb::bench::case { Case, Record, RecordError, Work, Workload }
    vkxfb::bench::compare { Mismatch }
    vkxfb::bench::data { Vertices }
    vkxfb::bench::plan { Part, Plan, PlanError, Selection, UnknownPart }
    vkxfb::bench::report {
        BenchReport, CaseReport, Clock, Host, LeftOut, Measured, Missing, PipelineReport,
    }
    vkxfb::bench::roofline { Spread }
    vkxfb::bench::run { BenchError, Effort, Progress }
    vkxfb::capture { InterfaceVariable,
        BufferMode, Capture, CaptureError, CaptureList, GlType, Layout, LengthError, Output, RecordError,
        RecordField, RecordProblem, Selector, SlotLocations, StreamOutput, StreamOutputInfo, Varying,
    }
    vkxfb::draw { BoundBuffer, DrawCounts }
    vkxfb::lower {
        Backend, Captures<'static>, LowerError, Lowered, LoweredAttribute, ResourcePlan, Shader<'static>,
        SpecIds, SysvalsPlace,
    }
    vkxfb::lower::broadcast { Broadcast, BroadcastError, Options<'static>, Output }
    vkxfb::lower::compute { Options<'static>, Target }
    vkxfb::lower::kernel { Kernel }
    vkxfb::lower::native { Emitted, Options<'static> }
    vkxfb::lower::reflect {
        AttributeUse, DescriptorCount, DescriptorUse, PushConstant, ResourceInterface, ResourceType, VertexReads,
    }
    vkxfb::lower::split_blocks { Member, Options<'static>, Split, SplitError }
    vkxfb::probe::diagnose {
        CapturedBuffer<'static>, DiagnoseError, Expectation<'static>, Fault, Mismatch, PrimitiveDiff, Slot,
        Verdict, VertexRef,
    }
    vkxfb::probe::gpu {
        CaptureRequest<'static>, CaptureResult, CaptureTarget<'static>, DeviceInfo, DeviceSelector,
        DrawFeatures, Gpu, GpuError, MemoryLimits, Message, OpenOptions, Profile, Resources, Robustness,
        Step, Timestamps, Tool, VertexData<'static>,
    }
    vkxfb::probe::plan { BatchTooLarge, Group<'static>, Plan }
    vkxfb::probe::records { Differences, Records<'static>, RecordsDiffer }
    vkxfb::probe::report {
        BugReport<'static>, Case, Cell, DeviceInfo, Failure, Outcome, ProbeReport, Trace,
    }
    vkxfb::probe::run { Progress<'static> }
    vkxfb::probe::self_test { Check }
    vkxfb::probe::sentinel { Fill }
    vkxfb::probe::shaders { ProbeBuffer, ProbeField, ProbeShader }
    vkxfb::probe::subject { Subject, SubjectError }
    vkxfb::runtime {
        AddressSource, Allocation, AllocationRequest<'static>, Arena, ArenaAccess<'static>, ArenaDesc,
        Barrier, Buffer, BufferDesc<'static>, ByteCountDraw, Capabilities, Capture, CaptureBuffer, Captured,
        CaptureDesc<'static>, CaptureNeeds, ConditionalRendering, ConsumerScope, Context, CounterBuffer,
        DeviceIdentity, Draw, DrawCommands, DrawIndexed, Effect, IndexBuffer, IndexType, IndirectDraw,
        Kernels, Limits, MemoryLocation, Pipeline, PipelineDesc<'static>, PipelineSpecialization,
        ProvokingVertexSupport, QueryKind, QueryPool, QueryResult, Recorded, Recorder<'static>,
        RequiredFeatures, ResultTarget, RuntimeError, TransformFeedbackSupport, Unavailable,
        VariantDesc<'static>, VariantError, Variants, VertexBuffer, VertexDivisorSupport, Workaround,
    }
    vkxfb::runtime::vulkan { PipelineLayoutDesc<'static>, PipelineLayoutError, SetLayoutInfo<'static> }
    vkxfb::slots { Packed, Packing, SlotError }
    vkxfb::spirv { Id, Instruction<'static>, Module, ParseError, ParseErrorKind, Section }
    vkxfb::spirv::declarations { Declarations, Type, Variable }
    vkxfb::spirv::emit { Builder<'static>, Code }
    vkxfb::spirv::entry_point { EntryPoint, EntryPointError }
    vkxfb::spirv::link { Library, LinkError, Linker<'static, 'static>, Stub }
    vkxfb::spirv::specialization { DeclaredConstant, SpecializationConstant<'static>, SpecializationError }
    vkxfb::spirv::static_use { StaticUse }
    vkxfb::sysval { AttributeDescriptor, Batch, DrawSysvals, Sysvals }
    vkxfb::sysval::draw_arguments { CountedDraw, DrawArguments }
    vkxfb::sysval::results { Results }
    vkxfb::sysval::setup {
        Finish, GroupBatch, Input, Operation, Reduction, RestartRange, DrawRestarts, RestartedDraw, Setup,
    }
    vkxfb::topology {
        Contribution, PrimitiveTopology, ProvokingVertex, Shape, TopologyError, XfbTopology,
    }
    vkxfb::vertex_input {
        InputRate, NumericClass, NumericFormat, UnknownFormat, UnsupportedFormat, VertexAttribute, VertexBinding,
        VertexFormat, VertexInput,
    }
}

const _: () = {
    is_send_and_sync::<<vkxfb::bench::Contestant as std::str::FromStr>::Err>();
};
#[cfg(any(feature = "glsl", feature = "wgsl"))]
const _: () = {
    is_send_and_sync::<vkxfb::frontend::FrontendError>();
    is_send_and_sync::<vkxfb::frontend::SourceLocation>();
};
/// Types that are asserted for themselves.
const OTHERS: &[&str] = &["FrontendError", "SourceLocation", "UnknownContestant"];

/// Calls with the names of all public structures and enumerations of the crate.
fn public_types(directory: &Path, found: &mut impl FnMut(&str, &Path)) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            // The command is no library.
            if path.file_name() != Some("cli".as_ref()) {
                public_types(&path, found);
            }
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for line in text.lines() {
            let rest =
                ["pub struct ", "pub enum "].iter().find_map(|start| line.strip_prefix(start));
            if let Some(rest) = rest {
                let end = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
                found(&rest[..end], &path);
            }
        }
    }
}

#[test]
fn no_public_type_is_forgotten() {
    let mut forgotten = Vec::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    public_types(&source, &mut |name, path| {
        if !NAMES.contains(&name) && !OTHERS.contains(&name) {
            forgotten.push(format!("{name} ({})", path.display()));
        }
    });
    assert!(forgotten.is_empty(), "{forgotten:#?}");
}
