//! Table.
