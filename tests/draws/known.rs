//! Faults of drivers in their own captures. The other backends are compared with the model in any
//! case.

use std::collections::BTreeSet;

use ash::vk;
use vkxfb::runtime::Capabilities;
use vkxfb_probe::gpu::{Gpu, Message};

use crate::common::commands::QueryKind;
use crate::common::layer;
use crate::model::Fact;
use crate::program::Program;

/// A fault of a driver's own captures: programs with the fact may differ from the model.
pub struct Fault {
    driver: &'static str,
    /// The oldest version of the driver that was found not to have the fault.
    gone: Option<u32>,
    fact: Fact,
    pub reason: &'static str,
}

impl Fault {
    fn is_of(&self, capabilities: &Capabilities) -> bool {
        self.driver == capabilities.driver_name
            && self.gone.is_none_or(|gone| capabilities.driver_version < gone)
    }
}

/// Returns a version of Mesa. lavapipe 22.3 reports its version as 1.
const fn mesa(major: u32, minor: u32) -> Option<u32> {
    Some(vk::make_api_version(0, major, minor, 0))
}

/// The known faults. The test fails if no program with the fact differs, so that the entry is
/// removed once the driver is fixed.
const FAULTS: &[Fault] = &[
    Fault {
        driver: "llvmpipe",
        gone: None,
        fact: Fact::Unbound,
        reason: "lavapipe captures nothing while one of several captured buffers is not bound, and counts nothing without any",
    },
    Fault {
        driver: "NVIDIA",
        gone: None,
        fact: Fact::UncapturedBeyond,
        reason: "NVIDIA captures nothing while a buffer is full to which nothing is captured",
    },
    Fault {
        driver: "llvmpipe",
        gone: None,
        fact: Fact::FirstCounter,
        reason: "lavapipe ignores firstCounterBuffer",
    },
    Fault {
        driver: "llvmpipe",
        gone: None,
        fact: Fact::ByteCountOffset,
        reason: "lavapipe fails the byte-count draw with a counterOffset other than 0",
    },
    Fault {
        driver: "llvmpipe",
        gone: None,
        fact: Fact::OutputsFitOnly,
        reason: "lavapipe goes by OpenGL's rule of overflow: outputs have to fit, not strides",
    },
    Fault {
        driver: "llvmpipe",
        gone: mesa(26, 2),
        fact: Fact::IndirectIndexOffset,
        reason: "lavapipe ignores the offset of the index buffer of indirect draws",
    },
    Fault {
        driver: "llvmpipe",
        gone: mesa(26, 2),
        fact: Fact::IndirectRestart,
        reason: "lavapipe restarts indirect draws by the index that an earlier draw left behind",
    },
    Fault {
        driver: "llvmpipe",
        gone: None,
        fact: Fact::StreamWhileInactive,
        reason: "lavapipe counts primitives needed without transform feedback beside a generated query",
    },
    Fault {
        driver: "llvmpipe",
        gone: mesa(26, 2),
        fact: Fact::ByteCountBehindIndirect,
        reason: "lavapipe repeats the last indirect draw of the command buffer in place of a byte-count draw",
    },
    Fault {
        driver: "llvmpipe",
        gone: None,
        fact: Fact::IndirectBehindCount,
        reason: "lavapipe goes by the last draw count of the command buffer where a draw has none",
    },
    Fault {
        driver: "llvmpipe",
        gone: None,
        fact: Fact::MultiDrawEmptyFirst,
        reason: "lavapipe leaves out multi-draws whose first draw is empty",
    },
    Fault {
        driver: "llvmpipe",
        gone: None,
        fact: Fact::MultiDrawRestart,
        reason: "lavapipe loses DrawIndex and vertex offset in multi-draws with primitive restart",
    },
    Fault {
        driver: "llvmpipe",
        gone: None,
        fact: Fact::MultiDrawInstances,
        reason: "lavapipe draws the first instance of all draws of a multi-draw before the second",
    },
    Fault {
        driver: "llvmpipe",
        gone: None,
        fact: Fact::InstanceWraps,
        reason: "lavapipe numbers all instances beyond 2^32 - 1 like the one before the first",
    },
];

