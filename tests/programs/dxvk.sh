# Packages: libdxvk-d3d11-0 libdxvk-dxgi0 libdxvk-native-dev libsdl3-0 g++ vkd3d-compiler python3
#
# Direct3D 11's stream output on DXVK-native: d3d11.cpp.

. /vkxfb/d3d11.sh
shaders
python3 /vkxfb/streams.py "$out/gs_streams.dxbc"
g++ -std=c++17 -O1 -Wall -I/usr/include/dxvk /vkxfb/d3d11.cpp -ldxvk_d3d11 -o "$out/d3d11" 2>"$out/compiled" ||
    { case_is 'd3d11.cpp compiles' fail "$(grep -m 1 error: "$out/compiled")"; exit; }

export DXVK_WSI_DRIVER=SDL3 DXVK_LOG_PATH=none DXVK_LOG_LEVEL=info
d3d11 "$out/d3d11"
dxvk_case 'Binding model'
dxvk_case 'Using feature level'
