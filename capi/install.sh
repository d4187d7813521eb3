#!/bin/sh
# capi/install.sh [--from DIRECTORY] [--relocatable] PREFIX
#
# Installs the C library for pkg-config and CMake, as `cargo cinstall` does where cargo-c is there:
#
#     cargo build -p vkxfb-capi --release --locked
#     sudo capi/install.sh /usr/local
#     sudo ldconfig
#
# --from is where cargo has put the libraries, by default release in $CARGO_TARGET_DIR or target. With --relocatable the prefix can be moved: then
# vkxfb.pc names it relative to itself. DESTDIR, if it is set, is put before the prefix where files are written, and
# nowhere else. This is for ELF systems, such as Linux.
set -eu
# Directories that it makes are for all users, like the files.
umask 022

here=$(cd "$(dirname "$0")" && pwd)
from=${CARGO_TARGET_DIR:-$here/../target}/release
relocatable=
usage() {
    sed -n '2s/^# //p' "$0" >&2
    exit 2
}
while :; do
    case ${1-} in
    --from)
        [ $# -ge 2 ] || usage
        from=$2
        shift 2
        ;;
    --relocatable)
        relocatable=1
        shift
        ;;
    *) break ;;
    esac
done
[ $# -eq 1 ] || usage
case $1 in
'' | -*) usage ;;
/*) prefix=$1 ;;
*) prefix=$PWD/$1 ;;
esac
header=$here/include/vkxfb.h

number() {
    sed -n "s/^#define VKXFB_VERSION_$1 //p" "$header"
}
# What programs ask for: see build.rs.
named=$(number MAJOR)
[ "$named" -gt 0 ] || named=0.$(number MINOR)
version=$(number MAJOR).$(number MINOR).$(number PATCH)

for library in libvkxfb_capi.a libvkxfb_capi.so; do
    if [ ! -f "$from/$library" ]; then
        echo "$from has no $library: cargo build -p vkxfb-capi --release --locked; --from names another directory" >&2
        exit 1
    fi
done
# How large pointers are: the class of an ELF file.
case $(od -A n -t u1 -j 4 -N 1 "$from/libvkxfb_capi.so" | tr -d ' ') in
1) pointer=4 ;;
2) pointer=8 ;;
*)
    echo "$from/libvkxfb_capi.so is no ELF file" >&2
    exit 1
    ;;
esac

made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
if [ -n "$relocatable" ]; then
    # shellcheck disable=SC2016 # It is pkg-config's variable.
    named_prefix='${pcfiledir}/../..'
else
    # A space ends a flag.
    named_prefix=$(printf '%s\n' "$prefix" | sed 's/ /\\ /g')
fi
cat >"$made/vkxfb.pc" <<END
prefix=$named_prefix
libdir=\${prefix}/lib
includedir=\${prefix}/include

Name: vkxfb
Description: Transform feedback for every Vulkan device, by compute
Version: $version
Libs: -L\${libdir} -lvkxfb
Libs.private: -lgcc_s -lpthread -lm -ldl
Cflags: -I\${includedir}
END
{
    echo "set(vkxfb_sizeof_void_p $pointer)"
    cat "$here/cmake/vkxfb-config-version.cmake"
} >"$made/vkxfb-config-version.cmake"

to=${DESTDIR-}$prefix
mkdir -p "$to/include" "$to/lib/pkgconfig" "$to/share/cmake/vkxfb"
install -m 644 "$header" "$to/include"
install -m 644 "$from/libvkxfb_capi.a" "$to/lib/libvkxfb.a"
# A program that runs keeps the file that it has opened.
rm -f "$to/lib/libvkxfb.so.$version"
install -m 755 "$from/libvkxfb_capi.so" "$to/lib/libvkxfb.so.$version"
ln -sf "libvkxfb.so.$version" "$to/lib/libvkxfb.so.$named"
ln -sf "libvkxfb.so.$named" "$to/lib/libvkxfb.so"
install -m 644 "$made/vkxfb.pc" "$to/lib/pkgconfig"
install -m 644 "$here/cmake/vkxfb-config.cmake" "$made/vkxfb-config-version.cmake" "$to/share/cmake/vkxfb"
