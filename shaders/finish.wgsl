// Writes counters and query results that the CPU computed during recording, and ends queries. Queries end in a
// separate dispatch, after all captures and operations that add to them.

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
const END: u32 = 2u;
const OPERATION_SIZE: u32 = 32u;

// Each workgroup has a single invocation, which executes one operation, because operations may access different
// buffers, and all invocations of a workgroup must access the same buffer (stubs.wgsl). The operations are executed in
// any order: if two of them have the same address, they store the same value.
@compute @workgroup_size(1)
fn xfb_finish(
    @builtin(workgroup_id) workgroup_id: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
) {
    let finish = load4_aligned(kernel.parameters, 0u);
    let number = workgroup_id.y * workgroups.x + workgroup_id.x;
    if number >= finish.z {
        return;
    }
    // A driver may execute the loads although the invocation returned (see address_or). The loads then read
    // the last operation.
    let at = multiply_add(finish.xy, min(number, finish.z - 1u), OPERATION_SIZE);
    let head = load4_aligned(at, 0u);
    let values = load4_aligned(at, 4u);
    // Only an ADD reads 16 bytes at its destination. For all other operations the load reads the parameters,
    // which are readable.
    let sum = select(kernel.parameters, head.xy, head.z == ADD);
    switch head.z {
        case STORE: { store1(head.xy, 0u, values.x); }
        case END: { end_query(head.xy, values.xy); }
        default: {
            let before = load4_aligned_from_any(sum);
            store4(head.xy, 0u, vec4<u32>(add64(before.xy, values.xy), add64(before.zw, values.zw)));
        }
    }
}

// -- Queries of this crate, see src/runtime/recording/queries.rs

// A query consists of its values, which are two 64-bit integers, and its result.
const QUERY_SIZE: u32 = 48u;
const QUERY_RESULT: u32 = 16u;

// Adds `counted`, two 64-bit integers, to the values of the query at address `query`, unless that is 0. `written` is
// the address of other memory that the kernel writes.
fn add_to_query(query: vec2<u32>, counted: vec4<u32>, written: vec2<u32>) {
    let at = address_or(query, written);
    if is_address(query) {
        store4_aligned(query, 0u, add_pairs(load4_written(at), counted));
    }
}

// Does the same if the queries of a workgroup's invocations may be in different buffers.
fn add_to_any_query(query: vec2<u32>, counted: vec4<u32>) {
    let at = address_or(query, kernel.parameters);
    if is_address(query) {
        store4_aligned_to_any(query, 0u, add_pairs(load4_aligned_from_any(at), counted));
    }
}

// Makes a query available: copies its values to its result, and stores a number beside each dword of the result. A
// reader recognizes a complete result by equal numbers. `ends` is the address of the number of the previous end. Each
// end has the next number, except 0.
fn end_query(query: vec2<u32>, ends: vec2<u32>) {
    let number = max(1u, load1_written(ends) + 1u);
    let values = load4_written(query);
    store1(ends, 0u, number);
    // Some devices store the two dwords of store2_aligned one after the other. A reader must not see the new
    // number beside an old value, so the result is first stored with the number 0.
    store_result_of(query, values, 0u);
    memory_barrier();
    store_result_of(query, values, number);
}

fn store_result_of(query: vec2<u32>, values: vec4<u32>, number: u32) {
    let result = add_bytes(query, QUERY_RESULT);
    store2_aligned(result, 0u, vec2<u32>(values.x, number));
    store2_aligned(result, 2u, vec2<u32>(values.y, number));
    store2_aligned(result, 4u, vec2<u32>(values.z, number));
    store2_aligned(result, 6u, vec2<u32>(values.w, number));
}
