//! Sparks: how they are born and fly, in shaders and on the CPU.

use ash::vk;
use bytemuck::{Pod, Zeroable};
use glam::Vec2;

/// Sparks that a burst adds.
pub const BURST: u32 = 320;
/// Sparks that there is room for. Those that a burst has no room for are lost, as captures do it.
pub const CAPACITY: u32 = 3000;
/// Frames from one burst to the next.
const INTERVAL: u32 = 6;

/// A spark, as it is captured.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub struct Spark {
    position: Vec2,
    velocity: Vec2,
    /// Seconds that it has left; without any it waits for the next burst.
    left: f32,
    hue: f32,
}

/// Push constants of a frame.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub struct Step {
    /// Where the burst is.
    origin: Vec2,
    /// Its number, counted from 1; 0 in frames without one.
    burst: u32,
    hue: f32,
}

pub const BINDINGS: [vk::VertexInputBindingDescription; 1] = [vk::VertexInputBindingDescription {
    binding: 0,
    stride: size_of::<Spark>() as u32,
    input_rate: vk::VertexInputRate::VERTEX,
}];
pub const ATTRIBUTES: [vk::VertexInputAttributeDescription; 3] =
    [attribute(0), attribute(1), attribute(2)];

/// Two floats of a spark.
const fn attribute(location: u32) -> vk::VertexInputAttributeDescription {
    vk::VertexInputAttributeDescription {
        location,
        binding: 0,
        format: vk::Format::R32G32_SFLOAT,
        offset: location * 8,
    }
}

/// The shaders that are captured: `fly` takes a spark to the next frame, `burst` makes new ones.
pub const SHADERS: &str = "
    struct Step { origin: vec2f, burst: u32, hue: f32 }
    var<immediate> step: Step;

    struct Spark {
        @builtin(position) clip: vec4f,
        @location(0) position: vec2f,
        @location(1) velocity: vec2f,
        @location(2) look: vec2f,
    }

    // Between 0 and 1.
    fn random(seed: vec2u) -> f32 {
        var x = seed.x * 747796405u + seed.y * 2891336453u;
        x = (x ^ (x >> 15u)) * 2246822519u;
        x = (x ^ (x >> 13u)) * 3266489917u;
        return f32((x ^ (x >> 16u)) >> 8u) / 16777216.0;
    }

    fn born(number: u32) -> Spark {
        let seed = vec2u(number * 8u, step.burst);
        var toss: array<f32, 6>;
        for (var i = 0u; i < 6u; i++) { toss[i] = random(seed + vec2u(i, 0u)); }
        // Sums of random numbers prefer no direction, or hardly.
        let towards = vec2f(toss[0] + toss[1] - 1.0, toss[2] + toss[3] - 1.0) + vec2f(1e-3, 0.0);
        let velocity = normalize(towards) * (0.55 + 0.35 * toss[4]) * (0.4 + 0.6 * toss[5]);
        let look = vec2f(0.8 + 0.8 * toss[4], step.hue + 0.08 * toss[5]);
        return Spark(vec4f(step.origin, 0.0, 1.0), step.origin, velocity, look);
    }

    @vertex fn burst(@builtin(vertex_index) number: u32) -> Spark {
        return born(number + 65536u);
    }

    @vertex fn fly(
        @builtin(vertex_index) number: u32,
        @location(0) position: vec2f,
        @location(1) velocity: vec2f,
        @location(2) look: vec2f,
    ) -> Spark {
        if look.x <= 0.0 && step.burst > 0u { return born(number); }
        let slower = (velocity - vec2f(0.0, 0.0125)) * 0.96875;
        let moved = position + slower * 0.03125;
        return Spark(vec4f(moved, 0.0, 1.0), moved, slower, vec2f(look.x - 0.03125, look.y));
    }
";

