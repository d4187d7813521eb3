#!/bin/sh
# tests/swiftshader.sh COMMAND...
#
# Runs COMMAND with SwiftShader as the only Vulkan driver: a driver on the CPU that has neither transform feedback nor
# geometry and tessellation shaders, so that captures and the layer are tested where nothing of the driver takes part. It is
# a library in Debian 12's package chromium-common, which is fetched (32 MB) into target/swiftshader, where the library
# (5 MB) and its manifest are kept, and fetched again when Debian has another version, of which it is asked once a day.
# Nothing of it is installed: removing that directory removes it all. tests/setup.sh --swiftshader calls this when what it
# cares for is there. Needs Debian 12 on x86_64, and no root.
set -eu

fail() {
    printf 'tests/swiftshader.sh: %s\n' "$1" >&2
    exit 1
}

cd "$(dirname "$0")/.."
here=$PWD/target/swiftshader
library=libvk_swiftshader.so
manifest=vk_swiftshader_icd.json
package=chromium-common

# shellcheck source=tests/apt.sh
. tests/apt.sh

# Prints what is to be unpacked: the package's file, and this script.
wanted() {
    ask bookworm || return 1
    # Without what the package depends on, which is all of a browser.
    apt_get --print-uris download $package | awk '{ print $2 } END { exit NR == 0 }' || return 1
    cksum <tests/swiftshader.sh
}

fetch() {
    rm -rf "$here/$package"* "$here/$library" "$here/$manifest" "$here/package"
    (cd "$here" && apt_get download $package) || fail "apt-get download $package failed"
    dpkg-deb --fsys-tarfile "$here/$package"_*.deb |
        tar -x -C "$here" --strip-components=4 "./usr/lib/chromium/$library" "./usr/lib/chromium/$manifest" ||
        fail "the package $package has no SwiftShader"
    rm "$here/$package"_*.deb
    cp "$here/wanted" "$here/package"
}

[ "$(dpkg --print-architecture 2>/dev/null)" = amd64 ] && grep -q '^VERSION_CODENAME=bookworm' /etc/os-release ||
    fail 'needs Debian 12 on x86_64'
mkdir -p "$here"
if [ -z "$(find "$here/wanted" -newer tests/swiftshader.sh -mmin -1440 2>/dev/null)" ]; then
    wanted >"$here/wanted.new" || fail 'Debian cannot be asked what it has'
    mv "$here/wanted.new" "$here/wanted"
fi
cmp -s "$here/wanted" "$here/package" || {
    echo 'tests/swiftshader.sh: fetching SwiftShader (32 MB) into target/swiftshader' >&2
    fetch
}

export VK_DRIVER_FILES="$here/$manifest"
export VKXFB_SWIFTSHADER="$here"
[ $# -eq 0 ] || exec "$@"
