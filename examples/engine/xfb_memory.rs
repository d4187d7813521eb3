//! The engine's memory, as vkxfb takes it. Those who have an allocator of `gpu-allocator` need none of this.

use std::error::Error;

use vkxfb::MemoryLocation;
use vkxfb::runtime::{Allocation, AllocationRequest, MemoryAllocator};

use super::memory::{Memory, Piece};

// SAFETY: `take` gives each piece once, with the requirements that were asked for; what the host reaches stays mapped,
// and is coherent.
unsafe impl MemoryAllocator for Memory<'_> {
    unsafe fn allocate(
        &mut self,
        request: &AllocationRequest<'_>,
    ) -> Result<Allocation, Box<dyn Error + Send + Sync>> {
        let is_mapped = request.location != MemoryLocation::Device;
        let Piece { memory, offset, size, mapped, block } =
            unsafe { self.take(request.requirements, is_mapped) }?;
        Ok(Allocation {
            memory,
            offset,
            size,
            mapped,
            coherent: is_mapped,
            backing: Box::new(block),
        })
    }

    unsafe fn free(&mut self, allocation: Allocation) {
        if let Some(block) = allocation.backing.downcast_ref::<usize>() {
            self.give_back(*block, allocation.size);
        }
    }
}
