#!/bin/sh
# tests/regenerate-shaders.sh [DIRECTORY]
#
# Compiles shaders/probe/*.vert to SPIR-V into DIRECTORY, by default beside the sources.
set -eu
sources=$(dirname "$0")/../shaders/probe
directory=${1:-$sources}
for source in "$sources"/*.vert; do
    name=$(basename "$source" .vert)
    # SPIR-V 1.0 for Vulkan 1.0, the least that any device takes.
    glslangValidator --quiet -V --target-env vulkan1.0 -o "$directory/$name.spv" "$source"
done
