//! The device that tests record captures on.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex};

use ash::vk;
use vkxfb::runtime::{
    Arena, ArenaSize, Buffer, Capture, MemoryLocation, Pipeline, PipelineDesc, QueryKind,
    QueryPool, RuntimeError,
};
use vkxfb_probe::gpu::{Gpu, Message, OpenOptions};

use super::settings::alone;

/// A device that, when it is dropped, fails the test if the validation layer has sent a message.
/// What is made with it is [`Owned`], so that tests destroy nothing.
pub struct TestDevice {
    /// `None` once it is closed.
    gpu: Option<Gpu>,
    dropped: Dropped,
}

/// What destroys the objects that were dropped. It needs the device, which a test may be using
/// where it drops them.
type Dropped = Arc<Mutex<Vec<Box<dyn FnOnce(&mut Gpu) + Send>>>>;

impl TestDevice {
    pub fn open(options: &OpenOptions) -> Self {
        let _alone = alone();
        let gpu = Gpu::open(options)
            .unwrap_or_else(|error| panic!("{error} (tests/setup.sh installs lavapipe)"));
        Self { gpu: Some(gpu), dropped: Dropped::default() }
    }

    /// Closes the device, and returns the messages of the validation layer that no test has taken.
    pub fn close(mut self) -> Vec<Message> {
        self.end()
    }

    fn end(&mut self) -> Vec<Message> {
        let Some(mut gpu) = self.gpu.take() else { return Vec::new() };
        destroy(&mut gpu, &self.dropped);
        let _alone = alone();
        gpu.close()
    }

    /// Takes an object of the device. `destroy` is called after the object is dropped, before the
    /// device makes another buffer or is closed: no submission is in flight then.
    pub fn own<T: Send + 'static>(&self, object: T, destroy: fn(&mut Gpu, T)) -> Owned<T> {
        Owned { object: Some(object), destroy, dropped: Arc::clone(&self.dropped) }
    }

    /// Makes a buffer in device memory.
    pub fn buffer(&mut self, size: u64, usage: vk::BufferUsageFlags) -> Owned<Buffer> {
        let dropped = Arc::clone(&self.dropped);
        destroy(self, &dropped);
        let buffer = self.create_buffer(size, usage, MemoryLocation::Device).unwrap();
        self.own(buffer, Gpu::destroy_buffer)
    }

    /// Makes a buffer in device memory that holds `contents`.
    pub fn filled<T: bytemuck::NoUninit>(
        &mut self,
        usage: vk::BufferUsageFlags,
        contents: &[T],
    ) -> Owned<Buffer> {
        let buffer = self.buffer(size_of_val(contents) as u64, usage);
        self.write(&buffer, 0, bytemuck::cast_slice(contents)).unwrap();
        buffer
    }

    /// Returns what a buffer holds.
    pub fn contents<T: bytemuck::AnyBitPattern>(&mut self, buffer: &Buffer) -> Vec<T> {
        let bytes = self.read(buffer, 0..buffer.size()).unwrap();
        bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect()
    }

    pub fn arena(&mut self, desc: impl Into<ArenaSize>) -> Owned<Arena> {
        let arena = self.create_arena(desc).unwrap();
        self.own(arena, Gpu::destroy_arena)
    }

    pub fn query_pool(&mut self, kind: QueryKind, count: u32) -> Owned<QueryPool> {
        let pool = self.create_query_pool(kind, count).unwrap();
        self.own(pool, Gpu::destroy_query_pool)
    }

    pub fn pipeline(&self, desc: &PipelineDesc<'_>) -> Owned<Pipeline> {
        self.try_pipeline(desc).unwrap()
    }

    /// Makes a pipeline, or returns why it is refused.
    pub fn try_pipeline(&self, desc: &PipelineDesc<'_>) -> Result<Owned<Pipeline>, RuntimeError> {
        // SAFETY: the context is of a live device, and so are the set layouts that tests give.
        let pipeline = unsafe { Pipeline::new(self.context(), desc) }?;
        Ok(self.own(pipeline, |gpu, pipeline| gpu.destroy_pipeline(pipeline)))
    }

    /// Makes a capture, which is not begun.
    pub fn new_capture(&self) -> Capture {
        Capture::new(self.context(), &self.kernels())
    }
}

fn destroy(gpu: &mut Gpu, dropped: &Dropped) {
    let dropped = std::mem::take(&mut *dropped.lock().unwrap());
    dropped.into_iter().for_each(|destroy| destroy(gpu));
}

impl Deref for TestDevice {
    type Target = Gpu;

    fn deref(&self) -> &Gpu {
        self.gpu.as_ref().unwrap()
    }
}

impl DerefMut for TestDevice {
    fn deref_mut(&mut self) -> &mut Gpu {
        self.gpu.as_mut().unwrap()
    }
}

impl Drop for TestDevice {
    fn drop(&mut self) {
        let messages = self.end();
        if !std::thread::panicking() {
            assert!(messages.is_empty(), "{messages:#?}");
        }
    }
}

/// An object of a [`TestDevice`], which destroys it after it is dropped. It is dropped before the
/// device: in a structure, the device is the last field.
pub struct Owned<T: Send + 'static> {
    /// `None` once it is dropped.
    object: Option<T>,
    destroy: fn(&mut Gpu, T),
    dropped: Dropped,
}

impl<T: Send> Deref for Owned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.object.as_ref().unwrap()
    }
}

impl<T: Send> DerefMut for Owned<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.object.as_mut().unwrap()
    }
}

impl<T: Send> Drop for Owned<T> {
    fn drop(&mut self) {
        let (object, destroy) = (self.object.take().unwrap(), self.destroy);
        let mut dropped = self.dropped.lock().unwrap();
        dropped.push(Box::new(move |gpu| destroy(gpu, object)));
    }
}
