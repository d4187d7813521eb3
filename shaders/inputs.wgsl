// Recorded draw commands, as the setup kernels (setup.wgsl, setup_serial.wgsl) read them.

// The push constants of a kernel: the address of its parameters.
struct Kernel {
    parameters: vec2<u32>,
}

var<immediate> kernel: Kernel;

// Always 0. In a kernel of which a single invocation does the work, the compiler does not know that, and takes an address
// to which this is added for one that differs between invocations.
var<private> unknown_zero: u32;

// Sets unknown_zero. In a kernel of a single invocation the others must return after this call: compilers replace `local`
// itself by 0 from there on.
fn set_unknown_zero(local: u32) {
    unknown_zero = select(0u, 4u * local, kernel_width() == 1u);
}

const DIRECT: u32 = 0u;
const INDIRECT: u32 = 1u;
const BYTE_COUNT: u32 = 2u;

// A bit of Draw.flags and Input.flags: the draw is discarded if its predicate is not 0. Without this bit, the draw is
// discarded if its predicate is 0.
const INVERTED: u32 = 32u;

// A recorded draw command. An input with the kind INDIRECT may have several draws.
struct Input {
    kind: u32,
    topology: u32,
    flags: u32,
    draw_index: u32,

    // The arguments of a draw that is not indirect. If the kind is BYTE_COUNT, `count` is not used, `first` is
    // counterOffset, and `base_vertex` is vertexStride.
    count: u32,
    instance_count: u32,
    first: u32,
    base_vertex: u32,

    first_instance: u32,
    group: u32,
    // The number of indices in the bound range, and the index that restarts primitives if RESTART
    // is set.
    index_limit: u32,
    restart_index: u32,

    index_address: vec2<u32>,
    // The address of the first VkDraw[Indexed]IndirectCommand. If the kind is BYTE_COUNT, the address of the counter.
    arguments: vec2<u32>,

    // The address of a draw count, or 0 if the input has exactly draw_count draws. Draws whose index is not
    // below the draw count do not exist.
    count_address: vec2<u32>,
    restart_table: vec2<u32>,

    stream_query: vec2<u32>,
    generated_query: vec2<u32>,

    // The address of a predicate, or 0. The predicate is a dword that decides whether the draws are discarded,
    // see INVERTED.
    predicate: vec2<u32>,
    // For INDIRECT: the largest number of draws, and the number of bytes from one command to the next. The
    // draws have consecutive draw indices from `draw_index` on.
    draw_count: u32,
    stride: u32,
}

const INPUT_SIZE: u32 = 112u;
// The offsets of `group`, of the address of the table of restarts, and of the addresses of both queries in an input (a
// recorded draw command), in bytes.
const INPUT_GROUP: u32 = 36u;
const INPUT_RESTART_TABLE: u32 = 72u;
const INPUT_QUERIES: u32 = 80u;

fn load_input(inputs: vec2<u32>, number: u32) -> Input {
    let at = multiply_add(inputs, number, INPUT_SIZE);
    let a = load4_aligned(at, 0u);
    let b = load4_aligned(at, 4u);
    let c = load4_aligned(at, 8u);
    let d = load4_aligned(at, 12u);
    let e = load4_aligned(at, 16u);
    let f = load4_aligned(at, 20u);
    let g = load4_aligned(at, 24u);
    return Input(
        a.x, a.y, a.z, a.w,
        b.x, b.y, b.z, b.w,
        c.x, c.y, c.z, c.w,
        d.xy, d.zw,
        e.xy, e.zw,
        f.xy, f.zw,
        g.xy, g.z, g.w,
    );
}

// Returns a copy of `all`, an input (a recorded draw command) with the kind INDIRECT, that has only draw `index`.
fn draw_of_input(all: Input, index: u32) -> Input {
    var input = all;
    input.draw_index += index;
    // lavapipe 26.2.6 executes loads in branches that are not taken (see address_or), but only where it knows that the
    // address is the same in all invocations. An address that is not 0 may still be unreadable here: that of a command
    // after the last one, or of a place after the end of a table.
    input.arguments = add_bytes(multiply_add(all.arguments, index, all.stride), unknown_zero);
    input.restart_table = add_bytes(all.restart_table, unknown_zero);
    return input;
}

// The largest number of draws of an input (a recorded draw command). Further draws are ignored.
const MOST_DRAWS: u32 = 0xffffffu;

