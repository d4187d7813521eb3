// A vertex shader that draws what a geometry shader emits, for devices without geometry shaders. The driver draws a list
// of points, lines or triangles. Each vertex of the list belongs to an item (an input primitive of the geometry shader):
// the invocation for it runs the vertex shader for the vertices of the item, then the geometry shader, and keeps the
// outputs that one emitted vertex has.
//
// Items have the same number of vertices in the list, whatever the shader emits for them: as many as it may emit. A
// vertex that the shader did not emit is placed outside of the clip volume, with all others of its primitive.

// The number of the vertex in its item.
var<private> wanted: u32;

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
    if !emits_all_drawn() && wanted >= emitted * output_vertices() {
        drop_vertex();
    }
}

// Keeps the outputs of an emitted vertex, if one of the primitives that the vertex may be a part of has it as the wanted
// vertex. If the shader ends the strip too early for that primitive, the next strip overwrites what was kept.
fn draw_emitted() {
    let before = emitted * output_vertices();
    let records = records_of_emitted(strip_length);
    if wanted >= before && any(records == vec3<u32>(wanted - before)) {
        keep_vertex();
    }
}
