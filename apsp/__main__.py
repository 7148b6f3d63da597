"""`python -m apsp` is the command `apsp`, in a process of its own."""

from __future__ import annotations

import atexit
import os
import signal
import sys


def run() -> None:
    """Run the command, and end the process with one of its exit codes, whenever a signal strikes.

    When the command has ended, a signal ends the process at once. The last exit function ends it too: while Python
    takes itself down, signals would kill it, though all is written.
    """
    code = 0

    def leave() -> None:
        if "mpi4py" not in sys.modules:  # whose library has an ending of its own
            os._exit(code)

    atexit.register(leave)  # before any other, so that it is called last
    from .cli import main
    from .cli.exit_codes import INTERRUPTED

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
