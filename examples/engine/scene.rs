//! What the engine shows: a sea anemone, whose arms are one mesh with skeletons of their own.

use std::f32::consts::TAU;

use ash::vk;
use bytemuck::{Pod, Zeroable};
use glam::{Mat4, Quat, Vec2, Vec3};

pub const ARMS: usize = 12;
pub const BONES: usize = 8;
const RINGS: u16 = 25;
const SIDES: u16 = 12;
const LENGTH: f32 = 2.0;

/// A vertex, with the two bones that move it.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub struct Vertex {
    position: Vec3,
    normal: [i8; 4],
    bones: [u8; 2],
    weights: [u8; 2],
}

/// A vertex as it is captured and drawn.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub struct Skinned {
    pub position: Vec3,
    pub normal: Vec3,
}

/// Push constants: where an arm stands, and the cosine and sine of the angle by which it is turned.
pub type Place = [f32; 4];

pub const BINDINGS: [vk::VertexInputBindingDescription; 1] = [vk::VertexInputBindingDescription {
    binding: 0,
    stride: size_of::<Vertex>() as u32,
    input_rate: vk::VertexInputRate::VERTEX,
}];
pub const ATTRIBUTES: [vk::VertexInputAttributeDescription; 4] = [
    attribute(0, vk::Format::R32G32B32_SFLOAT, 0),
    attribute(1, vk::Format::R8G8B8A8_SNORM, 12),
    attribute(2, vk::Format::R8G8_UINT, 16),
    attribute(3, vk::Format::R8G8_UNORM, 18),
];
pub const SKINNED_ATTRIBUTES: [vk::VertexInputAttributeDescription; 2] =
    [attribute(0, vk::Format::R32G32B32_SFLOAT, 0), attribute(1, vk::Format::R32G32B32_SFLOAT, 12)];

const fn attribute(
    location: u32,
    format: vk::Format,
    offset: u32,
) -> vk::VertexInputAttributeDescription {
    vk::VertexInputAttributeDescription { location, binding: 0, format, offset }
}

/// Moves a vertex with its bones: the shader that is captured.
pub const SKINNING: &str = "
    struct Vertex {
        @location(0) position: vec3f,
        @location(1) normal: vec4f,
        @location(2) bones: vec2u,
        @location(3) weights: vec2f,
    }
    struct Skinned {
        @builtin(position) clip: vec4f,
        @location(0) position: vec3f,
        @location(1) normal: vec3f,
    }
    @group(0) @binding(0) var<uniform> skeleton: array<mat4x4f, 8>;
    var<immediate> place: vec4f;

    fn placed(v: vec3f) -> vec3f {
        return vec3f(place.z * v.x + place.w * v.z, v.y, place.z * v.z - place.w * v.x);
    }

    @vertex fn main(v: Vertex) -> Skinned {
        let first = skeleton[v.bones.x];
        let second = skeleton[v.bones.y];
        let position = first * vec4f(v.position, 1.0) * v.weights.x
            + second * vec4f(v.position, 1.0) * v.weights.y;
        let normal = first * vec4f(v.normal.xyz, 0.0) * v.weights.x
            + second * vec4f(v.normal.xyz, 0.0) * v.weights.y;
        let stands = placed(position.xyz) + vec3f(place.x, 0.0, place.y);
        return Skinned(vec4f(stands, 1.0), stands, placed(normal.xyz));
    }
";

/// Draws what was captured.
pub const DRAWING: &str = "
    struct Lit {
        @builtin(position) clip: vec4f,
        @location(0) position: vec3f,
        @location(1) normal: vec3f,
    }
    var<immediate> view: mat4x4f;

    @vertex fn main(@location(0) position: vec3f, @location(1) normal: vec3f) -> Lit {
        return Lit(view * vec4f(position, 1.0), position, normal);
    }
";
pub const SHADING: &str = "
    @fragment fn main(@location(0) position: vec3f, @location(1) normal: vec3f)
            -> @location(0) vec4f {
        let n = normalize(normal);
        let height = clamp(position.y / 2.0, 0.0, 1.0);
        let colour = mix(vec3f(0.25, 0.05, 0.30), vec3f(1.0, 0.45, 0.35), height * height);
        let sun = max(dot(n, normalize(vec3f(0.4, 0.8, 0.5))), 0.0);
        let water = 0.5 + 0.5 * n.y;
        let light = 1.1 * sun * vec3f(1.0, 0.95, 0.85) + 0.5 * water * vec3f(0.45, 0.7, 0.9);
        return vec4f(pow(colour * light, vec3f(1.0 / 2.2)), 1.0);
    }
