//! Tessellation: how patches are divided (`shaders/src/tessellator.rs`), by the CPU, by shaders and by the device itself; and
//! captures of random pipelines with tessellation shaders.
//!
//! | variable | |
//! |---|---|
//! | `VKXFB_LEVELS` | how many random sets of levels: by default 7,200 with `VKXFB_FULL=1`, and a quarter without |
//! | `VKXFB_TESSELLATION` | how many random pipelines: by default 60 to 200 with `VKXFB_FULL=1`, and a quarter without |
//! | `VKXFB_SEED` | the first seed of them, by default 0 |
//! | `VKXFB_TEST_VALIDATION=0` | without the validation layer |

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(missing_docs, reason = "no API")]

mod captures;
mod case;
#[path = "../common/mod.rs"]
mod common;
mod divide;
mod effects;
mod levels;
mod native;
mod program;
mod refused;
mod twin;
