"""The CPU backend: packed panels, explicit vector code compiled by numba, and threads over blocks."""

import os
import re

from ...host.errors import DeviceError

# numba cannot start with these thread counts, and silently ignores non-numbers.
if re.fullmatch(r"\s*(-\d+|[-+]?0+)\s*", os.environ.get("NUMBA_NUM_THREADS", "")):
    raise DeviceError(
        f"threads: NUMBA_NUM_THREADS must be a positive integer, got {os.environ['NUMBA_NUM_THREADS']!r}. Unset it, or "
        "correct it."
    )