";

/// The mesh of an arm: a tube along y that gets thinner, and its triangles.
pub fn mesh() -> (Vec<Vertex>, Vec<u16>) {
    let mut vertices = Vec::new();
    for ring in 0..RINGS {
        let along = f32::from(ring) / f32::from(RINGS - 1);
        // Bone b has all weight at b / (BONES - 1).
        let bone = along * (BONES - 1) as f32;
        let first = (bone as usize).min(BONES - 2);
        let weight = ((bone - first as f32) * 255.0).round() as u8;
        let radius = 0.18 * (1.0 - along * along).sqrt().max(0.02) * (1.0 - 0.4 * along);
        for side in 0..SIDES {
            let out = Vec2::from_angle(TAU * f32::from(side) / f32::from(SIDES));
            let signed = |x: f32| (x * 127.0).round() as i8;
            vertices.push(Vertex {
                position: Vec3::new(out.x * radius, along * LENGTH, out.y * radius),
                normal: [signed(out.x), 0, signed(out.y), 0],
                bones: [first as u8, first as u8 + 1],
                weights: [255 - weight, weight],
            });
        }
    }
    let mut indices = Vec::new();
    for ring in 0..RINGS - 1 {
        for side in 0..SIDES {
            let corner = |up: u16, around: u16| (ring + up) * SIDES + (side + around) % SIDES;
            let (a, b, c, d) = (corner(0, 0), corner(0, 1), corner(1, 0), corner(1, 1));
            indices.extend([a, c, b, b, c, d]);
        }
    }
    (vertices, indices)
}

/// Where an arm stands.
pub fn place(arm: usize) -> Place {
    // The golden angle spreads them.
    let (angle, distance) = (2.399_963 * arm as f32, 0.3 * (arm as f32).sqrt());
    let out = Vec2::from_angle(angle);
    [distance * out.x, distance * out.y, out.x, -out.y]
}

/// The bones of an arm in a frame: each bends the part of the arm that is above it.
pub fn skeleton(arm: usize, frame: u64) -> [Mat4; BONES] {
    // The hour of the show would make steps in a single float.
    let time = (frame % 3600) as f32 / 60.0;
    let mut pose = Mat4::IDENTITY;
    let mut joint = 0.0;
    std::array::from_fn(|bone| {
        let phase = 0.9 * bone as f32 - 2.1 * time + 1.7 * arm as f32;
        let outward = 0.012 * (arm as f32).sqrt() * bone as f32;
        let bend = Quat::from_rotation_x(0.17 * phase.sin())
            * Quat::from_rotation_z(0.13 * (0.8 * phase).cos() - outward);
        let height = LENGTH * bone as f32 / (BONES - 1) as f32;
        pose *= Mat4::from_translation(Vec3::Y * (height - joint)) * Mat4::from_quat(bend);
        joint = height;
        pose * Mat4::from_translation(-Vec3::Y * height)
    })
}

/// What the shader makes of a vertex, on the CPU.
pub fn skin(vertex: &Vertex, skeleton: &[Mat4; BONES], place: Place) -> Skinned {
    let [x, z, cos, sin] = place;
    let placed = |v: Vec3| Vec3::new(cos * v.x + sin * v.z, v.y, cos * v.z - sin * v.x);
    let [first, second] = vertex.bones.map(|bone| skeleton[usize::from(bone)]);
    let [a, b] = vertex.weights.map(|weight| f32::from(weight) / 255.0);
    let [nx, ny, nz, _] = vertex.normal.map(|n| f32::from(n) / 127.0);
    let (p, n) = (vertex.position, Vec3::new(nx, ny, nz));
    let position = first.transform_point3(p) * a + second.transform_point3(p) * b;
    let normal = first.transform_vector3(n) * a + second.transform_vector3(n) * b;
    Skinned { position: placed(position) + Vec3::new(x, 0.0, z), normal: placed(normal) }
}

/// Where the engine looks from, what at, and the vertical field of view in radians.
pub const CAMERA: (Vec3, Vec3, f32) = (Vec3::new(0.0, 3.1, 4.4), Vec3::new(0.0, 0.78, 0.0), 0.62);
