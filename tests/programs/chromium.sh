# Packages: chromium
#
# Captures of WebGL 2, on ANGLE: webgl.html.

. /vkxfb/pages.sh
page webgl
