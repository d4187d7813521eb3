#!/bin/sh
# tests/programs/inside.sh SIDE PART
#
# Runs a part of .ci/programs in unstable's userland, where this folder is /vkxfb: on the driver alone where SIDE is
# native, on the layer where it is layer. There is a display. The part prints its cases, one a line, which is
# NAME<tab>OUTCOME<tab>DETAIL, where the outcome of what is right is pass. It keeps what programs say in the folder $out.
set -eu

side=$1
part=$2
out=/work/$part/$side
# The first process of a namespace has no signal that ends it but those it handles.
trap "exit 130" INT TERM
rm -rf "$out"
mkdir -p "$out" /tmp/.X11-unix
chmod 1777 /tmp/.X11-unix

# The server says its number, which is free on this machine, too. It outlives its last client.
Xvfb -displayfd 3 -screen 0 1024x768x24 -nolisten tcp -noreset >"$out/Xvfb.log" 2>&1 3>/tmp/display &
tries=0
until [ -s /tmp/display ]; do
    tries=$((tries + 1))
    [ $tries -lt 100 ] || { echo 'no display: Xvfb does not start' >&2; exit 1; }
    sleep 0.1
done
export DISPLAY=":$(cat /tmp/display)"
export XDG_RUNTIME_DIR=/tmp
export VK_DRIVER_FILES=/usr/share/vulkan/icd.d/lvp_icd.json
if [ "$side" = layer ]; then
    export VK_ADD_LAYER_PATH=/work/layer VK_INSTANCE_LAYERS=VK_LAYER_VKXFB_transform_feedback
    export VKXFB_FORCE_ENABLE=1 VKXFB_LOG=vkxfb_layer=warn,vkxfb_layer::device=info
fi

# Prints a case.
case_is() {
    printf '%s\t%s\t%s\n' "$1" "$2" "${3-}"
}

# Prints a case: a file of $out, as a picture, is there, and on the layer it is what it is natively, where the part ran before.
same_case() {
    got=$(sha256sum <"$out/$2") && [ -s "$out/$2" ] || { case_is "$1" fail "there is no $2"; return; }
    expected=$got
    [ "$side" = native ] || expected=$(sha256sum <"/work/$part/native/$2") || expected=none
    if [ "$got" = "$expected" ]; then
        case_is "$1" pass "sha256 $(echo "$got" | cut -c 1-16)"
    else
        case_is "$1" fail 'it is another one than natively'
    fi
}

# What a log has to say where the part ran on the layer: without it nothing was tested. A part may set it to less.
proof='captures are ours'
. "/vkxfb/$part.sh"
if [ "$side" = layer ] && ! grep -rq "$proof" "$out"; then
    case_is 'the layer takes part' fail "no log says: $proof"
fi