/// Returns the facts that a driver handles wrongly in its own captures.
pub fn faulty(capabilities: &Capabilities) -> Vec<Fact> {
    FAULTS.iter().filter(|f| f.is_of(capabilities)).map(|f| f.fact).collect()
}

/// Returns the facts with which a driver shades the wrong vertices, which affects all backends that
/// use draws.
pub fn faulty_draws(capabilities: &Capabilities) -> Vec<Fact> {
    let faulty = faulty(capabilities);
    faulty.into_iter().filter(|fact| *fact == Fact::InstanceWraps).collect()
}

/// Returns the faults that a native run of a program may show.
pub fn faults(gpu: &Gpu, facts: &BTreeSet<Fact>) -> Vec<&'static Fault> {
    if layer::is_there() {
        return Vec::new();
    }
    let is_of = |f: &&Fault| f.is_of(gpu.capabilities()) && facts.contains(&f.fact);
    FAULTS.iter().filter(is_of).collect()
}

/// Faults that affect other programs, too: driver, fact, reason.
const HARMS: &[(&str, Fact, &str)] = &[
    (
        "llvmpipe",
        Fact::FirstCounterBesideGap,
        "lavapipe crashes where firstCounterBuffer, which it ignores, skips what is unbound",
    ),
    (
        "llvmpipe",
        Fact::IndexFarOutOfRange,
        "lavapipe crashes by indices far out of range, in spite of robustBufferAccess2",
    ),
    ("NVIDIA", Fact::Unbound, STILL_BOUND),
    ("NVIDIA", Fact::OnlyOthersBound, STILL_BOUND),
];

const STILL_BOUND: &str =
    "NVIDIA captures to what an earlier command buffer bound, where a captured buffer is not bound";

/// Faults that a query of generated primitives may show with the layer, unless the layer counts them itself: the query
/// counts draws that rasterize, and the driver executes those.
const RASTERIZED: &[(Fact, &str)] = &[
    (Fact::CounterOverPredicate, "captures, with their counters, come before the draws of a pass"),
    (Fact::ByteCountBehindIndirect, "a byte-count draw that rasterizes"),
    (Fact::IndirectBehindCount, "an indirect draw that rasterizes behind one with a count"),
    (Fact::IndirectIndexOffset, "an indirect draw that rasterizes, by indices at an offset"),
    (Fact::IndirectRestart, "an indirect draw that rasterizes, with restarts"),
    (Fact::MultiDrawEmptyFirst, "a multi-draw that rasterizes, whose first draw is empty"),
    (Fact::MultiDrawRestart, "a multi-draw that rasterizes, with restarts"),
    (Fact::IndexFarOutOfRange, "a draw that rasterizes, by indices far out of range"),
];

/// Returns the reason why a program must not run natively.
pub fn excluded(gpu: &Gpu, program: &Program, facts: &BTreeSet<Fact>) -> Option<&'static str> {
    if facts.contains(&Fact::RestartIndex) {
        return Some("a primitive restart index, which no driver has yet");
    }
    if layer::is_there() {
        let rasterizes =
            program.queries.contains(&QueryKind::Generated) && !layer::counts_generated();
        let found = RASTERIZED.iter().find(|(fact, _)| rasterizes && facts.contains(fact));
        return found.map(|(_, reason)| *reason);
    }
    let driver = &gpu.capabilities().driver_name;
    let harms = |(of, fact, _): &&(&str, Fact, &str)| of == driver && facts.contains(fact);
    HARMS.iter().find(harms).map(|(_, _, reason)| *reason)
}

/// Whether a message of the validation layer is a known mistake of the layer.
///
/// 1.3.239 splits `VERTEX_INPUT` into its two stages in a self-dependency, but not in the barrier
/// with which it compares that, so it rejects every barrier in a pass with that stage. The barriers
/// of the programs are equal to the self-dependency of their pass.
pub fn is_false_message(message: &Message) -> bool {
    message.id.contains("VUID-vkCmdPipelineBarrier-pDependencies-02285")
        && message.text.contains("StageMask")
}
