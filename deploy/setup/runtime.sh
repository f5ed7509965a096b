#!/usr/bin/env bash
# What demo, serve and worker need: the core lock, and the MySQL client when DATABASE_URL names a MySQL or MariaDB server.
. "$(dirname "$0")/common.sh"

if uses_mysql; then
    deploy/setup/packages.sh mysql-client
    deploy/setup/venv.sh requirements-production.txt
else
    deploy/setup/venv.sh requirements.txt
fi
