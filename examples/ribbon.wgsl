// A ribbon that rises and bends, made of vertex numbers alone:
// vkxfb capture examples/ribbon.wgsl --vertices 12 --topology triangle-strip --varyings @Position,tint

struct Ribbon {
    @builtin(position) position: vec4f,
    @location(0) tint: vec3f,
}

@vertex fn main(@builtin(vertex_index) vertex: u32) -> Ribbon {
    let along = f32(vertex / 2u) / 5.0;
    let side = f32(vertex % 2u) - 0.5;
    let place = vec2f(2.0 * along - 1.0, 1.6 * along * (1.0 - along) - 0.2);
    let away = vec2f(along - 0.5, 0.5) * side;
    return Ribbon(vec4f(place + away, 0.0, 1.0 + 0.5 * along), vec3f(along, 0.5 + side, 1.0 - along));
}
