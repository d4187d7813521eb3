#!/bin/sh
# tests/aarch64.sh COMMAND...
#
# Runs COMMAND with what builds for aarch64 Linux (and for x86_64, with the same compiler), and runs what was built. It
# is fetched on the first call, into target/aarch64, some 1.2 GB unpacked, and nothing of it is installed: removing that
# directory removes it all. tests/setup.sh --aarch64 calls this when what it cares for is there. Needs Debian 12 on
# x86_64, and neither root nor a foreign architecture of dpkg.
#
# - rustc-web of Debian 12, which is newer than its rustc, with its standard libraries for both. (rustup's toolchain
#   may lack one of them, and libraries of one compiler are of no use to the other.) Debian's package conflicts with
#   rustup's and with rustc's: that is why it is unpacked and not installed.
# - zig, as a linker and a C compiler that links with the symbols of any glibc, and cargo-zigbuild, which lets cargo use
#   it. Their versions, and the bytes, are pinned in tests/aarch64.txt.
# - qemu-user, binutils, and Debian's Vulkan loader, lavapipe and vulkaninfo for arm64.
#
# COMMAND finds on PATH cargo-zigbuild, zig, aarch64-linux-gnu-strip and
#
#     run-aarch64 PROGRAM...      runs a program for aarch64 on lavapipe; cargo takes it as its runner
#
# and in its environment RUSTC, CARGO_TARGET_DIR and VKXFB_AARCH64: the root directory of the arm64 packages.
set -eu

fail() {
    printf 'tests/aarch64.sh: %s\n' "$1" >&2
    exit 1
}

cd "$(dirname "$0")/.."
here=$PWD/target/aarch64
tools=$here/tools    # Debian's packages for this machine
root=$here/root      # those for arm64
python=$here/python  # those of pip
bin=$here/bin

# shellcheck source=tests/debian.sh
. tests/debian.sh

fetch() {
    rm -rf "$here/apt" "$tools" "$root" "$python" "$bin" "$here/packages"
    mkdir -p "$here/apt/lists/partial" "$here/apt/archives/partial" "$bin"
    apt_get amd64,arm64 update

    # What this machine has already is not downloaded, but for the four by their names.
    apt_get amd64 --download-only --yes --reinstall install \
        rustc-web libstd-rust-web-dev qemu-user-static binutils-aarch64-linux-gnu
    unpack "$tools"
    find "$tools/usr/bin" -name 'qemu-*' ! -name qemu-aarch64-static -delete
    # Alone: what it depends on is the compiler for arm64.
    (cd "$here/apt/archives" && apt_get arm64 download libstd-rust-web-dev)
    unpack "$tools"

    # The root has nothing yet. No driver but lavapipe finds a device there.
    : >"$here/apt/status"
    apt_get arm64 -o Dir::State::status="$here/apt/status" --download-only --yes install \
        libvulkan1 mesa-vulkan-drivers vulkan-tools
    # Headers, and the name that programs are linked by. Alone: it depends on Python.
    (cd "$here/apt/archives" && apt_get arm64 download libvulkan-dev)
    unpack "$root"
    rm -r "$here/apt"

    python3 -m pip --quiet --disable-pip-version-check install --no-deps --only-binary :all: --require-hashes \
        --root-user-action ignore --target "$python" --requirement tests/aarch64.txt || fail "pip failed"

    wrap rustc aarch64-linux-gnu-strip
    cat >"$bin/run-aarch64" <<END
#!/bin/sh
exec "$tools/usr/bin/qemu-aarch64-static" -L "$root" \\
    -E VK_DRIVER_FILES=/usr/share/vulkan/icd.d/lvp_icd.aarch64.json "\$@"
END
    chmod +x "$bin/run-aarch64"
    ln -s "$python/bin/cargo-zigbuild" "$python/ziglang/zig" "$bin"
    "$bin/rustc" --version >>"$here/packages"
    versions tests/aarch64.sh tests/aarch64.txt >"$here/complete"
}

[ "$(cat "$here/complete" 2>/dev/null)" = "$(versions tests/aarch64.sh tests/aarch64.txt)" ] || {
    echo 'tests/aarch64.sh: fetching what builds for aarch64 and runs it (350 MB) into target/aarch64' >&2
    fetch
}

export PATH="$bin:$PATH"
export RUSTC="$bin/rustc"
export VKXFB_AARCH64="$root"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$here/build}"
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER=run-aarch64
export CARGO_ZIGBUILD_ZIG_PATH="$bin/zig"
export CARGO_ZIGBUILD_CACHE_DIR="$here/zigbuild"
export ZIG_GLOBAL_CACHE_DIR="$here/zig-cache" ZIG_LOCAL_CACHE_DIR="$here/zig-cache"
[ $# -eq 0 ] || exec "$@"
