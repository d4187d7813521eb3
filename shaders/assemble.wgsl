// Input assembly for geometry shaders: finds which vertices of a draw each input primitive consists of, including
// adjacent vertices. src/topology.rs implements the same in Rust.

// A primitive, and its place in the segment that it is assembled from. A segment is the vertices of an instance, or
// with primitive restart the indices between two restarts.
struct Primitive {
    exists: bool,
    // The number of the segment's first vertex (or index, with primitive restart) in the draw.
    start: u32,
    // The number of this primitive in the segment, and the number of primitives of the segment. With primitive restart
    // `count` may leave out later primitives that do not contain the first vertex of this primitive. If the topology is
    // a triangle strip with adjacency, `count` includes the next primitive if there is one, so that number + 1 < count
    // holds for every primitive except the last one.
    number: u32,
    count: u32,
    // The shader's PrimitiveId: the number of this primitive in the instance.
    id: u32,
}

// The primitive that begins at item `lane` of an instance. Without primitive restart, an item is a primitive. With
// primitive restart, an item is an index, and a primitive does not begin at every index. For patches that are divided
// into slices of consecutive primitives (patches.wgsl), each slice is treated as a primitive: `lane`, `number` and
// `count` then count slices.
fn primitive_of_lane(lane: u32) -> Primitive {
    if is_restarted() {
        let bits = slice_bits(draw.flags);
        let patch_ = primitive_of_index(lane >> bits);
        let slice = lane - (lane >> bits << bits);
        return Primitive(
            patch_.exists,
            patch_.start,
            (patch_.number << bits) + slice,
            patch_.count << bits,
            (patch_.id << bits) + slice,
        );
    }
    return Primitive(true, 0u, lane, draw.item_count, lane);
}

// Returns the primitive that begins at an index, for a draw with primitive restart. `index` is the number of the index
// within the draw. `exists` is false if no primitive begins there.
fn primitive_of_index(index: u32) -> Primitive {
    let vertices = vertices_per_primitive(draw.flags);
    let place = place_of_index(index);
    let step = primitive_step(draw_topology(), vertices);
    let number = place.vertex / step;
    let begins = place.exists & (number * step == place.vertex);
    var count = place.record_count / vertices;
    if is_tri_strip_adj() {
        // The last triangle of a segment has other adjacent vertices than the other triangles (see
        // element_of_strip_with_adjacency). To find out whether this triangle is the last one, `count` has to
        // include the next triangle, which ends two indices later.
        count = place_of_index(index + select(0u, 2u, begins & (number < count))).record_count / vertices;
    }
    return Primitive(
        begins & (number < count),
        place.start,
        number,
        count,
        place.first_record / vertices + number,
    );
}

// Returns which vertex (or index, with primitive restart) of the draw is vertex `slot` of a primitive.
fn element_of_slot(primitive: Primitive, slot: u32) -> u32 {
    let i = primitive.number;
    let odd = i & 1u;
    let last = is_last_vertex();
    // The number of vertices of a primitive says which topologies are possible.
    let vertices = input_vertices();
    var element = i * vertices + slot;
    if (vertices == 2u || vertices == 4u) && (is_line_strip() | is_line_strip_adj()) {
        element = i + slot;
    }
    if vertices == 3u && is_tri_strip() {
        // Odd triangles write their vertices in the order 0 2 1, or 1 0 2 if the last vertex is the provoking
        // one.
        let turned = select(slot ^ 1u, (3u - slot) % 3u, last == 0u);
        element = i + select(slot, select(turned, slot, last == 1u && slot == 2u), odd == 1u);
    }
    if vertices == 3u && is_tri_fan() {
        // The hub (the first vertex of the fan) is the last vertex of each triangle, or the first one if the last
        // vertex is the provoking vertex.
        let is_hub = slot == select(2u, 0u, last == 1u);
        element = select(i + slot + 1u - last, 0u, is_hub);
    }
    if vertices == 6u && is_tri_strip_adj() {
        element = element_of_strip_with_adjacency(primitive, slot);
    }
    return primitive.start + element;
}

// Returns the number, in its segment, of vertex `slot` of a primitive of a triangle strip with adjacency. Vertices 0, 2
// and 4 of a primitive are its corners. Vertices 1, 3 and 5 are the adjacent vertices: each is the third corner of the
// triangle at the other side of an edge, which connects the corners before and after it.
fn element_of_strip_with_adjacency(primitive: Primitive, slot: u32) -> u32 {
    let first = 2u * primitive.number;
    let is_odd = (primitive.number & 1u) == 1u;
    // The order of odd triangles in the specification's table is for the last vertex as the provoking one.
    // With the first vertex as the provoking one, an odd triangle begins one corner later.
    let turned = select(slot, (slot + 2u) % 6u, is_odd && is_last_vertex() == 0u);
    let corner = turned / 2u;
    if turned % 2u == 0u {
        return first + select(2u * corner, 2u - 2u * corner, is_odd && corner < 2u);
    }
    if corner == 0u {
        return select(first - 2u, 1u, primitive.number == 0u);
    }
    if (corner == 1u) == is_odd {
        return first + 3u;
    }
    return first + select(6u, 5u, primitive.number + 1u == primitive.count);
}
