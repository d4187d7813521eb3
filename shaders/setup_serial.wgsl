// The setup kernel (setup.wgsl) for drivers that run shaders on a CPU: a single invocation processes one draw after the
// other. There are no prefix sums and no barriers, so that drivers compile it in a fraction of the time.

// The draws so far of the current group (the consecutive draw commands that one dispatch captures).
struct SerialGroup {
    workgroups: vec2<u32>, // the number of their workgroups, 64 bits
    first_draw: u32, // the number of the first of them among the draws that the kernel stores
}

@compute @workgroup_size(1)
fn xfb_setup_serial(@builtin(local_invocation_index) local: u32) {
    set_unknown_zero(local);
    if local != 0u {
        return;
    }
    setup = load_setup();
    let progress = load_progress(progress_address());
    start_position = start_positions(progress, kernel.parameters);
    start_room = room_at(progress, start_position);
    room = start_room;
    next_record = 0u;
    next_entry = 0u;
    all_items = vec2<u32>();
    let last = previous(setup.command_count);
    var next_draw = 0u;
    var group = SerialGroup();
    // The draws of geometry shaders are processed in two rounds, of which the first only adds up items (see xfb_setup).
    var is_summing = makes_entries();
    for (var number = 0u;; number++) {
        if makes_entries() && is_summing && number >= setup.command_count {
            is_summing = false;
            number = 0u;
        }
        if number >= setup.command_count {
            break;
        }
        let recorded = load_command(setup.commands, min(number, last));
        let size = load_workgroup_size(recorded.group);
        var needed = vec2<u32>();
        var written = vec2<u32>();
        // A command without draws counts as one empty draw. The draws of a discarded command have no vertices.
        let existing = existing_draws(recorded);
        for (var index = 0u; index < max(1u, existing); index++) {
            let command = draw_of_command(recorded, index);
            var arguments = arguments_of(command);
            arguments.count = select(0u, arguments.count, index < existing);
            var restarts = DrawRestarts();
            var segments = Prefix(0u, arguments.count);
            if may_restart() && (command.flags & RESTART) != 0u {
                let found = restarts_of(command, arguments);
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
                    written = add64(written, vec2<u32>(placed.written, 0u));
                }
                needed = add64(needed, placed.needed);
                made = placed_draw(made, placed);
                made.reciprocal = reciprocal_of(made, invocations_per_item(made));
            }
            let is_first = next_draw == group.first_draw;
            let workgroups = workgroups_of(made, size);
            if makes_entries() {
                if is_first {
                    start_entries(recorded.group, 0u);
                }
                next_entry += workgroups * size;
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
        }
        if makes_entries() && is_summing {
            continue;
        }
        if !makes_entries() {
            written = select(needed, written, captures());
            // A loop, because compilers inline every call.
            var query = recorded.stream_query;
            var counted = vec4<u32>(written, needed);
            for (var which = STREAM_QUERY; which <= GENERATED_QUERY; which++) {
                add_to_query(query, counted, setup.batches);
                query = recorded.generated_query;
                counted = vec4<u32>(needed, 0u, 0u);
            }
        }
        let next_group = load_group(setup.commands, min(number + 1u, last));
        if (number == last) | (next_group != recorded.group) {
            let draws = next_draw - group.first_draw;
            store_group(recorded.group, size, vec4<u32>(group.workgroups, draws, 0u), next_draw);
            group = SerialGroup(vec2<u32>(), next_draw);
        }
    }
    store_positions(progress, start_position, next_record);
}
