//! A draw that captures its attributes: its inputs, the capture that the specification requires,
//! and the capture of a device.

use ash::vk;
use vkxfb::lower::{Backend, Lowered, ResourcePlan, Shader, compute, native};
use vkxfb::runtime::{
    Arena, ArenaDesc, Buffer, Capture, CaptureBuffer, CaptureDesc, ConsumerScope, Draw,
    MemoryLocation, Pipeline, PipelineDesc, PipelineUse, Recorder, VertexBuffer,
};
use vkxfb::topology::PrimitiveTopology;
use vkxfb::vertex_input::{InputRate, NumericFormat, VertexAttribute, VertexBinding, VertexInput};
use vkxfb_probe::gpu::{Gpu, GpuError};

use crate::common::device;
use crate::common::test_device::{Owned, TestDevice};
use crate::shader::{self, Input};

/// The buffer that is bound to a binding.
#[derive(Debug, Clone)]
pub struct Bound {
    pub binding: u32,
    /// The offset in bytes of the bound range, which extends to the end of the buffer.
    pub offset: usize,
    /// The contents of the bound range. If `None`, no buffer is bound.
    pub bytes: Option<Vec<u8>>,
    /// The stride that is passed with the buffer.
    pub stride: Option<u32>,
}

/// A draw of triangles.
#[derive(Debug, Clone)]
pub struct Case {
    pub vertex_input: VertexInput,
    pub inputs: Vec<Input>,
    pub bound: Vec<Bound>,
    /// Whether the shader takes vertex buffers that are bound so that attributes are not aligned.
    pub unaligned: bool,
    pub draw: Draw,
}

/// A captured component of an input, for one vertex.
pub struct Component<'a> {
    pub vertex: u32,
    pub instance: u32,
    pub input: &'a Input,
    /// The component of the format.
    pub component: u32,
    pub attribute: &'a VertexAttribute,
    pub rate: InputRate,
    /// Whether the bound range holds the whole attribute.
    pub in_range: bool,
    pub expected: u64,
    pub found: u64,
}

impl Case {
    /// Returns the attribute that an input reads, and the first of its components that the input
    /// reads.
    fn attribute(&self, input: &Input) -> (&VertexAttribute, u32) {
        let first = input.component / (input.bits / 32);
        match self.vertex_input.attribute(input.location) {
            Some(attribute) => (attribute, first),
            // The second location of a 64-bit format.
            None => (self.vertex_input.attribute(input.location - 1).unwrap(), first + 2),
        }
    }

    /// Whether an input has another numeric class than the format of its attribute.
    pub fn has_other_class(&self) -> bool {
        self.inputs.iter().any(|input| self.attribute(input).0.format.class() != input.class)
    }

    fn binding(&self, attribute: &VertexAttribute) -> &VertexBinding {
        self.vertex_input.binding(attribute.binding).unwrap()
    }

    /// Returns the bytes of an element. They are empty if the element is out of range.
    fn element(&self, attribute: &VertexAttribute, vertex: u32, instance: u32) -> &[u8] {
        let binding = self.binding(attribute);
        let bound = self.bound.iter().find(|b| b.binding == attribute.binding).unwrap();
        let element = binding.input_rate.element(vertex, self.draw.first_instance, instance);
        let stride = bound.stride.unwrap_or(binding.stride);
        let start = u64::from(element) * u64::from(stride) + u64::from(attribute.offset);
        let end = start + u64::from(attribute.format.size());
        let bytes = bound.bytes.as_deref().unwrap_or_default();
        bytes.get(start as usize..end as usize).unwrap_or_default()
    }

    /// Compares captured bytes with the specification, component by component.
    pub fn compare<'a>(&'a self, captured: &[u8], mut visit: impl FnMut(Component<'a>)) {
        let mut words = captured.chunks_exact(4).map(|w| u32::from_le_bytes(w.try_into().unwrap()));
        let mut next = || u64::from(words.next().unwrap());
        for i in 0..self.draw.instance_count {
            for v in 0..self.draw.vertex_count {
                let instance = self.draw.first_instance + i;
                let vertex = self.draw.first_vertex + v;
                for input in &self.inputs {
                    let (attribute, first) = self.attribute(input);
                    let element = self.element(attribute, vertex, instance);
                    let decoded = attribute.format.decode(element);
                    for component in first..first + input.count {
                        let mut found = next();
                        if input.bits == 64 {
                            found |= next() << 32;
                        }
                        let expected = decoded[component as usize];
                        visit(Component {
                            vertex,
                            instance,
                            input,
                            component,
                            attribute,
                            rate: self.binding(attribute).input_rate,
                            in_range: !element.is_empty(),
                            expected,
                            found,
                        });
                    }
                }
            }
        }
        assert!(words.next().is_none());
    }

    fn record_bytes(&self) -> u64 {
        u64::from(shader::stride(&self.inputs))
            * u64::from(self.draw.vertex_count)
            * u64::from(self.draw.instance_count)
    }