/// Draws what was captured: each spark and, as further instances, where it was a moment before.
pub const DRAWING: &str = "#version 450
    layout(location = 0) in vec2 position;
    layout(location = 1) in vec2 velocity;
    layout(location = 2) in vec2 look;
    layout(location = 0) out vec3 colour;
    void main() {
        float back = float(gl_InstanceIndex) / 12.0;
        vec2 place = position - velocity * back * 0.16;
        float life = clamp(look.x * 1.4, 0.0, 1.0);
        gl_Position = look.x > 0.0
            ? vec4(place.x * 0.8, -place.y, 0.0, 1.0)
            : vec4(2.0, 2.0, 0.0, 1.0);
        gl_PointSize = mix(5.0, 2.0, back);
        vec3 wheel = abs(fract(look.y + vec3(0.0, 2.0, 1.0) / 3.0) * 6.0 - 3.0) - 1.0;
        vec3 hue = mix(vec3(1.0), clamp(wheel, 0.0, 1.0), 0.75);
        colour = hue * life * (1.0 - back) * 0.42 + vec3(0.12) * life * life * life * (1.0 - back);
    }
";
pub const SHADING: &str = "#version 450
    layout(location = 0) in vec3 colour;
    layout(location = 0) out vec4 light;
    void main() {
        float distance = length(gl_PointCoord * 2.0 - 1.0);
        light = vec4(colour * max(1.0 - distance, 0.0), 1.0);
    }
";

/// What the shaders are told in a frame.
pub fn step(frame: u32) -> Step {
    let number = frame / INTERVAL + 1;
    let burst = if frame.is_multiple_of(INTERVAL) { number } else { 0 };
    let (x, y) = (random([number, 7]), random([number, 8]));
    let origin = Vec2::new(1.6 * x - 0.8, 0.7 * y - 0.05);
    Step { origin, burst, hue: (0.381_966 * number as f32).fract() }
}

impl Step {
    /// Sparks that are added in the frame.
    pub const fn added(&self) -> u32 {
        if self.burst > 0 { BURST } else { 0 }
    }
}

/// What the captures of so many frames come to, on the CPU.
pub fn expected(frames: u32) -> Vec<Spark> {
    let mut sparks = Vec::new();
    for step in (0..frames).map(step) {
        for (number, spark) in (0..).zip(&mut sparks) {
            *spark = fly(&step, number, spark);
        }
        sparks.extend((0..step.added()).map(|number| born(&step, number + 65536)));
        sparks.truncate(CAPACITY as usize);
    }
    sparks
}

fn random([x, y]: [u32; 2]) -> f32 {
    let mut x = x.wrapping_mul(747_796_405).wrapping_add(y.wrapping_mul(2_891_336_453));
    x = (x ^ (x >> 15)).wrapping_mul(2_246_822_519);
    x = (x ^ (x >> 13)).wrapping_mul(3_266_489_917);
    ((x ^ (x >> 16)) >> 8) as f32 / 16_777_216.0
}

fn born(step: &Step, number: u32) -> Spark {
    let toss: [f32; 6] = std::array::from_fn(|i| random([number * 8 + i as u32, step.burst]));
    let towards = Vec2::new(toss[0] + toss[1] - 1.0, toss[2] + toss[3] - 1.0);
    let towards = (towards + Vec2::new(1e-3, 0.0)).normalize();
    Spark {
        position: step.origin,
        velocity: towards * (0.55 + 0.35 * toss[4]) * (0.4 + 0.6 * toss[5]),
        left: 0.8 + 0.8 * toss[4],
        hue: step.hue + 0.08 * toss[5],
    }
}

fn fly(step: &Step, number: u32, spark: &Spark) -> Spark {
    if spark.left <= 0.0 && step.burst > 0 {
        return born(step, number);
    }
    let velocity = (spark.velocity - Vec2::new(0.0, 0.0125)) * 0.96875;
    let position = spark.position + velocity * 0.03125;
    Spark { position, velocity, left: spark.left - 0.03125, hue: spark.hue }
}
