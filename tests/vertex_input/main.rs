//! Vertex input: captures every format and random layouts with the compute backend and with the
//! device's own vertex input, and compares the results with [`VertexFormat::decode`] and the
//! formulas of the specification.
//!
//! | variable | |
//! |---|---|
//! | `VKXFB_LAYOUTS` | the number of random layouts: by default 60 with `VKXFB_FULL=1`, and a quarter of that without it |
//! | `VKXFB_SEED` | the seed of the first layout; each following layout has the next seed |
//! | `VKXFB_TEST_VALIDATION=0` | runs without the validation layer |
//! | `VKXFB_TEST_TOOLS=0` | runs without spirv-val |

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(missing_docs, reason = "no API")]

mod case;
#[path = "../common/mod.rs"]
mod common;
mod known;
mod layouts;
mod shader;

use std::collections::BTreeMap;

use case::{Bound, Case, Difference};
use common::device::{RESOURCES, open_with};
use common::rng::Rng;
use common::settings::{cases, has_tools, number};
use common::test_device::TestDevice;
use known::Known;
use shader::Input;
use vkxfb::lower::{Backend, ResourcePlan};
use vkxfb::runtime::Draw;
use vkxfb::vertex_input::{
    InputRate, NumericClass, VertexAttribute, VertexBinding, VertexFormat, VertexInput,
};
use vkxfb_probe::gpu::{Gpu, OpenOptions, Profile, Resources};

const CLASSES: [NumericClass; 3] = [NumericClass::Float, NumericClass::Sint, NumericClass::Uint];

/// Dwords that conversions could get wrong: zeros, ones, extremes, subnormals, infinities, and
/// quiet and signalling NaNs with payloads.
const SPECIAL: [u32; 16] = [
    0,
    0x8000_0000,
    1,
    0x8000_0001,
    0x007f_ffff,
    0x0080_0000,
    0x3f80_0000,
    0x7f7f_ffff,
    0x7f80_0000,
    0xff80_0000,
    0x7f80_0001,
    0xffbf_ffff,
    0x7fc0_1234,
    0x7fff_ffff,
    0xffff_ffff,
    0x0123_4567,
];

/// Returns elements that cover a format: all values of components of 8 and 16 bits, and special and
/// random values of other components. The number of elements is a multiple of 3.
fn elements(format: VertexFormat, rng: &mut Rng) -> (u32, Vec<u8>) {
    let parts = (format.size() / format.alignment()) as usize;
    let count = match format.alignment() {
        1 => 258,
        2 => 65538,
        // So many packed numbers contain every pattern of 10 and 11 bits.
        4 if format.bits() == 32 && parts == 1 && format.components() > 1 => 65538,
        _ => 300,
    };
    let mut bytes = Vec::new();
    for i in 0..count {
        for part in 0..parts as u32 {
            let dword = |rng: &mut Rng| match SPECIAL.get((i + 5 * part) as usize) {
                Some(special) => *special,
                None => rng.u32(),
            };
            // Odd factors reach every value.
            let counted = i.wrapping_mul(2 * part + 1).wrapping_add(part * 0x55);
            match format.alignment() {
                1 => bytes.push(counted as u8),
                2 => bytes.extend((counted as u16).to_le_bytes()),
                4 => bytes.extend(dword(rng).to_le_bytes()),
                _ => {
                    bytes.extend(dword(rng).to_le_bytes());
                    bytes.extend(dword(rng).to_le_bytes());
                }
            }
        }
    }
    (count, bytes)
}

