// The draw commands of a recording, as the setup kernels (setup.wgsl, setup_serial.wgsl) read them.

// The push constants of a kernel: the address of its parameters.
struct Kernel {
    parameters: vec2<u32>,
}

var<immediate> kernel: Kernel;

// Always 0. In a kernel of a single invocation the compiler does not know that. It has to assume that an address to
// which this is added differs between invocations, and then executes no load of an inactive invocation (see
// address_or).
var<private> unknown_zero: u32;

// Sets unknown_zero. In a kernel of a single invocation the others must return after this call: compilers replace
// `local` itself by 0 from there on.
fn set_unknown_zero(local: u32) {
    unknown_zero = select(0u, 4u * local, kernel_width() == 1u);
}

const DIRECT: u32 = 0u;
const INDIRECT: u32 = 1u;
const BYTE_COUNT: u32 = 2u;

// A bit of Draw.flags and DrawCommand.flags, for conditional rendering: the draw is discarded if its predicate is not
// 0. Without this bit, the draw is discarded if its predicate is 0.
const INVERTED: u32 = 32u;

// A recorded vkCmdDraw... command. One of the kind INDIRECT may have several draws.
struct DrawCommand {
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

    // The address of a draw count (countBuffer), or 0 if the command has exactly draw_count draws. Draws whose index is
    // not below the draw count do not exist.
    count_address: vec2<u32>,
    restart_table: vec2<u32>,

    stream_query: vec2<u32>,
    generated_query: vec2<u32>,

    // The address of a predicate, or 0. The predicate is a dword that decides whether the draws are discarded,
    // see INVERTED.
    predicate: vec2<u32>,
    // For INDIRECT: the largest number of draws, and the number of bytes from one VkDraw[Indexed]IndirectCommand to the
    // next. The draws have consecutive draw indices from `draw_index` on.
    draw_count: u32,
    stride: u32,
}

const DRAW_COMMAND_SIZE: u32 = 112u;
// The offsets of members of a DrawCommand, in bytes: `group`, `restart_table`, and both queries from `stream_query` on.
const DRAW_COMMAND_GROUP: u32 = 36u;
const DRAW_COMMAND_RESTART_TABLE: u32 = 72u;
const DRAW_COMMAND_QUERIES: u32 = 80u;

fn load_command(commands: vec2<u32>, number: u32) -> DrawCommand {
    let at = multiply_add(commands, number, DRAW_COMMAND_SIZE);
    let a = load4_aligned(at, 0u);
    let b = load4_aligned(at, 4u);
    let c = load4_aligned(at, 8u);
    let d = load4_aligned(at, 12u);
    let e = load4_aligned(at, 16u);
    let f = load4_aligned(at, 20u);
    let g = load4_aligned(at, 24u);
    return DrawCommand(
        a.x, a.y, a.z, a.w,
        b.x, b.y, b.z, b.w,
        c.x, c.y, c.z, c.w,
        d.xy, d.zw,
        e.xy, e.zw,
        f.xy, f.zw,
        g.xy, g.z, g.w,
    );
}

// Returns a copy of the command `all` that has only draw `index`.
fn draw_of_command(all: DrawCommand, index: u32) -> DrawCommand {
    var command = all;
    command.draw_index += index;
    // These addresses may be unreadable if the command has no such draw, or no table. lavapipe 26.2.6 executes loads in
    // branches that are not taken (see address_or), but only if it knows that the address is the same in all
    // invocations. Therefore unknown_zero is added.
    command.arguments = add_bytes(multiply_add(all.arguments, index, all.stride), unknown_zero);
    command.restart_table = add_bytes(all.restart_table, unknown_zero);
    return command;
}

// The largest number of draws of a draw command. Further draws are ignored.
const MOST_DRAWS: u32 = 0xffffffu;

// The number of draws that the kernel processes for a command. A command without draws, or whose draws are discarded,
// has one empty draw, so that the kernel processes its group and its queries.
fn draws_of_command(command: DrawCommand) -> u32 {
    return max(1u, select(existing_draws(command), 0u, is_discarded(command)));
}

// The number of draws of a command, whether they are discarded or not. `draw_count` is 0 for a command that is not
// indirect.
fn existing_draws(command: DrawCommand) -> u32 {
    let draws = clamp(command.draw_count, 1u, MOST_DRAWS);
    let count_address = address_or(command.count_address, kernel.parameters);
    if is_address(command.count_address) {
        return min(draws, load1_from_any(count_address));
    }
    return draws;
}

fn is_discarded(command: DrawCommand) -> bool {
    let predicate = address_or(command.predicate, kernel.parameters);
    if !is_address(command.predicate) {
        return false;
    }
    return (load1_from_any(predicate) == 0u) != ((command.flags & INVERTED) != 0u);
}

fn is_address(address: vec2<u32>) -> bool {
    return (address.x | address.y) != 0u;
}

// `address`, or `readable` if `address` is 0. A load in a branch must not use an address that may be 0: a driver may
// execute the load although the branch is not taken (lavapipe 26.2.6 does, if the address is the same in all
// invocations). The address is therefore made readable before the branch. A select() by the condition of the branch
// does not achieve this: compilers know the condition inside the branch, and replace the select() there by `address`.
fn address_or(address: vec2<u32>, readable: vec2<u32>) -> vec2<u32> {
    let mask = min(address.x | address.y, 1u) - 1u;
    return address | (readable & vec2<u32>(mask));
}

// `number` - 1, or 0 if `number` is 0: the number of the last one of `number` elements, or of the element before
// `number`. A driver may execute the loads for an element that does not exist, in a branch that is not taken or in one
// iteration too many, and drop their results (lavapipe 26.2.6 does). So even such a load must use the number of an
// element that exists.
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

// The arguments of the draw of a command, which has only one (draw_of_command).
fn arguments_of(command: DrawCommand) -> Arguments {
    let is_indexed = (command.flags & INDEX_SIZE) != 0u;
    var count = command.count;
    var instance_count = command.instance_count;
    var first = command.first;
    var base_vertex = command.base_vertex;
    var first_instance = command.first_instance;
    let is_indirect = command.kind == INDIRECT;
    let indirect = select(kernel.parameters, command.arguments, is_indirect);
    // Only a VkDrawIndexedIndirectCommand has a fifth dword.
    let fifth = add_bytes(indirect, select(0u, 16u, is_indirect & is_indexed));
    let counter = select(kernel.parameters, command.arguments, command.kind == BYTE_COUNT);
    if is_indirect {
        let a = load4_from_any(indirect);
        count = a.x;
        instance_count = a.y;
        first = a.z;
        base_vertex = a.w;
        first_instance = a.w;
        if is_indexed {
            first_instance = load1_from_any(fifth);
        }
    }
    if command.kind == BYTE_COUNT {
        count = vertices_of_bytes(load1_from_any(counter), command.first, command.base_vertex);
        first = 0u;
        base_vertex = 0u;
    }
    count = select(count, 0u, is_discarded(command));
    if !is_indexed {
        return Arguments(count, instance_count, first, first_instance, command.index_address, 0u);
    }
    // If the draw begins beyond the last index, its index address is that of the first bound index, which is readable.
    let left = command.index_limit - min(first, command.index_limit);
    let skipped = select(0u, first, left != 0u);
    return Arguments(
        count,
        instance_count,
        base_vertex,
        first_instance,
        multiply_add(command.index_address, skipped, command.flags & INDEX_SIZE),
        left,
    );
}
