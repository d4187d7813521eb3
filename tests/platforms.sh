#!/bin/sh
# tests/platforms.sh COMMAND...
#
# Runs COMMAND with what compiles for Windows, Android and macOS as far as `cargo check` does. It is fetched (150 MB) on
# the first call, into target/platforms, some 800 MB unpacked, and nothing of it is installed: removing that directory
# removes it all. tests/setup.sh --platforms calls this when what it cares for is there. Needs Debian 12 on x86_64, and
# no root.
#
# Debian has no standard library for these platforms. So these are its rustc-web and cargo-web, which are newer than its
# rustc, and the sources of the standard library, which cargo compiles, too (-Zbuild-std). For a check that is all, but
# for dlltool, by which the compiler imports functions of Windows: neither a linker nor a platform's own libraries. lld is
# there for .ci/android, which makes libraries of Android out of nothing but names.
#
# COMMAND finds cargo, rustc and ld.lld on PATH, and RUSTC, CARGO_TARGET_DIR and RUSTC_BOOTSTRAP in its environment.
set -eu

fail() {
    printf 'tests/platforms.sh: %s\n' "$1" >&2
    exit 1
}

cd "$(dirname "$0")/.."
here=$PWD/target/platforms
tools=$here/tools
bin=$here/bin
# shellcheck source=tests/debian.sh
. tests/debian.sh

fetch() {
    rm -rf "$here/apt" "$tools" "$bin" "$here/packages"
    mkdir -p "$here/apt/lists/partial" "$here/apt/archives/partial" "$bin"
    apt_get amd64 update
    # What this machine has already is not downloaded, but for the six by their names. lld is of the compiler's LLVM.
    apt_get amd64 --download-only --yes --reinstall install \
        rustc-web cargo-web rust-web-src libstd-rust-web-dev binutils-mingw-w64-x86-64 lld-22
    unpack "$tools"
    rm -r "$here/apt"
    wrap rustc cargo x86_64-w64-mingw32-dlltool ld.lld-22
    ln -s ld.lld-22 "$bin/ld.lld"
}

[ "$(cat "$here/complete" 2>/dev/null)" = "$(versions tests/platforms.sh)" ] || {
    echo 'tests/platforms.sh: fetching what checks for other platforms (150 MB) into target/platforms' >&2
    fetch
    versions tests/platforms.sh >"$here/complete"
}

export PATH="$bin:$PATH"
export RUSTC="$bin/rustc"
export VKXFB_PLATFORMS="$tools"
# Cargo compiles the standard library for those only who ask for what is not stable.
export RUSTC_BOOTSTRAP=1
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$here/build}"
[ $# -eq 0 ] || exec "$@"
