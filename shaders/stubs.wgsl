// Stubs: functions that cannot be written in WGSL, or that depend on the shader or the pipeline. When the library is
// linked, the linker (src/lower/library.rs) generates the body of each stub that is called, unless the body below is
// right already: for example, geometry_invocations() is 1 for a pipeline without a geometry shader.

// -- Memory. An address is two dwords that are not both 0; its meaning depends on the resource plan
// (src/lower/resources.rs). Callers must test for 0: with descriptors, an access to address 0 may reach the first
// buffer, or index the array of buffers out of its bounds. If the invocations of a workgroup access memory together,
// they must access the same buffer.

// Loads the dword at `address` + 4 * `index`, see store1. If the index is not constant, an address that add_bytes
// computes costs less.
fn load1(address: vec2<u32>, index: u32) -> u32 { return 0u; }
fn load2(address: vec2<u32>) -> vec2<u32> { return vec2<u32>(); }
fn load3(address: vec2<u32>) -> vec3<u32> { return vec3<u32>(); }
fn load4(address: vec2<u32>) -> vec4<u32> { return vec4<u32>(); }

// Loads the byte at an address, which need not be aligned. Call it only if `may_load_bytes()`, and only for a buffer
// that no shader of the dispatch writes.
fn load_byte(address: vec2<u32>) -> u32 { return 0u; }

// Stores a dword at `address` + 4 * `index`. If addresses have 64 bits, the index is extended to 64 bits for
// each store. If the index is constant, the compiler does that at compile time.
fn store1(address: vec2<u32>, index: u32, value: u32) {}
fn store2(address: vec2<u32>, index: u32, value: vec2<u32>) {}
fn store3(address: vec2<u32>, index: u32, value: vec3<u32>) {}
fn store4(address: vec2<u32>, index: u32, value: vec4<u32>) {}

// Loads for which the invocations of a workgroup may have addresses in different buffers.
fn load1_from_any(address: vec2<u32>) -> u32 { return 0u; }
fn load4_from_any(address: vec2<u32>) -> vec4<u32> { return vec4<u32>(); }

// The same for an address that is a multiple of 16, as store4_aligned takes it.
fn load4_aligned_from_any(address: vec2<u32>) -> vec4<u32> { return vec4<u32>(); }
fn store4_aligned_to_any(address: vec2<u32>, index: u32, value: vec4<u32>) {}

// Loads from a buffer that the shader also writes.
fn load1_written(address: vec2<u32>) -> u32 { return 0u; }
fn load4_written(address: vec2<u32>) -> vec4<u32> { return vec4<u32>(); }

// Loads and stores at `address` + 4 * `index`. `address` and 4 * `index` are both multiples of the size of the access:
// 8 or 16 bytes.

fn load2_aligned(address: vec2<u32>, index: u32) -> vec2<u32> { return vec2<u32>(); }
fn load4_aligned(address: vec2<u32>, index: u32) -> vec4<u32> { return vec4<u32>(); }
fn store2_aligned(address: vec2<u32>, index: u32, value: vec2<u32>) {}
fn store4_aligned(address: vec2<u32>, index: u32, value: vec4<u32>) {}

fn add_bytes(address: vec2<u32>, bytes: u32) -> vec2<u32> { return address; }

// `address` plus `a` * `b` bytes; the product may exceed 32 bits.
fn multiply_add(address: vec2<u32>, a: u32, b: u32) -> vec2<u32> { return address; }

// A barrier for the workgroup's invocations and their accesses to buffers.
fn memory_barrier() { storageBarrier(); }

// Atomically adds 1 to the dword at `address`, with release and acquire semantics, and returns the previous value:
// accesses before this call happen before accesses after later calls of other invocations. The descriptor plan does not
// support this function.
fn arrive(address: vec2<u32>) -> u32 { return 0u; }

// -- Arithmetic

// a * b in 64 bits, low dword first, without the capability Int64.
fn product(a: u32, b: u32) -> vec2<u32> { return vec2<u32>(); }

// -- Control flow

// Returns the condition. The linker marks each selection whose condition is this result, so that drivers compile it to
// a branch, and not to code that executes both sides. This function is not a stub.
fn uniformly(condition: bool) -> bool { return condition; }

// -- Specialisation: which cases a pipeline supports.

// The topology of all draws that the pipeline captures, or ANY_TOPOLOGY if it captures all topologies.
fn pipeline_topology() -> u32 { return ANY_TOPOLOGY; }

// Whether primitive restart may be enabled.
fn may_restart() -> bool { return true; }

