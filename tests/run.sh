#!/bin/sh
# Install what the tests need into a virtual environment of their own, and run them. Arguments go to pytest.
set -eu
cd "$(dirname "$0")/.."
venv=${VENV:-.venv}
sh .ci/venv "$venv" test
exec "$venv/bin/python" -m pytest "$@"
