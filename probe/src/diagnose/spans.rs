//! Splits a record into the bytes of outputs with defined values, and the gaps that must not be written.

use std::ops::Range;

use vkxfb_rewriter::capture::Layout;

use crate::diagnose::inputs::DiagnoseError;

/// The byte ranges of outputs with defined values, and then the byte ranges that no output covers, in the part of a
/// record that is in one capture buffer. Outputs with undefined values are in neither list.
pub(super) type SplitRecord = (Vec<Range<usize>>, Vec<Range<usize>>);

pub(super) fn split_record(
    layout: &Layout,
    undefined: &[usize],
    buffer: u32,
    stride: u32,
) -> Result<SplitRecord, DiagnoseError> {
    let mut outputs: Vec<(Range<usize>, bool)> = layout
        .outputs
        .iter()
        .enumerate()
        .filter(|(_, o)| o.buffer == buffer)
        .map(|(index, o)| {
            let end = u64::from(o.offset) + u64::from(o.size());
            (o.offset as usize..end as usize, !undefined.contains(&index))
        })
        .collect();
    outputs.sort_by_key(|(range, _)| range.start);
    let mut defined: Vec<Range<usize>> = Vec::new();
    let mut gaps = Vec::new();
    let mut end = 0;
    for (range, is_defined) in outputs {
        if range.end > stride as usize {
            let end = range.end as u64;
            return Err(DiagnoseError::Output { buffer, end, stride });
        }
        if range.start > end {
            gaps.push(end..range.start);
        }
        match defined.last_mut() {
            _ if !is_defined => {}
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => defined.push(range.clone()),
        }
        end = end.max(range.end);
    }
    if end < stride as usize {
        gaps.push(end..stride as usize);
    }
    Ok((defined, gaps))
}
