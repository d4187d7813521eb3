//! The picture: the mesh as it was, and as it was captured, side by side.

use anyhow::Result;
use ash::vk;
use glam::{Mat4, Vec3};

use super::common::gpu::Gpu;
use super::common::picture::Picture;
use super::common::pipeline::Drawing;
use super::common::target::Target;
use super::common::{camera, shader};
use super::deform::ATTRIBUTES;
use super::mesh::Vertex;

/// Columns and rows of one mesh in the picture; three times as many are drawn.
const SIZE: [u32; 2] = [300, 380];
const SCALE: u32 = 3;
const GROUND: [f32; 4] = [0.945, 0.937, 0.92, 1.0];

const VERTEX: &str = "
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
/// Glazed clay: light from a window, from the room, and a reflection of the window.
const FRAGMENT: &str = "
    @fragment fn main(
        @builtin(front_facing) is_outside: bool,
        @location(0) position: vec3f,
        @location(1) normal: vec3f,
    ) -> @location(0) vec4f {
        let eye = normalize(vec3f(0.0, 2.1, 5.2) - position);
        let n = normalize(select(-normal, normal, is_outside));
        let window = normalize(vec3f(-0.6, 0.75, 0.6));
        let near = max(dot(n, window), 0.0);
        let room = 0.5 + 0.5 * n.y;
        let clay = vec3f(0.07, 0.30, 0.38);
        let light = 1.1 * near * vec3f(1.0, 0.97, 0.9) + mix(vec3f(0.08), vec3f(0.34), room);
        let shine = pow(max(dot(n, normalize(window + eye)), 0.0), 48.0);
        let rim = pow(1.0 - max(dot(n, eye), 0.0), 3.0);
        let colour = clay * light + 0.45 * shine + 0.06 * rim;
        return vec4f(pow(colour, vec3f(1.0 / 2.2)), 1.0);
    }
";

/// Draws the triangles of each buffer beside those of the one before.
///
/// # Safety
/// The buffers hold vertices that the indices name, and the device does not write them.
pub unsafe fn meshes(
    gpu: &Gpu,
    vertices: &[vk::Buffer],
    indices: vk::Buffer,
    index_count: u32,
) -> Result<Picture> {
    let ranges = [vk::PushConstantRange {
        stage_flags: vk::ShaderStageFlags::VERTEX,
        offset: 0,
        size: size_of::<Mat4>() as u32,
    }];
    let info = vk::PipelineLayoutCreateInfo::default().push_constant_ranges(&ranges);
    let extent = vk::Extent2D { width: SIZE[0] * SCALE, height: SIZE[1] * SCALE };
    let view = camera::view(Vec3::new(0.0, 2.1, 5.2), Vec3::new(0.0, 0.9, 0.0), 0.46, SIZE);
    // SAFETY: the caller's contract; the submission is waited for.
    unsafe {
        let layout = gpu.device.create_pipeline_layout(&info, None)?;
        let drawing = Drawing {
            vertex: &shader::wgsl(VERTEX, "main")?,
            fragment: &shader::wgsl(FRAGMENT, "main")?,
            stride: size_of::<Vertex>() as u32,
            attributes: &ATTRIBUTES,
            topology: vk::PrimitiveTopology::TRIANGLE_LIST,
            layout,
            is_light: false,
        };
        let pipeline = drawing.pipeline(gpu)?;
        let target = Target::new(gpu, extent.width * vertices.len() as u32, extent.height)?;
        gpu.submit(|cmd| {
            let device = &gpu.device;
            target.begin(gpu, cmd, GROUND);
            device.cmd_bind_pipeline(cmd, vk::PipelineBindPoint::GRAPHICS, pipeline);
            let stages = vk::ShaderStageFlags::VERTEX;
            device.cmd_push_constants(cmd, layout, stages, 0, bytemuck::bytes_of(&view));
            device.cmd_bind_index_buffer(cmd, indices, 0, vk::IndexType::UINT32);
            for (place, buffer) in (0..).zip(vertices) {
                let offset = vk::Offset2D { x: place * extent.width as i32, y: 0 };
                target.set_area(gpu, cmd, vk::Rect2D { offset, extent });
                device.cmd_bind_vertex_buffers(cmd, 0, &[*buffer], &[0]);
                device.cmd_draw_indexed(cmd, index_count, 1, 0, 0, 0);
            }
            target.end(gpu, cmd);
            Ok(())
        })?;
        let picture = Picture::smaller(&target.pixels(gpu)?, target.extent.width, SCALE);
        target.destroy(gpu);
        gpu.device.destroy_pipeline(pipeline, None);
        gpu.device.destroy_pipeline_layout(layout, None);
        Ok(picture)
    }
}
