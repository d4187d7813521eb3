//! Faults of drivers in their own captures of geometry shaders. The compute backend is compared
//! with the model in any case.

use crate::case::Case;
use crate::model::{Expected, Fact};
use crate::program::{BuiltIn, Outputs, Place, Type};

/// A fault of a driver: cases to which it applies may differ from the model.
pub struct Fault {
    driver: &'static str,
    applies: fn(&Case, &Expected) -> bool,
    pub reason: &'static str,
}

/// The known faults. The test fails if none of many cases with a fault differs, so that the entry
/// is removed once the driver is fixed.
const FAULTS: &[Fault] = &[
    Fault {
        driver: "llvmpipe",
        applies: |_, expected| expected.facts.contains(&Fact::Unbound),
        reason: "lavapipe captures nothing while one of several captured buffers is not bound, and counts nothing without any",
    },
    Fault {
        driver: "llvmpipe",
        applies: |_, expected| expected.facts.contains(&Fact::OutputsFit),
        reason: "lavapipe goes by OpenGL's rule of overflow: outputs have to fit, not strides",
    },
    Fault {
        driver: "llvmpipe",
        applies: |_, expected| expected.facts.contains(&Fact::IndirectIndexOffset),
        reason: "lavapipe ignores the offset of the index buffer of indirect draws",
    },
    Fault {
        driver: "llvmpipe",
        applies: |_, expected| expected.facts.contains(&Fact::IndirectRestart),
        reason: "lavapipe restarts indirect draws by the index that an earlier draw left behind",
    },
    Fault {
        driver: "llvmpipe",
        applies: |_, expected| expected.facts.contains(&Fact::IndirectBehindCount),
        reason: "lavapipe goes by the last draw count of the command buffer where a draw has none",
    },
    Fault {
        driver: "llvmpipe",
        applies: |_, expected| expected.facts.contains(&Fact::ByteCountOffset),
        reason: "lavapipe fails the byte-count draw with a counterOffset other than 0",
    },
    Fault {
        driver: "llvmpipe",
        applies: |_, expected| expected.facts.contains(&Fact::ByteCountBehindIndirect),
        reason: "lavapipe repeats the last indirect draw in place of a byte-count draw",
    },
    Fault {
        driver: "llvmpipe",
        applies: |case, _| {
            let is_wrong = |outputs: &Outputs| {
                let count = |which| {
                    let item = outputs.built_in(which);
                    item.map_or(0, |item| outputs.items[item].ty.leaves().len())
                };
                let (clip, cull) = (count(BuiltIn::ClipDistance), count(BuiltIn::CullDistance));
                clip > 0 && cull > 0
            };
            is_wrong(&case.program.vertex_outputs) || is_wrong(&case.program.outputs)
        },
        reason: "lavapipe 22.3 mixes up cull distances with clip distances",
    },
    Fault {
        driver: "NVIDIA",
        applies: |_, expected| expected.facts.contains(&Fact::UncapturedStream),
        reason: "NVIDIA counts nothing as written, or everything, of streams that are not captured",
    },
    // As in vertex shaders (tests/differential/known.rs). What the vertex shader hands on is mixed up, too, so
    // that a geometry shader that goes by it emits another number.
    Fault {
        driver: "NVIDIA",
        applies: |case, _| {
            let outputs = [&case.program.vertex_outputs, &case.program.outputs];
            outputs.into_iter().flat_map(|outputs| &outputs.items).any(|item| {
                let is_whole =
                    matches!((&item.place, &item.ty), (Place::Location(_), Type::Vector(_, 1)));
                item.ty.alignment() == 8 && !is_whole
            })
        },
        reason: "NVIDIA mixes up the dwords of 64-bit values that are parts of an output",
    },
];

/// Returns the fault that a native capture may show.
pub fn fault(driver: &str, case: &Case, expected: &Expected) -> Option<&'static Fault> {
    FAULTS.iter().find(|fault| fault.driver == driver && (fault.applies)(case, expected))
}

/// Faults that affect other cases, too: driver, fact, reason.
const HARMS: &[(&str, Fact, &str)] = &[
    (
        "llvmpipe",
        Fact::ShortStrips,
        "lavapipe crashes by more strips than max_vertices vertices are primitives, in one strip",
    ),
    // Also to memory that has been freed since. Seen with 580.159.04: the device is lost.
    ("NVIDIA", Fact::Unbound, STILL_BOUND),
    ("NVIDIA", Fact::OnlyOthersBound, STILL_BOUND),
    // Seen with 580.159.04: the device is lost.
    (
        "NVIDIA",
        Fact::IndexedOutputs,
        "NVIDIA emits other vertices where an element of an output is written by an unknown index",
    ),
    (
        "llvmpipe",
        Fact::NeverEmits,
        "lavapipe crashes by a geometry shader that it finds never to emit",
    ),
];

const STILL_BOUND: &str =
    "NVIDIA captures to what an earlier command buffer bound, where a captured buffer is not bound";

/// Returns the reason why a case must not run natively.
pub fn excluded(driver: &str, expected: &Expected) -> Option<&'static str> {
    let harms =
        |(of, fact, _): &&(&str, Fact, &str)| *of == driver && expected.facts.contains(fact);
    HARMS.iter().find(harms).map(|(_, _, reason)| *reason)
}
