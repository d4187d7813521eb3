//! SPIR-V modules at word level.
