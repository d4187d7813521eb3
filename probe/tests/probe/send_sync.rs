//! Public types can be sent to other threads and shared between threads.

use std::path::Path;

#[macro_use]
#[path = "../../../tests/common/thread_safety.rs"]
mod thread_safety;

send_and_sync! {
    vkxfb_probe::bug { BugReport<'static>, Failing, FailingShader }
    vkxfb_probe::compare {
        CaseKey, Change, Comparison, FactChange, GoneRow, ReadError, Recorded, RecordedDevice, TrialChange,
    }
    vkxfb_probe::contents {
        BufferContents, BufferKind, Contents, ContentsError, Given, GivenBytes, Missing, MissingContents,
    }
    vkxfb_probe::diagnose {
        CapturedBuffer<'static>, DiagnoseError, Expectation<'static>, Fault, Mismatch, Patch, PrimitiveDiff, Sequence<'static>, Slot,
        Verdict, VertexRef,
    }
    vkxfb_probe::emission { Emission }
    vkxfb_probe::gpu {
        BoundContents, CaptureRequest<'static>, CaptureResult, CaptureTarget<'static>, DeviceInfo, DeviceSelector,
        DrawFeatures, Gpu, GpuError, HostMemory, InjectedFault, ManifestError, MemoryLimits, Message, OpenOptions, Profile, Resources,
        Robustness, Step, Timestamps, Tool, VertexData<'static>,
    }
    vkxfb_probe::demand { Demand }
    vkxfb_probe::picture { CapturedBy<'static>, Drawing }
    vkxfb_probe::plan { Batch<'static>, BatchTooLarge, CaseGroup<'static>, Plan }
    vkxfb_probe::records { Differences, Records<'static>, RecordsDiffer }
    vkxfb_probe::report {
        BackendSupport, CapturedStage, Case, CaseResult, Cell, DeviceInfo, Failure, Findings, HostInfo, LostCase, Outcome, ProbeReport,
        Results, Row, Trace,
    }
    vkxfb_probe::reproduce { ProgramFile, ReproduceError, ReproducedDraw }
    vkxfb_probe::run { Event, Position, Progress<'static> }
    vkxfb_probe::sentinel { Fill }
    vkxfb_probe::shaders { Emitted, ProbeBuffer, ProbeField, ProbeGeometry, ProbeShader, Strips }
    vkxfb_probe::subject { Subject, SubjectError, SubjectGeometry }
    vkxfb_probe::trial { Rate, Trial, TrialResult, TrialReport }
}

#[test]
fn no_public_type_is_forgotten() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    assert_eq!(thread_safety::forgotten(&source, NAMES), [""; 0]);
}
