# apt for another suite of Debian than this machine's, on amd64: for tests/newest.sh and .ci/programs; for sh. Its state is in
# $here/apt, for a system that has nothing yet: neither the apt of this machine nor what is installed takes part. The keys are
# Debian's own.

apt_get() {
    apt-get -qq -o Dir::Etc::SourceList="$here/apt/sources.list" -o Dir::Etc::SourceParts=- \
        -o Dir::State::Lists="$here/apt/lists" -o Dir::State::status="$here/apt/status" -o Dir::Cache="$here/apt" \
        -o APT::Architecture=amd64 -o APT::Architectures=amd64 -o APT::Install-Recommends=0 \
        -o APT::Sandbox::User="$(id -un)" -o Debug::NoLocking=1 "$@" </dev/null
}

# Asks a suite what it has now.
ask() {
    mkdir -p "$here/apt/lists/partial" "$here/apt/archives/partial"
    : >"$here/apt/status"
    printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian %s main\n' "$1" \
        >"$here/apt/sources.list"
    apt_get update >&2
}

# Prints the files of packages and of all that they depend on.
files_of() {
    apt_get --print-uris --yes install "$@" | awk '{ print $2 }' | sort
}
