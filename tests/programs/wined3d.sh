# Packages: wine64 g++-mingw-w64-x86-64-win32 vkd3d-compiler
#
# Direct3D 11's stream output and Direct3D 9 on wined3d's renderer for Vulkan, in Wine: d3d11.cpp, d3d9.cpp.

. /vkxfb/wine.sh
. /vkxfb/d3d11.sh
compile d3d11 -ld3d11 -ldxguid
compile d3d9 -ld3d9
shaders
for shader in vs ps; do
    vkd3d-compiler -x hlsl -b d3dbc -p "${shader}_2_0" -e "$shader" /vkxfb/d3d9.hlsl -o "$out/$shader.d3dbc" 2>"$out/$shader.log" ||
        case_is "the shader $shader compiles" fail "$(head -n 1 "$out/$shader.log")"
done
prefix
timeout 120 wine64-stable reg add 'HKCU\Software\Wine\Direct3D' /v renderer /d vulkan /f >>"$out/wineboot" 2>&1

export WINEDEBUG=fixme+d3d,err+d3d,err+winediag
d3d11 wine64-stable "$out/d3d11.exe"
timeout 120 wine64-stable "$out/d3d9.exe" "$out" >"$out/said" 2>>"$out/log" </dev/null || true
tr -d '\r' <"$out/said"
if grep -q 'Using the Vulkan renderer' "$out/log"; then
    case_is 'the renderer is Vulkan'"'"'s' pass
else
    case_is 'the renderer is Vulkan'"'"'s' fail
fi
