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

@compute @workgroup_size(1)
fn xfb_finish() {
    let finish = load4(kernel.parameters);
    for (var i = 0u; i < finish.z; i++) {
        let at = multiply_add(finish.xy, i, OPERATION_SIZE);
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
}
