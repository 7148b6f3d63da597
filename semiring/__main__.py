"""`python -m semiring [NAME …]`: the catalog, a line a semiring; or those of these names."""

from __future__ import annotations

import os
import sys

from .algebra.catalog import CATALOG, get
from .host.errors import AlgebraError


def main(names: list[str]) -> str | None:
    """Print them; an unknown name's error."""
    try:
        for s in map(get, names) if names else CATALOG:
            print(f"{s.name:12}{s.add.name + ', ' + s.mul.name:18}{', '.join(s.aliases) or '-':32}{' '.join(s.dtypes)}")
        sys.stdout.flush()
    except AlgebraError as error:
        return str(error)
    except BrokenPipeError:  # as of `| head`: the rest is wanted by nobody
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
