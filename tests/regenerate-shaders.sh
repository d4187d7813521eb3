#!/bin/sh
# tests/regenerate-shaders.sh [DIRECTORY]
#
# Compiles shaders/*/*.{vert,tesc,tese,geom,comp} to SPIR-V into the same folders of DIRECTORY, by default beside the sources.
set -eu
sources=$(dirname "$0")/../shaders
directory=${1:-$sources}
for source in "$sources"/*/*.vert "$sources"/*/*.tes[ce] "$sources"/*/*.geom "$sources"/*/*.comp; do
    folder=$directory/$(basename "$(dirname "$source")")
    name=$(basename "$source")
    mkdir -p "$folder"
    # SPIR-V 1.0 for Vulkan 1.0, the least that any device takes.
    glslangValidator --quiet -V --target-env vulkan1.0 -o "$folder/${name%.*}.spv" "$source"
done
