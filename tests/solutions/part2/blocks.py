import numpy as np


def through(D, rows, columns, inner):
    for k in range(inner.start, inner.stop):
        D[rows, columns] = np.minimum(D[rows, columns], D[rows, k, None] + D[None, k, columns])


def closure(D, block):
    n = len(D)
    for first in range(0, n, block):
        pivot = slice(first, min(first + block, n))
        others = [slice(k, min(k + block, n)) for k in range(0, n, block) if k != first]
        through(D, pivot, pivot, pivot)
        for other in others:
            through(D, pivot, other, pivot)
            through(D, other, pivot, pivot)
        for rows in others:
            for columns in others:
                through(D, rows, columns, pivot)
