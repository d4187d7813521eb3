#!/bin/sh
# tests/setup.sh [--aarch64 | --newest | --platforms | --swiftshader | --windows] [COMMAND...]
#
# Installs what the tests and the probe need on Debian 12 (or a system made of it) beside Rust, where
# it is missing: a C linker and a C++ compiler, the Vulkan loader and headers, the software driver lavapipe, the
# validation layer, spirv-tools, glslang and shaderc. Then runs COMMAND, with cargo on PATH. Says nothing where nothing is
# missing. On any other system it names what is missing and installs nothing. Before `cargo test`, tests/languages.sh also
# fetches into target/ what the examples in C++ and Python need; without it their tests are skipped.
#
# With --aarch64 COMMAND also finds what builds for aarch64 Linux and runs it, which tests/aarch64.sh fetches; with
# --newest what runs programs on the newest lavapipe that Debian has, which tests/newest.sh fetches; with --platforms what
# checks for Windows, Android and macOS, which tests/platforms.sh fetches; with --swiftshader it runs on the driver
# SwiftShader, which tests/swiftshader.sh fetches; with --windows COMMAND finds what builds for Windows and runs it in Wine,
# which tests/windows.sh fetches.
set -eu

with=
case ${1-} in
--aarch64 | --newest | --platforms | --swiftshader | --windows)
    with=${1#--}
    shift
    ;;
esac

fail() {
    printf 'tests/setup.sh: %s\n' "$1" >&2
    exit 1
}

have_command() {
    command -v "$1" >/dev/null 2>&1
}

have_library() {
    # ldconfig is in /sbin, which an ordinary user's PATH may lack.
    PATH="$PATH:/usr/sbin:/sbin" ldconfig -p 2>/dev/null | grep -q "$1"
}

# Whether a manifest of that name lies where the loader looks for drivers (icd.d) or for layers
# (explicit_layer.d).
have_manifest() {
    for directory in /usr/share /usr/local/share /etc; do
        for manifest in "$directory/vulkan/$1"/$2; do
            [ ! -e "$manifest" ] || return 0
        done
    done
    return 1
}

# Whether the C compiler finds that header.
have_header() {
    echo "#include <$1>" | cc -E -x c - >/dev/null 2>&1
}

is_debian() {
    have_command apt-get && grep -Eq '^ID(_LIKE)?=.*debian' /etc/os-release 2>/dev/null
}

# Prints the packages of which something is missing, with what it is.
missing() {
    have_command cc || printf '%s\n' 'gcc a C linker (cc)' 'libc6-dev the C library to link with'
    have_command c++ || echo 'g++ a C++ compiler (c++)'
    have_library 'libvulkan\.so\.1' || echo 'libvulkan1 the Vulkan loader (libvulkan.so.1)'
    # It brings the library without a number, too, which programs in C are linked with.
    have_header vulkan/vulkan.h || echo 'libvulkan-dev the Vulkan headers (vulkan/vulkan.h)'
    have_manifest icd.d 'lvp_icd*.json' || echo 'mesa-vulkan-drivers the driver lavapipe (lvp_icd*.json)'
    have_manifest explicit_layer.d 'VkLayer_khronos_validation.json' ||
        echo 'vulkan-validationlayers the validation layer (VkLayer_khronos_validation)'
    have_command spirv-val || echo 'spirv-tools SPIRV-Tools (spirv-val)'
    have_command glslangValidator || echo 'glslang-tools glslang (glslangValidator)'
    have_command glslc || echo 'glslc shaderc (glslc)'
    [ "$with" != windows ] || have_command Xvfb || echo 'xvfb an X server without a screen (Xvfb)'
    [ "$with" != aarch64 ] || have_command pkg-config || echo 'pkgconf pkg-config'
    [ "$with" != aarch64 ] || python3 -m pip --version >/dev/null 2>&1 || echo "python3-pip pip, Python's installer of packages"
}

# apt's output is shown only where it fails.
apt_get() {
    # Nothing may ask. A machine just started may still be at its own upgrades: wait for the lock.
    output=$($as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get -qq -o DPkg::Lock::Timeout=300 "$@" </dev/null 2>&1) ||
        fail "apt-get $* failed:
$output"
}

needed=$(missing)
if [ -n "$needed" ]; then
    if ! is_debian; then
        fail "not a Debian, so please install:
$(printf '%s\n' "$needed" | sed 's/^[^ ]* /  /')"
    fi
    packages=$(printf '%s\n' "$needed" | sed 's/ .*//' | paste -sd ' ' -)
    if [ "$(id -u)" -eq 0 ]; then
        as_root=
    elif have_command sudo; then
        as_root=sudo
    else
        fail "neither root nor sudo; please have root run: apt-get install $packages"
    fi
    printf 'tests/setup.sh: installing %s\n' "$packages" >&2
    apt_get update
    # shellcheck disable=SC2086 # A list of words.
    apt_get install --yes --no-install-recommends $packages
    needed=$(missing)
    [ -z "$needed" ] || fail "installed, and still missing:
$needed"
fi

if ! have_command cargo; then
    cargo_bin=${CARGO_HOME:-${HOME:-/root}/.cargo}/bin
    [ -x "$cargo_bin/cargo" ] || fail "no cargo on PATH nor in $cargo_bin; see https://rustup.rs"
    PATH="$cargo_bin:$PATH"
    export PATH
fi

if [ "${1-} ${2-}" = 'cargo test' ]; then
    "$(dirname "$0")/languages.sh" || echo 'tests/setup.sh: tests/languages.sh failed' >&2
fi

[ -z "$with" ] || exec "$(dirname "$0")/$with.sh" "$@"
[ $# -eq 0 ] || exec "$@"
