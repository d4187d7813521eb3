// Captures of tessellation shaders, which use geometry.wgsl with slices of patches in place of input
// primitives.
//
// A patch may be divided into many more primitives than one invocation should store. Each patch is therefore cut into
// slices: a slice consists of consecutive primitives of the patch. Slices are the items of a draw, so that entries
// (sequences of consecutive items) are counted and placed as for geometry shaders. An invocation runs the vertex shader
// and the control shader once for all its slices of a patch.
//
// How many primitives a slice has follows from the patch's tessellation levels. So the count pass (geometry.wgsl) runs
// no evaluation shader, unless a geometry shader follows it.

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
            store_record_of(entry_records, (emitted - slice.x) * vertices + vertex);
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
