// The place kernel (xfb_place_entries in entries.wgsl) for drivers that run shaders on a CPU: a single invocation
// processes one block of entries after the other. It works in turns, as setup_serial.wgsl says: a turn processes at
// most `turn_steps` blocks and jobs, and stores where it stopped in the memory of the last job's `Batch` for the emit
// pass. A stop has the `draw_count` NONE, which no batch has.

@compute @workgroup_size(1)
fn xfb_place_entries_serial(
    @builtin(local_invocation_index) local: u32,
    @builtin(workgroup_id) workgroup_id: vec3<u32>,
    @builtin(num_workgroups) workgroup_count: vec3<u32>,
) {
    set_unknown_zero(local);
    if (local | workgroup_id.x) != 0u {
        return;
    }
    let parameters = load_place_entries();
    var number = 0u;
    var block = 0u;
    var needed = vec2<u32>();
    next_record = 0u;
    if workgroup_count.x != 1u {
        let stop = stop_of_place(parameters);
        let a = load4_written(stop);
        let b = load4_written(add_bytes(stop, 16u));
        if a.z != NONE {
            return;
        }
        number = a.x;
        block = a.y;
        next_record = a.w;
        needed = b.xy;
    }
    let progress = load_progress(add_bytes(kernel.parameters, PLACE_PROGRESS));
    start_position = start_positions(progress, kernel.parameters);
    start_room = room_at(progress, start_position);
    room = select(NONE, start_room - next_record, captures());
    var left = parameters.turn_steps;
    while number < parameters.job_count && left != 0u {
        let job = load_job(job_address(parameters, number));
        let fits = select(0u, room / job.vertices, captures());
        let entries = load_entries(address_or(job.entries, kernel.parameters));
        let block_count = blocks_of(entries.count);
        let end = block + min(block_count - block, left);
        left -= end - block;
        for (; block < end; block++) {
            let value = primitives_of_block(entries, block, block_count);
            place_block(entries, block, block_count, needed, value, fits, job.vertices);
            needed = add64(needed, value);
        }
        // The turn stops within the job, or just before its end.
        if left == 0u {
            break;
        }
        left--;
        end_job(job, needed, fits, local);
        needed = vec2<u32>();
        block = 0u;
        number++;
    }
    if number >= parameters.job_count {
        store_positions(progress, start_position, next_record);
    } else {
        let stop = stop_of_place(parameters);
        store4_aligned(stop, 0u, vec4<u32>(number, block, NONE, next_record));
        store4_aligned(stop, 4u, vec4<u32>(needed, 0u, 0u));
    }
}

// The address of job `number`. What one more iteration loads (see `previous` in shaders/draw_commands.wgsl) is the last
// job. If there is no job, the addresses that are found depend on `unknown_zero` there.
fn job_address(parameters: PlaceEntries, number: u32) -> vec2<u32> {
    let job = multiply_add(parameters.jobs, min(number, previous(parameters.job_count)), ENTRY_JOB_SIZE);
    return add_bytes(job, unknown_zero);
}

// The address where a turn stores where it stopped.
fn stop_of_place(parameters: PlaceEntries) -> vec2<u32> {
    return load2_aligned(job_address(parameters, parameters.job_count), 2u);
}
