// Distributes the draws of draw commands over the invocations of the setup kernel. A draw command may have several
// draws, so the number of its first draw is known only after the draws of the commands before it are counted. The
// kernel takes as many commands at a time as the workgroup has invocations, and processes their draws in blocks of one
// draw per invocation.

fn load_group(commands: vec2<u32>, number: u32) -> u32 {
    return load1(multiply_add(commands, number, DRAW_COMMAND_SIZE), DRAW_COMMAND_GROUP / 4u);
}

// The address of the query that draw command `number` adds to. `which` selects the query: STREAM_QUERY or
// GENERATED_QUERY.
fn load_query(number: u32, which: u32) -> vec2<u32> {
    let at = multiply_add(setup.commands, number, DRAW_COMMAND_SIZE);
    return load2_aligned(add_bytes(at, DRAW_COMMAND_QUERIES + 8u * which), 0u);
}

// Returns the kinds of runs that begin with this draw, as bits 1 << STREAM_QUERY, 1 << GENERATED_QUERY and 1 << GROUP.
// A run consists of consecutive draws with the same query or group (setup.wgsl), and is added up at its end, where the
// next run begins. The first draw of all is therefore not a start: no run ends before it.
fn starts_of(part: Part) -> u32 {
    if part.index != 0u || part.command == 0u {
        return 0u;
    }
    let commands = setup.commands;
    let command_before = part.command - 1u;
    let at = multiply_add(commands, part.command, DRAW_COMMAND_SIZE);
    let before = multiply_add(commands, command_before, DRAW_COMMAND_SIZE);
    let differs = load4_aligned(at, DRAW_COMMAND_QUERIES / 4u) != load4_aligned(before, DRAW_COMMAND_QUERIES / 4u);
    return select(0u, 1u << STREAM_QUERY, any(differs.xy))
        | select(0u, 1u << GENERATED_QUERY, any(differs.zw))
        | select(0u, 1u << GROUP, load_group(commands, part.command) != load_group(commands, command_before));
}

// For each of the draw commands that are processed together (see commands_from): the number of its first draw, counted
// over the draws of all these commands. The elements after the last command have the number of all draws.
var<workgroup> first_draws: array<u32, MAX_KERNEL_WIDTH>;
// The number of draws of all these commands.
var<workgroup> all_draws: u32;
// The number of the first draw of the next block of draws.
var<workgroup> next_first: u32;

// Counts the draws of the draw commands from `first` on, one command per invocation: sets `first_draws` and
// `all_draws`. A command has at most MOST_DRAWS draws, so that all these numbers fit into 32 bits.
fn count_draws(first: u32, local: u32) {
    if !has_several() {
        return;
    }
    var draws = 0u;
    if local < commands_from(first) {
        draws = draws_of_command(load_command(setup.commands, first + local));
    }
    let sum = sum_runs(local, false, vec4<u32>(draws, 0u, 0u, 0u), NO_RUN);
    first_draws[local] = sum.before.x;
    if local == 0u {
        all_draws = sum.last.x;
    }
    workgroupBarrier();
}

// The number of draws of the draw commands from `first` on that are processed together.
fn counted_draws(first: u32) -> u32 {
    if !has_several() {
        return commands_from(first);
    }
    return all_draws;
}

// The number of draw commands from `first` on that are processed together: one per invocation, or those that are left.
fn commands_from(first: u32) -> u32 {
    return min(kernel_width(), setup.command_count - first);
}

// One draw of a draw command: the number of the command, and the index of the draw in it.
struct Part {
    command: u32,
    index: u32,
}

// Finds the command that a draw belongs to. `number` counts the draws of the commands from `first` on. A binary search
// in `first_draws` finds the last command whose first draw is not after `number`.
fn part_of(first: u32, number: u32) -> Part {
    if !has_several() {
        return Part(first + number, 0u);
    }
    var low = 0u;
    low = later_command(low, number, 128u);
    low = later_command(low, number, 64u);
    low = later_command(low, number, 32u);
    low = later_command(low, number, 16u);
    low = later_command(low, number, 8u);
    low = later_command(low, number, 4u);
    low = later_command(low, number, 2u);
    low = later_command(low, number, 1u);
    return Part(first + low, number - first_draws[low]);
}

// A step of the binary search in part_of. Returns `low` + `step` if the first draw of the command with this number is
// not after draw `number`, otherwise `low`.
fn later_command(low: u32, number: u32, step: u32) -> u32 {
    if step >= kernel_width() || first_draws[low + step] > number {
        return low;
    }
    return low + step;
}

// Returns the number of the first draw of the next block. The current block begins at draw `first_draw`, and `part` is
// the draw of this invocation. `fits` says whether after this block there is room for another primitive of the same
// command. If there is none after the last draw of the block, the remaining draws of its command write nothing. They
// are skipped, unless a command of the capture adds to a query: queries also count the primitives for which there is no
// room. Draws of geometry shaders are never skipped, because it is not known yet how many primitives they emit.
fn next_block(first: u32, first_draw: u32, part: Part, fits: bool, local: u32) -> u32 {
    let width = kernel_width();
    if !has_several() || setup.has_queries != 0u || makes_entries() {
        return first_draw + width;
    }
    if local == width - 1u {
        next_first = first_draw + width;
        let next_command = part.command - first + 1u;
        if !fits && next_first < all_draws {
            next_first = all_draws;
            if next_command < width {
                next_first = max(first_draw + width, min(all_draws, first_draws[next_command]));
            }
        }
    }
    return workgroupUniformLoad(&next_first);
}
