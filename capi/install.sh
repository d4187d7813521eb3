#!/bin/sh
# capi/install.sh [--from DIRECTORY] PREFIX
#
# Installs the C library for pkg-config and CMake, as `cargo cinstall` does where cargo-c is there:
#
#     cargo build -p vkxfb-capi --release --locked
#     capi/install.sh /usr/local
#
# --from is where cargo has put the libraries, by default target/release. This is for ELF systems, such as Linux.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
from=$here/../target/release
if [ "${1-}" = --from ]; then
    from=$2
    shift 2
fi
if [ $# -ne 1 ]; then
    sed -n '2s/^# //p' "$0" >&2
    exit 2
fi
prefix=$1
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
        echo "$from has no $library: cargo build -p vkxfb-capi --release --locked" >&2
        exit 1
    fi
done
mkdir -p "$prefix/include" "$prefix/lib/pkgconfig" "$prefix/share/cmake/vkxfb"
cp "$header" "$prefix/include"
cp "$from/libvkxfb_capi.a" "$prefix/lib/libvkxfb.a"
# A program that runs keeps the file that it has opened.
rm -f "$prefix/lib/libvkxfb.so.$version"
cp "$from/libvkxfb_capi.so" "$prefix/lib/libvkxfb.so.$version"
ln -sf "libvkxfb.so.$version" "$prefix/lib/libvkxfb.so.$named"
ln -sf "libvkxfb.so.$named" "$prefix/lib/libvkxfb.so"
cp "$here"/cmake/*.cmake "$prefix/share/cmake/vkxfb"
cat >"$prefix/lib/pkgconfig/vkxfb.pc" <<END
prefix=\${pcfiledir}/../..
libdir=\${prefix}/lib
includedir=\${prefix}/include

Name: vkxfb
Description: Transform feedback for every Vulkan device, by compute
Version: $version
Libs: -L\${libdir} -lvkxfb
Libs.private: -lgcc_s -lpthread -lm -ldl
Cflags: -I\${includedir}
END
