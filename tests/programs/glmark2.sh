# Packages: glmark2-x11 libgl1-mesa-dri
#
# glmark2's check of what it draws, on zink.

export LIBGL_ALWAYS_SOFTWARE=1 MESA_LOADER_DRIVER_OVERRIDE=zink
timeout 900 glmark2 --validate >"$out/said" 2>"$out/log" || case_is 'glmark2 ends' fail "exit status $?"
if grep -q 'GL_RENDERER: *zink' "$out/said"; then
    case_is 'the renderer is zink' pass
else
    case_is 'the renderer is zink' fail "$(sed -n 's/^ *GL_RENDERER: *//p' "$out/said")"
fi
sed -n -E 's/^(\[.*\].*[^ ]): *Validation: *Success.*/\1\tpass\t/p; s/^(\[.*\].*[^ ]): *Validation: *(Failure.*|Unknown.*)/\1\tfail\t\2/p' "$out/said"
