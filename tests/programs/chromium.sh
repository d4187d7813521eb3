# Packages: chromium
#
# Captures of WebGL 2, on ANGLE: webgl.html.

timeout 300 chromium --headless --no-sandbox --user-data-dir=/tmp/chromium --use-angle=vulkan --ignore-gpu-blocklist \
    --enable-features=Vulkan --disable-vulkan-surface --timeout=60000 --virtual-time-budget=20000 \
    --enable-logging=stderr --dump-dom file:///vkxfb/webgl.html >"$out/page" 2>"$out/log" || case_is 'chromium ends' fail "exit status $?"
sed -n -E 's/^(.*<pre id="cases">)?([^<]*\t(pass|fail)\t.*)/\2/p' "$out/page"
grep -q '^end' "$out/page" || case_is 'the page ends' fail
