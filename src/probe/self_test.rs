//! Self test.
