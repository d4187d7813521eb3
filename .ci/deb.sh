# Sourced by .ci/package: makes a package for Debian, and what is made of it, of what lies in an archive's tree.
# shellcheck shell=bash disable=SC2154 # The script has set version, commit, GLIBC and SOURCE_DATE_EPOCH.
#
# dpkg-deb packs it, which is wherever packages are unpacked, and takes SOURCE_DATE_EPOCH. cargo-deb would build it, and
# would do no more than that, since the files are there: what it gathers itself is of one package of cargo's, for the
# machine that it runs on.

# The first package of that version.
revision=$version-1

# Debian's name of a machine.
deb_architecture() {
    case $1 in
    x86_64) echo amd64 ;;
    aarch64) echo arm64 ;;
    esac
}

# The package's file. $1: the machine.
deb_name() {
    echo "vkxfb_${revision}_$(deb_architecture "$1").deb"
}

# $1: the machine, $2: the archive's tree, $3: where the package goes.
pack_deb() {
    local triplet=$1-linux-gnu root=$3/deb-$1 deb
    deb=$3/$(deb_name "$1")
    # Who packs it for others has an address.
    local maintainer=${VKXFB_MAINTAINER:-The vkxfb developers <vkxfb@vkxfb.invalid>}
    local library=$root/usr/lib/$triplet share=$root/usr/share
    local documents=$share/doc/vkxfb

    rm -rf "$root"
    mkdir -p "$root/DEBIAN" "$library" "$share/zsh"
    cp -r "$2/bin" "$2/include" "$root/usr"
    cp -P -r "$2"/lib/* "$library"
    # What libvkxfb.pc says of the archive is relative to it.
    sed -i -e 's|^prefix=.*|prefix=/usr|' -e "s|^libdir=.*|libdir=\${prefix}/lib/$triplet|" "$library/pkgconfig/vkxfb.pc"
    cp -r "$2"/share/{cmake,doc,man,bash-completion,fish,vulkan} "$share"
    sed -i "s|/lib/libvkxfb_layer|/lib/$triplet/libvkxfb_layer|" "$share"/vulkan/explicit_layer.d/*.json
    # Debian's own place, which its zsh looks in.
    cp -r "$2/share/zsh/site-functions" "$share/zsh/vendor-completions"

    # Names and forms that Debian's policy asks for.
    rm "$documents"/LICENSE-{APACHE,MIT}
    mv "$documents/CHANGELOG.md" "$documents/changelog"
    cp "$2/README.md" "$documents/boards.md"
    printf '%s\n' "vkxfb ($revision) unstable; urgency=medium" '' "  * Of commit $commit; the changes stand in changelog.gz." '' \
        " -- $maintainer  $(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")" >"$documents/changelog.Debian"
    gzip -n -9 "$documents"/changelog{,.Debian}
    {
        printf '%s\n' 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/' \
            'Upstream-Name: vkxfb' \
            'Comment: What it is linked with has licences of its own, in LICENSES-of-dependencies beside this file.' \
            '' 'Files: *' "$(sed -n 's/^Copyright (c) /Copyright: /p' "$2/share/doc/vkxfb/LICENSE-MIT")" \
            'License: Expat or Apache-2.0' '' 'License: Expat'
        sed -e '1,/^Copyright/d' "$2/share/doc/vkxfb/LICENSE-MIT" | sed -e 1d -e 's/^$/./' -e 's/^/ /'
        printf '%s\n' '' 'License: Apache-2.0' ' Its text is /usr/share/common-licenses/Apache-2.0 on Debian.'
    } >"$documents/copyright"

    echo "libvkxfb ${version%.*} vkxfb (>= $version)" >"$root/DEBIAN/shlibs"
    echo 'activate-noawait ldconfig' >"$root/DEBIAN/triggers"
    (cd "$root" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
    cat >"$root/DEBIAN/control" <<END
Package: vkxfb
Version: $revision
Architecture: $(deb_architecture "$1")
Maintainer: $maintainer
Installed-Size: $(find "$root/usr" -type f -printf '%s\n' | awk '{ kib += int(($1 + 1023) / 1024) } END { print kib }')
Depends: libc6 (>= $GLIBC)
Recommends: libvulkan1
Suggests: glslang-tools, mesa-vulkan-drivers | vulkan-icd
Section: graphics
Priority: optional
Description: transform feedback for every Vulkan device, by compute
 The command vkxfb probes what a driver captures, measures how fast, and
 captures what vertex shaders write. The Vulkan layer
 VK_LAYER_VKXFB_transform_feedback gives VK_EXT_transform_feedback to programs
 on drivers without it. libvkxfb does the same for programs in C, with its
 header, as a shared and a static library.
 .
 The Vulkan loader (libvulkan1) and a driver are looked up when it runs.
END

    find "$root" -type d -exec chmod 755 {} +
    find "$root" -type f -exec chmod 644 {} +
    chmod 755 "$root/usr/bin/vkxfb"
    find "$root" -exec touch --no-dereference --date "@$SOURCE_DATE_EPOCH" {} +
    # Several threads would give other bytes than one, and the dpkg of older boards knows no zstd. Higher levels take eight
    # times as long, for a sixth of the bytes.
    dpkg-deb --build --root-owner-group -Zxz -z1 --threads-max=1 "$root" "$deb" >/dev/null
    printf '  %-28s %9d bytes\n' "${deb##*/}" "$(stat -c %s "$deb")"
}