// Whether a dispatch may capture draws for which a kernel computed where their records begin, or draws with attributes
// whose elements begin 4 GiB or more after the first one (FAR_ATTRIBUTES).
fn may_be_general() -> bool { return true; }

// Whether a dispatch captures listed draws, whose parameters the CPU wrote to memory.
fn is_batched() -> bool { return false; }

// Whether draws may have an index buffer.
fn may_be_indexed() -> bool { return true; }

// Whether a dispatch is a fused capture (fused.wgsl).
fn is_fused() -> bool { return false; }

// Whether a dispatch is an unchecked capture: one draw of one instance without indices, in a dispatch that is not
// folded into two axes (src/runtime/device/checks.rs). The CPU has checked that the buffers contain all vertex elements
// and, unless a geometry shader's primitives are counted, all records of the draw, and that these are aligned.
fn is_unchecked() -> bool { return false; }

// How vectors are loaded: never by wide loads (NARROW), by wide loads where a test at run time finds the address
// aligned (TESTED), or always by wide loads (ALIGNED). See wide.wgsl.
fn wide_loads() -> u32 { return TESTED; }

// How vectors are stored: never by wide stores (NARROW), by wide stores where a test at run time finds the address
// aligned (TESTED), or always by wide stores (ALIGNED). See wide.wgsl.
fn wide_stores() -> u32 { return TESTED; }

// Whether the device can load single bytes (load_byte), and the index buffer of a draw may end within a dword of which
// shaders can read nothing but the indices.
fn may_load_bytes() -> bool { return false; }

// The number of invocations per workgroup of a capture.
fn workgroup_size() -> u32 { return 64u; }

// Whether the invocations of a workgroup load their draw together (shared.wgsl).
fn shares_draws() -> bool { return false; }

// -- Kernels

// Whether the setup kernel processes draws of geometry or tessellation shaders. It does not place these draws yet, but
// divides them into entries (sequences of input primitives that one invocation processes, geometry.wgsl).
fn makes_entries() -> bool { return false; }

// Whether any recorded draw command may have several draws.
fn has_several() -> bool { return true; }

// Whether draws may be patch lists, whose primitives have up to 32 vertices.
fn may_be_patches() -> bool { return false; }

// Whether the code for each draw or index may contain loops. If an invocation processes many draws, loops would exceed
// the 65,535 iterations that llvmpipe allows over all loops of a kernel.
fn may_loop() -> bool { return true; }

// The invocations of a kernel that take part: all of its workgroup, a power of two from 128 to MAX_KERNEL_WIDTH; or
// only the first one.
fn kernel_width() -> u32 { return MAX_KERNEL_WIDTH; }

// -- The application's vertex shader.

// Sets the inputs that the shader reads: built-ins and attributes.
fn set_inputs(vertex_index: u32, instance_index: u32) {}

// Runs the vertex shader.
fn shade() {}

// Whether the shader must not run for an invocation without a vertex, because of side effects or subgroup
// operations.
fn shades_existing_only() -> bool { return false; }

// -- The application's shaders after its vertex shader.

// Runs all shaders for an item (an input primitive, or a slice of a patch). The generated body calls run_geometry,
// run_slice or run_slice_geometry.
fn run_primitive(instance: u32, primitive: Primitive) {}

// The numbers of vertices of an input primitive (1, 2 or 3, with adjacency 4 or 6) and of an output
// primitive (1, 2 or 3).
fn input_vertices() -> u32 { return 1u; }
fn output_vertices() -> u32 { return 1u; }

// The number of invocations of the geometry shader for an input primitive.
fn geometry_invocations() -> u32 { return 1u; }

// The number of primitives that every invocation of the geometry shader emits, or 0 if the number may vary.
fn always_emitted() -> u32 { return 0u; }

// The number of vertices to the captured stream after which an invocation of the geometry shader emits no more.
fn most_emitted() -> u32 { return 0xffffffffu; }

// Copies the outputs of the vertex shader to the inputs that the control shader or the geometry shader has for
// vertex `slot`.
fn pass_vertex(slot: u32) {}

// Sets the geometry shader's inputs that do not belong to a vertex.
fn set_geometry_inputs(primitive: u32, invocation: u32) {}

// Runs the geometry shader.
fn shade_geometry() {}

// -- The application's tessellation shaders.

// The rules for dividing patches, in the form of `Tessellator::bits` in src/tessellator.rs.
fn tessellator_bits() -> u32 { return 0u; }

// The number of control points that the control shader returns, and how many of them the evaluation shader takes.
fn control_points() -> u32 { return 1u; }
fn passed_points() -> u32 { return 1u; }

