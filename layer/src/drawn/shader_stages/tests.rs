use proptest::prelude::*;
use vk::PushConstantRange as Range;

use super::*;

/// The stages of graphics pipelines without mesh shaders, and compute shaders.
const STAGES: [Stage; 6] = [
    Stage::VERTEX,
    Stage::TESSELLATION_CONTROL,
    Stage::TESSELLATION_EVALUATION,
    Stage::GEOMETRY,
    Stage::FRAGMENT,
    Stage::COMPUTE,
];

/// A valid layout, and a valid command for it.
#[derive(Debug, Clone)]
struct Pushed {
    ranges: Vec<Range>,
    stages: Stage,
    offset: u32,
    size: u32,
}

/// The stages of all ranges with a byte.
fn named(ranges: &[Range], byte: u32) -> Stage {
    let has = |range: &&Range| (range.offset..range.offset + range.size).contains(&byte);
    ranges.iter().filter(has).fold(Stage::empty(), |all, range| all | range.stage_flags)
}

/// Generates layouts in which each stage has a range, which stages may share, or none; and commands that write a part of a
/// region of bytes that the same stages read. A range may have all stages.
fn pushed() -> impl Strategy<Value = Pushed> {
    let ranges = prop::collection::vec((0_u32..24, 1_u32..16), 1..=4);
    let owners = prop::collection::vec(0_usize..5, STAGES.len());
    let part = (any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0_u8..8);
    (ranges, owners, part).prop_filter_map("no bytes", |(ranges, owners, (first, last, kind))| {
        let mut ranges: Vec<Range> = (0..)
            .zip(ranges)
            .map(|(number, (offset, size))| {
                let stages = STAGES.iter().zip(&owners).filter(|(_, owner)| **owner == number);
                let stage_flags = match kind {
                    0 if number == 0 => Stage::ALL,
                    1 if number == 0 => Stage::ALL_GRAPHICS,
                    0 | 1 => Stage::empty(),
                    _ => stages.fold(Stage::empty(), |all, (stage, _)| all | *stage),
                };
                Range { stage_flags, offset: offset * 4, size: size * 4 }
            })
            .collect();
        ranges.retain(|range| !range.stage_flags.is_empty());
        let words: Vec<u32> = (0..40).map(|word| word * 4).collect();
        let written: Vec<_> =
            words.iter().filter(|byte| !named(&ranges, **byte).is_empty()).collect();
        if written.is_empty() {
            return None;
        }
        let offset = **first.get(&written);
        let stages = named(&ranges, offset);
        let end = (offset..).step_by(4).find(|byte| named(&ranges, *byte) != stages)?;
        let count = (end - offset) / 4;
        let size = 4 * (1 + last.index(count as usize) as u32);
        Some(Pushed { ranges, stages, offset, size })
    })
}

impl Pushed {
    /// Whether the layout and the command follow the rules.
    fn is_valid(&self) -> bool {
        // VUID-VkPipelineLayoutCreateInfo-pPushConstantRanges-00292, and stages are never empty.
        let mut seen = Stage::empty();
        let are_apart = self.ranges.iter().all(|range| {
            let is_new = !seen.intersects(range.stage_flags) && !range.stage_flags.is_empty();
            seen |= range.stage_flags;
            is_new
        });
        // VUID-vkCmdPushConstants-offset-01795: each stage is in a range with the byte. 01796: each stage of such a range is
        // in the command.
        let written = |byte| {
            let ranges = named(&self.ranges, byte);
            ranges.contains(self.stages) && self.stages.contains(ranges)
        };
        are_apart && !self.stages.is_empty() && (self.offset..self.offset + self.size).all(written)
    }
}

/// Returns the ranges of a layout that the driver gets.
fn driver_ranges(given: &[Range]) -> Vec<Range> {
    let info = vk::PipelineLayoutCreateInfo::default().push_constant_ranges(given);
    // SAFETY: the structure is valid.
    Arena::with(|arena| unsafe {
        let new = pipeline_layout(&info, arena);
        slice(new.p_push_constant_ranges, new.push_constant_range_count).to_vec()
    })
}

