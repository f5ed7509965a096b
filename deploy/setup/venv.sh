#!/usr/bin/env bash
# venv.sh [--optional] LOCK: makes .venv when it is missing and installs the lock file, hashes checked, when it is not installed yet.
# --optional: a lock that cannot be built here (mysqlclient without headers) is said and left out.
. "$(dirname "$0")/common.sh"

optional=
if [ "${1:-}" = --optional ]; then
    optional=1
    shift
fi
lock=${1:?usage: venv.sh [--optional] LOCK}
[ -f "$lock" ] || die "$lock does not exist: run make lock"

make_venv() {
    local python version
    python=$(find_python)
    version=$(python_version "$python")
    if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        apt_install "virtual environments" "python$version-venv" \
            || die "Python's venv module is missing: install python$version-venv (Debian, Ubuntu) and run this again"
    fi
    say "Creating .venv with Python $version ($python)"
    "$python" -m venv --clear .venv
}

# Two targets started together (serve and worker) wait for each other here.
exec 9>.var/setup.lock
flock 9

if [ ! -x .venv/bin/python ] || ! .venv/bin/python -c 'import pip' 2>/dev/null; then
    make_venv
elif ! supported_python .venv/bin/python; then
    die ".venv has $(.venv/bin/python --version 2>&1): run make clean, then again with Python 3.11, 3.12 or 3.13"
fi

stamp=.venv/.installed-${lock%.txt}
# The interpreter's version and the file's hash: either changing means installing again.
want="$(.venv/bin/python --version) $(sha256sum <"$lock")"
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$want" ]; then
    exit 0
fi

say "Installing $lock into .venv"
if .venv/bin/python -m pip install -qq --disable-pip-version-check --no-input --require-hashes -r "$lock" 9>&-; then
    printf '%s\n' "$want" >"$stamp"
elif [ -n "$optional" ]; then
    say "$lock could not be installed here (see above); going on without it"
else
    die "$lock could not be installed: see the message above"
fi
