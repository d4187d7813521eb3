// Sums over runs of consecutive inputs: a scan over the invocations of the setup kernel, block by
// block.

// Each is two 64-bit integers.
struct Sum {
    // The sum over the run of the previous input, up to and including that input.
    before: vec4<u32>,
    // The sum over the last run of the block, which the next block continues.
    last: vec4<u32>,
}

// Each step reads one half and writes the other. Together with `has_start` it is 10 KiB; every
// device has 16 KiB.
var<workgroup> sums: array<vec4<u32>, 2u * MAX_KERNEL_WIDTH>;
// 1 if a run starts within the summed values. Not bool, because NVIDIA's driver 580.159.04 loses
// bools in shared memory.
var<workgroup> has_start: array<u32, 2u * MAX_KERNEL_WIDTH>;

// An invocation's state of a scan: the sum of its value and the values before it that were added so
// far, at most back to the start of its run; and the half of `sums` that contains the sums of all
// invocations.
struct Scan {
    sum: vec4<u32>,
    has_start: bool,
    half: u32,
}

// For each kind of run the sum over the current one so far, for the first invocation only; 0 for
// NO_RUN.
var<workgroup> ends: array<vec4<u32>, 4>;

// `starts` is whether the invocation's input is the first of a run of kind `run`.
//
// The steps are unrolled, as in part_of. With loops, a batch of many draws would need more
// iterations than llvmpipe allows per kernel, 65,535 over all loops: it would then leave the loops,
// and the sums would be wrong.
fn sum_runs(local: u32, starts: bool, value: vec4<u32>, run: u32) -> Sum {
    var scan = Scan(value, starts, 0u);
    if local == 0u && !starts {
        scan.sum = add_pairs(ends[run], value);
    }
    share_sum(local, scan);
    scan = join_sums(local, scan, 1u);
    scan = join_sums(local, scan, 4u);
    scan = join_sums(local, scan, 16u);
    scan = join_sums(local, scan, 64u);
    let last = sums[scan.half + kernel_width() - 1u];
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

// Adds up four sums over `step` values each.
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
