# Packages: piglit libgl1-mesa-dri libgles2 spirv-tools
#
# Piglit's tests of transform feedback, on zink.

export LIBGL_ALWAYS_SOFTWARE=1 MESA_LOADER_DRIVER_OVERRIDE=zink
# Before it runs a test piglit looks up what that requires, and Debian's finds no extension: tests look themselves.
export PIGLIT_NO_FAST_SKIP=1
export PIGLIT_COMPRESSION=none PYTHONUNBUFFERED=1
/usr/lib/x86_64-linux-gnu/piglit/bin/glinfo >"$out/glinfo" 2>&1 || true
renderer=$(sed -n 's/^GL_RENDERER = //p' "$out/glinfo")
case $renderer in
zink*) case_is 'the renderer is zink' pass "$(sed -n 's/^GL_VERSION = //p' "$out/glinfo")" ;;
*) case_is 'the renderer is zink' fail "it is $renderer" ;;
esac

# Each test's outcome is said as it ends; what it said itself is in results.json. max-varyings takes three to five minutes, and
# longer where the machine has other work.
piglit run --platform glx --log-level verbose --timeout 1800 --include-tests 'transform.feedback|xfb' all "$out" 2>"$out/errors" |
    sed -n -u -E 's/^(pass|fail|warn|skip|crash|timeout|incomplete): (.*[^ ]) *$/\2\t\1/p'
