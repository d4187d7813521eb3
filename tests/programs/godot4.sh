# Packages: godot libgl1-mesa-dri
#
# Blend shapes, skeletons and particles of Godot 4's Compatibility renderer, on zink: godot4.gd.

. /vkxfb/godot.sh
printf 'config_version=5\n' >"$out/project.godot"
godot godot4.gd godot --rendering-method gl_compatibility