fn parts(ranges: &[Range]) -> Vec<(Stage, u32, u32)> {
    ranges.iter().map(|range| (range.stage_flags, range.offset, range.size)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    /// What is valid for the program is valid for the driver, which gets every byte that another stage than the geometry
    /// stage reads.
    #[test]
    fn pushes_stay_valid(given in pushed()) {
        prop_assert!(given.is_valid());
        let ranges = driver_ranges(&given.ranges);
        prop_assert!(ranges.iter().all(|range| !range.stage_flags.intersects(Stage::GEOMETRY)));
        for byte in 0..160 {
            prop_assert_eq!(named(&ranges, byte), named(&given.ranges, byte) & !Stage::GEOMETRY);
        }
        match of_constants(given.stages) {
            Some(stages) => {
                prop_assert_eq!(stages, given.stages & !Stage::GEOMETRY);
                let new = Pushed { ranges, stages, ..given };
                prop_assert!(new.is_valid(), "{:?}", new);
            }
            None => prop_assert_eq!(given.stages, Stage::GEOMETRY),
        }
    }
}

/// A command that names all graphics stages stays valid where each has a range of its own.
#[test]
fn all_graphics_stages_may_have_ranges_of_their_own() {
    let ranges: Vec<Range> = STAGES[..5]
        .iter()
        .map(|stage| Range { stage_flags: *stage, offset: 0, size: 16 })
        .collect();
    let given = Pushed { ranges, stages: Stage::ALL_GRAPHICS, offset: 4, size: 8 };
    assert!(given.is_valid());
    let ranges = driver_ranges(&given.ranges);
    let stages = of_constants(given.stages).unwrap();
    let new = Pushed { ranges, stages, ..given };
    assert!(new.is_valid(), "{new:?}");
}

#[test]
fn ranges_of_the_geometry_stage_are_left_out() {
    let range = |stage_flags, offset, size| Range { stage_flags, offset, size };
    let given = [
        range(Stage::GEOMETRY, 0, 16),
        range(Stage::VERTEX | Stage::FRAGMENT, 16, 4),
        range(Stage::COMPUTE, 0, 8),
    ];
    let expected = [(Stage::VERTEX | Stage::FRAGMENT, 16, 4), (Stage::COMPUTE, 0, 8)];
    assert_eq!(parts(&driver_ranges(&given)), expected);
    assert_eq!(driver_ranges(&given[..1]).len(), 0);
    assert_eq!(driver_ranges(&[]).len(), 0);
    let info = vk::ShaderCreateInfoEXT::default()
        .stage(Stage::VERTEX)
        .next_stage(Stage::GEOMETRY)
        .push_constant_ranges(&given);
    Arena::with(|arena| {
        // SAFETY: the structure is valid.
        let (new, ranges) = unsafe {
            let new = shader(&info, arena);
            (new, slice(new.p_push_constant_ranges, new.push_constant_range_count))
        };
        assert_eq!(parts(ranges), expected);
        assert_eq!((new.stage, new.next_stage), (Stage::VERTEX, Stage::GEOMETRY));
    });
}

/// A command may have a layout in its chain (`dynamicPipelineLayout`).
#[test]
fn layouts_of_commands_are_translated() {
    let ranges = [Range { stage_flags: Stage::GEOMETRY, offset: 0, size: 16 }];
    let layout = vk::PipelineLayoutCreateInfo::default().push_constant_ranges(&ranges);
    Arena::with(|arena| {
        // SAFETY: the chains are valid.
        unsafe {
            let chain = chained_layout((&raw const layout).cast(), arena);
            let found = all_of::<vk::PipelineLayoutCreateInfo<'_>>(chain).next().unwrap();
            assert_eq!(found.push_constant_range_count, 0);
            assert!(chained_layout(std::ptr::null(), arena).is_null());
        }
    });
    assert_eq!(layout.push_constant_range_count, 1);
}

#[test]
fn descriptors_of_geometry_shaders_are_visible_to_vertex_shaders() {
    let kinds = [
        (Stage::GEOMETRY, Stage::VERTEX),
        (Stage::GEOMETRY | Stage::FRAGMENT, Stage::VERTEX | Stage::FRAGMENT),
        (Stage::VERTEX | Stage::GEOMETRY, Stage::VERTEX),
        (Stage::FRAGMENT, Stage::FRAGMENT),
        (Stage::COMPUTE, Stage::COMPUTE),
        (Stage::ALL_GRAPHICS, Stage::ALL_GRAPHICS),
        (Stage::ALL, Stage::ALL),
        (Stage::empty(), Stage::empty()),
    ];
    let bindings: Vec<_> = (0..)
        .zip(kinds)
        .map(|(number, (stages, _))| {
            vk::DescriptorSetLayoutBinding::default().binding(number).stage_flags(stages)
        })
        .collect();
    let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
    Arena::with(|arena| {
        // SAFETY: the structure is valid.
        let new = unsafe {
            let new = set_layout(&info, arena);
            slice(new.p_bindings, new.binding_count)
        };
        let new: Vec<_> = new.iter().map(|new| (new.binding, new.stage_flags)).collect();
        let expected: Vec<_> = (0..).zip(kinds.map(|(_, expected)| expected)).collect();
        assert_eq!(new, expected);
    });
}
