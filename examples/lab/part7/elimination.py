"""Part 7: the same three loops over numbers, LU.

A = L U with L lower triangular, ones on its diagonal, and U upper triangular: Gaussian elimination without pivoting.
Floyd–Warshall has the same loops over k, i and j; here i and j come after k. Return both, and leave A as it is.

    pytest examples/lab/part7
"""

import numpy as np


def lu(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    raise NotImplementedError("part 7: write lu(A) in examples/lab/part7/elimination.py")
