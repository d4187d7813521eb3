use super::*;

#[test]
fn commands_are_in_order() {
    assert!(COMMANDS.is_sorted());
}

#[test]
fn ranges_end_where_a_descriptor_does() {
    let mut limits = crate::means::tests::capabilities().limits;
    (limits.max_storage_buffer_range, limits.min_storage_buffer_offset_alignment) = (1 << 27, 64);
    for (offset, size, reached) in [
        (0, 1 << 27, 1 << 27),
        (0, (1 << 27) + 1, 1 << 27),
        (128, u64::MAX, 1 << 27),
        (130, u64::MAX, (1 << 27) - 2),
        (191, 1 << 26, 1 << 26),
        (0, 0, 0),
    ] {
        let found = captures::binds::reached_by_descriptor(&limits, offset, size);
        assert_eq!(found, reached, "{size} bytes from {offset} on");
    }
    limits.max_storage_buffer_range = 4 * 100 + 3;
    assert_eq!(captures::binds::reached_by_descriptor(&limits, 64, 1000), 400);
}
