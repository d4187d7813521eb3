// Input assembly for geometry shaders: from a primitive to its vertices, those of adjacency too.
// src/topology.rs implements the same in Rust.

// A primitive among those that are assembled together: those of an instance, or with primitive restart
// those between two restarts.
struct Primitive {
    exists: bool,
    // The first element that is assembled with it.
    start: u32,
    // Its number among them, and how many there are; with primitive restart at least one more than the
    // number, if it is not the last one.
    number: u32,
    count: u32,
    // PrimitiveId: its number in the instance.
    id: u32,
}

// The primitive that an item of an instance begins. With primitive restart items are indices, and some
// begin none.
fn primitive_of_lane(lane: u32) -> Primitive {
    if is_restarted() {
        return primitive_of_index(lane);
    }
    return Primitive(true, 0u, lane, draw.item_count, lane);
}

// The primitive that begins with an index.
fn primitive_of_index(index: u32) -> Primitive {
    let vertices = vertices_per_primitive(draw.flags);
    let place = place_of_index(index);
    let step = primitive_step(draw_topology(), vertices);
    let number = place.vertex / step;
    let begins = place.exists & (number * step == place.vertex);
    var count = place.record_count / vertices;
    if is_tri_strip_adj() {
        // Whether it is the last one, only a later vertex sees.
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

// The element of the draw that is vertex `slot` of a primitive.
fn element_of_slot(primitive: Primitive, slot: u32) -> u32 {
    let i = primitive.number;
    let odd = i & 1u;
    let last = is_last_vertex();
    var element = i * input_vertices() + slot;
    if is_line_strip() | is_line_strip_adj() {
        element = i + slot;
    }
    if is_tri_strip() {
        // Odd ones are 0 2 1, or 1 0 2 if the last vertex is the provoking one.
        let turned = select(slot ^ 1u, (3u - slot) % 3u, last == 0u);
        element = i + select(slot, select(turned, slot, last == 1u && slot == 2u), odd == 1u);
    }
    if is_tri_fan() {
        // The hub comes last, or first if the last vertex is the provoking one.
        let is_hub = slot == select(2u, 0u, last == 1u);
        element = select(i + slot + 1u - last, 0u, is_hub);
    }
    if is_tri_strip_adj() {
        element = element_of_strip_with_adjacency(primitive, slot);
    }
    return primitive.start + element;
}

// The same for triangle strips with adjacency. Slots 0, 2 and 4 are corners; each other slot is the
// vertex beyond the edge between the two beside it.
fn element_of_strip_with_adjacency(primitive: Primitive, slot: u32) -> u32 {
    let first = 2u * primitive.number;
    let is_odd = (primitive.number & 1u) == 1u;
    // The specification's table says where an odd triangle begins if the last vertex is the provoking one.
    // If the first one is, it begins a corner later.
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
