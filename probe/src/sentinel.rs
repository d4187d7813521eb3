//! The bytes with which an allocation is filled before a capture. Bytes that still have these
//! values were not written.
//!
//! With a constant fill, a store of that constant, a copy from another place in the allocation, or
//! a clear could go unnoticed. So every dword is a hash of its buffer and its offset. Captured data
//! equals the sentinel at its place only with a probability of 2^-32, and a sentinel that was
//! copied to another place is recognized.
//!
//! Sentinels are copied to the capture buffers, and after the capture the buffers are copied to the
//! readback memory. Before each copy, its destination is filled with one of the constants of
//! [`Fill`]. If such a constant is still in the result, it shows which step did nothing.

#![forbid(unsafe_code)]

/// The sentinel of the dword that starts `dword * 4` bytes into the allocation of a capture buffer.
pub const fn dword(buffer: u32, dword: u64) -> u32 {
    // The hash is the finalizer of SplitMix64, which maps 0 to 0. Because of the addition, dword 0 of
    // buffer 0 has a sentinel other than 0, too.
    let mut x = (dword ^ ((buffer as u64) << 56)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x ^ (x >> 31)) as u32
}

/// The sentinel of the byte that is `offset` bytes into the allocation.
pub const fn byte(buffer: u32, offset: u64) -> u8 {
    dword(buffer, offset / 4).to_le_bytes()[(offset % 4) as usize]
}

/// Fills an allocation with sentinels.
pub fn fill(buffer: u32, allocation: &mut [u8]) {
    for (index, chunk) in (0u64..).zip(allocation.chunks_mut(4)) {
        let bytes = dword(buffer, index).to_le_bytes();
        chunk.copy_from_slice(&bytes[..chunk.len()]);
    }
}

/// The constant dwords with which memory is filled before it is copied to. If the copy does
/// nothing, the constant remains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    /// The host fills the readback memory before the submission.
    BeforeSubmission,
    /// The device fills the capture buffers before the sentinels are copied to them.
    BeforeCopyIn,
    /// The device fills the readback memory before the capture is copied to it.
    BeforeCopyBack,
}

impl Fill {
    /// The dword that is repeated in the filled memory.
    pub const fn dword(self) -> u32 {
        match self {
            Self::BeforeSubmission => 0x8f1b_bcdc,
            Self::BeforeCopyIn => 0x6ed9_eba1,
            Self::BeforeCopyBack => 0xca62_c1d6,
        }
    }

    /// Fills `bytes` with the constant. The first byte of `bytes` is the first byte of a dword.
    pub fn fill(self, bytes: &mut [u8]) {
        let dword = self.dword().to_le_bytes();
        for chunk in bytes.chunks_mut(dword.len()) {
            chunk.copy_from_slice(&dword[..chunk.len()]);
        }
    }

    /// Whether `bytes` is not empty and contains only the constant. `bytes` starts `offset` bytes
    /// into the memory that was filled.
    pub fn covers(self, offset: u64, bytes: &[u8]) -> bool {
        let dword = self.dword().to_le_bytes();
        let is_filled = |(at, byte): (u64, &u8)| *byte == dword[(at % 4) as usize];
        !bytes.is_empty() && (offset..).zip(bytes).all(is_filled)
    }
}

/// Returns the offset in the allocation of the first byte that differs from its sentinel (the byte from before the
/// capture). `None` if none differs. `bytes` starts `offset` bytes into the allocation.
pub fn first_touched(buffer: u32, offset: u64, bytes: &[u8]) -> Option<u64> {
    let head = bytes.len().min(((4 - offset % 4) % 4) as usize);
    let (head, rest) = bytes.split_at(head);
    let in_bytes = |start: u64, bytes: &[u8]| {
        (start..).zip(bytes).find_map(|(at, b)| (*b != byte(buffer, at)).then_some(at))
    };
    in_bytes(offset, head).or_else(|| {
        let aligned = offset + head.len() as u64;
        (aligned / 4..)
            .zip(rest.chunks(4))
            .find(|(index, chunk)| **chunk != dword(buffer, *index).to_le_bytes()[..chunk.len()])
            .and_then(|(index, chunk)| in_bytes(index * 4, chunk))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fills_are_told_apart_at_every_offset() {
        let all = [Fill::BeforeSubmission, Fill::BeforeCopyIn, Fill::BeforeCopyBack];
        for fill in all {
            let mut bytes = vec![0; 23];
            fill.fill(&mut bytes);
            for start in 0..9 {
                let rest = &bytes[start as usize..];
                assert!(all.iter().all(|other| other.covers(start, rest) == (*other == fill)));
                assert!(!fill.covers(start + 1, rest), "{fill:?}");
            }
            assert!(!fill.covers(0, &[]));
            bytes[22] ^= 1;
            assert!(!fill.covers(0, &bytes));
        }
    }

    #[test]
    fn first_touched_finds_every_byte() {
        let mut bytes = vec![0; 61];
        fill(2, &mut bytes);
        for start in 0..9 {
            assert_eq!(first_touched(2, start, &bytes[start as usize..]), None);
            for at in start as usize..bytes.len() {
                bytes[at] ^= 0x10;
                assert_eq!(first_touched(2, start, &bytes[start as usize..]), Some(at as u64));
                bytes[at] ^= 0x10;
            }
        }
        assert_eq!(first_touched(1, 0, &bytes), Some(0), "another buffer, another sentinel");
    }
}
