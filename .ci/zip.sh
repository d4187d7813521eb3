# Sourced by .ci/package: makes the zip for x86_64 Windows.
# shellcheck shell=bash disable=SC2034,SC2154 # The script has set version, commit and SOURCE_DATE_EPOCH, and uses WINDOWS.

WINDOWS=x86_64-pc-windows-gnu

zip_name() {
    echo "vkxfb-$version-x86_64-windows.zip"
}

# Fails where a program or a library needs a DLL that is not a part of Windows, such as one of MinGW.
check_dlls() {
    local needed
    needed=$(objdump -p "$1" | sed -n 's/^\s*DLL Name: //p' | tr '[:upper:]' '[:lower:]' | sort -u)
    [ -n "$needed" ] || fail "$1 needs no DLL, which cannot be"
    for library in $needed; do
        case $library in
        advapi32.dll | bcryptprimitives.dll | kernel32.dll | ktmw32.dll | msvcrt.dll | ntdll.dll | oleaut32.dll | userenv.dll) ;;
        ws2_32.dll | api-ms-win-*.dll) ;;
        *) fail "$1 needs $library" ;;
        esac
    done
    printf '  %-28s %9d bytes, needs %s\n' "${1##*/}" "$(stat -c %s "$1")" "$(paste -sd ' ' <<<"$needed")"
}

# Makes the import library of a DLL. $1: the DLL's name, $2: the import library; standard input has the functions.
import_library() {
    local functions
    functions=$2.def
    (echo EXPORTS && cat) >"$functions"
    # Without a prefix its temporary files, whose names it writes into the library, have the number of its process.
    (cd "${2%/*}" && x86_64-w64-mingw32-dlltool --temp-prefix vkxfb --deterministic-libraries --input-def "$functions" \
        --dllname "$1" --output-lib "$2")
    rm "$functions"
}

# Lays out what was compiled, and packs it. $1: the target directory, $2: where the zip goes.
pack_zip() {
    local built=$1/$WINDOWS/release name tree
    name=$(zip_name)
    tree=$2/${name%.zip}
    rm -rf "$tree" "${2:?}/$name"
    mkdir -p "$tree"/{bin,include,lib,doc}

    cp "$built/vkxfb.exe" "$built/vkxfb_layer.dll" "$tree/bin"
    cp "$built/vkxfb_capi.dll" "$tree/bin/vkxfb.dll"
    cp capi/include/vkxfb.h "$tree/include"
    for file in "$tree"/bin/*; do
        check_dlls "$file"
    done
    check_switches "$tree/bin/vkxfb_layer.dll"
    grep -o 'vkxfb_[a-z0-9_]*(' capi/include/vkxfb.h | tr -d '(' | LC_ALL=C sort -u |
        import_library vkxfb.dll "$tree/lib/libvkxfb.dll.a"
    # For those who name its directory in VK_LAYER_PATH, or in the registry themselves.
    run windows "$tree/bin/vkxfb.exe" layer manifest >"$tree/bin/VkLayer_vkxfb_transform_feedback.json"

    copy_documents "$tree/doc"
    .ci/licenses "$WINDOWS" vkxfb-cli vkxfb-layer vkxfb-capi >"$tree/doc/LICENSES-of-dependencies"
    {
        cat .ci/windows.md
        printf '\n---\nvkxfb %s for x86_64 Windows, of commit %s.\n' "$version" "$commit"
        printf 'Compiled by %s, linked by MinGW.\n' "$("$RUSTC" --version)"
    } >"$tree/README.md"

    # Nothing of who packed it, when and where.
    find "$tree" -type d -exec chmod 755 {} +
    find "$tree" -type f -exec chmod 644 {} +
    find "$tree" -exec touch --no-dereference --date "@$SOURCE_DATE_EPOCH" {} +
    (cd "$2" && TZ=UTC python3 -m zipfile --create "$name" "${name%.zip}")
    printf '  %-28s %9d bytes\n' "$name" "$(stat -c %s "$2/$name")"
}
