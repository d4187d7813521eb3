# Packages: vulkan-tools xdotool spirv-tools libx11-xcb1 libxcb-keysyms1
# Of bookworm: renderdoccmd librenderdoc libstb0
#
# RenderDoc captures a frame of vkcube, above and below the layer, and replays it.

# They do not capture what a shader gives.
proof='device created'
recorder=VK_LAYER_RENDERDOC_Capture
layer=${VK_INSTANCE_LAYERS-}
# Its layer is one that the loader puts above all others, unless it is asked for by name.
export VK_ADD_LAYER_PATH="/usr/share/vulkan/implicit_layer.d${VK_ADD_LAYER_PATH:+:$VK_ADD_LAYER_PATH}"

# $1: where it is; $2: the layers, from the program down.
capture() {
    VK_INSTANCE_LAYERS=$2 timeout 60 renderdoccmd capture --wait-for-exit --capture-file "$out/$1" \
        vkcube --wsi xcb --c 600 >"$out/$1.log" 2>&1 &
    started=$!
    # Its key for "this frame", which it looks at as a frame is shown. The window has no name.
    while kill -0 $started 2>/dev/null && ! ls "$out/$1"_*.rdc >/dev/null 2>&1; do
        xdotool search --onlyvisible --name '.*' windowfocus keydown F12 sleep 0.3 keyup F12 >>"$out/$1.keys" 2>&1 || true
        sleep 0.3
    done
    wait $started || true
    file=$(ls "$out/$1"_*.rdc 2>/dev/null | head -n 1)
    if [ -n "$file" ]; then
        case_is "captured $1 the layer" pass
    else
        case_is "captured $1 the layer" fail "$(tail -n 1 "$out/$1.log")"
        return
    fi
    if timeout 60 renderdoccmd replay --loops 3 "$file" >"$out/$1.replay.log" 2>&1; then
        case_is "replayed what was captured $1 it" pass
    else
        case_is "replayed what was captured $1 it" fail "exit status $?: $(tail -n 1 "$out/$1.replay.log")"
    fi
}

capture above "$recorder${layer:+:$layer}"
capture below "${layer:+$layer:}$recorder"
