//! What differs for programs and for the driver where the layer draws geometry shaders, on devices whose driver has no
//! such stage. The driver gets a vertex shader in place of the vertex and the geometry shader. So what programs say of the
//! geometry stage is said to the driver of the vertex stage, or not at all.
//!
//! * `features` has the features and limits that programs see.
//! * `stages` translates the stages of dependencies, and `shader_stages` those of descriptors and push constants.
//!
//! These modules know no devices: whether geometry shaders are drawn there is decided by
//! `CaptureSupport::draws_geometry`, and by what the program enables.

pub(crate) mod features;
pub(crate) mod shader_stages;
pub(crate) mod stages;
