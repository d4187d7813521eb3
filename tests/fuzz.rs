//! Damaged modules: any input results in an error or a module, with bounded allocations. If
//! spirv-val accepts the input, it accepts the output.
//!
//! `VKXFB_FUZZ_CASES` is the number of cases (by default 6,000 with `VKXFB_FULL=1`, and a quarter of
//! that without it), and `VKXFB_FUZZ_SEED` is their seed. libFuzzer does the same in the target `rewrite`
//! of `fuzz/`.
//!
//! This is a separate test binary, because it counts allocations with its own allocator.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;
#[path = "fuzz/mutate.rs"]
mod mutate;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

use common::settings::{cases, number};
use mutate::{Case, Way};

/// The maximum number of bytes that may be allocated in total. It limits the work independently of
/// the machine.
const ALLOCATED: usize = 256 << 20;

/// The target for which modules are validated.
const TARGET: &str = "vulkan1.3";

/// The maximum number of bytes that may be allocated at the same time.
const MEMORY: usize = 64 << 20;

/// One in this many cases is checked with spirv-val, which takes longer than everything else.
const VALIDATED: u32 = 4;

struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
static TOTAL: AtomicUsize = AtomicUsize::new(0);

// SAFETY: the system's allocator, but for the numbers.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        TOTAL.fetch_add(layout.size(), Relaxed);
        PEAK.fetch_max(LIVE.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn damaged_modules_end_in_errors_or_in_modules() {
    let cases = cases("VKXFB_FUZZ_CASES", 6_000);
    let seed = number("VKXFB_FUZZ_SEED", 0);
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    let cases = cases.try_into().unwrap();
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &key);
    let ends = RefCell::new(BTreeMap::<(&str, String), u32>::new());
    let (run, lowered, validated) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let most = Cell::new(0);
    TestRunner::new_with_rng(config, rng)
        .run(&vec(any::<u8>(), 0..160), |bytes| {
            let case = Case::new(&bytes);
            let before = LIVE.load(Relaxed);
            PEAK.store(before, Relaxed);
            TOTAL.store(0, Relaxed);
            let outcomes = case.run(&Way::ALL);
            let (total, peak) = (TOTAL.load(Relaxed), PEAK.load(Relaxed).saturating_sub(before));
            most.set(most.get().max(total));
            prop_assert!(total < ALLOCATED, "{total} bytes in all");
            prop_assert!(peak < MEMORY, "{peak} bytes");
            run.set(run.get() + 1);
            let mut modules = Vec::new();
            for (backend, outcome) in outcomes {
                let name = match &outcome {
                    Ok(_) => "a module",
                    Err((error, _)) => error.split(['{', '"']).next().unwrap(),
                };
                let name = name.trim_end_matches(|c: char| !c.is_alphanumeric());
                *ends.borrow_mut().entry((backend, name.to_owned())).or_insert(0) += 1;
                modules.extend(outcome.ok().map(|words| (backend, words)));
            }
            lowered.set(lowered.get() + modules.len());
            if run.get() % VALIDATED != 0
                || modules.is_empty()
                || case.has_open_lengths()
                || spirv_val::validate(&case.words, TARGET).is_err()
            {
                return Ok(());
            }
            for (backend, words) in modules {
                if let Err(error) = spirv_val::validate(&words, TARGET) {
                    return Err(TestCaseError::fail(format!("{backend}: {error}")));
                }
                validated.set(validated.get() + 1);
            }
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
    for ((backend, end), count) in ends.borrow().iter() {
        println!("{backend:9} {count:6} {end}");
    }
    println!("{} cases, {} modules, {} validated", run.get(), lowered.get(), validated.get());
    println!("at most {} bytes allocated for a case", most.get());
    assert!(lowered.get() > 0 || cases == 0);
}
