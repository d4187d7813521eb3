// Captures of tessellation shaders, which use geometry.wgsl with slices of patches in place of input
// primitives.
//
// A patch may be divided into many more primitives than one invocation should store. Each patch is therefore cut into
// slices: a slice consists of consecutive primitives of the patch. Slices are the items of a draw, so that entries
// (sequences of consecutive items) are counted and placed as for geometry shaders. An invocation runs the vertex shader
// and the control shader once for all its slices of a patch; if invocations evaluate together, once for each slice.
//
// How many primitives a slice has follows from the patch's tessellation levels. So the count pass (geometry.wgsl) runs
// no evaluation shader, unless a geometry shader follows it.
//
// In the emit pass an invocation evaluates and stores the vertices of its slice one after the other, or the invocations
// of a workgroup do it together for all their slices (stage_slice and evaluate_slices).

// The patch for which the control shader ran last: its instance, and its number in the instance. The control shader's
// output variables contain the control points and levels of this patch.
var<private> current_patch: vec2<u32> = vec2<u32>(NONE, NONE);

fn patch_control_points() -> u32 {
    return vertices_per_primitive(draw.flags);
}

// Prepares the patch that an item belongs to: runs the vertex and the control shader, and divides the patch.
// Returns the numbers of the first primitive of the item's slice and of the first primitive after the slice.
fn begin_slice(instance: u32, item: Primitive) -> vec2<u32> {
    let bits = slice_bits(draw.flags);
    let id = item.id >> bits;
    let slice = item.id - (id << bits);
    if current_patch.x != instance || current_patch.y != id {
        current_patch = vec2<u32>(instance, id);
        is_repeating = slice != 0u;
        shade_patch(instance, Primitive(true, item.start, item.number >> bits, item.count >> bits, id));
        is_repeating = false;
    }
    return vec2<u32>(divided.count * slice >> bits, divided.count * (slice + 1u) >> bits);
}

fn shade_patch(instance: u32, patch_: Primitive) {
    shade_vertices(instance, patch_);
    begin_patch();
    for (var phase = 0u; phase < control_phases(); phase++) {
        for (var invocation = 0u; invocation < control_points(); invocation++) {
            set_control_inputs(patch_.id, invocation, patch_control_points(), phase);
            shade_control();
        }
    }
    divide_patch(outer_levels(), inner_levels());
    for (var slot = 0u; slot < passed_points(); slot++) {
        pass_control_point(slot);
    }
    pass_patch();
}

// Stores the primitives of a slice, or only counts them in the count pass.
fn run_slice(instance: u32, item: Primitive) {
    let slice = begin_slice(instance, item);
    if !uniformly(is_count_pass) {
        let vertices = output_vertices();
        for (var vertex = slice.x * vertices; vertex < slice.y * vertices; vertex++) {
            let primitive = vertex / vertices;
            let coordinates = tessellated_coordinates(primitive, vertex - primitive * vertices);
            set_evaluation_inputs(current_patch.y, coordinates);
            shade_evaluation();
            let record = (emitted - slice.x) * vertices + vertex;
            if record < entry_records.count {
                store_record(entry_records.first + record);
            }
        }
    }
    emitted += slice.y - slice.x;
}

// Runs the geometry shader behind the evaluation shader for each primitive of a slice.
fn run_slice_geometry(instance: u32, item: Primitive) {
    let slice = begin_slice(instance, item);
    for (var primitive = slice.x; primitive < slice.y; primitive++) {
        for (var slot = 0u; slot < tessellated_vertices(); slot++) {
            set_evaluation_inputs(current_patch.y, tessellated_coordinates(primitive, slot));
            shade_evaluation();
            pass_evaluated(slot);
        }
        run_invocations(current_patch.y);
    }
}

// -- Captures in which the invocations of a workgroup evaluate the vertices of all their slices together, so that
// neighbouring invocations store neighbouring records. Each invocation first shares the patch of its slice: what the
// evaluation shader takes of it, how it is divided, and which records the slice has. If there is no shared memory for the
// patches of all invocations at once, the invocations take turns.

