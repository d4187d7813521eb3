// What WGSL cannot say. The linker replaces the body of each of these functions; the bodies here only
// give the signature.

// -- Memory. What an address is, the resource plan decides (src/lower/resources.rs): two dwords, of which one
// at least is not 0. The invocations of a workgroup that load or store together do so in one buffer.

fn load1(address: vec2<u32>) -> u32 { return 0u; }
fn load2(address: vec2<u32>) -> vec2<u32> { return vec2<u32>(); }
fn load3(address: vec2<u32>) -> vec3<u32> { return vec3<u32>(); }
fn load4(address: vec2<u32>) -> vec4<u32> { return vec4<u32>(); }

// Store at dword `index` behind `address`: no 64-bit arithmetic, a capture buffer ends below 4 GiB.
fn store1(address: vec2<u32>, index: u32, value: u32) {}
fn store2(address: vec2<u32>, index: u32, value: vec2<u32>) {}
fn store3(address: vec2<u32>, index: u32, value: vec3<u32>) {}
fn store4(address: vec2<u32>, index: u32, value: vec4<u32>) {}

// The same where each invocation may access another buffer.
fn load1_from_any(address: vec2<u32>) -> u32 { return 0u; }
fn load4_from_any(address: vec2<u32>) -> vec4<u32> { return vec4<u32>(); }
fn store4_to_any(address: vec2<u32>, index: u32, value: vec4<u32>) {}

// The same where what is accessed lies on a multiple of its size, 8 or 16 bytes.

fn load2_aligned(address: vec2<u32>) -> vec2<u32> { return vec2<u32>(); }
fn load4_aligned(address: vec2<u32>) -> vec4<u32> { return vec4<u32>(); }
fn store2_aligned(address: vec2<u32>, index: u32, value: vec2<u32>) {}
fn store4_aligned(address: vec2<u32>, index: u32, value: vec4<u32>) {}

// The address a * b bytes behind another one.
fn multiply_add(address: vec2<u32>, a: u32, b: u32) -> vec2<u32> { return address; }

// -- Arithmetic

// a * b in 64 bits, low dword first, without the capability Int64.
fn product(a: u32, b: u32) -> vec2<u32> { return vec2<u32>(); }

// -- Specialisation: what may occur at all.

// The topology of all draws, or ANY_TOPOLOGY.
fn pipeline_topology() -> u32 { return ANY_TOPOLOGY; }

// Whether primitive restart may be enabled.
fn may_restart() -> bool { return true; }

// Whether a dispatch may have a batch of draws, or an index buffer.
fn may_be_general() -> bool { return true; }

// Whether the device profits from accesses that it knows to be aligned.
fn may_be_wide() -> bool { return true; }

fn workgroup_size() -> u32 { return 64u; }

// -- Kernels

// Whether an invocation has few rounds of loops: llvmpipe ends the loops of a kernel after 65,535 rounds in all.
fn may_loop() -> bool { return true; }

// Invocations of a kernel's workgroup: a power of two, at most MAX_KERNEL_WIDTH.
fn kernel_width() -> u32 { return MAX_KERNEL_WIDTH; }

// -- The application's shader.

// Sets what the shader reads: built-ins and attributes.
fn set_inputs(vertex_index: u32, instance_index: u32) {}

// Runs the shader.
fn shade() {}

// Stores what the shader wrote as vertex `record` of the draw, in every bound buffer.
fn store_record(record: u32) {}

// -- Staging: a workgroup collects records in shared memory, as they will lie in the buffers.

// How many there is room for.
fn staged_records() -> u32 { return 1u; }

// Units in which a record is copied, of the buffer with the most.
fn staged_units() -> u32 { return 1u; }

// Puts what the shader wrote at place `slot`.
fn stage_record(slot: u32) {}

// Copies a unit of the first `count` places, in every bound buffer, to where `first_record` begins.
fn store_staged(first_record: u32, count: u32, unit: u32) {}
