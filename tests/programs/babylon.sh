# Packages: chromium
# Of npm: babylonjs@9.35.0
#
# Particles and bounds of meshes, for which Babylon.js takes transform feedback, in Chromium: babylon.html.

. /vkxfb/pages.sh
page babylon
