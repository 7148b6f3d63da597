#!/bin/sh
# Install what the tests need into a virtual environment of their own, and run them, by one process more than there are
# cores. Arguments go to pytest; -n0 runs them in one process, as --pdb needs.
set -eu
cd "$(dirname "$0")/.."
venv=${VENV:-.venv}
if [ ! -x "$venv/bin/python" ]; then
    echo "1 of 2: making $venv and installing the package with what its tests need: a minute or two, once."
else
    echo "1 of 2: $venv stands; it gets what pyproject.toml has asked for since."
fi
sh .ci/venv "$venv" "${EXTRAS:-test}"
echo "2 of 2: the tests, about 9 minutes on two cores; kernels that they compile are kept, so the next time takes about six."
unset PYTHONDONTWRITEBYTECODE # hundreds of processes import the packages
# One process more than there are cores, as tests wait for other processes and for kernels that another one compiles.
workers=$("$venv/bin/python" -c "import os; print((os.cpu_count() or 1) + 1)")
exec "$venv/bin/python" -m pytest -n "$workers" --dist worksteal "$@"
