//! Draws a triangle over a small framebuffer with a fragment shader, and reads its attachments
//! back.

use ash::vk;

use super::attachment::{self, Attachment, Drawing, Pass};
use super::bare::{BareDevice, BareInstance};

/// The number of texels of an attachment in each direction.
pub const SIZE: u32 = 4;
const TEXELS: usize = (SIZE * SIZE) as usize;
const TEXEL_BYTES: u64 = 16;

/// A vertex shader whose triangle covers the framebuffer.
const TRIANGLE: &str = "#version 450
    void main() {
        gl_Position = vec4(vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1) * 4.0 - 1.0, 0.0, 1.0);
    }";

/// What [`Renderer::render`] draws.
pub struct Scene<'a> {
    pub fragment: &'a [u32],
    /// The format of the attachments, of 4 components of 32 bits.
    pub format: vk::Format,
    pub attachments: u32,
    /// The contents of the attachments before the draw.
    pub clear: [u32; 4],
    /// Whether blending is enabled: result = source 0 + source 1 * destination.
    pub dual_source: bool,
}

/// The texels of an attachment, row by row.
pub type Texels = Vec<[u32; 4]>;

/// Renders scenes, on a device with `dualSrcBlend` and `independentBlend`.
pub struct Renderer {
    device: BareDevice,
    vertex: Vec<u32>,
}

impl Renderer {
    pub fn open() -> Self {
        let enabled =
            vk::PhysicalDeviceFeatures::default().dual_src_blend(true).independent_blend(true);
        let mut features = vk::PhysicalDeviceFeatures2::default().features(enabled);
        let device = BareInstance::open().into_device(&mut features, &[]);
        Self { device, vertex: super::compile_stage("vert", TRIANGLE, &[]) }
    }

    pub fn limits(&self) -> &vk::PhysicalDeviceLimits {
        &self.device.limits
    }

    /// Renders a scene, and returns the texels of each attachment.
    pub fn render(&self, scene: &Scene<'_>) -> Vec<Texels> {
        let device = &self.device.raw;
        let count = scene.attachments as usize;
        let bytes = TEXELS as u64 * TEXEL_BYTES;
        let usage = vk::BufferUsageFlags::TRANSFER_DST;
        let buffer = self.device.host_buffer(bytes * count as u64, usage);
        let writes = (vk::PipelineStageFlags::TRANSFER, vk::AccessFlags::TRANSFER_WRITE);
        // SAFETY: every handle is of the device, and in use only until the submission is done.
        unsafe {
            let attachments: Vec<_> =
                (0..count).map(|_| Attachment::new(device, scene.format, SIZE)).collect();
            let views: Vec<_> = attachments.iter().map(|attachment| attachment.view).collect();
            let pass = Pass::clearing(device, scene.format, SIZE, &views);
            let layout = device.create_pipeline_layout(&Default::default(), None).unwrap();
            let pipeline = self.pipeline(scene, layout, pass.raw);
            self.device.submit(writes, |cmd| {
                let clear = vk::ClearColorValue { uint32: scene.clear };
                let clears = vec![vk::ClearValue { color: clear }; count];
                pass.instance(device, cmd, &clears, pipeline, || {
                    device.cmd_draw(cmd, 3, 1, 0, 0);
                });
                for (offset, attachment) in (0..).step_by(bytes as usize).zip(&attachments) {
                    attachment.copy(device, cmd, SIZE, (buffer.raw, offset));
                }
            });
            let texels: &[[u32; 4]] = bytemuck::cast_slice(buffer.bytes());
            let result = texels.chunks(TEXELS).map(<[_]>::to_vec).collect();

            self.device.destroy_buffer(buffer);
            device.destroy_pipeline(pipeline, None);
            device.destroy_pipeline_layout(layout, None);
            pass.destroy(device);
            attachments.into_iter().for_each(|attachment| attachment.destroy(device));
            result
        }
    }

    /// # Safety
    /// The layout and the render pass are of the device.
    unsafe fn pipeline(
        &self,
        scene: &Scene<'_>,
        layout: vk::PipelineLayout,
        pass: vk::RenderPass,
    ) -> vk::Pipeline {
        let device = &self.device.raw;
        let blend = vk::PipelineColorBlendAttachmentState::default()
            .blend_enable(scene.dual_source)
            .src_color_blend_factor(vk::BlendFactor::ONE)
            .dst_color_blend_factor(vk::BlendFactor::SRC1_COLOR)
            .src_alpha_blend_factor(vk::BlendFactor::ONE)
            .dst_alpha_blend_factor(vk::BlendFactor::SRC1_ALPHA)
            .color_write_mask(vk::ColorComponentFlags::RGBA);
        // SAFETY: the caller's contract; the modules are valid.
        unsafe {
            let shaders = [
                (vk::ShaderStageFlags::VERTEX, &*self.vertex),
                (vk::ShaderStageFlags::FRAGMENT, scene.fragment),
            ];
            let list = vk::PrimitiveTopology::TRIANGLE_LIST;
            let drawing = Drawing::new(SIZE, blend, scene.attachments);
            attachment::with_stages(device, &shaders, |stages| {
                drawing.pipeline(device, stages, list, layout, pass, std::ptr::null())
            })
        }
    }
}
