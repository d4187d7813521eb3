// Sums over runs of consecutive inputs, by a scan over the invocations of the setup kernel, block by block.

// Two 64-bit integers each.
struct Sum {
    // Over the run of the input before this one, up to that.
    before: vec4<u32>,
    // Over the last run of the block: what the next block carries on.
    last: vec4<u32>,
}

// Each step reads one half and writes the other. With `runs` it is 14 KiB: every device has 16.
var<workgroup> sums: array<vec4<u32>, 2u * MAX_KERNEL_WIDTH>;
// 1 where a run starts within what the sum is of: no bools, which NVIDIA's driver 580.159.04 loses in shared
// memory.
var<workgroup> has_start: array<u32, 2u * MAX_KERNEL_WIDTH>;

// `starts`: whether the invocation's input is the first of a run. `carried`: over the run so far.
fn sum_runs(local: u32, starts: bool, value: vec4<u32>, carried: vec4<u32>) -> Sum {
    var sum = value;
    var started = starts;
    if local == 0u && !starts {
        sum = add_pairs(carried, value);
    }
    sums[local] = sum;
    has_start[local] = select(0u, 1u, started);
    workgroupBarrier();
    let width = kernel_width();
    var half = 0u;
    for (var step = 1u; step < width; step *= 2u) {
        if local >= step && !started {
            sum = add_pairs(sums[half + local - step], sum);
            started = has_start[half + local - step] != 0u;
        }
        half = width - half;
        sums[half + local] = sum;
        has_start[half + local] = select(0u, 1u, started);
        workgroupBarrier();
    }
    var before = carried;
    if local > 0u {
        before = sums[half + local - 1u];
    }
    let last = sums[half + width - 1u];
    workgroupBarrier();
    return Sum(before, last);
}

fn add64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = a.x + b.x;
    return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}

fn add_pairs(a: vec4<u32>, b: vec4<u32>) -> vec4<u32> {
    return vec4<u32>(add64(a.xy, b.xy), add64(a.zw, b.zw));
}

fn saturated(value: vec2<u32>) -> u32 {
    return select(value.x, 0xffffffffu, value.y != 0u);
}
