# Sourced by the scripts beside it: where the project is, how to talk, how to find Python, how to install Debian packages.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
mkdir -p .var

say() { printf '==> %s\n' "$*" >&2; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# A setting's value from the environment, else from .env; empty when neither has it.
setting() {
    if [ -n "${!1:-}" ]; then
        printf '%s' "${!1}"
    elif [ -f .env ]; then
        sed -nE "s/^[[:space:]]*(export[[:space:]]+)?$1[[:space:]]*=[[:space:]]*['\"]?([^'\"]*)['\"]?[[:space:]]*$/\2/p" .env | tail -n 1
    fi
}

uses_mysql() { [[ "$(setting DATABASE_URL)" == mysql:* ]]; }

supported_python() { "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; }

# The first interpreter this project runs on: PYTHON when given, else python3, else a versioned one on PATH.
find_python() {
    local candidate
    if [ -n "${PYTHON:-}" ]; then
        supported_python "$PYTHON" || die "PYTHON=$PYTHON is not Python 3.11, 3.12 or 3.13: name one that is, or unset PYTHON"
        command -v "$PYTHON"
        return
    fi
    for candidate in python3 python3.13 python3.12 python3.11; do
        if supported_python "$candidate"; then
            command -v "$candidate"
            return
        fi
    done
    die "no Python 3.11, 3.12 or 3.13 found (python3 is $(python3 --version 2>&1 || true)): install one, or name it: make PYTHON=/path/to/python3.12 ..."
}

python_version() { "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])'; }

may_install() {
    command -v apt-get >/dev/null || return 1
    [ "$(id -u)" = 0 ] || { command -v sudo >/dev/null && sudo -n true 2>/dev/null; }
}

apt() {
    local -a root=()
    [ "$(id -u)" = 0 ] || root=(sudo -n)
    # Output goes to stderr, and stdin is closed: nothing may wait for an answer.
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=120 "$@" </dev/null >&2
}

apt_updated=
# apt_install REASON PACKAGE...: says what it installs; status 1, with a message, when it cannot.
apt_install() {
    local reason=$1
    shift
    if ! may_install; then
        say "For $reason these Debian packages are missing, and there is neither root nor sudo without a password to install them: $*"
        return 1
    fi
    say "Installing Debian packages for $reason: $*"
    if [ -z "$apt_updated" ]; then
        apt update || say "apt-get update failed; going on with the package lists at hand"
        apt_updated=1
    fi
    apt install -y --no-install-recommends "$@" || { say "Could not install: $*"; return 1; }
}
