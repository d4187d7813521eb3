//! Memory: buffers and what allocates them, the arena that recordings take memory from, how shaders reach buffers (by
//! addresses or through the windows of descriptors), and the destruction of objects.

pub(crate) mod addresses;
pub(crate) mod arena;
pub(crate) mod buffers;
pub(crate) mod descriptors;
pub(crate) mod destroy;
pub(crate) mod simple_allocator;
pub(crate) mod window_table;
