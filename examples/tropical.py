"""All shortest paths of a matrix, on the processor and, where there is one, on the GPU.

    python examples/tropical.py

Entry (i, j) is the length of the edge from i to j, inf where there is none. The tropical semiring adds along a path and
takes the minimum over paths, so that the closure holds the distances between all pairs.
"""

from __future__ import annotations

import numpy as np

from apsp import closure, next_hops
from semiring.kernels.backend import cuda_available

NAMES = "ABCD"


def main() -> None:
    inf = np.inf
    A = np.array([[0, 4, inf, 9], [inf, 0, 1, inf], [2, inf, 0, 5], [inf, inf, inf, 0]])
    D = closure(A, semiring="tropical")
    print(D)

    after, walk = next_hops(A, D), [1]
    while walk[-1] != 3:
        walk.append(int(after[walk[-1], 3]))
    print(f"B to D: {D[1, 3]:g}, by {' → '.join(NAMES[v] for v in walk)}")

    if cuda_available():
        import cupy

        assert (closure(cupy.asarray(A), semiring="tropical").get() == D).all()  # stays on the GPU until .get()
        print("The GPU agrees.")
    else:
        print("No GPU here, or no CuPy: the same call takes a CuPy array.")


if __name__ == "__main__":
    main()
