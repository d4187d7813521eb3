//! The benchmark: every backend beside the driver's own capture and beside a kernel that only moves the
//! same bytes.
//!
//! What is measured is a capture as an application sees it: Begin, the draws, End and the barrier to who
//! reads it. The contestants are the [`Contestant`]s. In each round of a case every one of them captures
//! once, into the same buffers and in a submission of its own, in an order that rotates; so whatever
//! disturbs the machine disturbs all alike, and the ratios of medians within a case are worth more than
//! its times.
//!
//! # What keeps it honest
//!
//! * Nothing wrong is timed. Before a pipeline is timed, small captures with it are compared byte for byte
//!   with the CPU twin ([`PrimitiveTopology::gather`](vkxfb::topology::PrimitiveTopology::gather)), and
//!   the warm-up capture of each case is compared as well: whole, or where it is large at its start, its
//!   middle and its end.
//! * The [`roofline`] reads and writes exactly the bytes that a capture has to. It is tried in several
//!   shapes, and the fastest for a case is the one that the case is held against. It is checked, too.
//! * Vertices are cheap: 16 bytes are pulled, and an addition makes each 16 bytes captured. Position is
//!   captured, so that native computes nothing in vain but the size of points.
//! * The device's timestamps are held against the host's clock first, and are not used where they do
//!   not cover its work.
//! * Native draws discard rasterization, and their render pass begins before the first timestamp.
//!
//! # Layout
//!
//! [`case`] says what is captured and how many bytes that moves, [`plan`] which cases there are, [`data`]
//! what vertices hold and what is captured of them: all without a device. [`run`] runs a plan on one.
//! [`report`] is the result for machines, [`plot`] and `table` show it.

pub mod case;
mod check;
mod clock;
pub mod compare;
mod contestant;
pub mod data;
mod memory;
mod pipelines;
pub mod plan;
pub mod plot;
pub mod report;
pub mod roofline;
pub mod run;
mod sample;
mod series;
pub mod stats;
pub mod table;

pub use contestant::Contestant;
