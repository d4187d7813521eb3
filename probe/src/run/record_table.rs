//! The records and primitives that the draws of a batch should write.

use std::borrow::Cow;
use std::collections::BTreeMap;

use vkxfb_rewriter::capture::MAX_XFB_BUFFERS;

use crate::diagnose::Sequence;
use crate::emission::Emission;
use crate::plan::CaseGroup;
use crate::run::error::BatchError;

/// The numbers of vertices and instances of a draw.
pub(super) type DrawSize = (u32, u32);

/// The stride of each buffer. `None` for a buffer that is not captured to.
pub(super) type Strides = [Option<u32>; MAX_XFB_BUFFERS];

pub(super) type Buffers = [Vec<u8>; MAX_XFB_BUFFERS];

/// The records and primitives that the draws of a batch (draws that are submitted together) should write.
pub(super) struct RecordTable {
    pub(super) records: TableRecords,
    /// The draws whose records cannot be known, with the reason: their reference records were not
    /// captured correctly, or differ from those of another backend.
    pub(super) faults: BTreeMap<DrawSize, BatchError>,
}

pub(super) enum TableRecords {
    /// The records of one of the probe's vertex shaders, for all vertices of the largest draw.
    Formulas { vertices: u32, instances: u32, strides: Strides, records: Buffers },
    /// The records of a vertex shader from a file, by draw. They are captured for each draw on its
    /// own, because what a shader reads may depend on the size of the draw.
    Captured(BTreeMap<DrawSize, Buffers>),
    /// The vertices and primitives that a geometry shader emits, by draw and vertex stream. They
    /// differ between draws: the last primitive of a strip with adjacency depends on the length of
    /// the strip.
    Emitted(BTreeMap<(DrawSize, u32), Emission>),
}

/// The records and primitives that a draw should write to the buffers of a vertex stream.
pub(super) struct Expected<'a> {
    pub(super) sequence: Sequence<'a>,
    pub(super) instance_count: u32,
    pub(super) records: [Cow<'a, [u8]>; MAX_XFB_BUFFERS],
}

impl From<TableRecords> for RecordTable {
    fn from(records: TableRecords) -> Self {
        Self { records, faults: BTreeMap::new() }
    }
}

impl RecordTable {
    /// Returns the reason why the records of a draw of the batch cannot be known. `None` if they are known.
    pub(super) fn fault(&self, draw: DrawSize) -> Option<&BatchError> {
        self.faults.get(&draw)
    }

    /// Returns the records and primitives that a draw of the batch should write to the buffers of a vertex stream.
    /// There are none if the draw is not in the batch.
    pub(super) fn of(
        &self,
        group: &CaseGroup<'_>,
        (vertices, instances): DrawSize,
        stream: u32,
    ) -> Expected<'_> {
        let nothing = || Expected {
            sequence: group.assembled(0),
            instance_count: 0,
            records: [const { Cow::Borrowed(&[]) }; MAX_XFB_BUFFERS],
        };
        let sequence = group.assembled(vertices);
        match &self.records {
            TableRecords::Emitted(draws) => draws
                .get(&((vertices, instances), stream))
                .map_or_else(nothing, |emission| Expected {
                    sequence: emission.sequence(),
                    instance_count: emission.instance_count,
                    records: emission.records.each_ref().map(|r| r.as_slice().into()),
                }),
            TableRecords::Captured(draws) => {
                draws.get(&(vertices, instances)).map_or_else(nothing, |records| Expected {
                    sequence,
                    instance_count: instances,
                    records: records.each_ref().map(|r| r.as_slice().into()),
                })
            }
            TableRecords::Formulas { vertices: most, instances: all, strides, records } => {
                let records = std::array::from_fn(|buffer| {
                    let bytes = &records[buffer];
                    if (vertices, instances) == (*most, *all) {
                        return bytes.as_slice().into();
                    }
                    let stride = strides[buffer].unwrap_or(0);
                    first_of_instances(bytes, stride, *most, (vertices, instances)).into()
                });
                Expected { sequence, instance_count: instances, records }
            }
        }
    }

    /// Returns the number of primitives that a draw of the batch writes to the buffers of a vertex
    /// stream if all primitives fit.
    pub(super) fn primitives(&self, group: &CaseGroup<'_>, draw: DrawSize, stream: u32) -> u64 {
        match &self.records {
            TableRecords::Formulas { .. } | TableRecords::Captured(_) => {
                group.topology.primitive_count(draw.0) * u64::from(draw.1)
            }
            TableRecords::Emitted(draws) => {
                draws.get(&(draw, stream)).map_or(0, Emission::primitive_count)
            }
        }
    }
}

/// Returns the records of the first `vertices` vertices of each of the first `instances` instances.
/// `records` has `all` vertices for each instance.
pub(super) fn first_of_instances(
    records: &[u8],
    stride: u32,
    all: u32,
    (vertices, instances): DrawSize,
) -> Vec<u8> {
    let (per_instance, taken) =
        (all as usize * stride as usize, vertices as usize * stride as usize);
    let instance = |i: usize| records.get(i * per_instance..i * per_instance + taken);
    (0..instances as usize).flat_map(|i| instance(i).unwrap_or_default()).copied().collect()
}
