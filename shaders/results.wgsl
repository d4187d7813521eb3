// Copies query results, as vkCmdCopyQueryPoolResults does.

struct Results {
    // The address of the first query.
    queries: vec2<u32>,
    // The address to write the result of the first query to, and the bytes from one result to the
    // next.
    copies: vec2<u32>,
    stride: u32,
    count: u32,
    // The number of integers in the result of a query: 1 or 2.
    value_count: u32,
    flags: u32,
}

// The bits of Results.flags.
const RESULT_64: u32 = 1u;
const RESULT_WITH_AVAILABILITY: u32 = 2u;
const RESULT_PARTIAL: u32 = 4u; // copy also the values of queries that are not available

const RESULTS_WIDTH: u32 = 64u;

// Each invocation copies the result of one query.
@compute @workgroup_size(RESULTS_WIDTH)
fn xfb_results(
    @builtin(workgroup_id) workgroup_id: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let results = load_results();
    let number = (workgroup_id.y * workgroups.x + workgroup_id.x) * RESULTS_WIDTH + local;
    if number >= results.count {
        return;
    }
    let query = multiply_add(results.queries, number, QUERY_SIZE);
    let first = load4(add_bytes(query, QUERY_RESULT));
    let second = load4(add_bytes(query, QUERY_RESULT + 16u));
    let is_available = first.y != 0u;
    let result = vec4<u32>(first.x, first.z, second.x, second.z);
    let values = select(load4(query), result, is_available);
    let copy = multiply_add(results.copies, number, results.stride);
    if is_available || (results.flags & RESULT_PARTIAL) != 0u {
        store_result(copy, results.flags, 0u, values.xy);
        if results.value_count == 2u {
            store_result(copy, results.flags, 1u, values.zw);
        }
    }
    if (results.flags & RESULT_WITH_AVAILABILITY) != 0u {
        store_result(copy, results.flags, results.value_count, vec2<u32>(select(0u, 1u, is_available), 0u));
    }
}

fn store_result(copy: vec2<u32>, flags: u32, place: u32, value: vec2<u32>) {
    if (flags & RESULT_64) != 0u {
        store2(copy, 2u * place, value);
    } else {
        store1(copy, place, value.x);
    }
}

fn load_results() -> Results {
    let at = kernel.parameters;
    let a = load4_aligned(at, 0u);
    let b = load4_aligned(at, 4u);
    return Results(a.xy, a.zw, b.x, b.y, b.z, b.w);
}
