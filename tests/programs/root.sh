# Debian unstable's userland in target/programs/root, for .ci/programs; for bash, with .ci/steps.sh. Packages are unpacked, not
# installed: no script of theirs runs. Programs run in a chroot, in namespaces of their own, so that nothing of them outlives
# a run.

here=$PWD/target/programs
root=$here/root
# What programs write.
work=$here/work
# Names the files of packages that are in the root.
unpacked=$here/unpacked
# shellcheck source=tests/apt.sh
. tests/apt.sh

# What all parts need.
essentials=(base-files bash coreutils dash sed grep mawk xvfb mesa-vulkan-drivers libvulkan1)

# Asks the suite of $here once an hour.
ask_hourly() {
    [ -z "$(find "$here/asked" -mmin -60 2>/dev/null)" ] || return 0
    mkdir -p "$here"
    ask "$1" || fail "Debian cannot be asked what $1 has"
    touch "$here/asked"
}

# Makes the root have packages with what they depend on. Prints why it cannot, and fails, where unstable lacks one. Where
# unstable has moved on from what is there, all begins anew.
need() {
    local file files missing=()
    ask_hourly sid
    if ! files=$(files_of "${essentials[@]}" "$@" 2>"$here/errors"); then
        cat "$here/errors"
        return 1
    fi
    mkdir -p "$unpacked"
    for file in $files; do
        [ ! -e "$unpacked/$file" ] || continue
        if compgen -G "$unpacked/${file%%_*}_*" >/dev/null; then
            printf '.ci/programs: unstable has moved on from what is in %s, which is made anew\n' "$here" >&2
            rm -rf "$root" "$unpacked"
            need "$@"
            return
        fi
        missing+=("$file")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    printf '.ci/programs: fetching and unpacking %d packages\n' ${#missing[@]} >&2
    # By name and version: apt writes a colon as %3a in the names of files.
    # shellcheck disable=SC2046 # A list of words.
    (cd "$here/apt/archives" && apt_get download $(printf '%s\n' "${missing[@]}" | sed 's/_/=/; s/_.*//; s/%3a/:/')) ||
        fail 'packages cannot be fetched'
    # The first has the links from /bin to /usr/bin and the like, which the others rely on.
    for file in $(printf '%s\n' "${missing[@]}" | grep '^base-files_') "${missing[@]}"; do
        [ -e "$unpacked/$file" ] || unpack "$here/apt/archives/$file" || return 1
    done
    mkdir -p "$root"/{dev,proc,sys,tmp,vkxfb,work}
    # What scripts of packages would have written.
    ldconfig -r "$root"
    echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
}

# Makes the root have a package of another suite, without what that depends on. As `need` where there is none.
need_of() {
    local suite=$1 package=$2
    ! compgen -G "$unpacked/${package}_*" >/dev/null || return 0
    (
        here=$here/$suite
        ask_hourly "$suite"
        cd "$here/apt/archives"
        if ! apt_get download "$package"; then
            printf '%s lacks %s\n' "$suite" "$package"
            exit 1
        fi
        unpack "$(echo "$here/apt/archives/${package}"_*.deb)"
    )
}

# Makes the root have a package of npm, which is NAME@VERSION, in /usr/share/npm. As `need` where there is none.
need_of_npm() {
    local name=${1%@*} from=$here/npm
    [ ! -e "$unpacked/npm-$1" ] || return 0
    if ! command -v npm >/dev/null; then
        printf 'there is no npm here, which has %s\n' "$1"
        return 1
    fi
    rm -rf "$from" "$root/usr/share/npm/$name"
    mkdir -p "$from" "$root/usr/share/npm/$name"
    # A package's own scripts do not run.
    if ! (cd "$from" && npm pack --silent --ignore-scripts "$1" >/dev/null) 2>"$here/errors"; then
        printf 'npm does not give %s\n' "$1"
        cat "$here/errors"
        return 1
    fi
    tar -xf "$from"/*.tgz -C "$root/usr/share/npm/$name" --strip-components=1 --no-same-owner
    rm -r "$from"
    touch "$unpacked/npm-$1"
}

unpack() {
    mkdir -p "$root"
    dpkg-deb -x "$1" "$root" || return 1
    rm "$1"
    touch "$unpacked/${1##*/}"
}

# Runs a command in the root, as root there, with this folder as /vkxfb and what comes out in /work. Variables of this
# machine's environment do not reach it.
enter() {
    # Users other than root are root in a namespace, where the system lets them.
    local user=()
    [ "$(id -u)" -eq 0 ] || user=(--map-root-user)
    mkdir -p "$work"
    env -i HOME=/tmp LANG=C.UTF-8 PATH=/usr/sbin:/usr/bin unshare "${user[@]}" --mount --pid --ipc --fork --kill-child sh -c '
        set -eu
        cd "$1"
        mount --rbind /dev dev
        mount --rbind /sys sys
        mount -t proc proc proc
        mount -t tmpfs tmpfs tmp
        mount --bind "$2" vkxfb
        mount --bind "$3" work
        shift 3
        exec chroot . "$@"' enter "$root" "$PWD/tests/programs" "$work" "$@"
}
