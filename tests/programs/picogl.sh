# Packages: chromium
# Of npm: picogl@0.17.9
#
# Points that PicoGL.js moves by transform feedback, in Chromium: picogl.html.

. /vkxfb/pages.sh
page picogl
