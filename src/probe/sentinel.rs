//! The bytes that a capture allocation holds before a capture, so that whatever was not written
//! shows.
//!
//! A constant fill would hide a store of that constant, a copy from one place to another, and a
//! clear. So every dword is a hash of its buffer and its place: captured data equals the sentinel of
//! the dword that it lands on by a chance of 2^-32, and a sentinel that was moved is no sentinel.

#![forbid(unsafe_code)]

/// The sentinel of the dword that starts `dword * 4` bytes into the allocation of a capture buffer.
pub const fn dword(buffer: u32, dword: u64) -> u32 {
    // The finaliser of SplitMix64; the offset keeps (0, 0) away from its fixed point.
    let mut x = (dword ^ ((buffer as u64) << 56)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x ^ (x >> 31)) as u32
}

/// The sentinel of one byte, `offset` bytes into the allocation.
pub const fn byte(buffer: u32, offset: u64) -> u8 {
    dword(buffer, offset / 4).to_le_bytes()[(offset % 4) as usize]
}

/// Fills an allocation from its first byte.
pub fn fill(buffer: u32, allocation: &mut [u8]) {
    for (index, chunk) in (0u64..).zip(allocation.chunks_mut(4)) {
        let bytes = dword(buffer, index).to_le_bytes();
        chunk.copy_from_slice(&bytes[..chunk.len()]);
    }
}

/// The first byte of `bytes` that is not its sentinel; `bytes` starts `offset` bytes into the
/// allocation, and so does the result count.
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
