# Packages: godot3-runner libgl1-mesa-dri
#
# Blend shapes, skeletons and particles of Godot 3, on zink: godot3.gd.

. /vkxfb/godot.sh
printf 'config_version=4\n[rendering]\nquality/driver/fallback_to_gles2=false\n' >"$out/project.godot"
godot godot3.gd godot3-runner --video-driver GLES3
