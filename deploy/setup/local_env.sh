#!/usr/bin/env bash
# local_env.sh COMMAND...: runs it with what a machine that serves only itself needs and the environment or .env does not give:
# a secret key made once and kept in .var/secret_key, and plain HTTP.
. "$(dirname "$0")/common.sh"

if [ -z "$(setting SECRET_KEY)" ]; then
    if [ ! -s .var/secret_key ]; then
        fresh=$(umask 077 && mktemp .var/secret_key.XXXXXX)
        head -c 48 /dev/urandom | base64 -w 0 >"$fresh"
        # A link never replaces a file: of two commands started together, both use the first one's key.
        ln "$fresh" .var/secret_key 2>/dev/null || true
        rm -f "$fresh"
        say "Made a secret key for this machine: .var/secret_key"
    fi
    SECRET_KEY=$(cat .var/secret_key)
    export SECRET_KEY
fi
if [ -z "$(setting HTTPS)" ]; then
    export HTTPS=0
fi
exec "$@"
