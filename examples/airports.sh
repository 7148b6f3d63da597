#!/bin/sh
# Set up .venv unless it stands, and find the best route between two airports (IATA codes).
set -eu
cd "$(dirname "$0")/.."
venv=${VENV:-.venv}
# pip would byte-compile for six seconds, mostly what is never imported.
sh .ci/venv "$venv" graph --no-compile
exec "$venv/bin/python" examples/airports.py "$@"
