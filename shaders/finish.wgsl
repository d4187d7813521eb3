// What the CPU knew while recording, written where the GPU reads it: counters and query results.

struct Operation {
    address: vec2<u32>,
    kind: u32,
    reserved: u32,
    values: vec4<u32>,
}

struct Finish {
    operations: vec2<u32>,
    count: u32,
    reserved: u32,
}

const STORE: u32 = 0u;
const ADD: u32 = 1u;
const OPERATION_SIZE: u32 = 32u;

// A workgroup for each operation, in any order: no two have one address, unless they store the same. It has one
// invocation, as operations are on different buffers.
@compute @workgroup_size(1)
fn xfb_finish(
    @builtin(workgroup_id) workgroup_id: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
) {
    let finish = load4(kernel.parameters);
    let number = workgroup_id.y * workgroups.x + workgroup_id.x;
    if number >= finish.z {
        return;
    }
    let at = multiply_add(finish.xy, number, OPERATION_SIZE);
    let head = load4(at);
    let values = load4(multiply_add(at, 1u, 16u));
    switch head.z {
        case STORE: { store1(head.xy, 0u, values.x); }
        default: {
            let before = load4(head.xy);
            store4(head.xy, 0u, vec4<u32>(add64(before.xy, values.xy), add64(before.zw, values.zw)));
        }
    }
}
