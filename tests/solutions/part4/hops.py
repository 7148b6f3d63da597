import numpy as np


def next_hops(A):
    n = len(A)
    D = A.copy()
    H = np.where(np.isfinite(A), np.arange(n)[None, :], -1)
    np.fill_diagonal(D, 0)
    np.fill_diagonal(H, np.arange(n))
    for k in range(n):
        through = D[:, k, None] + D[None, k, :]
        better = through < D
        D[better] = through[better]
        H = np.where(better, H[:, k, None], H)
    return D, H


def path(H, i, j):
    if H[i, j] < 0:
        return None
    walk = [i]
    while walk[-1] != j:
        walk.append(int(H[walk[-1], j]))
    return walk