// Clears the outputs of the control shader before it runs for a patch.
fn begin_patch() {}

// The number of phases of the control shader: one more than the number of barriers, which divide the shader into
// phases. All invocations of a patch end a phase before any of them begins the next phase.
fn control_phases() -> u32 { return 1u; }

// Sets the phase (the code between two barriers) that the control shader runs, and the shader's inputs that do not
// belong to a control point. The input patch has `vertices` control points.
fn set_control_inputs(primitive: u32, invocation: u32, vertices: u32, phase: u32) {}

// Runs the control shader, in the phase that set_control_inputs has set, for one control point.
fn shade_control() {}

// The tessellation levels that the control shader has written, as the bits of floats.
fn outer_levels() -> vec4<u32> { return vec4<u32>(); }
fn inner_levels() -> vec2<u32> { return vec2<u32>(); }

// pass_control_point copies the control shader's outputs for control point `slot` to the evaluation shader's
// inputs; pass_patch copies the outputs for the whole patch.
fn pass_control_point(slot: u32) {}
fn pass_patch() {}

// The same by way of shared memory, which has room for the patches of stagers() invocations: share_control_point and
// share_patch copy the control shader's outputs there, take_control_point and take_patch from there to the evaluation
// shader's inputs.
fn share_control_point(sharer: u32, slot: u32) {}
fn share_patch(sharer: u32) {}
fn take_control_point(sharer: u32, slot: u32) {}
fn take_patch(sharer: u32) {}

// Sets the inputs of the evaluation shader that do not come from the control shader's outputs.
fn set_evaluation_inputs(primitive: u32, coordinates: vec3<f32>) {}

// Runs the evaluation shader.
fn shade_evaluation() {}

// The number of vertices of a primitive that a patch is divided into.
fn tessellated_vertices() -> u32 { return 1u; }

// Copies the outputs of the evaluation shader to the geometry shader's inputs for vertex `slot`.
fn pass_evaluated(slot: u32) {}

// -- Captured outputs.

// Stores the shader's outputs to every bound buffer, as the record with the number `record`. Record 0 begins at
// `first_bytes`.
fn store_record(record: u32) {}

// -- Drawn stages (drawn.wgsl).

// Whether the shader is a vertex shader that draws what a geometry shader emits.
fn is_drawn() -> bool { return false; }

// The number of vertices of an item in the list that the driver draws, and whether the geometry shader emits all of them
// for every item.
fn drawn_vertices() -> u32 { return 1u; }
fn emits_all_drawn() -> bool { return true; }

// Whether the list has indices, so that its vertices are the emitted ones.
fn is_drawn_indexed() -> bool { return false; }

// Copies what the geometry shader has written to its outputs to those of the vertex shader.
fn keep_vertex() {}

// Places the vertex outside of the clip volume.
fn drop_vertex() {}

// -- Staging: a workgroup collects vertices in shared memory before it stores their records.

// The number of vertices that fit into shared memory, or 0 if the pipeline does not stage.
fn staged_vertices() -> u32 { return 0u; }

// Whether the invocations of a workgroup store together what the shaders emit for all of them (emit_together in
// geometry.wgsl), and the functions that do it: stage_emitted_item and store_emitted_items (emitted.wgsl), or stage_slice
// and evaluate_slices (patches.wgsl).
fn emits_together() -> bool { return false; }
fn stage_item(number: u32, place: vec2<u32>, exists: bool) {}
fn store_items(count: u32, local: u32) {}

// The number of invocations (stagers) that stage an item at the same time; the others of the workgroup wait for their
// turn.
fn stagers() -> u32 { return 64u; }

// The largest number of records that a geometry shader emits for an item.
fn most_records() -> u32 { return 1u; }

// The number of units of a record, in the capture buffer whose records have the most units. A unit is the part of a
// record that an invocation copies at once.
fn staged_units() -> u32 { return 1u; }

// Writes `output`, the number of a record or NONE, to element `number` of the workgroup's list of records. listed_output
// reads it back. For geometry shaders the list has places of vertices (emitted.wgsl), for tessellation shaders slices
// (patches.wgsl).
fn list_output(number: u32, output: u32) {}

fn listed_output(number: u32) -> u32 { return NONE; }

// Writes the shader's outputs to shared memory, as the workgroup's staged vertex `slot`.
fn stage_record(slot: u32) {}

// Copies one unit of the staged records to every bound buffer. `unit` is the number of this unit, counted over the
// units of the `count` records that begin with element `first` of the list. `listing` says how the records are listed
// (staged.wgsl).
fn store_staged(first: u32, count: u32, unit: u32, listing: u32) {}
