//! What a capture by compute reaches memory by, and the application's descriptor sets beside it.

use ash::vk;

use super::compute::{Attributes, Compute, PendingDraw, Position};
use crate::capture::MAX_XFB_BUFFERS;
use crate::lower::kernel::Kernel;
use crate::runtime::arena::Place;
use crate::runtime::descriptors::Purpose;
use crate::runtime::draws::CounterBuffer;
use crate::runtime::{Barrier, Pipeline, RuntimeError};
use crate::sysval::{Address, AttributeDescriptor, split};

/// Descriptor sets of the application.
#[derive(Debug)]
pub(super) struct BoundSets {
    first: u32,
    sets: Vec<vk::DescriptorSet>,
    dynamic_offsets: Vec<u32>,
}

impl<'a> Compute<'a> {
    /// Binds a variant of the pipeline, and what it reaches memory by.
    ///
    /// # Safety
    /// As [`Recorder::flush`](super::Recorder::flush).
    pub(super) unsafe fn bind(
        &mut self,
        pipeline: &Pipeline,
        raw: vk::Pipeline,
        set: Option<vk::DescriptorSet>,
    ) {
        let (device, point) = (self.ctx.device(), vk::PipelineBindPoint::COMPUTE);
        // SAFETY: the caller's contract.
        unsafe { device.cmd_bind_pipeline(self.cmd, point, raw) };
        let Some(set) = set else { return };
        if std::mem::take(&mut self.sets_disturbed) {
            for bound in &self.arena.pending.bound_sets {
                // SAFETY: the caller's contract.
                unsafe { self.bind_sets(pipeline, bound) };
            }
        }
        let (layout, number) = (pipeline.raw_layout(), pipeline.set_count());
        // SAFETY: the caller's contract; the layout has that set there.
        unsafe { device.cmd_bind_descriptor_sets(self.cmd, point, layout, number, &[set], &[]) };
    }

    /// # Safety
    /// As [`Recorder::bind_descriptor_sets`](super::Recorder::bind_descriptor_sets).
    pub(super) unsafe fn bind_descriptor_sets(
        &mut self,
        first: u32,
        sets: &[vk::DescriptorSet],
        dynamic_offsets: &[u32],
    ) {
        let Some(pipeline) = self.pipeline else { return };
        let (sets, dynamic_offsets) = (sets.to_vec(), dynamic_offsets.to_vec());
        let new = BoundSets { first, sets, dynamic_offsets };
        // SAFETY: the caller's contract.
        unsafe { self.bind_sets(pipeline, &new) };
        let end = |bound: &BoundSets| bound.first as usize + bound.sets.len();
        let bound = &mut self.arena.pending.bound_sets;
        bound.retain(|old| old.first < new.first || end(old) > end(&new));
        bound.push(new);
    }

    /// # Safety
    /// As [`Recorder::bind_descriptor_sets`](super::Recorder::bind_descriptor_sets).
    unsafe fn bind_sets(&self, pipeline: &Pipeline, bound: &BoundSets) {
        let (point, layout) = (vk::PipelineBindPoint::COMPUTE, pipeline.raw_layout());
        let BoundSets { first, sets, dynamic_offsets } = bound;
        let device = self.ctx.device();
        // SAFETY: the caller's contract.
        unsafe {
            device.cmd_bind_descriptor_sets(self.cmd, point, layout, *first, sets, dynamic_offsets);
        }
    }

