// Writes the vertex count of captures into indirect commands: vkCmdDrawIndirectByteCountEXT for
// vkCmdDrawIndirect.

// A draw whose vertex count is computed from a counter.
struct CountedDraw {
    counter: vec2<u32>,
    counter_offset: u32,
    vertex_stride: u32,
    instance_count: u32,
    first_instance: u32,
    reserved: vec2<u32>,
}

struct DrawArguments {
    // The address of an array of `CountedDraw`.
    draws: vec2<u32>,
    // The address of the first VkDrawIndirectCommand, and the bytes from one command to the next.
    commands: vec2<u32>,
    stride: u32,
    count: u32,
    reserved: vec2<u32>,
}

const COUNTED_DRAW_SIZE: u32 = 32u;

// One workgroup with a single invocation for each draw, because counters may be in different
// buffers.
@compute @workgroup_size(1)
fn xfb_draw_arguments(
    @builtin(workgroup_id) workgroup_id: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
) {
    let head = load4(kernel.parameters);
    let tail = load2(multiply_add(kernel.parameters, 1u, 16u));
    let number = workgroup_id.y * workgroups.x + workgroup_id.x;
    if number >= tail.y {
        return;
    }
    let at = multiply_add(head.xy, number, COUNTED_DRAW_SIZE);
    let a = load4(at);
    let b = load2(multiply_add(at, 1u, 16u));
    let vertices = vertices_of_bytes(load1(a.xy), a.z, a.w);
    store4(multiply_add(head.zw, number, tail.x), 0u, vec4<u32>(vertices, b.x, 0u, b.y));
}
