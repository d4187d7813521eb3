# Packages: wine64 g++-mingw-w64-x86-64-win32 vkd3d-compiler
# Of trixie: dxvk-wine64
#
# Direct3D 11's stream output on DXVK 2.6 in Wine: d3d11.cpp. It says which stream an output belongs to, which DXVK 3.1 does
# not, natively or on the layer.

. /vkxfb/wine.sh
. /vkxfb/d3d11.sh
compile d3d11 -ld3d11 -ldxguid
shaders
prefix
for library in d3d11 dxgi; do
    ln -sf "/usr/lib/dxvk/wine64/$library.dll.so" "$WINEPREFIX/drive_c/windows/system32/$library.dll"
done

export WINEDLLOVERRIDES="$WINEDLLOVERRIDES;d3d11,dxgi=n" DXVK_STATE_CACHE=0 DXVK_LOG_PATH=none DXVK_LOG_LEVEL=info
d3d11 wine64-stable "$out/d3d11.exe"
dxvk_case 'DXVK'
dxvk_case 'Using feature level'
