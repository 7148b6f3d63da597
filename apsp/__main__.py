"""`python -m apsp`: the command line."""

from .cli import main

main()
