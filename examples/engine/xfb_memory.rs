//! The engine's memory, as vkxfb takes it. Those who have an allocator of `gpu-allocator` need none of this.

use vkxfb::runtime::{Allocation, AllocationRequest, MemoryAllocator};
use vkxfb::{MemoryLocation, RuntimeError};

use super::memory::Memory;

// SAFETY: `take` gives each piece once, with the requirements that were asked for; what the host reaches stays mapped,
// and is coherent.
unsafe impl MemoryAllocator for Memory<'_> {
    unsafe fn allocate(
        &mut self,
        request: &AllocationRequest<'_>,
    ) -> Result<Allocation, RuntimeError> {
        let AllocationRequest { name, requirements, location, .. } = *request;
        let is_mapped = location != MemoryLocation::Device;
        // SAFETY: the caller's contract.
        let piece = unsafe { self.take(requirements, is_mapped) }.map_err(|error| {
            let (name, size) = (name.to_owned(), requirements.size);
            RuntimeError::Allocation { name, size, source: error.into() }
        })?;
        let (memory, offset, size, mapped) = (piece.memory, piece.offset, piece.size, piece.mapped);
        let allocation = Allocation::new(memory, offset, size, Box::new(piece.block));
        Ok(allocation.mapped(mapped, is_mapped))
    }

    unsafe fn free(&mut self, allocation: Allocation) {
        if let Some(block) = allocation.backing.downcast_ref::<usize>() {
            self.give_back(*block, allocation.size);
        }
    }
}