/// Returns a case with a tightly packed attribute of this format. If the format allows it, the
/// bound range does not begin at a multiple of 4.
fn sweep(format: VertexFormat, rng: &mut Rng) -> Case {
    let (vertex_count, bytes) = elements(format, rng);
    let count = match format.bits() {
        64 => format.components(),
        _ => 4,
    };
    let input = |component, count| Input {
        location: 3,
        component,
        class: format.class(),
        bits: format.bits(),
        count,
    };
    Case {
        vertex_input: VertexInput {
            bindings: vec![VertexBinding {
                binding: 1,
                stride: format.size(),
                input_rate: InputRate::Vertex,
            }],
            attributes: vec![VertexAttribute { location: 3, binding: 1, format, offset: 0 }],
        },
        inputs: vec![input(0, count)],
        bound: vec![Bound {
            binding: 1,
            offset: format.alignment() as usize,
            bytes: Some(bytes),
            stride: None,
        }],
        unaligned: false,
        draw: Draw::new(vertex_count),
    }
}

/// Returns a case whose attribute of this format is not aligned: by `start`, from the vertex input (`is_described`) or
/// in the bound buffer, and by a stride that is odd.
fn unaligned_sweep(format: VertexFormat, start: u32, is_described: bool, rng: &mut Rng) -> Case {
    let mut case = sweep(format, rng);
    let (size, stride) = (format.size(), format.size() | 1);
    let bound = &mut case.bound[0];
    let packed = bound.bytes.take().unwrap_or_default();
    let count = (packed.len() as u32 / size).min(258);
    let offset = if is_described { start } else { 0 };
    let mut bytes = vec![0xee; (offset + (count - 1) * stride + size) as usize];
    for (i, element) in packed.chunks_exact(size as usize).take(count as usize).enumerate() {
        let at = offset as usize + i * stride as usize;
        bytes[at..at + size as usize].copy_from_slice(element);
    }
    bound.bytes = Some(bytes);
    bound.offset = if is_described { 8 } else { start as usize };
    if is_described {
        case.vertex_input.bindings[0].stride = stride;
        case.vertex_input.attributes[0].offset = offset;
    } else {
        (bound.stride, case.unaligned) = (Some(stride), true)
    }
    case.draw.vertex_count = count;
    case
}

/// Returns whether the device's own vertex input can capture a case.
fn is_native(gpu: &Gpu, case: &Case) -> bool {
    let caps = gpu.capabilities();
    let is_null = case.bound.iter().any(|b| b.bytes.is_none());
    gpu.backends().contains(&Backend::Native)
        && !case.unaligned
        && case.vertex_input.attributes.iter().all(|a| gpu.has_vertex_format(a.format))
        && case.bound.iter().all(|b| b.stride.is_none())
        && (gpu.robustness().null_descriptor || !is_null)
        && case.vertex_input.bindings.iter().all(|b| match (b.input_rate, &caps.vertex_divisor) {
            (InputRate::Vertex | InputRate::Instance { divisor: 1 }, _) => true,
            (InputRate::Instance { divisor: 0 }, Some(support)) => support.zero,
            (InputRate::Instance { divisor }, Some(support)) => divisor <= support.max,
            (_, None) => false,
        })
}

fn can_run(gpu: &Gpu, input: &Input) -> bool {
    let caps = gpu.capabilities();
    match (input.bits, input.class) {
        (64, NumericClass::Float) => caps.shader_float64,
        (64, _) => caps.shader_int64,
        _ => true,
    }
}

/// The numbers of differences of each kind.
#[derive(Default)]
struct Differences {
    components: u64,
    nans: u64,
    ulps: BTreeMap<u32, u64>,
    wrong: u64,
    first: Option<String>,
}

impl std::fmt::Display for Differences {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { components, nans, ulps, wrong, first } = self;
        write!(f, "{components} components, {wrong} wrong, {nans} other NaNs, ULPs {ulps:?}")?;
        first.as_ref().map_or(Ok(()), |first| write!(f, "; {first}"))
    }
}

fn validate(case: &Case, plan: ResourcePlan) {
    common::validate(&case.lower(Backend::Compute, plan).words, "vulkan1.0");
}

impl Differences {
    /// Those of what a backend captures.
    fn of(case: &Case, gpu: &mut TestDevice, backend: Backend, known: Option<&mut Known>) -> Self {
        let mut found = Self::default();
        found.add(case, &case.capture(gpu, backend), known);
        found
    }

