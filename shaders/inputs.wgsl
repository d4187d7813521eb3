// Draws as they were recorded, for the kernels that find out what is drawn.

// Push constants of a kernel.
struct Kernel {
    parameters: vec2<u32>,
}

var<immediate> kernel: Kernel;

const DIRECT: u32 = 0u;
const INDIRECT: u32 = 1u;
const BYTE_COUNT: u32 = 2u;

// A draw as it was recorded.
struct Input {
    kind: u32,
    topology: u32,
    flags: u32,
    draw_index: u32,

    // Arguments of a direct draw. Otherwise `instance_count` and `first_instance` of BYTE_COUNT, whose
    // counterOffset and vertexStride are `first` and `base_vertex`.
    count: u32,
    instance_count: u32,
    first: u32,
    base_vertex: u32,

    first_instance: u32,
    group: u32,
    // Indices that the bound range holds.
    index_limit: u32,
    reserved: u32,

    index_address: vec2<u32>,
    // VkDraw[Indexed]IndirectCommand, or the counter of BYTE_COUNT.
    arguments: vec2<u32>,

    // Where there is one: the draw exists if `draw_index` is below the count there.
    count_address: vec2<u32>,
    restart_table: vec2<u32>,

    stream_query: vec2<u32>,
    generated_query: vec2<u32>,
}

const INPUT_SIZE: u32 = 96u;

fn load_input(inputs: vec2<u32>, number: u32) -> Input {
    let at = multiply_add(inputs, number, INPUT_SIZE);
    let a = load4(at);
    let b = load4(multiply_add(at, 1u, 16u));
    let c = load4(multiply_add(at, 2u, 16u));
    let d = load4(multiply_add(at, 3u, 16u));
    let e = load4(multiply_add(at, 4u, 16u));
    let f = load4(multiply_add(at, 5u, 16u));
    return Input(
        a.x, a.y, a.z, a.w,
        b.x, b.y, b.z, b.w,
        c.x, c.y, c.z, c.w,
        d.xy, d.zw,
        e.xy, e.zw,
        f.xy, f.zw,
    );
}

fn is_address(address: vec2<u32>) -> bool {
    return (address.x | address.y) != 0u;
}

// Arguments of a draw, wherever they come from.
struct Arguments {
    count: u32, // vertices or indices
    instance_count: u32,
    base_vertex: u32,
    first_instance: u32,
    // Of the first index of the draw, and how many there are from it on.
    index_address: vec2<u32>,
    index_limit: u32,
}

// What vkCmdDrawIndirectByteCountEXT draws.
fn vertices_of_bytes(counter: u32, offset: u32, stride: u32) -> u32 {
    return (counter - min(counter, offset)) / stride;
}

fn arguments_of(input: Input) -> Arguments {
    let is_indexed = (input.flags & INDEX_SIZE) != 0u;
    var count = input.count;
    var instance_count = input.instance_count;
    var first = input.first;
    var base_vertex = input.base_vertex;
    var first_instance = input.first_instance;
    if input.kind == INDIRECT {
        let a = load4_from_any(input.arguments);
        count = a.x;
        instance_count = a.y;
        first = a.z;
        base_vertex = a.w;
        first_instance = a.w;
        if is_indexed {
            first_instance = load1_from_any(multiply_add(input.arguments, 1u, 16u));
        }
    }
    if input.kind == BYTE_COUNT {
        count = vertices_of_bytes(load1_from_any(input.arguments), input.first, input.base_vertex);
        first = 0u;
        base_vertex = 0u;
    }
    if is_address(input.count_address) {
        count = select(0u, count, input.draw_index < load1_from_any(input.count_address));
    }
    if !is_indexed {
        return Arguments(count, instance_count, first, first_instance, vec2<u32>(), 0u);
    }
    let skipped = min(first, input.index_limit);
    return Arguments(
        count,
        instance_count,
        base_vertex,
        first_instance,
        multiply_add(input.index_address, skipped, input.flags & INDEX_SIZE),
        input.index_limit - skipped,
    );
}
