# The cases of d3d11.cpp, for the parts that have it; sourced.

# Compiles the shaders of stream-output.hlsl into $out.
shaders() {
    for entry in $(sed -n -E 's/^[A-Za-z0-9]+ ((vs|ps)_[a-z]+)\(.*/\1/p; s/^void (gs_[a-z]+)\(.*/\1/p' /vkxfb/stream-output.hlsl); do
        vkd3d-compiler -x hlsl -b dxbc-tpf -p "${entry%%_*}_5_0" -e "$entry" /vkxfb/stream-output.hlsl -o "$out/$entry.dxbc" \
            2>"$out/$entry.log" || case_is "the shader $entry compiles" fail "$(head -n 1 "$out/$entry.log")"
    done
}

# Runs each case by a command that runs d3d11. Natively again where it fails: lavapipe 26.2 may say that a query is available
# before it has counted. The layer's own may not.
d3d11() {
    # Into files, not pipes: what Wine starts beside a program would hold those open.
    timeout 120 "$@" >"$out/said" 2>>"$out/log" </dev/null || true
    tr -d '\r' <"$out/said" >"$out/cases"
    [ -s "$out/cases" ] || case_is 'the program runs' fail 'it lists no cases'
    while IFS= read -r name; do
        tries=1
        [ "$side" = layer ] || tries=8
        while [ $tries -gt 0 ]; do
            timeout 60 "$@" "$out" "$name" >"$out/said" 2>>"$out/log" </dev/null || echo "exit status $?" >>"$out/log"
            tries=$((tries - 1))
            grep -q '	fail	' "$out/said" || tries=0
        done
        tr -d '\r' <"$out/said" | grep -F "$name" || case_is "$name" crash "$(tail -n 1 "$out/log")"
    done <"$out/cases"
}

# What DXVK said it found, which has to be the same on both sides.
dxvk_case() {
    case_is "$1" pass "$(sed -n "s/^info: *\(.*: *\)*$1:* *//p" "$out/log" | tr -d '\r' | sort -u | paste -s -d ',')"
}
