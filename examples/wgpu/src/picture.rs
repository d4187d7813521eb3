//! The picture: what was captured, drawn in a pass of wgpu.

use super::scene::Captured;

/// Columns and rows of the picture. A row has a multiple of 256 bytes, as copies want it.
pub const SIZE: [u32; 2] = [256, 192];
const GROUND: wgpu::Color = wgpu::Color { r: 0.0, g: 0.0, b: 0.2, a: 1.0 };
/// [`GROUND`] in the picture.
pub const GROUND_PIXEL: [u8; 4] = [0, 0, 51, 255];
const FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8Unorm;

/// What draws.
pub struct Painter {
    target: wgpu::Texture,
    view: wgpu::TextureView,
    pipeline: wgpu::RenderPipeline,
}

impl Painter {
    pub fn new(device: &wgpu::Device, shader: &wgpu::ShaderModule) -> Self {
        let target = device.create_texture(&wgpu::TextureDescriptor {
            label: Some("picture"),
            size: extent(),
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: FORMAT,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
            view_formats: &[],
        });
        let view = target.create_view(&wgpu::TextureViewDescriptor::default());
        let pipeline = device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
            label: Some("show"),
            layout: None,
            vertex: wgpu::VertexState {
                module: shader,
                entry_point: Some("show"),
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                buffers: &[Some(wgpu::VertexBufferLayout {
                    array_stride: size_of::<Captured>() as u64,
                    step_mode: wgpu::VertexStepMode::Vertex,
                    attributes: &wgpu::vertex_attr_array![0 => Float32x4, 1 => Float32x4],
                })],
            },
            primitive: wgpu::PrimitiveState::default(),
            depth_stencil: None,
            multisample: wgpu::MultisampleState::default(),
            fragment: Some(wgpu::FragmentState {
                module: shader,
                entry_point: Some("paint"),
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                targets: &[Some(FORMAT.into())],
            }),
            multiview_mask: None,
            cache: None,
        });
        Self { target, view, pipeline }
    }

    /// Records the pass, and a copy of the picture.
    pub fn draw(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        vertices: &wgpu::Buffer,
        count: u32,
        pixels: &wgpu::Buffer,
    ) {
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view: &self.view,
                depth_slice: None,
                resolve_target: None,
                ops: wgpu::Operations {
                    load: wgpu::LoadOp::Clear(GROUND),
                    store: wgpu::StoreOp::Store,
                },
            })],
            ..Default::default()
        });
        pass.set_pipeline(&self.pipeline);
        pass.set_vertex_buffer(0, vertices.slice(..));
        pass.draw(0..count, 0..1);
        drop(pass);

        let layout = wgpu::TexelCopyBufferLayout {
            offset: 0,
            bytes_per_row: Some(SIZE[0] * 4),
            rows_per_image: None,
        };
        let to = wgpu::TexelCopyBufferInfo { buffer: pixels, layout };
        encoder.copy_texture_to_buffer(self.target.as_image_copy(), to, extent());
    }
}

fn extent() -> wgpu::Extent3d {
    wgpu::Extent3d { width: SIZE[0], height: SIZE[1], depth_or_array_layers: 1 }
}
