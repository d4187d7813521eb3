# Packages: chromium
# Of npm: three@0.187.0
#
# Points that three.js moves by compute shaders, which are transform feedback on WebGL 2, in Chromium: three.html.

. /vkxfb/pages.sh
page three
