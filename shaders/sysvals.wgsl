// System values, in push constants. src/sysval.rs is the same block; a test compares the two.

struct AttributeDescriptor {
    address: vec2<u32>,
    limit: u32,
    stride: u32,
}

struct Sysvals {
    xfb_topology: u32,
    xfb_output_count: u32,
    xfb_output_limit: u32,
    item_count: u32,
    instance_count: u32,
    provoking_vertex: u32,
    first_vertex: u32,
    first_instance: u32,
    base_vertex: u32,
    draw_index: u32,
    attribute_table: vec2<u32>,
    xfb_address: array<vec2<u32>, 4>,
    attributes: array<AttributeDescriptor, 3>,
}

var<immediate> sysvals: Sysvals;

fn xfb_address(buffer: u32) -> vec2<u32> {
    return sysvals.xfb_address[buffer];
}

fn xfb_is_bound(buffer: u32) -> bool {
    let address = sysvals.xfb_address[buffer];
    return (address.x | address.y) != 0u;
}

fn base_vertex() -> u32 {
    return sysvals.base_vertex;
}

fn base_instance() -> u32 {
    return sysvals.first_instance;
}

fn draw_index() -> u32 {
    return sysvals.draw_index;
}
