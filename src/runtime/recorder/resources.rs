//! What a capture by compute reaches memory by, and the application's descriptor sets beside it.

use std::fmt;

use ash::vk;

use super::compute::{Attributes, Compute, Position};
use crate::capture::MAX_XFB_BUFFERS;
use crate::lower::kernel::Kernel;
use crate::runtime::arena::Place;
use crate::runtime::descriptors::Purpose;
use crate::runtime::draws::CounterBuffer;
use crate::runtime::{Barrier, Pipeline, RuntimeError};
use crate::sysval::{Address, AttributeDescriptor, split};

/// Descriptor sets of the application, as one command binds them.
#[derive(Debug, Default)]
struct SetRange {
    first: u32,
    sets: Vec<vk::DescriptorSet>,
    dynamic_offsets: Vec<u32>,
}

impl SetRange {
    const fn end(&self) -> usize {
        self.first as usize + self.sets.len()
    }

    /// Whether nothing is left of the other once this is bound.
    const fn covers(&self, old: &Self) -> bool {
        self.first <= old.first && old.end() <= self.end()
    }
}

/// The sets that are bound, in the order of their binding.
#[derive(Debug, Default)]
pub(super) struct BoundSets {
    /// Those behind `used` are there for their memory.
    ranges: Vec<SetRange>,
    used: usize,
}

impl BoundSets {
    pub(super) const fn clear(&mut self) {
        self.used = 0;
    }

    fn used(&self) -> &[SetRange] {
        self.ranges.get(..self.used).unwrap_or_default()
    }

    fn bind(&mut self, first: u32, sets: &[vk::DescriptorSet], dynamic_offsets: &[u32]) {
        if self.used == self.ranges.len() {
            self.ranges.push(SetRange::default());
        }
        let (old, unused) = self.ranges.split_at_mut(self.used);
        let Some(new) = unused.first_mut() else { return };
        new.first = first;
        new.sets.clear();
        new.sets.extend_from_slice(sets);
        new.dynamic_offsets.clear();
        new.dynamic_offsets.extend_from_slice(dynamic_offsets);
        let mut kept = 0;
        for number in 0..old.len() {
            if !new.covers(&old[number]) {
                old.swap(kept, number);
                kept += 1;
            }
        }
        self.ranges.swap(kept, self.used);
        self.used = kept + 1;
    }
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
            for bound in self.arena.pending.bound_sets.used() {
                let SetRange { first, sets, dynamic_offsets } = bound;
                // SAFETY: the caller's contract.
                unsafe { self.bind_sets(pipeline, *first, sets, dynamic_offsets) };
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
        // SAFETY: the caller's contract.
        unsafe { self.bind_sets(pipeline, first, sets, dynamic_offsets) };
        self.arena.pending.bound_sets.bind(first, sets, dynamic_offsets);
    }

    /// # Safety
    /// As [`Recorder::bind_descriptor_sets`](super::Recorder::bind_descriptor_sets).
    unsafe fn bind_sets(
        &self,
        pipeline: &Pipeline,
        first: u32,
        sets: &[vk::DescriptorSet],
        dynamic_offsets: &[u32],
    ) {
        let (point, layout) = (vk::PipelineBindPoint::COMPUTE, pipeline.raw_layout());
        let device = self.ctx.device();
        // SAFETY: the caller's contract.
        unsafe {
            device.cmd_bind_descriptor_sets(self.cmd, point, layout, first, sets, dynamic_offsets);
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
        match needed && self.arena.pending.bound_sets.used().is_empty() {
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
        let captures = self.capturing().is_some();
        let pending = &mut self.arena.pending;
        if captures {
            let capturing = pending.draws.iter().filter(|draw| !draw.is_query_end());
            pending.used_attributes.extend(capturing.map(|draw| draw.attributes));
            // They never go back to earlier ones.
            pending.used_attributes.dedup();
        }
        if self.ctx.table().is_some() {
            self.assign(counters);
        }
        for number in 0..self.arena.pending.draws.len() {
            let mut input = self.arena.pending.draws[number].input;
            for address in input.buffers_mut() {
                *address = self.resolve(*address);
            }
            self.arena.pending.draws[number].input = input;
        }
        for number in 0..self.arena.pending.used_attributes.len() {
            self.place_others(self.arena.pending.used_attributes[number])?;
        }
        Ok(counters.map(|counter| self.resolve(counter)))
    }

    /// Places attributes beyond the inline ones.
    fn place_others(&mut self, number: usize) -> Result<(), RuntimeError> {
        let (first, count) = self.arena.pending.attributes[number].others;
        if count == 0 {
            return Ok(());
        }
        let mut others = std::mem::take(&mut self.arena.pending.descriptors);
        others.clear();
        let table = &self.arena.pending.attribute_table[first..first + count];
        others.extend(table.iter().map(|attribute| self.resolve_attribute(*attribute)));
        let place = self.arena.push(&others);
        self.arena.pending.descriptors = others;
        self.arena.pending.attributes[number].table = split(place?.address);
        Ok(())
    }

    /// Finds descriptors for what the pending draws reach.
    fn assign(&mut self, counters: [Address; MAX_XFB_BUFFERS]) {
        let begun = match self.position {
            Position::Counters => self.counters,
            Position::Known(_) | Position::State(_) => Default::default(),
        };
        let mut addresses = std::mem::take(&mut self.arena.pending.addresses);
        addresses.extend(counters.into_iter().chain(begun));
        addresses.extend(self.targets.iter().flatten().map(|target| target.address));
        let pending = &self.arena.pending;
        for draw in &pending.draws {
            let mut input = draw.input;
            addresses.extend(input.buffers_mut().map(|address| *address));
        }
        for number in &pending.used_attributes {
            let Attributes { inline, others: (first, count), .. } = pending.attributes[*number];
            let others = &pending.attribute_table[first..first + count];
            addresses.extend(inline.iter().chain(others).map(|attribute| attribute.address));
        }
        self.arena.assign(self.ctx, &addresses);
        self.arena.pending.addresses = addresses;
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
    /// As [`Arena::address`](crate::runtime::Arena::address).
    pub(super) unsafe fn address(
        &mut self,
        purpose: Purpose,
        what: fmt::Arguments<'_>,
        buffer: vk::Buffer,
        offset: u64,
        size: u64,
    ) -> Result<u64, RuntimeError> {
        // SAFETY: the caller's contract.
        unsafe { self.arena.address(self.ctx, purpose, what, buffer, offset, size) }
    }

    /// # Safety
    /// The counters are live buffers with the usage that
    /// [`Context::counter_buffer_usage`](crate::runtime::Context::counter_buffer_usage) names.
    pub(super) unsafe fn counter_addresses(
        &mut self,
        counters: &[Option<CounterBuffer>],
    ) -> Result<[Address; MAX_XFB_BUFFERS], RuntimeError> {
        let mut addresses = [Address::default(); MAX_XFB_BUFFERS];
        for (number, (address, counter)) in addresses.iter_mut().zip(counters).enumerate() {
            if let Some(counter) = counter {
                let what = format_args!("counter {number}");
                // SAFETY: the caller's contract.
                let start = unsafe {
                    self.address(Purpose::State, what, counter.buffer, counter.offset, 4)
                }?;
                *address = split(start);
            }
        }
        Ok(addresses)
    }
}
