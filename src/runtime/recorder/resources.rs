//! What a capture by compute reaches memory by, and the application's descriptor sets beside it.

use std::fmt;

use ash::vk;

use super::checks::check_set_range;
use super::compute::{Attributes, Compute, Position};
use super::sets::SetArguments;
use crate::capture::MAX_XFB_BUFFERS;
use crate::lower::kernel::Kernel;
use crate::runtime::arena::Place;
use crate::runtime::descriptors::Purpose;
use crate::runtime::draws::CounterBuffer;
use crate::runtime::{Barrier, Context, Pipeline, RuntimeError};
use crate::sysval::{Address, AttributeDescriptor, split};

/// Records `vkCmdBindDescriptorSets`.
///
/// # Safety
/// As [`Recorder::bind_descriptor_sets`](super::Recorder::bind_descriptor_sets).
pub(super) unsafe fn bind_sets(
    ctx: &Context,
    cmd: vk::CommandBuffer,
    pipeline: &Pipeline,
    SetArguments { first, sets, dynamic_offsets }: SetArguments<'_>,
) {
    let (point, layout) = (pipeline.bind_point(), pipeline.raw_layout());
    // SAFETY: the caller's contract.
    unsafe {
        ctx.device().cmd_bind_descriptor_sets(cmd, point, layout, first, sets, dynamic_offsets);
    }
}

impl<'a> Compute<'a> {
    /// # Errors
    /// [`RuntimeError::DescriptorSetRange`].
    pub(super) fn bind_descriptor_sets(
        &mut self,
        arguments: SetArguments<'_>,
    ) -> Result<(), RuntimeError> {
        let Some(pipeline) = self.pipeline else { return Ok(()) };
        check_set_range(pipeline, arguments.first, arguments.sets)?;
        self.arena.pending.sets.bind(arguments);
        Ok(())
    }

    /// Binds the application's sets of a snapshot, as far as dispatches do not find them.
    ///
    /// # Safety
    /// As [`Recorder::flush`](super::Recorder::flush).
    pub(super) unsafe fn bind_application_sets(&mut self, pipeline: &Pipeline, snapshot: usize) {
        while let Some(arguments) = self.arena.pending.sets.next_command(snapshot) {
            // SAFETY: the caller's contract.
            unsafe { bind_sets(self.ctx, self.cmd, pipeline, arguments) };
        }
    }

    /// Binds what captures reach memory by, where there are no device addresses.
    ///
    /// # Safety
    /// As [`Recorder::flush`](super::Recorder::flush).
    pub(super) unsafe fn bind_table(&self, pipeline: &Pipeline, set: Option<vk::DescriptorSet>) {
        let Some(set) = set else { return };
        let first = pipeline.set_count();
        let arguments = SetArguments { first, sets: &[set], dynamic_offsets: &[] };
        // SAFETY: the caller's contract; the layout has that set there.
        unsafe { bind_sets(self.ctx, self.cmd, pipeline, arguments) };
    }

    /// The pipeline, unless it has nothing to write to.
    pub(super) fn capturing(&self) -> Option<&'a Pipeline> {
        self.pipeline.filter(|_| self.targets.iter().any(Option::is_some))
    }

    /// Checks that draws of a state read no set that kernels have taken the place of.
    pub(super) fn check_sets(&self, state: usize) -> Result<(), RuntimeError> {
        let Some(pipeline) = self.capturing().filter(|_| self.ctx.table().is_some()) else {
            return Ok(());
        };
        let pending = &self.arena.pending;
        let snapshot = pending.states[state].sets;
        let mut used = pipeline.used_sets().iter();
        match used.find(|set| !pending.sets.is_set_bound(snapshot, **set)) {
            Some(&set) => Err(RuntimeError::DescriptorSetUnknown { set }),
            None => Ok(()),
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
            let states = &pending.states;
            pending.used_attributes.extend(capturing.map(|draw| states[draw.state].attributes));
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
