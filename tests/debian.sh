# Packages of this machine's Debian, unpacked and not installed: for tests/aarch64.sh, tests/platforms.sh and
# tests/windows.sh; for sh. apt's state is in $here/apt, and $here/packages lists what was unpacked.

# What was fetched is fetched again when the files that say what it is change.
versions() {
    cat tests/debian.sh "$@" | cksum
}

# apt with its state in a directory of its own. $1: the architecture.
apt_get() {
    architecture=$1
    shift
    apt-get -qq -o Dir::State::Lists="$here/apt/lists" -o Dir::Cache="$here/apt" \
        -o APT::Architecture="$architecture" -o APT::Architectures="$architecture" -o APT::Install-Recommends=0 \
        -o APT::Sandbox::User="$(id -un)" -o Debug::NoLocking=1 "$@" </dev/null ||
        fail "apt-get $* failed for $architecture"
}

# Unpacks what apt has downloaded into a directory.
unpack() {
    mkdir -p "$1"
    for package in "$here"/apt/archives/*.deb; do
        dpkg-deb -x "$package" "$1"
        basename "$package" >>"$here/packages"
        rm "$package"
    done
}

# Writes wrappers into $bin for programs in $tools. Their libraries lie beside them, where the dynamic linker does not
# look.
wrap() {
    for program in "$@"; do
        cat >"$bin/$program" <<END_OF_WRAPPER
#!/bin/sh
export LD_LIBRARY_PATH="$tools/usr/lib/x86_64-linux-gnu\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}"
exec "$tools/usr/bin/$program" "\$@"
END_OF_WRAPPER
        chmod +x "$bin/$program"
    done
}

[ "$(dpkg --print-architecture 2>/dev/null)" = amd64 ] && grep -q '^VERSION_CODENAME=bookworm' /etc/os-release ||
    fail 'needs Debian 12 on x86_64'
