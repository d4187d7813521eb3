//! The benchmark compares the speed of every backend with that of the driver's own capture, and
//! with that of a kernel that only moves the same bytes.
//!
//! It measures captures as an application records them: Begin, the draws, End, and the barrier
//! before the commands that read. The contestants are the [`Contestant`]s. In each round of a case
//! every contestant captures once, into the same buffers, in a separate submission and in rotating
//! order. So other load on the machine affects all contestants alike, and ratios of medians within
//! a case are more reliable than times.
//!
//! # What makes it reliable
//!
//! * No wrong capture is timed. Before a pipeline is timed, small captures with it are compared
//!   byte by byte with the model on the CPU
//!   ([`PrimitiveTopology::gather`](vkxfb_rewriter::topology::PrimitiveTopology::gather)). The warm-up
//!   capture of each case is compared, too: completely, or, if it is large, at its start, in its
//!   middle and at its end.
//! * The [`roofline`] kernel reads and writes exactly the bytes that a capture has to. Several
//!   variants of it are tried, and each case is compared with the fastest. Its results are checked,
//!   too.
//! * The shader of a case does little work: it reads 16 bytes per vertex, and computes each 16
//!   bytes of a record by an addition. It captures the position, so that the native capture
//!   computes nothing else than what is captured, except for the point size.
//! * The device's timestamps are first compared with the host's clock, and are not used if they do
//!   not cover the work.
//! * Native draws discard primitives before rasterization, and their render pass begins before the
//!   first timestamp.
//!
//! # Layout
//!
//! These modules need no device: [`case`] has the cases and the bytes that they move, [`plan`]
//! chooses the cases, and [`data`] has the contents of vertices and records. [`run`] runs a plan on
//! a device. [`report`] has the results, and `table` shows them.

mod by_hand;
pub mod case;
mod check;
mod clock;
pub mod compare;
mod contestant;
pub mod data;
mod memory;
mod pipelines;
pub mod plan;
pub mod report;
pub mod roofline;
pub mod run;
mod sample;
mod series;
mod state;
pub mod stats;
pub mod table;
mod vertices;

pub use contestant::Contestant;
