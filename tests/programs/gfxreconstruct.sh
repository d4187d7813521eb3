# Packages: vulkan-tools python3 zlib1g
# Of bookworm: gfxreconstruct
#
# gfxreconstruct records vkcube, above and below the layer, and replays that. It is of 2023: with zink of today, which uses
# commands that it does not know, it crashes natively.

# They do not capture.
proof='device created'
recorder=VK_LAYER_LUNARG_gfxreconstruct
layer=${VK_INSTANCE_LAYERS-}

# $1: the name of the case; $2: a log; the rest is what runs.
passes() {
    name=$1
    log=$2
    shift 2
    if timeout 120 "$@" >"$log" 2>&1; then
        case_is "$name" pass
    else
        case_is "$name" fail "exit status $?: $(tail -n 1 "$log")"
    fi
}

# $1: where it is; $2: the layers, from the program down.
record() {
    file=$out/$1.gfxr
    passes "recorded $1 the layer" "$out/$1.log" env VK_INSTANCE_LAYERS="$2" GFXRECON_CAPTURE_FILE="$file" \
        GFXRECON_CAPTURE_FILE_TIMESTAMP=false vkcube --wsi xcb --c 30
    passes "replayed what was recorded $1 it" "$out/$1.replay.log" gfxrecon-replay --wsi xcb "$file"
    # It ends well, too, where the file has no frames.
    frames=$(sed -n 's/.* seconds, \([0-9]*\) frames.*/\1/p' "$out/$1.replay.log" | tail -n 1)
    [ "${frames:-0}" -gt 0 ] && case_is "frames of what was recorded $1 it" pass "$frames" ||
        case_is "frames of what was recorded $1 it" fail "$(tail -n 1 "$out/$1.replay.log")"
}

record above "$recorder${layer:+:$layer}"
record below "${layer:+$layer:}$recorder"
