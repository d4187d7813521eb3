//! What is done to the mesh: in the vertex shader, and on the CPU to hold it against.

use ash::vk;
use bytemuck::{Pod, Zeroable};
use glam::Vec3;

use super::mesh::Vertex;

/// Push constants of the shader.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub struct Deformation {
    /// Radians around the vertical axis, for each unit of height.
    pub twist: f32,
    /// How far the axis leans to the right at the height 1, and 4 times as far at 2.
    pub lean: f32,
    /// How much of its width the mesh gains where it swells, and loses where it shrinks.
    pub swell: f32,
    /// Radians of the swelling's wave, for each unit of height.
    pub waves: f32,
}

/// A twist, and a swing to the right.
pub const DEFORMATION: Deformation = Deformation { twist: 1.1, lean: 0.1, swell: 0.12, waves: 4.6 };

pub const BINDINGS: [vk::VertexInputBindingDescription; 1] = [vk::VertexInputBindingDescription {
    binding: 0,
    stride: size_of::<Vertex>() as u32,
    input_rate: vk::VertexInputRate::VERTEX,
}];
pub const ATTRIBUTES: [vk::VertexInputAttributeDescription; 2] = [
    vk::VertexInputAttributeDescription {
        location: 0,
        binding: 0,
        format: vk::Format::R32G32B32_SFLOAT,
        offset: 0,
    },
    vk::VertexInputAttributeDescription {
        location: 1,
        binding: 0,
        format: vk::Format::R32G32B32_SFLOAT,
        offset: 12,
    },
];

/// The shader that is captured. A normal goes with the cofactors of the derivatives of the position.
pub const SHADER: &str = "
    struct Deformation { twist: f32, lean: f32, swell: f32, waves: f32 }
    var<immediate> d: Deformation;

    struct Deformed {
        @builtin(position) clip: vec4f,
        @location(0) position: vec3f,
        @location(1) normal: vec3f,
    }

    @vertex fn main(@location(0) p: vec3f, @location(1) n: vec3f) -> Deformed {
        let turn = vec2f(cos(d.twist * p.y), sin(d.twist * p.y));
        let width = 1.0 + d.swell * sin(d.waves * p.y);
        let turned = vec2f(turn.x * p.x + turn.y * p.z, turn.x * p.z - turn.y * p.x);
        let position = vec3f(width * turned.x + d.lean * p.y * p.y, p.y, width * turned.y);

        let more = d.swell * d.waves * cos(d.waves * p.y);
        let by_x = vec3f(width * turn.x, 0.0, -width * turn.y);
        let by_z = vec3f(width * turn.y, 0.0, width * turn.x);
        let by_y = vec3f(
            more * turned.x + width * d.twist * turned.y + 2.0 * d.lean * p.y,
            1.0,
            more * turned.y - width * d.twist * turned.x,
        );
        let normal = n.x * cross(by_y, by_z) + n.y * cross(by_z, by_x) + n.z * cross(by_x, by_y);
        return Deformed(vec4f(position, 1.0), position, normalize(normal));
    }
";

impl Deformation {
    /// Where a point goes.
    pub fn position(&self, p: Vec3) -> Vec3 {
        let (sin, cos) = (self.twist * p.y).sin_cos();
        let width = 1.0 + self.swell * (self.waves * p.y).sin();
        let (x, z) = (cos * p.x + sin * p.z, cos * p.z - sin * p.x);
        Vec3::new(width * x + self.lean * p.y * p.y, p.y, width * z)
    }

    /// What a vertex becomes. The normal comes from where its surroundings go, not from derivatives.
    pub fn vertex(&self, vertex: &Vertex) -> Vertex {
        const STEP: f32 = 1e-2;
        let Vertex { position, normal } = *vertex;
        let along = normal.any_orthonormal_vector();
        let across = normal.cross(along);
        let [along, across] = [along, across].map(|direction| {
            let step = STEP * direction;
            self.position(position + step) - self.position(position - step)
        });
        Vertex {
            position: self.position(position),
            normal: along.cross(across).normalize_or_zero(),
        }
    }
}
