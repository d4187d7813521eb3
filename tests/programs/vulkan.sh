# Packages: vulkan-tools
#
# vkcube, and what vulkaninfo sees.

# They do not capture.
proof='device created'
for wsi in xcb xlib; do
    if timeout 120 vkcube --wsi "$wsi" --c 100 >"$out/vkcube-$wsi" 2>&1; then
        case_is "vkcube, 100 frames, $wsi" pass
    else
        case_is "vkcube, 100 frames, $wsi" fail "exit status $?: $(tail -n 1 "$out/vkcube-$wsi")"
    fi
done

vulkaninfo >"$out/vulkaninfo" 2>"$out/errors" && ended=pass || ended=fail
case_is 'vulkaninfo ends' "$ended"
# Each extension of the device. Those that the layer hides are differences, and no cases that it loses.
sed -n '/^Device Extensions/,/^VkQueueFamilyProperties/ s/^[[:space:]]*\(VK_[A-Za-z0-9_]*\) *: extension revision *\([0-9]*\)/\1\tthere\trevision \2/p' \
    "$out/vulkaninfo" | sort | sed 's/^/vulkaninfo: /'
