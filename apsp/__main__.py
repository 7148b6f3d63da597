"""`python -m apsp` is the command `apsp`."""

from .cli import main

if __name__ == "__main__":
    main(prog_name="apsp")
