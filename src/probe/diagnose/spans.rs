//! Which bytes of a record outputs cover, and which nobody may touch.

use std::ops::Range;

use crate::capture::Layout;

use super::DiagnoseError;

/// A record of one buffer as the runs of bytes that outputs cover, and the gaps between them.
pub(super) type SplitRecord = (Vec<Range<usize>>, Vec<Range<usize>>);

pub(super) fn split_record(
    layout: &Layout,
    buffer: u32,
    stride: u32,
) -> Result<SplitRecord, DiagnoseError> {
    let mut outputs: Vec<_> = layout
        .outputs_of(buffer as usize)
        .map(|o| o.offset as usize..(u64::from(o.offset) + u64::from(o.size())) as usize)
        .collect();
    outputs.sort_by_key(|r| r.start);
    let mut covered: Vec<Range<usize>> = Vec::new();
    let mut gaps = Vec::new();
    let mut end = 0;
    for range in outputs {
        if range.end > stride as usize {
            let end = u32::try_from(range.end).unwrap_or(u32::MAX);
            return Err(DiagnoseError::Output { buffer, end, stride });
        }
        match covered.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => {
                if range.start > end {
                    gaps.push(end..range.start);
                }
                covered.push(range.clone());
            }
        }
        end = end.max(range.end);
    }
    if end < stride as usize {
        gaps.push(end..stride as usize);
    }
    Ok((covered, gaps))
}
