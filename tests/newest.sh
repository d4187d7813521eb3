#!/bin/sh
# tests/newest.sh COMMAND...
#
# Runs COMMAND with what runs programs on the newest lavapipe that Debian has: unstable's driver and Vulkan loader, with
# the libraries they need, down to the C library, Vulkan's headers, and vulkaninfo. They are fetched (80 MB) into
# target/newest, some 400 MB unpacked, and fetched again when unstable has moved on, of which it is asked once an hour.
# Nothing of it is installed: removing that directory removes it all. tests/setup.sh --newest calls this when what it
# cares for is there. Needs Debian 12 on x86_64, and no root.
#
# COMMAND finds on PATH
#
#     run-newest PROGRAM...       runs a program of this machine on that driver; cargo takes it as its runner
#
# PROGRAM is a copy of what cargo has built, in which the paths of the dynamic linker and of the libraries are
# changed: so it can start itself once more, and other programs are as they are. What unstable's packages lack is taken
# from this machine: the validation layer, which thus is the one of the other tests.
set -eu

fail() {
    printf 'tests/newest.sh: %s\n' "$1" >&2
    exit 1
}

cd "$(dirname "$0")/.."
here=$PWD/target/newest
root=$here/root
bin=$here/bin
libraries=$root/usr/lib/x86_64-linux-gnu
linker=$libraries/ld-linux-x86-64.so.2
packages='mesa-vulkan-drivers libvulkan1 libvulkan-dev vulkan-tools spirv-tools patchelf'

# shellcheck source=tests/apt.sh
. tests/apt.sh

# Prints what is to be unpacked: a line for each package, and this script.
wanted() {
    ask sid || return 1
    # shellcheck disable=SC2086 # A list of words.
    files_of $packages || return 1
    cksum <tests/newest.sh
}

fetch() {
    rm -rf "$root" "$bin" "$here/programs" "$here/packages"
    # shellcheck disable=SC2086 # A list of words.
    apt_get --download-only --yes install $packages || fail 'apt-get install failed for unstable'
    mkdir -p "$root" "$bin"
    for package in "$here"/apt/archives/*.deb; do
        dpkg-deb -x "$package" "$root"
        rm "$package"
    done
    for tool in patchelf spirv-val; do
        cat >"$bin/$tool" <<END
#!/bin/sh
exec "$linker" --library-path "$libraries" "$root/usr/bin/$tool" "\$@"
END
        chmod +x "$bin/$tool"
    done
    # The paths of a program count for the libraries of libraries, too, but not for those that have paths of their own.
    for library in "$libraries"/*.so*; do
        [ -z "$("$bin/patchelf" --print-rpath "$library")" ] || "$bin/patchelf" --remove-rpath "$library"
    done
    cat >"$bin/run-newest" <<END
#!/bin/sh
# run-newest PROGRAM...
set -eu
build=\${CARGO_TARGET_DIR:-$PWD/target}

# Prints where the copy of a file is that cargo has built.
place() {
    printf '%s\n' "$here/programs/\${1#"\$build/"}"
}

# Copies a program, if there is none that is as new.
copy() {
    to=\$(place "\$1")
    if [ ! -e "\$to" ] || [ "\$1" -nt "\$to" ]; then
        mkdir -p "\${to%/*}"
        cp "\$1" "\$to.new"
        "$bin/patchelf" --set-interpreter "$linker" --force-rpath --set-rpath "$libraries" "\$to.new"
        mv "\$to.new" "\$to"
    fi
}

program=\$(realpath "\$1")
shift
copy "\$program"
# What tests and benchmarks look for beside themselves, the layers, and one directory up, the command.
directory=\${program%/*}
for layer in layer forwarding hiding; do
    layer=\$directory/libvkxfb_\$layer.so
    [ ! -e "\$layer" ] || ln -sfn "\$layer" "\$(place "\$layer")"
done
command=\${directory%/*}/vkxfb
[ ! -e "\$command" ] || copy "\$command"
export VK_DRIVER_FILES="$root/usr/share/vulkan/icd.d/lvp_icd.json"
exec "\$(place "\$program")" "\$@"
END
    chmod +x "$bin/run-newest"
    cp "$here/wanted" "$here/packages"
}

[ "$(dpkg --print-architecture 2>/dev/null)" = amd64 ] && grep -q '^VERSION_CODENAME=bookworm' /etc/os-release ||
    fail 'needs Debian 12 on x86_64'
mkdir -p "$here"
if [ -z "$(find "$here/wanted" -newer tests/newest.sh -mmin -60 2>/dev/null)" ]; then
    wanted >"$here/wanted.new" || fail 'unstable cannot be asked what it has'
    mv "$here/wanted.new" "$here/wanted"
fi
cmp -s "$here/wanted" "$here/packages" || {
    echo 'tests/newest.sh: fetching the newest lavapipe (85 MB) into target/newest' >&2
    fetch
}

export PATH="$bin:$PATH"
export VKXFB_NEWEST="$root"
export CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER=run-newest
[ $# -eq 0 ] || exec "$@"
