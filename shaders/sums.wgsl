// A segmented scan: prefix sums that begin anew where a run begins. A run consists of consecutive values that are added
// up together. There is one value for each draw, draw command or block of entries. The values are processed in blocks
// of one value per invocation of the workgroup, and a run may go on in the next block.

// The result of sum_runs. Each member consists of two 64-bit integers.
struct Sum {
    // The sum over the run that the previous invocation's value belongs to, up to and including that value. So if a run
    // begins with this invocation's value, this is the sum over the whole previous run.
    before: vec4<u32>,
    // The sum over the last run of the block so far.
    last: vec4<u32>,
}

// The sums of the invocations. Each step of the scan reads one half of this array and writes the other half. Together
// with `has_start` the array takes 10 KiB; every device has 16 KiB of shared memory.
var<workgroup> sums: array<vec4<u32>, 2u * MAX_KERNEL_WIDTH>;
// For each sum in `sums`: 1 if it goes back to the start of a run or of the block, so that no earlier values must be
// added, otherwise 0. The type is not bool, because NVIDIA's driver 580.159.04 loses bools in shared memory.
var<workgroup> has_start: array<u32, 2u * MAX_KERNEL_WIDTH>;

// What an invocation knows after some steps of the scan. `sum` is the sum over its own value and as many values before
// it as the steps reach, but none before the start of its run. `has_start` says whether it goes back to that start.
// `half` is the start of the half of `sums` that has the current sums of all invocations.
struct Scan {
    sum: vec4<u32>,
    has_start: bool,
    half: u32,
}

// For each kind of run (STREAM_QUERY, GENERATED_QUERY, GROUP): the sum over the current run's values in earlier blocks.
// In sum_runs only the first invocation accesses this array. The element for NO_RUN stays 0.
var<workgroup> ends: array<vec4<u32>, 4>;

// Adds up the values of all invocations over runs of kind `run`. `starts` says whether this invocation's value is the
// first one of a run.
//
// The steps are not a loop but written out, because llvmpipe leaves loops after 65,535 iterations per kernel, over all
// loops. A capture of many draws would exceed that, and the sums would be wrong.
fn sum_runs(local: u32, starts: bool, value: vec4<u32>, run: u32) -> Sum {
    let width = kernel_width();
    // Nothing before the block's first value is in `sums`: the earlier blocks are added here.
    var scan = Scan(value, starts || local == 0u, 0u);
    if local == 0u && !starts {
        scan.sum = add_pairs(ends[run], value);
    }
    share_sum(local, scan);
    scan = join_sums(local, scan, 1u);
    scan = join_sums(local, scan, 4u);
    scan = join_sums(local, scan, 16u);
    scan = join_sums(local, scan, 64u);
    let last = sums[scan.half + width - 1u];
    var before = vec4<u32>();
    if local > 0u {
        before = sums[scan.half + local - 1u];
    } else if run != NO_RUN {
        before = ends[run];
        ends[run] = last;
    }
    workgroupBarrier();
    return Sum(before, last);
}

// A step of the scan: extends sums over up to `step` values to sums over up to 4 * `step` values.
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

fn share_sum(local: u32, scan: Scan) {
    sums[scan.half + local] = scan.sum;
    has_start[scan.half + local] = select(0u, 1u, scan.has_start);
    workgroupBarrier();
}

fn join_sum_before(local: u32, scan: Scan, distance: u32) -> Scan {
    if scan.has_start {
        return scan;
    }
    let other = scan.half + local - distance;
    return Scan(add_pairs(sums[other], scan.sum), has_start[other] != 0u, scan.half);
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