    /// Lowers the shader for a backend.
    pub fn lower(&self, backend: Backend, resources: ResourcePlan) -> Lowered {
        let words = shader::assemble(&self.inputs);
        let source = Shader::new(&words);
        let options = compute::Options::new(&self.vertex_input)
            .unaligned_attributes(self.unaligned)
            .target(compute::Target::default().resources(resources));
        match backend {
            Backend::Compute => compute::lower(&source, &options),
            _ => native::lower(&source),
        }
        .unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// Captures on a device, and returns the captured bytes.
    pub fn capture(&self, gpu: &mut TestDevice, backend: Backend) -> Vec<u8> {
        let lowered = self.lower(backend, gpu.compute_target(backend).unwrap().resources);
        let desc = PipelineDesc {
            topology: Some(PrimitiveTopology::TriangleList.into()),
            specialize_topology: false,
            vertex_input: Some(&self.vertex_input),
            render_pass: gpu.render_pass(),
            ..PipelineDesc::new(&lowered)
        };
        let pipeline = gpu.try_pipeline(&desc).unwrap_or_else(|error| panic!("{error}: {self:#?}"));
        let usage = gpu.context().buffer_usages(backend).capture;
        let target = gpu.buffer(self.record_bytes(), usage);
        let usage = gpu.context().buffer_usages(backend).vertex;
        let buffers: Vec<Option<Owned<Buffer>>> = self
            .bound
            .iter()
            .map(|bound| {
                let bytes = bound.bytes.as_ref()?;
                let size = bound.offset + bytes.len();
                let location = MemoryLocation::Upload;
                // Descriptors are of whole dwords. A native draw reads up to the end of the buffer.
                let size_of_buffer = match backend {
                    Backend::Compute => size.next_multiple_of(4),
                    _ => size,
                };
                let mut buffer = gpu.create_buffer(size_of_buffer as u64, usage, location).unwrap();
                // SAFETY: the device does not use it yet.
                let mapped = unsafe { buffer.mapped_mut() };
                mapped[bound.offset..size].copy_from_slice(bytes);
                Some(gpu.own(buffer, Gpu::destroy_buffer))
            })
            .collect();
        let used = [PipelineUse::new(&pipeline, 1)];
        let mut arena = gpu.arena(ArenaDesc { pipelines: &used, ..ArenaDesc::new(1, 1) });
        self.record(gpu, &pipeline, &target, &buffers, &mut arena)
            .unwrap_or_else(|error| panic!("{backend}: {error}: {self:#?}"));
        let found = gpu.contents(&target);
        if backend == Backend::Native && self.has_other_class() {
            drop_class_messages(gpu);
        }
        found
    }

    fn record(
        &self,
        gpu: &mut Gpu,
        pipeline: &Pipeline,
        target: &Buffer,
        buffers: &[Option<Owned<Buffer>>],
        arena: &mut Arena,
    ) -> Result<(), GpuError> {
        let backend = pipeline.backend();
        let targets = [Some(CaptureBuffer::new(target.raw(), target.size()))];
        let vertex_buffers: Vec<VertexBuffer> = self
            .bound
            .iter()
            .zip(buffers)
            .map(|(bound, buffer)| VertexBuffer {
                binding: bound.binding,
                buffer: buffer.as_ref().map_or(vk::Buffer::null(), |buffer| buffer.raw()),
                offset: bound.offset as u64,
                size: bound.bytes.as_ref().map_or(0, Vec::len) as u64,
                stride: bound.stride,
            })
            .collect();
        let kernels = gpu.kernels();
        let desc = CaptureDesc {
            buffers: &targets,
            vertex_buffers: &vertex_buffers,
            ..CaptureDesc::new(pipeline)
        };
        let pass = (gpu.render_pass(), gpu.framebuffer());
        gpu.submit(|ctx, cmd| {
            // SAFETY: everything outlives the submission, which is waited for.
            unsafe {
                device::begin_render_pass(ctx, cmd, backend, pass);
                let mut capture = Capture::new(ctx, &kernels);
                let mut recorder = Recorder::begin(&mut capture, arena, cmd, &desc)?;
                recorder.draw(PrimitiveTopology::TriangleList, &self.draw)?;
                recorder.end(&[])?;
                device::end_render_pass(ctx, cmd, backend);
                ctx.capture_barrier(cmd, backend, ConsumerScope::TRANSFER);
            }
            Ok(())
        })
    }
}

/// Vulkan does not allow inputs of another class than their format, although drivers take them. The validation layer
/// says so of the native pipeline, and nothing else. Debian 12's has another name for the rule.
fn drop_class_messages(gpu: &Gpu) {
    let is_of_class = |id: &str| {
        id.contains("VUID-VkGraphicsPipelineCreateInfo-Input-08733")
            || id.contains("UNASSIGNED-CoreValidation-Shader-InterfaceTypeMismatch")
    };
    let messages = gpu.take_messages();
    let other: Vec<_> = messages.iter().filter(|message| !is_of_class(&message.id)).collect();
    assert!(other.is_empty(), "{other:?}");
}

/// How the conversion of a device may differ from the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference {
    None,
    /// Both are NaNs, but not the same.
    NaN,
    /// The number of representable floats from one to the other.
    Ulp(u32),
    Wrong,
}

impl Component<'_> {
    /// Returns how much the component differs.
    pub fn difference(&self) -> Difference {
        let float = |bits: u64| f32::from_bits(bits as u32);
        let is_converted = self.attribute.format.alignment() < 4 || self.is_packed();
        match self.attribute.format.numeric() {
            _ if self.expected == self.found => Difference::None,
            NumericFormat::Sfloat | NumericFormat::Ufloat
                if is_converted && float(self.expected).is_nan() && float(self.found).is_nan() =>
            {
                Difference::NaN
            }
            NumericFormat::Unorm | NumericFormat::Snorm
                if float(self.expected).signum() == float(self.found).signum() =>
            {
                Difference::Ulp((self.expected as u32).abs_diff(self.found as u32))
            }
            _ => Difference::Wrong,
        }
    }

    fn is_packed(&self) -> bool {
        self.attribute.format.components() > 1
            && self.attribute.format.size() == self.attribute.format.alignment()
    }

    /// Describes the component in a message.
    pub fn describe(&self) -> String {
        format!(
            "vertex {} of instance {}: component {} of {:?} at location {} is {:#x}, not {:#x}",
            self.vertex,
            self.instance,
            self.component,
            self.attribute.format,
            self.input.location,
            self.found,
            self.expected
        )
    }
}
