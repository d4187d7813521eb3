// A vertex shader that draws what a geometry shader emits, for devices without geometry shaders. The driver draws a list
// of points, lines or triangles. Each vertex of the list belongs to an item (an input primitive of the geometry shader):
// the invocation for it runs the vertex shader for the vertices of the item, then the geometry shader, and keeps the
// outputs that one emitted vertex has.
//
// Without indices, items have the same number of vertices in the list, whatever the shader emits for them: as many as it
// may emit. Neighbouring primitives of a strip share emitted vertices, each of which then is several vertices of the list.
// With indices, the vertices are the emitted ones of all strips that have a primitive, and the index list says which of
// them each primitive has. So the shaders run once for each emitted vertex.
//
// A vertex that the shader did not emit is placed outside of the clip volume, with all others of its primitive.

// The number of the vertex in its item.
var<private> wanted: u32;
// The number of vertices in the strips of the item before the current one, of those that have a primitive.
var<private> vertices_before: u32;

// `parameters` is the address of the `Sysvals` of the draw, in memory. `vertex` is the number of the vertex in the list of
// an instance.
fn xfb_drawn(parameters: vec2<u32>, vertex: u32, instance: u32) {
    draw = draw_at(parameters);
    listed = bound_of_words(
        load4_aligned(parameters, 16u),
        load4_aligned(parameters, 20u),
        load4_aligned(parameters, 24u),
        load4_aligned(parameters, 28u),
    );
    let item = vertex / drawn_vertices();
    wanted = vertex - item * drawn_vertices();
    run_primitive(instance, primitive_of_lane(item));
    if !emits_all_drawn() && wanted >= drawn_before() {
        drop_vertex();
    }
}

// The number of vertices that the strips before the current one have in the list.
fn drawn_before() -> u32 {
    return select(emitted * output_vertices(), vertices_before, is_drawn_indexed());
}

// Keeps the outputs of an emitted vertex if it is the wanted one. If the shader ends the strip too early for a primitive
// that the vertex may be a part of, the next strip overwrites what was kept.
fn draw_emitted() {
    let before = drawn_before();
    var is_wanted = wanted == before + strip_length;
    if !is_drawn_indexed() {
        let records = records_of_emitted(strip_length);
        is_wanted = wanted >= before && any(records == vec3<u32>(wanted - before));
    }
    if is_wanted {
        keep_vertex();
    }
}

// Called at the end of a strip. The vertices of a strip without a primitive are not in the list.
fn end_drawn_strip() {
    vertices_before += select(0u, strip_length, strip_length >= output_vertices());
}