// The dwords of a shared slice in the list (list_output).
const SLICE_RECORDS: u32 = 0u; // the number of its records
const SLICE_FIRST_RECORD: u32 = 1u;
const SLICE_FIRST_VERTEX: u32 = 2u; // the number of its first vertex in the patch
const SLICE_PATCH: u32 = 3u; // the patch's PrimitiveId
const SLICE_RINGS: u32 = 4u; // Patch.inset, and Patch.outer_triangles above it
const SLICE_EDGES: u32 = 5u; // a dword for each of the six edges
const SLICE_SIZE: u32 = 11u;

// Shares the slice of an item of stager `number`, or an empty one if there is no item. `place` is the item's instance
// and its number in that instance.
fn stage_slice(number: u32, place: vec2<u32>, exists: bool) {
    list_slice(number, SLICE_RECORDS, 0u);
    if exists {
        share_slice(number, place);
    }
}

fn list_slice(sharer: u32, dword: u32, value: u32) {
    list_output(SLICE_SIZE * sharer + dword, value);
}

fn listed_slice(sharer: u32, dword: u32) -> u32 {
    return listed_output(SLICE_SIZE * sharer + dword);
}

// Shares the slice of an item: `place` is its instance and its number in that instance.
fn share_slice(sharer: u32, place: vec2<u32>) {
    let item = primitive_of_lane(place.y);
    if !item.exists {
        return;
    }
    // Evaluating other slices has overwritten what the invocation had of the patch.
    current_patch = vec2<u32>(NONE, NONE);
    let slice = begin_slice(place.x, item);
    let vertices = output_vertices();
    let before = min(emitted * vertices, entry_records.count);
    list_slice(sharer, SLICE_RECORDS, min((slice.y - slice.x) * vertices, entry_records.count - before));
    list_slice(sharer, SLICE_FIRST_RECORD, entry_records.first + before);
    list_slice(sharer, SLICE_FIRST_VERTEX, slice.x * vertices);
    list_slice(sharer, SLICE_PATCH, current_patch.y);
    list_slice(sharer, SLICE_RINGS, divided.inset + (divided.outer_triangles << 1u));
    for (var edge = 0u; edge < 4u; edge++) {
        list_slice(sharer, SLICE_EDGES + edge, divided.outer[edge]);
    }
    for (var edge = 0u; edge < 2u; edge++) {
        list_slice(sharer, SLICE_EDGES + 4u + edge, divided.inner[edge]);
    }
    for (var slot = 0u; slot < passed_points(); slot++) {
        share_control_point(sharer, slot);
    }
    share_patch(sharer);
    emitted += slice.y - slice.x;
}

fn take_slice(sharer: u32) {
    let rings = listed_slice(sharer, SLICE_RINGS);
    divided.inset = rings & 1u;
    divided.outer_triangles = rings >> 1u;
    for (var edge = 0u; edge < 4u; edge++) {
        divided.outer[edge] = listed_slice(sharer, SLICE_EDGES + edge);
    }
    for (var edge = 0u; edge < 2u; edge++) {
        divided.inner[edge] = listed_slice(sharer, SLICE_EDGES + 4u + edge);
    }
    for (var slot = 0u; slot < passed_points(); slot++) {
        take_control_point(sharer, slot);
    }
    take_patch(sharer);
}

// Evaluates and stores the vertices of the slices of the first `count` stagers. Each invocation of the workgroup does so
// for every so many of them.
fn evaluate_slices(count: u32, local: u32) {
    // The slice of the vertex, and the number of vertices of the slices before it.
    var sharer = 0u;
    var before = 0u;
    for (var vertex = local; ; vertex += workgroup_size()) {
        while sharer < count && vertex - before >= listed_slice(sharer, SLICE_RECORDS) {
            before += listed_slice(sharer, SLICE_RECORDS);
            sharer++;
        }
        if sharer >= count {
            break;
        }
        take_slice(sharer);
        let in_patch = listed_slice(sharer, SLICE_FIRST_VERTEX) + vertex - before;
        let primitive = in_patch / output_vertices();
        let coordinates = tessellated_coordinates(primitive, in_patch - primitive * output_vertices());
        set_evaluation_inputs(listed_slice(sharer, SLICE_PATCH), coordinates);
        shade_evaluation();
        store_record(listed_slice(sharer, SLICE_FIRST_RECORD) + vertex - before);
    }
}
