# What a script for Godot draws, for the parts that have one; sourced.

# Runs a script next to this file on zink, and prints its cases: $1: its name; the rest is what runs it.
godot() {
    script=$1
    shift
    export LIBGL_ALWAYS_SOFTWARE=1 MESA_LOADER_DRIVER_OVERRIDE=zink
    cp "/vkxfb/$script" "$out"
    timeout 300 "$@" --path "$out" -s "res://$script" --audio-driver Dummy --fixed-fps 30 --resolution 128x128 \
        >"$out/said" 2>"$out/log" || case_is 'Godot ends' fail "exit status $?"
    if grep -q 'OpenGL.*zink' "$out/said"; then
        case_is 'the renderer is zink' pass
    else
        case_is 'the renderer is zink' fail "$(grep -m 1 OpenGL "$out/said")"
    fi
    sed -n 's/^case\t//p' "$out/said"
    for percent in 0 25 100 50; do
        same_case "the picture of the time $percent %" "$percent.png"
    done
}