// The number of draws of an input (a recorded draw command). An input without draws, or whose draws are discarded,
// counts as one empty draw, so that the kernel processes the input's group and queries.
fn draws_of_input(input: Input) -> u32 {
    return max(1u, select(existing_draws(input), 0u, is_discarded(input)));
}

// The number of draws of an input (a recorded draw command), whether they are discarded or not. `draw_count` is 0 for
// an input that is not indirect.
fn existing_draws(input: Input) -> u32 {
    let draws = clamp(input.draw_count, 1u, MOST_DRAWS);
    let count_address = address_or(input.count_address, kernel.parameters);
    if is_address(input.count_address) {
        return min(draws, load1_from_any(count_address));
    }
    return draws;
}

fn is_discarded(input: Input) -> bool {
    let predicate = address_or(input.predicate, kernel.parameters);
    if !is_address(input.predicate) {
        return false;
    }
    return (load1_from_any(predicate) == 0u) != ((input.flags & INVERTED) != 0u);
}

fn is_address(address: vec2<u32>) -> bool {
    return (address.x | address.y) != 0u;
}

// `address`, or `readable` if `address` is 0. A load in a branch must not use an address that may be 0: a
// driver may execute the load although the branch is not taken (lavapipe 26.2.6 does, if the address is the same in all
// invocations). The address is therefore made readable before the branch. A select() by the condition of the branch does
// not achieve this: compilers know the condition inside the branch, and replace the select() there by `address`.
fn address_or(address: vec2<u32>, readable: vec2<u32>) -> vec2<u32> {
    let mask = min(address.x | address.y, 1u) - 1u;
    return address | (readable & vec2<u32>(mask));
}

// `number` - 1, or 0 if `number` is 0: the number of the last one of `number` elements, or of the element before
// `number`. A driver may execute the loads of an element that does not exist, in a branch that is not taken or in one more
// iteration after the last one, and drop their results (lavapipe 26.2.6 does). So a load uses a number that exists.
fn previous(number: u32) -> u32 {
    return max(number, 1u) - 1u;
}

struct Arguments {
    count: u32, // vertices or indices
    instance_count: u32,
    base_vertex: u32,
    first_instance: u32,
    // The address of the draw's first index, and the number of indices from there on.
    index_address: vec2<u32>,
    index_limit: u32,
}

// The number of vertices that vkCmdDrawIndirectByteCountEXT draws: `counter` is the value that it reads, `offset` its
// counterOffset, `stride` its vertexStride.
fn vertices_of_bytes(counter: u32, offset: u32, stride: u32) -> u32 {
    return (counter - min(counter, offset)) / stride;
}

// The arguments of a draw that exists.
fn arguments_of(input: Input) -> Arguments {
    let is_indexed = (input.flags & INDEX_SIZE) != 0u;
    var count = input.count;
    var instance_count = input.instance_count;
    var first = input.first;
    var base_vertex = input.base_vertex;
    var first_instance = input.first_instance;
    let is_indirect = input.kind == INDIRECT;
    let command = select(kernel.parameters, input.arguments, is_indirect);
    // Only a VkDrawIndexedIndirectCommand has a fifth dword.
    let fifth = add_bytes(command, select(0u, 16u, is_indirect & is_indexed));
    let counter = select(kernel.parameters, input.arguments, input.kind == BYTE_COUNT);
    if is_indirect {
        let a = load4_from_any(command);
        count = a.x;
        instance_count = a.y;
        first = a.z;
        base_vertex = a.w;
        first_instance = a.w;
        if is_indexed {
            first_instance = load1_from_any(fifth);
        }
    }
    if input.kind == BYTE_COUNT {
        count = vertices_of_bytes(load1_from_any(counter), input.first, input.base_vertex);
        first = 0u;
        base_vertex = 0u;
    }
    count = select(count, 0u, is_discarded(input));
    if !is_indexed {
        return Arguments(count, instance_count, first, first_instance, input.index_address, 0u);
    }
    // If the draw begins beyond the last index, its index address is that of the buffer's first index, which
    // is readable.
    let left = input.index_limit - min(first, input.index_limit);
    let skipped = select(0u, first, left != 0u);
    return Arguments(
        count,
        instance_count,
        base_vertex,
        first_instance,
        multiply_add(input.index_address, skipped, input.flags & INDEX_SIZE),
        left,
    );
}
