// Functions that cannot be written in WGSL. The linker replaces their bodies; the bodies here only
// complete the signatures.

// -- Memory. An address consists of two dwords that are not both 0; its meaning depends on the
// resource plan (src/lower/resources.rs). Callers test for 0: by descriptors it would be an address in
// the first buffer. Invocations of a workgroup that access memory together
// must access the same buffer.

fn load1(address: vec2<u32>) -> u32 { return 0u; }
fn load2(address: vec2<u32>) -> vec2<u32> { return vec2<u32>(); }
fn load3(address: vec2<u32>) -> vec3<u32> { return vec3<u32>(); }
fn load4(address: vec2<u32>) -> vec4<u32> { return vec4<u32>(); }

// Loads the byte at an address, which need not be aligned. Only where `may_load_bytes`, and from a
// buffer that no shader of the dispatch writes.
fn load_byte(address: vec2<u32>) -> u32 { return 0u; }

// Stores at `address` plus `index` dwords. The index is extended to 64 bits where addresses have as
// many, for each store: one that is constant costs nothing.
fn store1(address: vec2<u32>, index: u32, value: u32) {}
fn store2(address: vec2<u32>, index: u32, value: vec2<u32>) {}
fn store3(address: vec2<u32>, index: u32, value: vec3<u32>) {}
fn store4(address: vec2<u32>, index: u32, value: vec4<u32>) {}

// The same if invocations may access different buffers.
fn load1_from_any(address: vec2<u32>) -> u32 { return 0u; }
fn load4_from_any(address: vec2<u32>) -> vec4<u32> { return vec4<u32>(); }
fn store4_to_any(address: vec2<u32>, index: u32, value: vec4<u32>) {}

// The same if the shader also writes that buffer.
fn load1_written(address: vec2<u32>) -> u32 { return 0u; }
fn load4_written(address: vec2<u32>) -> vec4<u32> { return vec4<u32>(); }

// The same if the access is aligned to its size, 8 or 16 bytes.

fn load2_aligned(address: vec2<u32>) -> vec2<u32> { return vec2<u32>(); }
fn load4_aligned(address: vec2<u32>) -> vec4<u32> { return vec4<u32>(); }
fn store2_aligned(address: vec2<u32>, index: u32, value: vec2<u32>) {}
fn store4_aligned(address: vec2<u32>, index: u32, value: vec4<u32>) {}

// The address that many bytes after another one.
fn add_bytes(address: vec2<u32>, bytes: u32) -> vec2<u32> { return address; }

// The address a * b bytes after another one, where a * b may exceed 32 bits.
fn multiply_add(address: vec2<u32>, a: u32, b: u32) -> vec2<u32> { return address; }

// Orders the accesses of a workgroup's invocations: those before the barrier, and those after it.
fn memory_barrier() { storageBarrier(); }

// Adds 1 to the dword at `address`, and returns what it was before. What an invocation accesses before
// it arrives comes before what later ones access after that. By device addresses only.
fn arrive(address: vec2<u32>) -> u32 { return 0u; }

// -- Arithmetic

// a * b in 64 bits, low dword first, without the capability Int64.
fn product(a: u32, b: u32) -> vec2<u32> { return vec2<u32>(); }

// -- Control flow

// A condition that all invocations share: what depends on it should be branched around, not executed
// and its result discarded. Not a stub: the linker marks the selections.
fn uniformly(condition: bool) -> bool { return condition; }

// -- Specialisation: cases that may occur.

// The topology of all draws, or ANY_TOPOLOGY.
fn pipeline_topology() -> u32 { return ANY_TOPOLOGY; }

// Whether primitive restart may be enabled.
fn may_restart() -> bool { return true; }

// Whether a dispatch may have a batch of draws that kernels place, or attributes that reach far.
fn may_be_general() -> bool { return true; }

// Whether a dispatch has draws that the CPU lists.
fn is_batched() -> bool { return false; }

// Whether a draw may have an index buffer.
fn may_be_indexed() -> bool { return true; }

// Whether a dispatch is a fused capture.
fn is_fused() -> bool { return false; }

// Whether a dispatch is a plain capture: one draw of one instance that does not need its workgroups'
// numbers folded, with elements that exist and are aligned.
fn is_plain() -> bool { return false; }

// Whether vectors are loaded whole: NARROW, TESTED or ALIGNED.
fn wide_loads() -> u32 { return TESTED; }

// The same for stores.
fn wide_stores() -> u32 { return TESTED; }

// Whether the device can load single bytes.
fn may_load_bytes() -> bool { return false; }

fn workgroup_size() -> u32 { return 64u; }

// Whether the invocations of a workgroup load their draw together.
fn shares_draws() -> bool { return false; }

// -- Kernels

// Whether the setup kernel only assembles draws, of geometry shaders, and does not place them.
fn assembles() -> bool { return false; }

// Whether an invocation makes few loop iterations: llvmpipe ends the loops of a kernel after 65,535
// iterations in all.
fn may_loop() -> bool { return true; }

// Invocations per workgroup of a kernel: a power of two, at most MAX_KERNEL_WIDTH.
fn kernel_width() -> u32 { return MAX_KERNEL_WIDTH; }

// -- The application's shader.

// Sets the inputs that the shader reads: built-ins and attributes.
fn set_inputs(vertex_index: u32, instance_index: u32) {}

// Runs the shader.
fn shade() {}

// Whether it must not run for an invocation without a vertex, because that would show: in its side effects,
// or in its subgroup operations.
fn shades_existing_only() -> bool { return false; }

// -- A geometry shader that follows it.

// The vertices of the primitives that it takes, and of those that it emits: 1, 2 or 3.
fn input_vertices() -> u32 { return 1u; }
fn output_vertices() -> u32 { return 1u; }

// How often it runs for a primitive.
fn geometry_invocations() -> u32 { return 1u; }

// The primitives that it emits each time, or 0 if that may depend on something.
fn always_emitted() -> u32 { return 0u; }

// Copies the outputs of the vertex shader to the inputs of vertex `slot`.
fn pass_vertex(slot: u32) {}

// Sets its inputs that are not those of a vertex.
fn set_geometry_inputs(primitive: u32, invocation: u32) {}

// Runs it.
fn shade_geometry() {}

// -- What is captured.

// Stores the shader's outputs as vertex `record` of the draw, in every bound buffer.
fn store_record(record: u32) {}

// -- Staging: a workgroup collects vertices in shared memory before it stores their records.

// The number of vertices that there is room for, 0 without staging.
fn staged_vertices() -> u32 { return 0u; }

// The number of units in which a record is copied, in the buffer with the most.
fn staged_units() -> u32 { return 1u; }

// Lists the number of a record, or NONE.
fn list_output(number: u32, output: u32) {}

// What is listed.
fn listed_output(number: u32) -> u32 { return NONE; }

// Writes the shader's outputs to place `slot` in shared memory.
fn stage_record(slot: u32) {}

// Copies unit `unit` of `count` records, which are listed from `first` on, to every bound buffer.
// `listing` says how.
fn store_staged(first: u32, count: u32, unit: u32, listing: u32) {}
