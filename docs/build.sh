#!/bin/sh
# Build the site in out/site; a warning is an error. What it needs goes into the virtual environment .venv (or $VENV):
# two minutes the first time, half a minute later.
set -eu
cd "$(dirname "$0")/.."
venv=${VENV:-.venv}
sh .ci/venv "$venv" docs
"$venv/bin/python" -m sphinx --fail-on-warning --keep-going --quiet -j auto -b html -d out/site-cache docs out/site
echo "The site: out/site/index.html"
