//! How a picture looks at a scene.

use glam::camera::rh;
use glam::{Mat4, Vec3};

/// From the world to Vulkan's clip space: from `eye` towards `centre`, with that vertical field of view in radians.
pub fn view(eye: Vec3, centre: Vec3, field: f32, [width, height]: [u32; 2]) -> Mat4 {
    let lens = rh::proj::vulkan::perspective(field, width as f32 / height as f32, 0.5, 20.0);
    lens * rh::view::look_at_mat4(eye, centre, Vec3::Y)
}