    fn add(&mut self, case: &Case, captured: &[u8], known: Option<&mut Known>) {
        let mut known = known;
        case.compare(captured, |component| {
            self.components += 1;
            let difference = component.difference();
            let differs = difference != Difference::None;
            if known.as_mut().is_some_and(|known| known.excuses(&component, differs)) {
                return;
            }
            match difference {
                Difference::None => return,
                Difference::NaN => self.nans += 1,
                Difference::Ulp(distance) => *self.ulps.entry(distance).or_default() += 1,
                Difference::Wrong => self.wrong += 1,
            }
            // Keeps the worst difference.
            if self.first.is_none() || (difference == Difference::Wrong && self.wrong == 1) {
                self.first = Some(component.describe());
            }
        });
    }

    fn is_exact(&self) -> bool {
        self.components > 0 && self.first.is_none()
    }

    /// Vulkan does not specify the precision of a device's normalized conversions, nor which NaN a
    /// NaN is converted to.
    fn is_allowed(&self) -> bool {
        self.components > 0 && self.wrong == 0 && self.ulps.keys().all(|ulp| *ulp <= 2)
    }
}

fn open_robust() -> TestDevice {
    open_with(OpenOptions { robustness: true, ..Default::default() })
}

#[test]
fn every_format_is_converted_as_specified() {
    let mut gpu = open_robust();
    let mut rng = Rng::new(1);
    let mut known = Known::of(&gpu.capabilities().driver_name);
    let mut wrong = Vec::new();
    for &format in VertexFormat::ALL {
        let case = sweep(format, &mut rng);
        if !can_run(&gpu, &case.inputs[0]) {
            eprintln!("{format:?}: the device has no shaders of it");
            continue;
        }
        if has_tools() {
            validate(&case, ResourcePlan::DeviceAddress);
        }
        let compute = Differences::of(&case, &mut gpu, Backend::Compute, None);
        if !compute.is_exact() {
            wrong.push(format!("{format:?} compute: {compute}"));
        }
        if !is_native(&gpu, &case) {
            eprintln!("{format:?}: no vertex buffer format of the device");
            continue;
        }
        let native = Differences::of(&case, &mut gpu, Backend::Native, Some(&mut known));
        if !native.is_exact() {
            eprintln!("{format:?} native: {native}");
        }
        if !native.is_allowed() {
            wrong.push(format!("{format:?} native: {native}"));
        }
    }
    known.report();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// An input that has not the type of its format gets the bits that the format decodes to, missing components included.
#[test]
fn inputs_of_another_type_get_the_bits() {
    let mut gpu = open_robust();
    let mut rng = Rng::new(3);
    let mut known = Known::of(&gpu.capabilities().driver_name);
    let (mut wrong, mut natives) = (Vec::new(), 0);
    for &format in VertexFormat::ALL {
        for class in CLASSES.into_iter().filter(|class| *class != format.class()) {
            let mut case = sweep(format, &mut rng);
            case.draw.vertex_count = case.draw.vertex_count.min(300);
            case.inputs[0].class = class;
            if !can_run(&gpu, &case.inputs[0]) {
                continue;
            }
            if has_tools() && format.size() % 3 == 0 {
                validate(&case, ResourcePlan::DeviceAddress);
            }
            let compute = Differences::of(&case, &mut gpu, Backend::Compute, None);
            if !compute.is_exact() {
                wrong.push(format!("{format:?} as {class:?} compute: {compute}"));
            }
            if !is_native(&gpu, &case) {
                continue;
            }
            natives += 1;
            let native = Differences::of(&case, &mut gpu, Backend::Native, Some(&mut known));
            if !native.is_allowed() {
                wrong.push(format!("{format:?} as {class:?} native: {native}"));
            }
        }
    }
    eprintln!("{natives} natively too");
    known.report();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What Vulkan allows with `VK_EXT_legacy_vertex_attributes`, captures read with any vertex input, whatever the driver has.
#[test]
fn attributes_begin_at_any_byte() {
    let mut wrong = Vec::new();
    let floor =
        |resources| OpenOptions { profile: Profile::Bifrost, resources, ..Default::default() };
    // The floor has no doubles.
    let devices = RESOURCES.map(|resources| (32, open_with(floor(resources))));
    for (bits, mut gpu) in devices.into_iter().chain([(64, open_robust())]) {
        let mut rng = Rng::new(4);
        for (number, &format) in (0..).zip(VertexFormat::ALL) {
            // In the vertex input, and in the bound buffer.
            for (start, is_described) in [(1 + number % 3, true), (1 + number % 4, false)] {
                let case = unaligned_sweep(format, start, is_described, &mut rng);
                if format.bits() != bits || !can_run(&gpu, &case.inputs[0]) {
                    continue;
                }
                if has_tools() && is_described {
                    let plan = gpu.compute_target(Backend::Compute).unwrap().resources;
                    validate(&case, plan);
                }
                let found = Differences::of(&case, &mut gpu, Backend::Compute, None);
                if !found.is_exact() {
                    wrong.push(format!("{format:?} from {start}, {is_described}: {found}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// For this, the compute backend needs no more than the least capable device has.
#[test]
fn the_floor_pulls_every_format_below_64_bits() {
    for resources in RESOURCES {
        let options = OpenOptions { profile: Profile::Bifrost, resources, ..Default::default() };
        let mut gpu = open_with(options);
        let mut rng = Rng::new(2);
        for &format in VertexFormat::ALL.iter().filter(|f| f.bits() == 32) {
            let mut case = sweep(format, &mut rng);
            case.draw.vertex_count = case.draw.vertex_count.min(300);
            let found = Differences::of(&case, &mut gpu, Backend::Compute, None);
            assert!(found.is_exact(), "{format:?}: {found}");
        }
    }
}

#[test]
fn random_layouts_are_read_as_specified() {
    let mut gpu = open_robust();
    let resources = Resources::Descriptors;
    let mut by_descriptors =
        open_with(OpenOptions { robustness: true, resources, ..Default::default() });
    let (first, count) = (number("VKXFB_SEED", 0), cases("VKXFB_LAYOUTS", 60));
    let robust = gpu.robustness();
    let native_formats: Vec<VertexFormat> =
        VertexFormat::ALL.iter().copied().filter(|f| gpu.has_vertex_format(*f)).collect();
    let caps = gpu.capabilities().clone();
    let can_shade = |f: &VertexFormat| match (f.bits(), f.class()) {
        (64, NumericClass::Float) => caps.shader_float64,
        (64, _) => caps.shader_int64,
        _ => true,
    };
    let mut known = Known::of(&caps.driver_name);
    let (mut wrong, mut natives) = (Vec::new(), 0);
    for seed in first..first + count {
        // Half of them from what the device itself can do.
        let all = if seed % 2 == 0 { VertexFormat::ALL } else { &native_formats };
        let formats: Vec<VertexFormat> = all.iter().copied().filter(can_shade).collect();
        let may_pass_the_end = seed % 2 == 0 || robust.buffer_access2;
        let case = layouts::generate(seed, &formats, may_pass_the_end);
        if has_tools() && seed % 8 == 0 {
            validate(&case, ResourcePlan::DeviceAddress);
        }
        for (plan, gpu) in [("addresses", &mut gpu), ("descriptors", &mut by_descriptors)] {
            let compute = Differences::of(&case, gpu, Backend::Compute, None);
            if !compute.is_exact() {
                wrong.push(format!("seed {seed} compute by {plan}: {compute}"));
            }
        }
        if seed % 2 == 1 && is_native(&gpu, &case) {
            natives += 1;
            let native = Differences::of(&case, &mut gpu, Backend::Native, Some(&mut known));
            if !native.is_allowed() {
                wrong.push(format!("seed {seed} native: {native}"));
            }
        }
    }
    eprintln!("{count} layouts, {natives} of them natively too");
    known.report();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
