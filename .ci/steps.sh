# What .ci/foreign, .ci/newest and .ci/sanitize are written with, for bash. Sourcing it makes a directory in $directory,
# which is removed at the end.

fail() {
    printf '%s: %s\n' "$0" "$1" >&2
    exit 1
}

# Runs a step, quietly where it succeeds. Its output is then in $output.
step() {
    local what=$1 start=$SECONDS status=0
    shift
    "$@" >"$directory/output" 2>&1 || status=$?
    output=$(cat "$directory/output")
    [ $status -eq 0 ] || fail "$what: exit status $status
$output"
    printf '%5d s  %s\n' $((SECONDS - start)) "$what"
}

# Fails where the last step did not say that.
said() {
    grep -Eq "$1" <<<"$output" || fail "not said: $1
$output"
}

directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
