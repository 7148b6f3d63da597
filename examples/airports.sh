#!/bin/sh
# Set up .venv unless it stands, and find the best route between two airports (IATA codes).
set -eu
cd "$(dirname "$0")/.."
venv=${VENV:-.venv}
sh .ci/venv "$venv" graph
exec "$venv/bin/python" examples/airports.py "$@"
