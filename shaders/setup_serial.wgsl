// The setup kernel (setup.wgsl) for drivers that run shaders on a CPU: a single invocation processes one draw after the
// other. There are no prefix sums and no barriers, so that drivers compile it in a fraction of the time.
//
// llvmpipe ends all loops of an invocation after 65,535 rounds. Therefore the kernel works in turns: it is dispatched
// several times with the same parameters, a barrier between. A turn processes at most `turn_draws` draws, stores where
// it stopped, and the next turn goes on from there. The first turn has one workgroup. The others have two, of which the
// second one does nothing: this is how the kernel knows that it goes on, although all turns have the same parameters.
//
// Where a turn stopped is in the memory of the last group's `GroupBatch`, which only the end of the last turn writes. A
// stop has another `record_limit` than that batch, which has NONE: further turns do nothing.

// The draws so far of the current group (the consecutive draw commands that one dispatch captures).
struct SerialGroup {
    number: u32, // NONE if it is the group of the command that comes next
    size: u32, // the workgroup size of its pipeline
    workgroups: vec2<u32>, // the number of their workgroups, 64 bits
    first_draw: u32, // the number of the first of them among the draws that the kernel stores
}

// Set in the index of a stop if the draws of geometry shaders are in their first round. An index is at most MOST_DRAWS.
const IS_SUMMING: u32 = 0x80000000u;

@compute @workgroup_size(1)
fn xfb_setup_serial(
    @builtin(local_invocation_index) local: u32,
    @builtin(workgroup_id) workgroup_id: vec3<u32>,
    @builtin(num_workgroups) workgroup_count: vec3<u32>,
) {
    set_unknown_zero(local);
    if (local | workgroup_id.x) != 0u {
        return;
    }
    setup = load_setup();
    let last = previous(setup.command_count);
    next_record = 0u;
    next_entry = 0u;
    all_items = vec2<u32>();
    var number = 0u;
    var index = 0u;
    var next_draw = 0u;
    var group = SerialGroup(NONE, 1u, vec2<u32>(), 0u);
    // The draws of geometry shaders are processed in two rounds, of which the first only adds up items (see xfb_setup).
    var is_summing = makes_entries();
    // If there is no command, there is no such memory (see draw_of_command).
    let stop = add_bytes(multiply_add(setup.batches, load_group(setup.commands, last), BATCH_SIZE), unknown_zero);
    if workgroup_count.x != 1u {
        let a = load4_written(stop);
        let b = load4_written(add_bytes(stop, 16u));
        if a.w == NONE {
            return;
        }
        number = a.x;
        next_draw = a.y;
        group.first_draw = a.z;
        index = a.w;
        if makes_entries() {
            is_summing = index >= IS_SUMMING;
            index &= IS_SUMMING - 1u;
            group.workgroups.x = b.x;
            next_entry = b.y;
            all_items = b.zw;
        } else {
            group.workgroups = b.xy;
            next_record = b.z;
        }
    }
    let progress = load_progress(progress_address());
    start_position = start_positions(progress, kernel.parameters);
    start_room = room_at(progress, start_position);
    room = select(NONE, start_room - next_record, captures());
    var left = setup.turn_draws;
    loop {
        if makes_entries() && is_summing && number >= setup.command_count {
            is_summing = false;
            number = 0u;
        }
        let recorded = load_command(setup.commands, min(number, last));
        let is_end = number >= setup.command_count;
        if (group.number != NONE) & (is_end | (group.number != recorded.group)) {
            let group_draws = next_draw - group.first_draw;
            store_group(group.number, group.size, vec4<u32>(group.workgroups, group_draws, 0u), next_draw);
            group = SerialGroup(NONE, 1u, vec2<u32>(), next_draw);
        }
        if is_end {
            break;
        }
        group.number = select(recorded.group, NONE, makes_entries() && is_summing);
        group.size = load_workgroup_size(recorded.group);
        // A command without draws counts as one empty draw. The draws of a discarded command have no vertices.
        let existing = existing_draws(recorded);
        let draws = max(1u, existing);
        let taken = min(draws - index, left);
        let end = index + taken;
        left -= taken;
        var needed = vec2<u32>();
        var written = 0u;
        for (; index < end; index++) {
            let command = draw_of_command(recorded, index);
            var arguments = arguments_of(command);
            arguments.count = select(0u, arguments.count, index < existing);
            var restarts = DrawRestarts();
            var segments = Prefix(0u, arguments.count);
            if may_restart() && (command.flags & RESTART) != 0u {
                let found = serial_restarts_of(command, arguments);
                restarts = found.draw;
                segments = found.prefix;
            }
            var placed = needed_by_command(command, arguments, segments);
            var made = draw_of(command, arguments);
            if makes_entries() {
                made = draw_of_items(made, placed.primitives);
                if is_summing {
                    all_items = add64(all_items, vec2<u32>(made.item_count * made.instance_count, 0u));
                    continue;
                }
                made = draw_of_entries(made);
            } else {
                if captures() {
                    placed.written = fitting(placed, room);
                    placed.base_record = next_record;
                    let records = placed.written * placed.vertices;
                    next_record += records;
                    room -= records;
                    written += placed.written;
                }
                needed = add64(needed, placed.needed);
                made = placed_draw(made, placed);
                made.reciprocal = reciprocal_of(made, invocations_per_item(made));
            }
            let is_first = next_draw == group.first_draw;
            let workgroups = workgroups_of(made, group.size);
            if makes_entries() {
                if is_first {
                    start_entries(recorded.group, 0u);
                }
                next_entry += workgroups * group.size;
            }
            if is_first | (made.invocations != 0u) {
                let at = multiply_add(setup.draws, next_draw, setup.draw_stride);
                store_draw(at, made, saturated(group.workgroups));
                if may_restart() && (made.flags & RESTART) != 0u {
                    store_restarts(at, restarts, command.restart_table);
                }
                next_draw++;
            }
            group.workgroups = add64(group.workgroups, vec2<u32>(workgroups, 0u));
            // Skips the other draws of the command if nothing can be written any more (see next_block).
            let is_full = !makes_entries() & (setup.has_queries == 0u) & (room < placed.vertices);
            index = select(index, draws - 1u, is_full);
        }
        if !makes_entries() {
            // A loop, because compilers inline every call.
            var query = recorded.stream_query;
            var counted = vec4<u32>(select(needed, vec2<u32>(written, 0u), captures()), needed);
            for (var which = STREAM_QUERY; which <= GENERATED_QUERY; which++) {
                add_to_query(query, counted, setup.batches);
                query = recorded.generated_query;
                counted = vec4<u32>(needed, 0u, 0u);
            }
        }
        if index < draws {
            let sums = select(
                vec4<u32>(group.workgroups, next_record, 0u),
                vec4<u32>(group.workgroups.x, next_entry, all_items),
                makes_entries(),
            );
            let state = index | select(0u, IS_SUMMING, is_summing);
            store4_aligned(stop, 0u, vec4<u32>(number, next_draw, group.first_draw, state));
            store4_aligned(stop, 4u, sums);
            break;
        }
        index = 0u;
        number++;
    }
    if number >= setup.command_count {
        store_positions(progress, start_position, next_record);
    }
}

