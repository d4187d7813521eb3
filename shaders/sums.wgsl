// Sums over runs of consecutive inputs, by a scan over the invocations of the setup kernel, block by block.

// Two 64-bit integers each.
struct Sum {
    // Over the run of the input before this one, up to that.
    before: vec4<u32>,
    // Over the last run of the block: what the next block carries on.
    last: vec4<u32>,
}

// Each step reads one half and writes the other. With `has_start` it is 10 KiB: every device has 16.
var<workgroup> sums: array<vec4<u32>, 2u * MAX_KERNEL_WIDTH>;
// 1 where a run starts within what the sum is of: no bools, which NVIDIA's driver 580.159.04 loses in shared
// memory.
var<workgroup> has_start: array<u32, 2u * MAX_KERNEL_WIDTH>;

// What of a scan an invocation has: the sum of its value and of those before it that were joined, back to the start of
// its run at most, and in which half of `sums` all of them are.
struct Scan {
    sum: vec4<u32>,
    has_start: bool,
    half: u32,
}

// `starts`: whether the invocation's input is the first of a run. `carried`: over the run so far.
//
// The steps stand one behind the other, as those of part_of do. In loops a batch of many draws would take more rounds
// than llvmpipe lets a kernel have, 65,535 of all loops together: then it leaves them, and sums are wrong.
fn sum_runs(local: u32, starts: bool, value: vec4<u32>, carried: vec4<u32>) -> Sum {
    var scan = Scan(value, starts, 0u);
    if local == 0u && !starts {
        scan.sum = add_pairs(carried, value);
    }
    share_sum(local, scan);
    scan = join_sums(local, scan, 1u);
    scan = join_sums(local, scan, 4u);
    scan = join_sums(local, scan, 16u);
    scan = join_sums(local, scan, 64u);
    var before = carried;
    if local > 0u {
        before = sums[scan.half + local - 1u];
    }
    let last = sums[scan.half + kernel_width() - 1u];
    workgroupBarrier();
    return Sum(before, last);
}

// Joins four sums over `step` values each.
fn join_sums(local: u32, narrow: Scan, step: u32) -> Scan {
    let width = kernel_width();
    if step >= width {
        return narrow;
    }
    var scan = join_sum_before(local, narrow, step);
    scan = join_sum_before(local, scan, 2u * step);
    scan = join_sum_before(local, scan, 3u * step);
    scan.half = width - narrow.half;
    share_sum(local, scan);
    return scan;
}

fn join_sum_before(local: u32, scan: Scan, distance: u32) -> Scan {
    if scan.has_start || local < distance {
        return scan;
    }
    let other = scan.half + local - distance;
    return Scan(add_pairs(sums[other], scan.sum), has_start[other] != 0u, scan.half);
}

fn share_sum(local: u32, scan: Scan) {
    sums[scan.half + local] = scan.sum;
    has_start[scan.half + local] = select(0u, 1u, scan.has_start);
    workgroupBarrier();
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
