// Staging of what geometry shaders emit. An invocation writes each vertex that it emits to shared memory once, although
// the vertex may be a part of three primitives, and lists each primitive that the vertex completes. Then the invocations
// of the workgroup store the records of the listed primitives together: neighbouring invocations store neighbouring
// bytes.
//
// Shared memory has a place for each vertex that may be emitted for an item (an input primitive), so the shaders run
// once per item whatever they emit. If that is too much for all invocations of the workgroup at once, they take turns.

// The list has most_records() elements for each invocation that stages at the same time: for each record the place of its
// vertex, or NONE. Behind them is, for each of these invocations, the number of its first record.
//
// If each invocation has one item, the records of the invocations that stage at the same time are consecutive. If the
// shader does not always emit as much, the list is dense then (is_dense): each invocation lists its records behind those
// of the invocations before it, so that no element is left out. Behind the list are the number of the first record, and
// how many records are listed.

// The number of vertices that this invocation has staged for its item.
var<private> staged_here: u32;
// Where the records of the item's primitives are in the list, and how many there is room for.
var<private> list_first: u32;
var<private> list_room: u32;
// The number of primitives that the entry emitted before the item.
var<private> emitted_before: u32;
// The number of this invocation among those that stage at the same time.
var<private> stager: u32;
// If the list is dense: the first record of the invocations that stage at the same time as this one, and whether this is
// the last of them.
var<private> first_of_turn: u32;
var<private> is_last_of_turn: bool;

// Whether the list is dense. Either all invocations of the workgroup must have an entry or none, and one invocation alone
// could not store how many records are listed.
fn is_dense() -> bool {
    let is_whole = ENTRIES_PER_BLOCK % workgroup_size() == 0u;
    return uniformly(entry_length() == 1u) && always_emitted() == 0u && stagers() > 1u && is_whole;
}

// The index in the list behind the records.
fn behind_records() -> u32 {
    return stagers() * most_records();
}

// The places of the vertices that an invocation stages are this far apart. One more than the number of invocations
// that stage at the same time, so that different invocations and different vertices use different memory banks.
fn stage_stride() -> u32 {
    return stagers() + 1u;
}

// Stages an emitted vertex, and lists the records of the primitive that it completes: for each the place of its vertex.
fn stage_emitted() {
    let last = staged_here * stage_stride() + stager;
    stage_record(last);
    staged_here++;
    let vertices = output_vertices();
    if strip_length + 1u >= vertices {
        let in_strip = strip_length + 1u - vertices;
        let before = (emitted - emitted_before) * vertices;
        if before + in_strip * vertices < list_room {
            // The first record of the strip in the list. The primitive begins with vertex `in_strip` of the strip.
            let at = list_first + before;
            list_output(at + records_of_emitted(in_strip).x, last - (vertices - 1u) * stage_stride());
            if vertices > 1u {
                list_output(at + records_of_emitted(in_strip + 1u).y, last - (vertices - 2u) * stage_stride());
            }
            if vertices > 2u {
                list_output(at + records_of_emitted(in_strip + 2u).z, last);
            }
        }
    }
}

// The record at element `number` of the list, by the number that store_record takes. NONE if it is not captured.
fn record_of_emitted(number: u32) -> u32 {
    if listed_output(number) == NONE {
        return NONE;
    }
    if is_dense() {
        return listed_output(behind_records()) + number;
    }
    let item = number / most_records();
    return listed_output(behind_records() + item) + number - item * most_records();
}

// Runs the shaders for an item of stager `number`, and lists the records of what they emit; lists none if there is no
// item. `place` is its instance and its number in that instance.
fn stage_emitted_item(number: u32, place: vec2<u32>, exists: bool) {
    stager = number;
    let before = min(emitted * output_vertices(), entry_records.count);
    list_room = min(most_records(), entry_records.count - before);
    var listed = most_records();
    if is_dense() {
        list_first = entry_records.first - first_of_turn;
        listed = list_room;
        if stager == 0u {
            list_output(behind_records(), first_of_turn);
        }
        if is_last_of_turn {
            list_output(behind_records() + 1u, list_first + list_room);
        }
    } else {
        list_first = stager * most_records();
        list_output(behind_records() + stager, entry_records.first + before);
    }
    staged_here = 0u;
    emitted_before = emitted;
    if exists {
        run_item(place);
    }
    // A shader that reads memory which other invocations write may emit fewer primitives than it did in the count pass.
    // The records of the others keep their contents.
    let here = (emitted - emitted_before) * output_vertices();
    for (var left = min(here, list_room); left < listed; left++) {
        list_output(list_first + left, NONE);
    }
}

// Stores the listed records of the first `count` stagers.
fn store_emitted_items(count: u32, local: u32) {
    var listed = count * most_records();
    if is_dense() {
        listed = listed_output(behind_records() + 1u);
    }
    for (var unit = local; unit < listed * staged_units(); unit += workgroup_size()) {
        store_staged(0u, listed, unit, LIST_EMITTED);
    }
}
