#!/usr/bin/env bash
# Compiles the three lock files from pyproject.toml; arguments go to the resolver (--upgrade, --upgrade-package NAME).
. "$(dirname "$0")/common.sh"

tools=.var/tools
if [ ! -x "$tools/bin/uv" ]; then
    say "Installing the resolver (uv) into $tools"
    "$(find_python)" -m venv --clear "$tools"
    "$tools/bin/python" -m pip install --quiet --disable-pip-version-check uv
fi

export UV_CUSTOM_COMPILE_COMMAND="make lock"
compile() {
    local output=$1
    shift
    say "Compiling $output"
    "$tools/bin/uv" pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes \
        --no-emit-index-url --no-annotate --output-file "$output" "$@" >/dev/null
}

compile requirements.txt "$@"
# The other two hold the same versions as the core, so one environment can take any of them.
core=$(mktemp)
trap 'rm -f "$core"' EXIT
grep -oE '^[A-Za-z0-9][^ \\]*==[^ \\]+( ; [^\\]+)?' requirements.txt >"$core"
compile requirements-dev.txt --group dev --constraints "$core" "$@"
compile requirements-production.txt --extra production --constraints "$core" "$@"