// The same as restarts_of (restart.wgsl), but with one copy of what reads the table and counts primitives, because
// compilers inline every call.
fn serial_restarts_of(command: DrawCommand, arguments: Arguments) -> CountedRestarts {
    let table = command.restart_table;
    let vertices = vertices_per_primitive(command.flags);
    var restarts = range_of_draw(command, arguments);
    // A round for the draw's first index, one for the index behind its first restart, if there is one, and one for its
    // end.
    var offset = 0u;
    var is_start = true;
    var is_end = false;
    var prefix = Prefix();
    loop {
        let at = position_behind(restarts.limit, restarts.first, offset);
        let workgroup = load4_aligned(workgroup_address(table, at.block), 0u);
        let element = load_block(table, at.block);
        if is_start {
            let restart = restart_from(element, workgroup.w, at);
            is_start = false;
            is_end = restart == NONE;
            restarts.head = select(restart - restarts.first, NONE, is_end);
            offset = select(restarts.head + 1u, arguments.count, is_end);
            continue;
        }
        let before = Prefix(workgroup.x, workgroup.y);
        prefix = serial_prefix(command.topology, vertices, before, element, at.number);
        if is_end {
            break;
        }
        restarts.before = prefix.primitives - primitive_count(command.topology, vertices, restarts.head);
        is_end = true;
        offset = arguments.count;
    }
    // As prefix_in_draw has it.
    let is_head = arguments.count <= restarts.head;
    let primitives = select(prefix.primitives - restarts.before, 0u, is_head);
    return CountedRestarts(restarts, Prefix(primitives, select(prefix.open, arguments.count, is_head)));
}

// The same as prefix_before (restart.wgsl), but in a loop over restarts: a round for the last one before the block, if
// there is one, and one for each of those before position `number` of the block.
fn serial_prefix(topology: u32, vertices: u32, before: Prefix, element: vec4<u32>, number: u32) -> Prefix {
    let between = summary_before_block(element);
    var prefix = Prefix(before.primitives + between.primitives, before.open + between.head);
    var is_restart = between.restarts != 0u;
    var next_open = between.tail;
    var first = 0u;
    // Only the last block has more than 32 positions, and it has no restart.
    var rest = element.x & ((1u << min(number, 31u)) - 1u);
    loop {
        let primitives = primitive_count(topology, vertices, prefix.open);
        prefix.primitives += select(0u, primitives, is_restart);
        prefix.open = select(prefix.open, next_open, is_restart);
        if rest == 0u {
            break;
        }
        let restart = firstTrailingBit(rest);
        prefix.open += restart - first;
        is_restart = true;
        next_open = 0u;
        first = restart + 1u;
        rest &= rest - 1u;
    }
    return Prefix(prefix.primitives, prefix.open + number - first);
}
