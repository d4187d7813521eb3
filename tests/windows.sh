#!/bin/sh
# tests/windows.sh COMMAND...
#
# Runs COMMAND with what builds for x86_64 Windows, and runs what was built: MinGW's gcc, and Wine with the Vulkan driver
# of this machine, beside what tests/platforms.sh fetches. It is fetched (150 MB) on the first call, into target/windows,
# some 900 MB unpacked, and nothing of it is installed: removing that directory removes it all. tests/setup.sh --windows
# calls this when what it cares for is there. Needs Debian 12 on x86_64, and no root.
#
# COMMAND finds on PATH
#
#     run-windows PROGRAM...      runs a program for Windows in Wine; cargo takes it as its runner
#
# What programs write to Wine's drive C and to its registry is kept until COMMAND ends. Wine has a Vulkan driver only where
# there is a display, so there is one without a screen.
#
# Wine's own vulkan-1.dll loads no layers. Programs see variables of this machine, but a loader for Windows beside them would
# not see those that begin with VK_, since the loader of this machine, below Wine's driver, reads them first.
set -eu

fail() {
    printf 'tests/windows.sh: %s\n' "$1" >&2
    exit 1
}

cd "$(dirname "$0")/.."
here=$PWD/target/windows
tools=$here/tools
bin=$here/bin
libraries=$tools/usr/lib/x86_64-linux-gnu
# shellcheck source=tests/debian.sh
. tests/debian.sh

fetch() {
    rm -rf "$here/apt" "$tools" "$bin" "$here/packages"
    mkdir -p "$here/apt/lists/partial" "$here/apt/archives/partial" "$bin"
    apt_get amd64 update
    # What this machine has already is not downloaded, but for these by their names.
    apt_get amd64 --download-only --yes --reinstall install gcc-mingw-w64-x86-64-win32 wine64
    unpack "$tools"
    rm -r "$here/apt"
    wrap x86_64-w64-mingw32-gcc-win32 x86_64-w64-mingw32-dlltool
    ln -s x86_64-w64-mingw32-gcc-win32 "$bin/x86_64-w64-mingw32-gcc"
    # Debian's is a script, which looks for this one in the system.
    ln -sf wineserver64 "$tools/usr/lib/wine/wineserver"
    # Two libraries that Debian's Wine lacks, in the form of Wine's own: zlib, which the script of its package would copy,
    # and one from which Rust's standard library takes random numbers.
    cat >"$here/random.c" <<C
unsigned char __stdcall SystemFunction036(void *, unsigned long);
__declspec(dllexport) int __stdcall ProcessPrng(void *bytes, unsigned long long count) {
    return SystemFunction036(bytes, (unsigned long)count);
}
C
    "$bin/x86_64-w64-mingw32-gcc" -shared -O2 -o "$here/bcryptprimitives.dll" "$here/random.c" -ladvapi32 ||
        fail 'no bcryptprimitives.dll'
    for library in "$here/bcryptprimitives.dll" "$tools/usr/x86_64-w64-mingw32/lib/zlib1.dll"; do
        {
            head -c 64 "$library"
            printf 'Wine builtin DLL\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'
            tail -c +97 "$library"
        } >"$libraries/wine/x86_64-windows/${library##*/}"
    done
    cat >"$bin/run-windows" <<WRAPPER
#!/bin/sh
# run-windows PROGRAM...
export LD_LIBRARY_PATH="$libraries\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}"
export WINEDEBUG="\${WINEDEBUG:--all}"
export WINEDLLOVERRIDES="mscoree,mshtml,winedbg.exe=\${WINEDLLOVERRIDES:+;\$WINEDLLOVERRIDES}"
if [ ! -e "\$WINEPREFIX/complete" ]; then
    mkdir -p "\$WINEPREFIX"
    timeout 300 "$tools/usr/lib/wine/wine64" wineboot --init >"\$WINEPREFIX/log" 2>&1 </dev/null || {
        cat "\$WINEPREFIX/log" >&2
        exit 1
    }
    touch "\$WINEPREFIX/complete"
fi
exec "$tools/usr/lib/wine/wine64" "\$@"
WRAPPER
    chmod +x "$bin/run-windows"
}

[ "$(cat "$here/complete" 2>/dev/null)" = "$(versions tests/windows.sh)" ] || {
    echo 'tests/windows.sh: fetching what builds for Windows, and Wine (150 MB), into target/windows' >&2
    fetch
    versions tests/windows.sh >"$here/complete"
}

export PATH="$bin:$PATH"
export VKXFB_WINDOWS="$tools"
export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER=x86_64-w64-mingw32-gcc
export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER=run-windows
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$here/build}"
session=$(mktemp -d)
export WINEPREFIX="$session/prefix"
Xvfb -displayfd 3 -screen 0 640x480x24 -nolisten tcp >"$session/log" 2>&1 3>"$session/display" &
server=$!
finish() {
    [ ! -e "$WINEPREFIX" ] || "$tools/usr/lib/wine/wineserver64" --kill || true
    kill "$server" 2>/dev/null || true
    rm -rf "$session"
}
trap finish EXIT
tries=0
while [ ! -s "$session/display" ]; do
    tries=$((tries + 1))
    [ $tries -lt 100 ] || fail "Xvfb does not start: $(cat "$session/log")"
    sleep 0.1
done
DISPLAY=":$(cat "$session/display")"
export DISPLAY
tests/platforms.sh "$@"
