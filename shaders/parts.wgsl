// Finds the draws of inputs (recorded draw commands), which may have several draws each. The setup kernel processes the
// draws in blocks of one draw per invocation.

fn load_group(inputs: vec2<u32>, number: u32) -> u32 {
    return load1(multiply_add(inputs, number, INPUT_SIZE), INPUT_GROUP / 4u);
}

// The address of the query that input `number` (a recorded draw command) adds to. `which` selects the query:
// STREAM_QUERY or GENERATED_QUERY.
fn load_query(number: u32, which: u32) -> vec2<u32> {
    let at = multiply_add(setup.inputs, number, INPUT_SIZE);
    return load2_aligned(add_bytes(at, INPUT_QUERIES + 8u * which), 0u);
}

// A run consists of consecutive draws with the same query or group. Returns which kinds of runs (STREAM_QUERY,
// GENERATED_QUERY, GROUP) begin with this draw, as bits. Draw 0 of the first input is not reported: nothing precedes
// it.
fn starts_of(part: Part) -> u32 {
    if part.index != 0u || part.input == 0u {
        return 0u;
    }
    let inputs = setup.inputs;
    let input_before = part.input - 1u;
    let at = multiply_add(inputs, part.input, INPUT_SIZE);
    let before = multiply_add(inputs, input_before, INPUT_SIZE);
    let differs = load4_aligned(at, INPUT_QUERIES / 4u) != load4_aligned(before, INPUT_QUERIES / 4u);
    return select(0u, 1u << STREAM_QUERY, any(differs.xy))
        | select(0u, 1u << GENERATED_QUERY, any(differs.zw))
        | select(0u, 1u << GROUP, load_group(inputs, part.input) != load_group(inputs, input_before));
}

// The inputs (recorded draw commands) are processed together, one per invocation (see count_draws). For each of them:
// the number of its first draw, counted over the draws of all these inputs. The elements after the last input have the
// number of all draws.
var<workgroup> first_draws: array<u32, MAX_KERNEL_WIDTH>;
// The number of all draws of the inputs that are processed together.
var<workgroup> all_draws: u32;
// The number of the first draw of the next block of draws (one draw per invocation).
var<workgroup> next_first: u32;

// Counts the draws of the inputs (recorded draw commands) from `first` on, one input per invocation. counted_draws
// returns the number of these draws. An input has at most MOST_DRAWS draws. So this number, and the number of the first
// draw of the next block, are below 2^32.
fn count_draws(first: u32, local: u32) {
    if !has_several() {
        return;
    }
    var draws = 0u;
    if local < inputs_from(first) {
        draws = draws_of_input(load_input(setup.inputs, first + local));
    }
    let sum = sum_runs(local, false, vec4<u32>(draws, 0u, 0u, 0u), NO_RUN);
    first_draws[local] = sum.before.x;
    if local == 0u {
        all_draws = sum.last.x;
    }
    workgroupBarrier();
}

fn counted_draws(first: u32) -> u32 {
    if !has_several() {
        return inputs_from(first);
    }
    return all_draws;
}

// The number of the inputs (recorded draw commands) from `first` on that are processed together.
fn inputs_from(first: u32) -> u32 {
    return min(kernel_width(), setup.input_count - first);
}

// A draw: the number of its input (recorded draw command), and the index of the draw in this input.
struct Part {
    input: u32,
    index: u32,
}

// Finds the input (recorded draw command) that draw `number` belongs to, and the index of the draw in this input. The
// input is the last one whose first draw is not after `number`.
fn part_of(first: u32, number: u32) -> Part {
    if !has_several() {
        return Part(first + number, 0u);
    }
    var low = 0u;
    low = later_input(low, number, 128u);
    low = later_input(low, number, 64u);
    low = later_input(low, number, 32u);
    low = later_input(low, number, 16u);
    low = later_input(low, number, 8u);
    low = later_input(low, number, 4u);
    low = later_input(low, number, 2u);
    low = later_input(low, number, 1u);
    return Part(first + low, number - first_draws[low]);
}

// A step of the binary search in part_of. Returns `low` + `step` if the first draw of the input with this number is not
// after draw `number`, otherwise `low`.
fn later_input(low: u32, number: u32, step: u32) -> u32 {
    if step >= kernel_width() || first_draws[low + step] > number {
        return low;
    }
    return low + step;
}

// Returns the number of the first draw of the next block. The current block of draws (one per invocation) begins at
// `first_draw`. `part` is the invocation's draw. `fits` says whether another primitive of the same draw command fits
// after this block. If `fits` is false for the block's last draw, the remaining draws of its command have no effect
// and are skipped, unless any command of the capture adds to a query. Draws of geometry shaders are never skipped,
// because it is not known yet how many primitives they emit.
fn next_block(first: u32, first_draw: u32, part: Part, fits: bool, local: u32) -> u32 {
    let width = kernel_width();
    if !has_several() || setup.has_queries != 0u || assembles() {
        return first_draw + width;
    }
    if local == width - 1u {
        next_first = first_draw + width;
        let next_input = part.input - first + 1u;
        if !fits && next_first < all_draws {
            next_first = all_draws;
            if next_input < width {
                next_first = max(first_draw + width, min(all_draws, first_draws[next_input]));
            }
        }
    }
    return workgroupUniformLoad(&next_first);
}
