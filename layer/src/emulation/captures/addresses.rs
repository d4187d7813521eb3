//! Methods of `Captures` for commands that take device addresses in place of buffers.

use vkxfb::runtime::{ByteCountDraw, ConditionalRendering, CounterBuffer, IndirectDraw};

use super::{Captures, Forward};
use crate::emulation::pipelines::PipelineError;
use crate::emulation::state::BUFFERS;
use crate::registry::vk;

/// Returns the addresses of counters, indexed by the number of the capture buffer. `None` for a capture buffer without
/// a counter: `infos` has no element for it, or one with a null address or a range of size 0.
fn counter_addresses(
    first: u32,
    infos: &[vk::BindTransformFeedbackBuffer2InfoEXT],
) -> [Option<vk::DeviceAddress>; BUFFERS] {
    let mut addresses = [None; BUFFERS];
    for (info, address) in infos.iter().zip(addresses.iter_mut().skip(first as usize)) {
        let range = info.address_range;
        *address = (range.size != 0 && range.address != 0).then_some(range.address);
    }
    addresses
}

impl Captures {
    /// Returns the buffer that contains an address, and the offset of the address in that buffer.
    /// For a null address the buffer is null. If no buffer contains the address, recording fails,
    /// and the result is `None`.
    pub(crate) fn buffer_at(
        &mut self,
        what: &str,
        address: vk::DeviceAddress,
    ) -> Option<(vk::Buffer, u64)> {
        if address == 0 {
            return Some((vk::Buffer::null(), 0));
        }
        let found = self.emulation.objects().addresses.find(address);
        if found.is_none() {
            self.refuse(what, PipelineError::Address(address));
        }
        found
    }

    pub(crate) fn bind_index_buffer3(&mut self, info: &vk::BindIndexBuffer3InfoKHR) {
        let range = info.address_range;
        if let Some((buffer, offset)) = self.buffer_at("vkCmdBindIndexBuffer3KHR", range.address) {
            self.bind_index_buffer(buffer, offset, range.size, info.index_type);
        }
    }

    pub(crate) fn bind_vertex_buffers3(
        &mut self,
        first: u32,
        infos: &[vk::BindVertexBuffer3InfoKHR],
    ) {
        for (binding, info) in (first..).zip(infos) {
            let range = info.address_range;
            let found = self.buffer_at("vkCmdBindVertexBuffers3KHR", range.address);
            let Some((buffer, offset)) = found else { return };
            let stride = [range.stride];
            let strides = if info.set_stride == vk::TRUE { &stride[..] } else { &[] };
            self.bind_vertex_buffers(binding, &[buffer], &[offset], &[range.size], strides);
        }
    }

    pub(crate) fn indirect_draw2(
        &mut self,
        what: &str,
        info: &vk::DrawIndirect2InfoKHR,
    ) -> Option<IndirectDraw> {
        let (range, draw_count) = (info.address_range, info.draw_count);
        let (buffer, offset) = self.buffer_at(what, range.address)?;
        Some(IndirectDraw { buffer, offset, draw_count, stride: range.stride as u32, count: None })
    }

    pub(crate) fn indirect_count_draw2(
        &mut self,
        what: &str,
        info: &vk::DrawIndirectCount2InfoKHR,
    ) -> Option<IndirectDraw> {
        let (range, draw_count) = (info.address_range, info.max_draw_count);
        let (buffer, offset) = self.buffer_at(what, range.address)?;
        let count = Some(self.buffer_at(what, info.count_address_range.address)?);
        Some(IndirectDraw { buffer, offset, draw_count, stride: range.stride as u32, count })
    }

    pub(crate) fn begin_conditional_rendering2(
        &mut self,
        info: &vk::ConditionalRenderingBeginInfo2EXT,
    ) {
        let what = "vkCmdBeginConditionalRendering2EXT";
        if let Some((buffer, offset)) = self.buffer_at(what, info.address_range.address) {
            let inverted = info.flags.contains(vk::ConditionalRenderingFlagsEXT::INVERTED);
            self.state.set_condition(Some(ConditionalRendering { buffer, offset, inverted }));
        }
    }

    pub(crate) fn bind_capture_buffers2(
        &mut self,
        first: u32,
        infos: &[vk::BindTransformFeedbackBuffer2InfoEXT],
    ) {
        for (number, info) in (first..).zip(infos) {
            let range = info.address_range;
            let found = self.buffer_at("vkCmdBindTransformFeedbackBuffers2EXT", range.address);
            let Some((buffer, offset)) = found else { return };
            self.bind_capture_buffers(number, &[buffer], &[offset], &[range.size]);
        }
    }

    /// Returns the counter buffers, indexed by the number of the capture buffer. `None` for a capture buffer without a
    /// counter. If no buffer contains the address of a counter, recording fails.
    pub(crate) fn counters2(
        &mut self,
        what: &str,
        first: u32,
        infos: &[vk::BindTransformFeedbackBuffer2InfoEXT],
    ) -> [Option<CounterBuffer>; BUFFERS] {
        counter_addresses(first, infos).map(|address| {
            let (buffer, offset) = self.buffer_at(what, address?)?;
            Some(CounterBuffer { buffer, offset })
        })
    }

    /// # Safety
    /// The contract of the command.
    pub(crate) unsafe fn draw_byte_count2(
        &mut self,
        [instance_count, first_instance]: [u32; 2],
        info: &vk::BindTransformFeedbackBuffer2InfoEXT,
        [counter_offset, vertex_stride]: [u32; 2],
    ) -> Forward {
        let what = "vkCmdDrawIndirectByteCount2EXT";
        let Some((buffer, offset)) = self.buffer_at(what, info.address_range.address) else {
            return Forward::No;
        };
        // SAFETY: the caller's contract.
        unsafe {
            self.draw_byte_count(ByteCountDraw {
                instance_count,
                first_instance,
                counter: CounterBuffer { buffer, offset },
                counter_offset,
                vertex_stride,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_without_bytes_are_no_counters() {
        let info = |address, size| {
            // SAFETY: zeros are a value of all members.
            let mut info: vk::BindTransformFeedbackBuffer2InfoEXT = unsafe { std::mem::zeroed() };
            (info.address_range.address, info.address_range.size) = (address, size);
            info
        };
        let infos = [info(1000, 4), info(1004, 0), info(0, 4)];
        assert_eq!(counter_addresses(1, &infos), [None, Some(1000), None, None]);
        // Counters of capture buffers that do not exist are ignored.
        assert_eq!(counter_addresses(3, &infos), [None, None, None, Some(1000)]);
    }
}
