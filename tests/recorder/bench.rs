//! Objects that tests of recordings share.

use vkxfb::lower::Backend;
use vkxfb::runtime::{
    Buffer, CaptureBuffer, CounterBuffer, Kernels, MemoryLocation, Pipeline, QueryKind, QueryPool,
};
use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb_probe::gpu::{Gpu, OpenOptions};
use vkxfb_probe::shaders::ProbeShader;

use crate::common::device::{self, PipelineOptions};

/// A device with a pipeline of a probe shader for any topology, a buffer to capture to, and a
/// counter, which is 0. Tests add what else they need.
pub struct Bench {
    pub gpu: Gpu,
    pub backend: Backend,
    pub pipeline: Pipeline,
    pub kernels: Kernels,
    pub target: Buffer,
    pub counter: Buffer,
}

impl Bench {
    /// `size` is the size in bytes of the buffer to capture to.
    pub fn new(options: OpenOptions, backend: Backend, shader: &ProbeShader, size: u64) -> Self {
        let mut gpu = device::open_with(options);
        let lowered = device::lower(&gpu, shader, backend);
        let options = PipelineOptions {
            topology: PrimitiveTopology::PointList,
            provoking: ProvokingVertex::First,
            specialize: false,
        };
        let pipeline = device::pipeline(&gpu, shader, &lowered, options);
        let usage = gpu.context().capture_buffer_usage(backend);
        let target = gpu.create_buffer(size, usage, MemoryLocation::Device).unwrap();
        let usage = gpu.context().counter_buffer_usage(backend);
        let counter = gpu.create_buffer(4, usage, MemoryLocation::Device).unwrap();
        gpu.write(&counter, 0, &[0; 4]).unwrap();
        let kernels = gpu.kernels();
        Self { gpu, backend, pipeline, kernels, target, counter }
    }

    /// Destroys everything. If the validation layer has reported a message, the test fails.
    pub fn close(mut self) {
        self.gpu.destroy_pipeline(self.pipeline);
        self.gpu.destroy_buffer(self.target);
        self.gpu.destroy_buffer(self.counter);
        device::close(self.gpu);
    }

    /// Returns the whole buffer to capture to, as the first capture buffer.
    pub fn target(&self) -> [Option<CaptureBuffer>; 1] {
        [Some(CaptureBuffer::new(self.target.raw(), self.target.size()))]
    }

    /// Returns the counter of that capture buffer.
    pub fn counter(&self) -> [Option<CounterBuffer>; 1] {
        [Some(CounterBuffer::new(self.counter.raw()))]
    }

    /// Creates a query pool, which the test destroys.
    pub fn pool(&mut self, kind: QueryKind, count: u32) -> QueryPool {
        self.gpu.create_query_pool(kind, count).unwrap()
    }
}
