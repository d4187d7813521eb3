// The invocations of a workgroup load the workgroup's draw together: each of them loads a part into shared memory, and
// then all of them read the whole draw there. This is for llvmpipe, which executes a load once for each lane even if
// all lanes have the same address, except for loads from a constant offset in shared memory outside of branches.
//
// No other driver gets these functions: the invocations may leave the loops in them, and reach the barrier after a
// loop, at different times, which Mesa's compiler for Mali before v9 does not support (see find_restarts).

// What the workgroup loaded, in pairs of dwords: the draw; behind it, what is bound for it if it is listed, or else its
// `DrawRestarts` if it has primitive restart; and from element SHARED_BATCH on the batch.
var<workgroup> shared_pairs: array<vec2<u32>, SHARED_PAIRS>;
const SHARED_BATCH: u32 = SYSVALS_SIZE / 8u;
const SHARED_PAIRS: u32 = SHARED_BATCH + 4u;

// Loads the listed draw of a workgroup (a draw whose parameters the CPU wrote to memory), together with the other
// invocations of the workgroup.
fn use_listed_draw_together(workgroup: u32, local: u32) {
    let has_batch = has_batch();
    let pairs = select(SHARED_BATCH, SHARED_PAIRS, has_batch);
    for (var i = local; i < pairs; i += workgroup_size()) {
        share_pair(i, listed_draw(workgroup), SYSVALS_SIZE, has_batch);
    }
    workgroupBarrier();
    draw = draw_of_words(shared_words(0u), shared_words(2u), shared_words(4u), shared_words(6u));
    listed = bound_of_words(shared_words(8u), shared_words(10u), shared_words(12u), shared_words(14u));
    use_shared_batch(has_batch);
}

// Loads the draw of a workgroup from the batch, together with the other invocations of the workgroup. Without a batch,
// the draw is that in the push constants.
fn use_draw_together(workgroup: u32, local: u32) {
    let has_batch = has_batch();
    for (var i = select(SHARED_PAIRS, local, has_batch); i < SHARED_PAIRS; i += workgroup_size()) {
        let head = load_batch_head();
        let size = select(DRAW_SIZE, RESTARTED_DRAW_SIZE, head.z >= RESTARTED_BATCH);
        share_pair(i, find_draw(head, workgroup), size, true);
    }
    workgroupBarrier();
    let pushed = sysvals.draw;
    draw = draw_of_words(
        select(
            vec4<u32>(pushed.flags, pushed.output_count, pushed.output_end, pushed.item_count),
            shared_words(0u), has_batch,
        ),
        select(
            vec4<u32>(pushed.instance_count, pushed.base_vertex, pushed.base_record, pushed.first_workgroup),
            shared_words(2u), has_batch,
        ),
        select(
            vec4<u32>(pushed.index_address, pushed.index_limit, pushed.reciprocal),
            shared_words(4u), has_batch,
        ),
        select(
            vec4<u32>(pushed.xfb_topology, pushed.draw_index, pushed.first_instance, pushed.invocations),
            shared_words(6u), has_batch,
        ),
    );
    use_shared_batch(has_batch);
    if may_restart() {
        let words = shared_words(8u);
        draw_restarts = DrawRestarts(words.x, words.y, words.z, words.w, shared_pairs[10], vec2<u32>());
    }
}

// Loads pair `i` of `shared_pairs` from the draw at `at`, which has `size` bytes, or from the batch. The pairs
// between the end of a shorter draw and the batch are never read; they get a copy of the draw's last pair. The
// invocations of a workgroup must access the same buffer (stubs.wgsl). With descriptors they do, because draw
// and batch are in one buffer: listed draws have a batch only with device addresses.
fn share_pair(i: u32, at: vec2<u32>, size: u32, has_batch: bool) {
    let of_draw = add_bytes(at, 8u * min(i, size / 8u - 1u));
    let of_batch = add_bytes(batch_address(), 8u * (i - SHARED_BATCH));
    shared_pairs[i] = load2_aligned(select(of_draw, of_batch, has_batch & (i >= SHARED_BATCH)), 0u);
}

fn shared_words(pair: u32) -> vec4<u32> {
    return vec4<u32>(shared_pairs[pair], shared_pairs[pair + 1u]);
}

fn use_shared_batch(has_batch: bool) {
    limit_records(select(NONE, shared_words(SHARED_BATCH).w, has_batch));
    first_bytes = select(vec4<u32>(), shared_words(SHARED_BATCH + 2u), has_batch);
}
