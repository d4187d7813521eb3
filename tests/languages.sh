#!/bin/sh
# tests/languages.sh
#
# Fetches what the examples in C++ and Python need (1 MB) into target/languages, and installs nothing: removing that
# directory removes it all. tests/setup.sh calls this before `cargo test`. Where something cannot be fetched, the tests
# of these examples say that they are skipped. It is tried again after an hour, or when this script or the versions
# change.
#
# - include/vk_mem_alloc.h, the Vulkan Memory Allocator: Debian 12 does not have it, so it is the package of Debian 13.
# - python/, the packages of tests/languages.txt.
set -eu

cd "$(dirname "$0")/.."
here=$PWD/target/languages
versions=$(cat tests/languages.sh tests/languages.txt | cksum)
package=libvulkan-memory-allocator-dev_3.2.1%2bdfsg-1_all.deb
sum=SHA256:75a48c6bfd4779b606576be9f7bb3a8ad4def7642d52db76886c0e6ea3dc9341
pool=http://deb.debian.org/debian/pool/main/v/vulkan-memory-allocator

# tried says for which versions, and when. What other versions left goes.
if [ "$(cat "$here/tried" 2>/dev/null)" = "$versions" ]; then
    [ ! -d "$here/include" ] || [ ! -d "$here/python" ] || exit 0
    [ -z "$(find "$here/tried" -mmin -60)" ] || exit 0
else
    rm -rf "$here/include" "$here/python"
fi
# Several may be at it: each fetches for itself, and the first one stays.
made=$here.$$
trap 'rm -rf "$made"' EXIT
mkdir -p "$here" "$made/include"
printf '%s\n' "$versions" >"$here/tried"
echo 'tests/languages.sh: fetching what the examples in C++ and Python need' >&2

# Puts a directory into place, unless another has.
keep() {
    mv -T "$made/$1" "$here/$1" 2>/dev/null || [ -d "$here/$1" ]
}

# Nothing may wait for long, or ask.
if [ ! -d "$here/include" ] && timeout 60 /usr/lib/apt/apt-helper -qq -o APT::Sandbox::User="$(id -un)" \
    -o Acquire::Retries=0 -o Acquire::http::Timeout=10 download-file "$pool/$package" "$made/vma.deb" "$sum" \
    </dev/null >/dev/null 2>&1 && dpkg-deb -x "$made/vma.deb" "$made/vma"; then
    mv "$made/vma/usr/include/vk_mem_alloc.h" "$made/include/"
    keep include
fi
if [ ! -d "$here/python" ] && timeout 120 python3 -m pip --quiet --disable-pip-version-check --no-input --retries 0 \
    --timeout 10 install --no-deps --only-binary :all: --require-hashes --root-user-action ignore \
    --target "$made/python" --requirement tests/languages.txt </dev/null >/dev/null 2>&1; then
    keep python
fi
