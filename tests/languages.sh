#!/bin/sh
# tests/languages.sh
#
# Fetches what the examples in C++ and Python need (1 MB) into target/languages, and installs nothing: removing that
# directory removes it all. tests/setup.sh calls this. Where it cannot be fetched, nothing is said: the tests that run
# these examples say that they are skipped. It is tried again after an hour, or when this script changes.
#
# - include/vk_mem_alloc.h, the Vulkan Memory Allocator: Debian 12 does not have it, so it is the package of Debian 13.
# - python/, the packages of tests/languages.txt.
set -eu

cd "$(dirname "$0")/.."
here=$PWD/target/languages
versions=$(cat tests/languages.sh tests/languages.txt | cksum)
package=libvulkan-memory-allocator-dev_3.2.1%2bdfsg-1_all.deb
sum=SHA256:75a48c6bfd4779b606576be9f7bb3a8ad4def7642d52db76886c0e6ea3dc9341

[ "$(cat "$here/versions" 2>/dev/null)" != "$versions" ] || exit 0
[ -z "$(find "$here/tried" -newer tests/languages.sh -mmin -60 2>/dev/null)" ] || exit 0
# Several may be at it: each fetches for itself, and the last one stays.
made=$here.$$
trap 'rm -rf "$made"' EXIT
mkdir -p "$here" "$made"
touch "$here/tried"

is_complete=1
pool=http://deb.debian.org/debian/pool/main/v/vulkan-memory-allocator
if /usr/lib/apt/apt-helper -qq -o APT::Sandbox::User="$(id -un)" download-file "$pool/$package" "$made/vma.deb" "$sum" \
    >/dev/null 2>&1 && dpkg-deb -x "$made/vma.deb" "$made/vma"; then
    mkdir -p "$here/include"
    mv "$made/vma/usr/include/vk_mem_alloc.h" "$here/include/"
else
    is_complete=0
fi
if python3 -m pip --quiet --disable-pip-version-check --retries 0 install --no-deps --only-binary :all: \
    --require-hashes --root-user-action ignore --target "$made/python" --requirement tests/languages.txt \
    >/dev/null 2>&1; then
    rm -rf "$here/python"
    mv "$made/python" "$here/"
else
    is_complete=0
fi
[ $is_complete -eq 0 ] || printf '%s\n' "$versions" >"$here/versions"
