// Computes the vertex counts of draws that read them from a counter, as vkCmdDrawIndirectByteCountEXT does,
// and writes them as VkDrawIndirectCommands.

struct CountedDraw {
    counter: vec2<u32>,
    // The address of the VkDrawIndirectCommand.
    command: vec2<u32>,
    counter_offset: u32,
    vertex_stride: u32,
    instance_count: u32,
    first_instance: u32,
}

struct DrawArguments {
    // The address of an array of `CountedDraw`.
    draws: vec2<u32>,
    count: u32,
    reserved: u32,
}

const COUNTED_DRAW_SIZE: u32 = 32u;

// Each workgroup has a single invocation, because counters may be in different buffers, and all invocations of a
// workgroup must access the same buffer (stubs.wgsl). The invocation writes every n-th command, where n is the number
// of workgroups: draws may be added after the dispatch was recorded.
@compute @workgroup_size(1)
fn xfb_draw_arguments(
    @builtin(workgroup_id) workgroup_id: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
) {
    let parameters = load4_aligned(kernel.parameters, 0u);
    let count = parameters.z;
    let all = workgroups.x * workgroups.y;
    // A driver may execute the loads of one more iteration after the last one, and those of one iteration if there are
    // no draws (see address_or). These loads then read the last draw or, without draws, the parameters.
    let has_draws = count != 0u;
    let draws = select(kernel.parameters, parameters.xy, has_draws);
    let last = previous(count);
    for (var number = workgroup_id.y * workgroups.x + workgroup_id.x; number < count; number += all) {
        let at = multiply_add(draws, min(number, last), COUNTED_DRAW_SIZE);
        let addresses = load4_aligned(at, 0u);
        let values = load4_aligned(add_bytes(at, select(0u, 16u, has_draws)), 0u);
        let counter = load1(select(kernel.parameters, addresses.xy, has_draws), 0u);
        let vertices = vertices_of_bytes(counter, values.x, values.y);
        store4(addresses.zw, 0u, vec4<u32>(vertices, values.z, 0u, values.w));
    }
}
