// Sums over runs of consecutive values, one value for each draw, draw command or entry (of a geometry
// shader's draw). They are computed by a scan over blocks of values, one value per invocation of the workgroup.

// The result of sum_runs. Each member consists of two 64-bit integers.
struct Sum {
    // The sum over the run (values that are added up together) that the previous invocation's value belongs to, up to
    // and including that value.
    before: vec4<u32>,
    // The sum over the last run of the block (the values of all invocations), which may continue in the next block.
    last: vec4<u32>,
}

// The sums of the invocations. Each step of the scan reads one half of this array and writes the other half. Together
// with `has_start` the array takes 10 KiB; every device has 16 KiB of shared memory.
var<workgroup> sums: array<vec4<u32>, 2u * MAX_KERNEL_WIDTH>;
// For each sum in `sums`: whether a run, or the block, starts within the values that it adds up, as 0 or 1. The type is
// not bool, because NVIDIA's driver 580.159.04 loses bools in shared memory.
var<workgroup> has_start: array<u32, 2u * MAX_KERNEL_WIDTH>;

// The state of a scan in one invocation. `sum` adds up the invocation's own value and the values before it that were
// processed so far, but none before the start of the run that the invocation's value belongs to. `half` is the half of
// `sums` that has the current sums of all invocations.
struct Scan {
    sum: vec4<u32>,
    has_start: bool,
    half: u32,
}

// For each kind of run (STREAM_QUERY, GENERATED_QUERY, GROUP): the sum over the values of the current run that were in
// earlier blocks. Only the first invocation accesses this array in sum_runs; the element for NO_RUN stays 0.
var<workgroup> ends: array<vec4<u32>, 4>;

// Adds up `value` over runs. `starts` says whether the invocation's value is the first one of a run
// of kind `run`.
//
// The steps are written out, and not a loop: llvmpipe leaves loops after 65,535 iterations in all per kernel, which a
// batch of many draws would exceed, and the sums would be wrong.
fn sum_runs(local: u32, starts: bool, value: vec4<u32>, run: u32) -> Sum {
    let width = kernel_width();
    if width == 1u {
        // xfb_place_entries of a single invocation, which has no runs.
        return Sum(vec4<u32>(), value);
    }
    // The block's first value has nothing before it that the scan could add.
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

// Continues a scan: extends its sums over up to `step` values each to sums over up to 4 * `step` values.
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
