"""A semiring of your own, on CPU and GPU: which colours of ticket are good for some journey from here to there?

A line accepts some of eight ticket colours, a set kept as eight bits. Along a journey the sets intersect (a ticket must
be good on every line), over all journeys they unite (it must be good for one of them). Union and intersection make a
semiring; its closure answers for all pairs of stops at once.
"""

from __future__ import annotations

import numpy as np

from apsp import closure
from semiring import Op, Semiring, check_axioms
from semiring.kernels.backend import cuda_available

colours = Semiring(
    "colours",
    add=Op("bit_or", python=lambda a, b: a | b, cuda="a | b"),
    mul=Op("bit_and", python=lambda a, b: a & b, cuda="a & b"),
    zero=0,  # no colour: no line
    one=255,  # every colour: to stay where you are
    dtypes=("int32", "int64"),
    domain=(0, 255),
    samples=(0, 1, 6, 85, 255),
)

RED, GREEN, BLUE = 1, 2, 4
NAMES = {RED: "red", GREEN: "green", BLUE: "blue"}


def main() -> None:
    check_axioms(colours)  # raises, naming the law and the values, where this is no semiring
    stops = ["harbour", "market", "station", "airport"]
    lines = np.zeros((4, 4), dtype=np.int32)
    lines[0, 1] = RED | GREEN  # harbour → market takes red and green tickets
    lines[1, 2] = GREEN | BLUE
    lines[0, 2] = BLUE
    lines[2, 3] = RED | GREEN | BLUE

    good = closure(lines, colours)
    for j in range(1, 4):
        names = [name for bit, name in NAMES.items() if good[0, j] & bit]
        print(f"harbour → {stops[j]}: {', '.join(names)}")

    if cuda_available():
        import cupy

        assert (closure(cupy.asarray(lines), colours).get() == good).all()
        print("The GPU agrees.")


if __name__ == "__main__":
    main()
