#!/usr/bin/env bash
# packages.sh test|mysql-client: installs the Debian packages of a target that are missing, where that is allowed.
# Never fails for a package it cannot have: the target goes on with what exists and says what it leaves out.
. "$(dirname "$0")/common.sh"

has_mariadb_server() {
    PATH="$PATH:/usr/sbin:/sbin" command -v mariadbd >/dev/null && command -v mariadb-install-db >/dev/null
}

has_python_headers() {
    "$python" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))'
}

install_mysql_client() {
    local -a missing=()
    command -v gcc >/dev/null || missing+=(gcc libc6-dev)
    command -v pkg-config >/dev/null || missing+=(pkg-config)
    if ! { pkg-config --exists libmariadb || pkg-config --exists mysqlclient; } 2>/dev/null; then
        missing+=(libmariadb-dev)
    fi
    has_python_headers || missing+=("python$(python_version "$python")-dev")
    [ ${#missing[@]} = 0 ] || apt_install "the MySQL and MariaDB client" "${missing[@]}" || true
}

# The -core packages bring the server program without a system service: tests start their own, private one.
install_mariadb_server() {
    has_mariadb_server || apt_install "the test database" mariadb-server-core mariadb-client-core || true
}

install_chromium() {
    local system
    "$python" -m tests.parts chromium >/dev/null && return
    system=$(. /etc/os-release 2>/dev/null && printf '%s' "${ID:-}") || true
    if [ "$system" = debian ]; then
        apt_install "browser tests" chromium chromium-sandbox fonts-noto-cjk || true
    else
        say "No Chromium found, and only Debian packages it (Ubuntu's is a snap stub). Browser tests need CHROMIUM=/path/to/chromium."
    fi
}

python=$(find_python)
case "${1:-}" in
    test)
        install_mariadb_server
        install_mysql_client
        install_chromium
        ;;
    mysql-client) install_mysql_client ;;
    *) die "usage: packages.sh test|mysql-client" ;;
esac
