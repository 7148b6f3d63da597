"""`python -m apsp`: the command `apsp` in its own process."""

from __future__ import annotations

import atexit
import os
import signal
import sys


def run() -> None:
    """Run the command, and exit with its code even if signals arrive.

    After the command a signal ends the process at once, as does the last exit function: during interpreter shutdown,
    signals would kill it although all output is written.
    """
    code = 0

    def leave() -> None:
        if "mpi4py" not in sys.modules:  # its library ends by itself
            os._exit(code)

    atexit.register(leave)  # before any other, so that it is called last
    from .doors.cli import main
    from .doors.cli.exit_codes import INTERRUPTED

    try:
        main(prog_name="apsp")
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0
    except KeyboardInterrupt:  # between two steps of ending
        code = INTERRUPTED
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda struck, _: os._exit(128 + struck))
    sys.exit(code)


if __name__ == "__main__":
    run()
