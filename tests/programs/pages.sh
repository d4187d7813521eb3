# Pages of WebGL 2 in Chromium, on ANGLE, for the parts that have them; sourced.

# Runs the page NAME.html of this folder on lavapipe and on SwiftShader, which natively has no transform feedback, so that ANGLE
# makes it. Prints its cases. Its pictures are those that it has natively.
page() {
    for driver in lavapipe SwiftShader; do
        of=$out/$driver
        mkdir -p "$of"
        manifest=$VK_DRIVER_FILES
        [ $driver = lavapipe ] || manifest=/usr/lib/chromium/vk_swiftshader_icd.json
        VK_DRIVER_FILES=$manifest timeout 300 chromium --headless --no-sandbox --user-data-dir=/tmp/chromium-$driver \
            --use-angle=vulkan --ignore-gpu-blocklist --enable-features=Vulkan --disable-vulkan-surface \
            --allow-file-access-from-files --timeout=60000 --virtual-time-budget=20000 --enable-logging=stderr \
            --dump-dom "file:///vkxfb/$1.html" >"$of/page" 2>"$of/log" || case_is "$driver: chromium ends" fail "exit status $?"
        sed -n -E "s/^(.*<pre id=\"cases\">)?([^<]*\t(pass|fail)\t.*)/$driver: \2/p" "$of/page"
        grep -q '^end' "$of/page" || case_is "$driver: the page ends" fail "$(grep -m 1 CONSOLE "$of/log")"
        sed -n -E 's/^(.*<pre id="cases">)?picture\t(.*)/\2/p' "$of/page" >"$of/pictures"
        while IFS='	' read -r name data; do
            printf %s "$data" | base64 -d >"$of/$name.png"
            same_case "$driver: the picture of $name" "$driver/$name.png"
        done <"$of/pictures"
        [ "$side" = native ] || grep -q "$proof" "$of/log" || case_is "$driver: the layer takes part" fail
    done
}
