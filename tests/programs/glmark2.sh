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
# Of some it does not know what they should look like.
sed -n -E 's/^(\[.*\].*): *Validation: *(.*[^ ]) *$/\1\t\2/p' "$out/said" |
    sed 's/\tSuccess$/\tpass\t/; s/\tFailure.*/\tfail\t/; s/\tUnknown$/\tunknown\t/'