    /// The pipeline, unless it has nothing to write to.
    pub(super) fn capturing(&self) -> Option<&'a Pipeline> {
        self.pipeline.filter(|_| self.targets.iter().any(Option::is_some))
    }

    /// Checks that the application's sets can be bound again behind kernels.
    pub(super) fn check_sets(&self) -> Result<(), RuntimeError> {
        let sets = self.capturing().map_or(0, Pipeline::set_count);
        let needed = sets > 0 && self.ctx.table().is_some();
        match needed && self.arena.pending.bound_sets.is_empty() {
            true => Err(RuntimeError::DescriptorSetsUnknown { sets }),
            false => Ok(()),
        }
    }

    /// Dispatches a kernel.
    ///
    /// # Safety
    /// As [`Recorder::flush`](super::Recorder::flush), and as
    /// [`Kernels::dispatch`](crate::runtime::Kernels::dispatch).
    pub(super) unsafe fn dispatch_kernel(
        &mut self,
        set: Option<vk::DescriptorSet>,
        kernel: Kernel,
        parameters: Place,
        workgroups: [u32; 2],
    ) {
        let (ctx, cmd) = (self.ctx, self.cmd);
        // SAFETY: the caller's contract.
        unsafe { self.kernels.dispatch(ctx, cmd, set, kernel, parameters.address, workgroups) };
        self.sets_disturbed = set.is_some();
        self.recorded.kernels += 1;
    }

    /// Finds descriptors for what the pending draws and `counters` reach, puts addresses for shaders in place
    /// of provisional ones, and places the vertex attributes beyond the inline ones. Targets, attributes and
    /// the counters to begin with may be other ones the next time, and are [resolved](Self::resolve) where
    /// they are used. Gives the counters.
    ///
    /// # Errors
    /// [`RuntimeError::ArenaFull`].
    pub(super) fn place_memory(
        &mut self,
        counters: [Address; MAX_XFB_BUFFERS],
    ) -> Result<[Address; MAX_XFB_BUFFERS], RuntimeError> {
        let mut draws = std::mem::take(&mut self.arena.pending.draws);
        let mut used: Vec<usize> = match self.capturing() {
            Some(_) => draws.iter().filter(|d| !d.is_query_end()).map(|d| d.attributes).collect(),
            None => Vec::new(),
        };
        // They never go back to earlier ones.
        used.dedup();
        if self.ctx.table().is_some() {
            self.assign(&draws, &used, counters);
        }
        for input in draws.iter_mut().map(|draw| &mut draw.input) {
            for address in input.buffers_mut() {
                *address = self.resolve(*address);
            }
        }
        self.arena.pending.draws = draws;
        for number in used {
            let (first, count) = self.arena.pending.attributes[number].others;
            if count > 0 {
                let others = &self.arena.pending.attribute_table[first..first + count];
                let others: Vec<_> = others.iter().map(|a| self.resolve_attribute(*a)).collect();
                let table = split(self.arena.push(&others)?.address);
                self.arena.pending.attributes[number].table = table;
            }
        }
        Ok(counters.map(|counter| self.resolve(counter)))
    }

    /// Finds descriptors for what draws of these attributes reach.
    fn assign(
        &mut self,
        draws: &[PendingDraw],
        used: &[usize],
        counters: [Address; MAX_XFB_BUFFERS],
    ) {
        let begun = match self.position {
            Position::Counters => self.counters,
            Position::Known(_) | Position::State(_) => Default::default(),
        };
        let mut addresses: Vec<Address> = counters.into_iter().chain(begun).collect();
        addresses.extend(self.targets.iter().flatten().map(|target| target.address));
        for draw in draws {
            let mut input = draw.input;
            addresses.extend(input.buffers_mut().map(|address| *address));
        }
        for number in used {
            let Attributes { inline, others: (first, count), .. } =
                self.arena.pending.attributes[*number];
            let others = &self.arena.pending.attribute_table[first..first + count];
            addresses.extend(inline.iter().chain(others).map(|attribute| attribute.address));
        }
        self.arena.assign(self.ctx, addresses.into_iter());
    }

    /// The address that shaders take.
    pub(super) fn resolve(&self, address: Address) -> Address {
        self.arena.resolve(self.ctx, address)
    }

    pub(super) fn resolve_attribute(&self, attribute: AttributeDescriptor) -> AttributeDescriptor {
        AttributeDescriptor { address: self.resolve(attribute.address), ..attribute }
    }

    /// Orders what follows behind what is recorded, where descriptors lie over more than is touched.
    ///
    /// # Safety
    /// As [`Recorder::flush`](super::Recorder::flush).
    pub(super) unsafe fn order(&mut self, is_needed: bool) {
        if is_needed {
            // SAFETY: the caller's contract.
            let barriers = unsafe { self.ctx.kernel_barrier(self.cmd, Barrier::Scarce) };
            self.recorded.barriers += barriers;
        }
    }

    /// The address of `size` bytes at `offset` of a buffer, to be [resolved](Self::resolve).
    ///
    /// # Safety
    /// As [`Arena::address`].
    pub(super) unsafe fn address(
        &mut self,
        purpose: Purpose,
        what: &str,
        buffer: vk::Buffer,
        offset: u64,
        size: u64,
    ) -> Result<u64, RuntimeError> {
        // SAFETY: the caller's contract.
        unsafe { self.arena.address(self.ctx, purpose, what, buffer, offset, size) }
    }

    /// # Safety
    /// The counters are live buffers with the usage that [`Context::counter_buffer_usage`] names.
    pub(super) unsafe fn counter_addresses(
        &mut self,
        counters: &[Option<CounterBuffer>],
    ) -> Result<[Address; MAX_XFB_BUFFERS], RuntimeError> {
        let mut addresses = [Address::default(); MAX_XFB_BUFFERS];
        for (number, (address, counter)) in addresses.iter_mut().zip(counters).enumerate() {
            if let Some(counter) = counter {
                let what = format!("counter {number}");
                // SAFETY: the caller's contract.
                let start = unsafe {
                    self.address(Purpose::State, &what, counter.buffer, counter.offset, 4)
                }?;
                *address = split(start);
            }
        }
        Ok(addresses)
    }
}
