#!/usr/bin/env bash
# Runs every check, also after one has failed, and names those that failed.
. "$(dirname "$0")/common.sh"

# Settings must load; the checks touch no real database and sign nothing.
export SECRET_KEY=lint DATABASE_URL=sqlite://:memory: STATE_DIR=.var/lint
failed=()

check() {
    local name=$1
    shift
    say "$name"
    "$@" || failed+=("$name")
}

check "ruff check" .venv/bin/ruff check --output-format concise .
check "ruff format" .venv/bin/ruff format --check --output-format concise .
check "mypy" .venv/bin/mypy
check "import arrows" .venv/bin/lint-imports --no-logo
check "migrations" .venv/bin/python manage.py makemigrations --check --dry-run
check "house rules" .venv/bin/python deploy/setup/house_check.py

[ ${#failed[@]} = 0 ] || die "failed: $(printf '%s, ' "${failed[@]}" | sed 's/, $//')"
say "all checks passed"
