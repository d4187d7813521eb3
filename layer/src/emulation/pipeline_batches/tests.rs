use super::*;

/// Passes the create info of a derivative to `rebase`. Returns the base index and the flags that
/// the driver gets, and the types of the structures in the chain.
fn rebased(mut info: Info, numbers: &[usize]) -> (i32, Flags, Vec<vk::StructureType>) {
    let mut below = Below::default();
    // SAFETY: those parts of the structure that are read are valid.
    unsafe {
        rebase(&mut info, &mut below, numbers).unwrap();
        let chain = crate::chain::structures(info.p_next);
        let types = chain.map(|structure| structure.as_ref().s_type).collect();
        (info.base_pipeline_index, flags_of(&info), types)
    }
}

#[test]
fn bases_are_named_by_the_index_that_they_have_for_the_driver() {
    let optimizes = vk::PipelineCreateFlags::DISABLE_OPTIMIZATION;
    let derivative = vk::PipelineCreateFlags::DERIVATIVE | optimizes;
    let info = Info::default().flags(derivative).base_pipeline_index(2);
    let flags = Flags::DERIVATIVE | Flags::DISABLE_OPTIMIZATION;
    assert_eq!(rebased(info, &[0, 1, 2, 3]), (2, flags, vec![]));
    assert_eq!(rebased(info, &[2, 3]), (0, flags, vec![]));
    assert_eq!(rebased(info, &[0, 1, 3]), (-1, Flags::DISABLE_OPTIMIZATION, vec![]));
    // The base index of a pipeline that is not a derivative is ignored, so it is left as it is.
    let info = info.flags(optimizes);
    assert_eq!(rebased(info, &[3]), (2, Flags::DISABLE_OPTIMIZATION, vec![]));
    let info = info.flags(derivative).base_pipeline_index(-1);
    assert_eq!(rebased(info, &[3]), (-1, flags, vec![]));
}

#[test]
fn flags_in_the_chain_are_changed_in_a_copy() {
    use vk::StructureType as Type;
    let flags = Flags::DERIVATIVE | Flags::DISABLE_OPTIMIZATION;
    let mut chained = FlagsInfo::default().flags(flags);
    let rendering = vk::PipelineRenderingCreateInfo::default();
    chained.p_next = (&raw const rendering).cast();
    let library = vk::GraphicsPipelineLibraryCreateInfoEXT {
        p_next: (&raw mut chained).cast(),
        ..Default::default()
    };
    // The flags of the main structure are ignored, because the chain has 64-bit flags.
    let mut info = Info::default().base_pipeline_index(2);
    info.p_next = (&raw const library).cast();
    let types = |all: [Type; 3]| all.to_vec();
    let (own, given) = (
        Type::PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR,
        Type::GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT,
    );
    let rendering = Type::PIPELINE_RENDERING_CREATE_INFO;
    assert_eq!(rebased(info, &[2]), (0, flags, types([given, own, rendering])));
    let plain = Flags::DISABLE_OPTIMIZATION;
    assert_eq!(rebased(info, &[0]), (-1, plain, types([own, given, rendering])));
    assert_eq!(chained.flags, flags, "the program's own");
}

#[test]
fn flags_behind_an_unknown_structure_are_an_error() {
    let mut chained = FlagsInfo::default().flags(Flags::DERIVATIVE);
    let unknown = vk::BaseInStructure {
        s_type: vk::StructureType::from_raw(1_999_999_000),
        p_next: (&raw mut chained).cast(),
        ..Default::default()
    };
    let mut info = Info::default().base_pipeline_index(2);
    info.p_next = (&raw const unknown).cast();
    // SAFETY: those parts of the structure that are read are valid.
    let error = unsafe { rebase(&mut info, &mut Below::default(), &[0]) }.unwrap_err();
    assert!(error.to_string().contains("PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR"), "{error}");
}
