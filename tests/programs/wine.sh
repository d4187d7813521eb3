# Windows programs of ours in Wine, for the parts that have them; sourced.

export WINEPREFIX=/tmp/wine WINEDEBUG=-all WINEDLLOVERRIDES="mscoree,mshtml,winedbg.exe="

# $1: the source, next to this file; the rest are libraries. The program is $out/NAME.exe.
compile() {
    source=$1
    shift
    x86_64-w64-mingw32-g++-win32 -std=c++17 -O1 -Wall -static "/vkxfb/$source.cpp" "$@" -o "$out/$source.exe" 2>"$out/compiled" ||
        { case_is "$source.cpp compiles" fail "$(grep -m 1 error: "$out/compiled")"; exit; }
}

# Sets up a prefix, with what Debian's package leaves to its script: zlib1.dll, in the form of Wine's own libraries.
prefix() {
    zlib=/usr/x86_64-w64-mingw32/lib/zlib1.dll
    {
        head -c 64 $zlib
        printf 'Wine builtin DLL\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'
        tail -c +97 $zlib
    } >/usr/lib/x86_64-linux-gnu/wine/x86_64-windows/zlib1.dll
    timeout 300 wine64-stable wineboot --init >"$out/wineboot" 2>&1 ||
        { case_is 'Wine starts' fail "$(tail -n 1 "$out/wineboot")"; exit; }
}
